//! Takes the fields of a table one by one, typed, and remembers where each stood. What has the wrong type
//! or is out of range is told and counts as not there. Called by the readers of both forms.

use std::collections::{BTreeMap, BTreeSet};
use std::ops::RangeInclusive;

use super::hint::{did_you_mean, nearest_of, quoted};
use super::problem::{Problems, Spot};
use super::tree::{Key, Node, Value};

/// The fields of one table that were not taken yet.
pub(super) struct Desk {
    /// The table itself.
    pub(super) here: Spot,
    /// Where the fields stood that were taken.
    pub(super) seen: Seen,
    fields: Vec<(Key, Node)>,
}

/// The places of fields by their names.
pub(super) type Seen = BTreeMap<&'static str, Spot>;

/// The fields that unknown ones look like: that they are missing need not be told as well.
pub(super) type Meant = BTreeSet<Box<str>>;

/// What becomes of a field that nobody knows.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Unknown {
    Refused,
    Ignored,
}

impl Desk {
    /// A table; `None` if it is none, which is told.
    pub(super) fn of(here: Spot, node: Node, problems: &mut Problems<'_>) -> Option<Self> {
        match node.value {
            Value::Table(fields) => Some(Self { here, seen: Seen::new(), fields }),
            other => {
                problems.error(&here, must_be("a table", &other));
                None
            }
        }
    }

    /// Takes a field as it is; `null` counts as not there. Of two with one name the last counts.
    pub(super) fn take(&mut self, name: &'static str) -> Option<(Spot, Value)> {
        let all = std::mem::take(&mut self.fields);
        let (mut taken, rest): (Vec<_>, _) = all.into_iter().partition(|(key, _)| key.name == name);
        self.fields = rest;
        let last = taken.pop().map(|(_, node)| node);
        let node = last.filter(|node| !matches!(node.value, Value::Null))?;
        let spot = self.here.part(name, node.span);
        self.seen.insert(name, spot.clone());
        Some((spot, node.value))
    }

    /// A text that is not blank.
    pub(super) fn text(
        &mut self,
        name: &'static str,
        problems: &mut Problems<'_>,
    ) -> Option<Box<str>> {
        let (spot, value) = self.take(name)?;
        as_text(&spot, value, problems)
    }

