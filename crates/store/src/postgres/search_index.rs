//! The search index on the server: for each entry the terms that we made of its text. It is filled
//! behind the appends, by one process at a time, and caught up before a search.

use std::collections::BTreeMap;

use tokio_postgres::types::{ToSql, Type};

use super::error::Result;
use super::link::{Link, timed};
use super::read::{COLUMNS, columns, row, signed};
use crate::backend::Indexed;
use crate::model::SearchQuery;
use crate::row::Row;
use crate::search::{AnyOf, COUNTED_MAX, Form, Frequencies, Wanted, terms_of};

const SESSIONS: usize = 64;

/// `Tert` and `word` in ASCII.
const WAIT_TURN: &str = "SELECT pg_advisory_xact_lock(6081392716379288164)";
const TRY_TURN: &str = "SELECT pg_try_advisory_xact_lock(6081392716379288164)";
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
/// What was purged or deleted since it was read is left out.
const INSERT: &str = "INSERT INTO tertulia.words (session, seq, terms) \
    SELECT e.session, e.seq, array_to_tsvector(string_to_array(n.terms, ' ')) \
    FROM unnest($1::bigint[], $2::bigint[], $3::text[]) AS n(session, seq, terms) \
    JOIN tertulia.entry e ON e.session = n.session AND e.seq = n.seq \
    WHERE e.encoding <> 2 ON CONFLICT DO NOTHING";
const INDEXED: &str = "UPDATE tertulia.session s SET indexed = n.indexed \
    FROM unnest($1::bigint[], $2::bigint[]) AS n(key, indexed) \
    WHERE s.key = n.key AND s.indexed < n.indexed";
/// Only where nothing was appended since it was read.
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

/// Whether it is worth waiting while another process fills the index.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Turn {
    Wait,
    Pass,
}

/// Takes entries into the index, at most so many. Whatever was appended before the call is taken in,
/// unless it says that it is behind.
pub(super) async fn index_some(link: &mut Link, limit: usize, turn: Turn) -> Result<Indexed> {
    if link.value(IS_BEHIND, &[]).await? != Some(true) {
        return Ok(Indexed::default());
    }
    link.transaction(async |link| {
        match turn {
            Turn::Wait => {
                // Whoever is at it may take longer than a lock is waited for.
                link.run("SET LOCAL lock_timeout = 0").await?;
                link.run(WAIT_TURN).await?;
                link.run("SET LOCAL lock_timeout = '10s'").await?;
            }
            Turn::Pass => {
                if link.value(TRY_TURN, &[]).await? != Some(true) {
                    return Ok(Indexed::default());
                }
            }
        }
        fill(link, limit).await
    })
    .await
}

async fn fill(link: &mut Link, limit: usize) -> Result<Indexed> {
    let (mut keys, mut from, mut tails) = (Vec::new(), Vec::new(), Vec::new());
    for row in link.query(BEHIND, &[&signed(SESSIONS as u64)]).await? {
        keys.push(row.try_get::<_, i64>(0)?);
        from.push(row.try_get::<_, i64>(1)?);
        tails.push(row.try_get::<_, i64>(2)?);
    }
    let mut rows = Vec::new();
    for one in link.query(ROWS, &[&keys, &from, &signed(limit as u64)]).await? {
        rows.push((one.try_get::<_, i64>(COLUMNS)?, row(&one)?));
    }
    let taken = rows.len();
    // Of the last session some may be left, if there were as many as were asked for.
    let cut = rows.last().filter(|_| taken >= limit).map(|(key, _)| *key);
    let reached: BTreeMap<i64, i64> =
        rows.iter().map(|(key, row)| (*key, signed(row.seq))).collect();
    // Making terms takes its time; other work goes on meanwhile, and no session is locked yet. If
    // it fails, these entries are not found: better than a search that never ends.
    let terms = tokio::task::spawn_blocking(move || {
        let found = rows.into_iter();
        let found = found.filter_map(|(key, row)| Some((key, signed(row.seq), terms_of(row)?)));
        found.collect::<(Vec<i64>, Vec<i64>, Vec<String>)>()
    });
    let (sessions, seqs, texts) = terms.await.unwrap_or_default();
    link.query(LOCK, &[&keys]).await?;
    link.execute(INSERT, &[&sessions, &seqs, &texts]).await?;
    let (of, until): (Vec<i64>, Vec<i64>) = reached.into_iter().unzip();
    link.execute(INDEXED, &[&of, &until]).await?;
    let is_behind = cut.is_some() || keys.len() == SESSIONS;
    let done = keys.into_iter().zip(tails).filter(|(key, _)| cut.is_none_or(|cut| *key < cut));
    let (done, tails): (Vec<i64>, Vec<i64>) = done.unzip();
    link.execute(UNMARK, &[&done, &tails]).await?;
    Ok(Indexed { entries: taken as u64, is_behind })
}

