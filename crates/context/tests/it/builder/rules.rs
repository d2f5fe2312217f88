//! The rules of the providers and the smallest possible context, computed from lists of messages without calling the
//! builder.

use std::collections::HashSet;

use tertulia_context::builder::MessageRef;
use tertulia_context::builder::{
    Item, LogIndex, ModelMessage, Source, Strategy as Way, repair, units,
};
use tertulia_context::tokens::MessageCounter;
use tertulia_session::json::{self, Json, Kind};
use tertulia_session::{
    BranchSummary, EntryId, EntryKind, Message, Part, PartKind, Role, ToolResult,
};

use super::world::{Branch, Turn, asks};

/// Returns the first problem for which a provider would refuse the messages. A call must have its result right after
/// it, and a result its call. A part must be in a message of the right role, no message may be empty, and a system
/// message must not be in the middle.
pub(super) fn broken_rule(sent: &[ModelMessage<'_>]) -> Option<String> {
    let mut open: HashSet<&str> = HashSet::new();
    for (place, one) in sent.iter().enumerate() {
        let (role, parts) = (one.message.effective_role(), &one.message.parts);
        let is_volatile = matches!(one.source, Source::Recall | Source::RuntimeHints);
        if role != Role::Tool && !open.is_empty() && !is_volatile {
            return Some(format!("{place} comes before the results of {open:?}"));
        }
        if !parts.iter().any(says) {
            return Some(format!("{place} is empty"));
        }
        for part in parts {
            let is_fine = match (&part.kind, role) {
                (PartKind::ToolCall(call), Role::Assistant) => open.insert(&call.tool_call_id),
                (PartKind::ToolResult(result), Role::Tool) => open.remove(&*result.tool_call_id),
                (PartKind::ToolCall(_) | PartKind::ToolResult(_), _) | (_, Role::Tool) => false,
                _ => true,
            };
            if !is_fine {
                return Some(format!("{place} has a part that {role:?} cannot have: {part:?}"));
            }
        }
    }
    None
}

fn says(part: &Part) -> bool {
    match &part.kind {
        PartKind::Text(text) => !text.trim().is_empty(),
        PartKind::Thinking(_) => false,
        _ => true,
    }
}

/// The maximum tokens of the name of a newer entry in a stub.
const NEWER_TOKENS: u64 = 40;

/// Returns the size of the smallest possible history of this turn: pinned entries, the newest request and the newest
/// unit, with stubs where they are allowed and smaller.
pub(super) fn least_history(turn: &Turn<'_>) -> u64 {
    let counter = MessageCounter::new(match turn.story.setting.is_claude {
        true => tertulia_context::tokens::Tokenizer::Claude,
        false => tertulia_context::tokens::Tokenizer::Bytes,
    });
    let config = &turn.story.setting.config;
    let branch = Branch::new(turn.log);
    let (items, ids) = history_items(turn, &branch);
    let is_said = |item: &&Item<'_>| !item.message.is_generated();
    let mut said = items.iter().rev().filter(is_said);
    let request = said.find(|item| asks(&item.message)).map(|item| item.entry.0);
    let is_never = !config.strategies.iter().any(|way| *way != Way::Elide);
    let may_elide = config.strategies.contains(&Way::Elide);
    let elided = elided_in(&branch);
    let items = repair(items).items;
    let units = units(&items);
    let mut least = 0;
    // If a result was moved up to a call that must be sent, the rest of its message must be sent too.
    let mut split = HashSet::new();
    for (number, unit) in units.iter().enumerate() {
        let of_unit = &items[unit.items.clone()];
        let is_pinned = of_unit
            .iter()
            .any(|item| item.entry.0 < branch.entries.len() && branch.is_pinned(item.entry.0));
        let is_pinned = is_pinned || split.contains(&of_unit[0].entry.0);
        let is_request = of_unit.iter().any(|item| Some(item.entry.0) == request);
        if !(is_pinned || is_request || number + 1 == units.len() || is_never) {
            continue;
        }
        split.extend(of_unit[1..].iter().map(|item| item.entry.0));
        for item in of_unit {
            let whole = counter.count_message(&item.message).count.tokens;
            let can =
                may_elide && !is_pinned && !item.is_repaired && whole >= config.elide_min_tokens;
            let id = ids
                .get(item.entry.0)
                .copied()
                .flatten()
                .map_or("e-".to_owned() + &"0".repeat(32), |id| id.to_string());
            let short = || counter.count_message(&stub(&item.message, &id)).count.tokens;
            // An elided output stays elided, even if its stub is longer.
            let is_elided = !is_pinned && elided.iter().any(|elided| elided.as_str() == id);
            // An old stub may name a newer entry.
            least += if is_elided || (can && is_never) { NEWER_TOKENS } else { 0 };
            least += match can || is_elided {
                true if is_elided => short().max(whole),
                true => short().min(whole),
                false => whole,
            };
        }
    }
    least
}

/// Returns the items of a history, and the entry of each position.
fn history_items<'a>(
    turn: &Turn<'a>,
    branch: &Branch<'a>,
) -> (Vec<Item<'a>>, Vec<Option<&'a EntryId>>) {
    let mut items: Vec<Item<'_>> = Vec::new();
    let mut ids: Vec<Option<&EntryId>> = Vec::new();
    for (at, (id, entry)) in branch.entries.iter().enumerate() {
        ids.push(Some(id));
        match entry.map(|entry| &entry.kind) {
            Some(EntryKind::Message(message)) => {
                items.push(Item::new(LogIndex(at), MessageRef::Logged(message)))
            }
            Some(EntryKind::BranchSummary(BranchSummary { summary: Some(text), .. })) => {
                let parts = std::iter::once(Part::text(&**text)).collect();
                let made = MessageRef::generated(Message::with_role(Role::User, parts));
                items.push(Item::new(LogIndex(at), made));
            }
            _ => {}
        }
    }
    for message in turn.input.input_messages {
        items.push(Item::new(LogIndex(ids.len()), MessageRef::Logged(message)));
        ids.push(None);
    }
    (items, ids)
}

/// Returns the entries whose outputs the cuts of a branch replaced by stubs.
fn elided_in<'a>(branch: &Branch<'a>) -> Vec<&'a EntryId> {
    let cuts = branch.entries.iter().filter_map(|(_, entry)| match &(*entry)?.kind {
        EntryKind::ContextCut(cut) => cut.elided_ids.as_ref(),
        _ => None,
    });
    cuts.flatten().collect()
}

/// Returns the message with its outputs as stubs, by an independent implementation.
fn stub(message: &Message, id: &str) -> Message {
    let mut stubbed = message.clone();
    for part in &mut stubbed.parts {
        if let PartKind::ToolResult(result) = &part.kind {
            let raw = result.content.as_str();
            let text = match result.content.kind() {
                Kind::String => json::text(json::parse(raw).unwrap()).unwrap(),
                _ => raw.to_owned(),
            };
            let first = text.lines().map(str::trim).find(|line| !line.is_empty());
            let start: String = first.unwrap_or_default().chars().take(100).collect();
            let more =
                if first.is_some_and(|first| first.len() > start.len()) { "…" } else { "" };
            let (bytes, lines) = (text.len(), text.lines().count());
            let text = format!("[elided: {bytes} bytes, {lines} lines, entry {id}] {start}{more}");
            let (tool_call_id, is_error) = (result.tool_call_id.clone(), result.is_error);
            let content = Json::text(text.trim_end());
            let result = ToolResult { tool_call_id, is_error, content };
            *part = Part::new(PartKind::ToolResult(Box::new(result)));
        }
    }
    stubbed
}
