//! The stages of a context in their order (select, strip, dedupe), and a verdict for every message:
//! in the prompt or not, and why, with numbers.

use std::borrow::Cow;
use std::ops::Range;
use std::sync::Arc;

use tertulia_session::{ConversationMessage, MessageId};

use super::{ContextManager, ContextRequest};
use crate::assemblers::Assembler;
use crate::dedupe;
use crate::markers::strip_markers;
use crate::prompt::{AssemblerInput, ContextMessage, Prompt};
use crate::window::{format_addressees, select};

/// What was chosen for an agent, and from where.
pub(super) struct Selection<'a> {
    pub(super) input: AssemblerInput<'a>,
    /// The places of the window in the conversation.
    window: Range<usize>,
    /// Whether the newest message of the window was left out as a repetition.
    duplicate: bool,
}

/// Why an agent's prompt is as it is.
pub struct Explanation<'a> {
    manager: &'a ContextManager,
    assembler: Assembler,
    selection: Selection<'a>,
}

/// What became of one message.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Verdict<'a> {
    /// The message.
    pub message: &'a Arc<ConversationMessage>,
    /// What became of it.
    pub fate: Fate<'a>,
}

/// What became of a message.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Fate<'a> {
    /// It is in the prompt as a whole.
    InPrompt {
        /// Where.
        section: Section,
        /// What it takes there.
        bytes: usize,
    },
    /// It is the current message, and only its beginning fits.
    Truncated {
        /// What is in the prompt.
        kept_bytes: usize,
        /// What it has.
        bytes: usize,
    },
    /// It lies before the window.
    OutsideWindow {
        /// By how many messages; 1 is the first that a larger window would bring in.
        behind: usize,
    },
    /// It repeats the current message.
    Duplicate {
        /// The current message.
        of: &'a MessageId,
    },
    /// It is in the window, but not within the budget.
    OverBudget {
        /// What it would take.
        bytes: usize,
    },
    /// It is the current message, and nothing of it is left without markers.
    Empty,
}

/// The section that holds a message.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Section {
    /// Among the messages before the current one.
    Context,
    /// As the current message.
    Message,
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
        let mut duplicate = false;
        if let Some(current) = self.conversation.latest() {
            current_message = self.stripped(current);
            let last_id = self.conversation.range(window.clone()).next_back().map(|last| &last.id);
            duplicate = context_messages.last().zip(last_id).is_some_and(|(last, last_id)| {
                dedupe::repeats(last, last_id, current, &current_message)
            });
        }
        if duplicate {
            context_messages.pop();
            self.log.debug(format_args!("[ContextManager] Deduplicated context for AI→AI"));
        }
        let input = AssemblerInput {
            context_messages,
            current_message,
            team_task: self.team_task.as_deref().map(Cow::Borrowed),
            system_instruction: request.system_instruction.map(Cow::Borrowed),
            instruction_file_text: request.instruction_file_text.map(Cow::Borrowed),
            max_bytes: self.options.max_bytes,
        };
        Selection { input, window, duplicate }
    }

    /// The context and the prompt of an agent, with a verdict for every message.
    pub fn explain<'a>(
        &'a self,
        agent_id: &str,
        agent_type: &str,
        request: &ContextRequest<'a>,
    ) -> Explanation<'a> {
        let assembler = self.assembler(agent_type);
        let selection = self.select(agent_id, agent_type, request);
        Explanation { manager: self, assembler, selection }
    }

    /// The same in a format of the caller's choice.
    pub fn explain_in<'a>(
        &'a self,
        assembler: Assembler,
        agent_id: &str,
        request: &ContextRequest<'a>,
    ) -> Explanation<'a> {
        let selection = self.select(agent_id, assembler.agent_type().as_str(), request);
        Explanation { manager: self, assembler, selection }
    }

    fn line<'a>(&'a self, message: &'a ConversationMessage) -> ContextMessage<'a> {
        let speaker = message.message.speaker.as_deref();
        let routing = message.message.routing.as_deref();
        let addressees = routing.and_then(|routing| routing.resolved_addressees.as_deref());
        ContextMessage {
            from: Cow::Borrowed(speaker.map_or("", |speaker| &speaker.role_name)),
            to: Some(format_addressees(addressees)),
            content: self.stripped(message),
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

impl<'a> Explanation<'a> {
    /// The format of the prompt.
    pub fn assembler(&self) -> &Assembler {
        &self.assembler
    }

    /// What the prompt was made of.
    pub fn input(&self) -> &AssemblerInput<'a> {
        &self.selection.input
    }

    /// The prompt.
    pub fn prompt(&'a self) -> Prompt<'a> {
        let prompt = self.assembler.plan(&self.selection.input);
        self.manager.warn_of_cuts(&prompt, &self.selection.input);
        prompt
    }

    /// What became of every message, oldest first.
    pub fn verdicts(&'a self) -> impl Iterator<Item = Verdict<'a>> {
        let prompt = self.assembler.plan(&self.selection.input);
        let messages = self.manager.conversation.iter().enumerate();
        messages.map(move |(place, message)| {
            let fate = self.fate(place, &prompt);
            Verdict { message, fate }
        })
    }

    fn fate(&'a self, place: usize, prompt: &Prompt<'_>) -> Fate<'a> {
        let Range { start, end } = self.selection.window;
        if place < start {
            return Fate::OutsideWindow { behind: start - place };
        }
        if place >= end {
            return current_fate(prompt);
        }
        let index = place - start;
        match (prompt.line_bytes(index), self.manager.conversation.latest()) {
            (Some(bytes), _) if index >= prompt.dropped_context() => {
                Fate::InPrompt { section: Section::Context, bytes }
            }
            (Some(bytes), _) => Fate::OverBudget { bytes },
            // What is in the window and not in the input was taken out as a repetition.
            (None, Some(current)) if self.selection.duplicate => {
                Fate::Duplicate { of: &current.id }
            }
            (None, _) => Fate::Empty,
        }
    }
}

fn current_fate(prompt: &Prompt<'_>) -> Fate<'static> {
    match prompt.message_bytes() {
        (0, 0) => Fate::Empty,
        (0, bytes) => Fate::OverBudget { bytes },
        (kept_bytes, bytes) if kept_bytes < bytes => Fate::Truncated { kept_bytes, bytes },
        (_, bytes) => Fate::InPrompt { section: Section::Message, bytes },
    }
}
