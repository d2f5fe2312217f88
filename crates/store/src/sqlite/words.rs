//! The search index in the file. It is filled behind the appends and caught up before a search; what is
//! taken out is taken out whole, so that no term of a purged text stays on the disk.

use rusqlite::{Connection, OptionalExtension, params};
use tertulia_session::{Entry, Timestamp};

use super::read::{self, place, signed};
use crate::backend::{Indexed, State};
use crate::model::SearchQuery;
use crate::row::Row;
use crate::search::{AnyOf, COUNTED_MAX, Form, Frequencies, Wanted, terms_of, terms_text};

type Result<T> = rusqlite::Result<T>;

/// About how many bytes of entries, as they are stored, are handed over to a search.
const CANDIDATE_BYTES: usize = 64 << 20;

const CANDIDATES: &str = "SELECT w.rowid, s.id FROM words w JOIN entry e ON e.place = w.rowid \
    JOIN session s ON s.key = w.rowid >> 32 WHERE words MATCH ?1 AND s.state NOT IN (?2, ?3) \
    AND w.rowid > ?4 AND w.rowid <= ?5 AND (?6 OR s.project IS ?7) \
    AND (?8 IS NULL OR e.speaker = ?8 OR e.speaker_name = ?8) AND (?9 IS NULL OR e.type = ?9) \
    AND (?10 IS NULL OR e.time >= ?10) AND (?11 IS NULL OR e.time < ?11) \
    AND (?12 IS NULL OR s.id <> ?12) ORDER BY w.rowid DESC LIMIT ?13";

const ENTRIES: &str = "SELECT coalesce(sum(indexed), 0) FROM session WHERE state NOT IN (?1, ?2)";
const COUNT: &str = "SELECT count(*) FROM (SELECT 1 FROM words WHERE words MATCH ?1 LIMIT ?2)";

/// Notes that a session has entries that are not in the index.
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

/// Takes entries into the index, at most so many. To be called in a transaction.
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

/// Takes entries of one session into the index. Says how many, and whether no more are left.
fn index_session(connection: &Connection, key: i64, limit: usize) -> Result<(usize, bool)> {
    let sql = "SELECT indexed FROM session WHERE key = ?1";
    let until = connection.prepare_cached(sql)?.query_row([key], |row| row.get::<_, i64>(0));
    let Some(until) = until.optional()? else { return Ok((0, true)) };
    let page = read::rows(connection, key, until.unsigned_abs(), limit);
    let Some((last, link)) = page.rows.last().map(|row| (row.seq, row.link)) else {
        // A page that cannot be read keeps the rest of its session out of the index, no more.
        return Ok((0, true));
    };
    let taken = page.rows.len();
    for row in page.rows {
        let place = place(key, row.seq);
        if let Some(terms) = terms_of(row) {
            let sql = "INSERT INTO words (rowid, terms) VALUES (?1, ?2)";
            connection.prepare_cached(sql)?.execute(params![place, terms])?;
        }
    }
    // The row is written anyway, so noting how far the session goes costs nothing. An index that is made anew
    // begins before what is known already.
    let sql = "UPDATE session SET indexed = ?2, anchor_seq = max(anchor_seq, ?2), \
               anchor_link = iif(?2 >= anchor_seq, ?3, anchor_link) WHERE key = ?1";
    connection.prepare_cached(sql)?.execute(params![key, last.cast_signed(), link.as_bytes()])?;
    let newest = read::newest(connection, key)?.map_or(0, |newest| newest.seq);
    Ok((taken, last >= newest))
}

/// Takes an entry out of the index; the index wants to be told what it had taken in.
pub(super) fn remove(connection: &Connection, place: i64, entry: &Entry) -> Result<()> {
    if let Some(terms) = terms_text(entry) {
        let sql = "INSERT INTO words (words, rowid, terms) VALUES ('delete', ?1, ?2)";
        connection.prepare_cached(sql)?.execute(params![place, terms])?;
    }
    Ok(())
}

/// How many entries there are, and how many have one of the terms.
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

/// The newest entries that have the wanted terms and pass the filters, with the ids of their sessions; one more
/// than are asked for, to see whether there are more.
pub(super) fn candidates(
    connection: &Connection,
    wanted: &Wanted,
    query: &SearchQuery,
    key: Option<i64>,
    limit: usize,
) -> Result<Vec<(String, Row)>> {
    let hidden = [State::Importing, State::Deleting].map(read::state_code);
    let (first, last) = key.map_or((0, i64::MAX), read::bounds);
    let (is_any, project) = query.project.values();
    let mut statement = connection.prepare_cached(CANDIDATES)?;
    let values = params![
        match_text(wanted),
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
        let (place, session): (i64, String) = one?;
        if let Some(row) = read::one(connection, place)? {
            bytes += row.record.body.len();
            found.push((session, row));
        }
        if bytes > CANDIDATE_BYTES {
            break;
        }
    }
    Ok(found)
}

/// What is wanted in the words of the index. Terms hold no quotes, so quotes are safe.
fn match_text(wanted: &Wanted) -> String {
    let all: Vec<String> =
        wanted.all.iter().map(|group| format!("({})", any_text(group))).collect();
    let all = all.join(" AND ");
    match wanted.without.is_empty() {
        true => all,
        false => format!("({all}) NOT ({})", any_text(&wanted.without)),
    }
}

fn any_text(forms: &[Form]) -> String {
    let quoted = forms.iter().map(|form| {
        let star = if form.is_prefix { " *" } else { "" };
        format!("\"{}\"{star}", form.text)
    });
    quoted.collect::<Vec<_>>().join(" OR ")
}
