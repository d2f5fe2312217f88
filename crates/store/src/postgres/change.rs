//! Changes other than appends: creates, publishes and deletes sessions, stores token counts, and removes what
//! interrupted imports and deletions left. Each can be retried after a lost connection, because it recognises the
//! changes of the first attempt.

use std::collections::BTreeMap;

use tertulia_session::EntryId;
use tokio_postgres::error::SqlState;

use super::append::{NOTIFY, New, Writing};
use super::connection::{PgConnection, Values};
use super::error::Result;
use super::pool::Pool;
use super::read::{missing, signed, state_code};
use crate::backend::SessionStart;
use crate::import::{LeftBehind, is_silent, number_of};
use crate::model::TokenCount;
use crate::plan::{Batch, Tail, plan};
use crate::{SessionId, StoreError};

const CREATE: &str = "INSERT INTO tertulia.session \
    (id, made_by, state, created_at, updated_at, project) VALUES ($1, $2, $3, $4, $4, $5) ON CONFLICT (id) DO NOTHING RETURNING key";
const MADE_BY: &str = "SELECT made_by FROM tertulia.session WHERE id = $1";
const KEY: &str = "SELECT key FROM tertulia.session WHERE id = $1";
const ID: &str = "SELECT id FROM tertulia.session WHERE key = $1";
const SET_PROJECT: &str = "UPDATE tertulia.session SET project = $2 WHERE id = $1 AND state <> 2";
const PUBLISH: &str = "UPDATE tertulia.session SET id = $2, state = 0 WHERE key = $1 AND state = 1";
const LOCK: &str = "SELECT key FROM tertulia.session WHERE key = $1 FOR UPDATE";
/// The name of a hidden session contains its former id.
const HIDE: &str = "UPDATE tertulia.session SET state = 2, \
    id = concat(key, ':deleted:', id) WHERE key = $1 AND state <> 2";
const HIDDEN: &str =
    "SELECT key FROM tertulia.session WHERE state = 2 AND id = concat(key, ':deleted:', $1::text)";
const UNMARK: &str = "DELETE FROM tertulia.unindexed WHERE session = $1";
const DELETE_SOME: &str = "DELETE FROM tertulia.entry WHERE session = $1 AND seq = ANY(ARRAY(\
    SELECT seq FROM tertulia.entry WHERE session = $1 ORDER BY seq LIMIT 5000))";
const DELETE_WORDS: &str = "DELETE FROM tertulia.words WHERE session = $1";
const DELETE_SESSION: &str = "DELETE FROM tertulia.session s WHERE key = $1 AND state = 2 \
    AND NOT EXISTS (SELECT 1 FROM tertulia.entry e WHERE e.session = s.key)";
const COUNTS: &str = "UPDATE tertulia.entry e SET tokenizer = n.tokenizer, tokens = n.tokens \
    FROM unnest($2::bytea[], $3::bytea[], $4::bigint[]) AS n(id, tokenizer, tokens) \
    WHERE e.session = $1 AND e.id = n.id AND e.encoding <> 2";

const TRY_LOCK: &str = "SELECT pg_try_advisory_lock($1)";
const UNLOCK: &str = "SELECT pg_advisory_unlock($1)";
const UNSEEN: &str =
    "SELECT key, id, state, updated_at FROM tertulia.session WHERE state <> 0 ORDER BY key";
const SIZE: &str = "SELECT count(*), coalesce(sum(octet_length(record)), 0)::bigint \
    FROM tertulia.entry WHERE session = $1";
/// Has no effect if the session was published meanwhile.
const HIDE_LEFTOVER: &str = "UPDATE tertulia.session SET state = 2 WHERE key = $1 AND state <> 0";

/// Creates a session with its first entries. `made_by` is a random number. If the session already exists, it shows
/// whether an earlier attempt created it.
pub(super) async fn create(
    connection: &mut PgConnection,
    id: &SessionId,
    made_by: i64,
    start: &SessionStart,
    first: &Batch,
) -> Result<()> {
    let writing = Writing::prepare(connection).await?;
    let SessionStart { created_at, state, project } = start;
    let project = project.as_deref().map(str::as_bytes);
    connection.run("BEGIN").await?;
    let values: Values<'_> = &[&id.as_str(), &made_by, &state_code(*state), created_at, &project];
    let Some(row) = connection.query_opt(CREATE, values).await? else {
        connection.run("ROLLBACK").await?;
        // A previous attempt of this process may have created it.
        return match connection.value::<i64>(MADE_BY, &[&id.as_str()]).await? {
            Some(found) if found == made_by => Ok(()),
            _ => Err(StoreError::SessionExists(id.clone()).into()),
        };
    };
    let plan = match plan(id, &Tail::start(), first, |_| Ok(None)) {
        Ok(plan) => plan,
        Err(refusal) => {
            connection.run("ROLLBACK").await?;
            return Err(refusal.into());
        }
    };
    if plan.new.is_empty() {
        return connection.run("COMMIT").await;
    }
    let new = New { id, key: row.try_get(0)?, batch: first, plan: &plan };
    writing.write(connection, &new, &mut None).await
}

/// Returns the key of a session in any state.
pub(super) async fn key(connection: &mut PgConnection, id: &SessionId) -> Result<i64> {
    connection.value(KEY, &[&id.as_str()]).await?.ok_or_else(|| missing(id))
}

pub(super) async fn set_project(
    connection: &mut PgConnection,
    id: &SessionId,
    project: Option<&str>,
) -> Result<()> {
    let project = project.map(str::as_bytes);
    match connection.execute(SET_PROJECT, &[&id.as_str(), &project]).await? {
        0 => Err(missing(id)),
        _ => Ok(()),
    }
}

