//! The sessions that coding agents keep on this machine. Finds and lists them, and reads their records as entries.
//! This crate only reads: it creates and changes nothing in an agent's folder.
//!
//! [`Environment`] determines where the agents keep their sessions. [`list()`] finds all of them, [`locate()`] finds
//! those in a file or a folder, and [`SessionReader`] reads one, record by record. [`tertulia_dialect::native`]
//! defines what a record means.

#![expect(clippy::disallowed_methods, reason = "it reads the files of agents")]

mod database;
mod environment;
mod error;
mod found;
mod in_use;
mod list;
mod locate;
mod peek;
mod places;
mod read;
mod side_files;
mod tables;
mod target;
mod tree;

pub use environment::{Environment, VARIABLES};
pub use error::{Cause, NativeError};
pub use found::{FoundSession, Place};
pub use in_use::{User, find_user};
pub use list::{Listing, list};
pub use locate::locate;
pub use places::is_session_place;
pub use read::{Edit, SessionReader, prefix_hash};
pub use target::{Beside, Placing, Target, resume_command, target};
