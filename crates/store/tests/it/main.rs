//! Tests the guarantees of a store on every implementation, and the additional guarantees of each.

#![expect(
    clippy::disallowed_methods,
    clippy::expect_used,
    clippy::unwrap_used,
    reason = "tests of a crate that does IO: they read files, and one that cannot continue has failed"
)]

mod contract;
mod notation;
mod postgres_leases;
mod postgres_lost;
mod postgres_maintenance;
mod postgres_many;
mod postgres_opening;
mod postgres_proxy;
mod postgres_search;
mod postgres_server;
mod same_everywhere;
mod sqlite_backups;
mod sqlite_files;
mod sqlite_hostile;
mod sqlite_ids;
mod sqlite_index_size;
mod sqlite_leftovers;
mod test_stores;
