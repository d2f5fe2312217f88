//! Recall: a lexical index over the messages of a log, and a search in it for passages that relate to a request and
//! the last messages. The index is updated message by message.
//!
//! The context builder calls it and puts the passages at the very end of a request. It uses no model, no vectors and
//! no floats: the same log and the same query give the same passages on every machine. It does not depend on what is
//! sent or why; the caller decides which messages may be recalled.

mod call_subjects;
mod dates;
mod days;
mod expansion;
mod explanation;
mod passages;
mod postings;
mod query;
mod score;
mod select;
mod text;

use std::collections::{HashMap, HashSet};
use std::ops::Range;

use tertulia_session::search::terms::{self, TermKind};
use tertulia_session::{Message, PartKind, Timestamp};

use crate::tokens::Tokenizer;
use call_subjects::CallSubjects;
use days::Day;
pub use explanation::RecallMatch;
use postings::{NUMBERS_MAX, Postings};
pub use query::RecallQuery;
pub use select::{RecallBudget, RecallStatus};
use text::Source;

/// The number of newest messages that are part of a query, besides the request.
pub const RECENT_MESSAGES: usize = 8;

/// The default maximum number of tokens that are recalled.
const TOKENS_MAX: u64 = 2_048;
/// The share of a budget that recall takes by default, as a divisor.
const SHARE: u64 = 8;

/// Returns how many tokens are recalled by default within a budget of this size.
pub const fn usual_tokens(budget: u64) -> u64 {
    let share = budget / SHARE;
    if share < TOKENS_MAX { share } else { TOKENS_MAX }
}

/// A lexical index over the messages of a log. It contains hashes and positions, never the texts.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct RecallIndex {
    /// The positions of the messages in ascending order.
    positions: Vec<usize>,
    spans: Vec<Span>,
    postings: Postings,
    /// The subjects of calls, which also apply to passages of their arguments and results.
    call_subjects: CallSubjects,
    terms: u64,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Span {
    position: usize,
    part: u32,
    begin: u32,
    end: u32,
    /// Its call, or [`call_subjects::NO_CALL`].
    call: u32,
    terms: u16,
    /// A hash of its text without numbers, with which repeated passages are recognised.
    text_hash: u32,
    /// A hash of the speaker's name; 0 if there is none.
    speaker: u32,
    /// The day on which it was said.
    day: Day,
    escaped: bool,
    /// Whether it contains words that name a time.
    is_dated: bool,
    voice: Voice,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Voice {
    Talk,
    Thinking,
    /// Arguments, results, files.
    Tool,
}

/// A passage of a message that a search found.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Passage {
    /// The position of its message in the log.
    pub position: usize,
    pub text: String,
    /// The tokens of the text, without anything that is added around it.
    pub tokens: u64,
    /// The score, comparable with those of the other passages of the search.
    pub score: u64,
}

/// Weighs texts by the terms of a query.
#[derive(Clone, Debug)]
pub(crate) struct Weigher {
    values: HashMap<u64, u64>,
}

impl Weigher {
    /// Returns the total weight of the query's terms in a text, each counted once.
    pub(crate) fn weight(&self, text: &str) -> u64 {
        let mut found = HashSet::new();
        terms::terms(text, &mut |term, _| {
            if self.values.contains_key(&term) {
                found.insert(term);
            }
        });
        found.iter().filter_map(|term| self.values.get(term)).sum()
    }
}

impl RecallIndex {
    /// Creates an empty index.
    pub fn new() -> Self {
        Self::default()
    }

    /// Adds a message with its position in the log. Positions ascend, and gaps are allowed. A message that already has
    /// this position is replaced.
    pub fn add(&mut self, position: usize, message: &Message) {
        self.add_with_time(position, message, None);
    }

    /// Adds a message that was said at this time. A request that names the day finds it.
    pub fn add_with_time(&mut self, position: usize, message: &Message, time: Option<&Timestamp>) {
        match self.positions.last() {
            Some(&last) if last >= position => {
                self.remove(position);
                let at = self.positions.partition_point(|&known| known < position);
                self.positions.insert(at, position);
            }
            _ => self.positions.push(position),
        }
        let mut scratch = Scratch::default();
        // A request may name a speaker, so the speaker's name is one of the terms.
        let mut name = message.speaker.as_deref().map(|speaker| &*speaker.role_name);
        let speaker = name.or_else(|| label(message)).map_or(0, first_word);
        let day = Day::of(time);
        for source in text::sources(message) {
            let Some(kind) = message.parts.get(source.part).map(|part| &part.kind) else {
                continue;
            };
            let first = self.spans.len();
            self.add_source(position, &source, Voice::of(kind), name.take(), &mut scratch);
            let spans = self.spans.get_mut(first..).unwrap_or_default();
            for span in spans {
                (span.speaker, span.day) = (speaker, day);
            }
            self.connect_call_subject(position, source.part, kind, first..self.spans.len());
        }
    }

