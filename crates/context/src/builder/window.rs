//! The part of the branch that is sent: what the newest cut kept, from its oldest message to the newest
//! one that arrived. Costs what it holds; a log whose cuts do not say what they kept is read as a whole.

use std::cell::OnceCell;
use std::collections::{BTreeSet, HashSet};
use std::mem;

use tertulia_session::json::Json;
use tertulia_session::{BranchSummary, Entry, EntryId, EntryKind, Message, Part, Role, ViewEntry};

use super::arrivals::Arrivals;
use super::index::{ContextIndex, Settled, Sign, is_pinned, is_request};
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
    pub(super) mended: Vec<Mended>,
    /// The place of the newest request.
    request: Option<usize>,
    /// Made when something has to give way.
    units: OnceCell<Units>,
}

/// The units of a window.
#[derive(Debug)]
pub(super) struct Units {
    pub(super) list: Vec<Unit>,
    /// How many of them stay from before the cut.
    pub(super) kept_before: usize,
}

impl<'a> Window<'a> {
    /// What was settled by earlier builds is not read again: a build costs what is new and what is sent.
    pub(super) fn of(
        index: &mut ContextIndex,
        input: &ContextBuildInput<'a>,
        marks: &Marks<'a>,
        arrivals: &Arrivals<'a>,
    ) -> Result<Self, ContextError> {
        let (log, perspective) = (input.session_entries, input.perspective);
        let answered = input.answers.and_then(|id| index.entries.place(id));
        let request = answered.or_else(|| newest_request(index, log, arrivals));
        // What a member reads depends on more than the log, and what is answered may be anywhere.
        let mut may_settle = perspective.is_none() && input.answers.is_none();
        let settled = mem::take(&mut index.settled);
        let known = settled.items(log, marks, request).filter(|_| may_settle);
        let until = known.as_deref().and_then(<[Item<'_>]>::last).map(|item| item.place);
        let mut branch = Branch::read(index, log, marks, perspective, until)?;
        let (mut items, mut before) = (Vec::new(), Vec::new());
        match known.filter(|_| branch.is_known) {
            Some(known) => items = known,
            None => {
                let whole = kept_from_before(index, input, marks, request, &mut branch)?;
                before = whole.items;
                may_settle &= !whole.depends_on_later;
            }
        }
        let known = items.len();
        let arrived = arrivals.messages.iter().zip(log.len()..);
        let arrived = arrived.map(|(message, place)| Item::new(place, MessageRef::Said(message)));
        let repaired = repair(before.into_iter().chain(branch.since).chain(arrived));
        items.extend(repaired.items);
        let window = Self { items, mended: repaired.mended, request, units: OnceCell::new() };
        if may_settle {
            index.settled = window.settle(settled, known, marks, log.len());
        }
        Ok(window)
    }

    /// Adds what no later entry changes any more: whole units before the newest one and before all that was mended.
    /// Every call in them has its result, so what comes later is mended as if they were not there.
    fn settle(
        &self,
        mut settled: Settled,
        known: usize,
        marks: &Marks<'_>,
        log_len: usize,
    ) -> Settled {
        settled.by = marks.by;
        settled.places.truncate(known);
        let new = &self.items[known..];
        let end = self.mended.iter().map(|one| one.place).fold(log_len, usize::min);
        let units = units(new);
        for unit in units.split_last().map_or(&[][..], |(_, older)| older) {
            let places = new[unit.items.clone()].iter().map(|item| item.place);
            let follows = settled.places.last().copied().into_iter().chain(places.clone());
            if !follows.is_sorted_by(|left, right| left < right)
                || places.clone().any(|place| place >= end)
            {
                break;
            }
            settled.places.extend(places);
        }
        // The walk along the branch has to end behind the cut.
        if settled.places.last().copied() < marks.first_kept {
            settled.places.clear();
        }
        settled
    }

    /// Its units, with what has to be sent.
    pub(super) fn units(&self, log: &[Entry], arrivals: &Arrivals<'_>) -> &Units {
        self.units.get_or_init(|| {
            let mut list = units(&self.items);
            mark_musts(&mut list, &self.items, log, arrivals, self.request);
            let is_before = |unit: &Unit| self.items[unit.items.start].is_before;
            let kept_before = list.iter().take_while(|unit| is_before(unit)).count();
            Units { list, kept_before }
        })
    }

    /// What is left of it from this place on, and these entries from before: the window that a later build reads from
    /// the log. A cut can separate a result from its call, or take away what stood between them, so all is mended anew.
    pub(super) fn cut(
        &self,
        first_kept: usize,
        kept: &[usize],
        source: impl Fn(usize) -> Option<MessageRef<'a>>,
    ) -> Self {
        let mended = self.mended.iter().map(|one| one.place);
        let places = self.items.iter().map(|item| item.place).chain(mended);
        let mut places: BTreeSet<usize> = places.filter(|place| *place >= first_kept).collect();
        places.extend(kept);
        let items = places.into_iter().filter_map(|place| {
            let is_before = place < first_kept;
            Some(Item { is_before, ..Item::new(place, source(place)?) })
        });
        let Repaired { items, mended } = repair(items);
        Self { items, mended, request: self.request, units: OnceCell::new() }
    }
}

impl Settled {
    /// The messages, unless they belong to another cut or the newest request is not among them or later.
    fn items<'a>(
        &self,
        log: &'a [Entry],
        marks: &Marks<'_>,
        request: Option<usize>,
    ) -> Option<Vec<Item<'a>>> {
        let last = *self.places.last()?;
        let is_there =
            |request: usize| request > last || self.places.binary_search(&request).is_ok();
        if self.by != marks.by || (marks.first_kept.is_some() && !request.is_none_or(is_there)) {
            return None;
        }
        let mut items = Vec::with_capacity(self.places.len() + NEW_ITEMS);
        for place in self.places.iter().copied() {
            let message = match &log.get(place)?.kind {
                EntryKind::Message(message) => MessageRef::Said(message),
                kind => made_of(kind)?,
            };
            let is_before = Some(place) < marks.first_kept;
            items.push(Item { is_before, ..Item::new(place, message) });
        }
        Some(items)
    }
}

