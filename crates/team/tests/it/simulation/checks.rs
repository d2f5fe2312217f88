//! Checks the promises of the machine against its own records, without asking the machine for the expected values.

use std::collections::{BTreeMap, BTreeSet};

use tertulia_context::parse_markers;
use tertulia_session::{
    Cause, EntryId, EntryKind, Intent, Setting, SpendingLimit, Turn, TurnState,
};
use tertulia_team::{
    Effect, Event, Limits, Machine, MemberKind, Note, Overspent, PauseReason, Roster, Status,
    TurnPhase,
};

use super::asks::AskChecks;
use crate::test_driver::TestDriver;

pub(crate) struct Checks {
    limits: Limits,
    roster: Roster,
    /// Waiting turns, with the number of starts by which each must have started.
    waiting: BTreeMap<EntryId, Option<usize>>,
    /// Turns that were started and have not ended, with their members.
    running: BTreeMap<EntryId, Box<str>>,
    /// Cancelled turns whose agents have not ended.
    stopping: BTreeSet<EntryId>,
    /// Number of turns that were started while others ran.
    pub(crate) beside: usize,
    ended: BTreeSet<EntryId>,
    /// Number of started turns that are not P1.
    starts: usize,
    /// The member of each turn, and who asked for the turn.
    turns: BTreeMap<EntryId, (Box<str>, Option<Box<str>>)>,
    since_a_person: usize,
    pairs: BTreeMap<[Box<str>; 2], usize>,
    purses: BTreeMap<Box<str>, [f64; 3]>,
    /// Whether a person was asked and nothing has started since.
    asked: bool,
    /// Turns that wait until a person resumes them. No promise says when they start.
    paused: BTreeSet<EntryId>,
    /// P1 turns.
    urgent: BTreeSet<EntryId>,
    /// The message of this step and the names in it.
    message: Option<(EntryId, Vec<String>)>,
    seen: usize,
    /// The members that have reached a usage limit, and whether its end is known.
    limited: BTreeMap<Box<str>, bool>,
    /// The turns that were taken over, by the turn that follows.
    taken_over: BTreeMap<EntryId, EntryId>,
    /// Before this step, no turn ran.
    is_free: bool,
    /// What each running turn has cost so far, as recorded.
    turn_costs: BTreeMap<Box<str>, f64>,
    day: Option<&'static str>,
    /// Whether a turn was stopped at a spending limit, and no person has decided since.
    is_overspent: bool,
    pub(crate) asks: AskChecks,
}

const SESSION: &str = "the session";
const DAY: &str = "the day";

impl Checks {
    pub(crate) fn new(roster: &Roster) -> Self {
        let mut purses = BTreeMap::new();
        for member in roster.members() {
            let limit = member.budget_usd.unwrap_or(f64::INFINITY);
            purses.insert(member.name.clone(), [0.0, limit, 0.0]);
        }
        let limit = roster.limits().budget_usd.unwrap_or(f64::INFINITY);
        purses.insert(SESSION.into(), [0.0, limit, 0.0]);
        let limit = roster.limits().budget_usd_day.unwrap_or(f64::INFINITY);
        purses.insert(DAY.into(), [0.0, limit, 0.0]);
        Self {
            limits: roster.limits().clone(),
            roster: roster.clone(),
            waiting: BTreeMap::new(),
            running: BTreeMap::new(),
            stopping: BTreeSet::new(),
            beside: 0,
            ended: BTreeSet::new(),
            starts: 0,
            turns: BTreeMap::new(),
            since_a_person: 0,
            pairs: BTreeMap::new(),
            purses,
            asked: false,
            paused: BTreeSet::new(),
            urgent: BTreeSet::new(),
            message: None,
            seen: 0,
            limited: BTreeMap::new(),
            taken_over: BTreeMap::new(),
            is_free: true,
            turn_costs: BTreeMap::new(),
            day: None,
            is_overspent: false,
            asks: AskChecks::default(),
        }
    }

    pub(crate) fn ended(&self) -> Vec<EntryId> {
        self.ended.iter().cloned().collect()
    }

    /// Records a message. The next step must account for every name in it.
    pub(crate) fn said(&mut self, entry: &EntryId, text: &str) {
        let names = parse_markers(text).next.into_iter().map(|next| next.name);
        self.message = Some((entry.clone(), names.collect()));
    }

