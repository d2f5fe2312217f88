//! Starts a program so that none of its processes can stay behind. [`Running::end`] is called at
//! every end of a turn; dropping a `Running` kills everything at once, without SIGTERM.

use std::ffi::{OsStr, OsString};
use std::os::unix::fs::PermissionsExt;
use std::os::unix::net::UnixStream;
use std::path::PathBuf;
use std::process::{Child, ChildStderr, ChildStdin, ChildStdout, Command, ExitStatus, Stdio};
use std::time::{Duration, Instant};

use tempfile::{NamedTempFile, TempDir};
use tertulia_dialect::stream::{ErrorClass, Exit, TurnError};
use tertulia_session::ARGUMENT_BYTES_MAX;

use super::environment::Environment;
use super::escape::sent_prompt;
use super::scope::ProcessScope;
use super::supervisor::{Link, Pipes};
use super::{proc_table, program};
use crate::{AgentSpec, Containment, Overuse, ResourceLimits, TurnRequest};

/// The largest pipe size that Linux allows for every user.
#[cfg(target_os = "linux")]
const PIPE_BYTES: usize = 1 << 20;

const POLL_FIRST: Duration = Duration::from_millis(2);
const POLL_LAST: Duration = Duration::from_millis(50);
/// Time that helper processes of an agent that exited may take to exit too. Afterwards they count as orphans.
const SETTLE: Duration = Duration::from_millis(150);
const KILL_WAIT: Duration = Duration::from_secs(2);

/// A command to start: an absolute program path, its arguments, its complete environment and its folder.
#[derive(Clone, Debug)]
pub(crate) struct CommandLine {
    pub(crate) program: PathBuf,
    pub(crate) args: Vec<OsString>,
    pub(crate) environment: Environment,
    pub(crate) cwd: PathBuf,
    pub(crate) limits: ResourceLimits,
}

#[derive(Debug, thiserror::Error)]
pub(crate) enum StartError {
    #[error("{name:?} was not found in {searched}; {advice}, or set `command` to its path")]
    Missing { name: Box<str>, searched: Box<str>, advice: Box<str> },
    #[error("{} does not exist; correct `command`, or install it there", path.display())]
    NoFile { path: PathBuf },
    #[error("{} is not executable; run chmod +x on it, or correct `command`", path.display())]
    NotExecutable { path: PathBuf },
    #[error("{} needs {interpreter} (its #! line), which does not exist; {hint}", path.display())]
    NoInterpreter { path: PathBuf, interpreter: Box<str>, hint: &'static str },
    #[error("the folder {} does not exist; create it, or correct `cwd`", cwd.display())]
    NoFolder { cwd: PathBuf },
    #[error(
        "argument {index} of {} has {length} bytes, but the system accepts at most \
         {ARGUMENT_BYTES_MAX}; shorten it",
        program.display()
    )]
    LongArgument { program: PathBuf, index: usize, length: usize },
    #[error("argument {index} of {} contains a NUL byte; remove it", program.display())]
    ZeroByte { program: PathBuf, index: usize },
    #[error("{message}")]
    NotAllowed { message: Box<str> },
    #[error("{action}: {source}; check the free space and permissions of the temporary folder")]
    Files { action: &'static str, source: std::io::Error },
    #[error("Tertulia is stopping and starts no more agents; try again in a new run")]
    Ending,
    #[error("{} could not be started: {source}; run it manually to see why", program.display())]
    Spawn { program: PathBuf, source: std::io::Error },
}

impl StartError {
    /// Returns whether the program does not exist. Otherwise it exists but cannot be used.
    pub(crate) fn is_missing(&self) -> bool {
        matches!(self, Self::Missing { .. } | Self::NoFile { .. })
    }
}

impl From<StartError> for TurnError {
    fn from(error: StartError) -> Self {
        // No setting causes a lack of memory or processes.
        let class = match &error {
            StartError::Spawn { source, .. } if source.kind() == std::io::ErrorKind::WouldBlock => {
                ErrorClass::Crash
            }
            StartError::Ending => ErrorClass::Cancelled,
            _ => ErrorClass::Setup,
        };
        Self::new(class, error.to_string())
    }
}

