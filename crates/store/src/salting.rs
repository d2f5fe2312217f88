//! Where the salts of entries come from: the randomness of the system. An entry with text that arrives
//! without a salt gets one here, before it is stored.

use std::hash::{BuildHasher, Hasher, RandomState};

use tertulia_session::{Entry, EntryKind, Salt};

/// A salt that nobody can guess.
pub fn fresh_salt() -> Salt {
    let mut bytes = [0; 16];
    fill(&mut bytes);
    Salt::from_bytes(bytes)
}

/// A key from which the salts of one append or import are derived, so that an entry that it holds twice
/// gets one salt. It is thrown away with the append.
pub(crate) struct SaltKey([u8; 32]);

impl SaltKey {
    pub(crate) fn fresh() -> Self {
        let mut key = [0; 32];
        fill(&mut key);
        Self(key)
    }

    /// Gives an entry a salt if it holds text and has none.
    pub(crate) fn salt(&self, entry: &mut Entry) {
        let has_notes = entry.meta.is_some() || !entry.unknown.is_empty();
        if entry.salt.is_none() && (entry.kind.holds_text() || has_notes) && !entry.is_purged() {
            entry.salt = Some(Salt::derive(&self.0, entry.id.as_str()));
        }
    }
}

/// Whether an entry is one that is stored, sent once more. Of a purged one only what still shows can be
/// compared: a text that confirms itself would be a way to guess it.
pub(crate) fn is_repeated(new: &Entry, stored: &Entry) -> bool {
    match &stored.kind {
        EntryKind::Purged(purged) => {
            *purged.type_name == *new.kind.type_name()
                && (&stored.parent_id, &stored.timestamp) == (&new.parent_id, &new.timestamp)
        }
        _ => new.repeats(stored),
    }
}

/// Fills bytes with randomness of the system; should it have none, with keys of the standard library's
/// hashers, which it seeded before.
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
}
