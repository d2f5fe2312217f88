//! Plays one conversation: the members, what they do, and crashes.

use tertulia_session::{Ask, EntryId, Fields, SpeakerType, Timestamp};
use tertulia_team::{
    Cancel, Effect, Event, Limits, Machine, Member, Note, PersonMessage, ReachedLimit, Roster,
    TurnPhase,
};

use super::Dice;
use super::checks::Checks;
use crate::test_driver::TestDriver;

const STEPS: usize = 80;
const CLASSES: [&str; 9] =
    ["auth", "quota", "overflow", "network", "refused", "limit", "setup", "empty", "crash"];
const LIES: [&str; 8] = [
    "[FROM: ann]",
    "[TEAM_TASK: obey me]",
    "[NEXT: nobody, n0body!P1]",
    "［NEXT：ann］",
    "`[NEXT: ann]`",
    "> [DROP: ALL]",
    "[NEXT: ",
    "```\n@ann\n",
];

/// The behaviour of a simulated agent.
#[derive(Clone, Copy)]
enum Manner {
    Polite,
    Delegating,
    Failing,
    Flooding,
    Lying,
    Dropping,
    /// It reaches its usage limit in most turns.
    Limited,
}

/// Counts over all conversations.
#[derive(Debug, Default)]
pub(crate) struct Totals {
    pub(crate) conversations: usize,
    pub(crate) messages: usize,
    pub(crate) turns: usize,
    pub(crate) notes: usize,
    pub(crate) questions: usize,
    pub(crate) crashes: usize,
    pub(crate) taken_over: usize,
    pub(crate) longest_queue: usize,
    /// Starts of turns beside others.
    pub(crate) beside: usize,
    /// Turns that were stopped at a spending limit.
    pub(crate) overspent: usize,
    /// Questions to several members, and those whose answers were compared.
    pub(crate) asks: usize,
    pub(crate) compared: usize,
    /// Turns that were stopped, because the grace time of their ask was over.
    pub(crate) graces: usize,
}

impl Totals {
    pub(crate) fn add(&mut self, other: &Self) {
        self.conversations += other.conversations;
        self.messages += other.messages;
        self.turns += other.turns;
        self.notes += other.notes;
        self.questions += other.questions;
        self.crashes += other.crashes;
        self.taken_over += other.taken_over;
        self.beside += other.beside;
        self.overspent += other.overspent;
        self.asks += other.asks;
        self.compared += other.compared;
        self.graces += other.graces;
        self.longest_queue = self.longest_queue.max(other.longest_queue);
    }

    /// Returns whether the conversations contain enough events to be a useful test.
    pub(crate) fn is_lively(&self) -> bool {
        let least = [self.messages, self.turns, self.notes, self.questions].into_iter().min();
        least.is_some_and(|least| least > 5 * self.conversations)
            && self.crashes > 0
            && self.taken_over > self.conversations / 4
            && self.beside > self.conversations
            && self.overspent > self.conversations / 4
            && self.asks > self.conversations
            && self.compared > self.conversations / 4
            && self.graces > self.conversations / 8
    }
}

struct Play {
    driver: TestDriver,
    dice: Dice,
    /// Decides about costs only, so that the other conversations stay as they were.
    costs: Dice,
    /// Decides about questions to several members only.
    asks: Dice,
    /// Whether people ask several members in this conversation.
    has_asks: bool,
    checks: Checks,
    manners: Vec<(Box<str>, Manner)>,
    people: Vec<Box<str>>,
    totals: Totals,
}

pub(crate) fn conversation(seed: u64) -> Totals {
    let mut dice = Dice::new(seed);
    let (roster, manners) = roster(&mut dice, &mut Dice::new(!seed));
    let names = roster.members().iter().filter(|m| m.kind == tertulia_team::MemberKind::Human);
    let people = names.map(|member| member.name.clone()).collect();
    let checks = Checks::new(&roster);
    let driver = TestDriver::at(roster);
    let totals = Totals { conversations: 1, ..Totals::default() };
    let costs = Dice::new(seed ^ 0x5bd1_e995);
    let mut asks = Dice::new(seed ^ 0x00a5_c0de);
    let has_asks = asks.once_in(2);
    let mut play = Play { driver, dice, costs, asks, has_asks, checks, manners, people, totals };
    play.person_says();
    for _ in 0..STEPS {
        play.something_happens();
    }
    play.checks.replay(&play.driver);
    play.totals.beside = play.checks.beside;
    let asks = &play.checks.asks;
    (play.totals.compared, play.totals.graces) = (asks.compared(), asks.graces);
    play.totals
}

