//! Tests of agents that are programs, with real processes. Each test writes a shell script that plays the agent.
//!
//! No test asserts a duration. A test that waits has a generous limit, so that it fails instead of hanging.

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
mod fake_kept;
mod gemini_texts;
mod injected;
mod kept;
mod kept_acp;
mod kept_codex;
mod kept_drift;
mod kept_export;
mod limit_reset;
mod openai;
mod pipes;
mod probes;
mod recorder;
mod scripts;
mod starting;
mod supervisor;
