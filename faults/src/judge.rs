//! The judge: compares the content of a store with what was acknowledged. Every role ends here. It
//! uses the store's public API, and knows nothing about its internals.

use std::collections::{BTreeMap, BTreeSet};

use tertulia_session::EntryKind;
use tertulia_store::{
    ListFilter, Range, SessionId, SessionStore, StoreError, StoredEntry, Verified,
};

use crate::ack_log::AckLog;
use crate::batch::Batch;

/// Maximum number of reads of a session that changes meanwhile.
const READS_MAX: u32 = 20;

/// Findings of a judge.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Verdict {
    /// Stored entries.
    pub(crate) entries: u64,
    /// Acknowledged entries.
    pub(crate) acknowledged: u64,
    /// Acknowledged entries that are missing.
    pub(crate) lost: u64,
    /// Batches that are incomplete, or not contiguous.
    pub(crate) half: u64,
    /// Stored entries that were not acknowledged.
    pub(crate) unknown: u64,
    /// All other problems, as text.
    pub(crate) wrong: Vec<String>,
}

impl Verdict {
    pub(crate) fn is_clean(&self) -> bool {
        self.lost == 0 && self.half == 0 && self.wrong.is_empty()
    }
}

/// Compares a store with what was acknowledged.
pub(crate) fn judge(store: &SessionStore, acks: &AckLog) -> Result<Verdict, StoreError> {
    let mut verdict = Verdict { acknowledged: acks.entries(), ..Verdict::default() };
    verdict.wrong.extend(store.check()?.into_iter().map(|line| format!("check: {line}")));
    let listed = store.list(&ListFilter::default())?;
    let mut there: BTreeMap<String, SessionId> =
        listed.into_iter().map(|info| (info.id.to_string(), info.id)).collect();
    for made in &acks.made {
        if !there.contains_key(made) {
            verdict.wrong.push(format!("session {made} is missing"));
        }
    }
    for (name, batches) in &acks.sessions {
        match there.remove(name) {
            Some(id) => judge_session(store, &id, batches, &mut verdict)?,
            None => verdict.lost += batches.iter().map(Batch::size).sum::<u64>(),
        }
    }
    for id in there.values() {
        judge_session(store, id, &BTreeSet::new(), &mut verdict)?;
    }
    Ok(verdict)
}

/// Reads and verifies a session. A server may still store an append of a writer that is gone; then
/// it is read again.
fn read(store: &SessionStore, id: &SessionId) -> Result<(Vec<StoredEntry>, Verified), StoreError> {
    let mut tries = 0;
    loop {
        let read = (store.load(id, &Range::All)?, store.verify(id)?);
        tries += 1;
        if read.0.len() as u64 == read.1.entries || read.1.damage.is_some() || tries == READS_MAX {
            return Ok(read);
        }
    }
}

fn judge_session(
    store: &SessionStore,
    id: &SessionId,
    acknowledged: &BTreeSet<Batch>,
    verdict: &mut Verdict,
) -> Result<(), StoreError> {
    let (log, verified) = read(store, id)?;
    verdict.entries += log.len() as u64;
    // A session starts with its header; one without was created incompletely.
    verdict.half += u64::from(log.is_empty());
    if let Some(damage) = &verified.damage {
        let reason = &damage.reason;
        verdict.wrong.push(format!("verify of {id}: entry {}: {reason}", damage.seq));
    } else if verified.entries != log.len() as u64 {
        verdict.wrong.push(format!("{id}: verify saw {} of {}", verified.entries, log.len()));
    }
    let found = collect_batches(id, &log, &mut verdict.wrong);
    for (batch, numbers) in &found {
        let first = numbers.first().copied().unwrap_or(0);
        let whole: Vec<u64> = (first..first + batch.size()).collect();
        verdict.half += u64::from(*numbers != whole);
        if !acknowledged.contains(batch) {
            verdict.unknown += numbers.len() as u64;
        }
    }
    for batch in acknowledged {
        let there = found.get(batch).map_or(0, |numbers| numbers.len() as u64);
        verdict.lost += batch.size().saturating_sub(there);
    }
    Ok(())
}

