//! The part of the previous summary that the new one must carry, so that it passes the gate whatever
//! else competes for the room. Called by [`super::choose`].

use std::collections::{HashMap, HashSet};

use super::choose::Draft;
use super::gate::CARRIED_PART;
use super::known::{distinct_names, distinct_words, without_place};
use super::sections::Section;

/// Takes what is missing to a third of the previous names or, where it has none, of its words.
pub(super) fn carry(draft: &mut Draft<'_, '_>, previous: &str) {
    let names = distinct_names(previous);
    if names.is_empty() {
        carry_words(draft, previous);
    } else {
        carry_names(draft, &names);
    }
}

fn carry_names(draft: &mut Draft<'_, '_>, names: &[&str]) {
    // Places in a file are one name in the new summary.
    let mut missing: HashMap<&str, usize> = HashMap::new();
    let mut carried = 0;
    for name in names.iter().map(|name| without_place(name)) {
        if draft.knows(name) {
            carried += 1;
        } else {
            *missing.entry(name).or_default() += 1;
        }
    }
    let needed = names.len().div_ceil(CARRIED_PART);
    for at in 0..draft.ranked().len() {
        if carried >= needed {
            return;
        }
        let Some(name) = draft.ranked().get(at).copied().filter(|name| name.is_carried()) else {
            continue;
        };
        if let Some(count) = missing.get(name.text)
            && draft.take_name(at, name, u64::MAX)
        {
            carried += count;
        }
    }
}

fn carry_words(draft: &mut Draft<'_, '_>, previous: &str) {
    let words = distinct_words(previous);
    let needed = words.len().div_ceil(CARRIED_PART);
    let mut missing: HashSet<String> = words.into_iter().collect();
    let total = missing.len();
    let known: Vec<String> = draft.texts().flat_map(distinct_words).collect();
    for word in &known {
        missing.remove(word);
    }
    for section in Section::BY_WEIGHT {
        for (at, candidate) in draft.candidates(section).iter().enumerate() {
            if total - missing.len() >= needed {
                return;
            }
            if candidate.is_carried() && draft.take(section, at, u64::MAX) {
                for word in distinct_words(candidate.text) {
                    missing.remove(&word);
                }
            }
        }
    }
}
