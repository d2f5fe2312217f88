//! The public vocabularies. Each is loaded at the first text that is counted with it, and then stays;
//! that is the one global state of this room. Called by [`super::Tokenizer`] alone.

pub(super) mod gemma;
mod openai;

pub(super) use openai::{CL100K, O200K};
