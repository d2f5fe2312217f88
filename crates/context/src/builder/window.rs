//! The part of the branch that is sent: from the oldest message that the newest cut kept to the newest one that
//! arrived. The cost of reading it depends on its size. If the cuts of a log do not name what they kept, the whole
//! log is read.

use std::cell::OnceCell;
use std::collections::{BTreeSet, HashSet};
use std::mem;

use tertulia_session::json::Json;
use tertulia_session::{Entry, EntryId, EntryKind, Message, Part, Role, ViewEntry};

use super::cut_state::{CutState, FIRST_KEPT};
use super::excerpts::recall_message;
use super::index::{ContextIndex, is_pinned};
use super::new_messages::NewMessages;
use super::repair::{Repair, Repaired, repair};
use super::{ContextBuildInput, ContextError, Item, LogIndex, MessageRef, Unit, units};
use crate::branch::{Landmark, is_request};
use crate::view::Perspective;

/// The messages that would be sent if nothing were cut.
#[derive(Debug)]
pub(super) struct Window<'a> {
    pub(super) items: Vec<Item<'a>>,
    pub(super) repairs: Vec<Repair<LogIndex>>,
    pub(super) request: Option<LogIndex>,
    /// Computed when something has to be cut.
    units: OnceCell<Units>,
}

#[derive(Debug)]
pub(super) struct Units {
    pub(super) list: Vec<Unit>,
    /// How many of them stay from before the cut.
    pub(super) kept_before: usize,
}

