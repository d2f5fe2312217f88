//! Accounts for every item of the source. The items are the parts of all messages, and all other entries.

use std::collections::HashMap;

use tertulia_context::{DropReason, HideReason, Outcome};
use tertulia_dialect::native::NativeOrigin;
use tertulia_dialect::native::write::{ItemOutcome, PartOutcome, Written, part_bytes};
use tertulia_session::{Entry, EntryId, EntryKind, Message, Part, PartKind, Role};

use super::receipt::{Item, ItemKind, ItemStatus, Receipt};
use super::select::{Origin, Selection};

const SUMMARY: &str = "a summary replaces it";
const STUB: &str = "a stub that names its entry replaces it";

/// Returns the receipt for a selection and the session that was written from it. It covers the whole log.
pub(super) fn receipt(entries: &[Entry], selection: &Selection<'_>, written: &Written) -> Receipt {
    let sent = Sent::new(selection, written);
    let mut receipt = Receipt::default();
    for (at, entry) in entries.iter().enumerate() {
        let mut items = items_of(at as u64 + 1, entry);
        let statuses = match &selection.held {
            Some(held) if !sent.has(entry) => held.statuses(at, entry, &items),
            _ => sent.statuses(entry, selection),
        };
        for (item, status) in items.iter_mut().zip(statuses) {
            item.status = status;
        }
        receipt.items.append(&mut items);
    }
    receipt
}

/// Returns the items of an entry: the parts of a message, or the entry itself.
fn items_of(number: u64, entry: &Entry) -> Vec<Item> {
    let item = |kind, bytes| Item { entry: number, kind, bytes, status: ItemStatus::Kept };
    match &entry.kind {
        EntryKind::Message(message) => {
            let parts = message.parts.iter();
            parts.map(|part| item(part_kind(message, part), part_bytes(part))).collect()
        }
        // A link only records how far the log was handed over, so it is no item.
        EntryKind::NativeSession(_) => Vec::new(),
        other => vec![item(entry_kind(other), entry_bytes(entry))],
    }
}

/// The written messages by source.
struct Sent<'a> {
    /// For every source, the indexes of its messages. A message with a call and its result becomes two.
    messages: HashMap<&'a EntryId, Vec<usize>>,
    /// For every message, the outcomes of its parts.
    outcomes: Vec<&'a [ItemOutcome]>,
}

impl<'a> Sent<'a> {
    fn new(selection: &'a Selection<'_>, written: &'a Written) -> Self {
        let mut messages: HashMap<_, Vec<usize>> = HashMap::with_capacity(selection.messages.len());
        for (index, one) in selection.messages.iter().enumerate() {
            messages.entry(&*one.source).or_default().push(index);
        }
        let mut outcomes = Vec::with_capacity(selection.messages.len());
        let mut rest = written.items.as_slice();
        for index in 0..selection.messages.len() {
            let count = rest.iter().take_while(|item| item.message == index).count();
            let (own, others) = rest.split_at(count);
            outcomes.push(own);
            rest = others;
        }
        Self { messages, outcomes }
    }

    /// Whether anything was written for an entry.
    fn has(&self, entry: &Entry) -> bool {
        self.messages.contains_key(&entry.id)
    }

    /// Returns the statuses of the items of an entry.
    fn statuses(&self, entry: &Entry, selection: &Selection<'_>) -> Vec<ItemStatus> {
        let Some(message) = entry.message() else {
            let in_message = ItemStatus::Reshaped { reason: "a message of the user".into() };
            return vec![if self.has(entry) { in_message } else { other_status(entry) }];
        };
        let mut statuses = self.of_parts(entry, message, selection);
        for late in selection.late.iter().filter(|late| late.entry == entry.id) {
            let outcomes = self.outcomes.get(late.message).copied().unwrap_or_default();
            for at in &late.parts {
                if let (Some(status), Some(part)) = (statuses.get_mut(*at), message.parts.get(*at))
                {
                    *status = late_status(part, outcomes);
                }
            }
        }
        statuses
    }

    /// Returns the statuses of the parts of a message.
    fn of_parts(
        &self,
        entry: &Entry,
        message: &Message,
        selection: &Selection<'_>,
    ) -> Vec<ItemStatus> {
        let sent = self.messages.get(&entry.id).map_or(&[][..], Vec::as_slice).iter();
        let sent = sent.filter_map(|index| {
            Some((selection.messages.get(*index)?, *self.outcomes.get(*index)?))
        });
        let Some((first, outcomes)) = sent.clone().find(|(one, _)| one.origin != Origin::Added)
        else {
            let outcome = selection.verdicts.get(&entry.id).map(|verdict| &verdict.outcome);
            return message.parts.iter().map(|part| unsent(part, outcome)).collect();
        };
        if first.origin == Origin::Entry {
            return outcomes.iter().map(|one| status_of(&one.outcome)).collect();
        }
        let parts = sent.flat_map(|(one, outcomes)| one.message.parts.iter().zip(outcomes));
        changed(message, &parts.collect::<Vec<_>>())
    }
}

