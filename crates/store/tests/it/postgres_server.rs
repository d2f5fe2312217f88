//! A PostgreSQL server for these tests. Either `cargo xtask test` started it, or the first test starts it and it
//! ends with the process. Both are reached through a socket in a folder. Every test has its own database. Nothing is
//! installed here. Without a server or its programs, the tests are skipped by name.

use std::path::{Path, PathBuf};
use std::sync::LazyLock;
use std::sync::atomic::{AtomicU32, Ordering};

use tertulia_store::StoreUrl;
use tertulia_test_needs::{Need, POSTGRES, PostgresServer, skip};
use tokio::runtime::Runtime;
use tokio::task::JoinHandle;
use tokio_postgres::{Client, Error, NoTls, SimpleQueryMessage};

/// The server that most tests share.
enum Shared {
    Given(String),
    Own(PostgresServer),
}

static SHARED: LazyLock<Option<Shared>> = LazyLock::new(|| match std::env::var(POSTGRES) {
    Ok(folder) => Some(Shared::Given(folder)),
    Err(_) => start().map(Shared::Own),
});
static DATABASES: AtomicU32 = AtomicU32::new(0);

/// Returns the socket folder of the shared server; `None` if there is no server. The test is then skipped.
fn shared_folder() -> Option<&'static str> {
    match &*SHARED {
        Some(Shared::Given(folder)) => Some(folder),
        Some(Shared::Own(server)) => Some(server.folder()),
        None => {
            skip(Need::PostgreSql);
            None
        }
    }
}

fn start() -> Option<PostgresServer> {
    let programs = PostgresServer::find_programs()?;
    Some(PostgresServer::start(programs).unwrap())
}

/// A separate server, for tests that crash it.
pub(crate) struct Server(PostgresServer);

impl Server {
    /// Starts a server; `None` if its programs are missing. The test is then skipped.
    pub(crate) fn start() -> Option<Self> {
        let server = start();
        if server.is_none() {
            skip(Need::PostgreSql);
        }
        server.map(Self)
    }

    /// Returns the address of the default database.
    pub(crate) fn url(&self) -> StoreUrl {
        let folder = self.0.folder().replace('/', "%2F");
        StoreUrl::Postgres(format!("postgres://tertulia@{folder}/postgres"))
    }

    /// Kills all its processes and starts it again.
    pub(crate) fn crash(&self) {
        self.0.crash().unwrap();
    }
}

/// A database for one test, dropped after it.
pub(crate) struct Database {
    pub(crate) name: String,
    folder: &'static str,
}

impl Database {
    /// Creates a database; `None` if there is no server. The test is then skipped.
    pub(crate) fn new() -> Option<Self> {
        let folder = shared_folder()?;
        let number = DATABASES.fetch_add(1, Ordering::Relaxed);
        // Several processes may run tests on one server.
        let name = format!("test_{}_{number}", std::process::id());
        query(folder, "postgres", &format!("CREATE DATABASE {name} TEMPLATE template0"));
        Some(Self { name, folder })
    }

    pub(crate) fn url(&self) -> StoreUrl {
        StoreUrl::Postgres(self.address("tertulia", ""))
    }

    /// Returns the address of the database for a user.
    pub(crate) fn address(&self, user: &str, settings: &str) -> String {
        let folder = self.folder.replace('/', "%2F");
        format!("postgres://{user}@{folder}/{}{settings}", self.name)
    }

    /// Returns the path of the server's socket.
    pub(crate) fn socket(&self) -> PathBuf {
        Path::new(self.folder).join(".s.PGSQL.5432")
    }

    /// Runs statements as a superuser. Returns the rows of the last one.
    pub(crate) fn query(&self, sql: &str) -> Vec<Vec<Option<String>>> {
        query(self.folder, &self.name, sql)
    }

    /// Runs a statement in a transaction that stays open until the result is dropped. The locks of
    /// the statement are held when this returns.
    pub(crate) fn open_transaction(&self, sql: &str) -> OpenTransaction {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
        let client = runtime.block_on(async {
            let (client, _) = connect(self.folder, &self.name).await;
            client.batch_execute(&format!("BEGIN; {sql}")).await.unwrap();
            client
        });
        OpenTransaction { client, runtime }
    }
}

impl Drop for Database {
    fn drop(&mut self) {
        query(self.folder, "postgres", &format!("DROP DATABASE {} WITH (FORCE)", self.name));
    }
}

/// An open transaction.
pub(crate) struct OpenTransaction {
    client: Client,
    runtime: Runtime,
}

impl Drop for OpenTransaction {
    fn drop(&mut self) {
        let _ = self.runtime.block_on(self.client.batch_execute("COMMIT"));
    }
}

/// Opens a connection that is driven by the current runtime.
async fn connect(folder: &str, database: &str) -> (Client, JoinHandle<Result<(), Error>>) {
    let mut config = tokio_postgres::Config::new();
    config.host_path(folder).user("tertulia").dbname(database);
    let (client, connection) = config.connect(NoTls).await.unwrap();
    (client, tokio::spawn(connection))
}

fn query(folder: &str, database: &str, sql: &str) -> Vec<Vec<Option<String>>> {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    let said = runtime.block_on(async {
        let (client, driver) = connect(folder, database).await;
        let said = client.simple_query(sql).await;
        let said = said.unwrap_or_else(|error| panic!("{sql}: {error:?}"));
        drop(client);
        let _ = driver.await;
        said
    });
    let rows = said.iter().filter_map(|message| match message {
        SimpleQueryMessage::Row(row) => {
            Some((0..row.len()).map(|at| row.get(at).map(str::to_owned)).collect())
        }
        _ => None,
    });
    rows.collect()
}
