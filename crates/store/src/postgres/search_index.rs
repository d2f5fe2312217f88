//! The search index on the server, which contains the terms of each entry. It is filled after appends, by one
//! process at a time, and updated before a search.

use std::collections::BTreeMap;

use tokio_postgres::types::{ToSql, Type};

use super::connection::{PgConnection, timed};
use super::error::Result;
use super::read::{COLUMNS, columns, row, signed};
use crate::backend::Indexed;
use crate::model::SearchQuery;
use crate::row::Row;
use crate::search::{AnyOf, COUNTED_MAX, Form, Frequencies, IndexQuery, terms_of};

const SESSIONS: usize = 64;

/// The key of the lock: `Tert` and `word` in ASCII.
const WAIT_FOR_LOCK: &str = "SELECT pg_advisory_xact_lock(6081392716379288164)";
const TRY_LOCK: &str = "SELECT pg_try_advisory_xact_lock(6081392716379288164)";
const IS_BEHIND: &str = "SELECT EXISTS (SELECT FROM tertulia.unindexed)";
const BEHIND: &str = "SELECT s.key, s.indexed, s.tail_seq FROM tertulia.unindexed u \
    JOIN tertulia.session s ON s.key = u.session WHERE s.state <> 2 ORDER BY s.key LIMIT $1";
const ROWS: &str = concat!(
    "SELECT ",
    columns!(),
    ", e.session FROM unnest($1::bigint[], $2::bigint[]) AS s(key, indexed) CROSS JOIN LATERAL \
      (SELECT * FROM tertulia.entry n WHERE n.session = s.key AND n.seq > s.indexed \
      ORDER BY n.seq LIMIT $3) AS e ORDER BY e.session, e.seq LIMIT $3"
);
const LOCK: &str = "SELECT key FROM tertulia.session WHERE key = ANY($1) ORDER BY key FOR UPDATE";
/// Leaves out entries that were purged or deleted since they were read.
const INSERT: &str = "INSERT INTO tertulia.words (session, seq, terms) \
    SELECT e.session, e.seq, array_to_tsvector(string_to_array(n.terms, ' ')) \
    FROM unnest($1::bigint[], $2::bigint[], $3::text[]) AS n(session, seq, terms) \
    JOIN tertulia.entry e ON e.session = n.session AND e.seq = n.seq \
    WHERE e.encoding <> 2 ON CONFLICT DO NOTHING";
const INDEXED: &str = "UPDATE tertulia.session s SET indexed = n.indexed \
    FROM unnest($1::bigint[], $2::bigint[]) AS n(key, indexed) \
    WHERE s.key = n.key AND s.indexed < n.indexed";
/// Has an effect only if nothing was appended since the entries were read.
const UNMARK: &str = "DELETE FROM tertulia.unindexed u \
    USING unnest($1::bigint[], $2::bigint[]) AS n(key, tail), tertulia.session s \
    WHERE u.session = n.key AND s.key = n.key AND s.tail_seq = n.tail";
const CANDIDATES: &str = concat!(
    "SELECT ",
    columns!(),
    ", s.id FROM tertulia.words w JOIN tertulia.session s ON s.key = w.session \
      JOIN tertulia.entry e ON e.session = w.session AND e.seq = w.seq \
      WHERE w.terms @@ $1::text::tsquery AND s.state = 0 AND ($2 IS NULL OR s.id = $2) \
      AND ($3 IS NULL OR e.speaker = $3 OR e.speaker_name = $3) AND ($4 IS NULL OR e.type = $4) \
      AND ($5 IS NULL OR e.time >= $5) AND ($6 IS NULL OR e.time < $6) \
      AND ($7 OR s.project IS NOT DISTINCT FROM $8) AND ($9 IS NULL OR s.id <> $9) \
      ORDER BY w.session DESC, w.seq DESC LIMIT $10"
);
const ENTRIES: &str =
    "SELECT coalesce(sum(indexed), 0)::bigint FROM tertulia.session WHERE state = 0";

/// What to do while another process fills the index.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum WhenBusy {
    Wait,
    Skip,
}

/// Adds at most `limit` entries to the index. Afterwards the index contains every entry that was appended before the
/// call, unless the result says that it is behind.
pub(super) async fn index_some(
    connection: &mut PgConnection,
    limit: usize,
    when_busy: WhenBusy,
) -> Result<Indexed> {
    if connection.value(IS_BEHIND, &[]).await? != Some(true) {
        return Ok(Indexed::default());
    }
    connection
        .transaction(async |connection| {
            match when_busy {
                WhenBusy::Wait => {
                    // The other process may need longer than the lock timeout.
                    connection.run("SET LOCAL lock_timeout = 0").await?;
                    connection.run(WAIT_FOR_LOCK).await?;
                    connection.run("SET LOCAL lock_timeout = '10s'").await?;
                }
                WhenBusy::Skip => {
                    if connection.value(TRY_LOCK, &[]).await? != Some(true) {
                        return Ok(Indexed::default());
                    }
                }
            }
            fill(connection, limit).await
        })
        .await
}

