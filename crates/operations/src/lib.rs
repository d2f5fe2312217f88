//! What can be done with sessions and contexts, for whoever offers it: the command line, a server, bindings of
//! other languages. Values come in and go out as JSON or as types of the inner crates.
//!
//! An edge without a terminal: it knows no arguments, no environment and no screen. What it needs of the
//! process, a clock or the folder of the project, is handed in.
//!
//! - [`rpc`] answers JSON-RPC requests: conversations, contexts, sessions.
//! - [`model_context`] reads what a context is built from and writes what comes of it.
//! - [`names`] finds the session or entry that somebody means.
//! - [`lines`], [`session_file`] and [`export_file`] read and write sessions as files.
//! - [`stored_log`] keeps the log of a session in memory, so that the next context costs what is new.
//!
//! ```
//! use tertulia_operations::rpc::RpcServer;
//!
//! let mut server = RpcServer::new(|| 0);
//! let request = r#"{"jsonrpc":"2.0","id":1,"method":"setTeamTask","params":{"task":"Ship it"}}"#;
//! server.answer(request, &mut Vec::new())?;
//! let mut answer = Vec::new();
//! server.answer(r#"{"jsonrpc":"2.0","id":2,"method":"getTeamTask"}"#, &mut answer)?;
//! let answer = String::from_utf8_lossy(&answer);
//! assert!(answer.contains(r#""task":"Ship it""#), "{answer}");
//! # Ok::<(), std::io::Error>(())
//! ```

use serde::Serialize;

pub mod decisions;
pub mod export_file;
pub mod lines;
pub mod model_context;
pub mod names;
pub mod rpc;
pub mod session_file;
pub mod session_record;
pub mod stored_log;
pub mod unfinished;

/// A value as JSON. Writing to memory cannot fail for the shapes of this crate, whose keys are texts.
fn to_json(value: &impl Serialize) -> String {
    serde_json::to_string(value).unwrap_or_else(|_| "null".to_owned())
}
