//! Tests of the public interface of the crate: every list of messages becomes a request that the vendor accepts, and
//! converting it back loses nothing.

#![expect(
    clippy::unwrap_used,
    clippy::expect_used,
    reason = "a test that cannot go on has failed; clippy spares only the functions marked as tests"
)]

mod arbitrary;
mod expressible;
mod fixtures;
mod messages;
mod native_aider;
mod native_answers_written;
mod native_claude;
mod native_claude_written;
mod native_cline;
mod native_codex;
mod native_codex_written;
mod native_copilot;
mod native_entry_lines;
mod native_gemini;
mod native_goose;
mod native_opencode;
mod native_pi;
mod native_properties;
mod native_rules;
mod native_rules_show;
mod native_show;
mod native_written;
mod notes;
mod positions;
mod properties;
mod readers;
mod rules;
mod stream_acp;
mod stream_chat;
mod stream_claude;
mod stream_codex;
mod stream_command;
mod stream_copilot;
mod stream_fixtures;
mod stream_gemini;
mod stream_hostile;
mod stream_kept;
mod stream_kept_usage;
mod stream_limits;
mod stream_load;
mod stream_opencode;
mod stream_pi;
mod stream_properties;
mod stream_show;
mod stream_usage;
mod stream_verdicts;
mod stream_written;
mod usage_limits;
mod usage_limits_none;
mod usage_limits_resolved;
