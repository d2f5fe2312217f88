//! Upkeep of the tables. When nobody waits for it, the search index is filled behind the appends; a search
//! catches it up. After redactions and deletions the server cleans its files of the old rows while the caller
//! waits, and the caller hears what could not be cleaned. On demand the tables are checked.

use std::rc::Rc;
use std::time::Duration;

use tokio_postgres::error::SqlState;

use super::change;
use super::error::Result;
use super::link::Link;
use super::pool::Pool;
use super::search_index::{self, Turn};
use crate::redacting::Remains;

/// After so long without an append the chores begin.
const IDLE: Duration = Duration::from_millis(500);
/// How many entries are indexed between two looks for appends.
const CHUNK: usize = 128;

/// How often old rows are cleaned away while another transaction may still see them, and the pause between.
const CLEAN_TIMES: u32 = 20;
const CLEAN_PAUSE: Duration = Duration::from_millis(250);

/// VACUUM only warns where it is not allowed.
const MAY_CLEAN: &str = "SELECT coalesce(bool_and(pg_has_role(c.relowner, 'USAGE') \
    OR pg_has_role(d.datdba, 'USAGE')), false) FROM pg_class c, pg_database d \
    WHERE d.datname = current_database() \
    AND c.oid IN ('tertulia.entry'::regclass, 'tertulia.words'::regclass)";
/// Rows that nobody can see any more go out of the tables and their indexes.
const CLEAN: &str = "VACUUM tertulia.entry, tertulia.words";
/// What a row held stays in the free space of its page until something is written there. Where the tables are
/// not large they are written anew, which keeps others waiting for as long as that takes.
const REWRITE: &str = "VACUUM FULL tertulia.entry, tertulia.words";
const REWRITE_BYTES_MAX: i64 = 256 << 20;
const SIZE: &str =
    "SELECT pg_total_relation_size('tertulia.entry') + pg_total_relation_size('tertulia.words')";
/// An index over words keeps every word that it ever had, until it is made anew.
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

pub(super) async fn go_on(pool: Rc<Pool>) {
    let mut is_first = true;
    loop {
        pool.appended.notified().await;
        while tokio::time::timeout(IDLE, pool.appended.notified()).await.is_ok() {}
        // Whoever writes deletes what killed imports left, once.
        if std::mem::take(&mut is_first)
            && let Err(trouble) = pool.once(async |link| change::sweep(link).await).await
        {
            tracing::debug!(?trouble, "what killed imports left was not deleted");
        }
        if let Err(trouble) = fill(&pool).await {
            tracing::debug!(?trouble, "the search index was not filled");
        }
    }
}

async fn fill(pool: &Pool) -> Result<()> {
    loop {
        let indexed =
            pool.once(async |link| search_index::index_some(link, CHUNK, Turn::Pass).await);
        if !indexed.await?.is_behind {
            return Ok(());
        }
    }
}

/// Has the server clean its files of rows that were purged or deleted. Says what may still hold them.
pub(super) async fn clean(pool: &Pool) -> Result<Vec<Remains>> {
    pool.once(async |link| {
        if link.value(MAY_CLEAN, &[]).await? != Some(true) {
            return Ok(vec![Remains::NotVacuumed]);
        }
        link.run("SET statement_timeout = 0").await?;
        let mut remains = Vec::new();
        match clean_rows(link).await? {
            // Only if nobody holds the tables.
            true if link.value(SIZE, &[]).await? <= Some(REWRITE_BYTES_MAX)
                && done(link.client.batch_execute(REWRITE).await)? => {}
            is_clean => {
                remains.push(if is_clean { Remains::FreeSpace } else { Remains::OldRows });
                if !done(link.client.batch_execute(RENEW_INDEX).await)? && is_clean {
                    remains.push(Remains::OldRows);
                }
            }
        }
        match link.client.batch_execute("CHECKPOINT").await {
            Err(error) if error.code() == Some(&SqlState::INSUFFICIENT_PRIVILEGE) => {
                remains.push(Remains::NotFlushed);
            }
            flushed => flushed?,
        }
        link.run("SET statement_timeout = '60s'").await?;
        Ok(remains)
    })
    .await
}

/// Whether the server did it. What it cannot do now is no error of the redaction, which is stored: somebody holds
/// the table, or the disk has no room for another one.
fn done(result: Result<(), tokio_postgres::Error>) -> Result<bool> {
    const NOT_NOW: [SqlState; 3] =
        [SqlState::LOCK_NOT_AVAILABLE, SqlState::DISK_FULL, SqlState::T_R_DEADLOCK_DETECTED];
    match result {
        Err(error) if error.code().is_some_and(|code| NOT_NOW.contains(code)) => Ok(false),
        result => Ok(result.map(|()| true)?),
    }
}

/// Says whether no old row is left. A transaction that began before may still see some for a moment.
async fn clean_rows(link: &mut Link) -> Result<bool> {
    for _ in 0..CLEAN_TIMES {
        // Longer than any other answer: a large table takes its time.
        if !done(link.client.batch_execute(CLEAN).await)? {
            return Ok(false);
        }
        if link.value(OLD_ROWS, &[]).await? == Some(0_i64) {
            return Ok(true);
        }
        tokio::time::sleep(CLEAN_PAUSE).await;
    }
    Ok(false)
}

pub(super) async fn check(link: &mut Link) -> Result<Vec<String>> {
    let mut found = Vec::new();
    for row in link.query(TAILS, &[]).await? {
        let (id, tail, newest): (String, i64, i64) =
            (row.try_get(0)?, row.try_get(1)?, row.try_get(2)?);
        found.push(format!(
            "session {id} should end in entry {tail}; its newest entry is {newest}, or is another"
        ));
    }
    let orphans: i64 = link.value(ORPHANS, &[]).await?.unwrap_or_default();
    if orphans > 0 {
        found.push(format!("{orphans} entries, or more, are of no session"));
    }
    for row in link.query(SETTINGS, &[]).await? {
        let name: String = row.try_get(0)?;
        found.push(format!("the server runs with {name} = off: a power cut may lose entries"));
    }
    Ok(found)
}
