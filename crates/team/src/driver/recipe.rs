//! Describes how a prompt was made: ranges of entries, and the literal text between them. The description is short
//! enough to store with every turn. The prompt can be rebuilt from it and the log byte by byte, even if later
//! versions would send a different one. It contains no text of messages, so redaction can ignore it. [`form`] defines
//! its JSON. Pure.

mod form;

use std::borrow::Cow;
use std::collections::{BTreeMap, BTreeSet, HashMap, HashSet};
use std::ops::Range;

use serde_json::Value;
use tertulia_agent::Edit;
use tertulia_context::view::{Piece, Pieces};
use tertulia_context::{
    AssemblerInput, Body, INDENT, LineStart, Prompt, PromptPiece, indented, indents, is_line_break,
    written_id,
};
use tertulia_session::json::Json;
use tertulia_session::{Entry, EntryId, EntryKind, Salt};

const BYTES_MAX: usize = 1 << 28;

#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(super) enum Step {
    /// Literal text of the format, the team file or the program.
    Words(Box<str>),
    Said(Said),
    /// The id of the entry at this index.
    Id(usize),
    /// The end of the system text and the start of the prompt.
    Apart,
}

#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(super) struct Said {
    /// The 0-based index of the entry on its branch.
    pub(super) index: usize,
    /// The byte range. `None` for the whole text.
    pub(super) range: Option<Range<usize>>,
    /// Whether its lines are indented, as in every prompt.
    pub(super) is_indented: bool,
    pub(super) is_escaped: bool,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Made {
    pub(super) system: Option<String>,
    pub(super) text: String,
    pub(super) lost: Vec<EntryId>,
}

impl Made {
    /// Records that the text of this entry was removed. Adjacent ranges of one entry leave a single gap.
    fn lose(&mut self, entry: &EntryId, indent: &str) {
        let gap = format!("[redacted: {}]", written_id(entry.as_str()));
        if !self.text.ends_with(&gap) {
            self.text.push_str(indent);
            self.text.push_str(&gap);
        }
        if !self.lost.contains(entry) {
            self.lost.push(entry.clone());
        }
    }
}

/// The recipe cannot be read.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("the record of this prompt cannot be read: {0}")]
pub struct RecipeError(&'static str);

#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Recipe(pub(super) Vec<Step>);

impl Step {
    pub(super) fn said(index: usize, range: Range<usize>) -> Self {
        Self::Said(Said { index, range: Some(range), is_indented: true, is_escaped: false })
    }

    pub(super) fn plain(self) -> Self {
        match self {
            Self::Said(said) => Self::Said(Said { is_indented: false, ..said }),
            other => other,
        }
    }
}

/// Returns the text of an entry. The byte ranges of recipes refer to it.
pub(super) fn text_of(entry: &Entry) -> Option<Cow<'_, str>> {
    match &entry.kind {
        EntryKind::Message(message) => Some(message.text()),
        EntryKind::CompactionSummary(summary) => Some(Cow::Borrowed(&summary.summary)),
        EntryKind::TeamTask(task) => task.task.as_deref().map(Cow::Borrowed),
        _ => None,
    }
}

impl Recipe {
    pub(super) fn words(&mut self, words: &str) {
        if !words.is_empty() {
            self.0.push(Step::Words(words.into()));
        }
    }

    /// Adds this byte range of the output of other steps. `indents` contains the positions of the indents in that
    /// output, if it counts them.
    pub(super) fn part(&mut self, steps: &[(Step, usize)], range: Range<usize>, indents: &[usize]) {
        let mut begin = 0;
        for (step, length) in steps {
            let end = begin + length;
            let (from, to) = (range.start.max(begin), range.end.min(end));
            if from < to {
                self.cut(step, begin..end, from..to, indents);
            }
            begin = end;
        }
    }

    /// Adds the bytes in the range `part`. They belong to the output of this step, which has the range `whole`.
    fn cut(&mut self, step: &Step, whole: Range<usize>, part: Range<usize>, indents: &[usize]) {
        match step {
            Step::Words(words) => {
                let part = part.start - whole.start..part.end - whole.start;
                self.words(words.get(part).unwrap_or_default());
            }
            Step::Said(stretch) => {
                let indents = if stretch.is_indented { indents } else { &[] };
                let before = |at: usize| indents.partition_point(|indent| *indent < at);
                let said = |at: usize| {
                    at - whole.start - INDENT.len() * (before(at) - before(whole.start))
                };
                let start = stretch.range.as_ref().map_or(0, |range| range.start);
                let range = start + said(part.start)..start + said(part.end);
                if !range.is_empty() {
                    self.0.push(Step::Said(Said { range: Some(range), ..stretch.clone() }));
                }
                // An indent belongs to the text after it, which is in another step now.
                let last = part.end.checked_sub(INDENT.len());
                if last.is_some_and(|last| indents.binary_search(&last).is_ok()) {
                    self.words(INDENT);
                }
            }
            step if part == whole => self.0.push(step.clone()),
            Step::Id(_) | Step::Apart => {}
        }
    }

