//! The idle processes and the members whose turn runs. A process ends when there are too many, when it was idle for too
//! long, or when it exited by itself.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::mpsc::{Receiver, RecvTimeoutError, Sender, channel};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, Weak};
use std::time::{Duration, Instant};

use super::KeptLimits;
use super::method::Seen;
use crate::process::LiveAgent;
use crate::{AgentSpec, Drift};

/// Time between two checks of the idle processes.
const LOOK: Duration = Duration::from_millis(500);
/// Time that all processes together have to exit when the pool is dropped. Claude Code writes its cost then.
const DROP_WAIT: Duration = Duration::from_millis(500);
/// Time that an idle process has to exit.
const GRACE: Duration = Duration::from_secs(2);

#[derive(Debug, Default)]
pub(super) struct Pool {
    limits: KeptLimits,
    state: Mutex<State>,
    seen: Seen,
}

#[derive(Debug, Default)]
struct State {
    idle: BTreeMap<Box<str>, Idle>,
    busy: BTreeSet<Box<str>>,
    /// The busy members whose processes are not kept after their turn.
    ending: BTreeSet<Box<str>>,
    /// Ends the thread that checks the idle processes when the pool is dropped.
    keeper: Option<Sender<()>>,
}

#[derive(Debug)]
struct Idle {
    process: KeptProcess,
    since: Instant,
}

/// A process between two turns.
#[derive(Debug)]
pub(super) struct KeptProcess {
    pub(super) agent: LiveAgent,
    /// The settings with which it was started.
    pub(super) spec: AgentSpec,
    /// Identifies the process.
    pub(super) id: Box<str>,
}

/// The right to run a turn of a member. Dropping it allows the next turn.
#[derive(Debug)]
pub(super) struct Claim<'a> {
    pool: &'a Arc<Pool>,
    member: &'a str,
}

impl Pool {
    pub(super) fn new(limits: KeptLimits) -> Self {
        Self { limits, state: Mutex::default(), seen: Seen::default() }
    }

    pub(super) fn limits(&self) -> KeptLimits {
        self.limits
    }

    pub(super) fn seen(&self) -> &Seen {
        &self.seen
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub(super) fn idle_members(&self) -> Vec<Box<str>> {
        self.state().idle.keys().cloned().collect()
    }

    pub(super) fn take(&self, member: &str) -> Option<KeptProcess> {
        self.state().idle.remove(member).map(|idle| idle.process)
    }

    /// Takes all idle processes. Those of the turns that run are not kept afterwards.
    pub(super) fn take_all(&self) -> Vec<KeptProcess> {
        let mut state = self.state();
        state.ending = state.busy.clone();
        std::mem::take(&mut state.idle).into_values().map(|idle| idle.process).collect()
    }

    /// Returns the id of the idle process of a member, if it has one that runs. Fails if a turn of the member runs.
    pub(super) fn process_of(&self, member: &str) -> Result<Option<Box<str>>, Drift> {
        let mut state = self.state();
        if state.busy.contains(member) {
            return Err(Drift::Busy);
        }
        let process = state.idle.get_mut(member).map(|idle| &mut idle.process);
        Ok(process.and_then(KeptProcess::living_id))
    }

    /// Claims a member for a turn. Fails if a turn of the member runs.
    pub(super) fn claim<'a>(self: &'a Arc<Self>, member: &'a str) -> Result<Claim<'a>, Drift> {
        match self.state().busy.insert(member.into()) {
            true => Ok(Claim { pool: self, member }),
            false => Err(Drift::Busy),
        }
    }

    /// Removes the processes that were idle for too long, or that exited.
    fn expired(&self) -> Vec<KeptProcess> {
        let mut state = self.state();
        let idle = std::mem::take(&mut state.idle);
        let mut expired = Vec::new();
        for (member, mut one) in idle {
            if one.since.elapsed() >= self.limits.idle || !one.process.agent.is_alive() {
                expired.push(one.process);
            } else {
                state.idle.insert(member, one);
            }
        }
        expired
    }

    /// Removes the processes that are too many, starting with the one that was used least recently.
    fn surplus(&self) -> Vec<KeptProcess> {
        let mut state = self.state();
        let mut surplus = Vec::new();
        while state.idle.len() > self.limits.processes_max {
            let oldest = state.idle.iter().min_by_key(|(_, idle)| idle.since);
            let Some(member) = oldest.map(|(member, _)| member.clone()) else { break };
            surplus.extend(state.idle.remove(&member).map(|idle| idle.process));
        }
        surplus
    }
}

impl Claim<'_> {
    /// Takes the idle process of the member.
    pub(super) fn take(&self) -> Option<KeptProcess> {
        self.pool.take(self.member)
    }

    /// Keeps a process until the next turn, unless it has to end.
    pub(super) fn keep(&self, process: KeptProcess) {
        {
            let mut state = self.pool.state();
            if state.ending.contains(self.member) {
                drop(state);
                return process.close();
            }
            let idle = Idle { process, since: Instant::now() };
            state.idle.insert(self.member.into(), idle);
            if state.keeper.is_none() {
                state.keeper = start_keeper(self.pool);
            }
        }
        for process in self.pool.surplus() {
            process.close();
        }
    }
}

impl Drop for Pool {
    fn drop(&mut self) {
        let mut processes = self.take_all();
        processes.iter_mut().for_each(|process| process.agent.hang_up());
        let until = Instant::now() + DROP_WAIT;
        while processes.iter_mut().any(|process| process.agent.is_alive()) && Instant::now() < until
        {
            std::thread::sleep(Duration::from_millis(5));
        }
        // Dropping them kills what is left.
    }
}

impl Drop for Claim<'_> {
    fn drop(&mut self) {
        let mut state = self.pool.state();
        state.busy.remove(self.member);
        state.ending.remove(self.member);
    }
}

impl KeptProcess {
    /// Ends the process. It may exit by itself first.
    pub(super) fn close(mut self) {
        self.agent.close(GRACE);
    }

    /// Returns what identifies the process, if it runs.
    pub(super) fn living_id(&mut self) -> Option<Box<str>> {
        self.agent.is_alive().then(|| self.id.clone())
    }

    /// Returns whether the process runs with these settings. Settings that belong to a turn, such as timeouts, may
    /// differ.
    pub(super) fn fits(&mut self, spec: &AgentSpec) -> bool {
        let own = &self.spec;
        own.kind.definition() == spec.kind.definition()
            && own.program == spec.program
            && own.args == spec.args
            && own.env == spec.env
            && own.model == spec.model
            && own.cwd == spec.cwd
            && own.permissions == spec.permissions
            && own.limits == spec.limits
            && own.resources == spec.resources
            && self.agent.is_alive()
    }
}

/// Starts the thread that ends processes in time. Without it they end with the pool.
fn start_keeper(pool: &Arc<Pool>) -> Option<Sender<()>> {
    let (sender, receiver) = channel();
    let pool = Arc::downgrade(pool);
    let work = move || keep_watch(&pool, &receiver);
    let thread = std::thread::Builder::new().name("kept agents".to_owned()).spawn(work);
    if let Err(error) = &thread {
        tracing::warn!(%error, "no thread that ends idle agents");
    }
    thread.is_ok().then_some(sender)
}

fn keep_watch(pool: &Weak<Pool>, dropped: &Receiver<()>) {
    while dropped.recv_timeout(LOOK) == Err(RecvTimeoutError::Timeout) {
        let Some(pool) = pool.upgrade() else { return };
        for process in pool.expired() {
            process.close();
        }
    }
}
