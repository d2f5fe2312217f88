//! The promises of a store, each on every implementation, and what each implementation promises
//! besides.

mod contract;
mod notation;
mod places;
mod same_everywhere;
mod sqlite_files;