impl<'a> Window<'a> {
    /// Reads the window. Messages that earlier builds have settled are not read again, so the cost depends only on
    /// new messages and on those that are sent.
    pub(super) fn of(
        index: &mut ContextIndex,
        input: &ContextBuildInput<'a>,
        cut_state: &CutState<'a>,
        new_messages: &NewMessages<'a>,
    ) -> Result<Self, ContextError> {
        let log = input.session_entries;
        let answered = input.answers.and_then(|id| index.find(id));
        let new = new_messages.messages.iter().rposition(is_request);
        let new_request = new.map(|offset| LogIndex(log.len() + offset));
        let request = answered
            .or(new_request)
            .or_else(|| index.visible_landmark(log, Landmark::Request, index.newest()));
        // The index settles messages only if they depend on nothing but the log. That is not the case if a member
        // reads them, or if the input names the answered message.
        let mut may_settle = input.perspective.is_none() && input.answers.is_none();
        let settled = mem::take(&mut index.settled);
        let known = settled.items(log, cut_state, request).filter(|_| may_settle);
        let until = known.as_deref().and_then(<[Item<'_>]>::last).map(|item| item.entry);
        let names_answered_message = input.answers.is_some();
        let reader = Reader { index, log, perspective: input.perspective, names_answered_message };
        let mut branch = Branch::read(reader, cut_state, until)?;
        let (mut items, mut before) = (Vec::new(), Vec::new());
        match known.filter(|_| branch.is_known) {
            Some(known) => items = known,
            None => {
                let depends_on_later;
                (before, depends_on_later) =
                    kept_from_before(reader, cut_state, request, &mut branch)?;
                may_settle &= !depends_on_later;
            }
        }
        let known = items.len();
        let new = new_messages.messages.iter().zip(log.len()..);
        let new = new.map(|(message, at)| Item::new(LogIndex(at), MessageRef::Logged(message)));
        let repaired = repair(before.into_iter().chain(branch.since).chain(new));
        items.extend(repaired.items);
        let window = Self { items, repairs: repaired.repairs, request, units: OnceCell::new() };
        if may_settle {
            index.settled = settled.extended(&window, known, cut_state, LogIndex(log.len()));
        }
        Ok(window)
    }

    /// Returns the units of the window; those that must be sent are marked.
    pub(super) fn units(&self, log: &[Entry], new_messages: &NewMessages<'_>) -> &Units {
        self.units.get_or_init(|| {
            let mut list = units(&self.items);
            mark_required(&mut list, &self.items, log, new_messages, self.request);
            let is_before = |unit: &Unit| self.items[unit.items.start].is_before;
            let kept_before = list.iter().take_while(|unit| is_before(unit)).count();
            Units { list, kept_before }
        })
    }

    /// Keeps only these items.
    pub(super) fn retain(&mut self, keep: impl FnMut(&Item<'a>) -> bool) {
        self.items.retain(keep);
        self.units = OnceCell::new();
    }

    /// Returns the window after a cut: the items from `first_kept` on, and the `kept` ones from before. A later
    /// build reads the same window from the log. A cut can separate a result from its call, or remove what was
    /// between them, so the whole list is repaired again.
    pub(super) fn cut(
        &self,
        first_kept: LogIndex,
        kept: &[LogIndex],
        source: impl Fn(LogIndex) -> Option<MessageRef<'a>>,
    ) -> Self {
        let repairs = self.repairs.iter().map(|one| one.entry);
        let entries = self.items.iter().map(|item| item.entry).chain(repairs);
        let mut entries: BTreeSet<LogIndex> =
            entries.filter(|entry| *entry >= first_kept).collect();
        entries.extend(kept);
        let items = entries.into_iter().filter_map(|entry| {
            let is_before = entry < first_kept;
            Some(Item { is_before, ..Item::new(entry, source(entry)?) })
        });
        let Repaired { items, repairs } = repair(items);
        Self { items, repairs, request: self.request, units: OnceCell::new() }
    }
}

#[derive(Clone, Copy)]
struct Reader<'r, 'a> {
    index: &'r ContextIndex,
    log: &'a [Entry],
    perspective: Option<&'r Perspective<'r>>,
    /// Whether the input names the message to answer. If it does, a cut keeps that message in place of the newest
    /// request.
    names_answered_message: bool,
}

impl<'a> Reader<'_, 'a> {
    fn item(&self, entry: LogIndex) -> Option<Item<'a>> {
        let view = self.index.view_entry(self.log, entry)?;
        Some(Item::new(entry, message_of(view, self.perspective)?))
    }
}

/// The messages of a branch, oldest first, divided by the newest cut.
#[derive(Default)]
struct Branch<'a> {
    /// Read only if the cut does not name what it kept.
    before: Vec<Item<'a>>,
    since: Vec<Item<'a>>,
    /// Whether the settled messages end where `since` begins.
    is_known: bool,
}

impl<'a> Branch<'a> {
    fn read(
        reader: Reader<'_, 'a>,
        cut_state: &CutState<'a>,
        known_until: Option<LogIndex>,
    ) -> Result<Self, ContextError> {
        let mut branch = Self::default();
        let mut is_met = false;
        for view in reader.index.entries.walk(reader.log)? {
            let view = view?;
            let entry = LogIndex(view.position());
            branch.is_known = known_until == Some(entry);
            if branch.is_known {
                break;
            }
            if is_replaced(view, cut_state) {
                continue;
            }
            if let Some(message) = message_of(view, reader.perspective) {
                let side = if is_met { &mut branch.before } else { &mut branch.since };
                side.push(Item::new(entry, message));
            }
            is_met |= cut_state.first_kept == Some(entry);
            if is_met && cut_state.kept.is_some() {
                break;
            }
        }
        if cut_state.first_kept.is_some() && !is_met && !branch.is_known {
            return Err(not_on_branch(reader.log, cut_state));
        }
        branch.before.reverse();
        branch.since.reverse();
        Ok(branch)
    }
}

/// Returns whether a newer recall replaces this one.
fn is_replaced(view: ViewEntry<'_>, cut_state: &CutState<'_>) -> bool {
    matches!(view.kind(), Some(EntryKind::Recall(_)))
        && Some(LogIndex(view.position())) < cut_state.recalled
}

