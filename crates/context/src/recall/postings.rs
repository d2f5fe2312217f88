//! The passages that contain each term, and how often they contain it, in 32 bits. Only terms that occur in several
//! passages need an allocation. Called by the index; it does not depend on the meaning of terms.

use std::collections::HashMap;
use std::collections::hash_map::Entry;

use tertulia_session::search::rank::REPEATS_MAX;

/// The passages by term. No result depends on the order of the map. Its keys come from untrusted texts, so it uses
/// the standard hasher.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Postings {
    lists: HashMap<u64, List>,
}

#[derive(Clone, Debug, PartialEq, Eq)]
enum List {
    One(Posting),
    #[expect(clippy::box_collection, reason = "most terms stand alone: the map is half as large")]
    Many(Box<Vec<Posting>>),
}

/// The number of a passage, and how often it contains the term.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Posting(u32);

const REPEAT_BITS: u32 = 4;
const _: () = assert!(REPEATS_MAX < 1 << REPEAT_BITS, "repeats fit into their bits");
/// The maximum number of passages: some 200 GB of text.
pub(super) const NUMBERS_MAX: usize = 1 << (u32::BITS - REPEAT_BITS);

impl Posting {
    fn new(number: usize, repeats: usize) -> Self {
        let number = u32::try_from(number.min(NUMBERS_MAX - 1)).unwrap_or_default();
        let repeats = u32::try_from(repeats.clamp(1, REPEATS_MAX)).unwrap_or_default();
        Self(number << REPEAT_BITS | repeats)
    }

    pub(super) fn number(self) -> usize {
        (self.0 >> REPEAT_BITS) as usize
    }

    /// Returns how often the passage contains the term, 1 to [`REPEATS_MAX`].
    pub(super) fn repeats(self) -> usize {
        self.0 as usize & ((1 << REPEAT_BITS) - 1)
    }
}

impl Postings {
    /// Records that a passage contains a term. Numbers ascend.
    pub(super) fn add(&mut self, term: u64, number: usize, repeats: usize) {
        let posting = Posting::new(number, repeats);
        match self.lists.entry(term) {
            Entry::Vacant(free) => {
                free.insert(List::One(posting));
            }
            Entry::Occupied(mut taken) => match taken.get_mut() {
                List::One(first) => {
                    let both = vec![*first, posting];
                    taken.insert(List::Many(Box::new(both)));
                }
                List::Many(all) => all.push(posting),
            },
        }
    }

    /// Returns the passages that contain a term, in ascending order.
    pub(super) fn of(&self, term: u64) -> &[Posting] {
        match self.lists.get(&term) {
            None => &[],
            Some(List::One(one)) => std::slice::from_ref(one),
            Some(List::Many(all)) => all,
        }
    }

    /// Gives every passage its new number, and removes those that get none.
    pub(super) fn renumber(&mut self, new: &[Option<u32>]) {
        let renumbered = |posting: &Posting| {
            let number = new.get(posting.number()).copied().flatten()?;
            Some(Posting::new(number as usize, posting.repeats()))
        };
        self.lists.retain(|_, list| {
            let kept = match list {
                List::One(one) => renumbered(one).map(List::One),
                List::Many(all) => {
                    let kept: Vec<Posting> = all.iter().filter_map(renumbered).collect();
                    match kept.as_slice() {
                        [] => None,
                        [one] => Some(List::One(*one)),
                        _ => Some(List::Many(Box::new(kept))),
                    }
                }
            };
            let is_kept = kept.is_some();
            if let Some(kept) = kept {
                *list = kept;
            }
            is_kept
        });
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn numbers(postings: &Postings, term: u64) -> Vec<(usize, usize)> {
        postings.of(term).iter().map(|one| (one.number(), one.repeats())).collect()
    }

    #[test]
    fn a_term_returns_its_passages_with_their_repeats() {
        let mut postings = Postings::default();
        postings.add(7, 0, 1);
        postings.add(7, 4, 3);
        postings.add(9, 4, 1_000);
        assert_eq!(numbers(&postings, 7), [(0, 1), (4, 3)]);
        assert_eq!(numbers(&postings, 9), [(4, REPEATS_MAX)]);
        assert!(postings.of(8).is_empty());
    }

    #[test]
    fn passages_without_a_new_number_are_removed() {
        let mut postings = Postings::default();
        for (term, number) in [(1, 0), (1, 1), (1, 2), (2, 1), (3, 0), (3, 1)] {
            postings.add(term, number, 1);
        }
        postings.renumber(&[Some(0), None, Some(1)]);
        let mut never = Postings::default();
        for (term, number) in [(1, 0), (1, 1), (3, 0)] {
            never.add(term, number, 1);
        }
        assert_eq!(postings, never);
    }

    #[test]
    fn the_largest_number_fits() {
        let posting = Posting::new(usize::MAX, 0);
        assert_eq!((posting.number(), posting.repeats()), (NUMBERS_MAX - 1, 1));
    }
}
