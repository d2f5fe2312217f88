//! Maintains the tables. In the background, it fills the search index after appends. After redactions and deletions,
//! while the caller waits, it removes old rows from the server's files and reports what could not be removed. On
//! request, it checks the tables.

use std::rc::Rc;
use std::time::Duration;

use tokio_postgres::error::SqlState;

use super::change;
use super::connection::PgConnection;
use super::error::Result;
use super::pool::Pool;
use super::search_index::{self, WhenBusy};
use crate::redacting::Remains;

/// Maintenance starts after this long without an append.
const IDLE: Duration = Duration::from_millis(500);
/// The number of entries that are indexed before the next check for new appends.
const CHUNK: usize = 128;

/// How often removing old rows is tried while another transaction may still see them, and the pause between
/// attempts.
const CLEAN_TIMES: u32 = 20;
const CLEAN_PAUSE: Duration = Duration::from_millis(250);

/// VACUUM only warns if the permission is missing, so the permission is queried first.
const MAY_CLEAN: &str = "SELECT coalesce(bool_and(pg_has_role(c.relowner, 'USAGE') \
    OR pg_has_role(d.datdba, 'USAGE')), false) FROM pg_class c, pg_database d \
    WHERE d.datname = current_database() \
    AND c.oid IN ('tertulia.entry'::regclass, 'tertulia.words'::regclass)";
/// Removes rows that nobody can see from the tables and their indexes.
const CLEAN: &str = "VACUUM tertulia.entry, tertulia.words";
/// After VACUUM, the content of a row stays in the free space of its page until it is overwritten. So tables that
/// are not too large are rewritten, which blocks other processes meanwhile.
const REWRITE: &str = "VACUUM FULL tertulia.entry, tertulia.words";
const REWRITE_BYTES_MAX: i64 = 256 << 20;
const SIZE: &str =
    "SELECT pg_total_relation_size('tertulia.entry') + pg_total_relation_size('tertulia.words')";
/// A GIN index keeps every term that was ever in it until it is rebuilt.
const RENEW_INDEX: &str = "REINDEX TABLE tertulia.words";
const OLD_ROWS: &str = "SELECT pg_stat_get_dead_tuples('tertulia.entry'::regclass) \
    + pg_stat_get_dead_tuples('tertulia.words'::regclass)";
const TAILS: &str = "SELECT s.id, s.tail_seq, coalesce(e.seq, 0) FROM tertulia.session s \
    LEFT JOIN LATERAL (SELECT n.seq, n.id, n.link FROM tertulia.entry n WHERE n.session = s.key \
    ORDER BY n.seq DESC LIMIT 1) AS e ON true WHERE s.state <> 2 AND (s.tail_seq <> \
    coalesce(e.seq, 0) OR s.tail_id IS DISTINCT FROM e.id OR s.tail_link IS DISTINCT FROM e.link) \
    ORDER BY s.key LIMIT 20";
const ORPHANS: &str = "SELECT count(*) FROM (SELECT FROM tertulia.entry e WHERE NOT EXISTS \
    (SELECT FROM tertulia.session s WHERE s.key = e.session) LIMIT 1000) AS lost";
const SETTINGS: &str = "SELECT name FROM pg_catalog.pg_settings \
    WHERE name IN ('fsync', 'full_page_writes') AND setting = 'off' ORDER BY name";

pub(super) async fn run(pool: Rc<Pool>) {
    let mut is_first = true;
    loop {
        pool.appended.notified().await;
        while tokio::time::timeout(IDLE, pool.appended.notified()).await.is_ok() {}
        // The first write of a process also deletes what interrupted imports left.
        if std::mem::take(&mut is_first)
            && let Err(error) =
                pool.once(async |connection| change::delete_leftovers(connection).await).await
        {
            tracing::debug!(?error, "leftovers of interrupted imports were not deleted");
        }
        if let Err(error) = fill(&pool).await {
            tracing::debug!(?error, "the search index was not filled");
        }
    }
}

async fn fill(pool: &Pool) -> Result<()> {
    loop {
        let indexed = pool.once(async |connection| {
            search_index::index_some(connection, CHUNK, WhenBusy::Skip).await
        });
        if !indexed.await?.is_behind {
            return Ok(());
        }
    }
}

/// Removes purged and deleted rows from the server's files. Returns the reasons why some may remain.
pub(super) async fn clean(pool: &Pool) -> Result<Vec<Remains>> {
    pool.once(async |connection| {
        if connection.value(MAY_CLEAN, &[]).await? != Some(true) {
            return Ok(vec![Remains::NotVacuumed]);
        }
        connection.run("SET statement_timeout = 0").await?;
        let mut remains = Vec::new();
        match clean_rows(connection).await? {
            // This runs only if no other transaction uses the tables.
            true if connection.value(SIZE, &[]).await? <= Some(REWRITE_BYTES_MAX)
                && done(connection.client.batch_execute(REWRITE).await)? => {}
            is_clean => {
                remains.push(if is_clean { Remains::FreeSpace } else { Remains::OldRows });
                if !done(connection.client.batch_execute(RENEW_INDEX).await)? && is_clean {
                    remains.push(Remains::OldRows);
                }
            }
        }
        match connection.client.batch_execute("CHECKPOINT").await {
            Err(error) if error.code() == Some(&SqlState::INSUFFICIENT_PRIVILEGE) => {
                remains.push(Remains::NotFlushed);
            }
            flushed => flushed?,
        }
        connection.run("SET statement_timeout = '60s'").await?;
        Ok(remains)
    })
    .await
}

/// Returns whether the server succeeded. A temporary failure, such as a locked table or a full disk, is not an error
/// of the redaction, which is already stored.
fn done(result: Result<(), tokio_postgres::Error>) -> Result<bool> {
    const NOT_NOW: [SqlState; 3] =
        [SqlState::LOCK_NOT_AVAILABLE, SqlState::DISK_FULL, SqlState::T_R_DEADLOCK_DETECTED];
    match result {
        Err(error) if error.code().is_some_and(|code| NOT_NOW.contains(code)) => Ok(false),
        result => Ok(result.map(|()| true)?),
    }
}

/// Returns whether no old row is left. An older transaction may keep some for a moment.
async fn clean_rows(connection: &mut PgConnection) -> Result<bool> {
    for _ in 0..CLEAN_TIMES {
        // Runs without the usual time limit, because a large table takes time.
        if !done(connection.client.batch_execute(CLEAN).await)? {
            return Ok(false);
        }
        if connection.value(OLD_ROWS, &[]).await? == Some(0_i64) {
            return Ok(true);
        }
        tokio::time::sleep(CLEAN_PAUSE).await;
    }
    Ok(false)
}

pub(super) async fn check(connection: &mut PgConnection) -> Result<Vec<String>> {
    let mut found = Vec::new();
    for row in connection.query(TAILS, &[]).await? {
        let (id, tail, newest): (String, i64, i64) =
            (row.try_get(0)?, row.try_get(1)?, row.try_get(2)?);
        found.push(format!(
            "session {id}: entries are missing at the end, or the last one was replaced; the \
             newest is entry {newest}, expected is entry {tail}"
        ));
    }
    let orphans: i64 = connection.value(ORPHANS, &[]).await?.unwrap_or_default();
    if orphans > 0 {
        found.push(format!("at least {orphans} entries belong to no session"));
    }
    for row in connection.query(SETTINGS, &[]).await? {
        let name: String = row.try_get(0)?;
        found.push(format!("the server runs with {name} = off: a power cut may lose entries"));
    }
    Ok(found)
}
