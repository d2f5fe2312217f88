//! Counts the terms of a query in a text. Makes one pass over the terms of the text, and searches for literal
//! phrases only if the query has any. Called for every candidate; it does not depend on weights.

use std::ops::Range;

use tertulia_session::search::terms::{Term, TermUse, each_term};
use tertulia_session::writing_system::fold;

use super::query::{ParsedQuery, Required};
use super::terms::{common_text, folded, key_of, key_of_text, without_mark};

/// The maximum number of recorded matches per term.
const POSITIONS_MAX: usize = 64;

/// A query prepared for matching many texts.
#[derive(Debug)]
pub(super) struct Matcher<'q> {
    parsed: &'q ParsedQuery,
    /// The meaning of each key of a term, sorted by key.
    keys: Vec<(u64, Slot)>,
    /// A Bloom filter with one bit per key, selected by the lowest bits of the key. It pays off because most terms
    /// of a text are not in the query.
    filter: u64,
    /// The first letters and lengths of the terms with these keys, if they are ASCII.
    shapes: Shapes,
    prefixes: Vec<(String, Slot)>,
    groups: usize,
}

/// The first letters and lengths of terms, as bit sets. If a term of a text matches none of them, it need not be
/// hashed.
#[derive(Clone, Copy, Debug, Default)]
struct Shapes {
    first: u128,
    lengths: u64,
}

impl Shapes {
    fn add(&mut self, text: &str) {
        self.first |= first_bit(text);
        self.lengths |= length_bit(text);
    }

    /// Returns whether a term may be in the set. Always true for non-ASCII text, because its length may change in
    /// lower case.
    fn may_have(self, text: &str) -> bool {
        let fits = self.first & first_bit(text) != 0 && self.lengths & length_bit(text) != 0;
        fits || !text.is_ascii()
    }
}

/// Returns the bit of the first character in lower case; 0 if it is not ASCII.
fn first_bit(text: &str) -> u128 {
    let first = text.bytes().next().map_or(0, |byte| byte.to_ascii_lowercase());
    1_u128.checked_shl(first.into()).unwrap_or_default()
}

fn length_bit(text: &str) -> u64 {
    1 << text.len().min(63)
}

/// The meaning of a term in a text.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Slot {
    /// A term of this group. Groups are numbered over all items.
    Group(usize),
    Ranked(usize),
}

/// The occurrences of a query's terms in a text.
#[derive(Debug, Default, PartialEq, Eq)]
pub(super) struct Counts {
    /// The number of occurrences of each ranked term.
    pub(super) times: Vec<usize>,
    /// The number of terms in the text.
    pub(super) length: u16,
}

impl<'q> Matcher<'q> {
    pub(super) fn new(parsed: &'q ParsedQuery) -> Self {
        let groups = parsed.items.iter().flat_map(|item| &item.groups);
        let groups = groups.enumerate().map(|(index, group)| (group, Slot::Group(index)));
        let ranked = parsed.ranked.iter().enumerate().filter(|(_, one)| one.needle.is_none());
        let ranked = ranked.map(|(index, one)| (&one.forms, Slot::Ranked(index)));
        let (mut keys, mut prefixes) = (Vec::new(), Vec::new());
        for (forms, slot) in groups.chain(ranked) {
            for form in forms {
                match form.is_prefix {
                    true => prefixes.push((form.text.clone(), slot)),
                    false => keys.push((key_of_text(&form.text), slot)),
                }
            }
        }
        let mut shapes = Shapes::default();
        let exact = parsed.items.iter().flat_map(|item| item.groups.iter().flatten());
        let exact = exact.chain(parsed.ranked.iter().flat_map(|ranked| &ranked.forms));
        exact.for_each(|form| shapes.add(without_mark(&form.text)));
        keys.sort_unstable();
        let filter = keys.iter().fold(0, |filter, (key, _)| filter | bit(*key));
        let groups = parsed.items.iter().map(|item| item.groups.len()).sum();
        Self { parsed, keys, filter, shapes, prefixes, groups }
    }

