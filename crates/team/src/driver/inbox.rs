//! The input queue of the driver. Output of agents goes through a bounded channel, so that agents with much output
//! have to wait. Commands of people bypass the channel, so that stopping an agent does not wait for its output.

use std::collections::VecDeque;
use std::sync::mpsc::{self, Receiver, SyncSender};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use tertulia_agent::{PermissionAnswer, PermissionRequest, TurnReport};
use tertulia_dialect::stream::StreamEvent;
use tertulia_session::EntryId;

use super::event::Command;
use crate::Note;

const LENGTH: usize = 256;

/// The commands of people; `None` after the driver was dropped.
type Commands = Arc<Mutex<Option<VecDeque<Command>>>>;

pub(super) enum Input {
    /// Wakes the driver, because a command is in the queue of commands. It never leaves the inbox.
    Wake,
    Command(Command),
    Fed(EntryId),
    /// Something about the worktree of the turn.
    Noted(Note, EntryId),
    Said(EntryId, StreamEvent),
    Asks(EntryId, PermissionRequest, SyncSender<PermissionAnswer>),
    Ended(EntryId, Box<TurnReport>),
}

impl Input {
    pub(super) fn turn(&self) -> Option<&EntryId> {
        match self {
            Self::Fed(turn)
            | Self::Noted(_, turn)
            | Self::Said(turn, _)
            | Self::Asks(turn, ..)
            | Self::Ended(turn, _) => Some(turn),
            Self::Wake | Self::Command(_) => None,
        }
    }

    /// Discards the input; declines it if it is a permission request.
    pub(super) fn decline(self) {
        if let Self::Asks(_, _, answer) = self {
            // An agent that has ended needs no answer.
            let _ = answer.send(PermissionAnswer::EndTurn);
        }
    }
}

pub(super) struct Inbox {
    /// Input that is handled first: answers of built-in members.
    due: VecDeque<Input>,
    people: Commands,
    /// The next input of an agent, if it was peeked.
    ahead: Option<Input>,
    receiver: Receiver<Input>,
    sender: SyncSender<Input>,
}

/// Sends commands to a driver, from any thread.
#[derive(Clone)]
pub struct DriverHandle {
    people: Commands,
    waker: SyncSender<Input>,
}

impl DriverHandle {
    /// Sends a command; returns `false` if the driver was dropped. A command is dropped if it is not executed.
    pub fn send(&self, command: Command) -> bool {
        match &mut *self.people.lock().unwrap_or_else(PoisonError::into_inner) {
            Some(people) => people.push_back(command),
            None => return false,
        }
        // If the channel is full, the driver is awake and checks for commands before it takes the next input.
        let _ = self.waker.try_send(Input::Wake);
        true
    }
}

impl Inbox {
    pub(super) fn new() -> Self {
        let (sender, receiver) = mpsc::sync_channel(LENGTH);
        let (due, people) = (VecDeque::new(), Arc::new(Mutex::new(Some(VecDeque::new()))));
        Self { due, people, ahead: None, receiver, sender }
    }

    pub(super) fn handle(&self) -> DriverHandle {
        DriverHandle { people: self.people.clone(), waker: self.sender.clone() }
    }

    pub(super) fn sender(&self) -> &SyncSender<Input> {
        &self.sender
    }

    pub(super) fn put_first(&mut self, input: Input) {
        self.due.push_back(input);
    }

    /// Waits for the next input, at most for this time. `None` if nothing came.
    pub(super) fn next(&mut self, wait_max: Option<Duration>) -> Option<Input> {
        loop {
            if let Some(input) = self.due.pop_front() {
                return Some(input);
            }
            if let Some(command) = self.people().as_mut().and_then(VecDeque::pop_front) {
                return Some(Input::Command(command));
            }
            let next = match (self.ahead.take(), wait_max) {
                (Some(input), _) => Some(input),
                (None, Some(wait_max)) => self.receiver.recv_timeout(wait_max).ok(),
                // The inbox has a sender itself, so this does not fail.
                (None, None) => self.receiver.recv().ok(),
            };
            match next {
                Some(Input::Wake) => {}
                input => return input,
            }
        }
    }

    /// Returns the next input without waiting, if it is not a command.
    pub(super) fn peek(&mut self) -> Option<&Input> {
        if !self.due.is_empty() || self.people().as_ref().is_some_and(|people| !people.is_empty()) {
            return self.due.front();
        }
        if self.ahead.is_none() {
            self.ahead = self.receiver.try_recv().ok();
        }
        self.ahead.as_ref()
    }

    /// Waits for the end of these turns, at most `silence` between two of their inputs. Discards their input and keeps
    /// that of other turns.
    pub(super) fn wait_for_ends(&mut self, mut turns: Vec<EntryId>, silence: Duration) {
        let mut waiting: VecDeque<Input> = self.due.drain(..).chain(self.ahead.take()).collect();
        let mut patience = Instant::now() + silence;
        while !turns.is_empty() {
            let left = || patience.saturating_duration_since(Instant::now());
            let next = waiting.pop_front().map_or_else(|| self.receiver.recv_timeout(left()), Ok);
            let Ok(input) = next else { break };
            match input.turn() {
                Some(turn) if turns.contains(turn) => {
                    patience = Instant::now() + silence;
                    if let Input::Ended(ended, _) = &input {
                        turns.retain(|turn| turn != ended);
                    }
                    input.decline();
                }
                Some(_) => self.due.push_back(input),
                // Commands are not in the channel.
                None => {}
            }
        }
        self.due.extend(waiting);
    }

    fn people(&self) -> MutexGuard<'_, Option<VecDeque<Command>>> {
        self.people.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Drop for Inbox {
    /// Drops pending commands at once, with everything that they hold. Later ones are not accepted.
    fn drop(&mut self) {
        let pending = self.people().take();
        drop(pending);
    }
}