/// Returns the status of a result that was written as a text, because its call was handed over earlier.
fn late_status(part: &Part, outcomes: &[ItemOutcome]) -> ItemStatus {
    let is_lost = |one: &ItemOutcome| matches!(one.outcome, PartOutcome::LeftOut { .. });
    match &part.kind {
        PartKind::ToolResult(result) if outcomes.iter().any(is_lost) => ItemStatus::Shortened {
            kept_bytes: part_bytes(part).min(result.text().len() as u64),
            reason: "its call was handed over earlier; a text names the call, without the picture"
                .into(),
        },
        _ => ItemStatus::Reshaped {
            reason: "its call was handed over earlier; a text names the call".into(),
        },
    }
}

/// Returns the status of an entry that is no message and was not written.
pub(super) fn other_status(entry: &Entry) -> ItemStatus {
    let reason = match &entry.kind {
        EntryKind::Purged(_) | EntryKind::Redaction(_) => "it is redacted",
        EntryKind::CompactionSummary(_) | EntryKind::BranchSummary(_) => {
            "the messages that it summarises, or a newer summary, are handed over instead"
        }
        EntryKind::Usage(_) => "usage is not part of a conversation",
        EntryKind::NativeRecord(_) => "only the agent that wrote this record uses it",
        EntryKind::Turn(_) | EntryKind::TurnEvent(_) => {
            "the activities of an agent during a turn are not part of a conversation"
        }
        EntryKind::SystemPromptOverride(_) => "the agent has its own system prompt",
        _ => "it is not part of a conversation",
    };
    ItemStatus::LeftOut { reason: reason.into() }
}

/// Returns the statuses of the parts of a message that was changed before it was written: by a stub or a label, or
/// because its results became a message of their own. `new` contains the parts that were written instead.
fn changed(message: &Message, new: &[(&Part, &ItemOutcome)]) -> Vec<ItemStatus> {
    let is_same_shape = message.parts.len() == new.len();
    let has_text = new.iter().any(|(now, _)| now.as_text().is_some());
    let status = |(at, part): (usize, &Part)| {
        let same = new.get(at).filter(|(now, _)| *now == part);
        if let Some((_, outcome)) = same.or_else(|| new.iter().find(|(now, _)| *now == part)) {
            return status_of(&outcome.outcome);
        }
        let in_place = new.get(at).filter(|_| is_same_shape);
        let now =
            in_place.or_else(|| new.iter().find(|(now, _)| are_results_of_one_call(now, part)));
        match (part.as_text(), now) {
            (Some(_), _) if has_text => {
                ItemStatus::Reshaped { reason: "labelled with its speaker".into() }
            }
            (None, Some((now, _))) => {
                ItemStatus::Shortened { kept_bytes: part_bytes(now), reason: STUB.into() }
            }
            _ => ItemStatus::LeftOut {
                reason: "other members' tool calls and thinking are not handed over".into(),
            },
        }
    };
    message.parts.iter().enumerate().map(status).collect()
}

fn are_results_of_one_call(one: &Part, other: &Part) -> bool {
    match (&one.kind, &other.kind) {
        (PartKind::ToolResult(one), PartKind::ToolResult(other)) => {
            one.tool_call_id == other.tool_call_id
        }
        _ => false,
    }
}

fn status_of(outcome: &PartOutcome) -> ItemStatus {
    match outcome {
        PartOutcome::Kept => ItemStatus::Kept,
        PartOutcome::Reshaped { reason } => ItemStatus::Reshaped { reason: (*reason).into() },
        PartOutcome::Shortened { kept, reason } => {
            ItemStatus::Shortened { kept_bytes: *kept, reason: (*reason).into() }
        }
        PartOutcome::LeftOut { reason } => ItemStatus::LeftOut { reason: (*reason).into() },
    }
}

/// Returns the status of a part of a message that was not written.
fn unsent(part: &Part, outcome: Option<&Outcome>) -> ItemStatus {
    let is_thinking = matches!(part.kind, PartKind::Thinking(_));
    let reason = match outcome {
        Some(Outcome::Dropped { reason: DropReason::Empty }) if is_thinking => {
            "only the model that wrote this thinking can use it"
        }
        Some(Outcome::Summarized { .. }) => {
            return ItemStatus::Shortened { kept_bytes: 0, reason: SUMMARY.into() };
        }
        Some(Outcome::Dropped { reason }) => match reason {
            DropReason::Empty => "it is blank",
            DropReason::Orphan => "there is no call for this result",
            _ => "it is older than what --last or the budget allows",
        },
        Some(Outcome::Hidden { reason }) => match reason {
            HideReason::Redacted => "it is redacted",
            HideReason::OtherBranch => "it is on another branch",
            _ => "it is not part of the conversation",
        },
        None => "it is on another branch",
        Some(_) => "the agent's session cannot hold it",
    };
    ItemStatus::LeftOut { reason: reason.into() }
}

