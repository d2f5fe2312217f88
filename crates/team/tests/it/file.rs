//! The team file: the exact texts of its errors, its rules, its schema and reference, how it is found, and when it is
//! trusted.

mod broken;
mod earlier;
mod found;
mod properties;
mod rules;
mod schema;
mod start;
mod trusted;
mod written;

use tertulia_team::file::{FileErrors, TeamFile};

/// Parses a file that must be valid.
#[track_caller]
fn good(text: &str) -> TeamFile {
    TeamFile::parse(text, "tertulia.toml").unwrap_or_else(|errors| panic!("{errors}\n{text}"))
}

/// Returns the errors of a file that must be invalid.
#[track_caller]
fn bad(text: &str) -> FileErrors {
    TeamFile::parse(text, "tertulia.toml").expect_err(text)
}
