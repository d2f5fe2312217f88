//! The conversation in the form that every vendor requires: each call has a result, consecutive assistant messages
//! form one answer, the system text comes first and the volatile messages last.
//!
//! This is a single forward pass. Only earlier messages influence how a message is rendered. So the beginning of a
//! longer list is rendered like a shorter list, except for results that arrive later. The four renderers call it.

use std::borrow::Cow;
use std::collections::HashMap;

use tertulia_session::json::{self, Json, Object};
use tertulia_session::{Message, OpenCalls, Part, PartKind, Role, ToolCall, ToolResult};

use crate::identifier_rules::IdentifierRule;
use crate::surrogates::well_formed;
use crate::{ModelContext, Note, NoteKind};

/// A normalized list of messages: leading system messages, the turns, and the volatile messages.
#[derive(Debug, Default)]
pub(crate) struct Conversation<'a> {
    pub(crate) system: Vec<MessageParts<'a>>,
    pub(crate) turns: Vec<Turn<'a>>,
    pub(crate) volatile: Vec<MessageParts<'a>>,
}

#[derive(Debug)]
pub(crate) enum Turn<'a> {
    System(MessageParts<'a>),
    /// The message of a user, or the parts of a tool message that are no results.
    User(MessageParts<'a>),
    Assistant(Answer<'a>),
}

/// A message, or the rest of one without its results.
#[derive(Debug)]
pub(crate) struct MessageParts<'a> {
    pub(crate) index: usize,
    pub(crate) message: &'a Message,
    /// The parts. Only calls in assistant messages are rendered; results are stored in the answers.
    pub(crate) parts: &'a [Part],
}

#[derive(Debug, Default)]
pub(crate) struct Answer<'a> {
    pub(crate) messages: Vec<MessageParts<'a>>,
    /// One for every call among the parts, in their order.
    pub(crate) calls: Vec<Call<'a>>,
}

#[derive(Debug)]
pub(crate) struct Call<'a> {
    pub(crate) index: usize,
    pub(crate) part: &'a Part,
    pub(crate) call: &'a ToolCall,
    pub(crate) id: Cow<'a, str>,
    pub(crate) name: Cow<'a, str>,
    pub(crate) result: Option<(usize, &'a ToolResult)>,
}

#[derive(Clone, Copy, Debug)]
pub(crate) struct IdentifierRules {
    pub(crate) ids: IdentifierRule,
    pub(crate) names: IdentifierRule,
}

impl<'a> Conversation<'a> {
    pub(crate) fn new(
        context: &ModelContext<'a>,
        rules: IdentifierRules,
        notes: &mut Vec<Note>,
    ) -> Self {
        let is_turn = |message: &&&Message| message.effective_role() != Role::Tool;
        let turns = Vec::with_capacity(context.messages.iter().filter(is_turn).count());
        let parts = context.messages.iter().flat_map(|message| &message.parts);
        let taken = HashMap::with_capacity(parts.filter(|part| is_call(part)).count());
        let mut pass = Pass {
            conversation: Self { turns, ..Self::default() },
            rules,
            notes,
            in_answer: false,
            taken,
            waiting: OpenCalls::default(),
            answered: (0, 0),
            volatile_moved: 0,
        };
        for (index, message) in context.messages.iter().enumerate() {
            pass.take(index, message);
        }
        pass.finish()
    }
}

/// Returns whether a message is volatile: it always comes last and is never cached.
pub(crate) fn is_volatile(message: &Message) -> bool {
    let meta = message.meta.as_ref().and_then(|meta| Object::try_from(meta.raw()).ok());
    let kind = meta.and_then(|mut meta| meta.take("kind")).map(json::words);
    matches!(kind.as_deref(), Some("runtime_hints" | "recall"))
}

pub(crate) fn is_call(part: &Part) -> bool {
    matches!(part.kind, PartKind::ToolCall(_))
}

impl Call<'_> {
    /// Returns the message that the result, or its replacement, comes from.
    pub(crate) fn result_index(&self) -> usize {
        self.result.map_or(self.index, |(index, _)| index)
    }
}

