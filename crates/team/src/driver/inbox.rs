//! Where people and agents come in. Agents wait in a short line, so that one that floods has to wait; people
//! go past it, for whoever wants to stop an agent must not stand behind all that it says.

use std::collections::VecDeque;
use std::sync::mpsc::{self, Receiver, SyncSender, TrySendError};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use tertulia_agent::PermissionAnswer;
use tertulia_session::EntryId;

use super::event::{Command, PermissionNumber};
use super::turn::FromAgent;

/// How much may wait in the inbox before agents have to wait.
const LENGTH: usize = 256;

type Commands = Arc<Mutex<VecDeque<Command>>>;

/// What the driver waits for.
pub(super) enum Input {
    /// People.
    Command(Command),
    /// The agent of this turn.
    Agent(EntryId, FromAgent),
}

/// What comes through the line.
pub(super) enum Mail {
    /// Somebody stands at the door.
    Knock,
    /// The agent of this turn says something.
    Agent(EntryId, FromAgent),
}

/// All that waits for the driver.
pub(super) struct Inbox {
    /// What happens before anything else: answers of the house.
    due: VecDeque<(EntryId, FromAgent)>,
    people: Commands,
    /// What an agent said next, once somebody has looked.
    ahead: Option<(EntryId, FromAgent)>,
    mail: Receiver<Mail>,
    sender: SyncSender<Mail>,
}

/// Where people come in, from any thread.
#[derive(Clone)]
pub struct Door {
    people: Commands,
    bell: SyncSender<Mail>,
}

impl Door {
    /// Hands a command in; `false` if the table is gone.
    pub fn send(&self, command: Command) -> bool {
        self.people.lock().unwrap_or_else(PoisonError::into_inner).push_back(command);
        // Where the line is full the driver is awake, and looks at the door before it takes the next.
        !matches!(self.bell.try_send(Mail::Knock), Err(TrySendError::Disconnected(_)))
    }

    /// Answers what an agent asked.
    pub fn permit(&self, number: PermissionNumber, answer: PermissionAnswer) -> bool {
        self.send(Command::Permit(number, answer))
    }
}

impl Inbox {
    pub(super) fn new() -> Self {
        let (sender, mail) = mpsc::sync_channel(LENGTH);
        let (due, people) = (VecDeque::new(), Commands::default());
        Self { due, people, ahead: None, mail, sender }
    }

    /// Where people come in.
    pub(super) fn door(&self) -> Door {
        Door { people: self.people.clone(), bell: self.sender.clone() }
    }

    /// Where agents come in.
    pub(super) fn sender(&self) -> &SyncSender<Mail> {
        &self.sender
    }

    /// Something that happens before anything else.
    pub(super) fn put_first(&mut self, turn: &EntryId, said: FromAgent) {
        self.due.push_back((turn.clone(), said));
    }

    /// Waits for the next thing. `None` cannot be: the inbox holds a sender itself.
    pub(super) fn next(&mut self) -> Option<Input> {
        loop {
            if let Some((turn, said)) = self.due.pop_front() {
                return Some(Input::Agent(turn, said));
            }
            if let Some(command) = self.at_the_door() {
                return Some(Input::Command(command));
            }
            if let Some((turn, said)) = self.ahead.take() {
                return Some(Input::Agent(turn, said));
            }
            if let Mail::Agent(turn, said) = self.mail.recv().ok()? {
                return Some(Input::Agent(turn, said));
            }
        }
    }

    /// What comes next, if it is here already and an agent says it.
    pub(super) fn peek(&mut self) -> Option<&(EntryId, FromAgent)> {
        if !self.due.is_empty() || !self.people().is_empty() {
            return self.due.front();
        }
        if self.ahead.is_none()
            && let Ok(Mail::Agent(turn, said)) = self.mail.try_recv()
        {
            self.ahead = Some((turn, said));
        }
        self.ahead.as_ref()
    }

    /// Waits for the end of a turn, no longer than this between two things that are said. Whatever else
    /// agents say is not listened to any more.
    pub(super) fn wait_for_end(&mut self, turn: &EntryId, silence: Duration) {
        let due = self.due.drain(..).chain(self.ahead.take());
        let mut waiting: VecDeque<_> = due.map(|(turn, said)| Mail::Agent(turn, said)).collect();
        loop {
            let next = waiting.pop_front().map_or_else(|| self.mail.recv_timeout(silence), Ok);
            match next {
                Ok(Mail::Agent(of, FromAgent::Ended(_))) if of == *turn => return,
                Ok(Mail::Agent(_, said)) => said.decline(),
                Ok(Mail::Knock) => {}
                Err(_) => return,
            }
        }
    }

    fn people(&self) -> MutexGuard<'_, VecDeque<Command>> {
        self.people.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn at_the_door(&self) -> Option<Command> {
        self.people().pop_front()
    }
}

impl Drop for Inbox {
    /// What nobody will do any more is let go at once, with whatever it holds.
    fn drop(&mut self) {
        self.people().clear();
    }
}
