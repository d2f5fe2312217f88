//! One turn of each real agent program, and of an endpoint, against a model server on loopback. `cargo xtask agents`
//! installs the programs and runs these tests in an isolated network. `cargo test` does not run them.

#![expect(
    clippy::disallowed_methods,
    clippy::expect_used,
    clippy::unwrap_used,
    reason = "tests that start programs and read the folders they leave"
)]

mod acp;
mod answers;
mod cancelling;
mod endpoint;
mod failures;
#[path = "../it/injected.rs"]
mod injected;
mod kept;
mod kept_drift;
mod permissions;
mod program;
mod traces;
mod trial;

/// Defines a test of each claim for each program.
macro_rules! for_each_program {
    ($($claim:ident),* $(,)?) => {
        crate::for_first_programs![$($claim),*];
        mod opencode {
            $(#[test] fn $claim() { super::$claim(crate::program::Program::OpenCode) })*
        }
        mod copilot {
            $(#[test] fn $claim() { super::$claim(crate::program::Program::Copilot) })*
        }
        mod pi {
            $(#[test] fn $claim() { super::$claim(crate::program::Program::Pi) })*
        }
    };
}
pub(crate) use for_each_program;

/// Same for the programs whose retries can be switched off. The other programs retry for longer than a test may take.
macro_rules! for_first_programs {
    ($($claim:ident),* $(,)?) => {
        mod claude {
            $(#[test] fn $claim() { super::$claim(crate::program::Program::Claude) })*
        }
        mod codex {
            $(#[test] fn $claim() { super::$claim(crate::program::Program::Codex) })*
        }
        mod gemini {
            $(#[test] fn $claim() { super::$claim(crate::program::Program::Gemini) })*
        }
    };
}
pub(crate) use for_first_programs;
