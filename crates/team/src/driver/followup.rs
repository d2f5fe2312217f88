//! What follows from the end of an agent: an answer, a retry, or a failure with a reason. The runner makes it, and
//! `step.rs` performs it.

use tertulia_agent::{AgentKind, Permissions};
use tertulia_session::{EntryId, FreshStart, Message, Routing, Speaker, SpeakerType, TurnEvent};

use super::asked::Attempt;
use super::native::MemoryPlan;
use crate::effect::{Overspent, ReachedLimit};
use crate::team::{Responder, Team};

/// The result of the end of an agent; `Retry` is for a prompt that was too large, `Restart` for a session of the agent
/// that could not be continued.
pub(super) enum Followup {
    Restart {
        member: Box<str>,
        answers: EntryId,
        memory: MemoryPlan,
        attempt: Attempt,
        reason: FreshStart,
    },
    Retry {
        member: Box<str>,
        answers: EntryId,
        memory: MemoryPlan,
        budget: u64,
    },
    Answer {
        message: Message,
        text: String,
    },
    /// The turn was stopped at a spending limit.
    Overspent {
        reached: Overspent,
        partial: Option<Message>,
        events: Vec<TurnEvent>,
    },
    Failure {
        class: Box<str>,
        partial: Option<Message>,
        events: Vec<TurnEvent>,
        limit: Option<Box<ReachedLimit>>,
        /// For a usage limit: a message about what the agent did before.
        report: Option<Message>,
    },
}

/// Returns whether a member's turn can be repeated safely, because its tools change nothing.
pub(super) fn only_reads(team: &Team, member: &str) -> bool {
    let responder = team.member(member).map(|one| &one.responder);
    matches!(responder, Some(Responder::Agent(spec)) if spec.permissions == Permissions::Read
        && matches!(spec.kind, AgentKind::Cli(_)))
}

pub(super) fn speaker_of(team: &Team, member: &str) -> Speaker {
    let shown = team.member(member).map_or(member, |one| one.shown_name());
    Speaker::new(member, shown, SpeakerType::Ai)
}

pub(super) fn answer_to(answers: &EntryId, speaker: Speaker, text: &str) -> Message {
    let mut message = Message::said(speaker, text);
    let parent_message_id = Some(answers.as_str().into());
    message.routing = Some(Box::new(Routing { parent_message_id, ..Routing::default() }));
    message
}
