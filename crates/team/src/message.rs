//! What a message asks for: markers and mentions in the sender's own words, outside code and quotes, and
//! what only looks like them. Called by the machine for every message; resolves nothing but mentions.

mod address;
mod look_alike;
mod mention;
mod place;
mod reply;
mod unseen;

use std::ops::Range;

use tertulia_context::{Markers, kept_ranges_where, parse_markers_where, trim};
use tertulia_session::{Intent, RouteSource};

use crate::table::Table;

pub(crate) use look_alike::{LookAlike, plain};
pub(crate) use mention::Stranger;
pub(crate) use reply::Reply;

const EXCERPT_CHARS_MAX: usize = 80;

const UNHEARD_MAX: usize = 20;

#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Directives {
    /// Who is to speak, in order: markers first, then mentions.
    pub(crate) next: Vec<Wish>,
    /// Whose turns are to go; `["ALL"]` for everybody's.
    pub(crate) drop: Vec<String>,
    pub(crate) from: Option<String>,
    pub(crate) team_task: Option<String>,
    pub(crate) look_alikes: Vec<LookAlike>,
    pub(crate) strangers: Vec<Stranger>,
    /// Markers and mentions that do not count where their sender may not expect it, as they are written.
    pub(crate) unheard: Vec<Box<str>>,
    pub(crate) has_words: bool,
    pub(crate) reply: Option<Reply>,
    pub(crate) nobody: Option<Box<str>>,
}

/// A person's message and what it asks for: read once, then handed on.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PersonMessage {
    pub(crate) text: String,
    pub(crate) directives: Directives,
}

impl PersonMessage {
    /// Reads a message to the members of this table.
    pub fn new(text: impl Into<String>, table: &Table) -> Self {
        let text = text.into();
        let directives = read(&text, table, Sender::Person);
        Self { text, directives }
    }

    /// The message as it was written.
    pub fn text(&self) -> &str {
        &self.text
    }

    /// Who has written it, as `[FROM: …]` says.
    pub fn sender(&self) -> Option<&str> {
        self.directives.from.as_deref()
    }

    /// Whether it names nobody who is to answer, not even nearly.
    pub fn addresses_nobody(&self) -> bool {
        let is_slip = self.directives.strangers.first().is_some_and(|stranger| stranger.is_first);
        self.directives.next.is_empty() && !is_slip
    }

    /// The name that it begins with, as `@name`, if it is nobody's and near to nobody's.
    pub fn unknown_name(&self) -> Option<&str> {
        self.directives.nobody.as_deref()
    }
}

impl Directives {
    pub(crate) fn is_command(&self) -> bool {
        let commands = !self.drop.is_empty() || self.team_task.is_some();
        commands && !self.has_words && self.next.is_empty()
    }
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Wish {
    pub(crate) name: String,
    pub(crate) intent: Intent,
    pub(crate) route: RouteSource,
}

/// Whose message it is. People may mention somebody anywhere, agents only where they address them.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Sender {
    Person,
    Agent,
}

/// Reads a message. Linear in its length, times the number of members for every `@`.
pub(crate) fn read(text: &str, table: &Table, sender: Sender) -> Directives {
    let mention::Mentions { members: mentions, strangers, unheard: names, nobody } =
        mention::find_all(text, table, sender);
    let nobody = nobody.and_then(|place| text.get(place)).map(Into::into);
    let look_alikes = look_alike::find(text, table);
    let markers = parse_markers_where(text, |markers| place::counting(text, markers));
    let Markers { next, drop, from, team_task, clean_text, unheard } = markers;
    let marked = next.into_iter().map(|next| Wish {
        name: next.name,
        intent: next.intent,
        route: RouteSource::Next,
    });
    let mentioned = mentions.into_iter().map(|mention| Wish {
        name: table.name(mention.seat).to_owned(),
        intent: mention.intent,
        route: RouteSource::Mention,
    });
    let marked_unheard = unheard.iter().map(|marker| excerpt(marker));
    let names = names.into_iter().map(|seat| format!("@{}", table.name(seat)).into());
    let mut unheard: Vec<Box<str>> = marked_unheard.chain(names).collect();
    unheard.truncate(UNHEARD_MAX);
    let has_words = !trim(&clean_text).is_empty();
    let next: Vec<Wish> = marked.chain(mentioned).collect();
    // Whoever names somebody, drops a turn or sets the task says more than yes or no.
    let is_bare = next.is_empty() && drop.is_empty() && team_task.is_none();
    let reply = reply::read(&clean_text).filter(|_| is_bare);
    Directives {
        next,
        drop,
        from,
        team_task,
        look_alikes,
        strangers,
        unheard,
        has_words,
        reply,
        nobody,
    }
}

/// What a message says without the markers that count and without what nobody sees, as ranges of its text.
pub(crate) fn kept_ranges(text: &str) -> Vec<Range<usize>> {
    let kept = kept_ranges_where(text, |markers| place::counting(text, markers));
    unseen::without_unseen(text, kept)
}

pub(crate) fn excerpt(text: &str) -> Box<str> {
    match text.char_indices().nth(EXCERPT_CHARS_MAX) {
        Some((end, _)) => format!("{}…", text.get(..end).unwrap_or_default()).into(),
        None => text.into(),
    }
}

/// Whether a text ends a sentence, whatever closes behind its last sign.
fn ends_sentence(text: &str) -> bool {
    let text = text.trim_end().trim_end_matches(is_closing);
    text.ends_with(['.', '!', '?', '…', '。', '！', '？'])
}

/// The line behind the mark of a list item; `None` if it is none.
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

/// What may stand right before a word: emphasis, an opening bracket, the sign of an escape.
fn is_opening(c: char) -> bool {
    matches!(c, '*' | '_' | '(' | '[' | '{' | '\\' | '（' | '【' | '「' | '¿' | '¡')
}

/// What may stand right behind a word: emphasis, a closing bracket.
fn is_closing(c: char) -> bool {
    matches!(c, '*' | '_' | ')' | ']' | '}' | '）' | '】' | '」' | '"' | '\'' | '”' | '’' | '»')
}

/// A quotation mark that opens.
fn is_quote(c: char) -> bool {
    matches!(c, '"' | '\'' | '“' | '‘' | '„' | '«' | '»')
}

#[cfg(test)]
mod tests;