    /// Returns the steps of the prompt after these edits made it inert. `lengths` are the output lengths of the
    /// steps, and `text` is their whole output.
    pub(super) fn edited(self, lengths: &[usize], edits: &[Edit], text: &str) -> Self {
        if edits.is_empty() {
            return self;
        }
        let is_indent = |at: &usize| text.get(*at..).is_some_and(|rest| rest.starts_with(INDENT));
        let indents: Vec<usize> = indents(text, LineStart::Label).filter(is_indent).collect();
        let steps: Vec<(Step, usize)> = self.0.into_iter().zip(lengths.iter().copied()).collect();
        let total = lengths.iter().sum();
        let mut edited = Self::default();
        let mut from = 0;
        for edit in edits {
            edited.part(&steps, from..edit.at(), &indents);
            from = match edit {
                Edit::Escape(at) => {
                    edited.words("\\");
                    *at
                }
                Edit::DropSign(at) => at + 1,
            };
        }
        edited.part(&steps, from..total, &indents);
        edited
    }

    /// Replaces ranges that span a whole entry by the entry.
    pub(super) fn tidied(mut self, entries: &[Entry]) -> Self {
        for step in &mut self.0 {
            if let Step::Said(Said { index, range, .. }) = step
                && let Some(text) = entries.get(*index).and_then(text_of)
                && range.as_ref().is_some_and(|range| *range == (0..text.len()))
            {
                *range = None;
            }
        }
        self
    }

    /// Returns the salts of the entries that a prompt quotes, in log order. If the steps are not known, returns the
    /// salts of all entries.
    pub(super) fn salts(recipe: Option<&Self>, entries: &[Entry]) -> Vec<Salt> {
        let Some(recipe) = recipe else {
            return entries.iter().filter_map(|entry| entry.salt).collect();
        };
        let said = recipe.0.iter().filter_map(|step| match step {
            Step::Said(said) => Some(said.index),
            _ => None,
        });
        let indexes: BTreeSet<usize> = said.collect();
        indexes.into_iter().filter_map(|index| entries.get(index)?.salt).collect()
    }

    /// Returns the entries that the prompt quotes, with the number of bytes of each, in log order.
    pub(super) fn quoted(&self, entries: &[Entry]) -> Vec<(EntryId, usize)> {
        let mut bytes: BTreeMap<usize, usize> = BTreeMap::new();
        for step in &self.0 {
            if let Step::Said(Said { index, range, .. }) = step {
                let whole = || entries.get(*index).and_then(text_of).map_or(0, |text| text.len());
                *bytes.entry(*index).or_default() += range.as_ref().map_or_else(whole, Range::len);
            }
        }
        let quoted = bytes.into_iter();
        quoted.filter_map(|(at, bytes)| Some((entries.get(at)?.id.clone(), bytes))).collect()
    }

    pub(super) fn make(&self, entries: &[Entry]) -> Made {
        let mut made = Made { system: None, text: String::new(), lost: Vec::new() };
        let mut is_margin = false;
        for step in &self.0 {
            // The sent text was shorter than this, so the hash will not match.
            if made.text.len() > BYTES_MAX {
                break;
            }
            match step {
                Step::Words(words) => {
                    made.text.push_str(words);
                    is_margin = words.ends_with(is_line_break);
                }
                Step::Apart => made.system = Some(std::mem::take(&mut made.text)),
                Step::Id(index) => {
                    let id = entries.get(*index).map_or("", |entry| entry.id.as_str());
                    made.text.push_str(&written_id(id));
                    is_margin = false;
                }
                Step::Said(Said { index, range, is_indented, is_escaped }) => {
                    let entry = entries.get(*index);
                    let text = entry.and_then(text_of).unwrap_or_default();
                    let part = match range {
                        Some(range) => text.get(range.clone()),
                        None => Some(&*text).filter(|text| !text.is_empty()),
                    };
                    let start = if is_margin { LineStart::Margin } else { LineStart::Label };
                    is_margin = part.is_some_and(|part| part.ends_with(is_line_break));
                    let part = part.map(|part| match is_indented {
                        true => indented(part, start),
                        false => Cow::Borrowed(part),
                    });
                    match (part, entry) {
                        (Some(part), _) if *is_escaped => made.text.push_str(&escaped(&part)),
                        (Some(part), _) => made.text.push_str(&part),
                        (None, Some(entry)) => {
                            let is_first = *is_indented && start == LineStart::Margin;
                            made.lose(&entry.id, if is_first { INDENT } else { "" });
                        }
                        (None, None) => {}
                    }
                }
            }
        }
        made
    }
}

