//! The conversation of a team as one place of truth: takes messages in, gives each agent its context
//! and its prompt. Called by the doors; knows no router, no agent process, no store, no clock.

mod explain;
mod options;
mod select;
mod snapshot;

use std::ops::RangeInclusive;
use std::sync::Arc;

use tertulia_session::record::MessageError;
use tertulia_session::{ConversationMessage, Fields, Message, MessageId};

use crate::AgentType;
use crate::assemblers::Assembler;
use crate::conversation::{Conversation, NumbersUsedUp};
use crate::log::Log;
use crate::prompt::{AssemblerInput, AssemblerOutput, Prompt};
use crate::team_task::limit;

pub use explain::Explanation;
pub use options::{
    ArchiveHook, ContextManagerOptions, ContextRequest, DEFAULT_CONTEXT_WINDOW_SIZE,
    DEFAULT_MAX_BYTES, MessageCap, MessageHook, TeamTaskHook,
};
pub use snapshot::{ContextSnapshot, SnapshotError, SnapshotProblem};

/// Holds the messages and the task of one conversation.
pub struct ContextManager {
    conversation: Conversation,
    team_task: Option<String>,
    /// Fields of an imported snapshot that this version does not know.
    unknown: Fields,
    options: ContextManagerOptions,
    log: Log,
}

/// Why a message was not taken in.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum AddMessageError {
    /// It is not a message.
    #[error(transparent)]
    Message(#[from] MessageError),
    /// No id is left.
    #[error(
        "Message ids are used up: the newest is msg-18446744073709551614; clear the conversation"
    )]
    IdsUsedUp,
}

impl Default for ContextManager {
    fn default() -> Self {
        Self::new(ContextManagerOptions::default())
    }
}

impl ContextManager {
    /// An empty conversation.
    pub fn new(options: ContextManagerOptions) -> Self {
        let log = Log::new(options.log_sink.clone());
        Self {
            conversation: Conversation::new(),
            team_task: None,
            unknown: Fields::NONE,
            options,
            log,
        }
    }

    /// Takes a message in under the next id and gives it back as it is stored.
    ///
    /// The message is stored before the hook is called. With a cap, the oldest message beyond it goes
    /// to the archive afterwards.
    pub fn add_message(
        &mut self,
        message: Message,
    ) -> Result<Arc<ConversationMessage>, AddMessageError> {
        check_speaker(&message)?;
        let added =
            self.conversation.add(message).map_err(|NumbersUsedUp| AddMessageError::IdsUsedUp)?;
        let added = Arc::clone(added);
        self.log.debug(format_args!("[ContextManager] Message added: {}", added.id));
        if let Some(hook) = &self.options.on_message_added {
            hook(&added);
        }
        self.archive_beyond_cap();
        Ok(added)
    }

    /// All messages, oldest first: a list of its own that shares the messages.
    pub fn get_messages(&self) -> Vec<Arc<ConversationMessage>> {
        self.conversation.iter().cloned().collect()
    }

    /// All messages, oldest first, borrowed.
    pub fn messages(
        &self,
    ) -> impl DoubleEndedIterator<Item = &Arc<ConversationMessage>> + ExactSizeIterator {
        self.conversation.iter()
    }

    /// The newest message.
    pub fn get_latest_message(&self) -> Option<&Arc<ConversationMessage>> {
        self.conversation.latest()
    }

    /// The message of this id; the oldest one, if an imported snapshot repeated it.
    pub fn message_by_id(&self, id: &MessageId) -> Option<&Arc<ConversationMessage>> {
        self.conversation.by_id(id)
    }

    /// What the speaker of this id said, oldest first.
    pub fn messages_by_speaker(
        &self,
        role_id: &str,
    ) -> impl Iterator<Item = &Arc<ConversationMessage>> {
        self.conversation.by_speaker(role_id)
    }

    /// What was said in this range of time (milliseconds since 1970), in the order of the
    /// conversation. Messages without a time are never in it.
    pub fn messages_by_time(
        &self,
        millis: RangeInclusive<i64>,
    ) -> impl Iterator<Item = &Arc<ConversationMessage>> {
        self.conversation.by_time(millis)
    }

    /// How many messages went to the archive since the conversation began or was imported.
    pub fn archived_messages(&self) -> u64 {
        self.conversation.archived()
    }

    /// Sets the team's task, cut to its limit.
    pub fn set_team_task(&mut self, task: impl Into<String>) {
        let task = self.limited_task(task.into());
        self.change_team_task(Some(task));
    }

    /// Takes the team's task away.
    pub fn clear_team_task(&mut self) {
        self.change_team_task(None);
    }

    /// The team's task.
    pub fn get_team_task(&self) -> Option<&str> {
        self.team_task.as_deref()
    }

    /// The context of an agent: what its assembler makes a prompt of.
    pub fn get_context_for_agent<'a>(
        &'a self,
        agent_id: &str,
        agent_type: &str,
        request: &ContextRequest<'a>,
    ) -> AssemblerInput<'a> {
        self.select(agent_id, agent_type, request).input
    }

    /// Assembles a prompt in the format of the agent; plain text, with a warning, for one that has
    /// none of its own.
    pub fn assemble_prompt(&self, agent_type: &str, input: &AssemblerInput<'_>) -> AssemblerOutput {
        self.plan_prompt(agent_type, input).output()
    }

    /// The same prompt before it is built: to be written into a writer, or measured.
    pub fn plan_prompt<'a>(&self, agent_type: &str, input: &'a AssemblerInput<'a>) -> Prompt<'a> {
        let prompt = self.assembler(agent_type).plan(input);
        for warning in prompt.warnings() {
            self.log.warn(format_args!("[ContextManager] {warning}"));
        }
        prompt
    }

    /// The format of an agent; plain text, with a warning, for one that has none of its own.
    pub fn assembler(&self, agent_type: &str) -> Assembler {
        let normalized = AgentType::named(agent_type);
        if let AgentType::Other(_) = normalized {
            self.log.warn(format_args!(
                "[ContextManager] Unknown agentType \"{agent_type}\" (normalized: \
                 \"{normalized}\"), using PlainTextAssembler"
            ));
        }
        Assembler::from(&normalized)
    }

    /// Forgets messages, task and ids. The archive hook is not called: this is meant.
    pub fn clear(&mut self) {
        self.conversation = Conversation::new();
        self.unknown = Fields::NONE;
        self.change_team_task(None);
    }

    fn change_team_task(&mut self, task: Option<String>) {
        self.team_task = task;
        if let Some(hook) = &self.options.on_team_task_changed {
            hook(self.team_task.as_deref());
        }
    }

    fn limited_task(&self, task: String) -> String {
        let limited = limit(task);
        if let Some(bytes) = limited.cut_from {
            self.log.warn(format_args!(
                "[ContextManager] TeamTask exceeded 5KB limit ({bytes} bytes), truncated to {} bytes",
                limited.task.len()
            ));
        }
        limited.task
    }

    fn archive_beyond_cap(&mut self) {
        let Some(cap) = &self.options.message_cap else {
            return;
        };
        while self.conversation.len() > cap.messages_max.get() {
            let Some(oldest) = self.conversation.remove_oldest() else {
                return;
            };
            self.log.debug(format_args!("[ContextManager] Message archived: {}", oldest.id));
            (cap.archive)(oldest);
        }
    }
}

fn check_speaker(message: &Message) -> Result<(), MessageError> {
    let speaker = message.speaker.as_deref().ok_or(MessageError::SpeakerMissing)?;
    if speaker.role_id.is_empty() { Err(MessageError::RoleIdMissing) } else { Ok(()) }
}
