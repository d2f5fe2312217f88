//! The four dialects seen from outside: requests that the vendors take, whatever the messages are, and
//! nothing lost on the way there and back. `rules_*` hold the vendors' rules.

#![expect(
    clippy::unwrap_used,
    clippy::expect_used,
    reason = "a test that cannot go on has failed; clippy spares only the functions marked as tests"
)]

mod arbitrary;
mod expressible;
mod fixtures;
mod notes;
mod positions;
mod properties;
mod readers;
mod rules;
mod rules_anthropic;
mod rules_chat;
mod rules_gemini;
mod rules_responses;
mod stream_acp;
mod stream_chat;
mod stream_claude;
mod stream_codex;
mod stream_command;
mod stream_copilot;
mod stream_fixtures;
mod stream_gemini;
mod stream_hostile;
mod stream_opencode;
mod stream_pi;
mod stream_properties;
mod stream_show;
mod stream_verdicts;
mod stream_written;
mod table;
