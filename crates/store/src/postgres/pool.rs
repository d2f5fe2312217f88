//! The thread that communicates with the server, and its connections. Callers submit work and wait for the result on
//! a plain channel, so that a store can be used inside any async runtime. If a connection is lost, it is replaced
//! and the work is retried. So all work must be safe to repeat.

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
use super::connection::PgConnection;
use super::error::{PgError, Result};
use super::maintenance;
use crate::signal::Signal;
use crate::{Outcome, Problem, StoreError};

/// The maximum number of connections, without the one that listens for notifications.
const CONNECTIONS_MAX: usize = 8;
/// The time limit for getting a connection.
const CONNECTION_TIMEOUT: Duration = Duration::from_secs(60);
/// How long work is retried after a lost connection.
const RETRY_LIMIT: Duration = Duration::from_secs(5);
/// The pause before the first retry. It doubles with every attempt.
const PAUSE: Duration = Duration::from_millis(20);
const PAUSE_MAX: Duration = Duration::from_millis(500);
/// The time limit for closing connections properly.
const CLOSING: Duration = Duration::from_millis(500);

type Job = Box<dyn FnOnce(Rc<Pool>) -> Pin<Box<dyn Future<Output = ()>>> + Send>;

/// A handle of the thread. Dropping it ends the thread and closes all connections.
pub(super) struct WorkerThread {
    jobs: Option<UnboundedSender<Job>>,
    thread: Option<JoinHandle<()>>,
}

impl WorkerThread {
    pub(super) fn start(address: Address, signal: Arc<Signal>) -> Result<Self, StoreError> {
        let runtime = runtime::Builder::new_current_thread().enable_all().build();
        let runtime = runtime.map_err(|error| thread_ended(&error.to_string()))?;
        let (jobs, work) = unbounded_channel();
        let thread = thread::Builder::new().name("tertulia-postgres".to_owned());
        let thread = thread.spawn(move || {
            LocalSet::new().block_on(&runtime, serve(Pool::new(address, signal), work));
        });
        let thread = thread.map_err(|error| thread_ended(&error.to_string()))?;
        Ok(Self { jobs: Some(jobs), thread: Some(thread) })
    }

    pub(super) fn run<T: Send + 'static>(
        &self,
        work: impl AsyncFnOnce(Rc<Pool>) -> Result<T, StoreError> + Send + 'static,
    ) -> Result<T, StoreError> {
        let (answer, wait) = sync_channel(1);
        let job: Job = Box::new(move |pool| {
            Box::pin(async move {
                // The caller may no longer be waiting.
                let _ = answer.send(work(pool).await);
            })
        });
        let sent = self.jobs.as_ref().and_then(|jobs| jobs.send(job).ok());
        sent.ok_or_else(|| thread_ended("it has ended"))?;
        wait.recv().unwrap_or_else(|_| Err(thread_ended("it ended before it answered")))
    }
}

impl Drop for WorkerThread {
    fn drop(&mut self) {
        self.jobs = None;
        if let Some(thread) = self.thread.take() {
            let _ = thread.join();
        }
    }
}

async fn serve(pool: Rc<Pool>, mut work: UnboundedReceiver<Job>) {
    let maintenance = task::spawn_local(maintenance::run(Rc::clone(&pool)));
    while let Some(job) = work.recv().await {
        task::spawn_local(job(Rc::clone(&pool)));
    }
    maintenance.abort();
    pool.close().await;
}

fn thread_ended(reason: &str) -> StoreError {
    let problem = Problem::Database(format!("the thread of the store has ended: {reason}"));
    StoreError::SessionWriteFailed { session: None, outcome: Outcome::Unknown, problem }
}

pub(super) struct Pool {
    address: Address,
    signal: Arc<Signal>,
    /// Notified after an append, so that the search index is updated.
    pub(super) appended: Notify,
    listener: RefCell<Option<task::JoinHandle<()>>>,
    idle: RefCell<Vec<PgConnection>>,
    turns: Semaphore,
    /// Every open connection holds a clone of this.
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

    pub(super) fn location(&self) -> &str {
        &self.address.location
    }

    /// Runs work, and retries it on another connection if the first is lost.
    pub(super) async fn work<T>(
        &self,
        mut work: impl AsyncFnMut(&mut PgConnection) -> Result<T>,
    ) -> Result<T> {
        let begun = Instant::now();
        let mut pause = PAUSE;
        loop {
            match self.once(&mut work).await {
                Err(PgError::ConnectionLost(reason)) if begun.elapsed() < RETRY_LIMIT => {
                    tracing::debug!(%reason, "the connection was lost; trying again");
                    tokio::time::sleep(pause).await;
                    pause = (pause * 2).min(PAUSE_MAX);
                }
                done => return done,
            }
        }
    }

    /// Runs work without a retry.
    pub(super) async fn once<T>(
        &self,
        mut work: impl AsyncFnMut(&mut PgConnection) -> Result<T>,
    ) -> Result<T> {
        let turn = tokio::time::timeout(CONNECTION_TIMEOUT, self.turns.acquire()).await;
        let Ok(Ok(_turn)) = turn else {
            return Err(PgError::ConnectionLost("all connections are busy".to_owned()));
        };
        let idle = std::iter::from_fn(|| self.idle.borrow_mut().pop()).find(PgConnection::is_open);
        let mut connection = match idle {
            Some(connection) => connection,
            None => self.new_connection().await?,
        };
        let done = work(&mut connection).await;
        // After a server error a transaction may be open, so the connection is not reused.
        if matches!(done, Ok(_) | Err(PgError::Store(_))) && connection.is_open() {
            self.idle.borrow_mut().push(connection);
        }
        done
    }

    /// Opens a connection that the caller keeps.
    pub(super) async fn new_connection(&self) -> Result<PgConnection> {
        PgConnection::open(&self.address, None, Rc::clone(&self.alive)).await
    }

    pub(super) fn forget(&self) {
        self.idle.borrow_mut().clear();
    }

    /// Closes all connections and waits until the server was informed.
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

    /// Starts listening for notifications about entries that other processes store.
    pub(super) fn listen(self: &Rc<Self>) {
        let mut listener = self.listener.borrow_mut();
        listener.get_or_insert_with(|| task::spawn_local(listen(Rc::clone(self))));
    }
}

/// Listens on its own connection as long as the store is open.
async fn listen(pool: Rc<Pool>) {
    let mut pause = PAUSE;
    loop {
        let signal = Some(Arc::clone(&pool.signal));
        let opened = PgConnection::open(&pool.address, signal, Rc::clone(&pool.alive)).await;
        let listening = match opened {
            Ok(mut connection) => connection.run("LISTEN tertulia").await.map(|()| connection),
            Err(error) => Err(error),
        };
        match listening {
            Ok(mut connection) => {
                pause = PAUSE;
                // Earlier notifications may have been missed.
                pool.signal.raise();
                connection.ended().await;
            }
            Err(error) => tracing::debug!(?error, "cannot listen to the server"),
        }
        tokio::time::sleep(pause).await;
        pause = (pause * 2).min(PAUSE_MAX);
    }
}
