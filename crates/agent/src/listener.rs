//! Who hears what an agent says while it works. The driver implements it: it stores, then shows.

use tertulia_dialect::stream::StreamEvent;
use tertulia_session::json::Json;

/// Hears one turn, from the thread that called [`crate::run`].
pub trait Listener {
    /// The agent was started, and the first byte of its prompt is on the way.
    fn fed(&mut self) {}

    /// The agent said something.
    fn event(&mut self, event: StreamEvent);

    /// The agent asks whether it may do something. It waits for the answer; the clocks of the turn
    /// stand still meanwhile.
    fn permit(&mut self, request: &PermissionRequest) -> PermissionAnswer;
}

/// What an agent asks to be allowed.
#[derive(Clone, Debug, PartialEq)]
pub struct PermissionRequest {
    /// What it is about to do, in the agent's words.
    pub title: Box<str>,
    /// The tool, if the agent names it.
    pub tool: Option<Box<str>>,
    /// What the tool is given.
    pub input: Option<Json>,
    /// What may be answered.
    pub choices: Vec<PermissionChoice>,
}

/// One answer that the agent offers.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PermissionChoice {
    /// The agent's id of it.
    pub id: Box<str>,
    /// Its words.
    pub name: Box<str>,
    pub allows: bool,
    /// Whether it holds from now on, and not for this call alone.
    pub is_lasting: bool,
}

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
