//! Messages and entries, seen from outside: what is read, what is written, what survives, what is seen.

#![expect(
    clippy::unwrap_used,
    reason = "a test that cannot go on has failed; clippy spares only the functions marked as tests"
)]

mod arbitrary;
mod branches;
mod content_ids;
mod entry_errors;
mod entry_payloads;
mod entry_properties;
mod entry_wire;
mod errors;
mod extremes;
mod golden;
mod logs;
mod parts;
mod properties;
mod redactions;
mod schema;
mod spellings;
mod timestamps;
mod unknown_fields;
mod wire;
