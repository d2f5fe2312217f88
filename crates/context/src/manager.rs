//! A conversation in memory that computes the context and the prompt of each agent by the rules of the contract.
//! [`View`] chooses the messages and determines the outcomes; this code adds ids, hooks, a cap and log lines.

mod options;
mod snapshot;

use std::borrow::Cow;
use std::ops::RangeInclusive;
use std::sync::Arc;

use tertulia_session::record::MessageError;
use tertulia_session::{ConversationMessage, Fields, Message, MessageId};

use crate::AgentType;
use crate::assemblers::Assembler;
use crate::conversation::Conversation;
use crate::log::Log;
use crate::prompt::{AssemblerInput, AssemblerOutput, Prompt};
use crate::truncate::truncate_to_bytes;
use crate::verdict::{DropReason, Outcome, Verdict};
use crate::view::{Perspective, View};

pub use options::{
    ArchiveHook, ContextManagerOptions, ContextRequest, DEFAULT_CONTEXT_WINDOW_SIZE,
    DEFAULT_MAX_BYTES, MessageCap, MessageHook, TeamTaskHook,
};
pub use snapshot::{ContextSnapshot, SnapshotError, SnapshotProblem};

/// The longest team task in bytes: 5 KiB.
pub const TEAM_TASK_BYTES_MAX: usize = 5 * 1024;

/// The messages and the task of one conversation.
pub struct ContextManager {
    conversation: Conversation,
    team_task: Option<String>,
    /// Fields of an imported snapshot that this version does not know.
    unknown: Fields,
    options: ContextManagerOptions,
    log: Log,
}

/// The explanation of a prompt: its sizes, and the outcome of every message.
pub struct Explanation<'a> {
    manager: &'a ContextManager,
    assembler: Assembler,
    view: View<'a>,
    input: AssemblerInput<'a>,
}