pub(super) async fn publish(
    connection: &mut PgConnection,
    key: i64,
    imported: &SessionId,
    id: &SessionId,
) -> Result<()> {
    match connection.execute(PUBLISH, &[&key, &id.as_str()]).await {
        Ok(1) => return Ok(()),
        Ok(_) => {}
        Err(error) if error.is(&SqlState::UNIQUE_VIOLATION) => {
            return Err(StoreError::SessionExists(id.clone()).into());
        }
        Err(error) => return Err(error),
    }
    match connection.value::<String>(ID, &[&key]).await? {
        Some(shown) if shown == id.as_str() => Ok(()),
        _ => Err(missing(imported)),
    }
}

/// Hides a session before it is deleted; its name can be used again at once.
pub(super) async fn hide(connection: &mut PgConnection, key: i64, id: &SessionId) -> Result<()> {
    connection
        .transaction(async |connection| {
            connection.execute(HIDE, &[&key]).await?;
            connection.execute(UNMARK, &[&key]).await?;
            connection.query(NOTIFY, &[&id.as_str()]).await.map(drop)
        })
        .await
}

pub(super) async fn hidden(connection: &mut PgConnection, id: &SessionId) -> Result<Vec<i64>> {
    let rows = connection.query(HIDDEN, &[&id.as_str()]).await?;
    rows.iter().map(|row| Ok(row.try_get(0)?)).collect()
}

pub(super) async fn forget(connection: &mut PgConnection, key: i64) -> Result<()> {
    connection
        .transaction(async |connection| {
            connection.execute(UNMARK, &[&key]).await?;
            connection.execute(DELETE_SESSION, &[&key]).await.map(drop)
        })
        .await
}

/// Deletes some entries of a hidden session. Returns whether more may be left.
pub(super) async fn delete_some(connection: &mut PgConnection, key: i64) -> Result<bool> {
    connection
        .transaction(async |connection| {
            // Waits until nobody is indexing the session.
            connection.query(LOCK, &[&key]).await?;
            if connection.execute(DELETE_SOME, &[&key]).await? > 0 {
                return Ok(true);
            }
            connection.execute(DELETE_WORDS, &[&key]).await?;
            Ok(false)
        })
        .await
}

/// Stores token counts; if an entry has several, the last one wins.
pub(super) async fn store_token_counts(
    connection: &mut PgConnection,
    id: &SessionId,
    counts: &[(EntryId, TokenCount)],
) -> Result<()> {
    let key = key(connection, id).await?;
    let last: BTreeMap<&str, &TokenCount> =
        counts.iter().map(|(entry, count)| (entry.as_str(), count)).collect();
    let ids: Vec<&[u8]> = last.keys().map(|id| id.as_bytes()).collect();
    let tokenizers: Vec<&[u8]> = last.values().map(|count| count.tokenizer.as_bytes()).collect();
    let tokens: Vec<i64> = last.values().map(|count| signed(count.tokens)).collect();
    connection
        .transaction(async |connection| {
            // Without the lock, two writers of the same entries could deadlock.
            connection.query(LOCK, &[&key]).await?;
            connection.execute(COUNTS, &[&key, &ids, &tokenizers, &tokens]).await.map(drop)
        })
        .await
}

/// Opens a connection and takes a lock on it, which shows that this process is importing.
pub(super) async fn lock_imports(pool: &Pool, number: u64) -> Result<Option<Box<dyn Send + Sync>>> {
    let mut connection = pool.new_connection().await?;
    let is_held = try_lock(&mut connection, number).await?;
    Ok(is_held.then(|| Box::new(connection) as _))
}

async fn try_lock(connection: &mut PgConnection, number: u64) -> Result<bool> {
    Ok(connection.value(TRY_LOCK, &[&number.cast_signed()]).await?.unwrap_or_default())
}

async fn leftover_keys(connection: &mut PgConnection) -> Result<Vec<i64>> {
    let mut keys = Vec::new();
    for row in connection.query(UNSEEN, &[]).await? {
        let (id, state): (String, i16) = (row.try_get(1)?, row.try_get(2)?);
        let is_left = match number_of(&id) {
            _ if state == 2 => true,
            None => is_silent(row.try_get(3)?),
            Some(number) => {
                let is_free = try_lock(connection, number).await?;
                if is_free {
                    connection.query(UNLOCK, &[&number.cast_signed()]).await?;
                }
                is_free
            }
        };
        if is_left {
            keys.push(row.try_get(0)?);
        }
    }
    Ok(keys)
}

pub(super) async fn measure(connection: &mut PgConnection) -> Result<LeftBehind> {
    let keys = leftover_keys(connection).await?;
    let mut sum = LeftBehind { sessions: keys.len() as u64, ..LeftBehind::default() };
    for key in keys {
        if let Some(row) = connection.query_opt(SIZE, &[&key]).await? {
            sum.entries += row.try_get::<_, i64>(0)?.unsigned_abs();
            sum.bytes += row.try_get::<_, i64>(1)?.unsigned_abs();
        }
    }
    Ok(sum)
}

pub(super) async fn delete_leftovers(connection: &mut PgConnection) -> Result<()> {
    for key in leftover_keys(connection).await? {
        if connection.execute(HIDE_LEFTOVER, &[&key]).await? > 0 {
            while delete_some(connection, key).await? {}
            forget(connection, key).await?;
        }
    }
    Ok(())
}
