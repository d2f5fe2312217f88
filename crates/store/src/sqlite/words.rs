//! The search index in the file. It is filled behind the appends and caught up before a search; what is
//! taken out is taken out whole, so that no term of a purged text stays on the disk.

use rusqlite::{Connection, OptionalExtension, params, params_from_iter};
use tertulia_session::Entry;

use super::read::{self, place, signed};
use crate::backend::{Indexed, State};
use crate::model::{ProjectScope, SearchQuery};
use crate::row::{Encoding, Row};
use crate::search::{CANDIDATES_MAX, Question, Term, index_terms, text_of};

type Result<T> = rusqlite::Result<T>;

/// About how many bytes of entries, as they are stored, are handed over to a search.
const CANDIDATE_BYTES: usize = 64 << 20;

/// Notes that a session has entries that are not in the index.
pub(super) fn mark(connection: &Connection, key: i64) -> Result<()> {
    let sql = "INSERT OR IGNORE INTO unindexed (session) VALUES (?1)";
    connection.prepare_cached(sql)?.execute([key])?;
    Ok(())
}

/// Whether some session has entries that are not in the index.
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
    // The row is written anyway, so noting how far the session goes costs nothing.
    let sql = "UPDATE session SET indexed = ?2, anchor_seq = ?2, anchor_link = ?3 WHERE key = ?1";
    connection.prepare_cached(sql)?.execute(params![key, last.cast_signed(), link.as_bytes()])?;
    let newest = read::newest(connection, key)?.map_or(0, |newest| newest.seq);
    Ok((taken, last >= newest))
}

fn terms_of(row: Row) -> Option<String> {
    if row.record.encoding == Encoding::Purged {
        return None;
    }
    let stored = row.decode().ok()?;
    terms_text(&stored.entry)
}

fn terms_text(entry: &Entry) -> Option<String> {
    let terms = index_terms(&text_of(entry));
    (!terms.is_empty()).then(|| terms.join(" "))
}

/// Takes an entry out of the index; the index wants to be told what it had taken in.
pub(super) fn remove(connection: &Connection, place: i64, entry: &Entry) -> Result<()> {
    if let Some(terms) = terms_text(entry) {
        let sql = "INSERT INTO words (words, rowid, terms) VALUES ('delete', ?1, ?2)";
        connection.prepare_cached(sql)?.execute(params![place, terms])?;
    }
    Ok(())
}

/// The newest entries that have all terms and pass the filters, with the ids of their sessions; one more
/// than are ever looked at, to see whether there are more.
pub(super) fn candidates(
    connection: &Connection,
    question: &Question,
    query: &SearchQuery,
    key: Option<i64>,
) -> Result<Vec<(String, Row)>> {
    let mut sql = String::from(
        "SELECT w.rowid, s.id FROM words w JOIN entry e ON e.place = w.rowid \
         JOIN session s ON s.key = w.rowid >> 32 WHERE words MATCH ?1",
    );
    let mut values: Vec<rusqlite::types::Value> = vec![match_text(question.terms()).into()];
    let mut add = |condition: &str, new: Vec<rusqlite::types::Value>| {
        sql.push_str(condition);
        values.extend(new);
    };
    let hidden = [State::Importing, State::Deleting].map(|state| read::state_code(state).into());
    add(" AND s.state NOT IN (?, ?)", hidden.into());
    if let Some(key) = key {
        let last = place(key, u64::from(u32::MAX));
        add(" AND w.rowid > ? AND w.rowid <= ?", vec![place(key, 0).into(), last.into()]);
    }
    if query.project != ProjectScope::All {
        let (_, project) = scope_values(&query.project);
        add(" AND s.project IS ?", vec![project.map(str::to_owned).into()]);
    }
    if let Some(speaker) = &query.speaker {
        let said_by = rusqlite::types::Value::from(speaker.clone());
        add(" AND (e.speaker = ? OR e.speaker_name = ?)", vec![said_by.clone(), said_by]);
    }
    if let Some(type_name) = &query.type_name {
        add(" AND e.type = ?", vec![type_name.clone().into()]);
    }
    if let Some(since) = &query.since {
        add(" AND e.time >= ?", vec![since.millis().into()]);
    }
    if let Some(until) = &query.until {
        add(" AND e.time < ?", vec![until.millis().into()]);
    }
    add(" ORDER BY w.rowid DESC LIMIT ?", vec![signed(CANDIDATES_MAX + 1).into()]);
    let mut statement = connection.prepare(&sql)?;
    let places = statement.query_map(params_from_iter(values), |row| {
        Ok((row.get::<_, i64>(0)?, row.get::<_, String>(1)?))
    })?;
    let (mut found, mut bytes) = (Vec::new(), 0);
    for one in places {
        let (place, session) = one?;
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

/// Whether sessions of any project are meant, and else of which; no value stands for no project.
pub(super) fn scope_values(scope: &ProjectScope) -> (bool, Option<&str>) {
    match scope {
        ProjectScope::All => (true, None),
        ProjectScope::Of(project) => (false, Some(project)),
        ProjectScope::Unassigned => (false, None),
    }
}

/// The question in the words of the index. Terms are letters and digits, so quotes are safe.
fn match_text(terms: &[Term]) -> String {
    let quoted = terms.iter().map(|term| {
        let star = if term.is_prefix { " *" } else { "" };
        format!("\"{}\"{star}", term.text)
    });
    quoted.collect::<Vec<_>>().join(" AND ")
}
