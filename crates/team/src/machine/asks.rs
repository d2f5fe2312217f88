//! Handles asks: queues the turns of each round, and ends the first round when its grace time is over. The state of an
//! ask is in [`AskState`](crate::ask::AskState).

use tertulia_session::{Ask, AskRound, Cause, EntryId, TurnState};

use super::said::Said;
use super::{Machine, Step};
use crate::active::TurnPhase;
use crate::effect::{Effect, PauseReason};
use crate::message::{Directives, excerpt};
use crate::note::Note;
use crate::queue::Item;
use crate::roster::MemberIndex;

impl Machine {
    /// Returns the questions of asks of which enough members have answered, with the grace time of the others in seconds.
    pub fn graces(&self) -> impl Iterator<Item = (EntryId, u32)> {
        let asks = self.state.asks.iter();
        asks.filter_map(|(question, ask)| Some((question.clone(), ask.grace()?)))
    }
}

impl Step<'_> {
    /// Queues the first round of an ask: one turn of every member that is asked.
    pub(super) fn consult(&mut self, said: Said<'_>, ask: &Ask, directives: &Directives) {
        self.note_oddities(said, directives);
        self.ignore_in_ask(said.entry, directives, &ask.members);
        let names_max = self.roster.limits().names;
        self.drop_turns(said, directives.drop.get(..names_max).unwrap_or(&directives.drop));
        let asked = ask.members.get(..names_max).unwrap_or(&ask.members);
        let ignored = ask.members.len() - asked.len();
        if ignored > 0 {
            self.note(Note::TooManyNames { entry: said.entry.clone(), ignored });
        }
        let mut unknown = Vec::new();
        for name in asked {
            match self.agent_of(name) {
                Some(index) => self.queue_first(said, index),
                None => {
                    let (entry, name) = (said.entry.clone(), excerpt(name));
                    unknown.push((name.clone(), None));
                    self.note(Note::UnknownName { entry, name, nearest: None });
                }
            }
        }
        if unknown.len() == asked.len() {
            let entry = said.entry.clone();
            self.ask(
                said.by,
                match unknown.is_empty() {
                    true => PauseReason::NobodyToAnswer { entry },
                    false => PauseReason::Unresolved { entry, names: unknown },
                },
            );
        }
    }

    fn agent_of(&self, name: &str) -> Option<MemberIndex> {
        self.roster.index_of(name).filter(|index| !self.roster.is_human(*index))
    }

    fn queue_first(&mut self, said: Said<'_>, index: MemberIndex) {
        let (entry, limit) = (said.entry.clone(), self.roster.limits().queue);
        let member = Box::from(self.roster.name(index));
        if self.state.queue.items.len() >= limit {
            return self.note(Note::Overflow { entry, member, limit });
        }
        let by = said.by.map(|by| self.roster.name(by).into());
        let cause = consulted(&entry, by, AskRound::Answer, None);
        let turn = self.turn_id(&member, &cause, &entry);
        match self.state.turns.contains_key(&turn) {
            true => self.note(Note::Duplicate { entry, member, turn }),
            false => self.record(&turn, index, TurnState::Queued, cause),
        }
    }

    /// Notes the directives of a message that belongs to an ask. They have no effect, except for the names of members
    /// that are asked anyway.
    pub(super) fn ignore_in_ask(
        &mut self,
        entry: &EntryId,
        directives: &Directives,
        asked: &[Box<str>],
    ) {
        let is_asked = |name: &str| asked.iter().any(|one| **one == *name);
        let next = directives.next.iter().filter(|next| !is_asked(&next.name));
        let mut ignored: Vec<Box<str>> =
            next.map(|next| format!("@{}", excerpt(&next.name)).into()).collect();
        // A question may drop turns; an answer may not.
        if asked.is_empty() {
            let drop = directives.drop.iter();
            ignored.extend(drop.map(|name| format!("[DROP: {}]", excerpt(name)).into()));
        }
        ignored.dedup();
        ignored.truncate(self.roster.limits().names);
        if !ignored.is_empty() {
            self.note(Note::AskIgnores { entry: entry.clone(), ignored });
        }
    }

    /// Queues the second rounds of asks whose first round has ended.
    pub(super) fn queue_rounds(&mut self) {
        let due = |(question, ask): (&EntryId, &crate::ask::AskState)| {
            let due = ask.due();
            (!due.is_empty()).then(|| (question.clone(), due))
        };
        let due: Vec<_> = self.state.asks.iter().filter_map(due).collect();
        for (question, turns) in due {
            let by = self.asker_of(&question);
            for (name, round) in turns {
                let Some(index) = self.agent_of(&name) else { continue };
                let cause = consulted(&question, by.clone(), round, None);
                let turn = self.turn_id(&name, &cause, &question);
                self.record(&turn, index, TurnState::Queued, cause);
            }
        }
    }

    fn asker_of(&self, question: &EntryId) -> Option<Box<str>> {
        let first = self.state.asks.get(question)?.turns.first()?;
        let by = self.state.turns.get(&first.turn)?.item.by?;
        Some(self.roster.name(by).into())
    }

    /// Queues turns of asks again that were interrupted when the program ended. They wait until a person continues.
    pub(super) fn requeue_asked(&mut self, ran: &[Item]) {
        for item in ran {
            let ask = self.state.asks.get(&item.parent).filter(|_| item.round.is_some());
            let is_resumable = ask.is_some_and(|ask| {
                ask.current().any(|one| one.turn == item.turn && ask.is_resumable(one))
            });
            let Some(round) = item.round.filter(|_| is_resumable) else { continue };
            let by = item.by.map(|by| self.roster.name(by).into());
            let cause = consulted(&item.parent, by, round, Some(item.turn.clone()));
            let again = self.turn_id(self.roster.name(item.index), &cause, &item.turn);
            self.record(&again, item.index, TurnState::Queued, cause);
        }
    }

    /// Cancels the turns of the first round that have not ended, if enough members have answered.
    pub(super) fn grace_ended(&mut self, question: &EntryId) {
        let Some(ask) = self.state.asks.get(question).filter(|ask| ask.grace().is_some()) else {
            return;
        };
        let late: Vec<(EntryId, Box<str>)> =
            ask.late().map(|one| (one.turn.clone(), one.member.clone())).collect();
        for (turn, member) in late {
            let Some(index) = self.roster.index_of(&member) else { continue };
            let runs = self.state.active.iter();
            let runs = runs.filter(|one| one.phase == TurnPhase::Running);
            let is_running = runs.into_iter().any(|one| one.item.turn == turn);
            let cause = Cause::GraceEnded { entry: question.clone() };
            self.record(&turn, index, TurnState::Cancelled, cause);
            if is_running {
                self.effects.push(Effect::CancelTurn { turn, member });
            }
        }
    }
}

fn consulted(
    entry: &EntryId,
    by: Option<Box<str>>,
    round: AskRound,
    turn: Option<EntryId>,
) -> Cause {
    Cause::Consulted { entry: entry.clone(), by, round, turn }
}
