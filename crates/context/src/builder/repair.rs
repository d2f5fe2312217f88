//! Mending a list of messages so that no provider refuses it: every tool call is answered right behind
//! its message, every result has its call, nothing is empty. What is changed is told; order never
//! changes.

use std::collections::HashSet;

use super::message_ref::MessageRef;
use tertulia_session::json::Json;
use tertulia_session::{EntryId, Message, Part, PartKind, Parts, Role, ToolResult};

use crate::whitespace::trim;

/// A message on its way to a model, and where it comes from.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Item<'a> {
    /// The place of its entry in the log; for a result that was made up, that of its call.
    pub place: usize,
    /// The message.
    pub message: MessageRef<'a>,
    /// Whether it stays from before a cut.
    pub is_before: bool,
    /// Whether it is not what the entry says, but what was mended or made up.
    pub is_mended: bool,
}

/// A list that was mended, and what was done to it.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Repaired<'a> {
    /// The messages.
    pub items: Vec<Item<'a>>,
    /// What was done, in the order of the list.
    pub mended: Vec<Mended>,
}

/// Something that was mended.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Mended {
    /// The place of the entry.
    pub place: usize,
    /// What was done.
    pub kind: RepairKind,
}

/// Something that was mended, by the id of its entry.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Repair {
    /// The entry.
    pub entry: EntryId,
    /// What was done.
    pub kind: RepairKind,
}

/// What was done to a message.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum RepairKind {
    /// There was nothing in it that a model could read; it was left out.
    Empty,
    /// A part stood in a message of a role that cannot have it; it was left out.
    MisplacedPart,
    /// A second call had the id of another call of the same message; it was left out.
    RepeatedCall {
        /// The id.
        call: Box<str>,
    },
    /// A result had no call right before it, or its call had one already; it was left out.
    OrphanResult {
        /// The id that it names.
        call: Box<str>,
    },
    /// A call had no result right behind it; an error result was put there.
    MissingResult {
        /// The id.
        call: Box<str>,
    },
}

impl<'a> Item<'a> {
    /// A message as its entry says it.
    pub fn new(place: usize, message: MessageRef<'a>) -> Self {
        Self { place, message, is_before: false, is_mended: false }
    }
}

/// What a made-up result says.
pub const NO_RESULT: &str = "No result of this call was recorded.";

/// Mends a list. A call at the very end may wait for its results: it stays as it is.
pub fn repair<'a>(items: impl IntoIterator<Item = Item<'a>>) -> Repaired<'a> {
    let mut mender = Mender::default();
    for item in items {
        match item.message.effective_role() {
            Role::Tool => mender.results(item),
            Role::Assistant => mender.answer(item),
            Role::System | Role::User => mender.request(item),
        }
    }
    mender.done
}

#[derive(Default)]
struct Mender<'a> {
    done: Repaired<'a>,
    /// The calls of the newest answer, in order.
    calls: Vec<Box<str>>,
    /// Those that have no result yet.
    open: HashSet<Box<str>>,
    /// The place of that answer, and whether it stays from before a cut.
    caller: Option<(usize, bool)>,
}

impl<'a> Mender<'a> {
    fn request(&mut self, item: Item<'a>) {
        let is_misplaced =
            |kind: &PartKind| matches!(kind, PartKind::ToolCall(_) | PartKind::ToolResult(_));
        let item = match item.message.parts.iter().any(|part| is_misplaced(&part.kind)) {
            true => self
                .keep_parts(item, |kind| is_misplaced(kind).then_some(RepairKind::MisplacedPart)),
            false => item,
        };
        if let Some(item) = self.unless_empty(item) {
            self.close();
            self.done.items.push(item);
        }
    }

    fn answer(&mut self, item: Item<'a>) {
        let item = if may_need_mending(&item.message) { self.mended_answer(item) } else { item };
        let Some(item) = self.unless_empty(item) else { return };
        self.close();
        self.calls = item.message.parts.iter().filter_map(call_id).collect();
        self.open = self.calls.iter().cloned().collect();
        self.caller = Some((item.place, item.is_before));
        self.done.items.push(item);
    }

