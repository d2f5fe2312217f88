//! The public vocabularies. Each is loaded when the first text is counted with it, and then stays in memory. This is
//! the only global state of the crate. Only [`super::Tokenizer`] uses it.

#[cfg(feature = "gemma-tokens")]
mod gemma;
#[cfg(feature = "openai-tokens")]
mod openai;

#[cfg(feature = "gemma-tokens")]
pub(super) use gemma::GEMMA;
#[cfg(feature = "openai-tokens")]
pub(super) use openai::{CL100K, O200K};

#[cfg(not(all(feature = "gemma-tokens", feature = "openai-tokens")))]
pub(super) struct Missing;

#[cfg(not(all(feature = "gemma-tokens", feature = "openai-tokens")))]
impl Missing {
    pub(super) fn count(&self, _: &str) -> Option<u64> {
        None
    }

    pub(super) fn is_loaded(&self) -> bool {
        true
    }
}

#[cfg(not(feature = "gemma-tokens"))]
pub(super) static GEMMA: Missing = Missing;
#[cfg(not(feature = "openai-tokens"))]
pub(super) static O200K: Missing = Missing;
#[cfg(not(feature = "openai-tokens"))]
pub(super) static CL100K: Missing = Missing;