    /// Counts the terms in a text; `None` if something that is required is missing.
    pub(super) fn counts(&self, text: &str, required: Required) -> Option<Counts> {
        let mut times = vec![0; self.parsed.ranked.len()];
        let mut has_group = vec![false; self.groups];
        let mut length = 0_u16;
        each_term(text, &mut |term| {
            length = length.saturating_add(u16::from(term.usage == TermUse::Ranked));
            self.each_slot(&term, |slot| match slot {
                Slot::Group(index) => {
                    has_group.get_mut(index).into_iter().for_each(|has| *has = true)
                }
                Slot::Ranked(index) => {
                    times.get_mut(index).into_iter().for_each(|times| *times += 1)
                }
            });
        });
        let mut has_groups = has_group.into_iter();
        let mut lower = LowerCase { text, folded: None };
        for item in &self.parsed.items {
            // All values of the item must be consumed, because the following ones belong to the next item.
            let missing = has_groups.by_ref().take(item.groups.len()).filter(|has| !has).count();
            let mut is_there = || {
                item.needle
                    .as_ref()
                    .is_none_or(|needle| needle.positions(lower.get()).next().is_some())
            };
            if required.includes(item) && !(missing == 0 && is_there()) {
                return None;
            }
        }
        for (times, ranked) in times.iter_mut().zip(&self.parsed.ranked) {
            if let Some(needle) = &ranked.needle {
                *times = needle.positions(lower.get()).count();
            }
        }
        Some(Counts { times, length })
    }

    /// Returns the positions of the ranked terms in a text on one line, each with the index of its term. They are
    /// sorted.
    pub(super) fn positions(&self, text: &str) -> Vec<(Range<usize>, usize)> {
        let mut positions = Vec::new();
        let mut seen = vec![0; self.parsed.ranked.len()];
        each_term(text, &mut |term| {
            self.each_slot(&term, |slot| {
                let Slot::Ranked(index) = slot else { return };
                let Some(seen) = seen.get_mut(index).filter(|seen| **seen < POSITIONS_MAX) else {
                    return;
                };
                *seen += 1;
                positions.push((term.start..term.start + term.written.len(), index));
            });
        });
        self.add_needles(text, &mut positions);
        positions.sort_by_key(|(range, index)| (range.start, range.end, *index));
        positions
    }

    fn add_needles(&self, text: &str, positions: &mut Vec<(Range<usize>, usize)>) {
        let mut lower = LowerCase { text, folded: None };
        let mut found: Vec<(Range<usize>, usize)> = Vec::new();
        for (index, ranked) in self.parsed.ranked.iter().enumerate() {
            if let Some(needle) = &ranked.needle {
                let ranges = needle.positions(lower.get()).take(POSITIONS_MAX);
                found.extend(ranges.map(|range| (range, index)));
            }
        }
        if found.is_empty() {
            return;
        }
        // Both forms have the same number of characters, but their bytes differ.
        let starts: Vec<usize> = text.char_indices().map(|(at, _)| at).collect();
        let lower = lower.get();
        let byte = |end: usize| {
            let characters = lower.get(..end).map_or(0, |before| before.chars().count());
            starts.get(characters).copied().unwrap_or(text.len())
        };
        positions.extend(
            found.into_iter().map(|(range, index)| (byte(range.start)..byte(range.end), index)),
        );
    }

    fn each_slot(&self, term: &Term<'_>, mut take: impl FnMut(Slot)) {
        let key = self.shapes.may_have(term.text).then(|| key_of(term));
        if let Some(key) = key.filter(|key| self.filter & bit(*key) != 0) {
            let from = self.keys.partition_point(|(known, _)| *known < key);
            let same = self.keys.get(from..).unwrap_or_default().iter();
            same.take_while(|(known, _)| *known == key).for_each(|(_, slot)| take(*slot));
        }
        for (prefix, slot) in &self.prefixes {
            if has_prefix(term, prefix) {
                take(*slot);
            }
        }
    }
}

fn bit(key: u64) -> u64 {
    1 << (key & 63)
}

/// Returns whether a term in index form has this prefix.
fn has_prefix(term: &Term<'_>, prefix: &str) -> bool {
    if term.usage == TermUse::Common {
        return common_text(term.text).starts_with(prefix);
    }
    let mut characters = term.text.chars().map(fold);
    prefix.chars().all(|expected| characters.next() == Some(expected))
}

/// A text in lower case, computed on first use.
struct LowerCase<'t> {
    text: &'t str,
    folded: Option<String>,
}

impl LowerCase<'_> {
    fn get(&mut self) -> &str {
        self.folded.get_or_insert_with(|| folded(self.text))
    }
}