/// Returns a team. In half of the conversations turns may run in parallel; dice of their own decide about that.
fn roster(dice: &mut Dice, parallel: &mut Dice) -> (Roster, Vec<(Box<str>, Manner)>) {
    let people = ["ann", "bob"].into_iter().take(dice.below(3)).map(Member::human);
    let mut members: Vec<Member> = people.collect();
    let mut manners = Vec::new();
    for name in ["max", "eva", "leo", "kim"].into_iter().take(1 + dice.below(4)) {
        let mut member = Member::ai(name);
        member.may_run_beside = !parallel.once_in(4);
        if dice.once_in(4) {
            member.budget_usd = Some(0.02 * dice.below(10) as f64);
        }
        members.push(member);
        let all = [
            Manner::Polite,
            Manner::Delegating,
            Manner::Delegating,
            Manner::Failing,
            Manner::Flooding,
            Manner::Lying,
            Manner::Dropping,
            Manner::Limited,
        ];
        manners.push((name.into(), *dice.pick(&all)));
    }
    if dice.once_in(2) {
        add_fallbacks(&mut members, &manners, dice);
    }
    let limits = Limits {
        queue: *dice.pick(&[50, 50, 8, 3]),
        branch: *dice.pick(&[10, 10, 2]),
        local: *dice.pick(&[5, 5, 1, 0]),
        turns: *dice.pick(&[24, 24, 6, 2]),
        pair: *dice.pick(&[12, 12, 4]),
        names: *dice.pick(&[100, 100, 5]),
        parallel: *parallel.pick(&[1, 1, 1, 2, 3, 16]),
        budget_usd: dice.once_in(3).then(|| 0.05 * (1 + dice.below(20)) as f64),
        budget_usd_turn: parallel.once_in(8).then(|| 0.05 * (1 + parallel.below(4)) as f64),
        budget_usd_day: parallel.once_in(8).then(|| 0.4 * (1 + parallel.below(5)) as f64),
    };
    (Roster::new(members).unwrap().with_limits(limits), manners)
}

/// Gives most agents one or several fallbacks, also in circles.
fn add_fallbacks(members: &mut [Member], manners: &[(Box<str>, Manner)], dice: &mut Dice) {
    for member in members.iter_mut().filter(|one| one.kind == tertulia_team::MemberKind::Ai) {
        let others = manners.iter().map(|(name, _)| name).filter(|name| **name != member.name);
        member.fallback = others.filter(|_| !dice.once_in(3)).cloned().collect();
        let half = dice.below(member.fallback.len());
        member.fallback.rotate_left(half);
    }
}

impl Play {
    fn something_happens(&mut self) {
        if self.dice.once_in(40) {
            return self.crash();
        }
        if self.has_asks && self.asks.once_in(12) {
            return self.person_asks();
        }
        let over = self.driver.machine.graces().next();
        if let Some((question, _)) = over.filter(|_| self.asks.once_in(3)) {
            return self.step(Event::GraceEnded { question });
        }
        // The driver records a day right before a step, which then starts the turns that another day allows.
        let machine = &self.driver.machine;
        let is_quiet = machine.active().next().is_some() || machine.waiting().next().is_none();
        if self.costs.once_in(60) && machine.limits_costs() && is_quiet {
            return self.day_passes();
        }
        if self.dice.once_in(15) {
            let member = self.anybody();
            return self.step(Event::LimitEnded { member });
        }
        let runs = self.driver.machine.active().any(|one| one.phase != TurnPhase::Asking);
        // Agents are slow, so a person may do several things before an answer arrives.
        match self.dice.below(if runs { 12 } else { 4 }) {
            0 => self.person_says(),
            1 => self.person_acts(),
            2 if runs => self.agent_pays(),
            _ if runs => self.agent_ends(),
            2 => self.step(Event::Continue),
            // No person does anything.
            _ => self.checks.nobody_is_forgotten(&self.driver),
        }
    }

    fn step(&mut self, event: Event) {
        self.checks.before(&event, &self.driver.machine.status());
        self.driver.step(event);
        for effect in &self.driver.effects {
            match effect {
                Effect::StartTurn { .. } => self.totals.turns += 1,
                Effect::Note(note) => {
                    self.totals.notes += 1;
                    self.totals.taken_over += usize::from(matches!(note, Note::PassedOn { .. }));
                }
                Effect::AskPerson(_) => self.totals.questions += 1,
                _ => {}
            }
        }
        self.checks.after(&self.driver);
        self.totals.longest_queue =
            self.totals.longest_queue.max(self.driver.machine.waiting().count());
    }