    fn mended_answer(&mut self, item: Item<'a>) -> Item<'a> {
        let mut seen = HashSet::new();
        self.keep_parts(item, |kind| match kind {
            PartKind::ToolResult(_) => Some(RepairKind::MisplacedPart),
            PartKind::ToolCall(call) if !seen.insert(call.tool_call_id.clone()) => {
                Some(RepairKind::RepeatedCall { call: call.tool_call_id.clone() })
            }
            _ => None,
        })
    }

    fn results(&mut self, item: Item<'a>) {
        if item.message.parts.is_empty() {
            self.done.mended.push(Mended { place: item.place, kind: RepairKind::Empty });
            return;
        }
        let mut open = std::mem::take(&mut self.open);
        let item = self.keep_parts(item, |kind| {
            let PartKind::ToolResult(result) = kind else { return Some(RepairKind::MisplacedPart) };
            let orphan = !open.remove(&result.tool_call_id);
            orphan.then(|| RepairKind::OrphanResult { call: result.tool_call_id.clone() })
        });
        self.open = open;
        // A tool message without results was told part by part already.
        if !item.message.parts.is_empty() {
            self.done.items.push(item);
        }
    }

    /// The item without the parts that get a reason; each is told.
    fn keep_parts(
        &mut self,
        mut item: Item<'a>,
        mut reason: impl FnMut(&PartKind) -> Option<RepairKind>,
    ) -> Item<'a> {
        let reasons: Vec<Option<RepairKind>> =
            item.message.parts.iter().map(|part| reason(&part.kind)).collect();
        if reasons.iter().all(Option::is_none) {
            return item;
        }
        let mut wanted = reasons.iter().map(Option::is_none);
        let mut message = item.message.into_owned();
        message.parts.retain(|_| wanted.next().unwrap_or(true));
        item.message = MessageRef::made(message);
        item.is_mended = true;
        for kind in reasons.into_iter().flatten() {
            self.done.mended.push(Mended { place: item.place, kind });
        }
        item
    }

    fn unless_empty(&mut self, item: Item<'a>) -> Option<Item<'a>> {
        if item.message.parts.iter().any(says_something) {
            return Some(item);
        }
        self.done.mended.push(Mended { place: item.place, kind: RepairKind::Empty });
        None
    }

    /// Something follows: calls that are still open get an error result.
    fn close(&mut self) {
        let mut calls = std::mem::take(&mut self.calls);
        calls.retain(|call| self.open.remove(call));
        let (Some((place, is_before)), false) = (self.caller.take(), calls.is_empty()) else {
            return;
        };
        let parts: Parts = calls.iter().map(|call| no_result(call)).collect();
        for call in calls {
            let kind = RepairKind::MissingResult { call };
            self.done.mended.push(Mended { place, kind });
        }
        let message = Message::of_role(Role::Tool, parts);
        let message = MessageRef::made(message);
        self.done.items.push(Item { place, message, is_before, is_mended: true });
    }
}

/// Whether there is a result in an answer, or more than one call that could share an id.
fn may_need_mending(answer: &Message) -> bool {
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

fn call_id(part: &Part) -> Option<Box<str>> {
    match &part.kind {
        PartKind::ToolCall(call) => Some(call.tool_call_id.clone()),
        _ => None,
    }
}

fn no_result(call: &str) -> Part {
    let content = Json::text(NO_RESULT);
    let result = ToolResult { tool_call_id: call.into(), is_error: true, content };
    Part::new(PartKind::ToolResult(Box::new(result)))
}

/// Whether a model finds anything in it. Thinking alone is no message for any provider.
pub(super) fn says_something(part: &Part) -> bool {
    match &part.kind {
        PartKind::Text(text) => !trim(text).is_empty(),
        PartKind::Thinking(_) => false,
        PartKind::ToolCall(_)
        | PartKind::ToolResult(_)
        | PartKind::Image(_)
        | PartKind::FileRef(_)
        | PartKind::Other(_) => true,
    }
}
