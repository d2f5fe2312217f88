//! The promises of a store, each on every implementation, and what each implementation promises
//! besides.

#![expect(
    clippy::disallowed_methods,
    clippy::expect_used,
    clippy::unwrap_used,
    reason = "tests of an IO room: they read files, and one that cannot go on has failed"
)]

mod contract;
mod notation;
mod places;
mod postgres_chores;
mod postgres_lost;
mod postgres_many;
mod postgres_opening;
mod postgres_proxy;
mod postgres_search;
mod postgres_server;
mod same_everywhere;
mod sqlite_copies;
mod sqlite_files;
mod sqlite_hostile;
mod sqlite_ids;
mod sqlite_index_size;
mod sqlite_left_behind;
