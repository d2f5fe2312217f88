//! What a prompt is made for: the turn, the message that it answers, what the agent already has, and the attempt.

use tertulia_session::EntryId;

use super::consult::Consult;
use super::native::Has;

/// The turn for which a prompt is made.
#[derive(Clone, Copy)]
pub(super) struct Asked<'a> {
    pub(super) turn: &'a EntryId,
    pub(super) member: &'a str,
    /// The message that it answers.
    pub(super) answers: &'a EntryId,
    /// Set for a turn of an ask.
    pub(super) consult: Option<&'a Consult>,
}

/// What a prompt is about.
#[derive(Clone, Copy)]
pub(super) struct About<'a> {
    pub(super) answers: &'a EntryId,
    pub(super) has: Option<&'a Has>,
    pub(super) consult: Option<&'a Consult>,
}

/// An attempt to run a turn.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Attempt {
    First,
    /// Nothing was sent before, because the agent's own session could not be continued.
    Again,
    /// The first prompt was too large; this one has at most this many bytes.
    Smaller(u64),
}
