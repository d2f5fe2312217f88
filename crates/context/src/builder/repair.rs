//! Repairs a list of messages so that no provider refuses it. Afterwards the results of tool calls directly follow
//! the message with the calls, every result has its call, and nothing is empty. Every change is reported. Only
//! results are moved, to their calls.

use std::collections::HashSet;

use tertulia_session::{EntryId, Message, OpenCalls, Part, PartKind, Role, ToolResult};

use super::{Item, LogIndex, MessageRef};
use crate::branch::says_something;

/// A repaired list, with the repairs.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Repaired<'a> {
    pub items: Vec<Item<'a>>,
    /// The repairs, in the order of the list.
    pub repairs: Vec<Repair<LogIndex>>,
}

/// A repair, with the id of the entry or its index.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Repair<E = EntryId> {
    pub entry: E,
    pub kind: RepairKind,
}

/// The kind of a repair.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum RepairKind {
    /// The message contained nothing that a model can read; it was left out.
    Empty,
    /// A part was in a message whose role cannot have it; it was left out.
    MisplacedPart,
    /// A second call had the id of another call of the same message; it was left out.
    RepeatedCall { call: Box<str> },
    /// A result had no call before it, or its call already had a result; it was left out.
    OrphanResult { call: Box<str> },
    /// A result came late, or in a message of another role; it was moved right after its call.
    MovedResult { call: Box<str> },
    /// A call had no result; an error result was inserted right after it.
    MissingResult { call: Box<str> },
}

impl RepairKind {
    /// Returns the word in JSON.
    pub fn as_str(&self) -> &'static str {
        match self {
            Self::Empty => "empty",
            Self::MisplacedPart => "misplaced_part",
            Self::RepeatedCall { .. } => "repeated_call",
            Self::OrphanResult { .. } => "orphan_result",
            Self::MovedResult { .. } => "moved_result",
            Self::MissingResult { .. } => "missing_result",
        }
    }

    /// Returns the id of the call, if the repair is about one.
    pub fn call(&self) -> Option<&str> {
        match self {
            Self::Empty | Self::MisplacedPart => None,
            Self::RepeatedCall { call }
            | Self::OrphanResult { call }
            | Self::MovedResult { call }
            | Self::MissingResult { call } => Some(call),
        }
    }
}

/// Repairs a list. A call at the very end may still get its results, so it stays as it is.
pub fn repair<'a>(items: impl IntoIterator<Item = Item<'a>>) -> Repaired<'a> {
    let mut repairer = Repairer::default();
    for item in items {
        match item.message.effective_role() {
            Role::Tool => repairer.results(item),
            Role::Assistant => repairer.answer(item),
            Role::System | Role::User => repairer.request(item),
        }
    }
    repairer.finish()
}

#[derive(Default)]
struct Repairer<'a> {
    done: Repaired<'a>,
    pairs: Pairs<'a>,
}

/// The calls so far, and the results that did not follow them directly.
#[derive(Default)]
struct Pairs<'a> {
    answers: Vec<Answer>,
    /// The calls of all answers, by number.
    calls: Vec<Call>,
    open: OpenCalls<Box<str>, usize>,
    /// The results to insert after those of an answer.
    moved: Vec<(usize, Item<'a>)>,
}

struct Answer {
    entry: LogIndex,
    is_before: bool,
    /// The index where its results end; `None` until another message follows.
    end: Option<usize>,
}

struct Call {
    id: Box<str>,
    answer: usize,
    has_result: bool,
}

impl<'a> Repairer<'a> {
    fn request(&mut self, item: Item<'a>) {
        let is_sound =
            |part: &Part| !matches!(part.kind, PartKind::ToolCall(_) | PartKind::ToolResult(_));
        let item = match item.message.parts.iter().all(is_sound) {
            true => item,
            false => self.keep_parts(item, |pairs, item, part| match &part.kind {
                PartKind::ToolCall(_) => Some(RepairKind::MisplacedPart),
                PartKind::ToolResult(result) => Some(pairs.misplaced(item, part, result)),
                _ => None,
            }),
        };
        if let Some(item) = self.unless_empty(item) {
            self.pairs.close(self.done.items.len());
            self.done.items.push(item);
        }
    }

