//! Many who append, one who writes. Whoever comes first writes for all that have come by then, in one
//! transaction and with one sync; then the next one does. So a lone writer pays for no other thread,
//! and sixteen share their syncs. A thread of its own only fills the search index when it is quiet.

use std::path::Path;
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::thread;
use std::time::{Duration, Instant};

use super::desk::{Desk, Request};
use super::idle::Idle;
use super::signal::Signal;
use crate::model::Appended;
use crate::plan::Batch;
use crate::{Outcome, Problem, Result, SessionId, StoreError};

/// How many appends are stored together, at most.
const GROUP_MAX: usize = 512;
/// How many bytes, about.
const GROUP_BYTES: usize = 8 << 20;
/// How long is waited for those who appended together the last time.
const GATHER: Duration = Duration::from_micros(150);

type Answer = Result<Appended>;

/// The one connection that writes, and those who wait for it.
pub(super) struct Writer {
    queue: Mutex<Queue>,
    desk: Arc<Mutex<Desk>>,
    signal: Arc<Signal>,
    idle: Idle,
}

#[derive(Default)]
struct Queue {
    waiting: Vec<Arc<Ticket>>,
    has_leader: bool,
    /// How many came together the last time.
    group: usize,
}

/// An append that waits.
struct Ticket {
    request: Request,
    turn: Mutex<Turn>,
    changed: Condvar,
}

/// What became of it.
enum Turn {
    Waits,
    /// It is the one to write for all.
    Leads,
    Done(Answer),
}

impl Writer {
    pub(super) fn start(path: &Path, signal: Arc<Signal>) -> Result<Self> {
        let desk = Arc::new(Mutex::new(Desk::open(path)?));
        let idle = Idle::start(Arc::clone(&desk))?;
        Ok(Self { queue: Mutex::default(), desk, signal, idle })
    }

    /// Appends, together with whoever else does.
    pub(super) fn append(&self, session: &SessionId, batch: Batch) -> Answer {
        if let Some(answer) = self.append_alone(session, &batch) {
            return answer;
        }
        let request = Request { session: session.clone(), batch };
        let (turn, changed) = (Mutex::new(Turn::Waits), Condvar::new());
        let ticket = Arc::new(Ticket { request, turn, changed });
        if !self.join(&ticket)
            && let Some(answer) = ticket.wait()
        {
            return answer;
        }
        let group = Group { writer: self, tickets: self.gather() };
        let requests: Vec<&Request> = group.tickets.iter().map(|one| &one.request).collect();
        let answers = lock(&self.desk).append(&requests);
        group.finish(&ticket, answers)
    }

    /// Appends where nobody else does and nobody did the last time. Gives `None` if that cannot be done in the
    /// short way.
    fn append_alone(&self, session: &SessionId, batch: &Batch) -> Option<Answer> {
        {
            let mut queue = lock(&self.queue);
            if queue.has_leader || queue.group > 1 {
                return None;
            }
            queue.has_leader = true;
        }
        let lead = Lead(self);
        let answer = lock(&self.desk).append_alone(session, batch);
        drop(lead);
        if answer.is_some() {
            self.tell();
        }
        answer
    }

    /// Tells those who follow sessions, and who works when it is quiet.
    fn tell(&self) {
        self.signal.raise();
        self.idle.wake();
    }

    /// Runs something between two groups.
    pub(super) fn run<T>(&self, job: impl FnOnce(&mut Desk) -> Result<T>) -> Result<T> {
        job(&mut lock(&self.desk))
    }

    /// Queues up; says whether this one is to lead.
    fn join(&self, ticket: &Arc<Ticket>) -> bool {
        let mut queue = lock(&self.queue);
        queue.waiting.push(Arc::clone(ticket));
        !std::mem::replace(&mut queue.has_leader, true)
    }

    /// Takes those who wait. Those who were answered together come back together, a moment later.
    fn gather(&self) -> Vec<Arc<Ticket>> {
        let mut until = None;
        loop {
            let mut queue = lock(&self.queue);
            let now = Instant::now();
            let is_late = now >= *until.get_or_insert(now + GATHER);
            if is_late || queue.waiting.len() >= queue.group.min(GROUP_MAX) {
                return queue.take();
            }
            drop(queue);
            thread::yield_now();
        }
    }

    /// The first of those who came meanwhile is the next to lead.
    fn hand_over(&self, group: usize) {
        let next = {
            let mut queue = lock(&self.queue);
            queue.group = group;
            queue.has_leader = !queue.waiting.is_empty();
            queue.waiting.first().cloned()
        };
        if let Some(next) = next {
            next.tell(Turn::Leads);
        }
    }
}

impl Queue {
    /// The first in the queue, up to the limits; at least one.
    fn take(&mut self) -> Vec<Arc<Ticket>> {
        let mut bytes = 0;
        let fits = |ticket: &&Arc<Ticket>| {
            let fits = bytes < GROUP_BYTES;
            bytes += ticket.request.batch.bytes();
            fits
        };
        let count = self.waiting.iter().take(GROUP_MAX).take_while(fits).count();
        self.waiting.drain(..count).collect()
    }
}

impl Ticket {
    /// The answer, or `None` if this one is to lead.
    fn wait(&self) -> Option<Answer> {
        let turn = lock(&self.turn);
        let waits = |turn: &mut Turn| matches!(turn, Turn::Waits);
        let turn = self.changed.wait_while(turn, waits);
        let mut turn = turn.unwrap_or_else(PoisonError::into_inner);
        match std::mem::replace(&mut *turn, Turn::Waits) {
            Turn::Done(answer) => Some(answer),
            Turn::Leads | Turn::Waits => None,
        }
    }

    fn tell(&self, news: Turn) {
        *lock(&self.turn) = news;
        self.changed.notify_one();
    }
}

/// The one who writes alone. However that ends, the queue goes on.
struct Lead<'w>(&'w Writer);

impl Drop for Lead<'_> {
    fn drop(&mut self) {
        self.0.hand_over(1);
    }
}

/// A group that is being stored. However that ends, the queue goes on and everybody is answered.
struct Group<'w> {
    writer: &'w Writer,
    tickets: Vec<Arc<Ticket>>,
}

impl Group<'_> {
    /// Hands over first: the next group is on its way while this one is told.
    fn finish(mut self, mine: &Arc<Ticket>, answers: Vec<Answer>) -> Answer {
        let tickets = std::mem::take(&mut self.tickets);
        self.writer.hand_over(tickets.len());
        let mut own = None;
        for (ticket, answer) in tickets.into_iter().zip(answers) {
            if Arc::ptr_eq(&ticket, mine) {
                own = Some(answer);
            } else {
                ticket.tell(Turn::Done(answer));
            }
        }
        self.writer.tell();
        own.unwrap_or_else(|| Err(unanswered()))
    }
}

impl Drop for Group<'_> {
    fn drop(&mut self) {
        // Empty once it was finished.
        if self.tickets.is_empty() {
            return;
        }
        let tickets = std::mem::take(&mut self.tickets);
        self.writer.hand_over(tickets.len());
        for ticket in tickets {
            ticket.tell(Turn::Done(Err(unanswered())));
        }
    }
}

fn unanswered() -> StoreError {
    let problem = Problem::Database("the writer broke off".to_owned());
    StoreError::SessionWriteFailed { session: None, outcome: Outcome::Unknown, problem }
}

/// A thread that broke off leaves nothing half done here that others could not go on with.
pub(super) fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