/// Returns an entry as a message to a model, if it is one.
pub(super) fn message_of<'a>(
    view: ViewEntry<'a>,
    perspective: Option<&Perspective<'_>>,
) -> Option<MessageRef<'a>> {
    match (view.kind()?, perspective) {
        (EntryKind::Message(message), None) => Some(MessageRef::Logged(message)),
        (EntryKind::Message(message), Some(perspective)) => {
            let read = perspective.model_message(view.position(), view.entry()?, message);
            Some(MessageRef::ForMember(Box::new(read)))
        }
        // A member of a team gets only the messages of this log.
        (_, Some(_)) => None,
        (kind, None) => generated_from(kind),
    }
}

/// Returns an entry as a message to summarise. Recalled text is not summarised: it was said elsewhere, or by nobody.
pub(super) fn covered_of<'a>(
    view: ViewEntry<'a>,
    perspective: Option<&Perspective<'_>>,
) -> Option<MessageRef<'a>> {
    match view.kind()? {
        EntryKind::Recall(_) => None,
        _ => message_of(view, perspective),
    }
}

pub(super) fn generated_from<'a>(kind: &EntryKind) -> Option<MessageRef<'a>> {
    if let EntryKind::Recall(recall) = kind {
        return recall_message(recall).map(MessageRef::generated);
    }
    let EntryKind::BranchSummary(summary) = kind else { return None };
    let text = Part::text(summary.summary.as_deref()?);
    Some(MessageRef::generated(generated_message(Role::User, "branch_summary", [text])))
}

/// Returns a message that was made from something else, with its kind in `meta`.
pub(super) fn generated_message(
    role: Role,
    kind: &str,
    parts: impl IntoIterator<Item = Part>,
) -> Message {
    let mut message = Message::with_role(role, parts.into_iter().collect());
    message.meta = Json::parse(&format!("{{\"kind\":{}}}", Json::text(kind).as_str())).ok();
    message
}

/// Returns the messages that stay from before the cut, and whether later entries determine which messages stay.
fn kept_from_before<'a>(
    reader: Reader<'_, 'a>,
    cut_state: &CutState<'a>,
    request: Option<LogIndex>,
    branch: &mut Branch<'a>,
) -> Result<(Vec<Item<'a>>, bool), ContextError> {
    let Reader { index, log, .. } = reader;
    // This is the newest request at the time of the cut. Newer requests change nothing here.
    let new_request = index.visible_landmark(log, Landmark::Request, cut_state.by);
    let mut items = match cut_state.kept {
        Some(kept) => kept_items(reader, cut_state, kept)?,
        None => required_before_cut(log, mem::take(&mut branch.before), &branch.since, new_request),
    };
    let is_early = |id: &EntryId| index.find(id) < cut_state.first_kept;
    let is_kept_early = cut_state.kept.is_some_and(|kept| kept.iter().all(is_early));
    let mut depends_on_later = cut_state.first_kept.is_some() && !is_kept_early;
    if cut_state.first_kept.is_some() {
        if let Some(new_request) = new_request.filter(|_| !reader.names_answered_message) {
            restore_request(reader, new_request, &mut items, &branch.since);
        }
        if let Some(request) = request {
            depends_on_later |= restore_request(reader, request, &mut items, &branch.since);
        }
    }
    for item in &mut items {
        item.is_before = true;
    }
    Ok((items, depends_on_later))
}

