//! The writer's thread. Appends of many callers that arrive together are stored together: one
//! transaction, one sync. When nobody wants anything, it fills the search index.

use std::path::Path;
use std::sync::Arc;
use std::sync::mpsc::{
    Receiver, RecvTimeoutError, Sender, SyncSender, TryRecvError, channel, sync_channel,
};
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant};

use super::desk::{Desk, Request};
use super::signal::Signal;
use super::words;
use crate::model::Appended;
use crate::{Outcome, Problem, SessionId, StoreError};

/// How many appends are stored together, at most.
const GROUP_MAX: usize = 512;
/// How many bytes, about.
const GROUP_BYTES: usize = 8 << 20;
/// How long is waited for those who appended together the last time.
const GATHER: Duration = Duration::from_micros(150);
/// After so long without work the search index is filled.
const IDLE: Duration = Duration::from_millis(500);
/// How many entries it takes in between two looks for work.
const IDLE_CHUNK: usize = 128;

/// Work for the thread.
enum Job {
    Append(Request, SyncSender<Result<Appended, StoreError>>),
    Run(Box<dyn FnOnce(&mut Desk) + Send>),
}

/// The thread, from outside. It ends, and the file is closed, when this is dropped.
pub(super) struct Writer {
    jobs: Option<Sender<Job>>,
    thread: Option<JoinHandle<()>>,
}

impl Writer {
    pub(super) fn start(path: &Path, signal: Arc<Signal>) -> Result<Self, StoreError> {
        let desk = Desk::open(path)?;
        let (jobs, work) = channel();
        let thread = thread::Builder::new().name("tertulia-store".to_owned());
        let thread = thread.spawn(move || Loop { desk, work, signal, group: 1 }.run());
        let thread = thread.map_err(|error| gone(&error.to_string()))?;
        Ok(Self { jobs: Some(jobs), thread: Some(thread) })
    }

    /// Appends, together with whoever else does.
    pub(super) fn append(&self, request: Request) -> Result<Appended, StoreError> {
        let (answer, wait) = sync_channel(1);
        self.send(Job::Append(request, answer))?;
        // The thread answers every request before it ends, unless it is torn down in the middle.
        wait.recv().unwrap_or_else(|_| Err(gone("it ended before it answered")))
    }

    /// Runs something on the thread, between two groups.
    pub(super) fn run<T: Send + 'static>(
        &self,
        job: impl FnOnce(&mut Desk) -> Result<T, StoreError> + Send + 'static,
    ) -> Result<T, StoreError> {
        let (answer, wait) = sync_channel(1);
        self.send(Job::Run(Box::new(move |desk| {
            // Nobody waits any more: nothing to tell.
            let _ = answer.send(job(desk));
        })))?;
        wait.recv().unwrap_or_else(|_| Err(gone("it ended before it answered")))
    }

    fn send(&self, job: Job) -> Result<(), StoreError> {
        let sent = self.jobs.as_ref().and_then(|jobs| jobs.send(job).ok());
        sent.ok_or_else(|| gone("it has ended"))
    }
}

impl Drop for Writer {
    fn drop(&mut self) {
        self.jobs = None;
        if let Some(thread) = self.thread.take() {
            let _ = thread.join();
        }
    }
}

fn gone(reason: &str) -> StoreError {
    let problem = Problem::Database(format!("the writer's thread is gone: {reason}"));
    StoreError::SessionWriteFailed { session: None, outcome: Outcome::Unknown, problem }
}

struct Loop {
    desk: Desk,
    work: Receiver<Job>,
    signal: Arc<Signal>,
    /// How many appends came together the last time.
    group: usize,
}

type Waiting = (Request, SyncSender<Result<Appended, StoreError>>);

impl Loop {
    fn run(mut self) {
        let mut may_rest = true;
        loop {
            let job = match self.work.recv_timeout(IDLE) {
                Ok(job) => job,
                Err(RecvTimeoutError::Disconnected) => return,
                Err(RecvTimeoutError::Timeout) if may_rest => {
                    may_rest = self.rest();
                    continue;
                }
                Err(RecvTimeoutError::Timeout) => match self.work.recv() {
                    Ok(job) => job,
                    Err(_) => return,
                },
            };
            may_rest = true;
            self.carry_out(job);
        }
    }

    fn carry_out(&mut self, job: Job) {
        let mut next = Some(job);
        while let Some(job) = next.take() {
            match job {
                Job::Run(run) => run(&mut self.desk),
                Job::Append(request, answer) => {
                    let mut group = vec![(request, answer)];
                    next = self.gather(&mut group);
                    self.append(group);
                }
            }
        }
    }

    /// Takes the appends that wait, up to the first other job, which comes back.
    fn gather(&mut self, group: &mut Vec<Waiting>) -> Option<Job> {
        let mut bytes = group.iter().map(|(request, _)| request.batch.bytes()).sum::<usize>();
        let mut until = None;
        while group.len() < GROUP_MAX && bytes < GROUP_BYTES {
            match self.work.try_recv() {
                Ok(Job::Append(request, answer)) => {
                    bytes += request.batch.bytes();
                    group.push((request, answer));
                }
                Ok(other) => return Some(other),
                Err(TryRecvError::Disconnected) => return None,
                // Those who were answered together come back together, a moment later.
                Err(TryRecvError::Empty) if group.len() >= self.group => return None,
                Err(TryRecvError::Empty) => {
                    let now = Instant::now();
                    if now >= *until.get_or_insert(now + GATHER) {
                        return None;
                    }
                    thread::yield_now();
                }
            }
        }
        None
    }

    fn append(&mut self, group: Vec<Waiting>) {
        self.group = group.len();
        let (requests, answers): (Vec<_>, Vec<_>) = group.into_iter().unzip();
        let outcomes = self.desk.append(&requests);
        for (answer, outcome) in answers.into_iter().zip(outcomes) {
            // Whoever asked may be gone.
            let _ = answer.send(outcome);
        }
        self.signal.raise();
    }

    /// Fills the search index a little; says whether there is more to do.
    fn rest(&mut self) -> bool {
        if !words::is_behind(self.desk.connection()).unwrap_or(false) {
            return false;
        }
        let indexed =
            self.desk.transaction(|desk| words::index_some(desk.connection(), IDLE_CHUNK));
        self.desk.forget();
        indexed.is_ok_and(|indexed| indexed.is_behind)
    }
}

/// The session is named in errors of the store, not of the thread.
pub(super) fn of_session(error: StoreError, session: &SessionId) -> StoreError {
    match error {
        StoreError::SessionWriteFailed { session: None, outcome, problem } => {
            StoreError::SessionWriteFailed { session: Some(session.clone()), outcome, problem }
        }
        other => other,
    }
}