/// Collects the numbers of the entries of every batch; entries out of order are reported.
fn collect_batches(
    session: &SessionId,
    log: &[StoredEntry],
    wrong: &mut Vec<String>,
) -> BTreeMap<Batch, Vec<u64>> {
    let mut found: BTreeMap<Batch, Vec<u64>> = BTreeMap::new();
    let redacted: BTreeSet<_> = log.iter().filter_map(target).collect();
    let mut seen = BTreeSet::new();
    for (position, stored) in (1..).zip(log) {
        let entry = &stored.entry;
        if stored.seq != position {
            wrong.push(format!("{session}: {} is at position {position}", stored.seq));
        }
        if !seen.insert(&entry.id) {
            wrong.push(format!("{session}: {} is there twice", entry.id));
        }
        let is_header = matches!(entry.kind, EntryKind::SessionHeader(_));
        if is_header != (position == 1) {
            wrong.push(format!("{session}: position {position} must not hold {}", entry.id));
        }
        let Some((batch, index)) = Batch::from_id(entry.id.as_str()) else {
            if !is_header {
                wrong.push(format!("{session}: nobody wrote {}", entry.id));
            }
            continue;
        };
        let is_purged = matches!(entry.kind, EntryKind::Purged(_));
        if is_purged != redacted.contains(entry.id.as_str()) {
            wrong.push(format!("{session}: {} is purged: {is_purged}", entry.id));
        }
        if !is_purged && *entry != batch.entry(index) {
            wrong.push(format!("{session}: {} was changed", entry.id));
        }
        found.entry(batch).or_default().push(stored.seq);
    }
    found
}

fn target(stored: &StoredEntry) -> Option<&str> {
    match &stored.entry.kind {
        EntryKind::Redaction(redaction) => Some(redaction.target_id.as_str()),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use tertulia_store::{Append, NewSession};

    fn store_with(batches: &[Batch]) -> SessionStore {
        let store = SessionStore::memory();
        let id = "s0".parse::<SessionId>().unwrap();
        store.create(&NewSession { id: Some(id.clone()) }).unwrap();
        for batch in batches {
            store.append(&id, Append::new(batch.entries())).unwrap();
        }
        store
    }

    fn acks_of(batches: &[Batch]) -> AckLog {
        let mut acks = AckLog::default();
        let set = batches.iter().cloned().collect();
        acks.sessions.insert("s0".to_owned(), set);
        acks
    }

    fn batches(count: u64) -> Vec<Batch> {
        (0..count).map(|number| Batch::new("r0-0", number)).collect()
    }

    #[test]
    fn stored_acknowledged_entries_pass() {
        let all = batches(8);
        let verdict = judge(&store_with(&all), &acks_of(&all)).unwrap();
        assert!(verdict.is_clean(), "{verdict:?}");
        assert_eq!(verdict.acknowledged, verdict.entries - 1);
    }

    #[test]
    fn a_missing_acknowledged_batch_is_lost() {
        let all = batches(3);
        let verdict = judge(&store_with(&all[..2]), &acks_of(&all)).unwrap();
        assert_eq!(verdict.lost, all[2].size());
    }

    #[test]
    fn a_partial_batch_is_half() {
        let large = (0..).map(|n| Batch::new("w", n)).find(|batch| batch.size() > 1).unwrap();
        let store = store_with(&[]);
        let id = "s0".parse::<SessionId>().unwrap();
        store.append(&id, Append::new([large.entry(0)])).unwrap();
        let verdict = judge(&store, &AckLog::default()).unwrap();
        assert_eq!((verdict.half, verdict.unknown, verdict.lost), (1, 1, 0));
    }

    #[test]
    fn unacknowledged_entries_are_unknown() {
        let all = batches(2);
        let verdict = judge(&store_with(&all), &acks_of(&all[..1])).unwrap();
        assert!(verdict.is_clean());
        assert_eq!(verdict.unknown, all[1].size());
    }

    #[test]
    fn changed_text_under_an_id_is_detected() {
        let store = store_with(&[]);
        let id = "s0".parse::<SessionId>().unwrap();
        let mut entry = Batch::new("w", 0).entry(0);
        entry.timestamp = None;
        store.append(&id, Append::new([entry])).unwrap();
        let verdict = judge(&store, &AckLog::default()).unwrap();
        assert!(verdict.wrong.iter().any(|line| line.contains("was changed")), "{verdict:?}");
    }
}
