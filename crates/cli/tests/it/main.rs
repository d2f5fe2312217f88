//! Tests of the command: in-process if only text input and output matter, as a real process if pipes, exit codes or
//! memory matter.

#![expect(
    clippy::disallowed_methods,
    clippy::unwrap_used,
    reason = "tests of an edge: they read files and start the command"
)]

mod ask;
mod assemble;
mod build;
mod chat;
mod completions;
mod context;
mod context_sent;
mod cost;
mod demo;
mod docs;
mod doctor;
mod handover;
mod harness;
mod hostile_input;
mod init;
mod memory_kills;
mod names;
mod no_command;
mod picture;
mod process;
mod projects;
mod pty;
mod redacting;
mod reference;
mod replay;
mod resources;
mod rpc_build;
mod rpc_methods;
mod rpc_sessions;
mod rpc_standard;
mod run;
mod run_agents;
mod run_joined;
mod run_live;
mod run_notes;
mod run_output;
mod run_parallel;
mod run_paused;
mod run_terminal;
mod sessions;
mod sessions_contexts;
mod sessions_files;
mod sessions_hostile;
mod sessions_import_native;
mod sessions_show;
mod sessions_terminal;
mod suggestions;
mod tokens;
mod trust;
mod trust_settings;
mod unusual_files;
mod why;
mod workspace;