/// The error of a message that was not added.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum AddMessageError {
    #[error(transparent)]
    Message(#[from] MessageError),
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
    /// Creates an empty conversation.
    pub fn new(options: ContextManagerOptions) -> Self {
        let log = Log(options.log_sink.clone());
        Self {
            conversation: Conversation::new(),
            team_task: None,
            unknown: Fields::NONE,
            options,
            log,
        }
    }

    /// Adds a message under the next id and returns it as it is stored.
    ///
    /// The hook is called after the message is stored. If the conversation then has more messages than its cap, the
    /// oldest one goes to the archive.
    pub fn add_message(
        &mut self,
        message: Message,
    ) -> Result<Arc<ConversationMessage>, AddMessageError> {
        check_speaker(&message)?;
        let added = Arc::clone(self.conversation.add(message).ok_or(AddMessageError::IdsUsedUp)?);
        self.log.debug(format_args!("[ContextManager] Message added: {}", added.id));
        if let Some(hook) = &self.options.on_message_added {
            hook(&added);
        }
        self.archive_beyond_cap();
        Ok(added)
    }

    /// Returns all messages, oldest first, in a new list. The messages themselves are shared.
    pub fn get_messages(&self) -> Vec<Arc<ConversationMessage>> {
        self.conversation.iter().cloned().collect()
    }

    /// Returns all messages, oldest first, borrowed.
    pub fn messages(
        &self,
    ) -> impl DoubleEndedIterator<Item = &Arc<ConversationMessage>> + ExactSizeIterator {
        self.conversation.iter()
    }

    /// Returns the newest message.
    pub fn get_latest_message(&self) -> Option<&Arc<ConversationMessage>> {
        self.conversation.latest()
    }

    /// Returns the message with this id. If an imported snapshot repeats the id, returns the oldest one.
    pub fn message_by_id(&self, id: &MessageId) -> Option<&Arc<ConversationMessage>> {
        self.conversation.by_id(id)
    }

    /// Returns the messages of the speaker with this id, oldest first.
    pub fn messages_by_speaker(
        &self,
        role_id: &str,
    ) -> impl Iterator<Item = &Arc<ConversationMessage>> {
        self.conversation.by_speaker(role_id)
    }

    /// Returns the messages in this range of time (milliseconds since 1970), in the order of the conversation.
    /// Messages without a time are never included.
    pub fn messages_by_time(
        &self,
        millis: RangeInclusive<i64>,
    ) -> impl Iterator<Item = &Arc<ConversationMessage>> {
        self.conversation.by_time(millis)
    }

    /// Returns how many messages went to the archive since the conversation began or was imported.
    pub fn archived_messages(&self) -> u64 {
        self.conversation.archived()
    }

    /// Sets the team's task, cut to its limit.
    pub fn set_team_task(&mut self, task: impl Into<String>) {
        let task = self.limited_task(task.into());
        self.change_team_task(Some(task));
    }

    /// Removes the team's task.
    pub fn clear_team_task(&mut self) {
        self.change_team_task(None);
    }

    /// Returns the team's task.
    pub fn get_team_task(&self) -> Option<&str> {
        self.team_task.as_deref()
    }

    /// Returns the context of an agent: the input of its assembler.
    pub fn get_context_for_agent<'a>(
        &'a self,
        agent_id: &str,
        agent_type: &str,
        request: &ContextRequest<'a>,
    ) -> AssemblerInput<'a> {
        self.view(agent_id, agent_type, request).1
    }

    /// Returns the context and the prompt of an agent, with a verdict for every message.
    pub fn explain<'a>(
        &'a self,
        agent_id: &str,
        agent_type: &str,
        request: &ContextRequest<'a>,
    ) -> Explanation<'a> {
        let assembler = self.assembler(agent_type);
        let (view, input) = self.view(agent_id, agent_type, request);
        Explanation { manager: self, assembler, view, input }
    }

    /// Returns the same explanation for a format of the caller's choice.
    pub fn explain_in<'a>(
        &'a self,
        assembler: Assembler,
        agent_id: &str,
        request: &ContextRequest<'a>,
    ) -> Explanation<'a> {
        let (view, input) = self.view(agent_id, assembler.agent_type().as_str(), request);
        Explanation { manager: self, assembler, view, input }
    }

    /// Assembles a prompt in the format of the agent. If the agent has no format, uses plain text and logs a
    /// warning.
    pub fn assemble_prompt(&self, agent_type: &str, input: &AssemblerInput<'_>) -> AssemblerOutput {
        self.plan_prompt(agent_type, input).output()
    }

    /// Returns the same prompt before it is built, so that it can be measured or written into a writer.
    pub fn plan_prompt<'a>(&self, agent_type: &str, input: &'a AssemblerInput<'a>) -> Prompt<'a> {
        let prompt = self.assembler(agent_type).plan(input);
        for warning in prompt.warnings() {
            self.log.warn(format_args!("[ContextManager] {warning}"));
        }
        prompt
    }

    /// Returns the format of an agent. If the agent has no format, returns plain text and logs a warning.
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

    /// Removes messages, task and ids. The archive hook is intentionally not called.
    pub fn clear(&mut self) {
        self.conversation = Conversation::new();
        self.unknown = Fields::NONE;
        self.change_team_task(None);
    }

    fn view<'a>(
        &'a self,
        agent_id: &str,
        agent_type: &str,
        request: &ContextRequest<'a>,
    ) -> (View<'a>, AssemblerInput<'a>) {
        let window =
            request.window_size.unwrap_or_else(|| self.options.window_of(agent_id, agent_type));
        let perspective = Perspective::of_contract(self.options.strip);
        let count = self.conversation.len();
        let mut view = View::of_messages(count, window, |position| {
            let message = self.conversation.get(position)?;
            let item = perspective.line(position, &message.message);
            if item.task_block_bytes > 0 {
                self.log.debug(format_args!(
                    "[ContextManager] TEAM_TASK block removed: {} bytes of {}",
                    item.task_block_bytes, message.id
                ));
            }
            Some(item)
        });
        let mut newest = self.conversation.iter().rev();
        if let Some((current, last)) = newest.next().zip(newest.next())
            && view.leave_out_repetition(last, current)
        {
            self.log.debug(format_args!("[ContextManager] Deduplicated context for AI→AI"));
        }
        let input = AssemblerInput {
            context_messages: view.take_lines(),
            current_message: view.take_message(),
            team_task: self.team_task.as_deref().map(Cow::Borrowed),
            system_instruction: request.system_instruction.map(Cow::Borrowed),
            instruction_file_text: request.instruction_file_text.map(Cow::Borrowed),
            max_bytes: self.options.max_bytes,
        };
        (view, input)
    }

    fn change_team_task(&mut self, task: Option<String>) {
        self.team_task = task;
        if let Some(hook) = &self.options.on_team_task_changed {
            hook(self.team_task.as_deref());
        }
    }

    /// Returns the task, cut to its limit. Used for every task that is stored.
    fn limited_task(&self, mut task: String) -> String {
        let bytes = task.len();
        if bytes > TEAM_TASK_BYTES_MAX {
            task.truncate(truncate_to_bytes(&task, TEAM_TASK_BYTES_MAX).len());
            task.shrink_to_fit();
            self.log.warn(format_args!(
                "[ContextManager] TeamTask exceeded 5KB limit ({bytes} bytes), truncated to {} bytes",
                task.len()
            ));
        }
        task
    }

    fn archive_beyond_cap(&mut self) {
        let Some(cap) = &self.options.message_cap else { return };
        while self.conversation.len() > cap.messages_max.get() {
            let Some(oldest) = self.conversation.remove_oldest() else { return };
            self.log.debug(format_args!("[ContextManager] Message archived: {}", oldest.id));
            (cap.archive)(oldest);
        }
    }
}

impl<'a> Explanation<'a> {
    /// Returns the format of the prompt.
    pub fn assembler(&self) -> &Assembler {
        &self.assembler
    }

    /// Returns the input of the prompt.
    pub fn input(&self) -> &AssemblerInput<'a> {
        &self.input
    }

    /// Returns the prompt. Writes no log lines; [`Prompt::warnings`] contains what a caller may want to log.
    pub fn prompt(&self) -> Prompt<'_> {
        self.assembler.plan(&self.input)
    }

    /// Returns the outcome of every message, oldest first.
    pub fn verdicts(&self) -> impl Iterator<Item = Verdict<&'a Arc<ConversationMessage>>> {
        let viewed: Vec<Outcome> =
            self.view.outcomes(&self.prompt()).map(|(_, outcome)| outcome).collect();
        let messages = self.manager.conversation.iter();
        let outside = messages.len() - viewed.len();
        let outside = (1..=outside)
            .rev()
            .map(|behind| Outcome::Dropped { reason: DropReason::OutsideWindow { behind } });
        let judged = messages.zip(outside.chain(viewed));
        judged.map(|(entry, outcome)| Verdict { entry, outcome, recalled: false })
    }
}

fn check_speaker(message: &Message) -> Result<(), MessageError> {
    let speaker = message.speaker.as_deref().ok_or(MessageError::SpeakerMissing)?;
    if speaker.role_id.is_empty() { Err(MessageError::RoleIdMissing) } else { Ok(()) }
}
