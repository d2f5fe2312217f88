//! Tests of the public interface of the crate: routing rules, forged markers, replay, and whole conversations.

#![expect(
    clippy::unwrap_used,
    clippy::expect_used,
    reason = "a test that cannot go on has failed; clippy spares only the functions marked as tests"
)]

mod answers;
mod asks;
mod asks_driver;
mod driver;
mod driver_prompts;
mod driver_work;
mod endpoint;
mod failover;
mod failover_driver;
mod file;
mod guards;
mod injection;
mod long_sessions;
mod native_memory;
mod parallel;
mod parallel_driver;
mod pausing;
mod people;
mod preambles;
mod projects;
mod properties;
mod provenance;
mod replay;
mod routing;
mod second_attempts;
mod sent_prompts;
mod simulation;
mod spending;
mod spending_driver;
mod test_driver;
mod two_programs;
mod worktrees;
