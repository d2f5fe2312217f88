//! How much a turn may say before it is ended: the answer up to its limit, and all else up to a multiple
//! of it. Used by `openai` and `acp`.

use tertulia_dialect::stream::{Limits, StreamEvent};

/// All that is sent may be this many times the answer's limit: thinking and tools are told too.
const FACTOR: u64 = 16;

/// What a turn has said so far, in bytes.
#[derive(Debug)]
pub(crate) struct Flood {
    limits: Limits,
    heard: u64,
    answer: usize,
}

impl Flood {
    pub(crate) fn new(limits: Limits) -> Self {
        Self { limits, heard: 0, answer: 0 }
    }

    /// These bytes came, and said this.
    pub(crate) fn note(&mut self, bytes: usize, events: &[StreamEvent]) {
        self.heard = self.heard.saturating_add(bytes as u64);
        for event in events {
            match event {
                StreamEvent::TextDelta { text } => self.answer += text.len(),
                StreamEvent::ToolStarted { .. } => self.answer = 0,
                _ => {}
            }
        }
    }

    /// Whether there is more than is kept.
    pub(crate) fn is_over(&self) -> bool {
        let heard_max = FACTOR.saturating_mul(self.limits.text_bytes_max as u64);
        self.answer > self.limits.text_bytes_max || self.heard > heard_max
    }
}
