//! Reads the fields of a table one by one, with their types, and remembers their positions. Reports values of the
//! wrong type or out of range, and treats them as missing. Both forms use it.

use std::collections::{BTreeMap, BTreeSet};

use super::problem::{Problems, Spot, did_you_mean, nearest_of, quoted};
use super::rules::Numbers;
use super::tree::{Key, Node, Value};

pub(super) struct FieldReader<'d, 'p> {
    pub(super) here: Spot,
    pub(super) seen: Seen,
    pub(super) problems: &'d mut Problems<'p>,
    fields: Vec<(Key, Node)>,
}

type Name = &'static str;

pub(super) type Seen = BTreeMap<Name, Spot>;

/// Known fields that unknown ones resemble. They are not reported as missing as well.
pub(super) type Meant = BTreeSet<Box<str>>;

type TextTable = BTreeMap<Box<str>, Box<str>>;

#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Unknown {
    Refused,
    Ignored,
}

impl<'d, 'p> FieldReader<'d, 'p> {
    /// Creates a reader. If the value is not a table, reports it and returns `None`.
    pub(super) fn new(here: Spot, value: Value, problems: &'d mut Problems<'p>) -> Option<Self> {
        match value {
            Value::Table(fields) => Some(Self { here, seen: Seen::new(), problems, fields }),
            other => {
                problems.error(&here, must_be("a table", &other));
                None
            }
        }
    }

    /// Removes and returns a field; `null` counts as missing. If a name occurs twice, the last one is used.
    pub(super) fn take(&mut self, name: Name) -> Option<(Spot, Value)> {
        let all = std::mem::take(&mut self.fields);
        let (mut taken, rest): (Vec<_>, _) = all.into_iter().partition(|(key, _)| key.name == name);
        self.fields = rest;
        let last = taken.pop().map(|(_, node)| node);
        let node = last.filter(|node| !matches!(node.value, Value::Null))?;
        let spot = self.here.part(name, node.span);
        self.seen.insert(name, spot.clone());
        Some((spot, node.value))
    }

    pub(super) fn refuse<T>(&mut self, spot: &Spot, expected: &str, got: &Value) -> Option<T> {
        self.problems.error(spot, must_be(expected, got));
        None
    }

    pub(super) fn text(&mut self, name: Name) -> Option<Box<str>> {
        let (spot, value) = self.take(name)?;
        self.as_text(&spot, value)
    }

    pub(super) fn word<T: Copy>(&mut self, name: Name, words: &[(Name, T)]) -> Option<T> {
        let (spot, value) = self.take(name)?;
        let known: Vec<Name> = words.iter().map(|(word, _)| *word).collect();
        let expected = match known.as_slice() {
            [only] => (*only).to_owned(),
            several => format!("one of {}", several.join(", ")),
        };
        let Value::Text(written) = value else { return self.refuse(&spot, &expected, &value) };
        let found = words.iter().find(|(word, _)| *word == written).map(|(_, value)| *value);
        if found.is_none() {
            let (written, hint) = (quoted(&written), did_you_mean(&written, &known));
            self.problems.error(&spot, format!("must be {expected}; got {written}{hint}"));
        }
        found
    }

    pub(super) fn number<T: TryFrom<i64>>(&mut self, name: Name, range: Numbers) -> Option<T> {
        let (spot, value) = self.take(name)?;
        let expected = format!("a whole number from {} to {}", range.start(), range.end());
        let Value::Integer(number) = value else { return self.refuse(&spot, &expected, &value) };
        let fitting = number.filter(|number| range.contains(number));
        if fitting.is_none() {
            let got =
                number.map_or_else(|| "one beyond 64 bits".to_owned(), |number| number.to_string());
            self.problems.error(&spot, format!("must be {expected}; got {got}"));
        }
        T::try_from(fitting?).ok()
    }

