//! A PostgreSQL server for these tests: the one that `cargo xtask test` started, or one of this process,
//! started when the first test wants it and stopped when the process ends, however it ends. Both are reached by
//! a socket in a folder. Every test has a database of its own. Nothing is installed here: where there is no
//! server and there are no programs for one, the tests are skipped by name.

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

/// The folder of the socket of the shared server; none where there is none, and then the test is skipped.
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

/// A server of its own, for tests that harm it.
pub(crate) struct Server(PostgresServer);

impl Server {
    /// Starts one; none where there are no programs for it, and then the test is skipped.
    pub(crate) fn start() -> Option<Self> {
        let server = start();
        if server.is_none() {
            skip(Need::PostgreSql);
        }
        server.map(Self)
    }

    /// The database that every server has.
    pub(crate) fn url(&self) -> StoreUrl {
        let folder = self.0.folder().replace('/', "%2F");
        StoreUrl::Postgres(format!("postgres://tertulia@{folder}/postgres"))
    }

    /// Ends all its processes without giving them time for anything, and starts it again.
    pub(crate) fn crash(&self) {
        self.0.crash().unwrap();
    }
}

/// A database for one test, taken away after it.
pub(crate) struct Database {
    pub(crate) name: String,
    folder: &'static str,
}

impl Database {
    /// A new one; none where there is no server, and then the test is skipped.
    pub(crate) fn new() -> Option<Self> {
        let folder = shared_folder()?;
        let number = DATABASES.fetch_add(1, Ordering::Relaxed);
        // Several processes may test on one server.
        let name = format!("test_{}_{number}", std::process::id());
        ask(folder, "postgres", &format!("CREATE DATABASE {name} TEMPLATE template0"));
        Some(Self { name, folder })
    }

    pub(crate) fn url(&self) -> StoreUrl {
        StoreUrl::Postgres(self.address("tertulia", ""))
    }

    /// Where a user finds it.
    pub(crate) fn address(&self, user: &str, settings: &str) -> String {
        let folder = self.folder.replace('/', "%2F");
        format!("postgres://{user}@{folder}/{}{settings}", self.name)
    }

    /// The socket of its server.
    pub(crate) fn socket(&self) -> PathBuf {
        Path::new(self.folder).join(".s.PGSQL.5432")
    }

    /// Runs statements as somebody who may do anything; the values of the last one, row by row.
    pub(crate) fn ask(&self, sql: &str) -> Vec<Vec<Option<String>>> {
        ask(self.folder, &self.name, sql)
    }

    /// Runs a statement in a transaction that stays open until it is dropped. What the statement locks is
    /// locked when this returns.
    pub(crate) fn hold(&self, sql: &str) -> Hold {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
        let client = runtime.block_on(async {
            let (client, _) = connect(self.folder, &self.name).await;
            client.batch_execute(&format!("BEGIN; {sql}")).await.unwrap();
            client
        });
        Hold { client, runtime }
    }
}

impl Drop for Database {
    fn drop(&mut self) {
        ask(self.folder, "postgres", &format!("DROP DATABASE {} WITH (FORCE)", self.name));
    }
}

/// An open transaction.
pub(crate) struct Hold {
    client: Client,
    runtime: Runtime,
}

impl Drop for Hold {
    fn drop(&mut self) {
        let _ = self.runtime.block_on(self.client.batch_execute("COMMIT"));
    }
}

/// A connection that is driven by the runtime it was made in.
async fn connect(folder: &str, database: &str) -> (Client, JoinHandle<Result<(), Error>>) {
    let mut config = tokio_postgres::Config::new();
    config.host_path(folder).user("tertulia").dbname(database);
    let (client, connection) = config.connect(NoTls).await.unwrap();
    (client, tokio::spawn(connection))
}

fn ask(folder: &str, database: &str, sql: &str) -> Vec<Vec<Option<String>>> {
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
