//! Statements that write entries: new ones, column by column, so that a thousand of them are one statement, and
//! what redactions leave of old ones.

use tokio_postgres::Statement;

use super::error::Trouble;
use super::link::Link;
use super::read::{columns, row, signed};
use crate::plan::{Batch, Placed, what_is_left};
use crate::row::Record;
use crate::{Problem, StoreError};

/// How many bytes of entries are sent in one statement, about.
const STATEMENT_BYTES: usize = 8 << 20;

pub(super) const INSERT: &str = "INSERT INTO tertulia.entry (session, stored_at, seq, id, parent, type, time, \
    speaker, speaker_name, bytes, tokenizer, tokens, encoding, record, hash, link) \
    SELECT $1, $2, n.* FROM unnest($3::bigint[], $4::bytea[], $5::bigint[], $6::bytea[], \
    $7::bigint[], $8::bytea[], $9::bytea[], $10::bigint[], $11::bytea[], $12::bigint[], \
    $13::smallint[], $14::bytea[], $15::bytea[], $16::bytea[]) AS n";
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

/// Entries that are sent together.
type Chunk<'b> = Vec<(&'b Placed, &'b Record)>;

/// The new entries of a batch, so many in each chunk that a statement stays small.
pub(super) fn chunks<'b>(batch: &'b Batch, new: &'b [Placed]) -> Vec<Chunk<'b>> {
    let mut chunks = Vec::new();
    let (mut chunk, mut bytes) = (Chunk::new(), 0);
    for placed in new {
        let Some(prepared) = batch.records.get(placed.index) else { continue };
        if bytes >= STATEMENT_BYTES {
            chunks.push(std::mem::take(&mut chunk));
            bytes = 0;
        }
        bytes += prepared.record.body.len() + 256;
        chunk.push((placed, &prepared.record));
    }
    chunks.push(chunk);
    chunks
}

pub(super) async fn insert(
    chunk: &Chunk<'_>,
    link: &Link,
    statement: &Statement,
    key: i64,
    now: i64,
) -> Result<u64, tokio_postgres::Error> {
    fn column<'c, T>(chunk: &'c Chunk<'_>, of: impl Fn(&'c Record) -> T) -> Vec<T> {
        chunk.iter().map(|(_, record)| of(record)).collect()
    }
    let seqs: Vec<_> = chunk.iter().map(|(placed, _)| signed(placed.seq)).collect();
    let parents: Vec<_> = chunk.iter().map(|(placed, _)| placed.parent.map(signed)).collect();
    let links: Vec<_> = chunk.iter().map(|(placed, _)| placed.link.as_bytes().as_slice()).collect();
    let speakers = column(chunk, |one| one.speaker.as_ref().map(|speaker| speaker.id.as_bytes()));
    let names = column(chunk, |one| one.speaker.as_ref()?.name.as_deref().map(str::as_bytes));
    let tokenizers =
        column(chunk, |one| one.count.as_ref().map(|count| count.tokenizer.as_bytes()));
    let tokens = column(chunk, |one| one.count.as_ref().map(|count| signed(count.tokens)));
    link.client
        .execute(
            statement,
            &[
                &key,
                &now,
                &seqs,
                &column(chunk, |one| one.id.as_str().as_bytes()),
                &parents,
                &column(chunk, |one| one.type_name.as_bytes()),
                &column(chunk, |one| one.time),
                &speakers,
                &names,
                &column(chunk, |one| signed(one.bytes)),
                &tokenizers,
                &tokens,
                &column(chunk, |one| one.encoding.code()),
                &column(chunk, |one| one.body.as_slice()),
                &column(chunk, |one| one.hash.as_bytes().as_slice()),
                &links,
            ],
        )
        .await
}

/// Takes the bytes of all that is hidden in a locked session out of the tables and the search index. What the
/// server keeps of old rows in its files is cleaned away before the redaction returns.
pub(super) async fn purge(link: &mut Link, key: i64) -> Result<(), Trouble> {
    let mut log = Vec::new();
    let mut after = 0_i64;
    loop {
        let page = link.query(LOG, &[&key, &after]).await?;
        let Some(last) = page.last() else { break };
        after = last.try_get(0)?;
        for one in &page {
            log.push(row(one)?);
        }
    }
    // Decoding a long log takes its time; other work goes on meanwhile.
    let Ok(left) = tokio::task::spawn_blocking(move || what_is_left(log)).await else {
        link.run("ROLLBACK").await?;
        let problem = Problem::Database("the log could not be read for a purge".to_owned());
        return Err(StoreError::write_failed(problem).into());
    };
    if left.is_empty() {
        return Ok(());
    }
    let seqs: Vec<i64> = left.iter().map(|(seq, ..)| signed(*seq)).collect();
    let bytes: Vec<i64> = left.iter().map(|(.., record)| signed(record.bytes)).collect();
    let encodings: Vec<i16> = left.iter().map(|(.., record)| record.encoding.code()).collect();
    let bodies: Vec<&[u8]> = left.iter().map(|(.., record)| record.body.as_slice()).collect();
    link.execute(OVERWRITE, &[&key, &seqs, &bytes, &encodings, &bodies]).await?;
    link.execute(FORGET, &[&key, &seqs]).await.map(drop)
}