    pub(super) fn boolean(&mut self, name: Name) -> Option<bool> {
        match self.take(name)? {
            (_, Value::Boolean(value)) => Some(value),
            (spot, other) => self.refuse(&spot, "true or false", &other),
        }
    }

    pub(super) fn dollars(&mut self, name: Name) -> Option<f64> {
        let (spot, value) = self.take(name)?;
        let amount = match value {
            Value::Integer(number) => number.and_then(|n| i32::try_from(n).ok()).map(f64::from),
            Value::Float(number) => Some(number),
            other => return self.refuse(&spot, DOLLARS, &other),
        };
        // Negative zero becomes zero.
        let fitting = amount.filter(|usd| (0.0..=DOLLARS_MAX).contains(usd)).map(|usd| usd + 0.0);
        if fitting.is_none() {
            self.problems.error(&spot, format!("must be {DOLLARS}"));
        }
        fitting
    }

    pub(super) fn texts(&mut self, name: Name) -> Option<Vec<Box<str>>> {
        match self.take(name)? {
            (spot, Value::List(items)) => Some(self.as_texts(&spot, items)),
            (spot, other) => self.refuse(&spot, "a list of strings", &other),
        }
    }

    pub(super) fn text_table(&mut self, name: Name) -> Option<TextTable> {
        let (spot, value) = self.take(name)?;
        let Value::Table(fields) = value else {
            return self.refuse(&spot, "a table of strings", &value);
        };
        let mut table = BTreeMap::new();
        for (key, Node { value, .. }) in fields {
            let spot = spot.part(&key.name, key.span);
            match value {
                Value::Text(text) => drop(table.insert(key.name.into(), text.into())),
                other => self.problems.error(&spot, must_be("a string", &other)),
            }
        }
        Some(table)
    }

    /// Reads a text that is not empty.
    pub(super) fn as_text(&mut self, spot: &Spot, value: Value) -> Option<Box<str>> {
        let Value::Text(text) = value else { return self.refuse(spot, "a string", &value) };
        if text.trim().is_empty() {
            self.problems.error(spot, "is empty; fill it in, or remove the line");
            return None;
        }
        Some(text.into())
    }

    /// Reads the texts of a list, and reports all other values.
    pub(super) fn as_texts(&mut self, spot: &Spot, items: Vec<Node>) -> Vec<Box<str>> {
        let mut texts = Vec::with_capacity(items.len());
        for (index, item) in items.into_iter().enumerate() {
            match item.value {
                Value::Text(text) => texts.push(text.into()),
                other => {
                    let spot = spot.part(&format!("[{index}]"), item.span);
                    self.problems.error(&spot, must_be("a string", &other));
                }
            }
        }
        texts
    }

    /// Reports every field that was not taken. Returns the positions of the taken ones, and the probable meaning of
    /// unknown ones.
    pub(super) fn finish(self, known: &[&str], unknown: Unknown) -> (Seen, Meant) {
        let mut meant = Meant::new();
        for (key, _) in self.fields {
            let spot = self.here.part(&shown_key(&key.name), key.span);
            let hint = did_you_mean(&key.name, known);
            meant.extend(nearest_of(&key.name, known));
            match unknown {
                Unknown::Refused => {
                    self.problems.error(&spot, format!("there is no such field{hint}"));
                }
                Unknown::Ignored => {
                    let what = format!("there is no such field, it is ignored{hint}");
                    self.problems.warn(&spot, what);
                }
            }
        }
        (self.seen, meant)
    }
}

const DOLLARS_MAX: f64 = 1e6;
const DOLLARS: &str = "an amount of dollars from 0 to 1000000";

fn must_be(expected: &str, got: &Value) -> String {
    format!("must be {expected}; got {}", got.kind())
}

pub(super) fn shown_key(name: &str) -> String {
    let is_plain = |c: char| c.is_ascii_alphanumeric() || matches!(c, '_' | '-');
    if !name.is_empty() && name.chars().all(is_plain) { name.to_owned() } else { quoted(name) }
}