struct Pass<'a, 'n> {
    conversation: Conversation<'a>,
    rules: IdentifierRules,
    notes: &'n mut Vec<Note>,
    in_answer: bool,
    /// Ids already used in the request, and how often each was requested.
    taken: HashMap<Cow<'a, str>, usize>,
    /// Calls without a result, by their original id. The value is the turn and the index in the turn.
    waiting: OpenCalls<&'a str, (usize, usize)>,
    answered: (usize, usize),
    /// The number of volatile messages that other messages followed.
    volatile_moved: usize,
}

impl<'a> Pass<'a, '_> {
    fn take(&mut self, index: usize, message: &'a Message) {
        if is_volatile(message) {
            let parts = message.parts.as_slice();
            self.conversation.volatile.push(MessageParts { index, message, parts });
            return;
        }
        self.note_moved_volatile();
        let role = message.effective_role();
        if role == Role::Assistant {
            return self.assistant(index, message);
        }
        self.in_answer = false;
        let parts = message.parts.as_slice();
        let kept = parts.iter().filter(|part| self.keeps(index, part)).count();
        if kept == 0 && !parts.is_empty() {
            return;
        }
        let message_parts = MessageParts { index, message, parts };
        match role {
            Role::System if self.conversation.turns.is_empty() => {
                self.conversation.system.push(message_parts)
            }
            Role::System => self.conversation.turns.push(Turn::System(message_parts)),
            Role::User | Role::Tool | Role::Assistant => {
                self.conversation.turns.push(Turn::User(message_parts))
            }
        }
    }

    /// Returns whether a part stays in a message that is not the assistant's. Results do not stay, because they are
    /// stored with their calls.
    fn keeps(&mut self, index: usize, part: &'a Part) -> bool {
        match &part.kind {
            PartKind::ToolResult(result) => {
                self.answer(index, result);
                false
            }
            PartKind::ToolCall(call) => {
                let reason = "only an assistant calls tools";
                let kind = format!("tool_call {}", call.tool_name).into();
                self.notes.push(Note::on(index, NoteKind::PartLeftOut { kind, reason }));
                false
            }
            _ => true,
        }
    }

    /// Adds notes that earlier volatile messages will come after this message.
    fn note_moved_volatile(&mut self) {
        for message_parts in &self.conversation.volatile[self.volatile_moved..] {
            self.notes.push(Note::on(message_parts.index, NoteKind::VolatileMoved));
        }
        self.volatile_moved = self.conversation.volatile.len();
    }

    fn note_replaced_surrogates(&mut self, index: usize, json: &Json) {
        if let Cow::Owned(_) = well_formed(json) {
            self.notes.push(Note::on(index, NoteKind::SurrogatesReplaced));
        }
    }

    /// Adds an assistant message. Some programs write results among its parts; a result ends the answer before it.
    fn assistant(&mut self, index: usize, message: &'a Message) {
        let is_result = |part: &Part| matches!(part.kind, PartKind::ToolResult(_));
        let parts = message.parts.as_slice();
        for run in parts.chunk_by(|one, next| is_result(one) == is_result(next)) {
            if !is_result(&run[0]) {
                self.add_answer_parts(MessageParts { index, message, parts: run });
                continue;
            }
            self.in_answer = false;
            for part in run {
                self.keeps(index, part);
            }
        }
        if parts.is_empty() {
            self.add_answer_parts(MessageParts { index, message, parts });
        }
    }

    fn add_answer_parts(&mut self, message_parts: MessageParts<'a>) {
        if !self.in_answer {
            // Most answers are one message, so memory is allocated for one.
            let calls = message_parts.parts.iter().filter(|part| is_call(part)).count();
            let calls = Vec::with_capacity(calls);
            let answer = Answer { messages: Vec::with_capacity(1), calls };
            self.conversation.turns.push(Turn::Assistant(answer));
            self.waiting.begin_answer();
            self.in_answer = true;
        }
        let turn = self.conversation.turns.len() - 1;
        let Some(Turn::Assistant(mut answer)) = self.conversation.turns.pop() else { return };
        for part in message_parts.parts {
            let Some(call) = self.call(message_parts.index, part) else { continue };
            self.waiting.call(&call.call.tool_call_id, (turn, answer.calls.len()));
            answer.calls.push(call);
        }
        answer.messages.push(message_parts);
        self.conversation.turns.push(Turn::Assistant(answer));
    }

    fn call(&mut self, index: usize, part: &'a Part) -> Option<Call<'a>> {
        let PartKind::ToolCall(call) = &part.kind else { return None };
        self.note_replaced_surrogates(index, &call.arguments);
        let id = self.free_id(&self.rules.ids.rewrite(&call.tool_call_id));
        if *id != *call.tool_call_id {
            let (from, to) = (call.tool_call_id.clone(), (*id).into());
            self.notes.push(Note::on(index, NoteKind::IdRewritten { from, to }));
        }
        let name = self.rules.names.rewrite(&call.tool_name);
        if *name != *call.tool_name {
            let (from, to) = (call.tool_name.clone(), (*name).into());
            self.notes.push(Note::on(index, NoteKind::ToolRenamed { from, to }));
        }
        Some(Call { index, part, call, id, name, result: None })
    }

    /// Returns the id itself, or its first numbered variant that is free.
    fn free_id(&mut self, spelled: &Cow<'a, str>) -> Cow<'a, str> {
        let mut id = spelled.clone();
        while self.taken.contains_key(&id) {
            let uses = self.taken.entry(spelled.clone()).or_insert(1);
            *uses += 1;
            id = Cow::Owned(self.rules.ids.numbered(spelled, *uses));
        }
        self.taken.insert(id.clone(), 1);
        id
    }

    fn answer(&mut self, index: usize, result: &'a ToolResult) {
        let id = &result.tool_call_id;
        let Some((turn, call)) = self.waiting.answer(id) else {
            self.notes.push(Note::on(index, NoteKind::ResultWithoutCall { id: id.clone() }));
            return;
        };
        self.note_replaced_surrogates(index, &result.content);
        let last = self.conversation.turns.len() - 1;
        if turn != last || (turn, call) < self.answered {
            self.notes.push(Note::on(index, NoteKind::ResultMoved { id: id.clone() }));
        }
        self.answered = self.answered.max((turn, call));
        if let Some(Turn::Assistant(answer)) = self.conversation.turns.get_mut(turn) {
            answer.calls[call].result = Some((index, result));
        }
    }

    fn finish(self) -> Conversation<'a> {
        let calls = self.conversation.turns.iter().filter_map(|turn| match turn {
            Turn::Assistant(answer) => Some(&answer.calls),
            Turn::System(_) | Turn::User(_) => None,
        });
        for call in calls.flatten().filter(|call| call.result.is_none()) {
            let id = call.call.tool_call_id.clone();
            self.notes.push(Note::on(call.index, NoteKind::CallClosed { id }));
        }
        self.conversation
    }
}

