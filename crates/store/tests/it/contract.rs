//! The contract: one test per promise, run on every implementation.

mod appending;
mod branches;
mod copies;
mod following;
mod listing;
mod loading;
mod projects;
mod redacting;
mod searching;
mod titles;
mod verifying;
mod versions;

/// Runs promises on every kind of place.
macro_rules! promises {
    ($($name:ident)*) => {
        mod sqlite {
            $(#[test] fn $name() { super::$name(&crate::places::Place::sqlite()); })*
        }
        mod postgres {
            $(#[test] fn $name() {
                if let Some(place) = crate::places::Place::postgres() { super::$name(&place); }
            })*
        }
        mod memory {
            $(#[test] fn $name() { super::$name(&crate::places::Place::memory()); })*
        }
    };
}
pub(crate) use promises;
