//! Tests of messages and entries through the public interface: how they are read, written, preserved and shown.

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
