//! Decides before each turn what its agent does with the session that it keeps itself: begin one, continue it, or
//! neither. The log comes first, then the files of the agent.

use std::time::Duration;

use tertulia_agent::{Drift, KeptAgents, Memory, NativeHead};
use tertulia_session::{
    AskRound, EntryId, EntryKind, FreshStart, MemoryMode, Turn, TurnMemory, TurnState, Usage,
};

use super::Driver;
use super::consult::Consult;
use super::event::DriveError;
use super::log::{SessionLog, now};
use crate::memory::{Answered, Owner, Past, Settings, apart_messages, cache_miss, past};
use crate::team::{Responder, Team, TeamMember};

/// What a turn does with the session of its agent.
#[derive(Clone, Debug, Default)]
pub(super) struct MemoryPlan {
    pub(super) step: MemoryStep,
    /// The record for the log; `None` for an agent without a memory.
    pub(super) record: Option<TurnMemory>,
    /// What the agent has, if it continues its session.
    pub(super) has: Option<Has>,
}

#[derive(Clone, Debug, Default)]
pub(super) enum MemoryStep {
    #[default]
    Fresh,
    Begin,
    Continue(Box<NativeHead>),
}

/// What the session of an agent contains.
#[derive(Clone, Debug)]
pub(super) struct Has {
    /// The index of the entry that started the turn that began the session.
    pub(super) begun_at: usize,
    /// The index of the entry with the last prompt. The messages before it were delivered.
    pub(super) delivered: usize,
    /// The index of the entry with which the last turn ended.
    pub(super) ended: usize,
    /// The index of the entry with the prompt that began the session.
    pub(super) begun_prompt: usize,
    /// The oldest message since which it contains all others word for word; `None` if there was none in the prompt that
    /// began it.
    pub(super) first: Option<EntryId>,
    /// The indexes of own messages between the last prompt and the end of the last turn that it does not contain.
    pub(super) apart: Vec<usize>,
    /// The index of a summary of new messages that do not fit, and the number of the first message after them.
    pub(super) summary: Option<(usize, usize)>,
}

/// The reason why an agent cannot continue its session, as the log records it.
pub(super) fn drifted(drift: &Drift) -> FreshStart {
    FreshStart::Drifted { class: drift.word().into(), message: drift.to_string().into() }
}

impl MemoryPlan {
    /// Plans the next turn of a member. `check` compares the agent's session with the state that the log has.
    pub(super) fn next(
        log: &SessionLog,
        team: &Team,
        member: &TeamMember,
        check: impl FnOnce(&NativeHead) -> Result<(), Drift>,
    ) -> Self {
        let Some(settings) = settings(team, member) else { return Self::default() };
        let session = log.session.as_str();
        let owner = Owner { session, member: &member.member.name, settings: &settings };
        let known = match past(log.entries(), owner) {
            Past::Nothing => return Self::begin(log, team, member, None),
            Past::Lost(reason) => return Self::begin(log, team, member, Some(reason)),
            Past::Known(known) => known,
        };
        let head = NativeHead::from_json(known.head).map_err(|_| FreshStart::Unreadable);
        let checked = head.and_then(|head| match check(&head) {
            Ok(()) => Ok(head),
            Err(drift) => Err(drifted(&drift)),
        });
        let head = match checked {
            Ok(head) => head,
            Err(reason) => return Self::begin(log, team, member, Some(reason)),
        };
        let delivered = log.entries().get(known.delivered).map(|entry| entry.id.clone());
        let record = TurnMemory { delivered, ..TurnMemory::new(MemoryMode::Native) };
        let (begun_at, begun_prompt) = (known.begun_at, known.begun_prompt);
        let (delivered, ended) = (known.delivered, known.ended);
        let first = known.begun.first.clone();
        let apart = apart_messages(log.entries(), owner.member, delivered..known.started, begun_at);
        Self {
            step: MemoryStep::Continue(Box::new(head)),
            record: Some(record),
            has: Some(Has {
                begun_at,
                begun_prompt,
                delivered,
                ended,
                first,
                apart,
                summary: None,
            }),
        }
    }

    /// Plans a turn in a new session of the agent.
    pub(super) fn begin(
        log: &SessionLog,
        team: &Team,
        member: &TeamMember,
        fresh_start: Option<FreshStart>,
    ) -> Self {
        let Some(settings) = settings(team, member) else { return Self::default() };
        let record = TurnMemory {
            session: Some(log.session.as_str().into()),
            settings: settings.to_json(),
            fresh_start,
            ..TurnMemory::new(MemoryMode::Native)
        };
        Self { step: MemoryStep::Begin, record: Some(record), has: None }
    }

    /// Plans a turn that begins no session, because the agent could not keep one.
    pub(super) fn without_memory(reason: FreshStart) -> Self {
        let fresh_start = Some(reason);
        let record = TurnMemory { fresh_start, ..TurnMemory::new(MemoryMode::Fresh) };
        Self { step: MemoryStep::Fresh, record: Some(record), has: None }
    }

