//! The stages of a context in their order: select the window, strip markers, leave out a repetition.
//! What comes out is what an assembler takes.

use std::borrow::Cow;
use std::ops::Range;

use tertulia_session::{ConversationMessage, MessageId};

use super::{ContextManager, ContextRequest};
use crate::dedupe;
use crate::markers::strip_markers;
use crate::prompt::{AssemblerInput, ContextKind, ContextMessage};
use crate::window::{format_addressees, select};

/// What was chosen for an agent, and from where.
pub(super) struct Selection<'a> {
    /// The window without a repetition at its end.
    pub(super) input: AssemblerInput<'a>,
    /// The places of the window in the conversation.
    pub(super) window: Range<usize>,
    pub(super) repetition: Option<Repetition<'a>>,
}

/// A message of the window that was left out, since it repeats the current one.
pub(super) struct Repetition<'a> {
    pub(super) place: usize,
    pub(super) of: &'a MessageId,
}

impl ContextManager {
    pub(super) fn select<'a>(
        &'a self,
        agent_id: &str,
        agent_type: &str,
        request: &ContextRequest<'a>,
    ) -> Selection<'a> {
        let size =
            request.window_size.unwrap_or_else(|| self.options.window_of(agent_id, agent_type));
        let window = select(self.conversation.len(), size);
        let context = self.conversation.range(window.clone());
        let mut context_messages: Vec<_> = context.map(|message| self.line(message)).collect();
        let mut current_message = Cow::Borrowed("");
        let mut repetition = None;
        if let Some(current) = self.conversation.latest() {
            current_message = self.stripped(current);
            let last_id = self.conversation.range(window.clone()).next_back().map(|last| &last.id);
            let repeats = context_messages.last().zip(last_id).is_some_and(|(last, last_id)| {
                dedupe::repeats(last, last_id, current, &current_message)
            });
            if repeats {
                context_messages.pop();
                repetition = Some(Repetition { place: window.end - 1, of: &current.id });
                self.log.debug(format_args!("[ContextManager] Deduplicated context for AI→AI"));
            }
        }
        let input = AssemblerInput {
            context_messages,
            current_message,
            team_task: self.team_task.as_deref().map(Cow::Borrowed),
            system_instruction: request.system_instruction.map(Cow::Borrowed),
            instruction_file_text: request.instruction_file_text.map(Cow::Borrowed),
            max_bytes: self.options.max_bytes,
        };
        Selection { input, window, repetition }
    }

    fn line<'a>(&'a self, message: &'a ConversationMessage) -> ContextMessage<'a> {
        let speaker = message.message.speaker.as_deref();
        let routing = message.message.routing.as_deref();
        let addressees = routing.and_then(|routing| routing.resolved_addressees.as_deref());
        ContextMessage {
            from: Cow::Borrowed(speaker.map_or("", |speaker| &speaker.role_name)),
            to: Some(format_addressees(addressees)),
            content: self.stripped(message),
            kind: ContextKind::Text,
        }
    }

    fn stripped<'a>(&self, message: &'a ConversationMessage) -> Cow<'a, str> {
        let strip = |text: &'_ str| {
            let stripped = strip_markers(text, self.options.strip);
            if stripped.task_block_bytes > 0 {
                self.log.debug(format_args!(
                    "[ContextManager] TEAM_TASK block removed: {} bytes of {}",
                    stripped.task_block_bytes, message.id
                ));
            }
            // Only what changed is copied.
            match stripped.text {
                Cow::Borrowed(_) => None,
                Cow::Owned(text) => Some(text),
            }
        };
        let text = message.message.text();
        match strip(&text) {
            Some(changed) => Cow::Owned(changed),
            None => text,
        }
    }
}
