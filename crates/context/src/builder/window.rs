//! The part of the branch that is sent: what the newest cut kept, from its oldest message to the newest
//! one that arrived. Costs what it holds; a log whose cuts do not say what they kept is read as a whole.

use std::collections::{BTreeSet, HashSet};

use tertulia_session::json::Json;
use tertulia_session::{BranchSummary, Entry, EntryId, EntryKind, Message, Part, Role, ViewEntry};

use super::arrivals::Arrivals;
use super::index::{ContextIndex, Sign, is_pinned, is_request};
use super::marks::{FIRST_KEPT, Marks};
use super::message_ref::MessageRef;
use super::repair::{Item, Mended, Repaired, repair};
use super::units::{Unit, units};
use super::{ContextBuildInput, ContextError};
use crate::view::Perspective;

/// What would be sent if nothing were cut.
#[derive(Debug)]
pub(super) struct Window<'a> {
    /// The messages, mended.
    pub(super) items: Vec<Item<'a>>,
    pub(super) units: Vec<Unit>,
    /// How many of the units stay from before the cut.
    pub(super) kept_before: usize,
    pub(super) mended: Vec<Mended>,
    /// The place of the newest request.
    request: Option<usize>,
}

impl<'a> Window<'a> {
    pub(super) fn of(
        index: &ContextIndex,
        input: &ContextBuildInput<'a>,
        marks: &Marks<'a>,
        arrivals: &Arrivals<'a>,
    ) -> Result<Self, ContextError> {
        let (log, perspective) = (input.session_entries, input.perspective);
        let answered = input.answers.and_then(|id| index.entries.place(id));
        let request = answered.or_else(|| newest_request(index, log, arrivals));
        let branch = Branch::read(index, log, marks, perspective)?;
        // What was asked last when it was cut, so that a newer request changes nothing here.
        let asked = index.seen_sign(log, marks.by, Sign::Request);
        let mut items = match marks.kept {
            Some(kept) => kept_items(index, log, marks, kept, perspective)?,
            None => musts(log, branch.before, &branch.since, asked),
        };
        if marks.first_kept.is_some() {
            for request in [asked, request].into_iter().flatten() {
                bring_back(index, log, request, &mut items, &branch.since, perspective);
            }
        }
        for item in &mut items {
            item.is_before = true;
        }
        items.extend(branch.since);
        let arrived = arrivals.messages.iter().zip(log.len()..);
        items.extend(arrived.map(|(message, place)| Item::new(place, MessageRef::Said(message))));
        Ok(Self::mended(items, log, arrivals, request))
    }

    fn mended(
        items: Vec<Item<'a>>,
        log: &[Entry],
        arrivals: &Arrivals<'_>,
        request: Option<usize>,
    ) -> Self {
        let Repaired { items, mended } = repair(items);
        let mut units = units(&items);
        mark_musts(&mut units, &items, log, arrivals, request);
        let is_before = |unit: &Unit| items[unit.items.start].is_before;
        let kept_before = units.iter().take_while(|unit| is_before(unit)).count();
        Self { items, units, kept_before, mended, request }
    }

    /// What is left of it from this place on, and these entries from before: the window that a later build reads from
    /// the log. A cut can separate a result from its call, or take away what stood between them, so all is mended anew.
    pub(super) fn cut(
        &self,
        first_kept: usize,
        kept: &[usize],
        source: impl Fn(usize) -> Option<MessageRef<'a>>,
        (log, arrivals): (&[Entry], &Arrivals<'_>),
    ) -> Self {
        let mended = self.mended.iter().map(|one| one.place);
        let places = self.items.iter().map(|item| item.place).chain(mended);
        let mut places: BTreeSet<usize> = places.filter(|place| *place >= first_kept).collect();
        places.extend(kept);
        let items = places.into_iter().filter_map(|place| {
            let is_before = place < first_kept;
            Some(Item { is_before, ..Item::new(place, source(place)?) })
        });
        Self::mended(items.collect(), log, arrivals, self.request)
    }
}

/// The messages of a branch, oldest first, parted by the newest cut.
#[derive(Default)]
struct Branch<'a> {
    /// Read only where the cut does not say what it kept.
    before: Vec<Item<'a>>,
    since: Vec<Item<'a>>,
}

impl<'a> Branch<'a> {
    fn read(
        index: &ContextIndex,
        log: &'a [Entry],
        marks: &Marks<'a>,
        perspective: Option<&Perspective<'_>>,
    ) -> Result<Self, ContextError> {
        let mut branch = Self::default();
        let mut is_met = false;
        for view in index.entries.walk(log)? {
            let view = view?;
            if let Some(message) = message_of(view, perspective) {
                let side = if is_met { &mut branch.before } else { &mut branch.since };
                side.push(Item::new(view.place(), message));
            }
            is_met |= marks.first_kept == Some(view.place());
            if is_met && marks.kept.is_some() {
                break;
            }
        }
        if marks.first_kept.is_some() && !is_met {
            return Err(not_on_branch(log, marks));
        }
        branch.before.reverse();
        branch.since.reverse();
        Ok(branch)
    }
}

/// An entry as a message to a model, if it is one.
pub(super) fn message_of<'a>(
    view: ViewEntry<'a>,
    perspective: Option<&Perspective<'_>>,
) -> Option<MessageRef<'a>> {
    match (view.kind()?, perspective) {
        (EntryKind::Message(message), None) => Some(MessageRef::Said(message)),
        (EntryKind::Message(message), Some(perspective)) => {
            let read = perspective.model_message(view.place(), view.entry()?, message);
            Some(MessageRef::Read(Box::new(read)))
        }
        // A member of a team is told of this log alone.
        (_, Some(_)) => None,
        (kind, None) => made_of(kind),
    }
}

