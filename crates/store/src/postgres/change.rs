//! Changes that are not appends: sessions begun, shown and taken away, counts that are noted, and what killed
//! imports and deletions left behind. Each may be tried again after a lost connection: what was done the first
//! time is recognised.

use std::collections::BTreeMap;

use tertulia_session::EntryId;
use tokio_postgres::error::SqlState;

use super::append::{NOTIFY, New, Writing};
use super::error::Result;
use super::link::{Link, Values};
use super::pool::Pool;
use super::read::{missing, signed, state_code};
use crate::backend::Begun;
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
/// The name of a hidden session tells what it was called.
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

const HOLD: &str = "SELECT pg_try_advisory_lock($1)";
const LET_GO: &str = "SELECT pg_advisory_unlock($1)";
const UNSEEN: &str =
    "SELECT key, id, state, updated_at FROM tertulia.session WHERE state <> 0 ORDER BY key";
const SIZE: &str = "SELECT count(*), coalesce(sum(octet_length(record)), 0)::bigint \
    FROM tertulia.entry WHERE session = $1";
/// Unless it was shown meanwhile.
const HIDE_LEFT: &str = "UPDATE tertulia.session SET state = 2 WHERE key = $1 AND state <> 0";

/// Begins a session with its first entries. `made_by` is a number that chance made: it tells our
/// session from another of the same id.
pub(super) async fn create(
    link: &mut Link,
    id: &SessionId,
    made_by: i64,
    begun: &Begun,
    first: &Batch,
) -> Result<()> {
    let writing = Writing::prepare(link).await?;
    let Begun { created_at, state, project } = begun;
    let project = project.as_deref().map(str::as_bytes);
    link.run("BEGIN").await?;
    let values: Values<'_> = &[&id.as_str(), &made_by, &state_code(*state), created_at, &project];
    let Some(row) = link.query_opt(CREATE, values).await? else {
        link.run("ROLLBACK").await?;
        // An earlier attempt of ours may have begun it.
        return match link.value::<i64>(MADE_BY, &[&id.as_str()]).await? {
            Some(found) if found == made_by => Ok(()),
            _ => Err(StoreError::SessionExists(id.clone()).into()),
        };
    };
    let plan = match plan(id, &Tail::start(), first, |_| Ok(None)) {
        Ok(plan) => plan,
        Err(refusal) => {
            link.run("ROLLBACK").await?;
            return Err(refusal.into());
        }
    };
    if plan.new.is_empty() {
        return link.run("COMMIT").await;
    }
    let new = New { id, key: row.try_get(0)?, batch: first, plan: &plan };
    writing.write(link, &new, &mut None).await
}

/// The key of a session, whatever its state.
pub(super) async fn key(link: &mut Link, id: &SessionId) -> Result<i64> {
    link.value(KEY, &[&id.as_str()]).await?.ok_or_else(|| missing(id))
}

pub(super) async fn set_project(
    link: &mut Link,
    id: &SessionId,
    project: Option<&str>,
) -> Result<()> {
    let project = project.map(str::as_bytes);
    match link.execute(SET_PROJECT, &[&id.as_str(), &project]).await? {
        0 => Err(missing(id)),
        _ => Ok(()),
    }
}

pub(super) async fn publish(
    link: &mut Link,
    key: i64,
    imported: &SessionId,
    id: &SessionId,
) -> Result<()> {
    match link.execute(PUBLISH, &[&key, &id.as_str()]).await {
        Ok(1) => return Ok(()),
        Ok(_) => {}
        Err(trouble) if trouble.is(&SqlState::UNIQUE_VIOLATION) => {
            return Err(StoreError::SessionExists(id.clone()).into());
        }
        Err(trouble) => return Err(trouble),
    }
    match link.value::<String>(ID, &[&key]).await? {
        Some(shown) if shown == id.as_str() => Ok(()),
        _ => Err(missing(imported)),
    }
}

/// Hides a session that is to be deleted; its name is free at once.
pub(super) async fn hide(link: &mut Link, key: i64, id: &SessionId) -> Result<()> {
    link.transaction(async |link| {
        link.execute(HIDE, &[&key]).await?;
        link.execute(UNMARK, &[&key]).await?;
        link.query(NOTIFY, &[&id.as_str()]).await.map(drop)
    })
    .await
}

