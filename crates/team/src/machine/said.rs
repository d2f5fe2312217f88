//! A message arrives: whose it is, what it asks for, who is queued for it and who is not.

use tertulia_session::{Cause, EntryId, RouteSource, TurnState};

use super::Step;
use crate::effect::{Effect, Why};
use crate::message::{self, Directives, Reply, Sender, Stranger, Wish, excerpt};
use crate::note::Note;
use crate::queue::{Admission, Item};
use crate::state::{Hold, Slot};
use crate::table::{Resolved, Seat, speaker};

enum YesOrNo {
    Continue,
    /// Whether the turn that was interrupted shall be repeated; nothing else waits.
    Repeat(EntryId),
}

#[derive(Clone, Copy)]
struct Said<'a> {
    entry: &'a EntryId,
    by: Option<Seat>,
}

impl Step<'_> {
    pub(super) fn person_said(
        &mut self,
        entry: &EntryId,
        member: Option<&str>,
        wishes: &Directives,
    ) {
        let awaited = self.state.awaited().cloned();
        let named = member.or(wishes.from.as_deref());
        let by = match speaker(self.table, awaited.as_ref().map(|item| item.seat), named) {
            Ok(by) => by,
            Err(error) => return self.ask(None, Why::WhoSpeaks { entry: entry.clone(), error }),
        };
        let said = Said { entry, by };
        let asked = self.yes_or_no();
        self.state.person_said(self.table, entry);
        if let Some((asked, reply)) = asked.zip(wishes.reply) {
            return self.reply(said, &asked, reply);
        }
        // A command is no answer: whoever asked still waits for one.
        let answered = awaited.filter(|item| Some(item.seat) == by && !wishes.is_command());
        if let Some(turn) = &answered {
            let cause = Cause::Answered { entry: entry.clone() };
            self.record(&turn.turn, turn.seat, TurnState::Done, cause);
        }
        if let Some(task) = &wishes.team_task {
            let task = Some(task.clone()).filter(|task| !task.is_empty());
            self.effects.push(Effect::SetTeamTask { task });
        }
        self.route(said, wishes);
        if !wishes.next.is_empty() || wishes.is_command() {
            return;
        }
        match wishes.strangers.first().filter(|stranger| stranger.is_first) {
            // Better asked than answered by somebody who was not meant.
            Some(Stranger { name, nearest, .. }) => {
                let names = vec![(excerpt(name), Some(nearest.clone()))];
                self.ask(by, Why::Unresolved { entry: entry.clone(), names });
            }
            None => self.queue_unaddressed(said, answered.and_then(|turn| turn.by)),
        }
    }

    fn yes_or_no(&self) -> Option<YesOrNo> {
        if self.state.is_paused(self.table) {
            return Some(YesOrNo::Continue);
        }
        match (&self.state.slot, &self.state.hold) {
            (Slot::Free, Some(Hold::Resumed(Some(turn)))) => Some(YesOrNo::Repeat(turn.clone())),
            _ => None,
        }
    }

    fn reply(&mut self, said: Said<'_>, asked: &YesOrNo, reply: Reply) {
        match (reply, asked) {
            (Reply::Yes, YesOrNo::Continue) => self.go_on(),
            (Reply::Yes, YesOrNo::Repeat(turn)) => self.repeat(turn),
            (Reply::No, _) => {
                let by: Option<Box<str>> = said.by.map(|by| self.table.name(by).into());
                let turns: Vec<Item> = self.state.queue.items.to_vec();
                self.note(Note::Declined { entry: said.entry.clone(), turns: turns.len() });
                for Item { turn, seat, .. } in turns {
                    let cause = Cause::Declined { entry: said.entry.clone(), by: by.clone() };
                    self.record(&turn, seat, TurnState::Cancelled, cause);
                }
            }
        }
    }

    /// Somebody spoke while another person is to answer: whatever was said waits for that, which is told.
    pub(super) fn ask_again(&mut self) {
        let Some(item) = self.state.awaited().cloned() else { return };
        if !self.effects.iter().any(|effect| matches!(effect, Effect::AskPerson(_))) {
            self.ask_for_answer(item);
        }
    }

    /// `text` is `None` for an answer that was cut off: what is left of it routes nothing.
    pub(super) fn agent_said(&mut self, turn: &EntryId, entry: &EntryId, text: Option<&String>) {
        let Some(seat) = self.state.running(turn) else { return self.late(turn, Some(entry)) };
        let (turn, entry) = (turn.clone(), entry.clone());
        let Some(text) = text else {
            let cause = Cause::CutOff { entry: entry.clone() };
            self.record(&turn, seat, TurnState::Interrupted, cause);
            return self.note(Note::Partial { turn, entry });
        };
        let cause = Cause::Answered { entry: entry.clone() };
        self.record(&turn, seat, TurnState::Done, cause);
        let wishes = message::read(text, self.table, Sender::Agent);
        if let Some(name) = &wishes.from {
            self.note(Note::FromIgnored { entry: entry.clone(), name: excerpt(name) });
        }
        if wishes.team_task.is_some() {
            self.note(Note::TeamTaskIgnored { entry: entry.clone() });
        }
        self.route(Said { entry: &entry, by: Some(seat) }, &wishes);
    }

    fn route(&mut self, said: Said<'_>, wishes: &Directives) {
        for look_alike in &wishes.look_alikes {
            let (marker, name) = (look_alike.marker, look_alike.name.clone());
            self.note(Note::LookAlike { entry: said.entry.clone(), marker, name });
        }
        for marker in &wishes.unheard {
            self.note(Note::Unheard { entry: said.entry.clone(), marker: marker.clone() });
        }
        for Stranger { name, nearest, .. } in &wishes.strangers {
            let (name, nearest) = (excerpt(name), Some(nearest.clone()));
            self.note(Note::UnknownName { entry: said.entry.clone(), name, nearest });
        }
        let names_max = self.table.limits().names;
        let ignored = wishes.next.len().saturating_sub(names_max)
            + wishes.drop.len().saturating_sub(names_max);
        self.drop_turns(said, wishes.drop.get(..names_max).unwrap_or(&wishes.drop));
        self.queue_named(said, wishes.next.get(..names_max).unwrap_or(&wishes.next));
        if ignored > 0 {
            self.note(Note::TooManyNames { entry: said.entry.clone(), ignored });
        }
    }

    fn drop_turns(&mut self, said: Said<'_>, names: &[String]) {
        for name in names {
            let everybody = name == "ALL";
            let seat = if everybody { None } else { self.resolve(said, name).ok() };
            let meant = self.state.queue.items.iter().filter(|i| everybody || Some(i.seat) == seat);
            let turns: Vec<(EntryId, Seat)> = meant.map(|i| (i.turn.clone(), i.seat)).collect();
            for (turn, seat) in turns {
                let by = said.by.map(|by| self.table.name(by).into());
                let cause = Cause::Dropped { entry: said.entry.clone(), by };
                self.record(&turn, seat, TurnState::Cancelled, cause);
            }
        }
    }

    fn queue_named(&mut self, said: Said<'_>, wishes: &[Wish]) {
        let mut strangers = Vec::new();
        for wish in wishes {
            match self.resolve(said, &wish.name) {
                Ok(seat) => self.queue(said, seat, wish),
                Err(nearest) => strangers.push((excerpt(&wish.name), nearest)),
            }
        }
        if !wishes.is_empty() && strangers.len() == wishes.len() {
            let why = Why::Unresolved { entry: said.entry.clone(), names: strangers };
            self.ask(said.by, why);
        }
    }

    /// A message that addresses nobody goes to the agent whose question it answers, else to the default.
    fn queue_unaddressed(&mut self, said: Said<'_>, asker: Option<Seat>) {
        let asker =
            asker.filter(|seat| !self.table.is_human(*seat)).map(|seat| (seat, RouteSource::Reply));
        let default = || {
            let (seat, named) = self.table.default_seat()?;
            Some((seat, if named { RouteSource::Default } else { RouteSource::FirstAgent }))
        };
        let Some((seat, route)) = asker.or_else(default) else {
            let why = Why::NobodyToAnswer { entry: said.entry.clone() };
            return self.ask(said.by, why);
        };
        let name = self.table.name(seat).to_owned();
        self.queue(said, seat, &Wish { name, intent: Default::default(), route });
    }

    /// The member of this name, or the nearest name; a note tells what is wrong with it.
    fn resolve(&mut self, said: Said<'_>, name: &str) -> Result<Seat, Option<Box<str>>> {
        let entry = said.entry.clone();
        match self.table.resolve(name) {
            Resolved::Member(seat) => Ok(seat),
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

    fn queue(&mut self, said: Said<'_>, seat: Seat, wish: &Wish) {
        let entry = said.entry.clone();
        let member = Box::from(self.table.name(seat));
        let limits = self.table.limits();
        let intent = match self.state.queue.admit(limits, &entry, seat, wish.intent) {
            Admission::As(intent) => intent,
            Admission::Overflow => {
                return self.note(Note::Overflow { entry, member, limit: limits.queue });
            }
            Admission::Duplicate(turn) => {
                return self.note(Note::Duplicate { entry, member, turn });
            }
            Admission::Adjacent(turn) => return self.note(Note::Adjacent { entry, member, turn }),
        };
        let by = said.by.map(|by| self.table.name(by).into());
        let cause = Cause::Asked { entry: entry.clone(), by, route: wish.route, intent };
        let turn = self.turn_id(&member, &cause, &entry);
        if self.state.turns.contains_key(&turn) {
            // The same message came twice, and the turn may have ended already.
            return self.note(Note::Duplicate { entry, member, turn });
        }
        self.record(&turn, seat, TurnState::Queued, cause);
        if intent != wish.intent {
            self.note(Note::Demoted { entry, turn, member, asked: wish.intent });
        }
    }
}
