//! The contract: one test per guarantee, run on every implementation.

mod appending;
mod backups;
mod branches;
mod following;
mod listing;
mod loading;
mod locking;
mod native_records;
mod projects;
mod redacting;
mod searching;
mod titles;
mod usage;
mod verifying;
mod versions;

/// Runs tests on every kind of store.
macro_rules! contract_tests {
    ($($name:ident)*) => {
        mod sqlite {
            $(#[test] fn $name() { super::$name(&crate::test_stores::TestStore::sqlite()); })*
        }
        mod postgres {
            $(#[test] fn $name() {
                if let Some(fixture) = crate::test_stores::TestStore::postgres() { super::$name(&fixture); }
            })*
        }
        mod memory {
            $(#[test] fn $name() { super::$name(&crate::test_stores::TestStore::memory()); })*
        }
    };
}
pub(crate) use contract_tests;
