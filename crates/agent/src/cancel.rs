//! A word from outside that a turn is to end. Cloned freely; every clone is the same word.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

/// Says that a turn is to end. Whoever runs the turn looks at it several times a second.
#[derive(Clone, Debug, Default)]
pub struct CancelToken(Arc<AtomicBool>);

impl CancelToken {
    /// A word that was not said yet.
    pub fn new() -> Self {
        Self::default()
    }

    /// Says it.
    pub fn cancel(&self) {
        self.0.store(true, Ordering::Release);
    }

    /// Whether it was said.
    pub fn is_cancelled(&self) -> bool {
        self.0.load(Ordering::Acquire)
    }
}
