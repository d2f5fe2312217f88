//! A PostgreSQL server in its own folder with a socket. It stops when the process that started it ends for any
//! reason. For `cargo xtask`, and for tests that need their own server.

use std::io::{self, BufRead, BufReader};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};

const WATCHDOG: &str = include_str!("postgres.sh");

/// A running server. Its user `tertulia` has all rights.
#[derive(Debug)]
pub struct PostgresServer {
    folder: String,
    programs: PathBuf,
    /// A process that stops the server when its input is closed, which happens when this process ends.
    watchdog: Child,
}

impl PostgresServer {
    /// Returns the folder with `initdb` and `pg_ctl`, in `PATH` or in Debian's place for them.
    #[must_use]
    pub fn find_programs() -> Option<PathBuf> {
        let in_path = std::env::var_os("PATH").unwrap_or_default();
        let mut folders: Vec<_> = std::env::split_paths(&in_path).collect();
        if let Ok(versions) = Path::new("/usr/lib/postgresql").read_dir() {
            let mut found: Vec<_> = versions.flatten().map(|one| one.path().join("bin")).collect();
            found.sort();
            folders.extend(found.into_iter().rev());
        }
        let has = |folder: &PathBuf, name| folder.join(name).is_file();
        folders.into_iter().find(|folder| has(folder, "initdb") && has(folder, "pg_ctl"))
    }

    /// Creates a server and starts it.
    ///
    /// # Errors
    /// If a program is missing or the server does not start; its messages are on standard error.
    pub fn start(programs: PathBuf) -> io::Result<Self> {
        let mut command = as_server_user("sh".as_ref())?;
        command.args(["-c", WATCHDOG, "watchdog"]).arg(&programs);
        let mut watchdog = command.stdin(Stdio::piped()).stdout(Stdio::piped()).spawn()?;
        let mut folder = String::new();
        if let Some(said) = watchdog.stdout.take() {
            BufReader::new(said).read_line(&mut folder)?;
        }
        let server = Self { folder: folder.trim().to_owned(), programs, watchdog };
        match server.folder.is_empty() {
            true => Err(io::Error::other("the PostgreSQL server did not start; see above")),
            false => Ok(server),
        }
    }

    /// Returns the folder of its socket.
    #[must_use]
    pub fn folder(&self) -> &str {
        &self.folder
    }

    /// Ends all its processes at once, and starts it again.
    ///
    /// # Errors
    /// If the server does not start again.
    pub fn crash(&self) -> io::Result<()> {
        let mut command = as_server_user(&self.programs.join("pg_ctl"))?;
        command.args(["-m", "immediate", "-w", "-t", "120", "-l", "/dev/null", "restart", "-D"]);
        command.arg(Path::new(&self.folder).join("data"));
        let done = command.stdin(Stdio::null()).stdout(Stdio::null()).status()?;
        match done.success() {
            true => Ok(()),
            false => Err(io::Error::other("the PostgreSQL server did not start again")),
        }
    }
}

impl Drop for PostgresServer {
    fn drop(&mut self) {
        drop(self.watchdog.stdin.take());
        let _ = self.watchdog.wait();
    }
}

/// The server refuses to run as root, so root starts it as the user `postgres`, which the package creates.
fn as_server_user(program: &Path) -> io::Result<Command> {
    let mut command = if is_root()? {
        let mut command = Command::new("setpriv");
        command.args(["--reuid=postgres", "--regid=postgres", "--init-groups"]).arg(program);
        command
    } else {
        Command::new(program)
    };
    command.current_dir("/");
    Ok(command)
}

/// Returns whether this process runs as root.
///
/// # Errors
/// If `id` is missing.
pub fn is_root() -> io::Result<bool> {
    let id = Command::new("id").arg("-u").output()?;
    Ok(id.stdout.trim_ascii() == b"0")
}