/// Adds a request that was cut. This is necessary if a newer request was redacted since. Returns whether it was
/// added.
fn restore_request<'a>(
    reader: Reader<'_, 'a>,
    request: LogIndex,
    before: &mut Vec<Item<'a>>,
    since: &[Item<'a>],
) -> bool {
    let is_there = |items: &[Item<'_>]| items.iter().any(|item| item.entry == request);
    if is_there(since) || is_there(before) {
        return false;
    }
    let Some(item) = reader.item(request) else { return false };
    let at = before.partition_point(|item| item.entry < request);
    before.insert(at, item);
    true
}

/// Returns the messages that the cut kept, except those that were redacted since.
fn kept_items<'a>(
    reader: Reader<'_, 'a>,
    cut_state: &CutState<'a>,
    kept: &[EntryId],
) -> Result<Vec<Item<'a>>, ContextError> {
    let Reader { index, log, .. } = reader;
    let mut items = Vec::with_capacity(kept.len());
    let by = cut_state.by.map_or(0, |by| by.0);
    for id in kept {
        let Some(entry) = index.find(id).filter(|entry| index.is_on_branch(*entry)) else {
            let problem =
                format!("names {id}, which is not on this branch; name entries of this branch");
            return Err(ContextError::entry(&log[by].id, "payload.keptIds", problem));
        };
        items.extend(reader.item(entry));
    }
    items.sort_by_key(|item| item.entry);
    items.dedup_by_key(|item| item.entry);
    Ok(items)
}

/// Returns the messages before the cut that must be sent. A cut between a pinned call and its results must not lose
/// the call, so the results after the cut are considered too.
fn required_before_cut<'a>(
    log: &[Entry],
    mut before: Vec<Item<'a>>,
    since: &[Item<'a>],
    request: Option<LogIndex>,
) -> Vec<Item<'a>> {
    let is_result = |item: &&Item<'_>| item.message.effective_role() == Role::Tool;
    let results = since.iter().take_while(is_result);
    let repaired = repair(before.iter().chain(results).cloned());
    let mut units = units(&repaired.items);
    mark_required(&mut units, &repaired.items, log, &NewMessages::default(), request);
    let required_before_cut = units.iter().filter(|unit| unit.is_request || unit.is_pinned);
    let items = required_before_cut.flat_map(|unit| &repaired.items[unit.items.clone()]);
    let wanted: HashSet<LogIndex> = items.map(|item| item.entry).collect();
    // The messages are returned unrepaired, because the repair of the whole list must report its changes.
    before.retain(|item| wanted.contains(&item.entry));
    before
}

/// Marks the newest request, pinned messages and the newest unit, which must be sent.
fn mark_required(
    units: &mut [Unit],
    items: &[Item<'_>],
    log: &[Entry],
    new_messages: &NewMessages<'_>,
    request: Option<LogIndex>,
) {
    for unit in units.iter_mut() {
        let entries = items[unit.items.clone()].iter().map(|item| item.entry);
        for at in entries {
            unit.is_request |= Some(at) == request;
            let new = || new_messages.entries.get(at.0.checked_sub(log.len())?);
            unit.is_pinned |= log.get(at.0).or_else(new).is_some_and(is_pinned);
        }
    }
    keep_whole(units, items);
    if let Some(newest) = units.last_mut() {
        newest.is_newest = true;
    }
}

/// Marks all units of a message that belongs to several. If a result was moved up to a call, its message is in two
/// units. Cuts name entries, so if the call must be sent, the rest of that message must be too.
fn keep_whole(units: &mut [Unit], items: &[Item<'_>]) {
    let mut split = HashSet::new();
    for unit in units {
        unit.is_pinned |= split.contains(&items[unit.items.start].entry);
        if unit.is_required() {
            split.extend(unit.items.clone().skip(1).map(|item| items[item].entry));
        }
    }
}

fn not_on_branch(log: &[Entry], cut_state: &CutState<'_>) -> ContextError {
    let first_kept = cut_state.first_kept.and_then(|first| log.get(first.0)).map(|entry| &entry.id);
    let problem = match first_kept {
        Some(id) => {
            format!("names {id}, which is not on this branch; name an entry of this branch")
        }
        None => "names no entry of this branch; name an entry of this branch".to_owned(),
    };
    match cut_state.by.and_then(|by| log.get(by.0)) {
        Some(by) => ContextError::entry(&by.id, FIRST_KEPT, problem),
        None => ContextError::field(FIRST_KEPT, problem),
    }
}
