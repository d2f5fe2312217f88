//! Reads the turns of a member from the newest one back.

use tertulia_session::json::{Json, Kind};
use tertulia_session::{
    Entry, EntryId, EntryKind, MemoryMode, TurnActivity, TurnMemory, TurnState,
};

use super::Prompted;

type Head<'l> = (&'l Json, Option<&'l str>);

pub(super) struct Scan<'l> {
    entries: &'l [Entry],
    member: Box<str>,
    /// The entries before this index are not read yet.
    next: usize,
    /// The index and the last record of a turn whose start is not read yet.
    reset: Option<(&'l EntryId, &'l TurnMemory)>,
    prompted: Option<(&'l EntryId, usize)>,
    ends: Vec<(&'l EntryId, usize, TurnState, Option<Head<'l>>)>,
    /// The sessions of the agents of other members.
    others: Vec<(&'l str, &'l str)>,
}

impl<'l> Scan<'l> {
    pub(super) fn new(entries: &'l [Entry], member: &str) -> Self {
        let (member, next) = (member.into(), entries.len());
        let (ends, others) = (Vec::new(), Vec::new());
        Self { entries, member, next, reset: None, prompted: None, ends, others }
    }

    /// Returns the newest turn of the member that is not read yet; `None` if there is none, or if its entry does not
    /// say what its agent remembered.
    pub(super) fn previous_turn(&mut self) -> Option<Prompted<'l>> {
        while let Some(index) = self.next.checked_sub(1) {
            self.next = index;
            let entry = self.entries.get(index)?;
            self.event(index, entry);
            let (Some(turn), Some(id)) = (entry.turn(), entry.turn_id()) else { continue };
            match turn.state {
                TurnState::Queued => {}
                TurnState::Started if *turn.member == *self.member => {
                    let delivered = self.prompted.take_if(|(of, _)| *of == id);
                    let reset = self.reset.take_if(|(of, _)| *of == id);
                    let memory = reset.map(|(_, memory)| memory).or(turn.memory.as_deref())?;
                    if memory.mode == MemoryMode::Apart {
                        continue;
                    }
                    // The prompt may end before the entry that starts the turn.
                    let until =
                        memory.until.as_ref().and_then(|until| self.index_before(index, until));
                    let delivered = until.or(delivered.map(|(_, index)| index)).unwrap_or(index);
                    return Some(Prompted { started: index, delivered, memory, turn: id });
                }
                TurnState::Started => {}
                state => {
                    let head = turn.native_head.as_ref();
                    let head = head.filter(|head| head.kind() == Kind::Object);
                    let native_id = turn.native_session_id.as_deref();
                    if *turn.member == *self.member {
                        self.ends.push((id, index, state, head.map(|head| (head, native_id))));
                    } else if let Some(native_id) = native_id.filter(|_| head.is_some()) {
                        self.others.push((&turn.member, native_id));
                    }
                }
            }
        }
        None
    }

    fn index_before(&self, index: usize, id: &EntryId) -> Option<usize> {
        self.entries.get(..index)?.iter().rposition(|entry| entry.id == *id)
    }

    /// Notes a second prompt of a turn of the member.
    fn event(&mut self, index: usize, entry: &'l Entry) {
        let EntryKind::TurnEvent(event) = &entry.kind else { return };
        let turn = &event.turn_id;
        if *event.member != *self.member {
            return;
        }
        if let TurnActivity::MemoryReset { memory } = &event.activity
            && self.reset.is_none_or(|(of, _)| of != turn)
        {
            self.reset = Some((turn, memory));
        }
        let is_prompt = matches!(
            event.activity,
            TurnActivity::MemoryReset { .. } | TurnActivity::Resent { .. }
        );
        if is_prompt && self.prompted.is_none_or(|(of, _)| of != turn) {
            self.prompted = Some((turn, index));
        }
    }

    /// Returns the end of a turn: its index, the state, and the session that its agent left.
    pub(super) fn end_of(
        &self,
        turn: &Prompted<'l>,
    ) -> Option<(usize, TurnState, Option<Head<'l>>)> {
        let end = self.ends.iter().rev().find(|(of, ..)| *of == turn.turn);
        end.map(|(_, index, state, head)| (*index, *state, *head))
    }

    /// Reads back to the turn that began the session.
    pub(super) fn begin(&mut self) -> Option<Prompted<'l>> {
        loop {
            let turn = self.previous_turn()?;
            if !turn.memory.continues() {
                return Some(turn);
            }
        }
    }

    /// Returns the other member that used this session of the agent since it began.
    pub(super) fn other_user(&self, native_id: &str) -> Option<&'l str> {
        let other = self.others.iter().find(|(_, used)| *used == native_id);
        other.map(|(member, _)| *member)
    }
}