#[cfg(test)]
mod tests {
    use tertulia_session::Parts;

    use super::*;

    fn calling(id: &str) -> Message {
        let arguments = Json::parse("{}").unwrap();
        let (tool_call_id, tool_name) = (id.into(), "ls".into());
        let call = ToolCall { tool_call_id, tool_name, arguments, raw_args_text: None };
        let part = Part::new(PartKind::ToolCall(Box::new(call)));
        Message::with_role(Role::Assistant, Parts::from([part]))
    }

    fn ids(messages: &[Message]) -> Vec<String> {
        let rules =
            IdentifierRules { ids: IdentifierRule::word(8), names: IdentifierRule::word(8) };
        let conversation = Conversation::new(&ModelContext::new(messages), rules, &mut Vec::new());
        let calls = conversation.turns.into_iter().flat_map(|turn| match turn {
            Turn::Assistant(answer) => answer.calls,
            Turn::System(_) | Turn::User(_) => Vec::new(),
        });
        calls.map(|call| call.id.into_owned()).collect()
    }

    #[test]
    fn every_call_has_an_id_of_its_own() {
        let messages = ["a", "a_2", "a", "a", "a_2"].map(calling);
        assert_eq!(ids(&messages), ["a", "a_2", "a_3", "a_4", "a_2_2"]);
    }

    #[test]
    fn many_calls_of_one_id_get_ids_in_linear_time() {
        let messages = vec![calling("a"); 20_000];
        assert_eq!(ids(&messages).last().unwrap(), "a_20000");
    }
}
