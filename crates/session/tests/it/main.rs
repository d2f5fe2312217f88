//! The JSON form of messages, seen from outside: what is read, what is written, what survives.

#![expect(
    clippy::unwrap_used,
    reason = "a test that cannot go on has failed; clippy spares only the functions marked as tests"
)]

mod arbitrary;
mod errors;
mod extremes;
mod parts;
mod properties;
mod spellings;
mod timestamps;
mod unknown_fields;
mod wire;