    pub(crate) fn paid(&mut self, member: &str, usd: f64) {
        for who in [member, SESSION, DAY] {
            self.purses.get_mut(who).unwrap()[0] += usd;
        }
        *self.turn_costs.entry(member.into()).or_default() += usd;
    }

    pub(crate) fn day_spent(&mut self, day: &'static str, usd: f64) {
        let [spent, _, granted] = self.purses.get_mut(DAY).unwrap();
        if self.day.replace(day) != Some(day) {
            *granted = 0.0;
        }
        *spent = usd;
    }

    /// Asserts that a turn has reached a limit with these costs of all running turns and of its own.
    pub(crate) fn is_over(&self, member: &str, all: f64, own: f64, reached: &Overspent) {
        let [spent, limit, granted] = match reached.limit {
            SpendingLimit::Turn => {
                let known = self.roster.members().iter().find(|one| &*one.name == member).unwrap();
                let limit = known.budget_usd_turn.or(self.limits.budget_usd_turn).unwrap();
                [self.turn_costs.get(member).unwrap_or(&0.0) + own, limit, 0.0]
            }
            SpendingLimit::Member => add(self.purses[member], own),
            SpendingLimit::Session => add(self.purses[SESSION], all),
            SpendingLimit::Day => add(self.purses[DAY], all),
        };
        assert!(spent + 1e-9 >= limit + granted, "{member}: {spent} of {limit} + {granted}");
    }

    pub(crate) fn before(&mut self, event: &Event, status: &Status) {
        let waits_for_limit = matches!(status, Status::Paused(PauseReason::Limited { .. }));
        self.is_free =
            matches!(status, Status::Paused(_) | Status::Resting | Status::Stopping { .. });
        if matches!(event, Event::Repeat { .. }) {
            self.is_overspent = false;
        }
        if matches!(event, Event::PersonSaid { .. }) {
            self.person_spoke();
            if !waits_for_limit {
                // Nobody can say when the others end.
                self.limited.retain(|_, is_known| *is_known);
            }
        }
    }

    /// Records that the person continues everything: paused turns may start again, and used-up budgets are extended.
    fn continued(&mut self) {
        self.person_spoke();
        self.paused.clear();
        if self.is_free && self.all_wait_for_a_limit() {
            self.limited.clear();
        }
        // No waiting turn waits longer than if all of them had just been queued.
        let bound = self.starts + self.waiting.len() * (self.limits.local as usize + 1);
        for (turn, old) in &mut self.waiting {
            *old = (!self.urgent.contains(turn)).then_some(bound);
        }
        for [spent, limit, granted] in self.purses.values_mut() {
            if *spent + 1e-9 >= *limit + *granted {
                *granted = *spent;
            }
        }
    }

    /// Resets the turn counts of agents.
    pub(crate) fn person_spoke(&mut self) {
        self.is_overspent = false;
        self.since_a_person = 0;
        self.pairs.clear();
    }

    /// Handles a crash: unfinished decisions are performed without a step.
    pub(crate) fn reopened(&mut self, driver: &TestDriver) {
        self.message = None;
        self.after(driver);
    }

    pub(crate) fn after(&mut self, driver: &TestDriver) {
        let new: Vec<_> = driver.log.iter().skip(self.seen).cloned().collect();
        self.seen = driver.log.len();
        for entry in new {
            match &entry.kind {
                EntryKind::Turn(turn) => self.turn(&entry.id, turn),
                kind => match kind.setting() {
                    Some(Setting::Continued { .. }) => self.continued(),
                    Some(Setting::LimitEnded { member, .. }) => {
                        assert!(self.limited.remove(member).is_some(), "{member} had no limit");
                    }
                    _ => {}
                },
            }
        }
        let paused = driver.machine.waiting().filter(|waiting| waiting.is_paused);
        self.paused = paused.map(|waiting| waiting.turn.clone()).collect();
        for turn in &self.paused {
            self.waiting.insert(turn.clone(), None);
        }
        // Nothing promises when a turn starts whose member has reached its limit.
        for (turn, bound) in &mut self.waiting {
            if self.limited.contains_key(&self.turns[turn].0) {
                *bound = None;
            }
        }
        for effect in &driver.effects {
            match effect {
                Effect::AskPerson(_) => self.asked = true,
                Effect::StartTurn { turn, .. } => {
                    assert!(self.running.contains_key(turn), "another turn runs");
                    self.asked = false;
                }
                _ => {}
            }
        }
        if let Some((entry, names)) = self.message.take() {
            self.everybody_is_accounted_for(driver, &entry, &names);
        }
        self.nobody_is_forgotten(driver);
    }