pub(super) type Steps = Vec<(Step, usize)>;

#[derive(Clone, Debug)]
pub(super) struct Source {
    pub(super) index: usize,
    /// The steps, without indents; `None` if they are not known.
    pub(super) steps: Option<Steps>,
}

pub(super) fn steps_of(pieces: &Pieces) -> Steps {
    let step = |piece: &Piece| match piece {
        Piece::Words(words) => Step::Words(words.clone()),
        Piece::Said { index, range } => Step::said(*index, range.clone()),
    };
    pieces.iter().map(|(piece, bytes)| (step(piece), *bytes)).collect()
}

/// Returns how the prompt is made, and the output length of each step. `None` if a text has no known source.
pub(super) fn recipe_of(
    prompt: &Prompt<'_>,
    input: &AssemblerInput<'_>,
    sources: &[Source],
    current: Option<&Steps>,
    task_index: Option<usize>,
) -> Option<(Recipe, Vec<usize>)> {
    let mut steps: Option<Steps> = Some(Vec::new());
    let mut fixed = String::new();
    let mut add = |source: Option<Steps>| match (&mut steps, source) {
        (Some(steps), Some(source)) => steps.extend(source),
        (steps, _) => *steps = None,
    };
    let words = |text: &str| vec![(Step::Words(text.into()), text.len())];
    prompt.for_each_piece(|piece| {
        if let PromptPiece::Fixed(text) = piece {
            fixed.push_str(text);
            return;
        }
        if !fixed.is_empty() {
            add(Some(words(&std::mem::take(&mut fixed))));
        }
        match piece {
            PromptPiece::Fixed(_) => {}
            PromptPiece::Id { index, text } => {
                let source = sources.get(index);
                add(source.map(|source| vec![(Step::Id(source.index), text.len())]));
            }
            // Both halves of a system text may be empty.
            PromptPiece::System(body) if body.is_empty() => {}
            PromptPiece::System(body) => add(Some(words(&body_text(body)))),
            // The program says that the task was removed.
            PromptPiece::TeamTask(body) if task_index.is_none() => {
                add(Some(words(&body_text(body))));
            }
            PromptPiece::TeamTask(body) => {
                let start = input.team_task.as_deref().and_then(|task| task.find(body.text));
                let range = start.map(|start| start..start + body.text.len());
                let said = task_index.zip(range).map(|(index, range)| Step::said(index, range));
                add(said.map(|said| written(&[(said, body.text.len())], body)));
            }
            PromptPiece::Context { index, body } => {
                let steps = sources.get(index).and_then(|source| source.steps.as_deref());
                add(steps.map(|steps| written(steps, body)));
            }
            PromptPiece::Message(body) => {
                let start = input.current_message.find(body.text).unwrap_or_default();
                let range = start..start + body.text.len();
                add(current.map(|steps| written(&part(steps, range), body)));
            }
        }
    });
    let (steps, lengths) = steps?.into_iter().unzip();
    Some((Recipe(steps), lengths))
}

fn body_text(body: Body<'_>) -> String {
    match body.indent {
        Some(start) => indented(body.text, start).into_owned(),
        None => body.text.to_owned(),
    }
}

/// Returns the steps that produce the text of a body with the indents that it has in a prompt.
pub(super) fn written(steps: &[(Step, usize)], body: Body<'_>) -> Steps {
    let Some(start) = body.indent else {
        return steps.iter().map(|(step, bytes)| (step.clone().plain(), *bytes)).collect();
    };
    let mut indexes = indents(body.text, start).peekable();
    let mut end = 0;
    let with_indents = |(step, bytes): &(Step, usize)| {
        end += bytes;
        let mut from = end - bytes;
        let mut text = String::new();
        let mut length = *bytes;
        while let Some(at) = indexes.next_if(|at| *at < end) {
            text.push_str(body.text.get(from..at).unwrap_or_default());
            text.push_str(INDENT);
            length += INDENT.len();
            from = at;
        }
        match step {
            Step::Words(_) => {
                text.push_str(body.text.get(from..end).unwrap_or_default());
                (Step::Words(text.into()), length)
            }
            other => (other.clone(), length),
        }
    };
    steps.iter().map(with_indents).collect()
}

