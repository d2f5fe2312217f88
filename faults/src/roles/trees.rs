//! `trees`: agents that leave hostile process trees. After each turn, and within five seconds of a
//! SIGKILL of the process that ran it, no process of the tree may be alive: in control groups,
//! below a supervisor as root, and below one as an ordinary user. The control runs turns without a
//! supervisor.

mod grow;
mod inside;

use std::io::{BufRead, BufReader};
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStdout, Command, Stdio};
use std::time::{Duration, Instant};

use crate::error::FaultsError;
use crate::options::Options;
use crate::report::Report;
use crate::tools;
use grow::Tree;
pub(crate) use inside::run as inside;

/// An ordinary user, who need not exist.
const USER: &str = "65534";
/// Number of processes that run turns in parallel per lane; most of a turn is waiting.
const WORKERS: u64 = 4;
/// For every n-th tree the process that runs the turn is killed.
const KILL_EVERY: u64 = 5;
/// The guaranteed time after a SIGKILL.
const AFTER_KILL: Duration = Duration::from_secs(5);
/// Number of trees for the control.
const CONTROL: u64 = 12;

/// The user that runs the turns, and the containment.
#[derive(Clone, Copy, Debug)]
struct Lane {
    name: &'static str,
    containment: &'static str,
    is_user: bool,
}

/// Runs the role.
pub(crate) fn run(arguments: &[String]) -> Result<bool, FaultsError> {
    let mut options = Options::parse("trees", arguments, &["count", "seed"])?;
    let mut report = Report::new("trees", &mut options)?;
    let (count, seed) = (options.number("count", 200)?, options.seed()?);
    if !tools::is_root() {
        return Err(FaultsError::unexpected(
            "`trees` needs root, because it also runs as another user",
        ));
    }
    tools::need("setpriv")?;
    let shared = SharedProgram::new()?;
    // As many as root, half of them in control groups, as as an ordinary user.
    let lanes = [
        (Lane { name: "in groups", containment: "group", is_user: false }, count / 2),
        (Lane { name: "as root", containment: "supervisor", is_user: false }, count - count / 2),
        (Lane { name: "as a user", containment: "supervisor", is_user: true }, count),
    ];
    let mut slowest = Duration::ZERO;
    for (number, (lane, count)) in (0..).zip(lanes) {
        let first = number * 1_000_000;
        slowest = slowest.max(lane.run(&shared, seed, first..first + count, &mut report)?);
    }
    let control = Lane { name: "control", containment: "descendants", is_user: true };
    let survived = control.survivors(&shared, seed, 9_000_000..9_000_000 + CONTROL)?;
    report.add("survivors of the control", survived);
    report.claim(survived > 0, "the control left no survivor, so nothing was tested");
    report.add("ms until the last was gone after a kill", slowest.as_millis() as u64);
    Ok(report.finish())
}

/// A folder with a copy of this program that every user can execute.
struct SharedProgram {
    _folder: tempfile::TempDir,
    program: PathBuf,
}

impl SharedProgram {
    fn new() -> Result<Self, FaultsError> {
        let failed = || FaultsError::io("a folder for the program");
        let folder = tempfile::tempdir().map_err(failed())?;
        let open = std::fs::Permissions::from_mode(0o755);
        std::fs::set_permissions(folder.path(), open).map_err(failed())?;
        let program = folder.path().join("tertulia-faults");
        std::fs::copy(tools::own_path()?, &program).map_err(failed())?;
        Ok(Self { _folder: folder, program })
    }
}

impl Lane {
    /// Returns the command that runs turns.
    fn command(self, program: &Path, seed: u64, trees: std::ops::Range<u64>) -> Command {
        let mut command = match self.is_user {
            true => {
                let mut command = Command::new("setpriv");
                command.args(["--reuid", USER, "--regid", USER, "--clear-groups"]).arg(program);
                command
            }
            false => Command::new(program),
        };
        command.args(["trees-inside", "--containment", self.containment]);
        command.args(["--owner", &std::process::id().to_string(), "--seed", &seed.to_string()]);
        command.args(["--from", &trees.start.to_string(), "--to", &trees.end.to_string()]);
        command.current_dir("/").env("HOME", "/").stdin(Stdio::null()).stdout(Stdio::piped());
        command
    }

