//! How a prompt was made, so small that it is stored with every turn: which stretches of which entries,
//! and the few words between them. From it and the log the prompt can be made again, to the byte, whatever
//! later versions would send. No text of a message is in it, so a redaction needs to know nothing of it.
//!
//! Stored as a JSON list; docs/session-record.md has its form. A recipe refers to the one of the member's
//! turn before it for what both have in common; every [`KEY_EVERY`]th one stands alone, so reading one costs
//! no more in a long session. Pure.

use std::borrow::Cow;
use std::collections::HashMap;
use std::ops::Range;

use serde_json::Value;
use tertulia_agent::Edit;
use tertulia_session::json::Json;
use tertulia_session::{Entry, EntryId, EntryKind};

/// So many recipes of a member in a row refer to the one before.
pub(super) const KEY_EVERY: usize = 64;
/// What a list begins with.
const ALONE: u64 = 0;
const BEHIND_LAST: u64 = 1;

/// One step of a recipe.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(super) enum Step {
    /// Words of the format, the team file or the program.
    Words(Box<str>),
    /// A stretch of what an entry says.
    Said {
        /// The place of the entry on its branch, from 0.
        place: usize,
        /// The bytes; `None` for all.
        range: Option<Range<usize>>,
        /// Whether it is written as the inside of a JSON string.
        is_escaped: bool,
    },
    /// The id of the entry at this place.
    Id(usize),
    /// Here the system text ends and the prompt begins.
    Apart,
}

/// A prompt that was made again.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Made {
    pub(super) system: Option<String>,
    pub(super) text: String,
    /// The entries whose text is gone.
    pub(super) lost: Vec<EntryId>,
}

impl Made {
    /// What this entry said is gone. Several stretches of it in a row leave one gap.
    fn lose(&mut self, entry: &EntryId) {
        let gap = format!("[redacted: {entry}]");
        if !self.text.ends_with(&gap) {
            self.text.push_str(&gap);
        }
        if !self.lost.contains(entry) {
            self.lost.push(entry.clone());
        }
    }
}

/// A recipe that cannot be read.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("the record of this prompt cannot be read: {0}")]
pub struct RecipeError(&'static str);

/// Several steps, in order.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Recipe(pub(super) Vec<Step>);

impl Step {
    /// A stretch of an entry.
    pub(super) fn said(place: usize, range: Range<usize>) -> Self {
        Self::Said { place, range: Some(range), is_escaped: false }
    }
}

/// What an entry says, as recipes count its bytes.
pub(super) fn text_of(entry: &Entry) -> Option<Cow<'_, str>> {
    match &entry.kind {
        EntryKind::Message(message) => Some(message.text()),
        EntryKind::CompactionSummary(summary) => Some(Cow::Borrowed(&summary.summary)),
        EntryKind::TeamTask(task) => task.task.as_deref().map(Cow::Borrowed),
        _ => None,
    }
}

impl Recipe {
    /// Adds words.
    pub(super) fn words(&mut self, words: &str) {
        if !words.is_empty() {
            self.0.push(Step::Words(words.into()));
        }
    }

    /// Adds a part of other steps: the bytes of this range, counted on what the steps make.
    pub(super) fn part(&mut self, steps: &[(Step, usize)], range: Range<usize>) {
        let mut begin = 0;
        for (step, length) in steps {
            let end = begin + length;
            let (from, to) = (range.start.max(begin), range.end.min(end));
            if from < to {
                self.cut(step, from - begin..to - begin, *length);
            }
            begin = end;
        }
    }

    fn cut(&mut self, step: &Step, part: Range<usize>, length: usize) {
        match step {
            Step::Words(words) => self.words(words.get(part).unwrap_or_default()),
            Step::Said { place, range, is_escaped } => {
                let start = range.as_ref().map_or(0, |range| range.start);
                let range = Some(start + part.start..start + part.end);
                self.0.push(Step::Said { place: *place, range, is_escaped: *is_escaped });
            }
            whole if part.len() == length => self.0.push(whole.clone()),
            Step::Id(_) | Step::Apart => {}
        }
    }

    /// The same with what made the prompt inert. `lengths` are the bytes that each step makes.
    pub(super) fn edited(self, lengths: &[usize], edits: &[Edit]) -> Self {
        if edits.is_empty() {
            return self;
        }
        let steps: Vec<(Step, usize)> = self.0.into_iter().zip(lengths.iter().copied()).collect();
        let total = lengths.iter().sum();
        let mut edited = Self::default();
        let mut from = 0;
        for edit in edits {
            edited.part(&steps, from..edit.at());
            from = match edit {
                Edit::Escape(at) => {
                    edited.words("\\");
                    *at
                }
                Edit::DropSign(at) => at + 1,
            };
        }
        edited.part(&steps, from..total);
        edited
    }

    /// The same with stretches of entries as whole ones where they are.
    pub(super) fn tidied(mut self, entries: &[Entry]) -> Self {
        for step in &mut self.0 {
            if let Step::Said { place, range, .. } = step
                && let Some(text) = entries.get(*place).and_then(text_of)
                && range.as_ref().is_some_and(|range| *range == (0..text.len()))
            {
                *range = None;
            }
        }
        self
    }

