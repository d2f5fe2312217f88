//! Creates the salts of entries from the random numbers of the system. An entry with text but without a salt gets
//! one here, before it is stored.

use std::hash::{BuildHasher, Hasher, RandomState};
use std::sync::{Mutex, PoisonError};

use tertulia_session::{Entry, EntryKind, Salt};

use crate::model::NewRecord;

/// Returns a new random salt.
pub fn fresh_salt() -> Salt {
    Salt::from_bytes(random_bytes())
}

/// Salts the entries of one append. Repetitions of the same entry get the same salt.
pub(crate) fn salt_all(entries: &mut [NewRecord]) {
    match entries {
        [only] if lacks_salt(&only.entry) => only.entry.salt = Some(fresh_salt()),
        [_] => {}
        many => {
            let key = SaltKey::fresh();
            many.iter_mut().for_each(|new| key.salt(&mut new.entry));
        }
    }
}

/// A key from which the salts of one append or import are derived, so that repetitions of an entry get the same
/// salt. The key is discarded afterwards.
pub(crate) struct SaltKey([u8; 32]);

impl SaltKey {
    pub(crate) fn fresh() -> Self {
        Self(random_bytes())
    }

    /// Salts an entry that contains text and has no salt.
    pub(crate) fn salt(&self, entry: &mut Entry) {
        if lacks_salt(entry) {
            entry.salt = Some(Salt::derive(&self.0, entry.id.as_str()));
        }
    }
}

fn lacks_salt(entry: &Entry) -> bool {
    let has_notes = entry.meta.is_some() || !entry.unknown.is_empty();
    entry.salt.is_none() && (entry.kind.holds_text() || has_notes) && !entry.is_purged()
}

/// Returns whether `new` repeats a stored entry. For a purged entry the texts are not compared, because that would
/// be a way to guess them.
pub(crate) fn is_repeated(new: &Entry, stored: &Entry) -> bool {
    match &stored.kind {
        EntryKind::Purged(purged) => {
            *purged.type_name == *new.kind.type_name()
                && (&stored.parent_id, &stored.timestamp) == (&new.parent_id, &new.timestamp)
        }
        _ => new.repeats(stored),
    }
}

/// The number of random bytes that are requested at once. The request is the main cost of a salt.
const POOL_BYTES: usize = 512;

/// The pool: the process that requested the bytes, how many unused bytes are at the start, and the bytes.
static POOL: Mutex<(u32, usize, [u8; POOL_BYTES])> = Mutex::new((0, 0, [0; POOL_BYTES]));

/// Returns random bytes. No byte is used twice, not even in a forked process, and none stays in memory.
fn random_bytes<const N: usize>() -> [u8; N] {
    let mut pool = POOL.lock().unwrap_or_else(PoisonError::into_inner);
    let (owner, left, bytes) = &mut *pool;
    if *left < N || *owner != std::process::id() {
        fill(bytes);
        (*owner, *left) = (std::process::id(), POOL_BYTES);
    }
    *left -= N;
    let mut random = [0; N];
    random.iter_mut().zip(&mut bytes[*left..]).for_each(|(to, from)| *to = std::mem::take(from));
    random
}

/// Fills a buffer with random numbers of the system. If the system has none, uses keys of the standard library's
/// hashers, which were seeded earlier.
fn fill(bytes: &mut [u8]) {
    if getrandom::fill(bytes).is_ok() {
        return;
    }
    for chunk in bytes.chunks_mut(8) {
        let random = RandomState::new().build_hasher().finish().to_le_bytes();
        chunk.iter_mut().zip(random).for_each(|(to, from)| *to = from);
    }
}

#[cfg(test)]
mod tests {
    use tertulia_session::{NewEntry, TeamTask};

    use super::*;

    #[test]
    fn salts_differ_and_a_repeated_entry_gets_one() {
        assert_ne!(fresh_salt(), fresh_salt());
        let task = EntryKind::TeamTask(TeamTask::set("x"));
        let entry = NewEntry::new(task).with_id("a".into());
        let salted = |key: &SaltKey| {
            let mut entry = entry.clone();
            key.salt(&mut entry);
            entry.salt.unwrap()
        };
        let key = SaltKey::fresh();
        assert_eq!(salted(&key), salted(&key));
        assert_ne!(salted(&key), salted(&SaltKey::fresh()));
    }

    #[test]
    fn no_random_bytes_are_given_out_twice() {
        let random_bytes: Vec<[u8; 24]> = (0..100).map(|_| random_bytes()).collect();
        for (index, one) in random_bytes.iter().enumerate() {
            assert!(!random_bytes[..index].contains(one) && *one != [0; 24], "{index}");
        }
    }
}