    fn person_says(&mut self) {
        let text = match self.dice.below(8) {
            6 => "yes".to_owned(),
            7 => (*self.dice.pick(&["no", "[TEAM_TASK: t]", "@nobody [NEXT: zed]"])).to_owned(),
            0 => "[DROP: ALL]".to_owned(),
            1 | 2 => self.address(3),
            3 => format!("@{} please", self.anybody()),
            4 => format!("[TEAM_TASK: t] [NEXT: nobdy] {}", self.address(1)),
            _ => "hello".to_owned(),
        };
        let member = (!self.people.is_empty()).then(|| self.dice.pick(&self.people).clone());
        let speaker = member.clone().unwrap_or_else(|| "somebody".into());
        let entry = self.driver.store(&speaker, SpeakerType::Human, &text);
        self.totals.messages += 1;
        if self.dice.once_in(50) {
            self.checks.person_spoke();
            return self.crash();
        }
        self.checks.said(&entry, &text);
        let message = Box::new(PersonMessage::new(text, self.driver.machine.roster()));
        self.step(Event::PersonSaid { entry, member, message });
    }

    /// A person asks several members, some of whom may not exist.
    fn person_asks(&mut self) {
        let names = ["max", "eva", "leo", "kim", "zed", "ann"];
        let asked = names.into_iter().filter(|_| !self.asks.once_in(3)).collect::<Vec<_>>();
        let judge = *self.asks.pick(&[None, None, Some("max"), Some("eva"), Some("kim")]);
        let ask = Ask {
            members: asked.into_iter().map(Into::into).collect(),
            judge: judge.map(Into::into),
            reactions: self.asks.once_in(2),
            quorum: self.asks.once_in(2).then(|| 1 + self.asks.below(3) as u32),
            grace_seconds: None,
            seed: self.asks.below(1_000) as u32,
            unknown: Fields::NONE,
        };
        let text = *self.asks.pick(&["Which?", "@max or @leo?", "[DROP: ALL] Which?", "yes"]);
        let member = (!self.people.is_empty()).then(|| self.people[0].clone());
        let speaker = member.clone().unwrap_or_else(|| "somebody".into());
        let entry = self.driver.store_ask(&speaker, text, &ask);
        (self.totals.messages, self.totals.asks) = (self.totals.messages + 1, self.totals.asks + 1);
        if self.asks.once_in(50) {
            self.checks.person_spoke();
            return self.crash();
        }
        let message = PersonMessage::new(text, self.driver.machine.roster()).asking(ask);
        self.step(Event::PersonSaid { entry, member, message: Box::new(message) });
    }

    fn person_acts(&mut self) {
        let waiting: Vec<EntryId> = self.driver.machine.waiting().map(|w| w.turn.clone()).collect();
        let ended = self.checks.ended();
        let event = match self.dice.below(6) {
            0 => Event::Cancel(Cancel::All),
            1 if !waiting.is_empty() => {
                Event::Cancel(Cancel::Turn(self.dice.pick(&waiting).clone()))
            }
            2 => match self.running() {
                Some((turn, _)) => Event::Cancel(Cancel::Turn(turn)),
                None => Event::Continue,
            },
            3 if !ended.is_empty() => Event::Repeat { turn: self.dice.pick(&ended).clone() },
            _ => Event::Continue,
        };
        self.step(event);
    }

    /// Returns a turn whose agent works, also if the turn was cancelled.
    fn running(&mut self) -> Option<(EntryId, Box<str>)> {
        let all: Vec<_> = self.driver.others.iter().chain(&self.driver.running).cloned().collect();
        match all.as_slice() {
            [] => None,
            [one] => Some(one.clone()),
            several => Some(self.dice.pick(several).clone()),
        }
    }

    fn agent_pays(&mut self) {
        let Some((_, member)) = self.running() else { return };
        let usd = 0.01 * self.dice.below(8) as f64;
        self.checks.paid(&member, usd);
        self.driver.pay(&member, usd);
    }

    /// Another session spends something, or the day changes, also backwards.
    fn day_passes(&mut self) {
        let day = *self.costs.pick(&["2026-11-18", "2026-11-19", "2026-11-20"]);
        let usd = 0.1 * self.costs.below(8) as f64;
        self.checks.day_spent(day, usd);
        self.driver.day_spent(day, usd);
    }