    fn answer(&mut self, item: Item<'a>) {
        let mut results = Vec::new();
        let item = match may_need_repair(&item.message) {
            true => {
                let is_result = |part: &&Part| matches!(part.kind, PartKind::ToolResult(_));
                results.extend(item.message.parts.iter().filter(is_result).cloned());
                self.repaired_answer(item)
            }
            false => item,
        };
        let entry = item.entry;
        if let Some(item) = self.unless_empty(item) {
            self.pairs.close(self.done.items.len());
            self.pairs.add(&item);
            self.done.items.push(item);
        }
        // Some programs write a result into the answer with the call.
        if !results.is_empty() {
            let message = Message::with_role(Role::Assistant, results.into_iter().collect());
            let item = Item::new(entry, MessageRef::generated(message));
            self.keep_parts(item, |pairs, item, part| match &part.kind {
                PartKind::ToolResult(result) => Some(pairs.misplaced(item, part, result)),
                _ => None,
            });
        }
    }

    fn repaired_answer(&mut self, mut item: Item<'a>) -> Item<'a> {
        if item.message.parts.iter().any(|part| matches!(part.kind, PartKind::ToolResult(_))) {
            let mut message = item.message.into_owned();
            message.parts.retain(|part| !matches!(part.kind, PartKind::ToolResult(_)));
            item.message = MessageRef::generated(message);
            item.is_repaired = true;
        }
        let mut seen = HashSet::new();
        self.keep_parts(item, |_, _, part| match &part.kind {
            PartKind::ToolCall(call) if !seen.insert(call.tool_call_id.clone()) => {
                Some(RepairKind::RepeatedCall { call: call.tool_call_id.clone() })
            }
            _ => None,
        })
    }

    fn results(&mut self, item: Item<'a>) {
        if item.message.parts.is_empty() {
            self.done.repairs.push(Repair { entry: item.entry, kind: RepairKind::Empty });
            return;
        }
        let item = self.keep_parts(item, |pairs, item, part| match &part.kind {
            PartKind::ToolResult(result) => match pairs.find(result) {
                Some(answer) if pairs.is_directly_before_next(answer) => None,
                Some(answer) => Some(pairs.move_to(answer, item, part, result)),
                None => Some(RepairKind::OrphanResult { call: result.tool_call_id.clone() }),
            },
            _ => Some(RepairKind::MisplacedPart),
        });
        // If all parts of a tool message were removed, they were already reported one by one.
        if !item.message.parts.is_empty() {
            self.done.items.push(item);
        }
    }

    /// Removes the parts for which `reason` returns a reason, and reports each.
    fn keep_parts(
        &mut self,
        mut item: Item<'a>,
        mut reason: impl FnMut(&mut Pairs<'a>, &Item<'a>, &Part) -> Option<RepairKind>,
    ) -> Item<'a> {
        let pairs = &mut self.pairs;
        let parts = item.message.parts.iter();
        let reasons: Vec<_> = parts.map(|part| reason(pairs, &item, part)).collect();
        if reasons.iter().all(Option::is_none) {
            return item;
        }
        let mut wanted = reasons.iter().map(Option::is_none);
        let mut message = item.message.into_owned();
        message.parts.retain(|_| wanted.next().unwrap_or(true));
        item.message = MessageRef::generated(message);
        item.is_repaired = true;
        for kind in reasons.into_iter().flatten() {
            self.done.repairs.push(Repair { entry: item.entry, kind });
        }
        item
    }

