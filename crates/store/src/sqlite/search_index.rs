//! The search index in the file. It is filled after appends and updated before a search. Removals are complete, so
//! that no term of a purged text stays on disk.

use rusqlite::{Connection, OptionalExtension, params};
use tertulia_session::{Entry, Timestamp};

use super::read::{self, row_id, signed};
use crate::backend::{Indexed, State};
use crate::model::SearchQuery;
use crate::row::Row;
use crate::search::{AnyOf, COUNTED_MAX, Form, Frequencies, IndexQuery, terms_of, terms_text};

type Result<T> = rusqlite::Result<T>;

/// The approximate limit on the stored bytes of entries that a search gets.
const CANDIDATE_BYTES: usize = 64 << 20;

const CANDIDATES: &str = "SELECT w.rowid, s.id FROM words w JOIN entry e ON e.place = w.rowid \
    JOIN session s ON s.key = w.rowid >> 32 WHERE words MATCH ?1 AND s.state NOT IN (?2, ?3) \
    AND w.rowid > ?4 AND w.rowid <= ?5 AND (?6 OR s.project IS ?7) \
    AND (?8 IS NULL OR e.speaker = ?8 OR e.speaker_name = ?8) AND (?9 IS NULL OR e.type = ?9) \
    AND (?10 IS NULL OR e.time >= ?10) AND (?11 IS NULL OR e.time < ?11) \
    AND (?12 IS NULL OR s.id <> ?12) ORDER BY w.rowid DESC LIMIT ?13";

const ENTRIES: &str = "SELECT coalesce(sum(indexed), 0) FROM session WHERE state NOT IN (?1, ?2)";
const COUNT: &str = "SELECT count(*) FROM (SELECT 1 FROM words WHERE words MATCH ?1 LIMIT ?2)";

/// Marks a session as having entries that are not in the index.
pub(super) fn mark(connection: &Connection, key: i64) -> Result<()> {
    let sql = "INSERT OR IGNORE INTO unindexed (session) VALUES (?1)";
    connection.prepare_cached(sql)?.execute([key])?;
    Ok(())
}

pub(super) fn is_behind(connection: &Connection) -> Result<bool> {
    next_session(connection).map(|next| next.is_some())
}

fn next_session(connection: &Connection) -> Result<Option<i64>> {
    let sql = "SELECT session FROM unindexed ORDER BY session LIMIT 1";
    connection.prepare_cached(sql)?.query_row([], |row| row.get(0)).optional()
}

/// Adds at most `limit` entries to the index. Must be called in a transaction.
pub(super) fn index_some(connection: &Connection, limit: usize) -> Result<Indexed> {
    let mut entries = 0;
    while let Some(key) = next_session(connection)? {
        let left = limit.saturating_sub(entries);
        if left == 0 {
            return Ok(Indexed { entries: entries as u64, is_behind: true });
        }
        let (taken, is_end) = index_session(connection, key, left)?;
        entries += taken;
        if is_end {
            let sql = "DELETE FROM unindexed WHERE session = ?1";
            connection.prepare_cached(sql)?.execute([key])?;
        }
    }
    Ok(Indexed { entries: entries as u64, is_behind: false })
}

/// Adds entries of one session to the index. Returns how many, and whether none are left.
fn index_session(connection: &Connection, key: i64, limit: usize) -> Result<(usize, bool)> {
    let sql = "SELECT indexed FROM session WHERE key = ?1";
    let until = connection.prepare_cached(sql)?.query_row([key], |row| row.get::<_, i64>(0));
    let Some(until) = until.optional()? else { return Ok((0, true)) };
    let page = read::rows(connection, key, until.unsigned_abs(), limit);
    let Some((last, link)) = page.rows.last().map(|row| (row.seq, row.link)) else {
        // If a page is unreadable, only the rest of its session is missing in the index.
        return Ok((0, true));
    };
    let taken = page.rows.len();
    for row in page.rows {
        let row_id = row_id(key, row.seq);
        if let Some(terms) = terms_of(row) {
            let sql = "INSERT INTO words (rowid, terms) VALUES (?1, ?2)";
            connection.prepare_cached(sql)?.execute(params![row_id, terms])?;
        }
    }
    // The row is written anyway, so recording the anchor costs nothing. If the index is rebuilt, it starts before
    // the anchor, and the anchor must not move back.
    let sql = "UPDATE session SET indexed = ?2, anchor_seq = max(anchor_seq, ?2), \
               anchor_link = iif(?2 >= anchor_seq, ?3, anchor_link) WHERE key = ?1";
    connection.prepare_cached(sql)?.execute(params![key, last.cast_signed(), link.as_bytes()])?;
    let newest = read::newest(connection, key)?.map_or(0, |newest| newest.seq);
    Ok((taken, last >= newest))
}