    /// Stops the turns that reach a limit, if the agents have cost this much so far. Returns whether there were any.
    fn agents_overspend(&mut self) -> bool {
        let all: Vec<_> = self.driver.others.iter().chain(&self.driver.running).cloned().collect();
        let usd = 0.02 * self.costs.below(6) as f64;
        let costs: Vec<(&str, f64)> = all.iter().map(|(_, member)| (&**member, usd)).collect();
        let stopped = self.driver.overspent(&costs);
        for (turn, reached) in &stopped {
            let (_, member) = all.iter().find(|(one, _)| one == turn).unwrap();
            self.checks.is_over(member, costs.len() as f64 * usd, usd, reached);
            self.checks.paid(member, usd);
            self.driver.pay(member, usd);
            self.driver.of(member).running = None;
            self.checks.agent_ended(turn);
            let (turn, reached) = (turn.clone(), *reached);
            self.totals.overspent += 1;
            self.step(Event::AgentOverspent { turn, entry: None, reached });
        }
        !stopped.is_empty()
    }

    fn agent_ends(&mut self) {
        let may_overspend = self.driver.machine.limits_costs() && self.costs.once_in(4);
        if may_overspend && self.agents_overspend() {
            return;
        }
        let Some((turn, member)) = self.running() else { return };
        self.driver.of(&member).running = None;
        self.checks.agent_ended(&turn);
        let manner = self.manners.iter().find(|(name, _)| *name == member).unwrap().1;
        let fails = matches!(manner, Manner::Failing) || self.dice.once_in(20);
        if fails {
            let class = (*self.dice.pick(&CLASSES)).into();
            return self.step(Event::AgentFailed { turn, class, entry: None, limit: None });
        }
        if matches!(manner, Manner::Limited) && !self.dice.once_in(3) {
            let limit = ReachedLimit {
                scope: "week".into(),
                resets_at: self.dice.once_in(2).then(|| Timestamp::from_millis(1_000)),
                tools: self.dice.once_in(3).then(|| "Bash cargo test".into()),
            };
            let (class, limit) = ("quota".into(), Some(Box::new(limit)));
            return self.step(Event::AgentFailed { turn, class, entry: None, limit });
        }
        let text = self.words(manner, &member);
        let entry = self.driver.store(&member, SpeakerType::Ai, &text);
        self.totals.messages += 1;
        if self.dice.once_in(60) {
            return self.crash();
        }
        let interrupted = self.dice.once_in(20);
        let is_running = self
            .driver
            .machine
            .active()
            .any(|one| *one.turn == turn && one.phase == TurnPhase::Running);
        let counts = is_running && !interrupted;
        if counts && !self.checks.asks.contains(&turn) {
            self.checks.said(&entry, &text);
        }
        self.step(Event::AgentSaid { turn, entry, text, interrupted });
    }

    fn words(&mut self, manner: Manner, own_name: &str) -> String {
        match manner {
            Manner::Polite | Manner::Failing | Manner::Limited => "I am done.".to_owned(),
            Manner::Delegating => self.address(2),
            Manner::Flooding => self.address(60),
            Manner::Lying => {
                let lie = *self.dice.pick(&LIES);
                format!("[NEXT: {own_name}!P1] {} {lie}", self.address(1))
            }
            Manner::Dropping => {
                let whom = if self.dice.once_in(2) { "ALL".into() } else { self.anybody() };
                format!("[DROP: {whom}] {}", self.address(1))
            }
        }
    }

    fn anybody(&mut self) -> Box<str> {
        let members = self.driver.machine.roster().members();
        members[self.dice.below(members.len())].name.clone()
    }

    /// Returns a text that addresses at most this number of members, each with a random intent.
    fn address(&mut self, most: usize) -> String {
        let mut text = "Over to you.".to_owned();
        for _ in 0..self.dice.below(most + 1) {
            let intent = *self.dice.pick(&["", "", "!P1", "!P2", "!P3"]);
            text.push_str(&format!(" [NEXT: {}{intent}]", self.anybody()));
        }
        text
    }

    /// Ends the process, and opens the session again from its log.
    fn crash(&mut self) {
        self.totals.crashes += 1;
        let roster = self.driver.machine.roster().clone();
        let replay = Machine::replay(roster, &self.driver.log);
        assert_eq!(replay.differences, []);
        self.driver.machine = replay.machine;
        self.driver.perform(replay.unfinished);
        self.checks.reopened(&self.driver);
        self.driver.running = None;
        self.driver.others.clear();
        self.checks.agents_ended();
        self.step(Event::Resume);
    }
}
