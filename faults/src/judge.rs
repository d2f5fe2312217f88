//! The judge: what a store holds, against what was acknowledged. Every role ends here. It asks the
//! store as anybody would, and knows nothing of how it keeps things.

use std::collections::{BTreeMap, BTreeSet};

use tertulia_session::EntryKind;
use tertulia_store::{
    ListFilter, Range, SessionId, SessionStore, StoreError, StoredEntry, Verified,
};

use crate::batch::Batch;
use crate::ledger::Ledger;

/// How often a session is read that changes meanwhile.
const READS_MAX: u32 = 20;

/// What a judge found.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Verdict {
    /// Entries that are there.
    pub(crate) entries: u64,
    /// Entries that were acknowledged.
    pub(crate) acknowledged: u64,
    /// Acknowledged entries that are not there.
    pub(crate) lost: u64,
    /// Batches of which only a part is there, or that do not lie together.
    pub(crate) half: u64,
    /// Entries that are there although nobody was told.
    pub(crate) unknown: u64,
    /// Whatever else is not as it must be, in words.
    pub(crate) wrong: Vec<String>,
}

impl Verdict {
    pub(crate) fn is_clean(&self) -> bool {
        self.lost == 0 && self.half == 0 && self.wrong.is_empty()
    }
}

/// Holds a store against what was acknowledged.
pub(crate) fn judge(store: &SessionStore, ledger: &Ledger) -> Result<Verdict, StoreError> {
    let mut verdict = Verdict { acknowledged: ledger.entries(), ..Verdict::default() };
    verdict.wrong.extend(store.check()?.into_iter().map(|line| format!("check: {line}")));
    let listed = store.list(&ListFilter::default())?;
    let mut there: BTreeMap<String, SessionId> =
        listed.into_iter().map(|info| (info.id.to_string(), info.id)).collect();
    for made in &ledger.made {
        if !there.contains_key(made) {
            verdict.wrong.push(format!("session {made} is lost"));
        }
    }
    for (name, batches) in &ledger.sessions {
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

/// A session and what verifying says. A server may still store what a writer had asked for that is gone by
/// now; then it is read again.
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
    // A session begins with its header; one without was made by half.
    verdict.half += u64::from(log.is_empty());
    if let Some(damage) = &verified.damage {
        let reason = &damage.reason;
        verdict.wrong.push(format!("verify of {id}: entry {}: {reason}", damage.place));
    } else if verified.entries != log.len() as u64 {
        verdict.wrong.push(format!("{id}: verify saw {} of {}", verified.entries, log.len()));
    }
    let found = take_in(id, &log, &mut verdict.wrong);
    for (batch, places) in &found {
        let first = places.first().copied().unwrap_or(0);
        let whole: Vec<u64> = (first..first + batch.size()).collect();
        verdict.half += u64::from(*places != whole);
        if !acknowledged.contains(batch) {
            verdict.unknown += places.len() as u64;
        }
    }
    for batch in acknowledged {
        let there = found.get(batch).map_or(0, |places| places.len() as u64);
        verdict.lost += batch.size().saturating_sub(there);
    }
    Ok(())
}

/// The numbers of the entries of every batch; what is out of order goes into the complaints.
fn take_in(
    session: &SessionId,
    log: &[StoredEntry],
    wrong: &mut Vec<String>,
) -> BTreeMap<Batch, Vec<u64>> {
    let mut found: BTreeMap<Batch, Vec<u64>> = BTreeMap::new();
    let redacted: BTreeSet<_> = log.iter().filter_map(target).collect();
    let mut seen = BTreeSet::new();
    for (place, stored) in (1..).zip(log) {
        let entry = &stored.entry;
        if stored.seq != place {
            wrong.push(format!("{session}: {} stands at place {place}", stored.seq));
        }
        if !seen.insert(&entry.id) {
            wrong.push(format!("{session}: {} is there twice", entry.id));
        }
        let is_header = matches!(entry.kind, EntryKind::SessionHeader(_));
        if is_header != (place == 1) {
            wrong.push(format!("{session}: place {place} is no place for {}", entry.id));
        }
        let Some((batch, index)) = Batch::of_id(entry.id.as_str()) else {
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

    fn ledger_of(batches: &[Batch]) -> Ledger {
        let mut ledger = Ledger::default();
        let set = batches.iter().cloned().collect();
        ledger.sessions.insert("s0".to_owned(), set);
        ledger
    }

    fn batches(count: u64) -> Vec<Batch> {
        (0..count).map(|number| Batch::new("r0-0", number)).collect()
    }

    #[test]
    fn what_was_acknowledged_and_is_there_is_fine() {
        let all = batches(8);
        let verdict = judge(&store_with(&all), &ledger_of(&all)).unwrap();
        assert!(verdict.is_clean(), "{verdict:?}");
        assert_eq!(verdict.acknowledged, verdict.entries - 1);
    }

    #[test]
    fn an_acknowledged_batch_that_is_not_there_is_lost() {
        let all = batches(3);
        let verdict = judge(&store_with(&all[..2]), &ledger_of(&all)).unwrap();
        assert_eq!(verdict.lost, all[2].size());
    }

    #[test]
    fn a_part_of_a_batch_is_half() {
        let large = (0..).map(|n| Batch::new("w", n)).find(|batch| batch.size() > 1).unwrap();
        let store = store_with(&[]);
        let id = "s0".parse::<SessionId>().unwrap();
        store.append(&id, Append::new([large.entry(0)])).unwrap();
        let verdict = judge(&store, &Ledger::default()).unwrap();
        assert_eq!((verdict.half, verdict.unknown, verdict.lost), (1, 1, 0));
    }

    #[test]
    fn what_nobody_was_told_of_is_unknown() {
        let all = batches(2);
        let verdict = judge(&store_with(&all), &ledger_of(&all[..1])).unwrap();
        assert!(verdict.is_clean());
        assert_eq!(verdict.unknown, all[1].size());
    }

    #[test]
    fn another_text_under_an_id_is_found() {
        let store = store_with(&[]);
        let id = "s0".parse::<SessionId>().unwrap();
        let mut entry = Batch::new("w", 0).entry(0);
        entry.timestamp = None;
        store.append(&id, Append::new([entry])).unwrap();
        let verdict = judge(&store, &Ledger::default()).unwrap();
        assert!(verdict.wrong.iter().any(|line| line.contains("was changed")), "{verdict:?}");
    }
}
