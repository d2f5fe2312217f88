//! Operations on sessions and contexts, for a command line, a server or bindings of other languages. Does not read
//! arguments, the environment or a terminal: callers pass what it needs from the process.
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

pub mod cost;
pub mod decisions;
pub mod export_file;
pub mod handover;
pub mod import;
pub mod lines;
pub mod model_context;
pub mod names;
pub mod readable;
pub mod rpc;
pub mod session_file;
pub mod session_record;
pub mod stored_log;

/// Returns a value as JSON. Writing to memory cannot fail for the types of this crate, because their keys are texts.
fn to_json(value: &impl Serialize) -> String {
    serde_json::to_string(value).unwrap_or_else(|_| "null".to_owned())
}
