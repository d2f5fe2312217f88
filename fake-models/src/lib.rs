//! A model server that answers from a script, on loopback, for tests with the real agent programs.
//!
//! It supports the APIs of the agent programs and of our own endpoint member: Anthropic Messages, OpenAI Responses,
//! Gemini and OpenAI Chat Completions. The tests of `agent` and of the `tertulia` binary use it, and it can be
//! started manually as a program. It sees only requests, not sessions.
//!
//! ```
//! use tertulia_fake_models::{FakeModels, Script, Step};
//!
//! let models = FakeModels::start(Script::new([Step::text("Hello.")]))?;
//! assert!(models.url().starts_with("http://127.0.0.1:"));
//! assert!(models.asked().is_empty());
//! # Ok::<(), std::io::Error>(())
//! ```

mod anthropic;
mod chat;
mod gemini;
mod http;
mod openai_error;
mod perform;
mod responses;
mod roster;
mod rules;
mod script;
mod server;
mod step;
mod vendor;

pub use roster::{Colleague, Sign};
pub use rules::violations;
pub use script::Script;
pub use server::FakeModels;
pub use step::{Step, StepError};
pub use vendor::{Asked, Vendor};
