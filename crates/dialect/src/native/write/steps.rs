//! The conversation as steps that every agent accepts. The first step is the user's. A call is in an answer of the
//! assistant, and exactly one result follows directly after the answer. Times are ascending, and the last one is now.
//! Content that a format does not allow is left out here, and its outcome is recorded.

use std::borrow::Cow;
use std::collections::HashMap;

use tertulia_session::{
    EntryId, Image, ImageSource, Message, Part, PartKind, Timestamp, ToolCall, ToolResult,
};

use super::answer::{AnswerPiece, SplitAnswer};
use super::outcome::{ItemOutcome, PartOutcome, all_kept};
use super::parts::{
    AS_OBJECT, AS_TEXT, BLANK, call_of, cannot_hold, has_object, is_call, is_result, named_file,
    result_of,
};
use super::{WriteRequest, native_record_id};
use crate::content::common_picture;
use crate::identifier_rules::IdentifierRule;
use crate::normalize::{Call, Conversation, IdentifierRules, MessageParts, Turn};
use crate::result_content::{Content, Piece, node_text};
use crate::{ModelContext, NoteKind, Placeholder};

/// What a format can contain.
#[derive(Debug)]
pub(super) struct Profile {
    /// The rules for ids of calls and names of tools.
    pub rules: IdentifierRules,
    /// Whether it accepts pictures from the user.
    pub user_images: bool,
    /// Whether it keeps one text for every message of the user.
    pub joins_user_texts: bool,
    /// Whether it accepts pictures in the results of tools.
    pub result_images: bool,
    /// Returns whether it accepts this thinking of the assistant, such as thinking with its own signature.
    pub keeps_thinking: fn(&Part) -> bool,
    /// Whether the last step must be the assistant's.
    pub ends_with_assistant: bool,
}

impl Profile {
    /// The profile of most agents. Ids and names have letters, digits, `_` and `-`. Pictures are allowed everywhere
    /// and thinking is not. An answer is at the end.
    pub(super) const COMMON: Self = Self {
        rules: IdentifierRules { ids: IdentifierRule::word(64), names: IdentifierRule::word(64) },
        user_images: true,
        joins_user_texts: false,
        result_images: true,
        keeps_thinking: |_| false,
        ends_with_assistant: true,
    };

    /// The profile of agents that may send the session to any API. The Chat Completions API accepts the shortest ids.
    pub(super) const OF_ANY_API: Self = Self {
        rules: IdentifierRules { ids: IdentifierRule::word(40), names: IdentifierRule::word(64) },
        ..Self::COMMON
    };
}

/// The steps of a conversation, and the outcome of every part of it.
#[derive(Debug)]
pub(super) struct Steps<'a> {
    pub steps: Vec<Step<'a>>,
    pub outcomes: Vec<ItemOutcome>,
}

/// One step of a conversation.
#[derive(Debug)]
pub(super) struct Step<'a> {
    pub at: Timestamp,
    /// The entry from which it comes. `None` for an added step.
    pub source: Option<&'a EntryId>,
    /// The number of earlier steps of this source.
    pub number: usize,
    pub content: StepContent<'a>,
}

