//! What lives on the thread that speaks with the server: the connections that wait for work, and the
//! tasks that go on by themselves. A connection that is lost is replaced, and the work is done again:
//! every piece of work is written so that this is harmless.

use std::cell::RefCell;
use std::collections::HashMap;
use std::rc::Rc;
use std::sync::Arc;
use std::time::{Duration, Instant};

use tokio::sync::{Notify, Semaphore};
use tokio::task::JoinHandle;

use super::address::Address;
use super::bells::Bells;
use super::link::Link;
use super::trouble::{Result, Trouble};

/// How many connections there are at once, but for the one that listens.
const CONNECTIONS_MAX: usize = 8;
/// How long is waited for one of them.
const TURN: Duration = Duration::from_secs(60);
/// How long lost work is tried again.
const PATIENCE: Duration = Duration::from_secs(5);
/// The pause before the second attempt; it doubles from attempt to attempt.
const PAUSE: Duration = Duration::from_millis(20);
const PAUSE_MAX: Duration = Duration::from_millis(500);
/// So long is waited for connections to say goodbye.
const GOODBYE: Duration = Duration::from_millis(500);

/// The connections of a store.
pub(super) struct Hub {
    pub(super) address: Address,
    pub(super) bells: Arc<Bells>,
    /// Rung when something was appended: the search index is behind.
    pub(super) chores: Notify,
    /// The connections whose locks say that this process imports, by the numbers they hold.
    pub(super) holds: RefCell<HashMap<u64, Link>>,
    listener: RefCell<Option<JoinHandle<()>>>,
    idle: RefCell<Vec<Link>>,
    turns: Semaphore,
    /// Every open connection holds one of these.
    alive: Rc<()>,
}

impl Hub {
    pub(super) fn new(address: Address, bells: Arc<Bells>) -> Rc<Self> {
        Rc::new(Self {
            address,
            bells,
            chores: Notify::new(),
            holds: RefCell::default(),
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
        let mut link = self.link().await?;
        let done = work(&mut link).await;
        // After an error of the server a transaction may be open: the connection is not used again.
        if matches!(done, Ok(_) | Err(Trouble::Store(_))) && link.is_open() {
            self.idle.borrow_mut().push(link);
        }
        done
    }

    async fn link(&self) -> Result<Link> {
        loop {
            let idle = self.idle.borrow_mut().pop();
            match idle {
                Some(link) if link.is_open() => return Ok(link),
                Some(_) => {}
                None => return self.new_link().await,
            }
        }
    }

    /// A connection for somebody who keeps it.
    pub(super) async fn new_link(&self) -> Result<Link> {
        Link::open(&self.address, None, Rc::clone(&self.alive)).await
    }

    /// Closes the connections that wait for work.
    pub(super) fn forget(&self) {
        self.idle.borrow_mut().clear();
    }

    /// Closes all connections and waits until the server was told.
    pub(super) async fn close(&self) {
        self.forget();
        self.holds.borrow_mut().clear();
        if let Some(listener) = self.listener.take() {
            listener.abort();
        }
        let begun = Instant::now();
        while Rc::strong_count(&self.alive) > 1 && begun.elapsed() < GOODBYE {
            tokio::time::sleep(Duration::from_millis(1)).await;
        }
    }

    /// Sees to it that the bells are rung.
    pub(super) fn listen(self: &Rc<Self>) {
        let mut listener = self.listener.borrow_mut();
        listener.get_or_insert_with(|| tokio::task::spawn_local(listen(Rc::clone(self))));
    }
}

/// Listens for what others store, on a connection of its own, for as long as the store is open.
async fn listen(hub: Rc<Hub>) {
    let mut pause = PAUSE;
    loop {
        let bells = Some(Arc::clone(&hub.bells));
        let opened = Link::open(&hub.address, bells, Rc::clone(&hub.alive)).await;
        let listening = match opened {
            Ok(mut link) => link.run("LISTEN tertulia").await.map(|()| link),
            Err(trouble) => Err(trouble),
        };
        match listening {
            Ok(mut link) => {
                pause = PAUSE;
                // What came before this moment may not have been heard.
                hub.bells.ring_all();
                link.ended().await;
            }
            Err(trouble) => tracing::debug!(?trouble, "cannot listen to the server"),
        }
        tokio::time::sleep(pause).await;
        pause = (pause * 2).min(PAUSE_MAX);
    }
}
