//! A driver for tests: performs effects on a log in memory and describes them in a few words.

use tertulia_session::json::{self, Json};
use tertulia_session::record::{EntryRecord, read_entry};
use tertulia_session::{
    Ask, Cause, Entry, EntryId, EntryKind, Message, NewEntry, Setting, Speaker, SpeakerType,
    Timestamp, Turn, Usage, Usd,
};
use tertulia_team::{
    Cancel, Dollars, Effect, Event, Limits, Machine, Member, Overspent, PersonMessage,
    ReachedLimit, Roster,
};

pub(crate) struct TestDriver {
    pub(crate) machine: Machine,
    pub(crate) log: Vec<Entry>,
    /// The last started turn of an agent, and its member.
    pub(crate) running: Option<(EntryId, Box<str>)>,
    /// Turns of agents that started before and may run beside it.
    pub(crate) others: Vec<(EntryId, Box<str>)>,
    /// The effects of the last event.
    pub(crate) effects: Vec<Effect>,
    said: u32,
}

/// Returns Ann and three agents.
pub(crate) fn members() -> Vec<Member> {
    vec![Member::human("ann"), Member::ai("max"), Member::ai("eva"), Member::ai("leo")]
}

impl TestDriver {
    pub(crate) fn new() -> Self {
        Self::at(Roster::new(members()).unwrap())
    }

    pub(crate) fn with_limits(limits: Limits) -> Self {
        Self::at(Roster::new(members()).unwrap().with_limits(limits))
    }

    pub(crate) fn at(roster: Roster) -> Self {
        let machine = Machine::new(roster);
        let (log, others, effects) = (Vec::new(), Vec::new(), Vec::new());
        Self { machine, log, running: None, others, effects, said: 0 }
    }

    pub(crate) fn step(&mut self, event: Event) -> Vec<String> {
        let effects = self.machine.step(event);
        self.perform(effects);
        self.effects.iter().map(show).collect()
    }

    pub(crate) fn perform(&mut self, effects: Vec<Effect>) {
        for effect in &effects {
            match effect {
                Effect::Append { id, kind } => self.append(id.clone(), kind.clone()),
                Effect::StartTurn { turn, member, .. } => {
                    let before = self.running.replace((turn.clone(), member.clone()));
                    let runs = |turn: &EntryId| self.machine.active().any(|one| one.turn == turn);
                    let is_beside = self.machine.roster().limits().parallel > 1;
                    self.others.extend(before.filter(|(turn, _)| is_beside || runs(turn)));
                }
                _ => {}
            }
        }
        self.effects = effects;
    }

    pub(crate) fn append(&mut self, id: EntryId, kind: EntryKind) {
        assert!(self.log.iter().all(|entry| entry.id != id), "{id} already exists: {kind:?}");
        let mut entry = NewEntry::new(kind);
        entry.parent_id = self.log.last().map(|entry| entry.id.clone());
        self.log.push(entry.with_id(id));
    }

    /// Stores a message and returns its id: `m1`, `m2` and so on.
    pub(crate) fn store(&mut self, who: &str, kind: SpeakerType, text: &str) -> EntryId {
        self.said += 1;
        let id = EntryId::from(format!("m{}", self.said));
        let message = Message::said(Speaker::new(who, who, kind), text);
        self.append(id.clone(), EntryKind::Message(message));
        id
    }

    pub(crate) fn person(&mut self, text: &str) -> Vec<String> {
        self.person_named(None, text)
    }

    pub(crate) fn person_named(&mut self, member: Option<&str>, text: &str) -> Vec<String> {
        let message = PersonMessage::new(text, self.machine.roster());
        let speaker = self.machine.speaker_of(member.or(message.sender()));
        let name = speaker.ok().flatten().unwrap_or("somebody").to_owned();
        let entry = self.store(&name, SpeakerType::Human, text);
        let (member, message) = (member.map(Box::from), Box::new(message));
        self.step(Event::PersonSaid { entry, member, message })
    }

    /// A person asks several members.
    pub(crate) fn ask(&mut self, text: &str, ask: &Ask) -> Vec<String> {
        let message = PersonMessage::new(text, self.machine.roster()).asking(ask.clone());
        let entry = self.store_ask("ann", text, ask);
        self.step(Event::PersonSaid { entry, member: None, message: Box::new(message) })
    }