fn made_of<'a>(kind: &EntryKind) -> Option<MessageRef<'a>> {
    match kind {
        EntryKind::BranchSummary(summary) => branch_summary(summary).map(MessageRef::made),
        _ => None,
    }
}

/// A message that was made from something else, and of what kind that is.
pub(super) fn made_message(
    role: Role,
    kind: &str,
    parts: impl IntoIterator<Item = Part>,
) -> Message {
    let mut message = Message::of_role(role, parts.into_iter().collect());
    message.meta = Json::parse(&format!("{{\"kind\":{}}}", Json::text(kind).as_str())).ok();
    message
}

fn branch_summary(summary: &BranchSummary) -> Option<Message> {
    let text = summary.summary.as_deref()?;
    Some(made_message(Role::User, "branch_summary", [Part::text(text)]))
}

fn newest_request(index: &ContextIndex, log: &[Entry], arrivals: &Arrivals<'_>) -> Option<usize> {
    if let Some(offset) = arrivals.messages.iter().rposition(is_request) {
        return Some(log.len() + offset);
    }
    index.seen_sign(log, index.entries.newest_place(), Sign::Request)
}

/// A request may have been cut, if a newer one was redacted since.
fn bring_back<'a>(
    index: &ContextIndex,
    log: &'a [Entry],
    request: usize,
    before: &mut Vec<Item<'a>>,
    since: &[Item<'a>],
    perspective: Option<&Perspective<'_>>,
) {
    let is_there = |items: &[Item<'_>]| items.iter().any(|item| item.place == request);
    if is_there(since) || is_there(before) {
        return;
    }
    let view = index.entries.see(log, request);
    if let Some(message) = view.and_then(|view| message_of(view, perspective)) {
        let at = before.partition_point(|item| item.place < request);
        before.insert(at, Item::new(request, message));
    }
}

/// What the cut said that it kept; what was redacted since is gone.
fn kept_items<'a>(
    index: &ContextIndex,
    log: &'a [Entry],
    marks: &Marks<'a>,
    kept: &[EntryId],
    perspective: Option<&Perspective<'_>>,
) -> Result<Vec<Item<'a>>, ContextError> {
    let mut items = Vec::with_capacity(kept.len());
    let (by, tail) = (marks.by.unwrap_or_default(), index.entries.newest_place());
    for id in kept {
        let place = index.entries.place(id);
        let on_branch =
            place.filter(|place| tail.is_some_and(|tail| index.is_ancestor(log, *place, tail)));
        let Some(place) = on_branch else {
            let problem = format!("names {id}, which is not on this branch; name entries that are");
            return Err(ContextError::entry(&log[by].id, "payload.keptIds", problem));
        };
        let view = index.entries.see(log, place);
        let message = view.and_then(|view| message_of(view, perspective));
        items.extend(message.map(|message| Item::new(place, message)));
    }
    items.sort_by_key(|item| item.place);
    items.dedup_by_key(|item| item.place);
    Ok(items)
}

/// Of what is before the cut, what has to be sent. Whoever cut between a call and its results did not
/// mean to lose a pinned one: the results behind the cut are looked at with it.
fn musts<'a>(
    log: &[Entry],
    mut before: Vec<Item<'a>>,
    since: &[Item<'a>],
    request: Option<usize>,
) -> Vec<Item<'a>> {
    let is_result = |item: &&Item<'_>| item.message.effective_role() == Role::Tool;
    let results = since.iter().take_while(is_result);
    let repaired = repair(before.iter().chain(results).cloned());
    let mut units = units(&repaired.items);
    mark_musts(&mut units, &repaired.items, log, &Arrivals::default(), request);
    let musts = units.iter().filter(|unit| unit.is_request || unit.is_pinned);
    let items = musts.flat_map(|unit| &repaired.items[unit.items.clone()]);
    let wanted: HashSet<usize> = items.map(|item| item.place).collect();
    // As they were: what is to be mended in them is told when all is mended.
    before.retain(|item| wanted.contains(&item.place));
    before
}

/// The newest request, what is pinned and the newest unit have to be sent.
fn mark_musts(
    units: &mut [Unit],
    items: &[Item<'_>],
    log: &[Entry],
    arrivals: &Arrivals<'_>,
    request: Option<usize>,
) {
    for unit in units.iter_mut() {
        let places = items[unit.items.clone()].iter().map(|item| item.place);
        for place in places {
            unit.is_request |= Some(place) == request;
            let arrived = || arrivals.entries.get(place.checked_sub(log.len())?);
            unit.is_pinned |= log.get(place).or_else(arrived).is_some_and(is_pinned);
        }
    }
    keep_whole(units, items);
    if let Some(newest) = units.last_mut() {
        newest.is_newest = true;
    }
}

/// A message whose result was moved up to a call stands in two units. Cuts name entries: if the call has to be sent,
/// so has the rest of that message.
fn keep_whole(units: &mut [Unit], items: &[Item<'_>]) {
    let mut split = HashSet::new();
    for unit in units {
        unit.is_pinned |= split.contains(&items[unit.items.start].place);
        if unit.is_must() {
            split.extend(unit.items.clone().skip(1).map(|item| items[item].place));
        }
    }
}

fn not_on_branch(log: &[Entry], marks: &Marks<'_>) -> ContextError {
    let first_kept = marks.first_kept.and_then(|place| log.get(place)).map(|entry| &entry.id);
    let problem = match first_kept {
        Some(id) => format!("names {id}, which is not on this branch; name one that is"),
        None => "names nothing on this branch; name an entry that is".to_owned(),
    };
    match marks.by.and_then(|place| log.get(place)) {
        Some(by) => ContextError::entry(&by.id, FIRST_KEPT, problem),
        None => ContextError::field(FIRST_KEPT, problem),
    }
}