/// As many as a turn brings, about.
const NEW_ITEMS: usize = 8;

/// The messages of a branch, oldest first, parted by the newest cut.
#[derive(Default)]
struct Branch<'a> {
    /// Read only where the cut does not say what it kept.
    before: Vec<Item<'a>>,
    since: Vec<Item<'a>>,
    /// Whether it goes on with what is known already, which is not in `since`.
    is_known: bool,
}

impl<'a> Branch<'a> {
    fn read(
        index: &ContextIndex,
        log: &'a [Entry],
        marks: &Marks<'a>,
        perspective: Option<&Perspective<'_>>,
        known_until: Option<usize>,
    ) -> Result<Self, ContextError> {
        let mut branch = Self::default();
        let mut is_met = false;
        for view in index.entries.walk(log)? {
            let view = view?;
            branch.is_known = known_until == Some(view.place());
            if branch.is_known {
                break;
            }
            if let Some(message) = message_of(view, perspective) {
                let side = if is_met { &mut branch.before } else { &mut branch.since };
                side.push(Item::new(view.place(), message));
            }
            is_met |= marks.first_kept == Some(view.place());
            if is_met && marks.kept.is_some() {
                break;
            }
        }
        if marks.first_kept.is_some() && !is_met && !branch.is_known {
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

/// What is sent from before the newest cut.
struct Before<'a> {
    items: Vec<Item<'a>>,
    /// Whether entries behind the cut decide what is among them.
    depends_on_later: bool,
}

fn kept_from_before<'a>(
    index: &ContextIndex,
    input: &ContextBuildInput<'a>,
    marks: &Marks<'a>,
    request: Option<usize>,
    branch: &mut Branch<'a>,
) -> Result<Before<'a>, ContextError> {
    let (log, perspective) = (input.session_entries, input.perspective);
    // What was asked last when it was cut, so that a newer request changes nothing here.
    let asked = index.seen_sign(log, marks.by, Sign::Request);
    let mut items = match marks.kept {
        Some(kept) => kept_items(index, log, marks, kept, perspective)?,
        None => musts(log, mem::take(&mut branch.before), &branch.since, asked),
    };
    let mut depends_on_later = marks.first_kept.is_some() && marks.kept.is_none();
    if marks.first_kept.is_some() {
        if let Some(asked) = asked {
            bring_back(index, log, asked, &mut items, &branch.since, perspective);
        }
        if let Some(request) = request {
            depends_on_later |=
                bring_back(index, log, request, &mut items, &branch.since, perspective);
        }
    }
    for item in &mut items {
        item.is_before = true;
    }
    Ok(Before { items, depends_on_later })
}

/// A request may have been cut, if a newer one was redacted since. Says whether it was.
fn bring_back<'a>(
    index: &ContextIndex,
    log: &'a [Entry],
    request: usize,
    before: &mut Vec<Item<'a>>,
    since: &[Item<'a>],
    perspective: Option<&Perspective<'_>>,
) -> bool {
    let is_there = |items: &[Item<'_>]| items.iter().any(|item| item.place == request);
    if is_there(since) || is_there(before) {
        return false;
    }
    let view = index.entries.see(log, request);
    let Some(message) = view.and_then(|view| message_of(view, perspective)) else { return false };
    let at = before.partition_point(|item| item.place < request);
    before.insert(at, Item::new(request, message));
    true
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