/// Removes an entry from the index. Its terms must be the same as those that were added.
pub(super) fn remove(connection: &Connection, row_id: i64, entry: &Entry) -> Result<()> {
    if let Some(terms) = terms_text(entry) {
        let sql = "INSERT INTO words (words, rowid, terms) VALUES ('delete', ?1, ?2)";
        connection.prepare_cached(sql)?.execute(params![row_id, terms])?;
    }
    Ok(())
}

/// Returns the number of entries, and the number of entries with one of the terms.
pub(super) fn frequencies(connection: &Connection, terms: &[AnyOf]) -> Result<Frequencies> {
    let hidden = [State::Importing, State::Deleting].map(read::state_code);
    let entries: i64 = connection.prepare_cached(ENTRIES)?.query_row(hidden, |row| row.get(0))?;
    let mut statement = connection.prepare_cached(COUNT)?;
    let with_terms = terms.iter().map(|forms| {
        let values = params![any_text(forms), COUNTED_MAX.cast_signed()];
        statement.query_row(values, |row| row.get::<_, i64>(0)).map(i64::unsigned_abs)
    });
    let with_terms = with_terms.collect::<Result<_>>()?;
    Ok(Frequencies { entries: entries.unsigned_abs(), with_terms })
}

/// Returns the newest entries that match the index query and the filters, with their session ids. If there are more
/// than `limit`, returns one more.
pub(super) fn candidates(
    connection: &Connection,
    index_query: &IndexQuery,
    query: &SearchQuery,
    key: Option<i64>,
    limit: usize,
) -> Result<Vec<(String, Row)>> {
    let hidden = [State::Importing, State::Deleting].map(read::state_code);
    let (first, last) = key.map_or((0, i64::MAX), read::bounds);
    let (is_any, project) = query.project.values();
    let mut statement = connection.prepare_cached(CANDIDATES)?;
    let values = params![
        match_text(index_query),
        hidden[0],
        hidden[1],
        first,
        last,
        is_any,
        project,
        query.speaker,
        query.type_name,
        query.since.as_ref().map(Timestamp::millis),
        query.until.as_ref().map(Timestamp::millis),
        query.except_session.as_ref().map(|id| id.as_str()),
        signed(limit + 1),
    ];
    let places = statement.query_map(values, |row| Ok((row.get(0)?, row.get(1)?)))?;
    let (mut found, mut bytes) = (Vec::new(), 0);
    for one in places {
        let (row_id, session): (i64, String) = one?;
        if let Some(row) = read::one(connection, row_id)? {
            bytes += row.record.body.len();
            found.push((session, row));
        }
        if bytes > CANDIDATE_BYTES {
            break;
        }
    }
    Ok(found)
}

/// Formats an index query for FTS5. Terms contain no quotes, so they can simply be quoted.
fn match_text(index_query: &IndexQuery) -> String {
    let all: Vec<String> =
        index_query.all.iter().map(|group| format!("({})", any_text(group))).collect();
    let all = all.join(" AND ");
    match index_query.without.is_empty() {
        true => all,
        false => format!("({all}) NOT ({})", any_text(&index_query.without)),
    }
}

fn any_text(forms: &[Form]) -> String {
    let quoted = forms.iter().map(|form| {
        let star = if form.is_prefix { " *" } else { "" };
        format!("\"{}\"{star}", form.text)
    });
    quoted.collect::<Vec<_>>().join(" OR ")
}
