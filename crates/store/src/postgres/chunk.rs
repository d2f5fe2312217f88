//! Entries on their way to the server, column by column: a thousand of them are one statement. Called
//! by appends and by what begins sessions.

use tokio_postgres::Statement;

use super::link::{Link, Values};
use super::read::signed;
use crate::plan::{Batch, Placed};
use crate::row::Prepared;

/// How many bytes of entries are sent in one statement, about.
const STATEMENT_BYTES: usize = 8 << 20;

/// Writes a [`Chunk`].
pub(super) const INSERT: &str = "INSERT INTO tertulia.entry (session, stored_at, seq, id, parent, type, time, \
    speaker, speaker_name, bytes, tokenizer, tokens, encoding, record, hash, link) \
    SELECT $1, $2, n.* FROM unnest($3::bigint[], $4::bytea[], $5::bigint[], $6::bytea[], \
    $7::bigint[], $8::bytea[], $9::bytea[], $10::bigint[], $11::bytea[], $12::bigint[], \
    $13::smallint[], $14::bytea[], $15::bytea[], $16::bytea[]) AS n";

/// Entries that are sent together, column by column.
#[derive(Default)]
pub(super) struct Chunk<'b> {
    bytes: usize,
    seqs: Vec<i64>,
    ids: Vec<&'b [u8]>,
    parents: Vec<Option<i64>>,
    types: Vec<&'b [u8]>,
    times: Vec<Option<i64>>,
    speakers: Vec<Option<&'b [u8]>>,
    names: Vec<Option<&'b [u8]>>,
    sizes: Vec<i64>,
    tokenizers: Vec<Option<&'b [u8]>>,
    tokens: Vec<Option<i64>>,
    encodings: Vec<i16>,
    records: Vec<&'b [u8]>,
    hashes: Vec<&'b [u8]>,
    links: Vec<&'b [u8]>,
}

/// The new entries of a batch, so many in each that a statement stays small.
pub(super) fn chunks<'b>(batch: &'b Batch, new: &'b [Placed]) -> Vec<Chunk<'b>> {
    let mut chunks: Vec<Chunk<'b>> = Vec::new();
    for placed in new {
        let Some(prepared) = batch.records.get(placed.index) else { continue };
        match chunks.last_mut() {
            Some(chunk) if chunk.bytes < STATEMENT_BYTES => chunk.push(placed, prepared),
            _ => {
                let mut chunk = Chunk::default();
                chunk.push(placed, prepared);
                chunks.push(chunk);
            }
        }
    }
    chunks
}

impl<'b> Chunk<'b> {
    fn push(&mut self, placed: &'b Placed, prepared: &'b Prepared) {
        let record = &prepared.record;
        let speaker = record.speaker.as_ref();
        self.bytes += record.body.len() + 256;
        self.seqs.push(signed(placed.seq));
        self.ids.push(record.id.as_str().as_bytes());
        self.parents.push(placed.parent.map(signed));
        self.types.push(record.type_name.as_bytes());
        self.times.push(record.time);
        self.speakers.push(speaker.map(|speaker| speaker.id.as_bytes()));
        self.names.push(speaker.and_then(|speaker| speaker.name.as_deref()).map(str::as_bytes));
        self.sizes.push(signed(record.bytes));
        self.tokenizers.push(record.count.as_ref().map(|count| count.tokenizer.as_bytes()));
        self.tokens.push(record.count.as_ref().map(|count| signed(count.tokens)));
        self.encodings.push(record.encoding.code());
        self.records.push(&record.body);
        self.hashes.push(record.hash.as_bytes());
        self.links.push(placed.link.as_bytes());
    }

    pub(super) async fn insert(
        &self,
        link: &Link,
        statement: &Statement,
        key: i64,
        now: i64,
    ) -> Result<u64, tokio_postgres::Error> {
        let values: Values<'_> = &[
            &key,
            &now,
            &self.seqs,
            &self.ids,
            &self.parents,
            &self.types,
            &self.times,
            &self.speakers,
            &self.names,
            &self.sizes,
            &self.tokenizers,
            &self.tokens,
            &self.encodings,
            &self.records,
            &self.hashes,
            &self.links,
        ];
        link.client.execute(statement, values).await
    }
}
