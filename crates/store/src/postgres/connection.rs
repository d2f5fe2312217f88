//! One connection to the server with its prepared statements. Every request has a time limit: the server cancels
//! waits for locks and slow statements, and a missing answer counts as a lost connection.

use std::collections::HashMap;
use std::future::{Future, poll_fn};
use std::rc::Rc;
use std::sync::Arc;
use std::time::Duration;

use tokio::task::{JoinHandle, spawn_local};
use tokio_postgres::tls::TlsStream;
use tokio_postgres::types::{FromSqlOwned, ToSql};
use tokio_postgres::{AsyncMessage, Client, Connection, NoTls, Row, Socket, Statement};

use super::address::{Address, socket_folder};
use super::error::{PgError, Result};
use crate::signal::Signal;

/// How long the server waits for a lock.
pub(super) const LOCK_SECONDS: u64 = 10;
/// The time limit for an answer. The server cancels a statement after 60 seconds, so a longer silence means that the
/// connection is lost.
const ANSWER_TIMEOUT: Duration = Duration::from_secs(75);

/// Our SQL qualifies all names, so that it never finds objects in other schemas by accident. A transaction whose
/// client has vanished must not keep its locks. If the server's commit mode is stronger than ours, it is kept.
const SETTINGS: &str = "SET search_path = pg_catalog; SET lock_timeout = '10s'; \
    SET statement_timeout = '60s'; SET idle_in_transaction_session_timeout = '30s'; \
    SET default_transaction_isolation = 'read committed'; \
    SELECT set_config('synchronous_commit', 'on', false) \
    WHERE current_setting('synchronous_commit') <> 'remote_apply'";

pub(super) type Values<'v> = &'v [&'v (dyn ToSql + Sync)];

pub(super) struct PgConnection {
    pub(super) client: Client,
    driver: JoinHandle<()>,
    statements: HashMap<&'static str, Statement>,
}

impl PgConnection {
    /// Connects. Notifications on this connection raise the signal. `alive` is kept as long as the connection is
    /// open.
    pub(super) async fn open(
        address: &Address,
        signal: Option<Arc<Signal>>,
        alive: Rc<()>,
    ) -> Result<Self> {
        let folder = socket_folder(&address.config);
        let failed = |error: tokio_postgres::Error| match (PgError::connecting(&error), folder) {
            (PgError::ConnectionLost(reason), Some(folder)) => {
                PgError::ConnectionLost(format!("{reason} (in {})", folder.display()))
            }
            (error, _) => error,
        };
        let (client, driver) = match &address.tls {
            Some(tls) => {
                let connected = address.config.connect(tls.clone()).await;
                let (client, connection) = connected.map_err(failed)?;
                (client, spawn_local(drive(connection, signal, alive)))
            }
            None => {
                let connected = address.config.connect(NoTls).await;
                let (client, connection) = connected.map_err(failed)?;
                (client, spawn_local(drive(connection, signal, alive)))
            }
        };
        timed(client.batch_execute(SETTINGS)).await??;
        Ok(Self { client, driver, statements: HashMap::new() })
    }

    pub(super) fn is_open(&self) -> bool {
        !self.client.is_closed()
    }

    pub(super) async fn ended(&mut self) {
        let _ = (&mut self.driver).await;
    }

    /// Returns a statement, which is prepared once per connection.
    pub(super) async fn prepared(&mut self, sql: &'static str) -> Result<Statement> {
        if let Some(statement) = self.statements.get(sql) {
            return Ok(statement.clone());
        }
        let statement = timed(self.client.prepare(sql)).await??;
        self.statements.insert(sql, statement.clone());
        Ok(statement)
    }

    pub(super) async fn query(
        &mut self,
        sql: &'static str,
        values: Values<'_>,
    ) -> Result<Vec<Row>> {
        let statement = self.prepared(sql).await?;
        Ok(timed(self.client.query(&statement, values)).await??)
    }

    pub(super) async fn query_opt(
        &mut self,
        sql: &'static str,
        values: Values<'_>,
    ) -> Result<Option<Row>> {
        let statement = self.prepared(sql).await?;
        Ok(timed(self.client.query_opt(&statement, values)).await??)
    }

    /// Returns the first column of the only row; `None` if there is no row.
    pub(super) async fn value<T: FromSqlOwned>(
        &mut self,
        sql: &'static str,
        values: Values<'_>,
    ) -> Result<Option<T>> {
        let row = self.query_opt(sql, values).await?;
        Ok(row.map(|row| row.try_get(0)).transpose()?)
    }

    pub(super) async fn execute(&mut self, sql: &'static str, values: Values<'_>) -> Result<u64> {
        let statement = self.prepared(sql).await?;
        Ok(timed(self.client.execute(&statement, values)).await??)
    }

    pub(super) async fn run(&mut self, sql: &'static str) -> Result<()> {
        Ok(timed(self.client.batch_execute(sql)).await??)
    }

    /// Runs work in one transaction. After a server error the connection is dropped, which ends the transaction.
    pub(super) async fn transaction<T>(
        &mut self,
        work: impl AsyncFnOnce(&mut Self) -> Result<T>,
    ) -> Result<T> {
        self.run("BEGIN").await?;
        let done = work(self).await;
        match &done {
            Ok(_) => self.run("COMMIT").await?,
            Err(PgError::Store(_)) => self.run("ROLLBACK").await?,
            Err(_) => {}
        }
        done
    }
}

/// Processes messages of the server until the connection ends.
async fn drive<T: TlsStream + Unpin>(
    mut connection: Connection<Socket, T>,
    signal: Option<Arc<Signal>>,
    _alive: Rc<()>,
) {
    while let Some(message) = poll_fn(|context| connection.poll_message(context)).await {
        match (message, &signal) {
            (Ok(AsyncMessage::Notification(notification)), Some(signal)) => {
                signal.raise_for(notification.payload());
            }
            (Ok(_), _) => {}
            (Err(error), _) => {
                tracing::debug!(%error, "a connection to the server ended");
                break;
            }
        }
    }
}

/// Waits for an answer, up to the time limit.
pub(super) async fn timed<T>(answer: impl Future<Output = T>) -> Result<T> {
    let waited = tokio::time::timeout(ANSWER_TIMEOUT, answer).await;
    waited.map_err(|_| {
        PgError::ConnectionLost(format!("no answer for {} seconds", ANSWER_TIMEOUT.as_secs()))
    })
}