    /// Removes a message. The cost depends on the size of the index, so use [`RecallIndex::retain`] to remove many
    /// messages at once.
    pub fn remove(&mut self, position: usize) {
        if self.positions.binary_search(&position).is_ok() {
            self.retain(|other| other != position);
        }
    }

    /// Removes the messages for which `keep` returns false.
    pub fn retain(&mut self, keep: impl Fn(usize) -> bool) {
        self.positions.retain(|&position| keep(position));
        let new = renumbered(self.spans.iter().map(|span| keep(span.position)));
        self.postings.renumber(&new);
        self.spans.retain(|span| keep(span.position));
        self.terms = self.spans.iter().map(|span| u64::from(span.terms)).sum();
        self.call_subjects.retain(&keep, &new);
        for span in &mut self.spans {
            span.call = call_subjects::NO_CALL;
        }
        for (call, spans) in self.call_subjects.spans() {
            for span in self.spans.get_mut(spans).unwrap_or_default() {
                span.call = call;
            }
        }
    }

    /// Returns the number of messages.
    pub fn len(&self) -> usize {
        self.positions.len()
    }

    /// Returns whether it contains no messages.
    pub fn is_empty(&self) -> bool {
        self.positions.is_empty()
    }

    /// Returns the best passages for the query within `max_tokens`. They are chosen greedily and returned in log
    /// order, without overlaps; neighbours are merged.
    ///
    /// `is_candidate` decides which messages may be recalled; `message_at` returns the message that the text is cut
    /// from. Both are called only for messages that the query finds. A message that is missing, or that visibly
    /// differs from the indexed one, is skipped.
    pub fn search<'m>(
        &self,
        query: &RecallQuery<'_>,
        max_tokens: u64,
        tokenizer: &Tokenizer,
        is_candidate: impl Fn(usize) -> bool,
        message_at: impl Fn(usize) -> Option<&'m Message>,
    ) -> Vec<Passage> {
        let status = |position| match is_candidate(position) {
            true => RecallStatus::Candidate,
            false => RecallStatus::Excluded,
        };
        let budget = RecallBudget { max_tokens, scope_tokens: u64::MAX };
        self.search_with_status(query, budget, tokenizer, status, message_at)
    }

    /// Returns the same passages, but considers what is sent anyway. Passages that are sent also compete for the
    /// best places. So room is not filled with passages that are worse than those.
    pub fn search_with_status<'m>(
        &self,
        query: &RecallQuery<'_>,
        budget: RecallBudget,
        tokenizer: &Tokenizer,
        status: impl Fn(usize) -> RecallStatus,
        message_at: impl Fn(usize) -> Option<&'m Message>,
    ) -> Vec<Passage> {
        if budget.max_tokens == 0 || self.spans.is_empty() {
            return Vec::new();
        }
        let cut = |span: &Span| cut(span, message_at(span.position)?);
        let is_candidate = |position| status(position) == RecallStatus::Candidate;
        let scores = score::scores(self, query, &is_candidate, &cut);
        let status = |span: &Span| status(span.position);
        select::select(&self.spans, &scores, budget, tokenizer, status, cut)
    }

    /// Returns a weigher for the terms of a query.
    pub(crate) fn weigher(&self, query: &RecallQuery<'_>) -> Weigher {
        Weigher { values: score::values(self, query) }
    }

    fn add_source(
        &mut self,
        position: usize,
        source: &Source<'_>,
        voice: Voice,
        mut speaker: Option<&str>,
        scratch: &mut Scratch,
    ) {
        for range in passages::passages(source.raw, source.escaped) {
            let (Ok(part), Ok(begin), Ok(end)) = (
                u32::try_from(source.part),
                u32::try_from(source.offset + range.start),
                u32::try_from(source.offset + range.end),
            ) else {
                // After 4 GB of one text, nothing more is indexed.
                return;
            };
            if self.spans.len() >= NUMBERS_MAX {
                return;
            }
            scratch.text.clear();
            if let Some(speaker) = speaker.take() {
                scratch.text.push_str(speaker);
                scratch.text.push('\n');
            }
            let raw = source.raw.get(range).unwrap_or_default();
            text::decode(raw, source.escaped, &mut scratch.text);
            let (terms, text_hash) = self.add_terms(scratch);
            self.spans.push(Span {
                position,
                part,
                begin,
                end,
                call: call_subjects::NO_CALL,
                terms,
                text_hash,
                speaker: 0,
                day: Day::default(),
                escaped: source.escaped,
                is_dated: scratch.terms.iter().any(|term| dates::is_date(*term)),
                voice,
            });
        }
    }

    /// Adds the terms of the next passage; returns their number, repeats included, and the hash of its text without
    /// numbers.
    fn add_terms(&mut self, scratch: &mut Scratch) -> (u16, u32) {
        scratch.terms.clear();
        let mut text_hash = 0;
        terms::terms(&scratch.text, &mut |term, kind| {
            scratch.terms.push(term);
            text_hash ^= if kind == TermKind::Number { 0 } else { (term >> 32) as u32 };
        });
        scratch.terms.sort_unstable();
        for same in scratch.terms.chunk_by(|a, b| a == b) {
            let Some(&term) = same.first() else { continue };
            self.postings.add(term, self.spans.len(), same.len());
        }
        let count = u16::try_from(scratch.terms.len()).unwrap_or(u16::MAX);
        self.terms += u64::from(count);
        (count, text_hash)
    }

    /// Connects the passages of a call or a result with the subject of the call, by which a query can find them.
    fn connect_call_subject(
        &mut self,
        position: usize,
        part: usize,
        kind: &PartKind,
        spans: Range<usize>,
    ) {
        let call = match kind {
            PartKind::ToolCall(call) => {
                self.call_subjects.add_call(call, position, part);
                &call.tool_call_id
            }
            PartKind::ToolResult(result) => &result.tool_call_id,
            _ => return,
        };
        let call = self.call_subjects.add_spans(call, position, part, spans.clone());
        let (Some(call), Some(spans)) = (call, self.spans.get_mut(spans)) else { return };
        for span in spans {
            span.call = call;
        }
    }
}

