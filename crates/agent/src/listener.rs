//! Who hears what an agent says while it works, and who may end it. The driver implements the first: it stores,
//! then shows.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use tertulia_dialect::stream::StreamEvent;
use tertulia_session::json::Json;

/// Hears one turn, from the thread that called [`crate::run`].
pub trait Listener {
    /// The agent was started, and the first byte of its prompt is on the way.
    fn fed(&mut self) {}

    fn event(&mut self, event: StreamEvent);

    /// The agent asks whether it may do something. It waits for the answer; the clocks of the turn
    /// stand still meanwhile.
    fn permit(&mut self, request: &PermissionRequest) -> PermissionAnswer;
}

/// Tells what happened, in order.
pub(crate) fn tell(events: &mut Vec<StreamEvent>, listener: &mut dyn Listener) {
    for event in events.drain(..) {
        listener.event(event);
    }
}

/// What an agent asks to be allowed.
#[derive(Clone, Debug, PartialEq)]
pub struct PermissionRequest {
    /// What it is about to do, in the agent's words.
    pub title: Box<str>,
    pub tool: Option<Box<str>>,
    pub input: Option<Json>,
    pub choices: Vec<PermissionChoice>,
}

/// One answer that the agent offers.
pub use tertulia_dialect::stream::AcpChoice as PermissionChoice;

/// The person's answer.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum PermissionAnswer {
    /// The choice of this id.
    Choose(Box<str>),
    /// No; the agent may go on without it.
    Deny,
    /// No, and the turn is to end: nobody is there to be asked.
    EndTurn,
}

/// A word from outside that a turn is to end. Whoever runs the turn looks at it several times a second. Every
/// clone is the same word.
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
