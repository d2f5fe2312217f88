//! Plays a session of a person, two members with a memory and another speaker, on a store in memory. Every message has
//! a token that no other message has.

use std::collections::BTreeMap;

use tertulia_agent::{AgentKind, AgentSpec, Drift, NativeHead, agents};
use tertulia_session::json::Json;
use tertulia_session::{
    AskRound, Cause, EntryId, EntryKind, Fields, FreshStart, MemoryMode, Message, QueueRule,
    Setting, Speaker, SpeakerType, TeamTask, Turn, TurnActivity, TurnEvent, TurnMemory, TurnState,
};
use tertulia_store::{NewSession, SessionId, SessionStore};

use super::super::{MemoryPlan, MemoryStep, drifted};
use crate::driver::asked::{Asked, Attempt};
use crate::driver::consult::Consult;
use crate::driver::log::{Reading, SessionLog};
use crate::driver::prompt::{Prompts, Start};
use crate::driver::summary;
use crate::{Limits, Team, TeamMember};

/// A session that an agent keeps.
#[derive(Clone, Debug, Default)]
pub(super) struct Native {
    pub(super) owner: String,
    pub(super) prompts: Vec<String>,
    pub(super) answers: Vec<String>,
    pub(super) drift: Option<Drift>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Outcome {
    Answered,
    /// The agent failed, and its session contains the prompt.
    FailedKnown,
    Failed,
    Cancelled,
    /// The program was killed while the agent worked.
    Crashed,
    /// The agent found that its session had changed before it sent anything.
    Drifted,
    /// The prompt was too large, so a second one is sent.
    Overflown,
}

pub(super) struct Said {
    pub(super) id: EntryId,
    pub(super) by: String,
    pub(super) token: String,
    /// The session of the agent in which the member said it.
    pub(super) native: Option<String>,
}

/// A turn that runs.
pub(super) struct Begun {
    pub(super) member: String,
    turn: EntryId,
    /// The id of the agent's session, if the turn uses one.
    native: Option<String>,
    pub(super) outcome: Outcome,
}

pub(super) struct Play {
    pub(super) store: SessionStore,
    pub(super) session: SessionId,
    pub(super) log: SessionLog,
    pub(super) prompts: Prompts,
    pub(super) team: Team,
    pub(super) natives: BTreeMap<String, Native>,
    pub(super) said: Vec<Said>,
    pub(super) redacted: Vec<String>,
    turns: usize,
    /// The reason of the last turn for a new session, and whether the turn continued one.
    pub(super) last: Option<(Option<FreshStart>, bool)>,
}

fn member(name: &str, window: usize, budget_bytes: u64) -> TeamMember {
    let spec = AgentSpec::new(AgentKind::Cli(agents::CLAUDE), ".");
    let memory = MemoryMode::Native;
    TeamMember { memory, window, budget_bytes, ..TeamMember::agent(name, spec) }
}

fn turn_of(member: &str, turn: &EntryId, state: TurnState, cause: Cause) -> Turn {
    let turn_id = (state != TurnState::Queued).then(|| turn.clone());
    Turn {
        member: member.into(),
        state,
        turn_id,
        cause,
        cause_source: None,
        error_class: None,
        prompt_hash: None,
        prompt_recipe: None,
        native_session_id: None,
        memory: None,
        native_head: None,
        unknown: Fields::NONE,
    }
}

pub(super) fn head(native: &str) -> NativeHead {
    let json = format!(
        r#"{{"agent":"claude","session":"{native}","bytes":1,"hash":"a","messages":1,"program":"p"}}"#
    );
    NativeHead::from_json(&Json::parse(&json).unwrap()).unwrap()
}

impl Play {
    pub(super) fn new(window: usize, budget_bytes: u64) -> Self {
        let members = ["max", "eva"].map(|name| member(name, window, budget_bytes));
        let members = std::iter::once(TeamMember::person("ann")).chain(members).collect();
        let team = Team::new(members, Limits::default(), None).unwrap();
        let store = SessionStore::memory();
        let session = store.create(&NewSession::default()).unwrap().id;
        let log = SessionLog::open(&store, &session, Reading::All).unwrap();
        let prompts = Prompts::new(log.entries());
        let (natives, said, redacted) = (BTreeMap::new(), Vec::new(), Vec::new());
        Self { store, session, log, prompts, team, natives, said, redacted, turns: 0, last: None }
    }

    /// Reads the session again, as after a crash or a change by another process.
    pub(super) fn reopen(&mut self) {
        self.log = SessionLog::open(&self.store, &self.session, Reading::All).unwrap();
        self.prompts = Prompts::new(self.log.entries());
    }

    pub(super) fn commit(&mut self) {
        if let Some(summary) = summary::due(self.log.branch(), self.team.window_max()) {
            self.log.stage(summary);
        }
        self.log.commit().unwrap();
    }

    pub(super) fn say(&mut self, by: &str, words: usize) -> EntryId {
        self.say_in(by, words, None)
    }