    fn turn(&mut self, entry: &EntryId, turn: &Turn) {
        match (turn.state, &turn.cause) {
            (
                TurnState::Queued,
                Cause::Asked { by, intent, .. }
                | Cause::Repeated { by, intent, .. }
                | Cause::FellBack { by, intent, .. }
                | Cause::AwaitsReset { by, intent, .. },
            ) => self.queued(entry, turn, by.as_deref(), *intent),
            (TurnState::Queued, Cause::Consulted { by, .. }) => {
                self.queued(entry, turn, by.as_deref(), Intent::default());
            }
            (TurnState::Started, Cause::Chosen { .. }) => {
                self.started(turn.turn_id.as_ref().expect("a turn that was queued"), turn);
            }
            _ => self.turn_ended(turn),
        }
    }

    fn queued(&mut self, entry: &EntryId, turn: &Turn, by: Option<&str>, intent: Intent) {
        self.asks.queued(entry, &turn.cause);
        let urgent = intent.as_str() == "P1";
        if urgent {
            self.urgent.insert(entry.clone());
        }
        // A turn that waits for the end of a limit goes first when the limit ends.
        let counts = |turn: &&EntryId| !self.urgent.contains(*turn) && !self.paused.contains(*turn);
        let before = self.waiting.keys().filter(counts).count();
        let local = self.limits.local as usize;
        let bound = (!urgent).then_some(self.starts + (before + 1) * (local + 1));
        self.waiting.insert(entry.clone(), bound);
        self.turns.insert(entry.clone(), (turn.member.clone(), by.map(Box::from)));
        match &turn.cause {
            Cause::Consulted { turn: Some(before), .. } => {
                assert!(self.ended.remove(before), "{before} was repeated before");
            }
            Cause::Repeated { turn: before, .. } => {
                self.ended.remove(before);
                self.limited.remove(&turn.member);
            }
            Cause::FellBack { turn: before, .. } => self.takes_over(entry, turn, before),
            Cause::AwaitsReset { turn: before, .. } => {
                self.ended.remove(before);
                assert_eq!(self.first_asked(before), turn.member, "it gets its turn back");
            }
            _ => {}
        }
    }

    fn turn_ended(&mut self, turn: &Turn) {
        let id = turn.turn_id.clone().expect("a turn that ends");
        self.asks.ended(&id, &turn.cause);
        let ran = self.running.remove(&id).is_some();
        if ran && turn.state == TurnState::Cancelled && !self.is_human(&turn.member) {
            self.stopping.insert(id.clone());
        }
        assert!(self.waiting.remove(&id).is_some() != ran, "{id} ended twice: {turn:?}");
        match &turn.cause {
            _ if turn.state == TurnState::Done => {
                self.limited.remove(&turn.member);
            }
            Cause::Failed { limit: Some(_), resets_at, .. } if self.has_fallbacks() => {
                self.limited.insert(turn.member.clone(), resets_at.is_some());
            }
            Cause::Overspent { .. } => self.is_overspent = true,
            Cause::Limited { .. } => {
                assert!(self.limited.contains_key(&turn.member), "it could work");
            }
            _ => {}
        }
        if turn.state != TurnState::Done {
            self.ended.insert(id);
        }
    }