    /// Stores a question to several members.
    pub(crate) fn store_ask(&mut self, who: &str, text: &str, ask: &Ask) -> EntryId {
        let entry = self.store(who, SpeakerType::Human, text);
        if let Some(EntryKind::Message(message)) = self.log.last_mut().map(|last| &mut last.kind) {
            message.routing.get_or_insert_default().ask = Some(Box::new(ask.clone()));
        }
        entry
    }

    /// Makes the turn of this member the one that the other functions mean.
    pub(crate) fn of(&mut self, member: &str) -> &mut Self {
        let is_theirs = |one: &(EntryId, Box<str>)| &*one.1 == member;
        if !self.running.as_ref().is_some_and(is_theirs) {
            let place = self.others.iter().position(is_theirs).expect("it runs");
            let turn = self.others.remove(place);
            self.others.extend(self.running.replace(turn));
        }
        self
    }

    /// The running agent answers with this text. Returns the effects.
    pub(crate) fn answer(&mut self, text: &str) -> Vec<String> {
        let (turn, member) = self.running.take().expect("somebody runs");
        let entry = self.store(&member, SpeakerType::Ai, text);
        self.step(Event::AgentSaid { turn, entry, text: text.to_owned(), interrupted: false })
    }

    /// The running agent is cut off after this text. Returns the effects.
    pub(crate) fn cut_off(&mut self, text: &str) -> Vec<String> {
        let (turn, member) = self.running.take().expect("somebody runs");
        let entry = self.store(&member, SpeakerType::Ai, text);
        self.step(Event::AgentSaid { turn, entry, text: text.to_owned(), interrupted: true })
    }

    pub(crate) fn fail(&mut self, class: &str) -> Vec<String> {
        let (turn, _) = self.running.take().expect("somebody runs");
        self.step(Event::AgentFailed { turn, class: class.into(), entry: None, limit: None })
    }

    /// The agent that runs reaches its usage limit, after it has called these tools.
    pub(crate) fn reach_limit(
        &mut self,
        resets_at: Option<i64>,
        tools: Option<&str>,
    ) -> Vec<String> {
        let (turn, _) = self.running.take().expect("somebody runs");
        let limit = ReachedLimit {
            scope: "week".into(),
            resets_at: resets_at.map(Timestamp::from_millis),
            tools: tools.map(Into::into),
        };
        let (class, limit) = ("quota".into(), Some(Box::new(limit)));
        self.step(Event::AgentFailed { turn, class, entry: None, limit })
    }

    pub(crate) fn limit_ends(&mut self, member: &str) -> Vec<String> {
        self.step(Event::LimitEnded { member: member.into() })
    }

    pub(crate) fn cancel_running(&mut self) -> Vec<String> {
        let (turn, _) = self.running.clone().expect("somebody runs");
        self.step(Event::Cancel(Cancel::Turn(turn)))
    }

    pub(crate) fn pay(&mut self, member: &str, usd: f64) -> Vec<String> {
        let usage = Usage {
            member: member.into(),
            input_tokens: 1,
            output_tokens: 1,
            cost_usd: Usd::new(usd),
            ..Usage::default()
        };
        let id = EntryId::from(format!("usage{}", self.log.len()));
        self.append(id, EntryKind::Usage(usage));
        self.step(Event::UsageSeen { member: member.into(), usd })
    }

    /// All sessions have spent this much on a day, as the driver records it.
    pub(crate) fn day_spent(&mut self, day: &str, usd: f64) -> Vec<String> {
        let (day, spent) = (Box::<str>::from(day), Dollars::from_usd(usd));
        let setting = Setting::DaySpent { day: day.clone(), spent: spent.to_usd() };
        let id = EntryId::from(format!("day{}", self.log.len()));
        self.append(id, EntryKind::SessionSetting(setting.into()));
        self.step(Event::DaySpent { day, spent })
    }

    /// Returns the limits that running turns have reached, if they have cost this much so far.
    pub(crate) fn overspent(&self, costs: &[(&str, f64)]) -> Vec<(EntryId, Overspent)> {
        let turns = || self.others.iter().chain(&self.running);
        let cost = |(member, usd): &(&str, f64)| {
            let (turn, _) = turns().find(|(_, one)| **one == **member).expect("it runs");
            (turn.clone(), Dollars::from_usd(*usd))
        };
        self.machine.overspent(&costs.iter().map(cost).collect::<Vec<_>>())
    }

