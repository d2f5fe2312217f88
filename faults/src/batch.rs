//! Reproducible batches of entries: their number, content and session follow from their ids alone.
//! So a judge needs no copy of what was written, and a restarted writer repeats the same batches.

use tertulia_session::{
    Entry, EntryId, EntryKind, Message, NewEntry, Redaction, Salt, Speaker, SpeakerType, Timestamp,
};

use crate::rng::Rng;

/// In threads whose name starts with this letter, every seventh batch redacts.
const REDACTING: char = 'r';
const REDACTS_EVERY: u64 = 7;

/// One append of one thread of a writer.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Batch {
    /// Name of the thread, without dots or spaces.
    pub(crate) thread: String,
    /// Number within the thread, starting at 0.
    pub(crate) number: u64,
}

impl Batch {
    pub(crate) fn new(thread: &str, number: u64) -> Self {
        Self { thread: thread.to_owned(), number }
    }

    /// Returns the batch of an entry id, and the index of the entry in it.
    pub(crate) fn from_id(id: &str) -> Option<(Self, u64)> {
        let mut words = id.rsplitn(3, '.');
        let index = words.next()?.parse().ok()?;
        let number = words.next()?.parse().ok()?;
        let batch = Self::new(words.next()?, number);
        (index < batch.size()).then_some((batch, index))
    }

    fn redacts(&self) -> bool {
        self.thread.starts_with(REDACTING) && self.number % REDACTS_EVERY == REDACTS_EVERY - 1
    }

    /// Returns the random numbers that determine the batch.
    fn rng(&self) -> Rng {
        Rng::from_text(&format!("{} {}", self.thread, self.number))
    }

    /// Returns the number of entries.
    pub(crate) fn size(&self) -> u64 {
        if self.redacts() { 1 } else { self.rng().between(1, 5) }
    }

    /// Returns the session it goes into, out of this many. A redaction goes where its target went.
    pub(crate) fn session(&self, sessions: u64) -> u64 {
        match self.before().filter(|_| self.redacts()) {
            Some(before) => before.session(sessions),
            None => Rng::new(self.rng().next()).below(sessions),
        }
    }

    fn before(&self) -> Option<Self> {
        Some(Self::new(&self.thread, self.number.checked_sub(1)?))
    }

    pub(crate) fn id(&self, index: u64) -> EntryId {
        EntryId::from(format!("{}.{}.{index}", self.thread, self.number))
    }

    pub(crate) fn entries(&self) -> Vec<Entry> {
        (0..self.size()).map(|index| self.entry(index)).collect()
    }

    /// Returns the entry at this index. Its time is as often earlier as later than that of the entry before.
    pub(crate) fn entry(&self, index: u64) -> Entry {
        let id = self.id(index);
        let mut rng = Rng::from_text(id.as_str());
        let millis = i64::try_from(rng.below(4_000_000_000_000)).unwrap_or(0);
        let kind = match self.before().filter(|_| self.redacts()) {
            Some(before) => EntryKind::Redaction(Redaction::new(&before.id(0))),
            None => {
                let speaker = Speaker::new("ann", "Ann", SpeakerType::Human);
                EntryKind::Message(Message::said(speaker, text(&mut rng)))
            }
        };
        let salt = Salt::derive(&[7; 32], id.as_str());
        NewEntry::new(kind).at(Timestamp::from_millis(millis)).salted(salt).with_id(id)
    }
}

/// Returns a text: most are short, some fill a page, a few fill many.
fn text(rng: &mut Rng) -> String {
    let words = match rng.below(20) {
        0 => rng.between(400, 2000),
        1..=4 => rng.between(60, 400),
        _ => rng.between(1, 30),
    };
    let mut text = String::new();
    for _ in 0..words {
        // Hex digits can be compressed, but only to about half.
        text.push_str(&format!("{:x} ", rng.next()));
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_batch_is_identified_by_the_ids_of_its_entries() {
        for number in 0..50 {
            let batch = Batch::new("r3-1", number);
            for (index, entry) in (0..).zip(batch.entries()) {
                assert_eq!(Batch::from_id(entry.id.as_str()), Some((batch.clone(), index)));
                assert_eq!(batch.entry(index), entry);
            }
        }
    }

    #[test]
    fn foreign_ids_are_no_batches() {
        let beyond = format!("w.1.{}", Batch::new("w", 1).size());
        for id in ["", "w", "w.1", "w.x.1", "w.1.x", "e-0123", &beyond] {
            assert_eq!(Batch::from_id(id), None, "{id}");
        }
    }

    #[test]
    fn a_redaction_goes_where_its_target_went() {
        let batch = Batch::new("r0-0", 6);
        let entries = batch.entries();
        let [Entry { kind: EntryKind::Redaction(redaction), .. }] = entries.as_slice() else {
            panic!("{entries:?}")
        };
        assert_eq!(redaction.target_id.as_str(), "r0-0.5.0");
        assert_eq!(batch.session(9), Batch::new("r0-0", 5).session(9));
    }
}
