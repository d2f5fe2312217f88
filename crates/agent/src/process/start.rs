//! Starts a program so that nothing of it can stay behind. [`Running::end`] is called at each end, good or bad; one that
//! is dropped ends everything at once, without the polite word.

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
use super::holder::Holder;
use super::neutral::sent_prompt;
use super::supervisor::{Link, Pipes};
use super::{proc_table, program};
use crate::{AgentSpec, Containment, Overuse, ResourceLimits, TurnRequest};

/// The largest pipe that Linux gives to everybody.
#[cfg(target_os = "linux")]
const PIPE_BYTES: usize = 1 << 20;

const POLL_FIRST: Duration = Duration::from_millis(2);
const POLL_LAST: Duration = Duration::from_millis(50);
/// How long the helpers of an agent that ended may take to end too, before they count as left behind.
const SETTLE: Duration = Duration::from_millis(150);
const KILL_WAIT: Duration = Duration::from_secs(2);

/// What is started: an absolute program, its arguments, its whole environment and its folder.
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
        "argument {index} of {} has {length} bytes, and the system takes {ARGUMENT_BYTES_MAX}; shorten it",
        program.display()
    )]
    LongArgument { program: PathBuf, index: usize, length: usize },
    #[error("argument {index} of {} contains a NUL byte; remove it", program.display())]
    ZeroByte { program: PathBuf, index: usize },
    #[error("{message}")]
    NotAllowed { message: Box<str> },
    #[error("{what}: {source}; check the free space and permissions of the temporary folder")]
    Files { what: &'static str, source: std::io::Error },
    #[error("everything is being ended, and nothing is started any more; ask again in a new run")]
    Ending,
    #[error("{} could not be started: {source}; run it manually to see why", program.display())]
    Spawn { program: PathBuf, source: std::io::Error },
}

impl StartError {
    /// Whether there is no such program. Else it is there and cannot be used.
    pub(crate) fn is_missing(&self) -> bool {
        matches!(self, Self::Missing { .. } | Self::NoFile { .. })
    }
}

impl From<StartError> for TurnError {
    fn from(error: StartError) -> Self {
        // What the machine refuses for want of memory or processes is no one's setting.
        let class = match &error {
            StartError::Spawn { source, .. } if source.kind() == std::io::ErrorKind::WouldBlock => {
                ErrorClass::Crash
            }
            StartError::Ending => ErrorClass::Cancelled,
            _ => ErrorClass::Setup,
        };
        Self { class, message: error.to_string().into() }
    }
}