#[derive(Debug)]
pub(super) enum StepContent<'a> {
    User(Vec<UserPiece<'a>>),
    /// An answer: texts, thinking and calls in their order. It is never empty.
    Assistant(Vec<AssistantPiece<'a>>),
    /// The results of the calls of the previous answer, in the order of the calls. They are never empty.
    Results(Vec<CallResult<'a>>),
}

#[derive(Debug)]
pub(super) enum UserPiece<'a> {
    Text(Cow<'a, str>),
    Image(&'a Image),
}

#[derive(Debug)]
pub(super) enum AssistantPiece<'a> {
    Text(Cow<'a, str>),
    /// Thinking that the profile accepts. Its signature is in the unknown fields of the payload.
    Thinking {
        text: &'a str,
        part: &'a Part,
    },
    Call(CallPiece<'a>),
}

/// A tool call. [`crate::arguments`] writes its arguments.
#[derive(Debug)]
pub(super) struct CallPiece<'a> {
    pub id: Cow<'a, str>,
    pub name: Cow<'a, str>,
    pub call: &'a ToolCall,
}

#[derive(Debug)]
pub(super) struct CallResult<'a> {
    /// The id of the call, as in [`CallPiece`].
    pub id: Cow<'a, str>,
    pub name: Cow<'a, str>,
    pub text: String,
    /// Pictures, if the profile accepts them.
    pub images: Vec<Image>,
    pub is_error: bool,
}

impl Step<'_> {
    /// Returns the id for a record of this step. `record` distinguishes several records.
    pub(super) fn record_id(&self, native_session: &str, record: usize) -> String {
        let added = EntryId::from("added");
        let source = self.source.unwrap_or(&added);
        native_record_id(native_session, source, self.number * 1000 + record)
    }
}

impl<'a> Steps<'a> {
    /// Puts the messages into a valid order.
    pub(super) fn new(
        request: &WriteRequest<'a>,
        messages: &[&'a Message],
        profile: &Profile,
    ) -> Self {
        let mut notes = Vec::new();
        let context = ModelContext::new(messages.iter().copied());
        let conversation = Conversation::new(&context, profile.rules, &mut notes);
        let mut stage = Stage::new(request, messages, profile);
        for note in notes {
            if let Some(message) = note.message {
                stage.note(message, &note.kind);
            }
        }
        for message_parts in &conversation.system {
            stage.leave_out(message_parts, "the agent has its own system prompt");
        }
        for turn in conversation.turns {
            match turn {
                Turn::System(message_parts) => stage
                    .user(&message_parts, Some("a system text, written as a message of the user")),
                Turn::User(message_parts) => stage.user(&message_parts, None),
                Turn::Assistant(answer) => {
                    let mut calls = answer.calls.iter();
                    let split = SplitAnswer::new(&answer);
                    for AnswerPiece { open, message_parts, thinks_until } in split.pieces {
                        stage.results(open);
                        stage.assistant(message_parts, &mut calls, thinks_until);
                    }
                    stage.results(split.calls);
                }
            }
        }
        for message_parts in &conversation.volatile {
            stage.user(message_parts, None);
        }
        stage.finish()
    }
}

/// The steps so far.
struct Stage<'a, 'r> {
    request: &'r WriteRequest<'a>,
    messages: &'r [&'a Message],
    profile: &'r Profile,
    steps: Vec<Step<'a>>,
    outcomes: Vec<ItemOutcome>,
    /// The index of the first outcome of every message.
    first_outcome: Vec<usize>,
    /// The number of steps of every source. Several messages may have the same one.
    numbers: HashMap<&'a EntryId, usize>,
    last: Option<Timestamp>,
}

impl<'a, 'r> Stage<'a, 'r> {
    fn new(
        request: &'r WriteRequest<'a>,
        messages: &'r [&'a Message],
        profile: &'r Profile,
    ) -> Self {
        let mut first_outcome = Vec::with_capacity(messages.len());
        let mut count = 0;
        for message in messages {
            first_outcome.push(count);
            count += message.parts.len();
        }
        let last = request.continues.as_ref().and_then(|end| end.last_timestamp.clone());
        Self {
            request,
            messages,
            profile,
            steps: Vec::new(),
            outcomes: all_kept(messages),
            first_outcome,
            numbers: HashMap::new(),
            last,
        }
    }

    fn outcome(&mut self, message: usize, part: usize, outcome: PartOutcome) {
        let Some(first) = self.first_outcome.get(message) else { return };
        if let Some(item) = self.outcomes.get_mut(first + part) {
            let before = std::mem::replace(&mut item.outcome, PartOutcome::Kept);
            item.outcome = before.or_worse(outcome);
        }
    }

    /// Sets the outcome of all parts of a message that match.
    fn outcome_where(
        &mut self,
        message: usize,
        outcome: &PartOutcome,
        matches: impl Fn(&Part) -> bool,
    ) {
        let Some(one) = self.messages.get(message) else { return };
        for (at, part) in one.parts.iter().enumerate() {
            if matches(part) {
                self.outcome(message, at, outcome.clone());
            }
        }
    }

    /// Records a change that was made when calls and results were paired.
    fn note(&mut self, message: usize, kind: &NoteKind) {
        let reshaped = |reason| PartOutcome::Reshaped { reason };
        match kind {
            NoteKind::ResultWithoutCall { id } => {
                let left_out = PartOutcome::LeftOut { reason: "there is no call for this result" };
                self.outcome_where(message, &left_out, |part| is_result(part, id));
            }
            NoteKind::CallClosed { id } => {
                let outcome = reshaped("the call had no result; Tertulia added one that says so");
                self.outcome_where(message, &outcome, |part| is_call(part, id));
            }
            NoteKind::ResultMoved { id } => {
                let outcome = reshaped("the result was moved to its call");
                self.outcome_where(message, &outcome, |part| is_result(part, id));
            }
            NoteKind::IdRewritten { from, .. } => {
                let outcome = reshaped(
                    "the call has a new ID, because the agent does not accept the old one",
                );
                self.outcome_where(message, &outcome, |part| is_call(part, from));
            }
            NoteKind::ToolRenamed { from, .. } => {
                let outcome = reshaped(
                    "the tool has a new name, because the agent does not accept the old one",
                );
                self.outcome_where(message, &outcome, |part| {
                    call_of(part).is_some_and(|call| call.tool_name == *from)
                });
            }
            NoteKind::PartLeftOut { reason, .. } => {
                let outcome = PartOutcome::LeftOut { reason };
                self.outcome_where(message, &outcome, |part| {
                    matches!(part.kind, PartKind::ToolCall(_))
                });
            }
            _ => {}
        }
    }

    fn leave_out(&mut self, message_parts: &MessageParts<'a>, reason: &'static str) {
        for (at, _) in places(message_parts) {
            self.outcome(message_parts.index, at, PartOutcome::LeftOut { reason });
        }
    }

    fn user(&mut self, message_parts: &MessageParts<'a>, reshaped: Option<&'static str>) {
        let texts = message_parts.parts.iter().filter(|part| is_written_as_text(part)).count();
        let joined = (self.profile.joins_user_texts && texts > 1).then_some(JOINED);
        let reshaped = reshaped.or(joined);
        let mut pieces = Vec::new();
        for (at, part) in places(message_parts) {
            match &part.kind {
                PartKind::Text(text) if text.trim().is_empty() => {
                    self.outcome(message_parts.index, at, BLANK)
                }
                PartKind::Text(text) => {
                    if let Some(reason) = reshaped {
                        self.outcome(message_parts.index, at, PartOutcome::Reshaped { reason });
                    }
                    pieces.push(UserPiece::Text(Cow::Borrowed(text)));
                }
                PartKind::Image(image) if self.takes(image) => {
                    pieces.push(UserPiece::Image(image));
                }
                PartKind::FileRef(file) => {
                    self.outcome(message_parts.index, at, AS_TEXT);
                    pieces.push(UserPiece::Text(named_file(file).into()));
                }
                other => self.outcome(message_parts.index, at, cannot_hold(other)),
            }
        }
        if !pieces.is_empty() {
            self.push(message_parts.index, StepContent::User(pieces));
        }
    }

    fn takes(&self, image: &Image) -> bool {
        self.profile.user_images && common_picture(image).is_ok()
    }

    /// Adds an answer. Omits thinking at its end, because an answer must not end with it.
    fn assistant(
        &mut self,
        message_parts: &MessageParts<'a>,
        calls: &mut std::slice::Iter<'_, Call<'a>>,
        thinks_until: usize,
    ) {
        let mut pieces = Vec::new();
        for (number, (at, part)) in places(message_parts).enumerate() {
            match &part.kind {
                PartKind::Thinking(_) if number >= thinks_until => {
                    let reason = "an answer cannot end with thinking";
                    self.outcome(message_parts.index, at, PartOutcome::LeftOut { reason });
                }
                PartKind::Text(text) if text.trim().is_empty() => {
                    self.outcome(message_parts.index, at, BLANK)
                }
                PartKind::Text(text) => pieces.push(AssistantPiece::Text(Cow::Borrowed(text))),
                PartKind::Thinking(text) if (self.profile.keeps_thinking)(part) => {
                    pieces.push(AssistantPiece::Thinking { text, part });
                }
                PartKind::ToolCall(_) => {
                    if let Some(call) = calls.next() {
                        if !has_object(call.call) {
                            self.outcome(message_parts.index, at, AS_OBJECT);
                        }
                        let (id, name) = (call.id.clone(), call.name.clone());
                        pieces.push(AssistantPiece::Call(CallPiece { id, name, call: call.call }));
                    }
                }
                PartKind::FileRef(file) => {
                    self.outcome(message_parts.index, at, AS_TEXT);
                    pieces.push(AssistantPiece::Text(named_file(file).into()));
                }
                other => self.outcome(message_parts.index, at, cannot_hold(other)),
            }
        }
        if !pieces.is_empty() {
            self.push(message_parts.index, StepContent::Assistant(pieces));
        }
    }

    fn results(&mut self, calls: &[Call<'a>]) {
        let Some(last) = calls.last() else { return };
        let index = last.result_index();
        let results = calls.iter().map(|call| self.result(call)).collect();
        self.push(index, StepContent::Results(results));
    }

    fn result(&mut self, call: &Call<'a>) -> CallResult<'a> {
        let (id, name) = (call.id.clone(), call.name.clone());
        let Some((message, result)) = call.result else {
            let text = ToolResult::NOT_RECORDED.to_owned();
            return CallResult { id, name, text, images: Vec::new(), is_error: true };
        };
        let mut content = Content::new(result);
        let mut images = Vec::new();
        let is_ours = |part: &Part| result_of(part).is_some_and(|one| std::ptr::eq(one, result));
        if *id != *result.tool_call_id {
            let reason = "its call has a new ID, because the agent does not accept the old one";
            self.outcome_where(message, &PartOutcome::Reshaped { reason }, is_ours);
        }
        if content.images() > 0 {
            let mut left_out = 0;
            content.pieces.retain(|piece| match piece {
                Piece::Text(_) => true,
                Piece::Image(image)
                    if self.profile.result_images && common_picture(image).is_ok() =>
                {
                    images.push(image.clone());
                    false
                }
                Piece::Image(image) => {
                    left_out += match &image.source {
                        ImageSource::Data(data) | ImageSource::Url(data) => data.len(),
                    };
                    true
                }
            });
            if left_out > 0 {
                let kept = result.content.as_str().len().saturating_sub(left_out) as u64;
                let reason = "the agent accepts no pictures in tool results; a text names them";
                let outcome = PartOutcome::Shortened { kept, reason };
                self.outcome_where(message, &outcome, is_ours);
            }
        }
        let is_empty = content.pieces.is_empty();
        let text =
            if is_empty { String::new() } else { node_text(content.into_text()).into_owned() };
        CallResult { id, name, text, images, is_error: result.is_error }
    }

    fn push(&mut self, message: usize, content: StepContent<'a>) {
        if self.steps.is_empty()
            && self.request.continues.is_none()
            && !matches!(content, StepContent::User(_))
        {
            self.add_user();
        }
        let given = self.request.messages.get(message);
        let at = self.time(given.and_then(|one| one.timestamp));
        let source = given.map(|one| one.source);
        let mut number = 0;
        if let Some(source) = source {
            let next = self.numbers.entry(source).or_default();
            number = *next;
            *next += 1;
        }
        self.steps.push(Step { at, source, number, content });
    }

    /// Adds a first step of the user, without content from the conversation.
    fn add_user(&mut self) {
        let first = self.request.messages.first().and_then(|one| one.timestamp);
        let at = self.time(first);
        let text = UserPiece::Text(Placeholder::Opening.words().into());
        let content = StepContent::User(vec![text]);
        self.steps.push(Step { at, source: None, number: 0, content });
    }

    /// Returns a time that is not earlier than the last one and not later than now.
    fn time(&mut self, given: Option<&Timestamp>) -> Timestamp {
        let now = self.request.now.millis();
        let last = self.last.as_ref().map(Timestamp::millis);
        let wanted = given.map(Timestamp::millis).or(last).unwrap_or(now);
        let at = Timestamp::from_millis(wanted.max(last.unwrap_or(wanted)).min(now));
        self.last = Some(at.clone());
        at
    }

    fn finish(mut self) -> Steps<'a> {
        let ends_with_user =
            matches!(self.steps.last(), Some(Step { content: StepContent::User(_), .. }));
        let ends_with_results =
            matches!(self.steps.last(), Some(Step { content: StepContent::Results(_), .. }));
        if self.profile.ends_with_assistant && (ends_with_user || ends_with_results) {
            let at = self.request.now.clone();
            let text = AssistantPiece::Text(UNANSWERED.into());
            let content = StepContent::Assistant(vec![text]);
            // The step gets the source of the last step and the next number, so that its record has a different id in
            // every part of a session.
            let last = self.steps.last().map(|last| (last.source, last.number + 1));
            let (source, number) = last.unwrap_or((None, 1));
            self.steps.push(Step { at, source, number, content });
        }
        if let Some(last) = self.steps.last_mut() {
            last.at = self.request.now.clone();
        }
        Steps { steps: self.steps, outcomes: self.outcomes }
    }
}

/// The assistant's text at the end of a session whose last request has no answer.
pub(super) const UNANSWERED: &str = "(This request was not answered yet.)";
const JOINED: &str = "joined with the other texts of its message";

/// Whether a part of a message of the user is written as a text.
fn is_written_as_text(part: &Part) -> bool {
    match &part.kind {
        PartKind::Text(text) => !text.trim().is_empty(),
        PartKind::FileRef(_) => true,
        _ => false,
    }
}

/// Returns the parts with their index in the message.
fn places<'a>(
    message_parts: &MessageParts<'a>,
) -> impl Iterator<Item = (usize, &'a Part)> + use<'a> {
    // The parts are a slice of the message's parts.
    let is_first =
        |part: &Part| message_parts.parts.first().is_some_and(|first| std::ptr::eq(part, first));
    let start = message_parts.message.parts.iter().position(is_first).unwrap_or_default();
    (start..).zip(message_parts.parts)
}