impl CommandLine {
    pub(crate) fn new(program: PathBuf, environment: Environment, spec: &AgentSpec) -> Self {
        // The program is located from our folder, but it starts in its own.
        let cwd = std::path::absolute(&spec.cwd).unwrap_or_else(|_| spec.cwd.clone());
        let args = spec.args.iter().map(|arg| OsString::from(&**arg)).collect();
        Self { program, args, environment, cwd, limits: spec.resources }
    }

    fn check(&self) -> Result<(), StartError> {
        if !self.cwd.is_dir() {
            return Err(StartError::NoFolder { cwd: self.cwd.clone() });
        }
        for (index, arg) in self.args.iter().enumerate() {
            let program = || self.program.clone();
            if arg.len() > ARGUMENT_BYTES_MAX {
                let length = arg.len();
                return Err(StartError::LongArgument { program: program(), index, length });
            }
            if arg.as_encoded_bytes().contains(&0) {
                return Err(StartError::ZeroByte { program: program(), index });
            }
        }
        Ok(())
    }
}

/// A prepared turn of an agent that is a program, with the data that all such agents need. The agent's own file in
/// `agents` adds the rest of the command line. docs/agents.md describes the observed behaviour of the programs.
#[derive(Debug)]
pub(crate) struct Prepared {
    pub(crate) command: CommandLine,
    pub(crate) prompt: String,
    /// Deleted when the turn has ended.
    pub(crate) folder: Option<TempDir>,
    pub(crate) profile: Option<NamedTempFile>,
}

impl Prepared {
    pub(crate) fn new(spec: &AgentSpec, request: &TurnRequest<'_>) -> Result<Self, StartError> {
        let (command, prompt) = (Self::command(spec)?, sent_prompt(spec, request));
        Ok(Self { command, prompt, folder: None, profile: None })
    }

    /// Returns the command without the arguments of a turn.
    pub(crate) fn command(spec: &AgentSpec) -> Result<CommandLine, StartError> {
        if !spec.cwd.is_dir() {
            return Err(StartError::NoFolder { cwd: spec.cwd.clone() });
        }
        let agent = spec.kind.definition();
        let environment = Environment::for_agent(Some(agent), &spec.env);
        let default = agent.cli.as_ref().map_or("", |cli| cli.program);
        let name = spec.program.as_deref().unwrap_or(default);
        let program = program::resolve(name, &environment, &spec.cwd)?;
        Ok(CommandLine::new(program, environment, spec))
    }

    pub(crate) fn args<A: AsRef<OsStr>>(&mut self, args: impl IntoIterator<Item = A>) {
        self.command.args.extend(args.into_iter().map(|arg| arg.as_ref().to_owned()));
    }

    pub(crate) fn model(&mut self, option: &str, spec: &AgentSpec) {
        if let Some(model) = &spec.model {
            self.args([option, model]);
        }
    }

    /// Sets a variable, unless the team file sets it.
    pub(crate) fn set_default(&mut self, spec: &AgentSpec, name: &str, value: impl AsRef<OsStr>) {
        if !spec.env.contains_key(name) {
            self.command.environment.set(name, value);
        }
    }

    pub(crate) fn system_file(
        &mut self,
        option: &str,
        system: Option<&str>,
    ) -> Result<(), StartError> {
        let Some(system) = system.filter(|system| !system.is_empty()) else { return Ok(()) };
        let folder = private_folder()?;
        let path = folder.path().join("system.md");
        let written = std::fs::write(&path, system);
        written.map_err(|source| StartError::Files { action: "the system text", source })?;
        self.args([option.as_ref(), path.as_os_str()]);
        self.folder = Some(folder);
        Ok(())
    }
}

pub(crate) fn with_system_text(system: Option<&str>, prompt: &str) -> String {
    match system.filter(|system| !system.is_empty()) {
        Some(system) => format!("{system}\n\n{prompt}"),
        None => prompt.to_owned(),
    }
}