    /// Plans a turn that leaves the session of the agent as it is.
    fn apart() -> Self {
        let record = Some(TurnMemory::new(MemoryMode::Apart));
        Self { step: MemoryStep::Fresh, record, has: None }
    }

    /// Returns the same plan for a turn of an ask. Only an answer uses the session of the agent, and only if nothing in it
    /// was said after the question.
    fn for_ask(self, consult: &Consult, log: &SessionLog) -> Self {
        let end = consult.end(log.branch());
        let is_before = self.has.as_ref().is_none_or(|has| has.delivered < end);
        match consult.round {
            _ if self.record.is_none() => self,
            AskRound::Answer if is_before => self,
            _ => Self::apart(),
        }
    }

    pub(super) fn continues(&self) -> bool {
        matches!(self.step, MemoryStep::Continue(_))
    }

    /// Returns the same plan for a turn that runs.
    pub(super) fn for_agent<'a>(&'a self, kept: &'a KeptAgents, member: &'a str) -> Memory<'a> {
        match &self.step {
            MemoryStep::Fresh => Memory::Fresh,
            MemoryStep::Begin => Memory::Begin { kept, member },
            MemoryStep::Continue(head) => Memory::Continue { kept, member, head },
        }
    }
}

impl Driver {
    /// Plans what the next turn of a member does with the session of its agent.
    pub(super) fn plan_memory(
        &mut self,
        name: &str,
        consult: Option<&Consult>,
    ) -> Result<MemoryPlan, DriveError> {
        let Some(member) = self.team.member(name) else { return Ok(MemoryPlan::default()) };
        let mut plan = self.checked_plan(member);
        // Events of the turns of this session may be unread: they tell how a turn ended, and that another one began it.
        if plan.has.as_ref().is_some_and(|has| has.begun_at < self.log.first_read) {
            self.log.read_all()?;
            plan = self.checked_plan(member);
        }
        let continues = plan.continues();
        if let Some(consult) = consult {
            plan = plan.for_ask(consult, &self.log);
        }
        // A turn apart leaves the process of the session as it is.
        if !continues {
            self.kept.end(name);
        }
        Ok(plan)
    }

    fn checked_plan(&self, member: &TeamMember) -> MemoryPlan {
        let check = |head: &NativeHead| match &member.responder {
            Responder::Agent(spec) => {
                let system = member.separate_system(&self.team);
                let spec = self.placed(member, spec);
                self.kept.check(&member.member.name, &spec, system.as_deref(), head)
            }
            _ => Ok(()),
        };
        MemoryPlan::next(&self.log, &self.team, member, check)
    }

    /// Plans another attempt, after the session of the agent could not be used for this reason.
    pub(super) fn restarted(
        &mut self,
        name: &str,
        before: &MemoryPlan,
        reason: FreshStart,
    ) -> MemoryPlan {
        self.kept.end(name);
        match (&before.step, self.team.member(name)) {
            (MemoryStep::Continue(_), Some(member)) => {
                MemoryPlan::begin(&self.log, &self.team, member, Some(reason))
            }
            _ => MemoryPlan::without_memory(reason),
        }
    }

    /// Adds to a usage why the provider's cache did not contain the earlier part of the conversation. The first answer of
    /// a member has no earlier part.
    pub(super) fn with_cache_miss(&self, usage: Usage, memory: &MemoryPlan) -> Usage {
        let before = self.log.entries().iter().rev().find_map(|entry| match &entry.kind {
            EntryKind::Usage(before) if before.member == usage.member => Some((entry, before)),
            _ => None,
        });
        let Some((entry, before)) = before else { return usage };
        let since = entry.timestamp.as_ref().map(|time| now().millis() - time.millis());
        let pause = since.and_then(|millis| u64::try_from(millis).ok()).map(Duration::from_millis);
        let cause = cache_miss(&Answered {
            input_tokens: usage.input_tokens,
            cached_tokens: usage.cached_tokens,
            models: [usage.model.as_deref(), before.model.as_deref()],
            pause,
            continues: memory.continues(),
            fresh_start: memory.record.as_ref().and_then(|record| record.fresh_start.as_ref()),
        });
        Usage { cache_miss: cause, ..usage }
    }

    /// Adds the state of the agent's own session to the entry with which its turn ends.
    pub(super) fn note_native(&self, turn: &mut Turn) {
        if let (Some((ended, head)), Some(id)) = (&self.ended_native, &turn.turn_id)
            && ended == id
            && matches!(turn.state, TurnState::Done | TurnState::Failed | TurnState::Interrupted)
        {
            turn.native_session_id = Some(head.session.clone());
            turn.native_head = Some(head.to_json());
        }
    }
}

/// Returns the settings of a member whose agent keeps its session.
fn settings(team: &Team, member: &TeamMember) -> Option<Settings> {
    let Responder::Agent(spec) = &member.responder else { return None };
    let keeps = member.memory == MemoryMode::Native;
    keeps.then(|| Settings::new(spec, team.system_text(member).as_deref()))
}

#[cfg(test)]
mod tests;