    fn say_in(&mut self, by: &str, words: usize, native: Option<String>) -> EntryId {
        let token = format!("token{}x", self.said.len());
        let kind = if by == "ann" { SpeakerType::Human } else { SpeakerType::Ai };
        let text = format!("We decided {token}: {}", "the gateway has a port. ".repeat(words));
        let message = Message::said(Speaker::new(by, by, kind), text);
        self.log.stage(EntryKind::Message(message));
        let id = self.log.entries().last().unwrap().id.clone();
        self.said.push(Said { id: id.clone(), by: by.into(), token, native });
        id
    }

    pub(super) fn stage(&mut self, kind: EntryKind) {
        self.log.stage(kind);
        self.commit();
    }

    pub(super) fn set_task(&mut self, task: Option<&str>) {
        let task = task.map(Into::into);
        self.stage(EntryKind::TeamTask(TeamTask { task, unknown: Fields::NONE }));
    }

    pub(super) fn set_limit(&mut self) {
        self.log.stage_setting(Setting::TurnsMax { turns: Some(9) });
        self.commit();
    }

    fn put(&mut self, turn: Turn) {
        self.turns += 1;
        let id = EntryId::from(format!("t{}", self.turns));
        self.log.stage_as(id, EntryKind::Turn(Box::new(turn)));
    }

    /// Returns what the member would do now.
    pub(super) fn plan(&self, name: &str) -> MemoryPlan {
        let member = self.team.member(name).unwrap();
        MemoryPlan::next(&self.log, &self.team, member, |head| {
            let native = &self.natives[&*head.session];
            assert_eq!(native.owner, name, "the session belongs to another member");
            native.drift.clone().map_or(Ok(()), Err)
        })
    }

    /// Returns the prompt that a member would get with this plan if it answered a message now.
    pub(super) fn look(&mut self, name: &str, answers: &EntryId, plan: &MemoryPlan) -> String {
        let member = self.team.member(name).unwrap();
        let (team, branch) = (&self.team, self.log.branch());
        self.prompts.look(team, branch, member, answers, plan).text
    }

    /// Runs a turn of a member that answers this message.
    pub(super) fn turn(&mut self, name: &str, answers: &EntryId, outcome: Outcome) {
        let begun = self.begin(name, answers, outcome);
        // Others speak while the agent works.
        if self.turns.is_multiple_of(3) {
            self.say("leo", 1);
            self.commit();
        }
        self.end(&begun);
    }

    /// Runs a turn of an ask with this question.
    pub(super) fn ask(
        &mut self,
        name: &str,
        question: &EntryId,
        round: AskRound,
        outcome: Outcome,
    ) {
        let begun = self.run(name, question, Some(&Consult::of(round, question)), outcome);
        if self.turns.is_multiple_of(3) {
            self.say("leo", 1);
            self.commit();
        }
        self.end(&begun);
    }

    /// Begins a turn. Turns of other members may run at the same time.
    pub(super) fn begin(&mut self, name: &str, answers: &EntryId, outcome: Outcome) -> Begun {
        self.run(name, answers, None, outcome)
    }

    fn run(
        &mut self,
        name: &str,
        answers: &EntryId,
        consult: Option<&Consult>,
        outcome: Outcome,
    ) -> Begun {
        self.turns += 1;
        let turn = EntryId::from(format!("turn{}", self.turns));
        let chosen = Cause::Chosen { rule: QueueRule::InTurn };
        let queued = turn_of(name, &turn, TurnState::Queued, chosen.clone());
        self.log.stage_as(turn.clone(), EntryKind::Turn(Box::new(queued)));
        let mut plan = self.plan(name);
        if let Some(consult) = consult {
            plan = plan.for_ask(consult, &self.log);
        }
        let reason = plan.record.as_ref().and_then(|record| record.fresh_start.clone());
        self.last = Some((reason, plan.continues()));
        let asked = Asked { turn: &turn, member: name, answers, consult };
        let end = consult.map(|consult| consult.end(self.log.branch()));
        let start = self.prompts.prepare(&self.team, &mut self.log, asked, plan, Attempt::First);
        self.shows_nothing_later(&start, end);
        let mut started = turn_of(name, &turn, TurnState::Started, chosen);
        started.prompt_hash = Some(start.hash.clone());
        started.prompt_recipe.clone_from(&start.record);
        started.memory = start.memory.record.clone().map(Box::new);
        self.put(started);
        if start.record.is_some() {
            let id = self.log.entries().last().unwrap().id.clone();
            self.prompts.recorded_in(&id);
        }
        self.commit();
        let native = match start.memory.step {
            MemoryStep::Fresh => None,
            _ => Some(self.send(asked, &start, outcome)),
        };
        Begun { member: name.to_owned(), turn, native, outcome }
    }

    /// Asserts that the prompt contains no message from this index on.
    fn shows_nothing_later(&self, start: &Start, end: Option<usize>) {
        for (index, said) in self.visible() {
            let is_later = end.is_some_and(|end| index >= end);
            assert!(!is_later || !start.prompt.text.contains(&said.token), "{}", start.prompt.text);
        }
    }

