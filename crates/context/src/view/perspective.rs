//! How the messages of a log read to one member: without markers, with labels that say who said what to whom,
//! and with the places that every piece of their content comes from.

use std::borrow::Cow;
use std::fmt;
use std::ops::Range;

use tertulia_session::{Entry, EntryKind, Message, Part, PartKind, Role, SpeakerType};

use super::{ViewItem, name_of};
use crate::prompt::{ContextKind, ContextMessage, SpokenBy};
use crate::whitespace::trim;

const CUT_OFF: &str = "\n(the answer was cut off here)";

/// What a view has to know of a member and its team.
#[derive(Clone, Copy)]
pub struct Perspective<'p> {
    /// The speaker id of the member: what it said is its own.
    pub member: &'p str,
    /// Returns what is kept of a text: not its markers.
    pub kept: fn(&str) -> Vec<Range<usize>>,
    /// Tells what said a message, as far as its name does not.
    pub spoken_by: &'p dyn Fn(&Message) -> SpokenBy,
    /// Tells whether an answer was cut off.
    pub is_partial: fn(&Entry) -> bool,
}

/// Where a piece of a text comes from.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Piece {
    /// Words of the program.
    Words(Box<str>),
    /// A stretch of what an entry says.
    Said {
        /// The index of the entry.
        index: usize,
        /// The bytes.
        range: Range<usize>,
    },
}

/// The pieces of a text in order, each with the number of bytes that it makes.
pub type Pieces = Vec<(Piece, usize)>;

/// A text that quotes a log.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Quoted<'l> {
    pub text: Cow<'l, str>,
    /// Where it comes from; `None` where that is not known.
    pub pieces: Option<Pieces>,
}

impl Perspective<'_> {
    /// Tells whether the member said a message itself.
    pub fn is_own(&self, message: &Message) -> bool {
        message.speaker.as_deref().is_some_and(|speaker| *speaker.role_id == *self.member)
    }

    /// Returns a message as a line of a view.
    pub fn item<'l>(&self, index: usize, entry: &Entry, message: &'l Message) -> ViewItem<'l> {
        let Quoted { text, pieces } = self.content(index, entry, message);
        let routing = message.routing.as_deref();
        let to = routing.and_then(|routing| routing.resolved_addressees.as_deref());
        let by = (self.spoken_by)(message);
        let kind = ContextKind::Speech { to: to.unwrap_or_default(), by };
        let line = ContextMessage { from: name_of(message), to: None, content: text, kind };
        ViewItem { index, line, pieces, is_from_person: is_from_person(message) }
    }

    /// Returns what a message says, without its markers.
    fn content<'l>(&self, index: usize, entry: &Entry, message: &'l Message) -> Quoted<'l> {
        let said = message.text();
        let kept = (self.kept)(&said);
        let is_whole = matches!(kept.as_slice(), [range] if range.len() == said.len());
        let mut text = match said {
            said if is_whole || said.is_empty() => said,
            said => Cow::Owned(kept.iter().filter_map(|range| said.get(range.clone())).collect()),
        };
        let piece = |range: Range<usize>| {
            let bytes = range.len();
            (Piece::Said { index, range }, bytes)
        };
        let mut pieces: Pieces = kept.into_iter().map(piece).collect();
        if (self.is_partial)(entry) {
            text = Cow::Owned(text.into_owned() + CUT_OFF);
            pieces.push((Piece::Words(CUT_OFF.into()), CUT_OFF.len()));
        }
        Quoted { text, pieces: Some(pieces) }
    }

    /// Returns a message as the member gets it among model messages. What it said itself is an assistant's, with
    /// all its parts; all else is a user's, with a label and without the calls and results of others.
    pub(crate) fn model_message(&self, index: usize, entry: &Entry, message: &Message) -> Message {
        let item = self.item(index, entry, message);
        let is_own = self.is_own(message);
        let has_words = !trim(&item.line.content).is_empty();
        let mut text = has_words.then(|| match is_own {
            true => item.line.content.into_owned(),
            false => item.to_text(),
        });
        let part = |part: &Part| match &part.kind {
            PartKind::Text(_) => text.take().map(Part::text),
            PartKind::Image(_) | PartKind::FileRef(_) => Some(part.clone()),
            _ => is_own.then(|| part.clone()),
        };
        let parts = message.parts.iter().filter_map(part).collect();
        let role = match (is_own, message.effective_role()) {
            (true, Role::Tool) => Role::Tool,
            (true, _) => Role::Assistant,
            (false, _) => Role::User,
        };
        Message::of_role(role, parts)
    }

    /// Returns a passage of an entry as an item of its own: no passage can look like another one.
    pub fn passage<'l>(
        &self,
        index: usize,
        entry: &'l Entry,
        passage: &str,
    ) -> Option<ViewItem<'l>> {
        let EntryKind::Message(message) = &entry.kind else { return None };
        let said = message.text();
        let found = said.find(passage);
        let kept = self.kept_of(&said, passage, found);
        let content: String = kept.iter().filter_map(|range| passage.get(range.clone())).collect();
        // A passage that is not in the words of the message is of a tool, and has no source that could be told.
        let by = if found.is_some() { (self.spoken_by)(message) } else { SpokenBy::Tool };
        let pieces = found.map(|at| {
            let said = |range: &Range<usize>| range.start + at..range.end + at;
            let piece = |range| (Piece::Said { index, range: said(range) }, range.len());
            kept.iter().map(piece).collect()
        });
        let kind = ContextKind::Recalled { entry: entry.id.as_str(), by };
        let (from, content) = (name_of(message), Cow::Owned(content));
        let line = ContextMessage { from, to: None, content, kind };
        Some(ViewItem { index, line, pieces, is_from_person: is_from_person(message) })
    }

    /// Returns what is kept of a passage: the markers of its message that count are not.
    fn kept_of(&self, said: &str, passage: &str, found: Option<usize>) -> Vec<Range<usize>> {
        let Some(at) = found else { return (self.kept)(passage) };
        let inside = |range: Range<usize>| {
            let (start, end) = (range.start.max(at), range.end.min(at + passage.len()));
            (start < end).then(|| start - at..end - at)
        };
        (self.kept)(said).into_iter().filter_map(inside).collect()
    }
}

impl fmt::Debug for Perspective<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Perspective").field("member", &self.member).finish_non_exhaustive()
    }
}

fn is_from_person(message: &Message) -> bool {
    let speaker = message.speaker.as_deref();
    speaker.is_some_and(|speaker| speaker.kind == Some(SpeakerType::Human))
}
