//! The thread that speaks with the server. Callers hand work over and wait for the answer on a plain
//! channel, so that a store may be called from anywhere, also from inside somebody else's runtime.

use std::pin::Pin;
use std::rc::Rc;
use std::sync::Arc;
use std::sync::mpsc::sync_channel;
use std::thread::{self, JoinHandle};

use tokio::runtime;
use tokio::sync::mpsc::{UnboundedReceiver, UnboundedSender, unbounded_channel};
use tokio::task::LocalSet;

use super::address::Address;
use super::bells::Bells;
use super::chores;
use super::hub::Hub;
use crate::{Outcome, Problem, Result, StoreError};

/// Work for the thread.
type Job = Box<dyn FnOnce(Rc<Hub>) -> Pin<Box<dyn Future<Output = ()>>> + Send>;

/// The thread, from outside. It ends, and all connections are closed, when this is dropped.
pub(super) struct Thread {
    jobs: Option<UnboundedSender<Job>>,
    thread: Option<JoinHandle<()>>,
}

impl Thread {
    pub(super) fn start(address: Address, bells: Arc<Bells>) -> Result<Self> {
        let runtime = runtime::Builder::new_current_thread().enable_all().build();
        let runtime = runtime.map_err(|error| gone(&error.to_string()))?;
        let (jobs, work) = unbounded_channel();
        let thread = thread::Builder::new().name("tertulia-postgres".to_owned());
        let thread = thread.spawn(move || {
            LocalSet::new().block_on(&runtime, serve(Hub::new(address, bells), work));
        });
        let thread = thread.map_err(|error| gone(&error.to_string()))?;
        Ok(Self { jobs: Some(jobs), thread: Some(thread) })
    }

    /// Does something on the thread and waits for it.
    pub(super) fn run<T: Send + 'static>(
        &self,
        work: impl AsyncFnOnce(Rc<Hub>) -> Result<T> + Send + 'static,
    ) -> Result<T> {
        let (answer, wait) = sync_channel(1);
        let job: Job = Box::new(move |hub| {
            Box::pin(async move {
                // Nobody waits any more: nothing to tell.
                let _ = answer.send(work(hub).await);
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

/// Takes work until nobody can hand any over.
async fn serve(hub: Rc<Hub>, mut work: UnboundedReceiver<Job>) {
    let chores = tokio::task::spawn_local(chores::go_on(Rc::clone(&hub)));
    while let Some(job) = work.recv().await {
        tokio::task::spawn_local(job(Rc::clone(&hub)));
    }
    chores.abort();
    hub.close().await;
}

fn gone(reason: &str) -> StoreError {
    let problem = Problem::Database(format!("the thread of the store is gone: {reason}"));
    StoreError::SessionWriteFailed { session: None, outcome: Outcome::Unknown, problem }
}
