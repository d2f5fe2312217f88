//! The messages that a summary covers, as its entry records them: the range, their number, a hash of them, and the
//! first entry that is kept. All code that records a summary uses this.

use tertulia_session::{CompactionSummary, EntriesHash, Entry, EntryId, Fields};

use super::Summary;

/// The part of a log that a summary covers, in addition to what the previous summary covers.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Coverage {
    /// The first and the last entry of the range.
    pub range: Option<(EntryId, EntryId)>,
    pub first_kept: EntryId,
    /// The number of messages in the range that the summary covers.
    pub count: u64,
    /// A hash of these entries, so that a summary cannot be used for other entries.
    pub hash: Box<str>,
}

impl Coverage {
    /// Creates the coverage of these entries, oldest first.
    pub fn new<'e>(covered: impl IntoIterator<Item = &'e Entry>, first_kept: EntryId) -> Self {
        let (mut hash, mut count) = (EntriesHash::default(), 0);
        let mut range: Option<(EntryId, EntryId)> = None;
        for entry in covered {
            hash.add(entry);
            count += 1;
            let first = range.map_or_else(|| entry.id.clone(), |(first, _)| first);
            range = Some((first, entry.id.clone()));
        }
        Self { range, first_kept, count, hash: hash.finish() }
    }

    /// Returns the payload of the entry that records the summary. `tokens` are the sizes before and after the cut.
    pub fn record(self, summary: Summary, tokens: (u64, u64)) -> CompactionSummary {
        let (covered_from_id, covered_to_id) = self.range.unzip();
        CompactionSummary {
            summary: summary.text,
            first_kept_entry_id: self.first_kept,
            covered_from_id,
            covered_to_id,
            covered_count: Some(self.count),
            covered_hash: Some(self.hash),
            tokens_before: Some(tokens.0),
            tokens_after: Some(tokens.1),
            strategy: Some(summary.strategy),
            author: Some(summary.author),
            kept_ids: None,
            refused: summary.refused.map(|refusal| refusal.to_string().into()),
            scale_permille: None,
            reason: None,
            older_count: None,
            member: None,
            unknown: Fields::NONE,
        }
    }
}