/// Creates a folder for the turn that nobody else may read.
pub(crate) fn private_folder() -> Result<TempDir, StartError> {
    let owner_only = std::fs::Permissions::from_mode(0o700);
    let made = tempfile::Builder::new().prefix("tertulia-").permissions(owner_only).tempdir();
    let action = "no folder could be made for the turn";
    made.map_err(|source| StartError::Files { action, source })
}

#[derive(Debug)]
pub(crate) struct Running {
    pub(crate) stdin: Option<ChildStdin>,
    pub(crate) stdout: Option<ChildStdout>,
    pub(crate) stderr: Option<ChildStderr>,
    child: Child,
    link: Option<Link>,
    exit: Option<Exit>,
    scope: ProcessScope,
    orphans_killed: Option<usize>,
}

/// Starts a program in the strongest containment that this machine allows, or in the one that a
/// test requests.
pub(crate) fn start(
    command: &CommandLine,
    turn: &str,
    forced: Option<Containment>,
) -> Result<Running, StartError> {
    command.check()?;
    let scope = ProcessScope::new(turn, &command.limits, forced);
    let spawned = match scope.supervise(&command.program, &command.args, command.limits) {
        Some(line) => spawn_supervised(command, &scope, line),
        None => spawn_alone(command, &scope),
    };
    let (child, pipes, link) = spawned.inspect_err(|_| scope.release())?;
    let (stdin, stdout, stderr) = pipes;
    if let Some(stdout) = &stdout {
        widen(stdout);
    }
    tracing::debug!(program = %command.program.display(), pid = child.id(), turn, "started");
    Ok(Running { stdin, stdout, stderr, child, link, exit: None, scope, orphans_killed: None })
}

type Spawned =
    (Child, (Option<ChildStdin>, Option<ChildStdout>, Option<ChildStderr>), Option<Link>);

fn spawn_alone(command: &CommandLine, scope: &ProcessScope) -> Result<Spawned, StartError> {
    let mut line = scope.wrap(&command.program, &command.args);
    set_surroundings(&mut line, command);
    let (name, value) = scope.mark();
    line.env(name, value);
    line.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
    let mut child = spawn(command, scope, line, None)?;
    let pipes = (child.stdin.take(), child.stdout.take(), child.stderr.take());
    Ok((child, pipes, None))
}

fn spawn_supervised(
    command: &CommandLine,
    scope: &ProcessScope,
    mut line: Command,
) -> Result<Spawned, StartError> {
    let opened = Link::open();
    let refused = |source| StartError::Spawn { program: command.program.clone(), source };
    let (link, Pipes { stdin, stdout, stderr }, theirs) = opened.map_err(refused)?;
    set_surroundings(&mut line, command);
    line.stdin(Stdio::from(theirs)).stdout(Stdio::null()).stderr(Stdio::null());
    let child = spawn(command, scope, line, link.handle())?;
    Ok((child, (Some(stdin), Some(stdout), Some(stderr)), Some(link)))
}

/// Starts the prepared command and drops it, together with our copies of its descriptors.
fn spawn(
    command: &CommandLine,
    scope: &ProcessScope,
    mut line: Command,
    link: Option<UnixStream>,
) -> Result<Child, StartError> {
    let spawned = scope.spawn(&mut line, link).ok_or(StartError::Ending)?;
    spawned.map_err(|source| StartError::Spawn { program: command.program.clone(), source })
}

fn set_surroundings(line: &mut Command, command: &CommandLine) {
    line.env_clear().envs(command.environment.iter()).env("PWD", &command.cwd);
    line.current_dir(&command.cwd);
}

/// Makes the pipe as large as possible. Gemini echoes the prompt and exits without waiting until its last lines are
/// read, so output that does not fit into the pipe is lost.
fn widen(stdout: &ChildStdout) {
    #[cfg(target_os = "linux")]
    if let Err(error) = rustix::pipe::fcntl_setpipe_size(stdout, PIPE_BYTES) {
        tracing::debug!(%error, "the pipe stays as it is");
    }
    #[cfg(not(target_os = "linux"))]
    let _ = stdout;
}

impl Running {
    pub(crate) fn containment(&self) -> Containment {
        self.scope.containment()
    }

