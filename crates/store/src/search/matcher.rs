//! What of a question is in a text, and how often. One pass over the terms of the text; the words that must stand as
//! they are written are looked for only where there are such.
//! Called for every candidate; must not know of weights.

use std::ops::Range;

use tertulia_session::script::fold;
use tertulia_session::search::terms::{Term, TermUse, each_term};

use super::query::{Needs, Question};
use super::terms::{common_text, folded, key_of, key_of_text, without_mark};

/// How many places of one term are noted.
const PLACES_MAX: usize = 64;

/// A question, made ready for many texts.
#[derive(Debug)]
pub(super) struct Matcher<'q> {
    question: &'q Question,
    /// What a term with this key is, in ascending order.
    keys: Vec<(u64, Slot)>,
    /// A bit for every key, by its lowest bits: most terms of a text are none of them.
    filter: u64,
    /// What the terms look like that have one of these keys, where they are ASCII.
    shapes: Shapes,
    prefixes: Vec<(String, Slot)>,
    groups: usize,
}

/// First letters and lengths of terms, as bits. A term of a text that has none of them need not be hashed.
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

    /// Whether a term may be one of them. What is not ASCII may change its length in lower case.
    fn may_have(self, text: &str) -> bool {
        let fits = self.first & first_bit(text) != 0 && self.lengths & length_bit(text) != 0;
        fits || !text.is_ascii()
    }
}

/// The bit of the first character in lower case, if it is ASCII.
fn first_bit(text: &str) -> u128 {
    let first = text.bytes().next().map_or(0, |byte| byte.to_ascii_lowercase());
    1_u128.checked_shl(first.into()).unwrap_or_default()
}

fn length_bit(text: &str) -> u64 {
    1 << text.len().min(63)
}

/// What a term of a text stands for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Slot {
    /// A group of terms, counted over all items.
    Group(usize),
    Ranked(usize),
}

/// What a text has of a question.
#[derive(Debug, Default, PartialEq, Eq)]
pub(super) struct Counts {
    /// How often it has each ranked term.
    pub(super) times: Vec<usize>,
    /// How many terms it has.
    pub(super) length: u16,
}

impl<'q> Matcher<'q> {
    pub(super) fn new(question: &'q Question) -> Self {
        let groups = question.items.iter().flat_map(|item| &item.groups);
        let groups = groups.enumerate().map(|(place, group)| (group, Slot::Group(place)));
        let ranked = question.ranked.iter().enumerate().filter(|(_, one)| one.needle.is_none());
        let ranked = ranked.map(|(place, one)| (&one.forms, Slot::Ranked(place)));
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
        let exact = question.items.iter().flat_map(|item| item.groups.iter().flatten());
        let exact = exact.chain(question.ranked.iter().flat_map(|ranked| &ranked.forms));
        exact.for_each(|form| shapes.add(without_mark(&form.text)));
        keys.sort_unstable();
        let filter = keys.iter().fold(0, |filter, (key, _)| filter | bit(*key));
        let groups = question.items.iter().map(|item| item.groups.len()).sum();
        Self { question, keys, filter, shapes, prefixes, groups }
    }

    /// What a text has; `None` if something is not in it that must be.
    pub(super) fn counts(&self, text: &str, needs: Needs) -> Option<Counts> {
        let mut times = vec![0; self.question.ranked.len()];
        let mut has_group = vec![false; self.groups];
        let mut length = 0_u16;
        each_term(text, &mut |term| {
            length = length.saturating_add(u16::from(term.usage == TermUse::Ranked));
            self.each_slot(&term, |slot| match slot {
                Slot::Group(place) => {
                    has_group.get_mut(place).into_iter().for_each(|has| *has = true)
                }
                Slot::Ranked(place) => {
                    times.get_mut(place).into_iter().for_each(|times| *times += 1)
                }
            });
        });
        let mut has_groups = has_group.into_iter();
        let mut lower = Lower { text, folded: None };
        for item in &self.question.items {
            // All of them are taken, whatever they say: the next ones are those of the next item.
            let missing = has_groups.by_ref().take(item.groups.len()).filter(|has| !has).count();
            let mut is_there = || {
                item.needle
                    .as_ref()
                    .is_none_or(|needle| needle.places(lower.get()).next().is_some())
            };
            if needs.takes(item) && !(missing == 0 && is_there()) {
                return None;
            }
        }
        for (times, ranked) in times.iter_mut().zip(&self.question.ranked) {
            if let Some(needle) = &ranked.needle {
                *times = needle.places(lower.get()).count();
            }
        }
        Some(Counts { times, length })
    }

    /// Where the ranked terms are in a text that is on one line, and which they are; in order.
    pub(super) fn places(&self, text: &str) -> Vec<(Range<usize>, usize)> {
        let mut places = Vec::new();
        let mut seen = vec![0; self.question.ranked.len()];
        each_term(text, &mut |term| {
            self.each_slot(&term, |slot| {
                let Slot::Ranked(place) = slot else { return };
                let Some(seen) = seen.get_mut(place).filter(|seen| **seen < PLACES_MAX) else {
                    return;
                };
                *seen += 1;
                places.push((term.start..term.start + term.written.len(), place));
            });
        });
        self.add_needles(text, &mut places);
        places.sort_by_key(|(range, place)| (range.start, range.end, *place));
        places
    }

    fn add_needles(&self, text: &str, places: &mut Vec<(Range<usize>, usize)>) {
        let mut lower = Lower { text, folded: None };
        let mut found: Vec<(Range<usize>, usize)> = Vec::new();
        for (place, ranked) in self.question.ranked.iter().enumerate() {
            if let Some(needle) = &ranked.needle {
                let ranges = needle.places(lower.get()).take(PLACES_MAX);
                found.extend(ranges.map(|range| (range, place)));
            }
        }
        if found.is_empty() {
            return;
        }
        // Both forms have as many characters; only their bytes differ.
        let starts: Vec<usize> = text.char_indices().map(|(at, _)| at).collect();
        let lower = lower.get();
        let byte = |end: usize| {
            let characters = lower.get(..end).map_or(0, |before| before.chars().count());
            starts.get(characters).copied().unwrap_or(text.len())
        };
        places.extend(
            found.into_iter().map(|(range, place)| (byte(range.start)..byte(range.end), place)),
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
            if begins(term, prefix) {
                take(*slot);
            }
        }
    }
}

fn bit(key: u64) -> u64 {
    1 << (key & 63)
}

/// Whether a term, as it is in an index, begins so.
fn begins(term: &Term<'_>, prefix: &str) -> bool {
    if term.usage == TermUse::Common {
        return common_text(term.text).starts_with(prefix);
    }
    let mut characters = term.text.chars().map(fold);
    prefix.chars().all(|wanted| characters.next() == Some(wanted))
}

/// A text in lower case, made when it is first asked for.
struct Lower<'t> {
    text: &'t str,
    folded: Option<String>,
}

impl Lower<'_> {
    fn get(&mut self) -> &str {
        self.folded.get_or_insert_with(|| folded(self.text))
    }
}