async fn fill(connection: &mut PgConnection, limit: usize) -> Result<Indexed> {
    let (mut keys, mut from, mut tails) = (Vec::new(), Vec::new(), Vec::new());
    for row in connection.query(BEHIND, &[&signed(SESSIONS as u64)]).await? {
        keys.push(row.try_get::<_, i64>(0)?);
        from.push(row.try_get::<_, i64>(1)?);
        tails.push(row.try_get::<_, i64>(2)?);
    }
    let mut rows = Vec::new();
    for one in connection.query(ROWS, &[&keys, &from, &signed(limit as u64)]).await? {
        rows.push((one.try_get::<_, i64>(COLUMNS)?, row(&one)?));
    }
    let taken = rows.len();
    // If `limit` entries were read, the last session may have more.
    let cut = rows.last().filter(|_| taken >= limit).map(|(key, _)| *key);
    let reached: BTreeMap<i64, i64> =
        rows.iter().map(|(key, row)| (*key, signed(row.seq))).collect();
    // Computing terms takes time. Meanwhile other work continues, and no session is locked yet. If computing fails,
    // searches do not find these entries, but they still end.
    let terms = tokio::task::spawn_blocking(move || {
        let found = rows.into_iter();
        let found = found.filter_map(|(key, row)| Some((key, signed(row.seq), terms_of(row)?)));
        found.collect::<(Vec<i64>, Vec<i64>, Vec<String>)>()
    });
    let (sessions, seqs, texts) = terms.await.unwrap_or_default();
    connection.query(LOCK, &[&keys]).await?;
    connection.execute(INSERT, &[&sessions, &seqs, &texts]).await?;
    let (of, until): (Vec<i64>, Vec<i64>) = reached.into_iter().unzip();
    connection.execute(INDEXED, &[&of, &until]).await?;
    let is_behind = cut.is_some() || keys.len() == SESSIONS;
    let done = keys.into_iter().zip(tails).filter(|(key, _)| cut.is_none_or(|cut| *key < cut));
    let (done, tails): (Vec<i64>, Vec<i64>) = done.unzip();
    connection.execute(UNMARK, &[&done, &tails]).await?;
    Ok(Indexed { entries: taken as u64, is_behind })
}

/// Returns the number of entries, and the number of entries with one of the terms.
pub(super) async fn frequencies(
    connection: &mut PgConnection,
    terms: &[AnyOf],
) -> Result<Frequencies> {
    let entries: Option<i64> = connection.value(ENTRIES, &[]).await?;
    let entries = entries.unwrap_or_default().unsigned_abs();
    if terms.is_empty() {
        return Ok(Frequencies { entries, with_terms: Vec::new() });
    }
    let counts: Vec<String> = (1..=terms.len()).map(count_text).collect();
    let texts: Vec<String> = terms.iter().map(|forms| any_text(forms)).collect();
    let values: Vec<_> =
        texts.iter().map(|text| (text as &(dyn ToSql + Sync), Type::TEXT)).collect();
    // The statement is planned each time, for the same reason as the one for the candidates.
    let sql = format!("SELECT ARRAY[{}]", counts.join(", "));
    let found = timed(connection.client.query_typed(&sql, &values)).await??;
    let counts: Vec<i64> = found.first().map(|row| row.try_get(0)).transpose()?.unwrap_or_default();
    let with_terms = counts.into_iter().map(i64::unsigned_abs).collect();
    Ok(Frequencies { entries, with_terms })
}

fn count_text(number: usize) -> String {
    format!(
        "(SELECT count(*) FROM (SELECT FROM tertulia.words WHERE terms @@ ${number}::text::tsquery \
         LIMIT {COUNTED_MAX}) AS found)"
    )
}

/// Returns the newest entries that match the index query and the filters, each with the id of its session. If there
/// are more than `limit`, returns one more.
pub(super) async fn candidates(
    connection: &mut PgConnection,
    index_query: &IndexQuery,
    query: &SearchQuery,
    limit: usize,
) -> Result<Vec<(String, Row)>> {
    let terms = match_text(index_query);
    let except = query.except_session.as_ref().map(|id| id.as_str());
    let session = query.session.as_ref().map(|id| id.as_str());
    let speaker = query.speaker.as_ref().map(|text| text.as_bytes());
    let type_name = query.type_name.as_ref().map(|text| text.as_bytes());
    let since = query.since.as_ref().map(|since| since.millis());
    let until = query.until.as_ref().map(|until| until.millis());
    let (is_any, project) = query.project.values();
    let project = project.map(str::as_bytes);
    let limit = signed(limit as u64 + 1);
    // The statement is planned each time, because the best plan depends on how many entries have a term.
    let found = timed(connection.client.query_typed(
        CANDIDATES,
        &[
            (&terms, Type::TEXT),
            (&session, Type::TEXT),
            (&speaker, Type::BYTEA),
            (&type_name, Type::BYTEA),
            (&since, Type::INT8),
            (&until, Type::INT8),
            (&is_any, Type::BOOL),
            (&project, Type::BYTEA),
            (&except, Type::TEXT),
            (&limit, Type::INT8),
        ],
    ))
    .await??;
    found.iter().map(|one| Ok((one.try_get(COLUMNS)?, row(one)?))).collect()
}

/// Formats an index query for the server.
fn match_text(index_query: &IndexQuery) -> String {
    let mut all: Vec<String> =
        index_query.all.iter().map(|group| format!("({})", any_text(group))).collect();
    if !index_query.without.is_empty() {
        all.push(format!("!({})", any_text(&index_query.without)));
    }
    all.join(" & ")
}

/// Quotes and escapes terms.
fn any_text(forms: &[Form]) -> String {
    let quoted = forms.iter().map(|form| {
        let text = form.text.replace('\\', "\\\\").replace('\'', "''");
        let star = if form.is_prefix { ":*" } else { "" };
        format!("'{text}'{star}")
    });
    quoted.collect::<Vec<_>>().join(" | ")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_query_is_quoted_for_the_server() {
        let form = |text: &str, is_prefix| Form { text: text.to_owned(), is_prefix };
        let all = vec![vec![form("log", false), form("据", true)], vec![form("a'b\\c", false)]];
        let index_query = IndexQuery { all, without: vec![form("x", false)] };
        assert_eq!(match_text(&index_query), "('log' | '据':*) & ('a''b\\\\c') & !('x')");
    }
}
