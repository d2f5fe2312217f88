//! A private PostgreSQL server for one role: created in a folder and reached through a socket
//! there. It is a child of this process, so that its end is noticed and its process id is not
//! reused.

use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::Duration;

use tertulia_store::{SessionStore, StoreUrl};

use crate::error::FaultsError;
use crate::scratch::Scratch;
use crate::tools;

const USER: &str = "postgres";
const LIMIT: Duration = Duration::from_secs(60);

/// A server, running or not.
pub(super) struct Server {
    folder: PathBuf,
    child: Option<Child>,
}

impl Server {
    /// Finds one of the server's programs. Some systems keep them in a separate folder.
    pub(super) fn program(name: &str) -> Option<PathBuf> {
        tools::find(name).or_else(|| {
            let versions = std::fs::read_dir("/usr/lib/postgresql").ok()?;
            let mut found: Vec<PathBuf> = versions
                .filter_map(|version| Some(version.ok()?.path().join("bin").join(name)))
                .filter(|program| program.is_file())
                .collect();
            found.sort();
            found.pop()
        })
    }

    /// Creates the files of a server.
    pub(super) fn make(scratch: &Scratch) -> Result<Self, FaultsError> {
        let folder = scratch.folder("server")?;
        if tools::is_root() {
            give_to_user(scratch.path(), &folder)?;
        }
        let server = Self { folder, child: None };
        let mut initdb = server.command("initdb")?;
        initdb.args(["-A", "trust", "-U", USER, "-D"]).arg(server.data());
        let said = scratch.file("said-initdb");
        match tools::run_into(&mut initdb, &said, LIMIT)? {
            true => Ok(server),
            false => Err(FaultsError::unexpected("initdb did not create a server")),
        }
    }

    /// The server refuses to run as root; then it runs as its own user.
    fn command(&self, name: &'static str) -> Result<Command, FaultsError> {
        let program = Self::program(name).ok_or(FaultsError::Missing("postgresql"))?;
        let mut command = if tools::is_root() {
            let mut command = Command::new("setpriv");
            let user = [format!("--reuid={USER}"), format!("--regid={USER}")];
            command.args(user).arg("--init-groups").arg(program);
            command
        } else {
            Command::new(program)
        };
        command.current_dir(&self.folder);
        Ok(command)
    }

    fn data(&self) -> PathBuf {
        self.folder.join("data")
    }

    /// Returns its address.
    pub(super) fn url(&self) -> String {
        let socket = self.folder.display().to_string().replace('/', "%2F");
        format!("postgres://{USER}@{socket}/{USER}")
    }

    /// Starts it if it does not run, and waits until it answers.
    pub(super) fn start(&mut self) -> Result<(), FaultsError> {
        let url = StoreUrl::Postgres(self.url());
        let mut last = None;
        let answers = tools::until(LIMIT, || {
            // After a SIGKILL the server may need several attempts.
            if let Err(error) = self.spawn_if_gone() {
                last = Some(error.to_string());
                return false;
            }
            match SessionStore::open(&url) {
                Ok(_) => true,
                Err(error) => {
                    last = Some(error.to_string());
                    false
                }
            }
        });
        let why = || FaultsError::unexpected(format!("the server does not answer: {last:?}"));
        answers.then_some(()).ok_or_else(why)
    }

    fn spawn_if_gone(&mut self) -> Result<(), FaultsError> {
        if let Some(child) = &mut self.child {
            let ended = child.try_wait().map_err(FaultsError::io("looking for the server"))?;
            if ended.is_none() {
                return Ok(());
            }
        }
        let log = self.folder.with_file_name("server-log");
        let log = std::fs::File::options().create(true).append(true).open(&log);
        let log = log.map_err(FaultsError::io("the log of the server"))?;
        let mut postgres = self.command("postgres")?;
        postgres.arg("-D").arg(self.data()).arg("-k").arg(&self.folder);
        postgres.args(["-c", "listen_addresses=", "-c", "max_connections=60"]);
        postgres.stdin(Stdio::null()).stdout(Stdio::null()).stderr(log);
        let child = postgres.spawn().map_err(FaultsError::io("starting the server"))?;
        self.child = Some(child);
        Ok(())
    }

    /// Runs `pg_ctl stop -m immediate`, without a checkpoint.
    pub(super) fn stop(&mut self) -> Result<(), FaultsError> {
        let Some(mut child) = self.child.take() else { return Ok(()) };
        let mut stop = self.command("pg_ctl")?;
        stop.args(["stop", "-m", "immediate", "-W", "-D"]).arg(self.data());
        let said = self.folder.with_file_name("said-stop");
        tools::run_into(&mut stop, &said, LIMIT)?;
        if tools::wait(&mut child, LIMIT)?.is_none() {
            tools::end(&mut child);
            return Err(FaultsError::unexpected("the server did not stop"));
        }
        Ok(())
    }

    /// Sends SIGKILL to its first process; the others notice by themselves.
    pub(super) fn kill(&mut self) {
        if let Some(mut child) = self.child.take() {
            tools::end(&mut child);
        }
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        let _ = self.stop();
    }
}

fn give_to_user(above: &Path, folder: &Path) -> Result<(), FaultsError> {
    let mut chown = Command::new("chown");
    let given = chown.arg(USER).arg(folder).status();
    given.map_err(FaultsError::io("chown"))?;
    let mode = std::os::unix::fs::PermissionsExt::from_mode(0o755);
    std::fs::set_permissions(above, mode).map_err(FaultsError::at(above))
}
