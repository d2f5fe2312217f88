//! The supervisor itself: starts the agent, waits for it and its orphans, checks the limits, and
//! kills everything below it when the socket to our program closes. Runs in its own process.

use std::io::Read;
use std::os::fd::AsFd;
use std::os::unix::net::UnixStream;
use std::process::{ChildStdin, ExitCode, Stdio};
use std::sync::mpsc::{Receiver, RecvTimeoutError, Sender, channel};
use std::time::{Duration, Instant};

use rustix::io::Errno;
use rustix::process::{Signal, WaitOptions, WaitStatus};
use tertulia_dialect::stream::Exit;

use super::SupervisorArgs;
use super::link::{SupervisorMessage, receive_pipes};
use crate::process::control_group::ControlGroup;
use crate::process::limits::Meter;
use crate::process::proc_table::{self, Row};

const REFRESH_INTERVAL: Duration = Duration::from_millis(200);
/// Time limit for ending everything. It is reached only by processes that hang in the kernel or run as another user.
const END_MAX: Duration = Duration::from_secs(10);
const PAUSE_FIRST: Duration = Duration::from_millis(1);
const PAUSE_LAST: Duration = Duration::from_millis(50);

enum Event {
    /// A child died: the agent or an orphan.
    Dead(u32, WaitStatus),
    Closed,
}

pub(super) fn run(arguments: &[std::ffi::OsString]) -> ExitCode {
    let Some(args) = SupervisorArgs::parse(arguments) else { return ExitCode::from(2) };
    let is_clean = adopt_orphans().and_then(|()| {
        let link = UnixStream::from(std::io::stdin().as_fd().try_clone_to_owned()?);
        Ok(Supervisor::new(args, link).run())
    });
    match is_clean {
        Ok(true) => ExitCode::SUCCESS,
        Ok(false) | Err(_) => ExitCode::FAILURE,
    }
}

fn adopt_orphans() -> std::io::Result<()> {
    rustix::process::setsid()?;
    #[cfg(target_os = "linux")]
    {
        use rustix::process::{DumpableBehavior, set_child_subreaper, set_dumpable_behavior};
        let _ = std::fs::write("/proc/self/comm", "tertulia-turn");
        set_child_subreaper(Some(rustix::process::getpid()))?;
        // The agent must not inspect this process.
        let _ = set_dumpable_behavior(DumpableBehavior::NotDumpable);
    }
    Ok(())
}

struct Supervisor {
    args: SupervisorArgs,
    group: Option<ControlGroup>,
    link: UnixStream,
    meter: Meter,
}

impl Supervisor {
    fn new(args: SupervisorArgs, link: UnixStream) -> Self {
        let group = args.group.as_deref().map(ControlGroup::at);
        let meter = Meter::new(args.limits, group.as_ref());
        Self { args, group, link, meter }
    }

    fn run(mut self) -> bool {
        let Some(agent) = self.start() else { return true };
        SupervisorMessage::Started(agent).send(&self.link);
        let (sender, events) = channel();
        let reaper = sender.clone();
        let threads = self.link.try_clone().and_then(|link| {
            std::thread::Builder::new().spawn(move || reap(&reaper))?;
            std::thread::Builder::new().spawn(move || await_close(link, &sender))
        });
        if threads.is_ok() {
            self.run_until_closed(agent, &events);
        }
        let is_clean = self.end_all();
        if let Some(group) = &self.group {
            group.remove();
        }
        is_clean
    }

    /// Starts the agent with the received pipes. If that fails, prints the same error text and returns the same exit
    /// code as a shell.
    fn start(&self) -> Option<u32> {
        let [stdin, stdout, stderr] = receive_pipes(&self.link)?;
        let error_output = stderr.try_clone();
        let mut command = self.args.command();
        command.stdin(Stdio::from(stdin)).stdout(Stdio::from(stdout)).stderr(Stdio::from(stderr));
        match command.spawn() {
            Ok(child) => Some(child.id()),
            Err(error) => {
                if let Ok(error_output) = error_output {
                    use std::io::Write;
                    let line = format!("{}: {error}\n", self.args.program.display());
                    let _ = ChildStdin::from(error_output).write_all(line.as_bytes());
                }
                let is_missing = error.kind() == std::io::ErrorKind::NotFound;
                let code = if is_missing { 127 } else { 126 };
                SupervisorMessage::Ended(Exit::Code(code)).send(&self.link);
                None
            }
        }
    }

