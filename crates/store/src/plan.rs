//! Decides what an append does: which entries are new, which numbers, parents and links they get, and whether the
//! append is refused. Pure, and the same for every store; a store only looks up entries and writes the plan.

use std::collections::{BTreeMap, HashMap};

use tertulia_session::{ChainLink, EntryId, EntryIndex, EntryKind, Fields, RecordHash};

use crate::lease::Fence;
use crate::model::{Append, Appended, Seq, StoredEntry};
use crate::row::{Prepared, Record, Row};
use crate::{Problem, Result, SessionId, StoreError};

/// The end of a session.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Tail {
    pub(crate) seq: Seq,
    pub(crate) id: Option<EntryId>,
    pub(crate) link: ChainLink,
    /// Whether any entry names a parent; see [`EntryIndex`].
    pub(crate) names_parents: bool,
}

/// Prepared entries of one append.
#[derive(Debug)]
pub(crate) struct Batch {
    pub(crate) records: Vec<Prepared>,
    pub(crate) expected_tail: Option<EntryId>,
    #[cfg_attr(
        not(feature = "postgres"),
        expect(dead_code, reason = "only PostgreSQL stores have leases")
    )]
    pub(crate) fence: Option<Fence>,
}

/// A stored entry.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Known {
    pub(crate) seq: Seq,
    pub(crate) hash: RecordHash,
}

/// The new entries, in the order in which they must be written, and the resulting end of the session.
#[derive(Debug)]
pub(crate) struct Plan {
    pub(crate) new: Vec<PlannedEntry>,
    pub(crate) tail: Tail,
    /// Whether the batch hides something, so that bytes must be purged.
    pub(crate) redacts: bool,
    pub(crate) appended: Appended,
}

/// A new entry and its position in the session.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct PlannedEntry {
    /// The index in the batch.
    pub(crate) index: usize,
    pub(crate) seq: Seq,
    pub(crate) parent: Option<Seq>,
    pub(crate) link: ChainLink,
}

impl Tail {
    /// Returns the tail of an empty session.
    pub(crate) fn start() -> Self {
        Self { seq: 0, id: None, link: ChainLink::START, names_parents: false }
    }
}

impl Batch {
    pub(crate) fn prepare(session: &SessionId, append: &Append) -> Result<Self> {
        let prepare = |new| Prepared::new(session, new);
        let records = append.entries.iter().map(prepare).collect::<Result<_, _>>()?;
        Ok(Self { records, expected_tail: append.expected_tail.clone(), fence: append.fence })
    }

    /// Returns whether the batch hides something.
    pub(crate) fn redacts(&self) -> bool {
        self.records.iter().any(|prepared| prepared.redacts.is_some())
    }

    /// Returns the approximate number of bytes that it writes.
    pub(crate) fn bytes(&self) -> usize {
        self.records.iter().map(|prepared| prepared.record.body.len() + 256).sum()
    }
}

/// Plans an append to a session that ends in `tail`. `find` looks up stored entries.
pub(crate) fn plan(
    session: &SessionId,
    tail: &Tail,
    batch: &Batch,
    mut find: impl FnMut(&EntryId) -> Result<Option<Known>>,
) -> Result<Plan> {
    let refused = |problem| StoreError::not_stored(session, problem);
    let mut new = Vec::with_capacity(batch.records.len());
    let mut in_batch: HashMap<&EntryId, Known> = HashMap::new();
    let (mut end, mut redacts) = (tail.clone(), false);
    for (index, prepared) in batch.records.iter().enumerate() {
        let (id, hash) = (&prepared.record.id, prepared.record.hash);
        let mut known = |id: &EntryId| match in_batch.get(id) {
            Some(known) => Ok(Some(*known)),
            None => find(id),
        };
        if let Some(there) = known(id)? {
            if there.hash != hash {
                return Err(refused(Problem::OtherContent(id.clone())));
            }
            continue;
        }
        // Only an append with a new entry reaches this point. All entries of a repeated append are already stored.
        if new.is_empty() {
            check_tail(session, tail, batch)?;
        }
        end.names_parents |= prepared.parent_id.is_some();
        let parent = match &prepared.parent_id {
            Some(parent) if Some(parent) == end.id.as_ref() => Some(end.seq),
            Some(parent) => match known(parent)? {
                Some(there) => Some(there.seq),
                None => {
                    let (entry, parent) = (id.clone(), parent.clone());
                    return Err(refused(Problem::MissingParent { entry, parent }));
                }
            },
            None => Some(end.seq).filter(|seq| *seq > 0 && !end.names_parents),
        };
        if let Some(target) = &prepared.redacts {
            if known(target)?.is_none() {
                let (entry, target) = (id.clone(), target.clone());
                return Err(refused(Problem::MissingTarget { entry, target }));
            }
            redacts = true;
        }
        end.seq += 1;
        end.link = end.link.next(&prepared.digest);
        end.id = Some(id.clone());
        // No later entry of the batch can refer to the last one, so it is not remembered.
        if index + 1 < batch.records.len() {
            in_batch.insert(id, Known { seq: end.seq, hash });
        }
        new.push(PlannedEntry { index, seq: end.seq, parent, link: end.link });
    }
    if batch.records.is_empty() {
        check_tail(session, tail, batch)?;
    }
    let last_entry_id = batch.records.last().map(|prepared| prepared.record.id.clone());
    let appended = Appended { last_entry_id, appended_count: new.len(), newest: end.seq };
    Ok(Plan { new, tail: end, redacts, appended })
}

