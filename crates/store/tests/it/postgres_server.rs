//! A PostgreSQL server for this test process: started when the first test wants it, reached by a
//! socket in a folder of its own, and stopped when the process ends, however it ends. Every test has a
//! database of its own on it.

use std::io::{BufRead, BufReader};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::LazyLock;
use std::sync::atomic::{AtomicU32, Ordering};

use tertulia_store::StoreUrl;
use tokio_postgres::{NoTls, SimpleQueryMessage};

/// Waits until its input is closed, which happens when the test process is gone, and stops the server.
/// An interrupt from the keyboard reaches it too and must not keep it from that.
const WATCHDOG: &str = r#"
    trap '' INT TERM HUP
    bin=$1
    dir=$(mktemp -d "${TMPDIR:-/tmp}/tertulia-pg.XXXXXX") || exit 1
    fail() { cat "$dir/log" >&2; rm -rf "$dir"; exit 1; }
    "$bin/initdb" --no-sync --encoding=UTF8 --locale=C --username=tertulia --auth=trust \
        -D "$dir/data" >"$dir/log" 2>&1 || fail
    printf '%s\n' 'local all locked scram-sha-256' 'local all all trust' >"$dir/data/pg_hba.conf"
    "$bin/pg_ctl" -D "$dir/data" -w -t 60 -l "$dir/log" \
        -o "-k $dir -c listen_addresses='' -c max_connections=300 -c fsync=on" \
        start >/dev/null 2>>"$dir/log" || fail
    echo "$dir"
    cat >/dev/null
    "$bin/pg_ctl" -D "$dir/data" -m immediate -w stop >/dev/null 2>&1
    rm -rf "$dir"
"#;

static SERVER: LazyLock<Server> = LazyLock::new(Server::start);
static DATABASES: AtomicU32 = AtomicU32::new(0);

/// A server of its own, for tests that harm it.
pub(crate) struct Server {
    /// The folder of the socket.
    folder: String,
    /// Its input is open as long as the process lives.
    watchdog: Child,
}

impl Server {
    pub(crate) fn start() -> Self {
        let mut command = as_postgres("sh");
        command.args(["-c", WATCHDOG, "watchdog"]).arg(programs());
        let watchdog = command.stdin(Stdio::piped()).stdout(Stdio::piped()).spawn();
        let mut watchdog = watchdog.expect("sh, or setpriv of util-linux, is missing");
        let mut folder = String::new();
        let mut said = BufReader::new(watchdog.stdout.take().unwrap());
        said.read_line(&mut folder).unwrap();
        let folder = folder.trim().to_owned();
        assert!(!folder.is_empty(), "the PostgreSQL server did not start; see above");
        Self { folder, watchdog }
    }

    /// The database that every server has.
    pub(crate) fn url(&self) -> StoreUrl {
        let folder = self.folder.replace('/', "%2F");
        StoreUrl::Postgres(format!("postgres://tertulia@{folder}/postgres"))
    }

    /// Ends all its processes without giving them time for anything, and starts it again.
    pub(crate) fn crash(&self) {
        let mut command = as_postgres(programs().join("pg_ctl").to_str().unwrap());
        command.args(["-m", "immediate", "-w", "-l", "/dev/null", "restart", "-D"]);
        command.arg(Path::new(&self.folder).join("data"));
        let done = command.stdin(Stdio::null()).stdout(Stdio::null()).status().unwrap();
        assert!(done.success(), "the server did not start again");
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        drop(self.watchdog.stdin.take());
        let _ = self.watchdog.wait();
    }
}

/// The server refuses to run as root.
fn as_postgres(program: &str) -> Command {
    let mut command = match is_root() {
        true => {
            let mut command = Command::new("setpriv");
            command.args(["--reuid=postgres", "--regid=postgres", "--init-groups", program]);
            command
        }
        false => Command::new(program),
    };
    command.current_dir("/");
    command
}

fn is_root() -> bool {
    let id = Command::new("id").arg("-u").output().expect("id of coreutils is missing");
    id.stdout.trim_ascii() == b"0"
}

/// The folder with `initdb` and `pg_ctl`; Debian's package is installed where there is none.
fn programs() -> PathBuf {
    if let Some(found) = look() {
        return found;
    }
    if is_root() {
        let install = "apt-get update && apt-get install -y --no-install-recommends postgresql";
        let _ = Command::new("sh").args(["-c", install]).status();
    }
    look().unwrap_or_else(|| {
        panic!(
            "initdb and pg_ctl are missing, in PATH and in /usr/lib/postgresql/*/bin; install the \
             package postgresql"
        )
    })
}

fn look() -> Option<PathBuf> {
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

/// A database for one test, taken away after it.
pub(crate) struct Database {
    pub(crate) name: String,
}

impl Database {
    pub(crate) fn new() -> Self {
        let name = format!("test_{}", DATABASES.fetch_add(1, Ordering::Relaxed));
        ask("postgres", &format!("CREATE DATABASE {name} TEMPLATE template0"));
        Self { name }
    }

    pub(crate) fn url(&self) -> StoreUrl {
        StoreUrl::Postgres(self.address("tertulia", ""))
    }

    /// Where a user finds it.
    pub(crate) fn address(&self, user: &str, settings: &str) -> String {
        let folder = SERVER.folder.replace('/', "%2F");
        format!("postgres://{user}@{folder}/{}{settings}", self.name)
    }

    /// Runs statements as somebody who may do anything; the values of the last one, row by row.
    pub(crate) fn ask(&self, sql: &str) -> Vec<Vec<Option<String>>> {
        ask(&self.name, sql)
    }
}

impl Drop for Database {
    fn drop(&mut self) {
        ask("postgres", &format!("DROP DATABASE {} WITH (FORCE)", self.name));
    }
}

/// The socket of the server.
pub(crate) fn socket() -> PathBuf {
    Path::new(&SERVER.folder).join(".s.PGSQL.5432")
}

fn ask(database: &str, sql: &str) -> Vec<Vec<Option<String>>> {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    runtime.block_on(async {
        let mut config = tokio_postgres::Config::new();
        config.host_path(&SERVER.folder).user("tertulia").dbname(database);
        let (client, connection) = config.connect(NoTls).await.unwrap();
        let driver = tokio::spawn(connection);
        let said =
            client.simple_query(sql).await.unwrap_or_else(|error| panic!("{sql}: {error:?}"));
        drop(client);
        let _ = driver.await;
        let rows = said.iter().filter_map(|message| match message {
            SimpleQueryMessage::Row(row) => {
                Some((0..row.len()).map(|at| row.get(at).map(str::to_owned)).collect())
            }
            _ => None,
        });
        rows.collect()
    })
}