    /// Returns whether turns wait, and neither their members nor those that could take over can work.
    fn all_wait_for_a_limit(&self) -> bool {
        let is_blocked = |turn: &EntryId| {
            let earlier = |turn: &&EntryId| self.taken_over.get(*turn);
            let tried = std::iter::successors(Some(turn), earlier);
            let members: Vec<_> = tried.map(|turn| &self.turns[turn].0).collect();
            let first = self.first_asked(turn);
            let mut known = self.roster.members().iter();
            let fallback = &known.find(|member| member.name == first).unwrap().fallback;
            let can_work = |name: &str| !self.limited.contains_key(name);
            self.limited.contains_key(members[0])
                && !self.asks.contains(turn)
                && !fallback.is_empty()
                && !fallback.iter().any(|name| can_work(name) && !members.contains(&name))
        };
        !self.waiting.is_empty() && self.waiting.keys().all(is_blocked)
    }

    fn has_fallbacks(&self) -> bool {
        self.roster.members().iter().any(|member| !member.fallback.is_empty())
    }

    fn first_asked(&self, turn: &EntryId) -> Box<str> {
        let earlier = |turn: &&EntryId| self.taken_over.get(*turn);
        let first = std::iter::successors(Some(turn), earlier).last().unwrap();
        self.turns[first].0.clone()
    }

    /// A turn goes to a fallback of the member that was asked first, and never back to one that tried it.
    fn takes_over(&mut self, entry: &EntryId, turn: &Turn, before: &EntryId) {
        self.ended.remove(before);
        let first = self.first_asked(before);
        let mut members = self.roster.members().iter();
        let fallback = &members.find(|member| member.name == first).unwrap().fallback;
        assert!(fallback.contains(&turn.member), "{} is no fallback of {first}", turn.member);
        assert!(!self.limited.contains_key(&turn.member), "{} cannot work", turn.member);
        let earlier = |turn: &&EntryId| self.taken_over.get(*turn);
        for tried in std::iter::successors(Some(before), earlier) {
            assert_ne!(self.turns[tried].0, turn.member, "the turn came back");
        }
        self.taken_over.insert(entry.clone(), before.clone());
        // It goes before the others.
        for bound in self.waiting.values_mut().flatten() {
            *bound += self.limits.local as usize + 1;
        }
    }

    fn started(&mut self, id: &EntryId, turn: &Turn) {
        if self.taken_over.contains_key(id) {
            assert!(!self.limited.contains_key(&turn.member), "{} cannot work", turn.member);
        }
        self.may_start(id, &turn.member);
        assert!(!self.is_overspent, "{id} started, and nobody was asked");
        self.turn_costs.remove(&turn.member);
        assert!(!self.paused.contains(id), "{id} started and was paused");
        let bound = self.waiting.remove(id).expect("what starts has waited");
        self.starts += usize::from(bound.is_some());
        assert!(bound.is_none_or(|bound| self.starts <= bound), "{id} starved");
        self.running.insert(id.clone(), turn.member.clone());
        if self.is_human(&turn.member) {
            return;
        }
        self.since_a_person += 1;
        assert!(self.since_a_person <= self.limits.turns as usize, "the loop guard let one pass");
        let (_, by) = self.turns[id].clone();
        if let Some(by) = by.filter(|by| !self.is_human(by)) {
            let mut pair = [by, turn.member.clone()];
            pair.sort();
            let count = self.pairs.entry(pair).or_default();
            *count += 1;
            assert!(*count <= self.limits.pair as usize, "the pair guard let one pass");
        }
        for who in [&*turn.member, SESSION, DAY] {
            let [spent, limit, granted] = self.purses[who];
            assert!(spent < limit + granted, "{who} has spent {spent} of {limit} + {granted}");
        }
    }

    /// Asserts that the limit of parallel turns has room, and that the turn of this member may run beside the others.
    fn may_start(&mut self, id: &EntryId, member: &str) {
        assert_eq!(self.stopping.len(), 0, "a stopped agent still works");
        let is_beside = self.running.len() < self.limits.parallel
            || self.running.keys().all(|one| self.asks.are_of_one(one, id));
        assert!(is_beside, "too many turns run");
        if self.running.is_empty() {
            return;
        }
        self.beside += 1;
        for one in self.running.values().map(|one| &**one).chain([member]) {
            let known = self.roster.members().iter().find(|other| *other.name == *one).unwrap();
            let is_human = known.kind == MemberKind::Human;
            assert!(is_human || known.may_run_beside, "{one} may write");
        }
        for one in self.running.values() {
            assert!(!self.is_human(one), "{one} is asked, and {member} starts");
            assert_ne!(**one, *member, "it runs already");
        }
    }