    /// One of a few words.
    pub(super) fn word<T: Copy>(
        &mut self,
        name: &'static str,
        words: &[(&'static str, T)],
        problems: &mut Problems<'_>,
    ) -> Option<T> {
        let (spot, value) = self.take(name)?;
        let known = words.iter().map(|(word, _)| *word);
        let expected = match words {
            [(only, _)] => (*only).to_owned(),
            _ => format!("one of {}", known.clone().collect::<Vec<_>>().join(", ")),
        };
        let Value::Text(written) = value else {
            problems.error(&spot, must_be(&expected, &value));
            return None;
        };
        let found = words.iter().find(|(word, _)| *word == written).map(|(_, value)| *value);
        if found.is_none() {
            let (written, hint) = (quoted(&written), did_you_mean(&written, known));
            problems.error(&spot, format!("must be {expected}; got {written}{hint}"));
        }
        found
    }

    /// A whole number in a range.
    pub(super) fn number<T: TryFrom<i64>>(
        &mut self,
        name: &'static str,
        range: RangeInclusive<i64>,
        problems: &mut Problems<'_>,
    ) -> Option<T> {
        let (spot, value) = self.take(name)?;
        let expected = format!("a whole number from {} to {}", range.start(), range.end());
        let Value::Integer(number) = value else {
            problems.error(&spot, must_be(&expected, &value));
            return None;
        };
        let fitting = number.filter(|number| range.contains(number));
        if fitting.is_none() {
            let got =
                number.map_or_else(|| "one beyond 64 bits".to_owned(), |number| number.to_string());
            problems.error(&spot, format!("must be {expected}; got {got}"));
        }
        T::try_from(fitting?).ok()
    }

    /// An amount of dollars.
    pub(super) fn dollars(
        &mut self,
        name: &'static str,
        problems: &mut Problems<'_>,
    ) -> Option<f64> {
        let (spot, value) = self.take(name)?;
        let amount = match value {
            Value::Integer(number) => number.and_then(|n| i32::try_from(n).ok()).map(f64::from),
            Value::Float(number) => Some(number),
            other => {
                problems.error(&spot, must_be(DOLLARS, &other));
                return None;
            }
        };
        // A zero that is written as negative is plain zero.
        let fitting = amount.filter(|usd| (0.0..=DOLLARS_MAX).contains(usd)).map(|usd| usd + 0.0);
        if fitting.is_none() {
            problems.error(&spot, format!("must be {DOLLARS}"));
        }
        fitting
    }

    /// A list of texts.
    pub(super) fn texts(
        &mut self,
        name: &'static str,
        problems: &mut Problems<'_>,
    ) -> Option<Vec<Box<str>>> {
        let (spot, value) = self.take(name)?;
        let Value::List(items) = value else {
            problems.error(&spot, must_be("a list of strings", &value));
            return None;
        };
        Some(as_texts(&spot, items, problems))
    }

    pub(super) fn text_table(
        &mut self,
        name: &'static str,
        problems: &mut Problems<'_>,
    ) -> BTreeMap<Box<str>, Box<str>> {
        let mut table = BTreeMap::new();
        let Some((spot, value)) = self.take(name) else {
            return table;
        };
        let Value::Table(fields) = value else {
            problems.error(&spot, must_be("a table of strings", &value));
            return table;
        };
        for (key, node) in fields {
            let spot = spot.part(&key.name, key.span);
            match node.value {
                Value::Text(text) => drop(table.insert(key.name.into(), text.into())),
                other => problems.error(&spot, must_be("a string", &other)),
            }
        }
        table
    }

    /// Tells of every field that was not taken; gives where the others stood, and what was probably meant
    /// by those that nobody knows.
    pub(super) fn finish(
        self,
        known: &(impl Iterator<Item = &'static str> + Clone),
        unknown: Unknown,
        problems: &mut Problems<'_>,
    ) -> (Seen, Meant) {
        let mut meant = Meant::new();
        for (key, _) in self.fields {
            let spot = self.here.part(&shown_key(&key.name), key.span);
            let hint = did_you_mean(&key.name, known.clone());
            meant.extend(nearest_of(&key.name, known.clone()));
            match unknown {
                Unknown::Refused => problems.error(&spot, format!("there is no such field{hint}")),
                Unknown::Ignored => {
                    problems.warn(&spot, format!("there is no such field, it is ignored{hint}"));
                }
            }
        }
        (self.seen, meant)
    }
}

const DOLLARS_MAX: f64 = 1e6;
const DOLLARS: &str = "an amount of dollars from 0 to 1000000";

/// What an error says of a value of the wrong kind.
pub(super) fn must_be(expected: &str, got: &Value) -> String {
    format!("must be {expected}; got {}", got.kind())
}

/// A text that is not blank and that a process may be given.
pub(super) fn as_text(spot: &Spot, value: Value, problems: &mut Problems<'_>) -> Option<Box<str>> {
    let Value::Text(text) = value else {
        problems.error(spot, must_be("a string", &value));
        return None;
    };
    if text.trim().is_empty() {
        problems.error(spot, "is empty; fill it in, or take the line out");
        return None;
    }
    Some(text.into())
}

/// The texts of a list; what is no text is told.
pub(super) fn as_texts(
    spot: &Spot,
    items: Vec<Node>,
    problems: &mut Problems<'_>,
) -> Vec<Box<str>> {
    let mut texts = Vec::with_capacity(items.len());
    for (index, item) in items.into_iter().enumerate() {
        match item.value {
            Value::Text(text) => texts.push(text.into()),
            other => {
                let spot = spot.part(&format!("[{index}]"), item.span);
                problems.error(&spot, must_be("a string", &other));
            }
        }
    }
    texts
}

/// A field name as a path shows it.
fn shown_key(name: &str) -> String {
    let is_plain = |c: char| c.is_ascii_alphanumeric() || matches!(c, '_' | '-');
    if !name.is_empty() && name.chars().all(is_plain) { name.to_owned() } else { quoted(name) }
}
