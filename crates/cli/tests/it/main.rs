//! The command as its users meet it: in-process where text in and text out is the point, as a real
//! process where pipes, exit codes and memory are.

#![expect(
    clippy::disallowed_methods,
    clippy::unwrap_used,
    reason = "tests of an edge: they read files and start the command"
)]

mod assemble;
mod build;
mod context;
mod docs;
mod harness;
mod hostile_input;
mod process;
mod rpc_build;
mod rpc_methods;
mod rpc_sessions;
mod rpc_standard;
mod sessions;
mod sessions_contexts;
mod sessions_files;
mod sessions_hostile;
mod sessions_terminal;
mod tokens;