    /// Runs turns, and kills some of the processes that run them. Returns the longest time until
    /// all were gone.
    fn run(
        self,
        shared: &SharedProgram,
        seed: u64,
        trees: std::ops::Range<u64>,
        report: &mut Report,
    ) -> Result<Duration, FaultsError> {
        let kills = (trees.end - trees.start) / KILL_EVERY;
        let killed = trees.start..trees.start + kills;
        let rest = trees.start + kills..trees.end;
        let share = (rest.end - rest.start).div_ceil(WORKERS).max(1);
        let mut workers = Vec::new();
        for number in 0..WORKERS {
            let from = (rest.start + number * share).min(rest.end);
            let to = (from + share).min(rest.end);
            workers
                .push((to - from, Worker::start(self.command(&shared.program, seed, from..to))?));
        }
        let mut slowest = Duration::ZERO;
        for tree in killed {
            slowest = slowest.max(self.kill_in_mid_turn(shared, seed, tree, report)?);
        }
        for (expected, worker) in workers {
            let lines = worker.finish()?;
            let reported = lines.iter().filter(|line| line.starts_with("gone ")).count() as u64;
            report.faults(reported);
            report.add(&format!("trees {}", self.name), reported);
            report.claim(
                reported == expected,
                format!("{}: {reported} of {expected}: {lines:?}", self.name),
            );
        }
        Ok(slowest)
    }

    /// Kills the process that runs a turn while the tree is running.
    fn kill_in_mid_turn(
        self,
        shared: &SharedProgram,
        seed: u64,
        number: u64,
        report: &mut Report,
    ) -> Result<Duration, FaultsError> {
        let mut command = self.command(&shared.program, seed, number..number + 1);
        command.args(["--stays", "1"]);
        let mut worker = Worker::start(command)?;
        let line = worker.line()?;
        report.claim(line.starts_with("ready "), format!("tree {number} said {line:?}"));
        tools::end(&mut worker.child);
        let tree = Tree::new(std::process::id(), number);
        let since = Instant::now();
        let is_gone = tools::until(AFTER_KILL, || tree.living().is_empty());
        report.faults(1);
        report.add(&format!("kills {}", self.name), 1);
        let living = tree.living();
        report
            .claim(is_gone, format!("{}: tree {number} lives after a kill: {living:?}", self.name));
        tree.fell();
        Ok(since.elapsed())
    }

    /// Returns how many trees leave processes, which are then killed.
    fn survivors(
        self,
        shared: &SharedProgram,
        seed: u64,
        trees: std::ops::Range<u64>,
    ) -> Result<u64, FaultsError> {
        let lines = Worker::start(self.command(&shared.program, seed, trees))?.finish()?;
        Ok(lines.iter().filter(|line| line.starts_with("lives ")).count() as u64)
    }
}

/// Handle of a process that runs turns.
struct Worker {
    child: Child,
    lines: BufReader<ChildStdout>,
}

impl Worker {
    fn start(mut command: Command) -> Result<Self, FaultsError> {
        let mut child = command.spawn().map_err(FaultsError::io("starting a worker"))?;
        let stdout = child.stdout.take().ok_or_else(|| FaultsError::unexpected("no pipe"))?;
        Ok(Self { child, lines: BufReader::new(stdout) })
    }

    fn line(&mut self) -> Result<String, FaultsError> {
        let mut line = String::new();
        self.lines.read_line(&mut line).map_err(FaultsError::io("hearing a worker"))?;
        Ok(line.trim_end().to_owned())
    }

    /// Returns all its output until it ends.
    fn finish(mut self) -> Result<Vec<String>, FaultsError> {
        let lines = self.lines.lines().collect::<Result<_, _>>();
        self.child.wait().map_err(FaultsError::io("waiting for a worker"))?;
        lines.map_err(FaultsError::io("hearing a worker"))
    }
}
