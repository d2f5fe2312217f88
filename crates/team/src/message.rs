//! Reads the directives of a message: markers and mentions in the sender's own words, outside code and quotes. Also
//! finds text that only looks like them. The machine calls it for every message. It resolves only the names in
//! mentions.

mod address;
mod look_alike;
mod mention;
mod position;
mod reply;
mod unseen;

use std::ops::Range;

use tertulia_context::{Markers, kept_ranges_where, parse_markers_where, trim};
use tertulia_session::{Ask, Intent, RouteSource};

use crate::roster::Roster;

pub(crate) use look_alike::{LookAlike, plain};
pub(crate) use mention::UnknownMention;
pub(crate) use reply::Reply;

const EXCERPT_CHARS_MAX: usize = 80;

const IGNORED_MARKERS_MAX: usize = 20;

#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Directives {
    /// The turns that the message asks for, in order: markers first, then mentions.
    pub(crate) next: Vec<TurnRequest>,
    /// The members whose turns are cancelled; `["ALL"]` for all.
    pub(crate) drop: Vec<String>,
    pub(crate) from: Option<String>,
    pub(crate) team_task: Option<String>,
    pub(crate) look_alikes: Vec<LookAlike>,
    pub(crate) unknown_mentions: Vec<UnknownMention>,
    /// Markers and mentions that have no effect although the sender may expect one. They are given as written.
    pub(crate) ignored_markers: Vec<Box<str>>,
    pub(crate) has_words: bool,
    pub(crate) reply: Option<Reply>,
    pub(crate) nobody: Option<Box<str>>,
    /// Whether a person addresses everybody with `@all`.
    pub(crate) everybody: bool,
}

/// A person's message and its directives, parsed once.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PersonMessage {
    pub(crate) text: String,
    pub(crate) directives: Directives,
    /// Set if the message is a question to several members.
    pub(crate) ask: Option<Ask>,
}

impl PersonMessage {
    /// Parses a message to the members of this team.
    pub fn new(text: impl Into<String>, roster: &Roster) -> Self {
        let text = text.into();
        let directives = read(&text, roster, Sender::Person);
        Self { text, directives, ask: None }
    }

    /// Makes it a question to several members.
    #[must_use]
    pub fn asking(self, ask: Ask) -> Self {
        Self { ask: Some(ask), ..self }
    }

    /// Returns the message as written.
    pub fn text(&self) -> &str {
        &self.text
    }

    /// Returns the sender that `[FROM: …]` names.
    pub fn sender(&self) -> Option<&str> {
        self.directives.from.as_deref()
    }

    /// Returns whether the message names no member and contains no name that resembles one.
    pub fn addresses_nobody(&self) -> bool {
        let is_misspelled = self
            .directives
            .unknown_mentions
            .first()
            .is_some_and(|unknown_mention| unknown_mention.is_first);
        self.directives.next.is_empty() && !is_misspelled && !self.directives.everybody
    }

    /// Returns the `@name` at its beginning if no member has a name like it.
    pub fn unknown_name(&self) -> Option<&str> {
        self.directives.nobody.as_deref().filter(|_| self.ask.is_none())
    }
}

impl Directives {
    pub(crate) fn is_command(&self) -> bool {
        let commands = !self.drop.is_empty() || self.team_task.is_some();
        commands && !self.has_words && self.next.is_empty()
    }
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct TurnRequest {
    pub(crate) name: String,
    pub(crate) intent: Intent,
    pub(crate) route: RouteSource,
}

/// The kind of sender. People may mention a member anywhere, agents only where they address it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Sender {
    Person,
    Agent,
}

/// Parses a message. The time is linear in the length of the message. For every `@` it is also linear in the number
/// of members.
pub(crate) fn read(text: &str, roster: &Roster, sender: Sender) -> Directives {
    let mention::Mentions {
        members: mentions,
        unknown_mentions,
        ignored: names,
        nobody,
        everybody,
    } = mention::find_all(text, roster, sender);
    let nobody = nobody.and_then(|range| text.get(range)).map(Into::into);
    let look_alikes = look_alike::find(text, roster);
    let markers = parse_markers_where(text, |markers| position::markers_in_effect(text, markers));
    let Markers { next, drop, from, team_task, clean_text, ignored } = markers;
    let marked = next.into_iter().map(|next| TurnRequest {
        name: next.name,
        intent: next.intent,
        route: RouteSource::Next,
    });
    let mentioned = mentions.into_iter().map(|mention| TurnRequest {
        name: roster.name(mention.index).to_owned(),
        intent: mention.intent,
        route: RouteSource::Mention,
    });
    let ignored = ignored.iter().map(|marker| excerpt(marker));
    let names = names.into_iter().map(|index| format!("@{}", roster.name(index)).into());
    let mut ignored_markers: Vec<Box<str>> = ignored.chain(names).collect();
    ignored_markers.truncate(IGNORED_MARKERS_MAX);
    let has_words = !trim(&clean_text).is_empty();
    let next: Vec<TurnRequest> = marked.chain(mentioned).collect();
    // A message that also names a member, drops a turn or sets the task is not a plain yes or no.
    let is_bare = next.is_empty() && drop.is_empty() && team_task.is_none();
    let reply = reply::read(&clean_text).filter(|_| is_bare);
    Directives {
        next,
        drop,
        from,
        team_task,
        look_alikes,
        unknown_mentions,
        ignored_markers,
        has_words,
        reply,
        nobody,
        everybody,
    }
}

/// Returns the ranges of a message that are neither effective markers nor invisible characters.
pub(crate) fn kept_ranges(text: &str) -> Vec<Range<usize>> {
    let kept = kept_ranges_where(text, |markers| position::markers_in_effect(text, markers));
    unseen::without_unseen(text, kept)
}

pub(crate) fn excerpt(text: &str) -> Box<str> {
    match text.char_indices().nth(EXCERPT_CHARS_MAX) {
        Some((end, _)) => format!("{}…", text.get(..end).unwrap_or_default()).into(),
        None => text.into(),
    }
}

/// Returns whether a text ends a sentence. Quotes and brackets may follow the last punctuation mark.
fn ends_sentence(text: &str) -> bool {
    let text = text.trim_end().trim_end_matches(is_closing);
    text.ends_with(['.', '!', '?', '…', '。', '！', '？'])
}

/// Returns the text after the bullet or number of a list item; `None` if the line is no list item.
fn without_item(line: &str) -> Option<&str> {
    let line = line.trim_start();
    let behind = match line.strip_prefix(['-', '*', '+', '•']) {
        Some(behind) => behind,
        None => {
            let digits = line.trim_start_matches(|c: char| c.is_ascii_digit());
            let is_number = (1..=9).contains(&(line.len() - digits.len()));
            digits.strip_prefix(['.', ')']).filter(|_| is_number)?
        }
    };
    (behind.is_empty() || behind.starts_with([' ', '\t'])).then_some(behind)
}

/// Returns whether the character may precede a word: emphasis, an opening bracket or a backslash.
fn is_opening(c: char) -> bool {
    matches!(c, '*' | '_' | '(' | '[' | '{' | '\\' | '（' | '【' | '「' | '¿' | '¡')
}

/// Returns whether the character may follow a word: emphasis or a closing bracket.
fn is_closing(c: char) -> bool {
    matches!(c, '*' | '_' | ')' | ']' | '}' | '）' | '】' | '」' | '"' | '\'' | '”' | '’' | '»')
}

/// A quotation mark that opens.
fn is_quote(c: char) -> bool {
    matches!(c, '"' | '\'' | '“' | '‘' | '„' | '«' | '»')
}

#[cfg(test)]
mod tests;
