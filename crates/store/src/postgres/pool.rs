//! The thread that speaks with the server, and the connections that live on it. Callers hand work over and wait
//! for the answer on a plain channel, so that a store may be called from inside any runtime. A connection that
//! is lost is replaced, and the work is done again: every piece of work is written so that this is harmless.

use std::cell::RefCell;
use std::pin::Pin;
use std::rc::Rc;
use std::sync::Arc;
use std::sync::mpsc::sync_channel;
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant};

use tokio::runtime;
use tokio::sync::mpsc::{UnboundedReceiver, UnboundedSender, unbounded_channel};
use tokio::sync::{Notify, Semaphore};
use tokio::task::{self, LocalSet};

use super::address::Address;
use super::error::{Result, Trouble};
use super::link::Link;
use super::maintenance;
use crate::signal::Signal;
use crate::{Outcome, Problem, StoreError};

/// How many connections there are at once, but for the one that listens.
const CONNECTIONS_MAX: usize = 8;
/// How long is waited for one of them.
const TURN: Duration = Duration::from_secs(60);
/// How long lost work is tried again.
const PATIENCE: Duration = Duration::from_secs(5);
/// The pause before the second attempt; it doubles from attempt to attempt.
const PAUSE: Duration = Duration::from_millis(20);
const PAUSE_MAX: Duration = Duration::from_millis(500);
/// How long is waited until the server was told that connections end.
const CLOSING: Duration = Duration::from_millis(500);

type Job = Box<dyn FnOnce(Rc<Pool>) -> Pin<Box<dyn Future<Output = ()>>> + Send>;

/// The thread, from outside. It ends, and all connections are closed, when this is dropped.
pub(super) struct Thread {
    jobs: Option<UnboundedSender<Job>>,
    thread: Option<JoinHandle<()>>,
}

impl Thread {
    pub(super) fn start(address: Address, signal: Arc<Signal>) -> Result<Self, StoreError> {
        let runtime = runtime::Builder::new_current_thread().enable_all().build();
        let runtime = runtime.map_err(|error| gone(&error.to_string()))?;
        let (jobs, work) = unbounded_channel();
        let thread = thread::Builder::new().name("tertulia-postgres".to_owned());
        let thread = thread.spawn(move || {
            LocalSet::new().block_on(&runtime, serve(Pool::new(address, signal), work));
        });
        let thread = thread.map_err(|error| gone(&error.to_string()))?;
        Ok(Self { jobs: Some(jobs), thread: Some(thread) })
    }

    pub(super) fn run<T: Send + 'static>(
        &self,
        work: impl AsyncFnOnce(Rc<Pool>) -> Result<T, StoreError> + Send + 'static,
    ) -> Result<T, StoreError> {
        let (answer, wait) = sync_channel(1);
        let job: Job = Box::new(move |pool| {
            Box::pin(async move {
                // Nobody waits any more: nothing to tell.
                let _ = answer.send(work(pool).await);
            })
        });
        let sent = self.jobs.as_ref().and_then(|jobs| jobs.send(job).ok());
        sent.ok_or_else(|| gone("it has ended"))?;
        wait.recv().unwrap_or_else(|_| Err(gone("it ended before it answered")))
    }
}

impl Drop for Thread {
    fn drop(&mut self) {
        self.jobs = None;
        if let Some(thread) = self.thread.take() {
            let _ = thread.join();
        }
    }
}

async fn serve(pool: Rc<Pool>, mut work: UnboundedReceiver<Job>) {
    let maintenance = task::spawn_local(maintenance::go_on(Rc::clone(&pool)));
    while let Some(job) = work.recv().await {
        task::spawn_local(job(Rc::clone(&pool)));
    }
    maintenance.abort();
    pool.close().await;
}

fn gone(reason: &str) -> StoreError {
    let problem = Problem::Database(format!("the thread of the store is gone: {reason}"));
    StoreError::SessionWriteFailed { session: None, outcome: Outcome::Unknown, problem }
}

