//! Counts the tokens of a text, a message or a tool: exactly if the vocabulary is public, otherwise by a calibrated
//! estimate. Called by code that fits messages into a model's window.
//!
//! Pure except for the vocabularies, which are loaded once, when the first new text is counted with them. It does
//! not depend on budgets. `docs/tokens.md` describes which counts are exact and how far off the estimates are.
//!
//! ```
//! use tertulia_context::tokens::{MessageCounter, TokenCache, Tokenizer, find_model};
//!
//! assert_eq!(Tokenizer::O200k.count("Hello, world!").tokens, 4);
//!
//! let model = find_model("anthropic/claude-sonnet-4-5").unwrap();
//! assert_eq!((model.tokenizer.id(), model.window), ("claude", Some(200_000)));
//!
//! let mut cache = TokenCache::default();
//! let first = cache.count(&Tokenizer::Claude, "Hello, world!");
//! assert_eq!(cache.count(&Tokenizer::Claude, "Hello, world!"), first);
//! # let _ = MessageCounter::new(Tokenizer::Claude);
//! ```

mod cache;
mod calibration;
mod count;
mod estimate;
mod image;
mod message;
mod models;
mod overhead;
mod tokenizer;
mod vocabulary;

pub use cache::TokenCache;
pub use calibration::{CALIBRATION_PERMILLE_MAX, CALIBRATION_PERMILLE_MIN, Calibration};
pub use count::TokenCount;
pub use image::{Dimensions, read_dimensions};
pub use message::{CountNote, CountProblem, MessageCount, MessageCounter, ToolSpec};
pub use models::{MODELS, Model, find_model, model_name};
pub use overhead::{Overheads, Vendor};
pub use tokenizer::{CountTokens, Tokenizer};