    fn unless_empty(&mut self, item: Item<'a>) -> Option<Item<'a>> {
        if item.message.parts.iter().any(says_something) {
            return Some(item);
        }
        // If a message contained only results, these were already reported one by one.
        if !(item.is_repaired && item.message.parts.is_empty()) {
            self.done.repairs.push(Repair { entry: item.entry, kind: RepairKind::Empty });
        }
        None
    }

    fn finish(mut self) -> Repaired<'a> {
        let Pairs { answers, calls, moved, .. } = self.pairs;
        let mut missing: Vec<Vec<Part>> = answers.iter().map(|_| Vec::new()).collect();
        for call in calls.into_iter().filter(|call| !call.has_result) {
            if answers[call.answer].end.is_some() {
                let result = Box::new(ToolResult::not_recorded(call.id.clone()));
                missing[call.answer].push(Part::new(PartKind::ToolResult(result)));
                let entry = answers[call.answer].entry;
                let kind = RepairKind::MissingResult { call: call.id };
                self.done.repairs.push(Repair { entry, kind });
            }
        }
        let end = |answer: usize| answers[answer].end.unwrap_or(self.done.items.len());
        let mut added: Vec<(usize, Item<'a>)> = Vec::new();
        added.extend(moved.into_iter().map(|(answer, item)| (end(answer), item)));
        for (answer, parts) in missing.into_iter().enumerate().filter(|(_, some)| !some.is_empty())
        {
            let message =
                MessageRef::generated(Message::with_role(Role::Tool, parts.into_iter().collect()));
            let Answer { entry, is_before, .. } = answers[answer];
            added.push((end(answer), Item { entry, message, is_before, is_repaired: true }));
        }
        if !added.is_empty() {
            added.sort_by_key(|(end, _)| *end);
            self.done.items = merged(std::mem::take(&mut self.done.items), added);
            self.done.repairs.sort_by_key(|repair| repair.entry);
        }
        self.done
    }
}

impl<'a> Pairs<'a> {
    fn add(&mut self, item: &Item<'a>) {
        let mut ids = item.message.parts.iter().filter_map(call_id).peekable();
        if ids.peek().is_none() {
            return;
        }
        self.open.begin_answer();
        for id in ids {
            self.open.call(id.into(), self.calls.len());
            self.calls.push(Call { id: id.into(), answer: self.answers.len(), has_result: false });
        }
        self.answers.push(Answer { entry: item.entry, is_before: item.is_before, end: None });
    }

    /// Returns the answer that waits for this result, and records that the result arrived.
    fn find(&mut self, result: &ToolResult) -> Option<usize> {
        let call = &mut self.calls[self.open.answer(&result.tool_call_id)?];
        call.has_result = true;
        Some(call.answer)
    }

    /// Returns whether the next item follows this answer directly.
    fn is_directly_before_next(&self, answer: usize) -> bool {
        self.answers[answer].end.is_none()
    }

    /// Records that another message follows: the results of the newest answer end here.
    fn close(&mut self, items: usize) {
        if let Some(answer) = self.answers.last_mut() {
            answer.end.get_or_insert(items);
        }
    }

    fn misplaced(&mut self, item: &Item<'a>, part: &Part, result: &ToolResult) -> RepairKind {
        match self.find(result) {
            Some(answer) => self.move_to(answer, item, part, result),
            None => RepairKind::MisplacedPart,
        }
    }

    fn move_to(
        &mut self,
        answer: usize,
        item: &Item<'a>,
        part: &Part,
        result: &ToolResult,
    ) -> RepairKind {
        // A message that contains only this result is moved as it is.
        let is_whole = item.message.parts.len() == 1 && item.message.effective_role() == Role::Tool;
        let moved = match is_whole {
            true => item.clone(),
            false => {
                let parts = std::iter::once(part.clone()).collect();
                let message = MessageRef::generated(Message::with_role(Role::Tool, parts));
                Item { message, is_repaired: true, ..item.clone() }
            }
        };
        let is_before = self.answers[answer].is_before;
        self.moved.push((answer, Item { is_before, ..moved }));
        RepairKind::MovedResult { call: result.tool_call_id.clone() }
    }
}

/// Returns the items with the added ones. Each is inserted before the item with its number.
fn merged<'a>(items: Vec<Item<'a>>, added: Vec<(usize, Item<'a>)>) -> Vec<Item<'a>> {
    let mut merged = Vec::with_capacity(items.len() + added.len());
    let mut added = added.into_iter().peekable();
    for (number, item) in items.into_iter().enumerate() {
        while let Some((_, one)) = added.next_if(|(before, _)| *before <= number) {
            merged.push(one);
        }
        merged.push(item);
    }
    merged.extend(added.map(|(_, item)| item));
    merged
}

/// Returns whether an answer contains a result, or several calls, which could share an id.
fn may_need_repair(answer: &Message) -> bool {
    let mut calls = 0;
    answer.parts.iter().any(|part| match part.kind {
        PartKind::ToolResult(_) => true,
        PartKind::ToolCall(_) => {
            calls += 1;
            calls > 1
        }
        _ => false,
    })
}

fn call_id(part: &Part) -> Option<&str> {
    match &part.kind {
        PartKind::ToolCall(call) => Some(&call.tool_call_id),
        _ => None,
    }
}
