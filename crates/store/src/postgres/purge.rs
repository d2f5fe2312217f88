//! Takes the bytes of what redactions hide out of the tables and out of the search index, in the
//! transaction of the append that brought the redaction. What the server keeps of old rows in its
//! files is cleaned away by [`chores`](super::chores) before the redaction returns.

use super::link::Link;
use super::read::{columns, row, signed};
use super::trouble::Trouble;
use crate::plan::what_is_left;
use crate::{Outcome, Problem, StoreError};

const LOG: &str = concat!(
    "SELECT ",
    columns!(),
    " FROM tertulia.entry e WHERE e.session = $1 AND e.seq > $2 ORDER BY e.seq LIMIT 1000"
);
const OVERWRITE: &str = "UPDATE tertulia.entry e SET speaker = NULL, speaker_name = NULL, \
    bytes = n.bytes, tokenizer = NULL, tokens = NULL, encoding = n.encoding, record = n.record \
    FROM unnest($2::bigint[], $3::bigint[], $4::smallint[], $5::bytea[]) \
    AS n(seq, bytes, encoding, record) WHERE e.session = $1 AND e.seq = n.seq";
const FORGET: &str = "DELETE FROM tertulia.words WHERE session = $1 AND seq = ANY($2)";

/// Purges all that is hidden in a session. Says whether there was something. The session is locked.
pub(super) async fn purge(link: &mut Link, key: i64) -> Result<bool, Trouble> {
    let mut log = Vec::new();
    let mut after = 0_i64;
    loop {
        let page = link.query(LOG, &[&key, &after]).await?;
        let Some(last) = page.last() else { break };
        after = last.try_get(0)?;
        for one in &page {
            log.push(row(one, 0)?);
        }
    }
    // Decoding a long log takes its time; other work goes on meanwhile.
    let Ok(left) = tokio::task::spawn_blocking(move || what_is_left(log)).await else {
        link.run("ROLLBACK").await?;
        let problem = Problem::Database("the log could not be read for a purge".to_owned());
        let outcome = Outcome::NotStored;
        return Err(StoreError::SessionWriteFailed { session: None, outcome, problem }.into());
    };
    if left.is_empty() {
        return Ok(false);
    }
    let seqs: Vec<i64> = left.iter().map(|(seq, ..)| signed(*seq)).collect();
    let bytes: Vec<i64> = left.iter().map(|(.., record)| signed(record.bytes)).collect();
    let encodings: Vec<i16> = left.iter().map(|(.., record)| record.encoding.code()).collect();
    let bodies: Vec<&[u8]> = left.iter().map(|(.., record)| record.body.as_slice()).collect();
    link.execute(OVERWRITE, &[&key, &seqs, &bytes, &encodings, &bodies]).await?;
    link.execute(FORGET, &[&key, &seqs]).await?;
    Ok(true)
}