fn part(steps: &[(Step, usize)], range: Range<usize>) -> Steps {
    let mut recipe = Recipe::default();
    recipe.part(steps, range, &[]);
    let length = |step: &Step| match step {
        Step::Words(words) => words.len(),
        Step::Said(said) => said.range.as_ref().map_or(0, |range| range.len()),
        Step::Id(_) | Step::Apart => 0,
    };
    let lengths: Vec<usize> = recipe.0.iter().map(length).collect();
    recipe.0.into_iter().zip(lengths).collect()
}

/// Maximum number of recipes in a row that refer to earlier ones.
const ALONE_EVERY: usize = 256;
const WORDS_MAX: usize = 256;

/// The recipes that the next one may refer to: the last one of the same member (it has the same system text), the
/// last one of all members (it has nearly the same messages), and the literal texts of earlier ones. Every
/// [`ALONE_EVERY`]th recipe refers to none, so that reading one takes no longer in a long session.
#[derive(Debug, Default)]
pub(super) struct RecipeHistory {
    members: HashMap<Box<str>, Recipe>,
    last: Option<Box<str>>,
    /// All their literal texts, in order of appearance.
    words: Vec<Step>,
    known: HashSet<Step>,
    count: usize,
    /// The entry that holds the last recipe, once it is stored.
    pub(super) entry: Option<EntryId>,
}

impl RecipeHistory {
    /// Reads the records of the entries at these indexes, from the last record that refers to no earlier one.
    pub(super) fn read(entries: &[Entry], indexes: &[usize]) -> Result<Self, RecipeError> {
        let record = |index: &usize| {
            let turn = entries.get(*index)?.turn()?;
            Some((&turn.member, turn.prompt_recipe.as_ref()?))
        };
        let records: Vec<_> = indexes.iter().filter_map(record).collect();
        let is_alone = |(_, json): &(_, &Json)| Recipe::is_alone(json);
        let first = records.iter().rposition(is_alone).unwrap_or_default();
        let mut history = Self::default();
        for (member, json) in records.get(first..).unwrap_or_default() {
            let recipe = Recipe::read(json, &history.earlier(member))?;
            history.add(member, recipe);
        }
        let last = indexes.last().and_then(|index| entries.get(*index));
        history.entry = last.map(|entry| entry.id.clone());
        Ok(history)
    }

    pub(super) fn into_last(mut self) -> Option<Recipe> {
        self.members.remove(&self.last?)
    }

    /// Adds the next recipe of a member, which is not stored yet, and returns its record.
    pub(super) fn record(&mut self, member: &str, recipe: Recipe) -> Option<Json> {
        if self.count >= ALONE_EVERY {
            *self = Self::default();
        }
        let earlier = self.earlier(member);
        let json = recipe.to_json((self.count > 0).then_some(&earlier))?;
        self.add(member, recipe);
        Some(json)
    }

    fn add(&mut self, member: &str, recipe: Recipe) {
        for step in recipe.0.iter().filter(|step| matches!(step, Step::Words(_))) {
            if self.words.len() < WORDS_MAX && self.known.insert(step.clone()) {
                self.words.push(step.clone());
            }
        }
        self.members.insert(member.into(), recipe);
        self.last = Some(member.into());
        self.count += 1;
        self.entry = None;
    }

    /// Returns the steps that the next recipe of a member may refer to, in the order in which it counts them.
    fn earlier(&self, member: &str) -> Vec<&Step> {
        let last = self.last.as_deref().filter(|last| *last != member);
        let recipes = [Some(member), last].into_iter().flatten();
        let steps = recipes.filter_map(|name| self.members.get(name)).flat_map(|recipe| &recipe.0);
        steps.chain(&self.words).collect()
    }
}

/// Returns the content of a JSON string.
pub(super) fn escaped(text: &str) -> String {
    let quoted = Value::from(text).to_string();
    quoted.strip_prefix('"').and_then(|rest| rest.strip_suffix('"')).unwrap_or_default().to_owned()
}

#[cfg(test)]
mod tests;