/// How many entries there are, and how many have one of the terms.
pub(super) async fn frequencies(link: &mut Link, terms: &[AnyOf]) -> Result<Frequencies> {
    let entries: Option<i64> = link.value(ENTRIES, &[]).await?;
    let entries = entries.unwrap_or_default().unsigned_abs();
    if terms.is_empty() {
        return Ok(Frequencies { entries, with_terms: Vec::new() });
    }
    let counts: Vec<String> = (1..=terms.len()).map(count_text).collect();
    let texts: Vec<String> = terms.iter().map(|forms| any_text(forms)).collect();
    let values: Vec<_> =
        texts.iter().map(|text| (text as &(dyn ToSql + Sync), Type::TEXT)).collect();
    // Planned anew each time, as the candidates are.
    let sql = format!("SELECT ARRAY[{}]", counts.join(", "));
    let found = timed(link.client.query_typed(&sql, &values)).await??;
    let counts: Vec<i64> = found.first().map(|row| row.try_get(0)).transpose()?.unwrap_or_default();
    let with_terms = counts.into_iter().map(i64::unsigned_abs).collect();
    Ok(Frequencies { entries, with_terms })
}

fn count_text(place: usize) -> String {
    format!(
        "(SELECT count(*) FROM (SELECT FROM tertulia.words WHERE terms @@ ${place}::text::tsquery \
         LIMIT {COUNTED_MAX}) AS found)"
    )
}

/// The newest entries that have the wanted terms and pass the filters, one more than are asked for, to see whether
/// there are more; each with the id of its session.
pub(super) async fn candidates(
    link: &mut Link,
    wanted: &Wanted,
    query: &SearchQuery,
    limit: usize,
) -> Result<Vec<(String, Row)>> {
    let terms = match_text(wanted);
    let except = query.except_session.as_ref().map(|id| id.as_str());
    let session = query.session.as_ref().map(|id| id.as_str());
    let speaker = query.speaker.as_ref().map(|text| text.as_bytes());
    let type_name = query.type_name.as_ref().map(|text| text.as_bytes());
    let since = query.since.as_ref().map(|since| since.millis());
    let until = query.until.as_ref().map(|until| until.millis());
    let (is_any, project) = query.project.values();
    let project = project.map(str::as_bytes);
    let limit = signed(limit as u64 + 1);
    // Planned anew each time: how many entries have a term is what the plan hangs on.
    let found = timed(link.client.query_typed(
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

/// What is wanted in the words of the index.
fn match_text(wanted: &Wanted) -> String {
    let mut all: Vec<String> =
        wanted.all.iter().map(|group| format!("({})", any_text(group))).collect();
    if !wanted.without.is_empty() {
        all.push(format!("!({})", any_text(&wanted.without)));
    }
    all.join(" & ")
}

/// Terms in quotes, which are escaped inside them, as backslashes are.
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
    fn a_question_is_quoted_for_the_server() {
        let form = |text: &str, is_prefix| Form { text: text.to_owned(), is_prefix };
        let all = vec![vec![form("log", false), form("据", true)], vec![form("a'b\\c", false)]];
        let wanted = Wanted { all, without: vec![form("x", false)] };
        assert_eq!(match_text(&wanted), "('log' | '据':*) & ('a''b\\\\c') & !('x')");
    }
}