    /// Returns how the program exited, if it has exited. Also scans for descendants, so call it several times a
    /// second.
    pub(crate) fn poll(&mut self) -> Option<Exit> {
        if self.exit.is_none() {
            self.scope.mechanism().refresh();
            self.exit = self.reported_exit();
        }
        self.exit
    }

    /// Returns the exit that its supervisor reports, or the one that we see without a supervisor.
    fn reported_exit(&mut self) -> Option<Exit> {
        if let Some(link) = &mut self.link {
            // An agent may stop its supervisor. A stopped supervisor could not end the agent.
            proc_table::resume_if_stopped(self.child.id());
            let known = link.agent;
            link.receive();
            if let Some(pid) = link.agent.filter(|_| known.is_none()) {
                self.scope.mechanism().track_program(pid);
            }
            if link.exit.is_some() || !link.is_closed {
                return link.exit;
            }
        }
        match self.child.try_wait() {
            // A supervisor that reported no exit before it ended everything has killed the program.
            Ok(Some(status)) if self.link.is_some() && status.success() => Some(Exit::Signal(9)),
            Ok(status) => status.map(exit_of),
            // Other code has waited for it: it has exited, and its status is unknown.
            Err(_) => Some(Exit::Signal(0)),
        }
    }

    pub(crate) fn overuse(&self) -> Option<Overuse> {
        self.link.as_ref().and_then(|link| link.overuse)
    }

    /// Ends all remaining processes with SIGTERM, and after `grace` with SIGKILL. Returns how many processes the
    /// program left behind. Further calls return the same number.
    pub(crate) fn end(&mut self, grace: Duration) -> usize {
        if let Some(count) = self.orphans_killed {
            return count;
        }
        self.stdin = None;
        let mut orphans_killed = 0;
        let is_gone = self.poll().is_some();
        if is_gone && !self.wait_until_empty(SETTLE) {
            orphans_killed = self.scope.mechanism().other_processes().len();
        }
        if (!is_gone || orphans_killed > 0) && !grace.is_zero() {
            let program = match &self.link {
                // The supervisor gets no signal. The processes below it are known without its id.
                Some(link) => link.agent,
                None => Some(self.child.id()),
            };
            self.scope.terminate(program);
            self.wait_until_empty(grace);
            if !is_gone && self.exit.is_some() {
                orphans_killed = self.scope.mechanism().other_processes().len();
            }
        }
        self.kill();
        self.scope.release();
        self.orphans_killed = Some(orphans_killed);
        orphans_killed
    }

    fn wait_until_empty(&mut self, time: Duration) -> bool {
        let until = Instant::now() + time;
        let mut pause = POLL_FIRST;
        loop {
            if self.poll().is_some() && self.scope.mechanism().other_processes().is_empty() {
                return true;
            }
            if Instant::now() >= until {
                return false;
            }
            std::thread::sleep(pause);
            pause = (pause * 2).min(POLL_LAST);
        }
    }

    fn dismiss(&mut self) -> bool {
        let Some(link) = &mut self.link else { return false };
        let is_closed = link.close(KILL_WAIT);
        self.poll();
        is_closed && self.child.wait().is_ok_and(|status| status.success())
    }

    fn kill(&mut self) {
        if self.dismiss() {
            return;
        }
        let until = Instant::now() + KILL_WAIT;
        loop {
            // Repeated, because a process may start another one while it is being killed.
            self.scope.mechanism().kill();
            if self.exit.is_none() || self.link.is_some() {
                // This fails only if the process has already exited.
                let _ = self.child.kill();
            }
            if self.wait_until_empty(2 * POLL_LAST) {
                return;
            }
            if Instant::now() >= until {
                tracing::warn!(pid = self.child.id(), "processes of a turn could not be ended");
                return;
            }
        }
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        self.end(Duration::ZERO);
    }
}

fn exit_of(status: ExitStatus) -> Exit {
    use std::os::unix::process::ExitStatusExt;
    match (status.code(), status.signal()) {
        (Some(code), _) => Exit::Code(code),
        (None, signal) => Exit::Signal(signal.unwrap_or(0)),
    }
}