fn check_tail(session: &SessionId, tail: &Tail, batch: &Batch) -> Result<()> {
    let Some(expected) = batch.expected_tail.as_ref().filter(|one| tail.id.as_ref() != Some(one))
    else {
        return Ok(());
    };
    let (session, expected, actual) = (session.clone(), expected.clone(), tail.id.clone());
    Err(StoreError::SessionConcurrentWrite { session, expected, actual })
}

/// Returns a replacement record for every hidden entry of a log that still has its bytes, together with the old
/// record if it is readable. A damaged target is overwritten like any other. Only one record is decompressed at a
/// time.
pub(crate) fn purged_records(rows: Vec<Row>) -> Vec<(Seq, Option<Record>, Record)> {
    let mut kept: BTreeMap<Seq, (Record, Option<Seq>)> = BTreeMap::new();
    let mut damaged = Vec::new();
    let mut log: Vec<StoredEntry> = Vec::with_capacity(rows.len());
    for row in rows {
        let seq = row.seq;
        kept.insert(seq, (row.record.clone(), row.parent));
        match row.decode() {
            Ok(stored) => log.push(without_text(stored)),
            Err(_) => damaged.push(seq),
        }
    }
    let mut left = Vec::new();
    for (seq, by) in to_purge(&log) {
        let stored = log.binary_search_by_key(&seq, |stored| stored.seq).ok();
        let entry = stored
            .and_then(|index_in_log| log.get(index_in_log))
            .map(|stored| stored.entry.clone());
        if let (Some(entry), Some((record, _))) = (entry, kept.get(&seq)) {
            left.push((seq, Some(record.clone()), record.purged(&entry, &by)));
        }
    }
    let redactions = redactions(&log);
    for seq in damaged {
        let Some((record, parent)) = kept.get(&seq) else { continue };
        let Some(by) = redactions.get(&record.id) else { continue };
        let parent = parent.and_then(|parent| kept.get(&parent)).map(|(parent, _)| &parent.id);
        left.push((seq, None, record.purged(&record.shell(parent), by)));
    }
    left
}

/// Removes the content of an entry, which does not affect whether it is hidden.
fn without_text(mut stored: StoredEntry) -> StoredEntry {
    let entry = &mut stored.entry;
    match &mut entry.kind {
        EntryKind::Redaction(_)
        | EntryKind::Purged(_)
        | EntryKind::CompactionSummary(_)
        | EntryKind::BranchSummary(_) => {}
        EntryKind::Recall(recall) => recall.text = "".into(),
        kind => *kind = EntryKind::Custom(None),
    }
    entry.meta = None;
    entry.unknown = Fields::NONE;
    stored
}

/// Returns the hidden entries of a log that still have their bytes, each with the redaction that hides it. These are
/// the targets of redactions, and the summaries and recalled texts that may contain their text.
fn to_purge(log: &[StoredEntry]) -> Vec<(Seq, EntryId)> {
    let entries: Vec<_> = log.iter().map(|stored| stored.entry.clone()).collect();
    let Ok(index) = EntryIndex::over(&entries) else {
        return direct_targets(log);
    };
    let hidden = log.iter().enumerate().filter_map(|(index_in_log, stored)| {
        let by = index.view_entry(&entries, index_in_log)?.hidden_by()?.clone();
        let is_purged = matches!(stored.entry.kind, EntryKind::Purged(_));
        (!is_purged).then_some((stored.seq, by))
    });
    hidden.collect()
}

/// Returns only the targets of redactions, for a log from which no index can be built.
fn direct_targets(log: &[StoredEntry]) -> Vec<(Seq, EntryId)> {
    let redacted = redactions(log);
    let hidden = log.iter().filter_map(|stored| {
        let by = redacted.get(&stored.entry.id)?;
        let is_purged = matches!(stored.entry.kind, EntryKind::Purged(_));
        (!is_purged).then(|| (stored.seq, (*by).clone()))
    });
    hidden.collect()
}

/// Returns the redactions of a log by target.
fn redactions(log: &[StoredEntry]) -> HashMap<&EntryId, &EntryId> {
    let redactions = log.iter().filter_map(|stored| match &stored.entry.kind {
        EntryKind::Redaction(redaction) => Some((&redaction.target_id, &stored.entry.id)),
        _ => None,
    });
    redactions.collect()
}