pub(super) struct Pool {
    address: Address,
    signal: Arc<Signal>,
    /// Told when something was appended: the search index is behind.
    pub(super) appended: Notify,
    listener: RefCell<Option<task::JoinHandle<()>>>,
    idle: RefCell<Vec<Link>>,
    turns: Semaphore,
    /// Every open connection holds one of these.
    alive: Rc<()>,
}

impl Pool {
    fn new(address: Address, signal: Arc<Signal>) -> Rc<Self> {
        Rc::new(Self {
            address,
            signal,
            appended: Notify::new(),
            listener: RefCell::default(),
            idle: RefCell::default(),
            turns: Semaphore::new(CONNECTIONS_MAX),
            alive: Rc::new(()),
        })
    }

    pub(super) fn place(&self) -> &str {
        &self.address.place
    }

    /// Does a piece of work; on another connection if the first is lost.
    pub(super) async fn work<T>(
        &self,
        mut work: impl AsyncFnMut(&mut Link) -> Result<T>,
    ) -> Result<T> {
        let begun = Instant::now();
        let mut pause = PAUSE;
        loop {
            match self.once(&mut work).await {
                Err(Trouble::Lost(reason)) if begun.elapsed() < PATIENCE => {
                    tracing::debug!(%reason, "the connection was lost; trying again");
                    tokio::time::sleep(pause).await;
                    pause = (pause * 2).min(PAUSE_MAX);
                }
                done => return done,
            }
        }
    }

    /// Does a piece of work without a second attempt.
    pub(super) async fn once<T>(
        &self,
        mut work: impl AsyncFnMut(&mut Link) -> Result<T>,
    ) -> Result<T> {
        let turn = tokio::time::timeout(TURN, self.turns.acquire()).await;
        let Ok(Ok(_turn)) = turn else {
            return Err(Trouble::Lost("all connections are busy".to_owned()));
        };
        let idle = std::iter::from_fn(|| self.idle.borrow_mut().pop()).find(Link::is_open);
        let mut link = match idle {
            Some(link) => link,
            None => self.new_link().await?,
        };
        let done = work(&mut link).await;
        // After an error of the server a transaction may be open: the connection is not used again.
        if matches!(done, Ok(_) | Err(Trouble::Store(_))) && link.is_open() {
            self.idle.borrow_mut().push(link);
        }
        done
    }

    /// A connection for somebody who keeps it.
    pub(super) async fn new_link(&self) -> Result<Link> {
        Link::open(&self.address, None, Rc::clone(&self.alive)).await
    }

    pub(super) fn forget(&self) {
        self.idle.borrow_mut().clear();
    }

    /// Closes all connections and waits until the server was told.
    async fn close(&self) {
        self.forget();
        if let Some(listener) = self.listener.take() {
            listener.abort();
        }
        let begun = Instant::now();
        while Rc::strong_count(&self.alive) > 1 && begun.elapsed() < CLOSING {
            tokio::time::sleep(Duration::from_millis(1)).await;
        }
    }

    /// Sees to it that followers are told of what others store.
    pub(super) fn listen(self: &Rc<Self>) {
        let mut listener = self.listener.borrow_mut();
        listener.get_or_insert_with(|| task::spawn_local(listen(Rc::clone(self))));
    }
}

/// Listens on a connection of its own, for as long as the store is open.
async fn listen(pool: Rc<Pool>) {
    let mut pause = PAUSE;
    loop {
        let signal = Some(Arc::clone(&pool.signal));
        let opened = Link::open(&pool.address, signal, Rc::clone(&pool.alive)).await;
        let listening = match opened {
            Ok(mut link) => link.run("LISTEN tertulia").await.map(|()| link),
            Err(trouble) => Err(trouble),
        };
        match listening {
            Ok(mut link) => {
                pause = PAUSE;
                // What came before this moment may not have been heard.
                pool.signal.raise();
                link.ended().await;
            }
            Err(trouble) => tracing::debug!(?trouble, "cannot listen to the server"),
        }
        tokio::time::sleep(pause).await;
        pause = (pause * 2).min(PAUSE_MAX);
    }
}