    fn run_until_closed(&mut self, agent: u32, events: &Receiver<Event>) {
        let mut refreshed = Instant::now();
        let mut is_over = false;
        loop {
            match events.recv_timeout(REFRESH_INTERVAL.saturating_sub(refreshed.elapsed())) {
                Ok(Event::Dead(pid, status)) if pid == agent => {
                    // The kernel may have enforced a limit and so caused the exit.
                    is_over = is_over || self.check_limits();
                    SupervisorMessage::Ended(exit_of(status)).send(&self.link);
                }
                Ok(Event::Dead(..)) | Err(RecvTimeoutError::Timeout) => {}
                Ok(Event::Closed) | Err(RecvTimeoutError::Disconnected) => return,
            }
            if !is_over && refreshed.elapsed() >= REFRESH_INTERVAL {
                is_over = self.check_limits();
                refreshed = Instant::now();
            } else if is_over {
                refreshed = Instant::now();
            }
        }
    }

    fn check_limits(&mut self) -> bool {
        let below = || self.below();
        let Some(overuse) = self.meter.check(below) else { return false };
        SupervisorMessage::Over(overuse).send(&self.link);
        self.end_all();
        true
    }

    fn below(&self) -> Vec<Row> {
        match &self.group {
            Some(group) => group.rows(),
            None => proc_table::rows_below(std::process::id()),
        }
    }

    /// Kills everything until nothing is left. Returns whether that succeeded.
    fn end_all(&self) -> bool {
        let until = Instant::now() + END_MAX;
        let mut pause = PAUSE_FIRST;
        loop {
            // A process may have started another one while it was being killed, so the table is read again.
            let inside = self.group.as_ref().map_or(0, ControlGroup::kill);
            for row in proc_table::rows_below(std::process::id()) {
                proc_table::signal(row.identity, Signal::KILL);
            }
            // The table can miss a process that keeps forking and exiting. But its ancestors always end at a child of
            // ours, and the kernel tells whether we have one.
            if inside == 0 && has_no_child() {
                return true;
            }
            if Instant::now() >= until {
                return false;
            }
            let next = Instant::now() + pause;
            while Instant::now() < next && !has_no_child() {
                for child in proc_table::own_children() {
                    proc_table::signal(child.identity, Signal::KILL);
                }
                std::thread::yield_now();
            }
            pause = (pause * 2).min(PAUSE_LAST);
        }
    }
}

/// Returns whether this process has no child, including dead ones. Then it has no descendant either, because orphans
/// become its children before their parent disappears.
fn has_no_child() -> bool {
    use rustix::process::{WaitId, WaitIdOptions};
    let options = WaitIdOptions::EXITED | WaitIdOptions::NOHANG | WaitIdOptions::NOWAIT;
    matches!(rustix::process::waitid(WaitId::All, options), Err(Errno::CHILD))
}

/// Waits for the agent and all orphans. Ends when there is no child: then there is no descendant either, so no orphan
/// can follow.
fn reap(events: &Sender<Event>) {
    loop {
        match rustix::process::wait(WaitOptions::empty()) {
            Ok(Some((pid, status))) => {
                let pid = pid.as_raw_nonzero().get().unsigned_abs();
                if events.send(Event::Dead(pid, status)).is_err() {
                    return;
                }
            }
            Ok(None) | Err(Errno::INTR) => {}
            Err(_) => return,
        }
    }
}

fn await_close(mut link: UnixStream, events: &Sender<Event>) {
    let mut byte = [0];
    while let Err(error) = link.read(&mut byte) {
        if error.kind() != std::io::ErrorKind::Interrupted {
            break;
        }
    }
    let _ = events.send(Event::Closed);
}

fn exit_of(status: WaitStatus) -> Exit {
    match status.exit_status() {
        Some(code) => Exit::Code(code),
        None => Exit::Signal(status.terminating_signal().unwrap_or(0)),
    }
}
