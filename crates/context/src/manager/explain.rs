//! A verdict for every message: in an agent's prompt or not, and why, with numbers.

use std::ops::Range;
use std::sync::Arc;

use tertulia_session::ConversationMessage;

use super::select::{Repetition, Selection};
use super::{ContextManager, ContextRequest};
use crate::assemblers::Assembler;
use crate::prompt::{AssemblerInput, Prompt};
use crate::verdict::{DropReason, Fate, Verdict};

/// Why an agent's prompt is as it is.
pub struct Explanation<'a> {
    manager: &'a ContextManager,
    assembler: Assembler,
    selection: Selection<'a>,
}

impl ContextManager {
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

    /// The prompt. Says nothing in the log; [`Prompt::warnings`] has what is worth saying.
    pub fn prompt(&self) -> Prompt<'_> {
        self.assembler.plan(&self.selection.input)
    }

    /// What became of every message, oldest first.
    pub fn verdicts(&self) -> impl Iterator<Item = Verdict<&'a Arc<ConversationMessage>>> {
        let prompt = self.prompt();
        let messages = self.manager.conversation.iter().enumerate();
        messages.map(move |(place, message)| {
            let fate = self.fate(place, &prompt);
            Verdict { entry: message, fate, recalled: false }
        })
    }

    fn fate(&self, place: usize, prompt: &Prompt<'_>) -> Fate {
        let dropped = |reason| Fate::Dropped { reason };
        let Range { start, end } = self.selection.window;
        if place < start {
            return dropped(DropReason::OutsideWindow { behind: start - place });
        }
        if place >= end {
            return prompt.message_fate();
        }
        if let Some(Repetition { of, .. }) = self.repetition_at(place) {
            return dropped(DropReason::Duplicate { of: (*of).clone() });
        }
        prompt.line_fate(place - start)
    }

    fn repetition_at(&self, place: usize) -> Option<&Repetition<'a>> {
        self.selection.repetition.as_ref().filter(|repetition| repetition.place == place)
    }
}
