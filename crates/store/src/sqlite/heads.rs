//! Where all sessions of a state stand, in one question.

use rusqlite::{Connection, params};
use tertulia_session::{ChainLink, EntryId};

use super::read::{self, SEQ_BITS, state_code};
use super::words;
use crate::SessionId;
use crate::backend::{Head, State};
use crate::model::ProjectScope;

/// The sessions of a state with their keys, in no order.
pub(super) fn all_heads(
    connection: &Connection,
    state: State,
    scope: &ProjectScope,
) -> rusqlite::Result<Vec<(Head, i64)>> {
    let sql = "SELECT s.id, s.created_at, s.key, e.place, e.id, e.link, e.stored_at, s.project \
               FROM session s LEFT JOIN entry e ON e.place = (SELECT n.place FROM entry n \
                 WHERE n.place > s.key << ?1 AND n.place < (s.key + 1) << ?1 \
                 ORDER BY n.place DESC LIMIT 1) \
               WHERE CASE ?2 WHEN 0 THEN coalesce(s.state, 0) NOT IN (?3, ?4) ELSE s.state = ?2 END \
               AND (?5 OR s.project IS ?6)";
    let mut statement = connection.prepare_cached(sql)?;
    let hidden = (state_code(State::Importing), state_code(State::Deleting));
    let (is_any, project) = words::scope_values(scope);
    let values = params![SEQ_BITS, state_code(state), hidden.0, hidden.1, is_any, project];
    let heads = statement.query_map(values, |row| {
        let created_at: i64 = row.get(1)?;
        let place: Option<i64> = row.get(3)?;
        let link: Option<Vec<u8>> = row.get(5)?;
        let link = link.and_then(|link| link.try_into().ok()).map(ChainLink::from_bytes);
        let head = row.get::<_, String>(0)?.parse::<SessionId>().ok().map(|id| Head {
            id,
            created_at,
            updated_at: row.get::<_, Option<i64>>(6).ok().flatten().unwrap_or(created_at),
            seq: place.map_or(0, read::seq_of),
            tail: row.get::<_, Option<String>>(4).ok().flatten().map(EntryId::from),
            link: link.unwrap_or(ChainLink::START),
            project: read::optional_text(row, 7).unwrap_or_default(),
        });
        Ok(head.map(|head| (head, row.get::<_, i64>(2).unwrap_or(0))))
    })?;
    heads.filter_map(Result::transpose).collect()
}