    /// Sends the prompt, or the one that follows if the first one is of no use. Returns the id of the agent's session.
    fn send(&mut self, asked: Asked<'_>, start: &Start, outcome: Outcome) -> String {
        let name = asked.member;
        match outcome {
            Outcome::Drifted if start.memory.continues() => {
                // Somebody speaks before the second prompt.
                self.say("ann", 1);
                let member = self.team.member(name).unwrap();
                let reason = drifted(&Drift::Forked);
                let plan = MemoryPlan::begin(&self.log, &self.team, member, Some(reason));
                self.send_again(asked, plan, Attempt::Again)
            }
            Outcome::Overflown if !start.memory.continues() => {
                let lost = self.sent(name, start);
                self.natives.remove(&lost);
                self.say("ann", 1);
                let attempt = Attempt::Smaller(start.budget / 2);
                self.send_again(asked, start.memory.clone(), attempt)
            }
            _ => self.sent(name, start),
        }
    }

    /// Ends a turn.
    pub(super) fn end(&mut self, begun: &Begun) {
        let Begun { member: name, turn, native, outcome } = begun;
        let native = native.as_deref();
        let cause = Cause::failed("crash");
        let (state, cause, has_head) = match *outcome {
            Outcome::Answered | Outcome::Drifted | Outcome::Overflown => {
                let entry = self.say_in(name, 1, native.map(str::to_owned));
                let token = self.said.last().unwrap().token.clone();
                if let Some(native) = native {
                    self.natives.get_mut(native).unwrap().answers.push(token);
                }
                (TurnState::Done, Cause::Answered { entry }, true)
            }
            Outcome::FailedKnown => (TurnState::Failed, cause, true),
            Outcome::Failed => (TurnState::Failed, cause, false),
            Outcome::Cancelled => (TurnState::Cancelled, Cause::Cancelled { all: false }, false),
            Outcome::Crashed => {
                self.reopen();
                (TurnState::Interrupted, Cause::ProgramStopped, false)
            }
        };
        let mut ended = turn_of(name, turn, state, cause);
        if let Some(native) = native.filter(|_| has_head) {
            ended.native_session_id = Some(native.into());
            ended.native_head = Some(head(native).to_json());
        }
        self.put(ended);
        self.commit();
    }

    fn send_again(&mut self, asked: Asked<'_>, plan: MemoryPlan, attempt: Attempt) -> String {
        let (turn, name) = (asked.turn, asked.member);
        let end = asked.consult.map(|consult| consult.end(self.log.branch()));
        let start = self.prompts.prepare(&self.team, &mut self.log, asked, plan, attempt);
        self.shows_nothing_later(&start, end);
        let memory: Box<TurnMemory> = start.memory.record.clone().unwrap().into();
        let stage = |log: &mut SessionLog, activity| {
            log.stage(EntryKind::TurnEvent(TurnEvent::new(turn.clone(), name, activity)));
        };
        stage(&mut self.log, TurnActivity::MemoryReset { memory });
        if let Some(prompt_recipe) = start.record.clone() {
            let prompt_hash = start.hash.clone();
            stage(&mut self.log, TurnActivity::Resent { prompt_hash, prompt_recipe });
        }
        self.commit();
        self.sent(name, &start)
    }

    /// The agent gets the prompt. Returns the id of its session.
    fn sent(&mut self, name: &str, start: &Start) -> String {
        let id = match &start.memory.step {
            MemoryStep::Fresh => panic!("{name} has a memory"),
            MemoryStep::Begin => {
                self.turns += 1;
                let id = format!("n{}", self.turns);
                let native = Native { owner: name.into(), ..Native::default() };
                self.natives.insert(id.clone(), native);
                id
            }
            MemoryStep::Continue(head) => head.session.to_string(),
        };
        self.natives.get_mut(&id).unwrap().prompts.push(start.prompt.text.clone());
        id
    }

    pub(super) fn redact(&mut self, number: usize) {
        self.commit();
        let said = &self.said[number];
        self.redacted.push(said.token.clone());
        // A message of another branch, or one that is redacted already, is refused.
        let _ = self.store.redact(&self.session, &said.id, None);
        self.reopen();
    }

    pub(super) fn branch(&mut self, from: &EntryId) {
        self.commit();
        self.store.branch(&self.session, from).unwrap();
        self.reopen();
    }

    /// Returns the messages of the branch that still have their text, each with its index.
    pub(super) fn visible(&self) -> Vec<(usize, &Said)> {
        let entries = self.log.entries();
        let index = |said: &Said| {
            entries.iter().position(|entry| entry.id == said.id && entry.message().is_some())
        };
        let mut visible: Vec<(usize, &Said)> =
            self.said.iter().filter_map(|said| Some((index(said)?, said))).collect();
        visible.sort_by_key(|(index, _)| *index);
        visible
    }
}
