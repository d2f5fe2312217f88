//! Groups appends of many threads. The first thread writes all appends that are waiting, in one transaction with one
//! sync. Then the next waiting thread does the same. So a lone writer needs no other thread, and many threads share
//! their syncs. A separate thread only fills the search index when the store is idle.

use std::path::Path;
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::thread;
use std::time::{Duration, Instant};

use super::idle::Idle;
use super::signal::Signal;
use super::write_connection::{Request, WriteConnection};
use crate::model::Appended;
use crate::plan::Batch;
use crate::{Outcome, Problem, Result, SessionId, StoreError};

/// The maximum number of appends in a group.
const GROUP_MAX: usize = 512;
/// The approximate maximum size of a group in bytes.
const GROUP_BYTES: usize = 8 << 20;
/// How long to wait for the threads that appended together last time.
const GATHER: Duration = Duration::from_micros(150);

type Answer = Result<Appended>;

/// The write connection and the appends that wait for it.
pub(super) struct Writer {
    queue: Mutex<Queue>,
    connection: Arc<Mutex<WriteConnection>>,
    signal: Arc<Signal>,
    idle: Idle,
}

#[derive(Default)]
struct Queue {
    waiting: Vec<Arc<PendingAppend>>,
    has_leader: bool,
    /// The size of the last group.
    group: usize,
}

/// A queued append.
struct PendingAppend {
    request: Request,
    state: Mutex<AppendState>,
    changed: Condvar,
}

/// The state of a queued append.
enum AppendState {
    Waiting,
    /// The thread of this append writes for all.
    Leading,
    Done(Answer),
}

impl Writer {
    pub(super) fn start(path: &Path, signal: Arc<Signal>) -> Result<Self> {
        let connection = Arc::new(Mutex::new(WriteConnection::open(path)?));
        let idle = Idle::start(Arc::clone(&connection))?;
        Ok(Self { queue: Mutex::default(), connection, signal, idle })
    }

    /// Appends, together with other threads.
    pub(super) fn append(&self, session: &SessionId, batch: Batch) -> Answer {
        if let Some(answer) = self.append_alone(session, &batch) {
            return answer;
        }
        let request = Request { session: session.clone(), batch };
        let (state, changed) = (Mutex::new(AppendState::Waiting), Condvar::new());
        let append = Arc::new(PendingAppend { request, state, changed });
        if !self.join(&append)
            && let Some(answer) = append.wait()
        {
            return answer;
        }
        let group = Group { writer: self, appends: self.gather() };
        let requests: Vec<&Request> = group.appends.iter().map(|one| &one.request).collect();
        let answers = lock(&self.connection).append(&requests);
        group.finish(&append, answers)
    }

    /// Appends directly, if no other thread appends now or did so last time. Otherwise returns `None`.
    fn append_alone(&self, session: &SessionId, batch: &Batch) -> Option<Answer> {
        {
            let mut queue = lock(&self.queue);
            if queue.has_leader || queue.group > 1 {
                return None;
            }
            queue.has_leader = true;
        }
        let lone_writer = LoneWriter(self);
        let answer = lock(&self.connection).append_alone(session, batch);
        drop(lone_writer);
        if answer.is_some() {
            self.notify();
        }
        answer
    }

    /// Wakes the followers of sessions and the idle thread.
    fn notify(&self) {
        self.signal.raise();
        self.idle.wake();
    }

    /// Runs a job between two groups.
    pub(super) fn run<T>(&self, job: impl FnOnce(&mut WriteConnection) -> Result<T>) -> Result<T> {
        job(&mut lock(&self.connection))
    }

    /// Joins the queue. Returns whether the caller must write for all.
    fn join(&self, append: &Arc<PendingAppend>) -> bool {
        let mut queue = lock(&self.queue);
        queue.waiting.push(Arc::clone(append));
        !std::mem::replace(&mut queue.has_leader, true)
    }

    /// Takes the waiting appends. Waits a moment first, because threads whose appends were stored together often
    /// append together again.
    fn gather(&self) -> Vec<Arc<PendingAppend>> {
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

    /// Makes the first waiting thread the next leader.
    fn pass_leadership(&self, group: usize) {
        let next = {
            let mut queue = lock(&self.queue);
            queue.group = group;
            queue.has_leader = !queue.waiting.is_empty();
            queue.waiting.first().cloned()
        };
        if let Some(next) = next {
            next.set_state(AppendState::Leading);
        }
    }
}

impl Queue {
    /// Takes the first appends in the queue, up to the limits; at least one.
    fn take(&mut self) -> Vec<Arc<PendingAppend>> {
        let mut bytes = 0;
        let fits = |append: &&Arc<PendingAppend>| {
            let fits = bytes < GROUP_BYTES;
            bytes += append.request.batch.bytes();
            fits
        };
        let count = self.waiting.iter().take(GROUP_MAX).take_while(fits).count();
        self.waiting.drain(..count).collect()
    }
}

impl PendingAppend {
    /// Waits for the result. Returns `None` if this thread must write for all.
    fn wait(&self) -> Option<Answer> {
        let state = lock(&self.state);
        let waits = |state: &mut AppendState| matches!(state, AppendState::Waiting);
        let state = self.changed.wait_while(state, waits);
        let mut state = state.unwrap_or_else(PoisonError::into_inner);
        match std::mem::replace(&mut *state, AppendState::Waiting) {
            AppendState::Done(answer) => Some(answer),
            AppendState::Leading | AppendState::Waiting => None,
        }
    }

    fn set_state(&self, new: AppendState) {
        *lock(&self.state) = new;
        self.changed.notify_one();
    }
}

/// A lone writer. When it is dropped, for whatever reason, the queue continues.
struct LoneWriter<'w>(&'w Writer);

impl Drop for LoneWriter<'_> {
    fn drop(&mut self) {
        self.0.pass_leadership(1);
    }
}

/// A group that is being stored. When it is dropped, for whatever reason, the queue continues and every thread gets
/// a result.
struct Group<'w> {
    writer: &'w Writer,
    appends: Vec<Arc<PendingAppend>>,
}

impl Group<'_> {
    /// Finishes the group. First starts the next group, then gives the threads of this group their results.
    fn finish(mut self, mine: &Arc<PendingAppend>, answers: Vec<Answer>) -> Answer {
        let appends = std::mem::take(&mut self.appends);
        self.writer.pass_leadership(appends.len());
        let mut own = None;
        for (append, answer) in appends.into_iter().zip(answers) {
            if Arc::ptr_eq(&append, mine) {
                own = Some(answer);
            } else {
                append.set_state(AppendState::Done(answer));
            }
        }
        self.writer.notify();
        own.unwrap_or_else(|| Err(interrupted()))
    }
}

impl Drop for Group<'_> {
    fn drop(&mut self) {
        // The list is empty if the group was finished.
        if self.appends.is_empty() {
            return;
        }
        let appends = std::mem::take(&mut self.appends);
        self.writer.pass_leadership(appends.len());
        for append in appends {
            append.set_state(AppendState::Done(Err(interrupted())));
        }
    }
}

fn interrupted() -> StoreError {
    let problem = Problem::Database("the writer was interrupted".to_owned());
    StoreError::SessionWriteFailed { session: None, outcome: Outcome::Unknown, problem }
}

/// Locks a mutex. A panic of another thread leaves no invalid state behind, so it is ignored.
pub(super) fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
