//! Handles a message: finds its sender and its directives, and queues the members that it addresses.

use tertulia_session::{Cause, EntryId, RouteSource, TurnState};

use super::Step;
use crate::effect::{Effect, PauseReason};
use crate::message::{
    self, Directives, PersonMessage, Reply, Sender, TurnRequest, UnknownMention, excerpt,
};
use crate::note::Note;
use crate::queue::{Admission, Item};
use crate::roster::{MemberIndex, Resolved, speaker};
use crate::state::Hold;

enum YesOrNo {
    Continue,
    /// Asks whether to retry the interrupted turns; no other turn waits.
    Repeat(Vec<EntryId>),
}

#[derive(Clone, Copy)]
pub(super) struct Said<'a> {
    pub(super) entry: &'a EntryId,
    pub(super) by: Option<MemberIndex>,
}

impl Step<'_> {
    pub(super) fn person_said(
        &mut self,
        entry: &EntryId,
        member: Option<&str>,
        message: &PersonMessage,
    ) {
        let PersonMessage { directives, ask, .. } = message;
        let awaited = self.state.awaited().cloned();
        let named = member.or(directives.from.as_deref());
        let by = match speaker(self.roster, awaited.as_ref().map(|item| item.index), named) {
            Ok(by) => by,
            Err(error) => {
                return self.ask(None, PauseReason::WhoSpeaks { entry: entry.clone(), error });
            }
        };
        let said = Said { entry, by };
        let asked = self.yes_or_no();
        self.state.person_said(self.roster, entry, ask.as_ref());
        let reply = directives.reply.filter(|_| ask.is_none());
        if let Some((asked, reply)) = asked.zip(reply) {
            return self.reply(said, &asked, reply);
        }
        // A command is not an answer, so the member that asked still waits for one.
        let answered = awaited.filter(|item| Some(item.index) == by && !directives.is_command());
        if let Some(turn) = &answered {
            let cause = Cause::Answered { entry: entry.clone() };
            self.record(&turn.turn, turn.index, TurnState::Done, cause);
        }
        if let Some(task) = &directives.team_task {
            let task = Some(task.clone()).filter(|task| !task.is_empty());
            self.effects.push(Effect::SetTeamTask { task });
        }
        if let Some(ask) = ask {
            return self.consult(said, ask, directives);
        }
        self.route(said, directives);
        if !directives.next.is_empty() || directives.is_command() {
            return;
        }
        match directives.unknown_mentions.first().filter(|unknown_mention| unknown_mention.is_first)
        {
            // Ask the person, because the default member was probably not meant.
            Some(UnknownMention { name, nearest, .. }) => {
                let names = vec![(excerpt(name), Some(nearest.clone()))];
                self.ask(by, PauseReason::Unresolved { entry: entry.clone(), names });
            }
            None => self.queue_unaddressed(said, answered.and_then(|turn| turn.by)),
        }
    }

    fn yes_or_no(&self) -> Option<YesOrNo> {
        if self.state.awaited().is_some() {
            // The message answers the question of a member.
            return None;
        }
        if self.state.is_paused(self.roster) {
            return Some(YesOrNo::Continue);
        }
        match &self.state.hold {
            Some(Hold::Overspent(..)) if self.state.active.is_empty() => Some(YesOrNo::Continue),
            Some(Hold::Resumed(turns)) if self.state.active.is_empty() && !turns.is_empty() => {
                Some(YesOrNo::Repeat(turns.clone()))
            }
            _ => None,
        }
    }

    fn reply(&mut self, said: Said<'_>, asked: &YesOrNo, reply: Reply) {
        match (reply, asked) {
            (Reply::Yes, YesOrNo::Continue) => self.continue_turns(),
            (Reply::Yes, YesOrNo::Repeat(turns)) => turns.iter().for_each(|turn| self.repeat(turn)),
            (Reply::No, _) => {
                let by: Option<Box<str>> = said.by.map(|by| self.roster.name(by).into());
                let turns: Vec<Item> = self.state.queue.items.to_vec();
                self.note(Note::Declined { entry: said.entry.clone(), turns: turns.len() });
                for Item { turn, index, .. } in turns {
                    let cause = Cause::Declined { entry: said.entry.clone(), by: by.clone() };
                    self.record(&turn, index, TurnState::Cancelled, cause);
                }
            }
        }
    }

    /// Repeats the question if somebody spoke while the answer of another person is awaited. The turns of the message
    /// wait for that answer.
    pub(super) fn ask_again(&mut self) {
        let Some(item) = self.state.awaited().cloned() else { return };
        if !self.effects.iter().any(|effect| matches!(effect, Effect::AskPerson(_))) {
            self.ask_for_answer(item);
        }
    }

    /// `text` is `None` for an answer that was cut off, which routes nothing.
    pub(super) fn agent_said(&mut self, turn: &EntryId, entry: &EntryId, text: Option<&String>) {
        let Some(index) = self.state.running(turn) else { return self.late(turn, Some(entry)) };
        let (turn, entry) = (turn.clone(), entry.clone());
        let Some(text) = text else {
            let cause = Cause::CutOff { entry: entry.clone() };
            self.record(&turn, index, TurnState::Interrupted, cause);
            return self.note(Note::Partial { turn, entry });
        };
        let cause = Cause::Answered { entry: entry.clone() };
        self.record(&turn, index, TurnState::Done, cause);
        let directives = message::read(text, self.roster, Sender::Agent);
        if let Some(name) = &directives.from {
            self.note(Note::FromIgnored { entry: entry.clone(), name: excerpt(name) });
        }
        if directives.team_task.is_some() {
            self.note(Note::TeamTaskIgnored { entry: entry.clone() });
        }
        match self.state.round_of(&turn) {
            Some(_) => self.ignore_in_ask(&entry, &directives, &[]),
            None => self.route(Said { entry: &entry, by: Some(index) }, &directives),
        }
    }

    fn route(&mut self, said: Said<'_>, directives: &Directives) {
        self.note_oddities(said, directives);
        let names_max = self.roster.limits().names;
        let ignored = directives.next.len().saturating_sub(names_max)
            + directives.drop.len().saturating_sub(names_max);
        self.drop_turns(said, directives.drop.get(..names_max).unwrap_or(&directives.drop));
        self.queue_named(said, directives.next.get(..names_max).unwrap_or(&directives.next));
        if ignored > 0 {
            self.note(Note::TooManyNames { entry: said.entry.clone(), ignored });
        }
    }

    /// Notes what looks like a directive and has no effect.
    pub(super) fn note_oddities(&mut self, said: Said<'_>, directives: &Directives) {
        for look_alike in &directives.look_alikes {
            let (marker, name) = (look_alike.marker, look_alike.name.clone());
            self.note(Note::LookAlike { entry: said.entry.clone(), marker: marker.into(), name });
        }
        for marker in &directives.ignored_markers {
            self.note(Note::MarkerIgnored { entry: said.entry.clone(), marker: marker.clone() });
        }
        for UnknownMention { name, nearest, .. } in &directives.unknown_mentions {
            let (name, nearest) = (excerpt(name), Some(nearest.clone()));
            self.note(Note::UnknownName { entry: said.entry.clone(), name, nearest });
        }
    }

    pub(super) fn drop_turns(&mut self, said: Said<'_>, names: &[String]) {
        for name in names {
            let everybody = name == "ALL";
            let index = if everybody { None } else { self.resolve(said, name).ok() };
            let meant =
                self.state.queue.items.iter().filter(|i| everybody || Some(i.index) == index);
            let turns: Vec<(EntryId, MemberIndex)> =
                meant.map(|i| (i.turn.clone(), i.index)).collect();
            for (turn, index) in turns {
                let by = said.by.map(|by| self.roster.name(by).into());
                let cause = Cause::Dropped { entry: said.entry.clone(), by };
                self.record(&turn, index, TurnState::Cancelled, cause);
            }
        }
    }

    fn queue_named(&mut self, said: Said<'_>, directives: &[TurnRequest]) {
        let mut unknown_mentions = Vec::new();
        for request in directives {
            match self.resolve(said, &request.name) {
                Ok(index) => self.queue(said, index, request),
                Err(nearest) => unknown_mentions.push((excerpt(&request.name), nearest)),
            }
        }
        if !directives.is_empty() && unknown_mentions.len() == directives.len() {
            let why =
                PauseReason::Unresolved { entry: said.entry.clone(), names: unknown_mentions };
            self.ask(said.by, why);
        }
    }

    /// Queues the answer to a message without names. If a person answers the question of an agent, queues that agent,
    /// and otherwise the default member.
    fn queue_unaddressed(&mut self, said: Said<'_>, asker: Option<MemberIndex>) {
        let asker = asker
            .filter(|index| !self.roster.is_human(*index))
            .map(|index| (index, RouteSource::Reply));
        let default = || {
            let (index, named) = self.roster.default_member()?;
            Some((index, if named { RouteSource::Default } else { RouteSource::FirstAgent }))
        };
        let Some((index, route)) = asker.or_else(default) else {
            let why = PauseReason::NobodyToAnswer { entry: said.entry.clone() };
            return self.ask(said.by, why);
        };
        let name = self.roster.name(index).to_owned();
        self.queue(said, index, &TurnRequest { name, intent: Default::default(), route });
    }

    /// Finds the member of this name. Otherwise adds a note and returns the nearest name.
    fn resolve(&mut self, said: Said<'_>, name: &str) -> Result<MemberIndex, Option<Box<str>>> {
        let entry = said.entry.clone();
        match self.roster.resolve(name) {
            Resolved::Member(index) => Ok(index),
            Resolved::Several(members) => {
                let nearest = members.first().cloned();
                self.note(Note::AmbiguousName { entry, name: excerpt(name), members });
                Err(nearest)
            }
            Resolved::Unknown { nearest } => {
                let name = excerpt(name);
                self.note(Note::UnknownName { entry, name, nearest: nearest.clone() });
                Err(nearest)
            }
        }
    }

    fn queue(&mut self, said: Said<'_>, index: MemberIndex, request: &TurnRequest) {
        let entry = said.entry.clone();
        let member = Box::from(self.roster.name(index));
        let limits = self.roster.limits();
        let intent = match self.state.queue.admit(limits, &entry, index, request.intent) {
            Admission::As(intent) => intent,
            Admission::Overflow => {
                return self.note(Note::Overflow { entry, member, limit: limits.queue });
            }
            Admission::Duplicate(turn) => {
                return self.note(Note::Duplicate { entry, member, turn });
            }
            Admission::Adjacent(turn) => return self.note(Note::Adjacent { entry, member, turn }),
        };
        let by = said.by.map(|by| self.roster.name(by).into());
        let cause = Cause::Asked { entry: entry.clone(), by, route: request.route, intent };
        let turn = self.turn_id(&member, &cause, &entry);
        if self.state.turns.contains_key(&turn) {
            // The same message arrived twice. The turn may have ended already.
            return self.note(Note::Duplicate { entry, member, turn });
        }
        self.record(&turn, index, TurnState::Queued, cause);
        if intent != request.intent {
            self.note(Note::Demoted { entry, turn, member, asked: request.intent });
        }
    }
}
