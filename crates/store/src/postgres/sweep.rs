//! Numbers that importing processes hold, each by a lock of a connection of its own, which the server
//! lets go of when that connection ends; and what killed imports and deletions left behind.

use std::rc::Rc;

use super::change::{delete_some, forget};
use super::hub::Hub;
use super::link::Link;
use super::trouble::Result;
use crate::import::{LeftBehind, is_silent, number_of};

const HOLD: &str = "SELECT pg_try_advisory_lock($1)";
const LET_GO: &str = "SELECT pg_advisory_unlock($1)";
const HIDDEN: &str =
    "SELECT key, id, state, updated_at FROM tertulia.session WHERE state <> 0 ORDER BY key";
const SIZE: &str = "SELECT count(*), coalesce(sum(octet_length(record)), 0)::bigint \
    FROM tertulia.entry WHERE session = $1";
/// Unless it was shown meanwhile.
const HIDE: &str = "UPDATE tertulia.session SET state = 2 WHERE key = $1 AND state <> 0";

/// Holds a number; `false` if somebody else does.
pub(super) async fn hold(hub: &Rc<Hub>, number: u64) -> Result<bool> {
    let mut link = hub.new_link().await?;
    let is_held = try_lock(&mut link, number).await?;
    if is_held {
        hub.holds.borrow_mut().insert(number, link);
    }
    Ok(is_held)
}

async fn try_lock(link: &mut Link, number: u64) -> Result<bool> {
    let row = link.query_opt(HOLD, &[&number.cast_signed()]).await?;
    Ok(row.map_or(Ok(false), |row| row.try_get(0))?)
}

/// The keys of what was left behind.
async fn left_keys(link: &mut Link) -> Result<Vec<i64>> {
    let mut keys = Vec::new();
    for row in link.query(HIDDEN, &[]).await? {
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

/// How much was left behind.
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

/// Deletes what was left behind.
pub(super) async fn sweep(link: &mut Link) -> Result<()> {
    for key in left_keys(link).await? {
        if link.execute(HIDE, &[&key]).await? > 0 {
            while delete_some(link, key).await? {}
            forget(link, key).await?;
        }
    }
    Ok(())
}
