//! Tests of the crate through its public interface: the contract's tests by name, its cases, and further promises.

#![expect(
    clippy::unwrap_used,
    reason = "a test that cannot go on has failed; clippy spares only the functions marked as tests"
)]

mod assemblers_more;
mod builder;
mod builder_repair;
mod cases;
mod codex;
mod compact;
mod escaped;
mod explain;
mod harness;
mod log_lines;
mod look_up;
mod manager_more;
mod markers;
mod properties;
mod recall;
mod records;
mod seed_claude;
mod seed_counts;
mod seed_gemini;
mod seed_manager;
mod seed_plain_text;
mod snapshots;
mod tokens;
mod view;
