//! What can be done with sessions and contexts, for whoever offers it: the command line, a server, bindings of
//! other languages. Values come in and go out as JSON or as types of the inner crates.
//!
//! An edge without a terminal: it knows no arguments, no environment and no screen. What it needs of the
//! process, a clock or the folder of the project, is handed in.

pub mod decisions;
pub mod export_file;
pub mod lines;
pub mod model_context;
pub mod names;
pub mod rpc;
pub mod session_file;
pub mod session_record;
pub mod spoken;
pub mod stored_log;
pub mod unfinished;