    /// Records that the agent of a turn has ended.
    pub(crate) fn agent_ended(&mut self, turn: &EntryId) {
        self.stopping.remove(turn);
    }

    /// Records a crash, which ends all agents.
    pub(crate) fn agents_ended(&mut self) {
        self.stopping.clear();
    }

    fn is_human(&self, name: &str) -> bool {
        let mut members = self.roster.members().iter();
        members.any(|member| &*member.name == name && member.kind == MemberKind::Human)
    }

    /// Asserts that every name in a message led to a turn or a note.
    fn everybody_is_accounted_for(&self, driver: &TestDriver, entry: &EntryId, names: &[String]) {
        let mut answers = 0;
        let mut ignored = 0;
        for effect in &driver.effects {
            match effect {
                Effect::Append { kind: EntryKind::Turn(turn), .. } => {
                    let is_asked =
                        matches!(&turn.cause, Cause::Asked { entry: e, .. } if e == entry);
                    answers += usize::from(is_asked);
                }
                Effect::Note(
                    Note::Duplicate { entry: e, .. }
                    | Note::Adjacent { entry: e, .. }
                    | Note::Overflow { entry: e, .. }
                    | Note::UnknownName { entry: e, .. },
                ) => answers += usize::from(e == entry),
                Effect::Note(Note::MarkerIgnored { marker, .. }) => {
                    answers += parse_markers(marker).next.len();
                }
                Effect::Note(Note::TooManyNames { ignored: count, .. }) => ignored += count,
                _ => {}
            }
        }
        assert!(answers + ignored >= names.len(), "{entry}: {names:?} but {:?}", driver.effects);
    }

    /// Asserts that the waiting turns are the expected ones and that the queue is within its limit. Also asserts that
    /// a turn runs, a person is asked, or nothing waits.
    pub(crate) fn nobody_is_forgotten(&self, driver: &TestDriver) {
        let waiting: BTreeSet<&EntryId> =
            driver.machine.waiting().map(|waiting| waiting.turn).collect();
        assert!(waiting.iter().copied().eq(self.waiting.keys()), "a turn was lost");
        // The turn that follows a turn at its limit is queued even if the queue is full.
        let queue_max =
            self.limits.queue + usize::from(self.has_fallbacks()) + self.asks.beyond_queue();
        assert!(waiting.len() <= queue_max, "the queue is too long");
        match driver.machine.status() {
            Status::Running { turn } | Status::Waiting { turn, .. } => {
                assert!(self.running.contains_key(&turn), "{turn} does not run");
            }
            Status::Stopping { turn } => assert!(self.running.is_empty(), "{turn} is stopped"),
            Status::Paused(why) => assert!(self.asked && self.running.is_empty(), "{why}"),
            Status::Resting => assert!(waiting.is_empty() && self.running.is_empty(), "a deadlock"),
        }
        let active = driver.machine.active().filter(|active| active.phase != TurnPhase::Stopping);
        let active: BTreeSet<&EntryId> = active.map(|active| active.turn).collect();
        assert!(active.into_iter().eq(self.running.keys()), "an active turn was lost");
        for (turn, bound) in &self.waiting {
            assert!(bound.is_none_or(|bound| self.starts < bound), "{turn} starves");
        }
    }

    /// Asserts that the log gives the same decisions, reasons and waiting turns again.
    pub(crate) fn replay(&self, driver: &TestDriver) {
        driver.replays();
        let again = Machine::replay(self.roster.clone(), &driver.log).machine;
        let known = |machine: &Machine| match machine.status() {
            // No entry records that a cancelled agent has ended or that the session was opened.
            Status::Stopping { .. } | Status::Paused(_) | Status::Resting => None,
            status => Some(status),
        };
        assert_eq!(known(&again), known(&driver.machine));
        let active = |machine: &Machine| -> Vec<EntryId> {
            let active = machine.active().filter(|one| one.phase != TurnPhase::Stopping);
            active.map(|one| one.turn.clone()).collect()
        };
        assert_eq!(active(&again), active(&driver.machine));
    }
}

fn add([spent, limit, granted]: [f64; 3], more: f64) -> [f64; 3] {
    [spent + more, limit, granted]
}