#[derive(Default)]
struct Scratch {
    text: String,
    terms: Vec<u64>,
}

impl Voice {
    fn of(kind: &PartKind) -> Self {
        match kind {
            PartKind::Text(_) => Self::Talk,
            PartKind::Thinking(_) => Self::Thinking,
            PartKind::ToolCall(_)
            | PartKind::ToolResult(_)
            | PartKind::Image(_)
            | PartKind::FileRef(_)
            | PartKind::Other(_) => Self::Tool,
        }
    }
}

/// Returns the name that a text begins with, as in `Ann: Why?`.
fn label(message: &Message) -> Option<&str> {
    let text = message.parts.iter().find_map(|part| match &part.kind {
        PartKind::Text(text) => Some(text.as_str()),
        _ => None,
    })?;
    let (name, _) = text.get(..text.find('\n').unwrap_or(text.len()))?.split_once(": ")?;
    (name.len() <= LABEL_BYTES_MAX && name.split(' ').count() <= 3).then_some(name)
}

/// The maximum length of such a name.
const LABEL_BYTES_MAX: usize = 40;

/// Returns a hash that identifies the speaker with this name. It is the hash of the first word, which people usually
/// use.
fn first_word(name: &str) -> u32 {
    let mut first = None;
    terms::terms(name, &mut |term, _| {
        first.get_or_insert(term);
    });
    first.map_or(0, speaker_of)
}

/// Returns the hash of the speaker whose name begins with this term.
fn speaker_of(term: u64) -> u32 {
    (term >> 32) as u32
}

fn renumbered(kept: impl Iterator<Item = bool>) -> Vec<Option<u32>> {
    let mut next = 0;
    let number = |is_kept: bool| {
        let number = is_kept.then_some(next);
        next += u32::from(is_kept);
        number
    };
    kept.map(number).collect()
}

fn cut(span: &Span, message: &Message) -> Option<String> {
    let whole = text::part_text(message, span.part as usize)?.0;
    let raw = whole.get(span.begin as usize..span.end as usize)?;
    let mut text = String::with_capacity(raw.len());
    text::decode(raw, span.escaped, &mut text);
    Some(text)
}
