//! The agents that keep a session between turns. [`KeptAgents`] holds their idle processes and compares native
//! sessions with the state that the last turn left. Called by the driver, and by [`crate::run`] for turns with a
//! memory.

mod method;
mod pool;
mod turn;

use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use crate::agents::Cli;
use crate::memory::{Settings, program_identity};
use crate::{
    AgentSpec, CancelToken, Drift, Job, Listener, Memory, MemorySupport, NativeHead, TurnReport,
    clock,
};
pub(crate) use method::{CliMemory, Export, Store, Transcript};
use method::{Method, Seen};
use pool::Pool;

/// Limits on processes that wait for the next turn.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct KeptLimits {
    /// Maximum number of idle processes. The one that was used least recently ends first.
    pub processes_max: usize,
    /// Time after which an idle process ends.
    pub idle: Duration,
}

impl Default for KeptLimits {
    fn default() -> Self {
        Self { processes_max: 4, idle: Duration::from_secs(600) }
    }
}

/// The idle processes of agents that keep a session, by member. Clones share them. All end when the last clone is
/// dropped, and when our process ends.
#[derive(Clone, Debug, Default)]
pub struct KeptAgents(Arc<Pool>);

impl KeptAgents {
    /// Creates an empty set with the default limits.
    pub fn new() -> Self {
        Self::default()
    }

    /// Creates an empty set.
    pub fn with_limits(limits: KeptLimits) -> Self {
        Self(Arc::new(Pool::new(limits)))
    }

    /// Returns the limits.
    pub fn limits(&self) -> KeptLimits {
        self.0.limits()
    }

    /// Returns the members that have an idle process.
    pub fn idle_members(&self) -> Vec<Box<str>> {
        self.0.idle_members()
    }

    /// Ends the idle process of a member, if it has one. Its session stays.
    pub fn end(&self, member: &str) {
        if let Some(process) = self.0.take(member) {
            process.close();
        }
    }

    /// Ends all idle processes, all at once. Their sessions stay. A process whose turn runs ends after its turn.
    pub fn end_all(&self) {
        let mut processes = self.0.take_all();
        processes.iter_mut().for_each(|process| process.agent.hang_up());
        std::thread::scope(|scope| {
            for process in processes {
                let thread = std::thread::Builder::new().name("kept agent".to_owned());
                // Without a thread the process is dropped, which kills it.
                if let Err(error) = thread.spawn_scoped(scope, move || process.close()) {
                    tracing::warn!(%error, "no thread that ends an idle agent");
                }
            }
        });
    }

    /// Compares the native session of a member with the state in which its last turn left it. `system` is the system
    /// text of the next turn. Call it before the prompt is made; the turn checks again, and prints sessions that are in a
    /// database.
    pub fn check(
        &self,
        member: &str,
        spec: &AgentSpec,
        system: Option<&str>,
        head: &NativeHead,
    ) -> Result<(), Drift> {
        let method = Method::of(spec).map_err(|reason| Drift::Unsupported { reason })?;
        let now = Now { spec, system, process: self.0.process_of(member)? };
        compare(&method, &now, head, (self.0.seen(), None))
    }
}

/// The state with which a head is compared.
struct Now<'a> {
    spec: &'a AgentSpec,
    system: Option<&'a str>,
    /// The idle process of the member.
    process: Option<Box<str>>,
}

/// Compares a head with the settings, the program and the session of now. The cheap comparisons come first, and the
/// slow ones only if there is a turn, which can be cancelled.
fn compare(
    method: &Method,
    now: &Now<'_>,
    head: &NativeHead,
    (seen, turn): (&Seen, Option<&CancelToken>),
) -> Result<(), Drift> {
    if *head.agent != *now.spec.kind.definition().word {
        return Err(Drift::Settings { changed: "the agent".into() });
    }
    if head.is_compacted {
        return Err(Drift::Compacted);
    }
    if let Some(changed) = head.settings.changed(&Settings::new(now.spec, now.system)) {
        return Err(Drift::Settings { changed });
    }
    let is_elsewhere = head.process.is_some() && head.process != now.process;
    if is_elsewhere && !head.can_load() {
        return Err(Drift::ProcessEnded);
    }
    let command = method.command(now.spec)?;
    if program_identity(&command.program) != head.program {
        return Err(Drift::OtherVersion);
    }
    let has_process = now.process.is_some();
    method.store().map_or(Ok(()), |store| store.check(&command, head, has_process, (seen, turn)))
}

/// Returns whether an agent can continue its own session in a later turn.
pub fn memory_support(spec: &AgentSpec) -> MemorySupport {
    match Method::of(spec) {
        Ok(Method::Live { .. }) => MemorySupport::Kept,
        Ok(Method::Acp) => MemorySupport::Loaded,
        Ok(Method::Resumed { .. }) => MemorySupport::Resumed,
        Err(reason) => MemorySupport::Unsupported { reason },
    }
}

/// Same as [`memory_support`], for an agent with its own program.
pub(crate) fn support_of(cli: &Cli) -> MemorySupport {
    match &cli.memory {
        CliMemory::Live { .. } => MemorySupport::Kept,
        CliMemory::Resumed { .. } => MemorySupport::Resumed,
        CliMemory::Unsupported { reason } => {
            MemorySupport::Unsupported { reason: (*reason).into() }
        }
    }
}

/// Runs a turn of an agent that keeps its session. Returns `None` if the turn has no memory.
pub(crate) fn run(job: Job<'_>, listener: &mut dyn Listener) -> Option<TurnReport> {
    let (kept, member) = match job.request.memory {
        Memory::Fresh => return None,
        Memory::Begin { kept, member } | Memory::Continue { kept, member, .. } => (kept, member),
    };
    if job.cancel.is_cancelled() {
        return Some(clock::cancelled(&job.spec.timeouts));
    }
    Some(turn::run(&kept.0, member, job, listener).unwrap_or_else(|drift| {
        match job.cancel.is_cancelled() {
            true => clock::cancelled(&job.spec.timeouts),
            false => TurnReport::drifted(drift),
        }
    }))
}

/// Returns the absolute form of a path that a variable of the agent names.
pub(crate) fn folder_in(
    environment: &crate::process::environment::Environment,
    (variable, below): (&str, &str),
) -> Option<PathBuf> {
    environment.get(variable).map(|folder| PathBuf::from(folder).join(below))
}