/// Returns the receipt of an import that ends with the link at this index. An import keeps every record byte for
/// byte.
pub(super) fn import_receipt(entries: &[Entry], link: usize) -> Receipt {
    let before = entries.get(..link).unwrap_or_default();
    let is_link = |entry: &Entry| matches!(entry.kind, EntryKind::NativeSession(_));
    let from = before.iter().rposition(is_link).map_or(0, |last| last + 1);
    let mut receipt = Receipt::default();
    for (number, entry) in (1..).zip(before).skip(from) {
        let (bytes, status) = match NativeOrigin::of(entry) {
            Some(origin) => ((origin.bytes.len() + origin.end.len()) as u64, ItemStatus::Kept),
            None if entry.is_purged() => {
                (0, ItemStatus::LeftOut { reason: "it was redacted after the import".into() })
            }
            // This entry was made from the same record as the previous one.
            None => continue,
        };
        let kind = match &entry.kind {
            EntryKind::Message(message) => {
                message.parts.first().map_or(ItemKind::OtherPart, |part| part_kind(message, part))
            }
            other => entry_kind(other),
        };
        receipt.items.push(Item { entry: number, kind, bytes, status });
    }
    receipt
}

/// Returns the numbers of the entries whose size differs from the receipt, because they were redacted later.
pub(super) fn changed_entries(receipt: &Receipt, entries: &[Entry]) -> Vec<u64> {
    let mut expected: HashMap<u64, u64> = HashMap::new();
    for item in &receipt.items {
        let bytes = expected.entry(item.entry).or_default();
        *bytes = bytes.saturating_add(item.bytes);
    }
    let size = |number: u64| {
        let entry = entries.get(usize::try_from(number).ok()?.checked_sub(1)?)?;
        Some(match &entry.kind {
            EntryKind::Message(message) => message.parts.iter().map(part_bytes).sum(),
            _ => entry_bytes(entry),
        })
    };
    let is_other = |(number, bytes): &(u64, u64)| size(*number) != Some(*bytes);
    let mut changed: Vec<u64> =
        expected.into_iter().filter(is_other).map(|(number, _)| number).collect();
    changed.sort_unstable();
    changed
}

fn part_kind(message: &Message, part: &Part) -> ItemKind {
    match &part.kind {
        PartKind::Text(_) => match message.effective_role() {
            Role::User => ItemKind::UserText,
            Role::Assistant => ItemKind::AnswerText,
            Role::System => ItemKind::SystemText,
            Role::Tool => ItemKind::ToolResult,
        },
        PartKind::Thinking(_) => ItemKind::Thinking,
        PartKind::ToolCall(_) => ItemKind::ToolCall,
        PartKind::ToolResult(_) => ItemKind::ToolResult,
        PartKind::Image(_) => ItemKind::Picture,
        PartKind::FileRef(_) => ItemKind::File,
        PartKind::Other(_) => ItemKind::OtherPart,
    }
}

fn entry_kind(kind: &EntryKind) -> ItemKind {
    match kind {
        EntryKind::CompactionSummary(_) | EntryKind::BranchSummary(_) => ItemKind::Summary,
        EntryKind::Recall(_) => ItemKind::Recalled,
        EntryKind::Usage(_) => ItemKind::Usage,
        EntryKind::SessionSetting(_)
        | EntryKind::SessionHeader(_)
        | EntryKind::TeamTask(_)
        | EntryKind::ModelChange(_)
        | EntryKind::ThinkingLevelChange(_)
        | EntryKind::RuntimeInit(_) => ItemKind::Setting,
        EntryKind::SystemPromptOverride(_) => ItemKind::SystemText,
        EntryKind::Turn(_) | EntryKind::TurnEvent(_) => ItemKind::TurnRecord,
        EntryKind::NativeRecord(_) => ItemKind::NativeRecord,
        _ => ItemKind::OtherEntry,
    }
}

/// Returns the size of an entry that is no message: the size of its text, or of the agent's record.
pub(super) fn entry_bytes(entry: &Entry) -> u64 {
    let length = match &entry.kind {
        EntryKind::CompactionSummary(summary) => summary.summary.len(),
        EntryKind::BranchSummary(summary) => summary.summary.as_deref().map_or(0, str::len),
        EntryKind::Recall(recall) => recall.text.len(),
        EntryKind::TeamTask(task) => task.task.as_deref().map_or(0, str::len),
        EntryKind::SystemPromptOverride(prompt) => prompt.system_prompt.len(),
        EntryKind::NativeRecord(_) => {
            NativeOrigin::of(entry).map_or(0, |origin| origin.bytes.len() + origin.end.len())
        }
        _ => 0,
    };
    length as u64
}