pub(super) async fn hidden(link: &mut Link, id: &SessionId) -> Result<Vec<i64>> {
    let rows = link.query(HIDDEN, &[&id.as_str()]).await?;
    rows.iter().map(|row| Ok(row.try_get(0)?)).collect()
}

pub(super) async fn forget(link: &mut Link, key: i64) -> Result<()> {
    link.transaction(async |link| {
        link.execute(UNMARK, &[&key]).await?;
        link.execute(DELETE_SESSION, &[&key]).await.map(drop)
    })
    .await
}

/// Takes some entries of a hidden session away. Says whether some are left.
pub(super) async fn delete_some(link: &mut Link, key: i64) -> Result<bool> {
    link.transaction(async |link| {
        // Whoever fills the search index must not be at it.
        link.query(LOCK, &[&key]).await?;
        if link.execute(DELETE_SOME, &[&key]).await? > 0 {
            return Ok(true);
        }
        link.execute(DELETE_WORDS, &[&key]).await?;
        Ok(false)
    })
    .await
}

/// Notes counts; the last one counts where an entry has several.
pub(super) async fn know_counts(
    link: &mut Link,
    id: &SessionId,
    counts: &[(EntryId, TokenCount)],
) -> Result<()> {
    let key = key(link, id).await?;
    let last: BTreeMap<&str, &TokenCount> =
        counts.iter().map(|(entry, count)| (entry.as_str(), count)).collect();
    let ids: Vec<&[u8]> = last.keys().map(|id| id.as_bytes()).collect();
    let tokenizers: Vec<&[u8]> = last.values().map(|count| count.tokenizer.as_bytes()).collect();
    let tokens: Vec<i64> = last.values().map(|count| signed(count.tokens)).collect();
    link.transaction(async |link| {
        // Two that note counts of the same entries would otherwise wait for each other.
        link.query(LOCK, &[&key]).await?;
        link.execute(COUNTS, &[&key, &ids, &tokenizers, &tokens]).await.map(drop)
    })
    .await
}

/// A connection whose lock says that this process imports.
pub(super) async fn hold(pool: &Pool, number: u64) -> Result<Option<Box<dyn Send + Sync>>> {
    let mut link = pool.new_link().await?;
    let is_held = try_lock(&mut link, number).await?;
    Ok(is_held.then(|| Box::new(link) as _))
}

async fn try_lock(link: &mut Link, number: u64) -> Result<bool> {
    Ok(link.value(HOLD, &[&number.cast_signed()]).await?.unwrap_or_default())
}

async fn left_keys(link: &mut Link) -> Result<Vec<i64>> {
    let mut keys = Vec::new();
    for row in link.query(UNSEEN, &[]).await? {
        let (id, state): (String, i16) = (row.try_get(1)?, row.try_get(2)?);
        let is_left = match number_of(&id) {
            _ if state == 2 => true,
            None => is_silent(row.try_get(3)?),
            Some(number) => {
                let is_free = try_lock(link, number).await?;
                if is_free {
                    link.query(LET_GO, &[&number.cast_signed()]).await?;
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

pub(super) async fn measure(link: &mut Link) -> Result<LeftBehind> {
    let keys = left_keys(link).await?;
    let mut sum = LeftBehind { sessions: keys.len() as u64, ..LeftBehind::default() };
    for key in keys {
        if let Some(row) = link.query_opt(SIZE, &[&key]).await? {
            sum.entries += row.try_get::<_, i64>(0)?.unsigned_abs();
            sum.bytes += row.try_get::<_, i64>(1)?.unsigned_abs();
        }
    }
    Ok(sum)
}

pub(super) async fn sweep(link: &mut Link) -> Result<()> {
    for key in left_keys(link).await? {
        if link.execute(HIDE_LEFT, &[&key]).await? > 0 {
            while delete_some(link, key).await? {}
            forget(link, key).await?;
        }
    }
    Ok(())
}