impl CommandLine {
    pub(crate) fn new(program: PathBuf, environment: Environment, spec: &AgentSpec) -> Self {
        // The program is looked for from where we are, and started from where it works.
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

/// How an agent that is a program is started: what all have in common. The rest of the command line is made by its own
/// file in `agents`; what was seen of the programs is in docs/agents.md.
#[derive(Debug)]
pub(crate) struct Prepared {
    pub(crate) command: CommandLine,
    pub(crate) prompt: String,
    /// What is deleted when the turn has ended.
    pub(crate) folder: Option<TempDir>,
    pub(crate) profile: Option<NamedTempFile>,
}

impl Prepared {
    pub(crate) fn new(spec: &AgentSpec, request: &TurnRequest<'_>) -> Result<Self, StartError> {
        if !spec.cwd.is_dir() {
            return Err(StartError::NoFolder { cwd: spec.cwd.clone() });
        }
        let agent = spec.kind.definition();
        let environment = Environment::of_agent(Some(agent), &spec.env);
        let default = agent.cli.as_ref().map_or("", |cli| cli.program);
        let name = spec.program.as_deref().unwrap_or(default);
        let program = program::resolve(name, &environment, &spec.cwd)?;
        let command = CommandLine::new(program, environment, spec);
        let prompt = sent_prompt(spec, request);
        Ok(Self { command, prompt, folder: None, profile: None })
    }

    pub(crate) fn args<A: AsRef<OsStr>>(&mut self, args: impl IntoIterator<Item = A>) {
        self.command.args.extend(args.into_iter().map(|arg| arg.as_ref().to_owned()));
    }

    pub(crate) fn model(&mut self, option: &str, spec: &AgentSpec) {
        if let Some(model) = &spec.model {
            self.args([option, model]);
        }
    }

    /// Sets a variable of ours, unless the team file says otherwise.
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
        written.map_err(|source| StartError::Files { what: "the system text", source })?;
        self.args([option.as_ref(), path.as_os_str()]);
        self.folder = Some(folder);
        Ok(())
    }
}

pub(crate) fn headed(system: Option<&str>, prompt: &str) -> String {
    match system.filter(|system| !system.is_empty()) {
        Some(system) => format!("{system}\n\n{prompt}"),
        None => prompt.to_owned(),
    }
}

/// A folder of the turn's own, which nobody else may read.
pub(crate) fn private_folder() -> Result<TempDir, StartError> {
    let owner_only = std::fs::Permissions::from_mode(0o700);
    let made = tempfile::Builder::new().prefix("tertulia-").permissions(owner_only).tempdir();
    let what = "no folder could be made for the turn";
    made.map_err(|source| StartError::Files { what, source })
}

#[derive(Debug)]
pub(crate) struct Running {
    pub(crate) stdin: Option<ChildStdin>,
    pub(crate) stdout: Option<ChildStdout>,
    pub(crate) stderr: Option<ChildStderr>,
    child: Child,
    link: Option<Link>,
    exit: Option<Exit>,
    holder: Holder,
    left_behind: Option<usize>,
}

/// Starts a program in the strongest containment that this machine allows, or in the one that a test asks for.
pub(crate) fn start(
    command: &CommandLine,
    turn: &str,
    forced: Option<Containment>,
) -> Result<Running, StartError> {
    command.check()?;
    let holder = Holder::new(turn, &command.limits, forced);
    let spawned = match holder.supervise(&command.program, &command.args, command.limits) {
        Some(line) => spawn_supervised(command, &holder, line),
        None => spawn_alone(command, &holder),
    };
    let (child, pipes, link) = spawned.inspect_err(|_| holder.release())?;
    let (stdin, stdout, stderr) = pipes;
    if let Some(stdout) = &stdout {
        widen(stdout);
    }
    tracing::debug!(program = %command.program.display(), pid = child.id(), turn, "started");
    Ok(Running { stdin, stdout, stderr, child, link, exit: None, holder, left_behind: None })
}

type Spawned =
    (Child, (Option<ChildStdin>, Option<ChildStdout>, Option<ChildStderr>), Option<Link>);

fn spawn_alone(command: &CommandLine, holder: &Holder) -> Result<Spawned, StartError> {
    let mut line = holder.wrap(&command.program, &command.args);
    set_surroundings(&mut line, command);
    let (name, value) = holder.mark();
    line.env(name, value);
    line.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
    let mut child = spawn(command, holder, line, None)?;
    let pipes = (child.stdin.take(), child.stdout.take(), child.stderr.take());
    Ok((child, pipes, None))
}

fn spawn_supervised(
    command: &CommandLine,
    holder: &Holder,
    mut line: Command,
) -> Result<Spawned, StartError> {
    let opened = Link::open();
    let refused = |source| StartError::Spawn { program: command.program.clone(), source };
    let (link, Pipes { stdin, stdout, stderr }, theirs) = opened.map_err(refused)?;
    set_surroundings(&mut line, command);
    line.stdin(Stdio::from(theirs)).stdout(Stdio::null()).stderr(Stdio::null());
    let child = spawn(command, holder, line, link.handle())?;
    Ok((child, (Some(stdin), Some(stdout), Some(stderr)), Some(link)))
}

/// Starts what was made ready. The command goes with it, and so do our copies of its descriptors.
fn spawn(
    command: &CommandLine,
    holder: &Holder,
    mut line: Command,
    link: Option<UnixStream>,
) -> Result<Child, StartError> {
    let spawned = holder.spawn(&mut line, link).ok_or(StartError::Ending)?;
    spawned.map_err(|source| StartError::Spawn { program: command.program.clone(), source })
}

fn set_surroundings(line: &mut Command, command: &CommandLine) {
    line.env_clear().envs(command.environment.iter()).env("PWD", &command.cwd);
    line.current_dir(&command.cwd);
}

/// Gives the pipe as much room as one may have. Gemini ends without waiting until its last lines are
/// read, behind the echo of the prompt; what does not fit into the pipe by then is lost.
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
        self.holder.containment()
    }

    /// How the program itself ended, if it has. To be asked several times a second: where descendants
    /// are only looked for, this is when it is done.
    pub(crate) fn poll(&mut self) -> Option<Exit> {
        if self.exit.is_none() {
            self.holder.means().look();
            self.exit = self.heard_exit();
        }
        self.exit
    }

    /// How the program ended, as its supervisor says, or as we see where it has none or none any more.
    fn heard_exit(&mut self) -> Option<Exit> {
        if let Some(link) = &mut self.link {
            // An agent may stop its supervisor, which then could not end it.
            proc_table::resume_if_stopped(self.child.id());
            let known = link.agent;
            link.hear();
            if let Some(pid) = link.agent.filter(|_| known.is_none()) {
                self.holder.means().hold_program(pid);
            }
            if link.exit.is_some() || !link.is_closed {
                return link.exit;
            }
        }
        match self.child.try_wait() {
            // A supervisor that was told to end everything, and left no word of the program, has killed it.
            Ok(Some(status)) if self.link.is_some() && status.success() => Some(Exit::Signal(9)),
            Ok(status) => status.map(exit_of),
            // Somebody else waited for it: it is gone, and how is not known.
            Err(_) => Some(Exit::Signal(0)),
        }
    }

    pub(crate) fn overuse(&self) -> Option<Overuse> {
        self.link.as_ref().and_then(|link| link.overuse)
    }

    /// Ends all that is left: a polite word, and after `grace` the end. Gives how many processes were
    /// left behind by the program itself. A second call gives the same again.
    pub(crate) fn end(&mut self, grace: Duration) -> usize {
        if let Some(count) = self.left_behind {
            return count;
        }
        self.stdin = None;
        let mut left_behind = 0;
        let is_gone = self.poll().is_some();
        if is_gone && !self.wait_until_empty(SETTLE) {
            left_behind = self.holder.means().others().len();
        }
        if (!is_gone || left_behind > 0) && !grace.is_zero() {
            let program = match &self.link {
                // Not to the supervisor; what is below it is known without its number.
                Some(link) => link.agent,
                None => Some(self.child.id()),
            };
            self.holder.terminate(program);
            self.wait_until_empty(grace);
            if !is_gone && self.exit.is_some() {
                left_behind = self.holder.means().others().len();
            }
        }
        self.kill();
        self.holder.release();
        self.left_behind = Some(left_behind);
        left_behind
    }

    fn wait_until_empty(&mut self, time: Duration) -> bool {
        let until = Instant::now() + time;
        let mut pause = POLL_FIRST;
        loop {
            if self.poll().is_some() && self.holder.means().others().is_empty() {
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
            // Again and again: what is being killed may start another one.
            self.holder.means().kill();
            if self.exit.is_none() || self.link.is_some() {
                // It fails only where the process is gone already.
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
