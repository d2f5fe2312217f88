//! Upkeep of the tables. When nobody waits for it, the search index is filled behind the appends; a search
//! catches it up. After redactions and deletions the server cleans its files of the old rows while the caller
//! waits, and the caller hears what could not be cleaned.

use std::rc::Rc;
use std::time::Duration;

use tokio_postgres::error::SqlState;

use super::hub::Hub;
use super::link::Link;
use super::sweep;
use super::trouble::Result;
use super::words::{self, Turn};
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
    OR pg_has_role(d.datdba, 'USAGE')), false) FROM pg_class c \
    JOIN pg_namespace n ON n.oid = c.relnamespace JOIN pg_database d ON d.datname = current_database() \
    WHERE n.nspname = 'tertulia' AND c.relname IN ('entry', 'words')";
/// Rows that nobody can see any more go out of the tables and their indexes.
const CLEAN: [&str; 2] = ["VACUUM tertulia.entry", "VACUUM tertulia.words"];
/// What a row held stays in the free space of its page until something is written there. Where the tables are
/// not large they are written anew, which keeps others waiting for as long as that takes.
const REWRITE: [&str; 2] = ["VACUUM FULL tertulia.entry", "VACUUM FULL tertulia.words"];
const REWRITE_BYTES_MAX: i64 = 256 << 20;
const SIZE: &str = "SELECT sum(pg_total_relation_size(c.oid))::bigint FROM pg_class c \
    JOIN pg_namespace n ON n.oid = c.relnamespace \
    WHERE n.nspname = 'tertulia' AND c.relname IN ('entry', 'words')";
/// An index over words keeps every word that it ever had, until it is made anew.
const RENEW_INDEX: &str = "REINDEX TABLE tertulia.words";
const OLD_ROWS: &str = "SELECT coalesce(sum(pg_stat_get_dead_tuples(c.oid)), 0)::bigint FROM pg_class c \
    JOIN pg_namespace n ON n.oid = c.relnamespace \
    WHERE n.nspname = 'tertulia' AND c.relname IN ('entry', 'words')";

/// Goes on as long as the store is open.
pub(super) async fn go_on(hub: Rc<Hub>) {
    let mut is_first = true;
    loop {
        hub.chores.notified().await;
        while tokio::time::timeout(IDLE, hub.chores.notified()).await.is_ok() {}
        // Whoever writes deletes what killed imports left, once.
        if std::mem::take(&mut is_first)
            && let Err(trouble) = hub.once(async |link: &mut Link| sweep::sweep(link).await).await
        {
            tracing::debug!(?trouble, "what killed imports left was not deleted");
        }
        if let Err(trouble) = fill(&hub).await {
            tracing::debug!(?trouble, "the search index was not filled");
        }
    }
}

async fn fill(hub: &Hub) -> Result<()> {
    loop {
        let index = async |link: &mut Link| words::index_some(link, CHUNK, Turn::Pass).await;
        if !hub.once(index).await?.is_behind {
            return Ok(());
        }
    }
}

/// Has the server clean its files of rows that were purged or deleted. Says what may still hold them.
pub(super) async fn clean(hub: &Hub) -> Result<Vec<Remains>> {
    hub.once(async |link: &mut Link| {
        let may_clean = link.query_opt(MAY_CLEAN, &[]).await?;
        if !may_clean.map_or(Ok(false), |row| row.try_get(0))? {
            return Ok(vec![Remains::NotVacuumed]);
        }
        link.run("SET statement_timeout = 0").await?;
        let mut remains = Vec::new();
        match clean_rows(link).await? {
            true if rewrite(link).await? => {}
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

/// Writes the tables anew if they are not large and nobody holds them; says whether it did.
async fn rewrite(link: &mut Link) -> Result<bool> {
    let size = link.query_opt(SIZE, &[]).await?;
    if size.map_or(Ok(0), |row| row.try_get::<_, i64>(0))? > REWRITE_BYTES_MAX {
        return Ok(false);
    }
    for step in REWRITE {
        if !done(link.client.batch_execute(step).await)? {
            return Ok(false);
        }
    }
    Ok(true)
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
        for step in CLEAN {
            // Longer than any other answer: a large table takes its time.
            if !done(link.client.batch_execute(step).await)? {
                return Ok(false);
            }
        }
        let old = link.query_opt(OLD_ROWS, &[]).await?;
        if old.map_or(Ok(0), |row| row.try_get::<_, i64>(0))? == 0 {
            return Ok(true);
        }
        tokio::time::sleep(CLEAN_PAUSE).await;
    }
    Ok(false)
}