    /// The agent that runs is stopped at a spending limit, after it has cost this much.
    pub(crate) fn overspend(&mut self, usd: f64) -> Vec<String> {
        let (_, member) = self.running.clone().expect("somebody runs");
        let reached = self.overspent(&[(&member, usd)]);
        let (turn, reached) = reached.into_iter().next().expect("a limit is reached");
        self.pay(&member, usd);
        self.running = None;
        self.step(Event::AgentOverspent { turn, entry: None, reached })
    }

    pub(crate) fn waiting(&self) -> Vec<String> {
        self.machine.waiting().map(|w| format!("{} {}", w.member, w.intent.as_str())).collect()
    }

    /// Returns the members whose turns were started, in order.
    pub(crate) fn started(&self) -> Vec<&str> {
        let started = self.log.iter().filter_map(|entry| match &entry.kind {
            EntryKind::Turn(turn) if turn.state.as_str() == "started" => Some(&*turn.member),
            _ => None,
        });
        started.collect()
    }

    /// Asserts that the log gives the same decisions again, also in version 1 of the record.
    #[track_caller]
    pub(crate) fn replays(&self) {
        let stored = |entry: &Entry| read(&EntryRecord::new(entry).to_json());
        let mut logs: Vec<Vec<Entry>> = vec![self.log.iter().map(stored).collect()];
        if !self.log.iter().any(is_of_failover) {
            logs.push(self.log.iter().map(as_version_1).collect());
        }
        for log in logs {
            let replay = Machine::replay(self.machine.roster().clone(), &log);
            assert_eq!(replay.differences, []);
            assert_eq!(replay.unfinished, []);
            assert!(replay.machine.waiting().eq(self.machine.waiting()));
        }
    }
}

fn read(record: &str) -> Entry {
    read_entry(json::parse(record).unwrap()).unwrap()
}

/// Returns whether the entry is of a kind that version 1 did not have.
fn is_of_failover(entry: &Entry) -> bool {
    let has_limit = |turn: &Turn| matches!(turn.cause, Cause::Failed { limit: Some(_), .. });
    let is_newer = |turn: &Turn| {
        let is_new = matches!(
            turn.cause,
            Cause::Overspent { .. } | Cause::Consulted { .. } | Cause::GraceEnded { .. }
        );
        has_limit(turn) || is_new
    };
    entry.turn().is_some_and(is_newer)
        || matches!(
            entry.kind.setting(),
            Some(Setting::LimitEnded { .. } | Setting::DaySpent { .. })
        )
}

/// Returns the entry as version 1 wrote it.
fn as_version_1(entry: &Entry) -> Entry {
    let mut entry = entry.clone();
    entry.kind = match entry.kind {
        EntryKind::Turn(turn) => EntryKind::Turn(Box::new(turn.with_cause_of_version_1())),
        EntryKind::SessionSetting(setting) => {
            let note = match setting.setting {
                Setting::Continued { count } => {
                    format!(r#"{{"table":"continue","count":{count}}}"#)
                }
                Setting::Reopened { count } => format!(r#"{{"table":"reopened","count":{count}}}"#),
                other => panic!("{other:?}"),
            };
            EntryKind::Custom(Json::parse(&note).ok())
        }
        kind => kind,
    };
    read(&EntryRecord::new(&entry).to_json())
}

/// Describes an effect in a few words.
pub(crate) fn show(effect: &Effect) -> String {
    match effect {
        Effect::Append { kind: EntryKind::Turn(turn), .. } => {
            format!("{} {}", turn.member, turn.state.as_str())
        }
        Effect::Append { kind, .. } => match kind.setting() {
            Some(Setting::LimitEnded { member, .. }) => format!("limit of {member} ended"),
            _ => "go on".to_owned(),
        },
        Effect::StartTurn { member, intent, .. } => format!("start {member} {}", intent.as_str()),
        Effect::CancelTurn { member, .. } => format!("stop {member}"),
        Effect::AskPerson(question) => {
            format!("ask {}: {}", question.to.as_deref().unwrap_or("anybody"), question.why)
        }
        Effect::SetTeamTask { task, .. } => format!("task {task:?}"),
        Effect::Note(note) => format!("note: {note}"),
        Effect::Rest => "rest".to_owned(),
    }
}