    /// As JSON. What the recipe before has too is referred to.
    pub(super) fn to_json(&self, before: Option<&Self>) -> Option<Json> {
        let mut list = vec![Value::from(if before.is_some() { BEHIND_LAST } else { ALONE })];
        let before = before.map(|before| &*before.0).unwrap_or_default();
        let mut places: HashMap<&Step, usize> = HashMap::new();
        for (place, step) in before.iter().enumerate() {
            places.entry(step).or_insert(place);
        }
        let mut at = 0;
        while let Some(step) = self.0.get(at) {
            let run = |place: &usize| {
                let same = before.iter().skip(*place).zip(self.0.iter().skip(at));
                (*place, same.take_while(|(a, b)| a == b).count())
            };
            match places.get(step).map(run) {
                Some((place, count)) if is_worth_a_reference(place, count, step) => {
                    list.push(Value::from(vec![place, count]));
                    at += count;
                }
                _ => {
                    list.push(value_of(step));
                    at += 1;
                }
            }
        }
        Json::parse(&Value::from(list).to_string()).ok()
    }

    /// Reads what [`Self::to_json`] wrote. `before` is asked for if the recipe refers to the one before.
    pub(super) fn read(
        json: &Json,
        before: impl FnOnce() -> Result<Self, RecipeError>,
    ) -> Result<Self, RecipeError> {
        let list: Vec<Value> =
            serde_json::from_str(json.as_str()).map_err(|_| RecipeError("it is no list"))?;
        let (kind, items) = list.split_first().ok_or(RecipeError("it is empty"))?;
        let before = match kind.as_u64() {
            Some(ALONE) => Self::default(),
            Some(BEHIND_LAST) => before()?,
            _ => return Err(RecipeError("a later version wrote it; update this program")),
        };
        let mut steps = Vec::new();
        for item in items {
            match step_of(item)? {
                Item::Step(step) => steps.push(step),
                Item::Copy(from, count) => {
                    let end =
                        from.checked_add(count).ok_or(RecipeError("a number is too large"))?;
                    let copied = before.0.get(from..end);
                    let copied = copied.ok_or(RecipeError("it refers to what is not there"))?;
                    steps.extend_from_slice(copied);
                }
            }
        }
        Ok(Self(steps))
    }

    /// Whether it stands alone.
    pub(super) fn is_alone(json: &Json) -> bool {
        json.as_str().starts_with("[0")
    }

    /// Makes the prompt again.
    pub(super) fn make(&self, entries: &[Entry]) -> Made {
        let mut made = Made { system: None, text: String::new(), lost: Vec::new() };
        for step in &self.0 {
            match step {
                Step::Words(words) => made.text.push_str(words),
                Step::Apart => made.system = Some(std::mem::take(&mut made.text)),
                Step::Id(place) => {
                    made.text.push_str(entries.get(*place).map_or("", |entry| entry.id.as_str()));
                }
                Step::Said { place, range, is_escaped } => {
                    let entry = entries.get(*place);
                    let text = entry.and_then(text_of).unwrap_or_default();
                    let part = match range {
                        Some(range) => text.get(range.clone()),
                        None => Some(&*text).filter(|text| !text.is_empty()),
                    };
                    match (part, entry) {
                        (Some(part), _) if *is_escaped => made.text.push_str(&escaped(part)),
                        (Some(part), _) => made.text.push_str(part),
                        (None, Some(entry)) => made.lose(&entry.id),
                        (None, None) => {}
                    }
                }
            }
        }
        made
    }
}

/// The inside of a JSON string.
pub(super) fn escaped(text: &str) -> String {
    let quoted = Value::from(text).to_string();
    quoted.strip_prefix('"').and_then(|rest| rest.strip_suffix('"')).unwrap_or_default().to_owned()
}

/// Whether a reference to steps of the recipe before is shorter than the first of them.
fn is_worth_a_reference(place: usize, count: usize, step: &Step) -> bool {
    let reference = Value::from(vec![place, count]).to_string();
    count > 1 || reference.len() < value_of(step).to_string().len()
}

fn value_of(step: &Step) -> Value {
    match step {
        Step::Words(words) => Value::from(&**words),
        Step::Apart => Value::Null,
        Step::Id(place) => Value::from(vec![*place]),
        Step::Said { place, range: None, is_escaped: false } => Value::from(*place),
        Step::Said { place, range, is_escaped } => {
            let whole = range.is_none();
            let range = range.clone().unwrap_or_default();
            // An empty range stands for all.
            let end = if whole { 0 } else { range.end };
            let mut list = vec![*place, range.start, end];
            if *is_escaped {
                list.push(1);
            }
            Value::from(list)
        }
    }
}

enum Item {
    Step(Step),
    Copy(usize, usize),
}

fn step_of(item: &Value) -> Result<Item, RecipeError> {
    let number = |value: &Value| value.as_u64().and_then(|number| usize::try_from(number).ok());
    let said = |place, from, to, is_escaped| {
        let range = (to > 0).then_some(from..to);
        Item::Step(Step::Said { place, range, is_escaped })
    };
    match item {
        Value::String(words) => Ok(Item::Step(Step::Words(words.as_str().into()))),
        Value::Null => Ok(Item::Step(Step::Apart)),
        Value::Array(list) => {
            let numbers: Option<Vec<usize>> = list.iter().map(number).collect();
            match numbers.as_deref() {
                Some([place]) => Ok(Item::Step(Step::Id(*place))),
                Some([from, count]) => Ok(Item::Copy(*from, *count)),
                Some([place, from, to]) => Ok(said(*place, *from, *to, false)),
                Some([place, from, to, 1]) => Ok(said(*place, *from, *to, true)),
                _ => Err(RecipeError("it holds a step that nobody knows")),
            }
        }
        value => match number(value) {
            Some(place) => Ok(said(place, 0, 0, false)),
            None => Err(RecipeError("it holds a step that nobody knows")),
        },
    }
}

#[cfg(test)]
mod tests;
