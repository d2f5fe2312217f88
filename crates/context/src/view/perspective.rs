//! Messages of a log as one member sees them: without markers, with labels that name the speaker and the addressees,
//! and with the source of every piece of their content.

use std::borrow::Cow;
use std::fmt;
use std::ops::Range;

use tertulia_session::{Entry, EntryKind, Message, Part, PartKind, Role, SpeakerType};

use super::{ViewItem, name_of};
use crate::markers::{Strip, strip_markers};
use crate::prompt::{ContextKind, ContextMessage, SpokenBy};
use crate::whitespace::trim;
use crate::window::format_addressees;

const CUT_OFF: &str = "\n(the answer was cut off here)";

/// The member and the team for which a view is made.
#[derive(Clone, Copy)]
pub struct Perspective<'p> {
    /// The speaker id of the member; messages of this speaker are its own.
    pub member: &'p str,
    pub strip: Stripping,
    pub labels: Labels<'p>,
    pub is_partial: fn(&Entry) -> bool,
}

/// How to remove markers from messages.
#[derive(Clone, Copy, Debug)]
pub enum Stripping {
    /// Keeps ranges of the text, so that every piece of a view can be traced to the log.
    Ranges(fn(&str) -> Vec<Range<usize>>),
    Rewrite(Strip),
}

/// The labels of messages in a view.
#[derive(Clone, Copy)]
pub enum Labels<'p> {
    /// Labels with names only, as in the contract.
    Names,
    /// Labels that also show the kind of speaker, if the name does not show it.
    SpokenBy(&'p dyn Fn(&Message) -> SpokenBy),
}

/// The source of a piece of text.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Piece {
    /// Text that the program wrote.
    Words(Box<str>),
    /// A range of the text of an entry.
    Said { index: usize, range: Range<usize> },
}

/// The pieces of a text in order, each with its number of bytes.
pub type Pieces = Vec<(Piece, usize)>;

impl Perspective<'_> {
    /// Returns the perspective of the contract, which has no team and one view for everybody.
    pub(crate) fn of_contract(strip: Strip) -> Self {
        let strip = Stripping::Rewrite(strip);
        Self { member: "", strip, labels: Labels::Names, is_partial: |_| false }
    }

    /// Returns whether the member said this message itself.
    pub fn is_own(&self, message: &Message) -> bool {
        message.speaker.as_deref().is_some_and(|speaker| *speaker.role_id == *self.member)
    }

    /// Returns a message as a line of a view.
    pub fn item<'l>(&self, index: usize, entry: &Entry, message: &'l Message) -> ViewItem<'l> {
        let mut item = self.line(index, message);
        if (self.is_partial)(entry) {
            item.line.content.to_mut().push_str(CUT_OFF);
            let cut_off = (Piece::Words(CUT_OFF.into()), CUT_OFF.len());
            item.pieces.iter_mut().for_each(|pieces| pieces.push(cut_off.clone()));
        }
        item
    }

    pub(crate) fn line<'l>(&self, index: usize, message: &'l Message) -> ViewItem<'l> {
        let routing = message.routing.as_deref();
        let addressees = routing.and_then(|routing| routing.resolved_addressees.as_deref());
        let (to, kind) = match self.labels {
            Labels::Names => (Some(format_addressees(addressees)), ContextKind::Text),
            Labels::SpokenBy(spoken_by) => {
                let to = addressees.unwrap_or_default();
                (None, ContextKind::Speech { to, by: spoken_by(message) })
            }
        };
        let said = message.text();
        let (content, pieces, task_block_bytes) = match self.strip {
            Stripping::Ranges(kept) => {
                let (text, pieces) = quoted(index, said, kept);
                (text, Some(pieces), 0)
            }
            Stripping::Rewrite(strip) => {
                let stripped = strip_markers(&said, strip);
                let task_block_bytes = stripped.task_block_bytes;
                // Only changed text is copied.
                let changed = match stripped.text {
                    Cow::Borrowed(_) => None,
                    Cow::Owned(text) => Some(text),
                };
                (changed.map_or(said, Cow::Owned), None, task_block_bytes)
            }
        };
        let line = ContextMessage { from: name_of(message), to, content, kind };
        let is_from_person = is_from_person(message);
        ViewItem { index, line, pieces, is_from_person, task_block_bytes }
    }

    /// Returns a message as the member gets it among model messages. The member's own messages have the role
    /// assistant and keep all parts. Other messages have the role user, a label, and no calls and results.
    pub fn model_message(&self, index: usize, entry: &Entry, message: &Message) -> Message {
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
        Message::with_role(role, parts)
    }

    /// Returns a passage of an entry as a separate item, so that no passage can look like another one.
    pub fn passage<'l>(
        &self,
        index: usize,
        entry: &'l Entry,
        passage: &str,
    ) -> Option<ViewItem<'l>> {
        let EntryKind::Message(message) = &entry.kind else { return None };
        let said = message.text();
        let found = said.find(passage);
        // A passage that is not in the text of the message is from a tool, and its source is unknown.
        let by = match (found, self.labels) {
            (Some(_), Labels::SpokenBy(spoken_by)) => spoken_by(message),
            (Some(_), Labels::Names) => SpokenBy::Member,
            (None, _) => SpokenBy::Tool,
        };
        let (content, pieces): (String, _) = match self.strip {
            Stripping::Rewrite(strip) => (strip_markers(passage, strip).text.into_owned(), None),
            Stripping::Ranges(kept) => {
                let kept = kept_of(kept, &said, passage, found);
                let pieces = found.map(|at| {
                    let said = |range: &Range<usize>| range.start + at..range.end + at;
                    let piece = |range| (Piece::Said { index, range: said(range) }, range.len());
                    kept.iter().map(piece).collect()
                });
                (kept.iter().filter_map(|range| passage.get(range.clone())).collect(), pieces)
            }
        };
        let kind = ContextKind::Recalled { entry: entry.id.as_str(), by };
        let (from, content) = (name_of(message), Cow::Owned(content));
        let line = ContextMessage { from, to: None, content, kind };
        let is_from_person = is_from_person(message);
        Some(ViewItem { index, line, pieces, is_from_person, task_block_bytes: 0 })
    }
}

fn quoted<'l>(
    index: usize,
    said: Cow<'l, str>,
    kept: fn(&str) -> Vec<Range<usize>>,
) -> (Cow<'l, str>, Pieces) {
    let kept = kept(&said);
    let is_whole = matches!(kept.as_slice(), [range] if range.len() == said.len());
    let text = match said {
        said if is_whole || said.is_empty() => said,
        said => Cow::Owned(kept.iter().filter_map(|range| said.get(range.clone())).collect()),
    };
    let piece = |range: Range<usize>| {
        let bytes = range.len();
        (Piece::Said { index, range }, bytes)
    };
    (text, kept.into_iter().map(piece).collect())
}

/// Returns the ranges of a passage that are kept: those without the markers that count in its message.
fn kept_of(
    kept: fn(&str) -> Vec<Range<usize>>,
    said: &str,
    passage: &str,
    found: Option<usize>,
) -> Vec<Range<usize>> {
    let Some(at) = found else { return kept(passage) };
    let inside = |range: Range<usize>| {
        let (start, end) = (range.start.max(at), range.end.min(at + passage.len()));
        (start < end).then(|| start - at..end - at)
    };
    kept(said).into_iter().filter_map(inside).collect()
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
