//! Agents that are programs, with real processes: shell scripts that play one. Each test writes its own.
//!
//! No time is asserted; a test that waits does so with a generous limit, to fail rather than to hang.

#![expect(
    clippy::disallowed_methods,
    clippy::expect_used,
    clippy::unwrap_used,
    reason = "tests of a crate with IO: they read files, and a test that cannot continue has failed"
)]

mod acp;
mod command_lines;
mod containment;
mod endings;
mod environment;
mod fake_acp;
mod fake_agent;
mod fake_endpoint;
mod gemini_texts;
mod openai;
mod pipes;
mod probes;
mod recorder;
mod scripts;
mod starting;
mod supervisor;
