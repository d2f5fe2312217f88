//! `@name`, the short form of `[NEXT: name]`: at the start of a word, in the sender's own words, a member's exact name
//! (case aside). Emphasis and brackets may stand around it. Everything else behind an `@` is text; where it is nearly a
//! member's name, that is told. Whether an agent addresses somebody or only speaks of them is in `address`.

use std::ops::Range;

use tertulia_context::{Words, whose_words};
use tertulia_session::Intent;

use super::Sender;
use super::address::{self, Spot};
use super::{is_closing, is_opening, is_quote};
use crate::table::{Resolved, Seat, Table};

#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Mention {
    pub(super) seat: Seat,
    pub(super) intent: Intent,
}

/// The names that can be mentioned, longest first.
pub(super) struct Names(Vec<(Box<str>, Seat)>);

/// A word behind an `@` that is nearly a name.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Stranger {
    pub(crate) name: Box<str>,
    pub(crate) nearest: Box<str>,
    pub(crate) is_first: bool,
}

enum Found {
    Mention(Mention),
    /// A member's name in quotation marks, in a link, or in the middle of an agent's sentence.
    Aside(Seat),
    Stranger(Stranger),
    /// The message begins with a name that is nobody's, not even nearly: the place of the name.
    Nobody(Range<usize>),
}

struct Candidate {
    place: Range<usize>,
    found: Found,
}

/// So many words that are no names are compared with names: more are no slip of the pen.
const STRANGERS_MAX: usize = 20;

impl Names {
    pub(super) fn of(table: &Table) -> Self {
        Self::map(table, str::to_owned)
    }

    pub(super) fn map(table: &Table, rewrite: impl Fn(&str) -> String) -> Self {
        let mut names: Vec<(Box<str>, Seat)> = Vec::new();
        for (seat, member) in table.seats() {
            names.push((rewrite(&member.name).into(), seat));
        }
        for (seat, member) in table.seats() {
            let shown = member.display_name.as_deref().map(&rewrite);
            // A name goes before a display name, and a display name that two share means neither.
            let shown = shown.filter(|shown| {
                let twins = table.seats().filter(|(_, other)| {
                    other.names().any(|name| rewrite(name).eq_ignore_ascii_case(shown))
                });
                twins.count() == 1
            });
            names.extend(shown.map(|shown| (shown.into(), seat)));
        }
        names.retain(|(name, _)| !name.is_empty());
        names.sort_by_key(|(name, _)| std::cmp::Reverse(name.len()));
        Self(names)
    }

    /// The member whose name begins this text, and how long the name is.
    fn begin(&self, text: &str) -> Option<(usize, Seat)> {
        let starts = |name: &str| {
            text.get(..name.len()).is_some_and(|start| start.eq_ignore_ascii_case(name))
        };
        let whole = |name: &str| text.get(name.len()..).is_some_and(ends_name);
        let found = self.0.iter().find(|(name, _)| starts(name) && whole(name))?;
        Some((found.0.len(), found.1))
    }
}

#[derive(Debug, Default)]
pub(super) struct Mentions {
    pub(super) members: Vec<Mention>,
    pub(super) strangers: Vec<Stranger>,
    /// Where the name is that the message begins with, if it is nobody's.
    pub(super) nobody: Option<Range<usize>>,
    /// Names of members that were mentioned where it may not be the sender's own words.
    pub(super) unheard: Vec<Seat>,
}

/// All mentions in a message, in order, wherever in a sentence they are.
pub(super) fn find(text: &str, names: &Names) -> Vec<Mention> {
    read(text, candidates(text, names, Sender::Person, None)).members
}

pub(super) fn find_all(text: &str, table: &Table, sender: Sender) -> Mentions {
    read(text, candidates(text, &Names::of(table), sender, Some(table)))
}

fn read(text: &str, candidates: Vec<Candidate>) -> Mentions {
    let places: Vec<Range<usize>> = candidates.iter().map(|one| one.place.clone()).collect();
    let mut mentions = Mentions::default();
    for (candidate, words) in candidates.into_iter().zip(whose_words(text, &places)) {
        match (candidate.found, words) {
            (Found::Mention(mention), Words::Own) => mentions.members.push(mention),
            (Found::Mention(Mention { seat, .. }), Words::Unclear)
            | (Found::Aside(seat), Words::Own | Words::Unclear) => mentions.unheard.push(seat),
            (Found::Stranger(stranger), Words::Own) => mentions.strangers.push(stranger),
            (Found::Nobody(place), Words::Own) => mentions.nobody = Some(place),
            (Found::Mention(_) | Found::Aside(_), Words::Foreign)
            | (Found::Stranger(_) | Found::Nobody(_), Words::Foreign | Words::Unclear) => {}
        }
    }
    // Once is enough, and whoever is addressed anyway need not be told of.
    let mut told: Vec<Seat> = mentions.members.iter().map(|mention| mention.seat).collect();
    mentions.unheard.retain(|seat| {
        let is_new = !told.contains(seat);
        told.extend(is_new.then_some(*seat));
        is_new
    });
    mentions
}

fn candidates(text: &str, names: &Names, sender: Sender, table: Option<&Table>) -> Vec<Candidate> {
    let mut found: Vec<Candidate> = Vec::new();
    let mut spots: Vec<Spot> = Vec::new();
    let mut compared = 0;
    for (at, _) in text.match_indices('@') {
        let Some((start, is_quoted)) = start_of(text, at, spots.last()) else { continue };
        let rest = text.get(at + 1..).unwrap_or_default();
        let Some((length, seat)) = names.begin(rest) else {
            let Some((word, table)) = word_at(rest).zip(table) else { continue };
            if compared == STRANGERS_MAX {
                continue;
            }
            compared += 1;
            let is_first = text.get(..at).is_some_and(|before| before.trim().is_empty());
            let place = at..at + 1 + word.len();
            let stranger = |nearest| Stranger { name: word.into(), nearest, is_first };
            let found_here = match table.resolve(word) {
                Resolved::Member(seat) => Found::Stranger(stranger(table.name(seat).into())),
                Resolved::Unknown { nearest: Some(nearest) } => Found::Stranger(stranger(nearest)),
                Resolved::Unknown { nearest: None } if is_first => Found::Nobody(at + 1..place.end),
                Resolved::Unknown { nearest: None } | Resolved::Several(_) => continue,
            };
            found.push(Candidate { place, found: found_here });
            continue;
        };
        let end = at + 1 + length;
        let intent = intent_at(text.get(end..).unwrap_or_default());
        let end = if intent.is_some() { end + 3 } else { end };
        let intent = intent.unwrap_or_default();
        let behind = text.get(end..).unwrap_or_default().trim_start_matches(['*', '_']);
        let is_link = ["](", "]:", "]["].into_iter().any(|link| behind.starts_with(link));
        let found_here = match is_quoted || is_link {
            true => Found::Aside(seat),
            false => Found::Mention(Mention { seat, intent }),
        };
        spots.push(Spot { place: start..end, candidate: found.len() });
        found.push(Candidate { place: at..end, found: found_here });
    }
    if sender == Sender::Agent {
        for candidate in address::spoken_of(text, &spots) {
            if let Some(Candidate { found, .. }) = found.get_mut(candidate)
                && let Found::Mention(Mention { seat, .. }) = found
            {
                *found = Found::Aside(*seat);
            }
        }
    }
    found
}

/// Where a mention begins, with whatever opens before it, and whether it is quoted. `None` if no word begins with
/// the `@` here: one does behind a blank, behind punctuation, behind another mention, and behind emphasis or
/// brackets that open.
fn start_of(text: &str, at: usize, last: Option<&Spot>) -> Option<(usize, bool)> {
    let bare = text.get(..at)?.trim_end_matches(is_opening);
    let Some(c) = bare.chars().next_back() else { return Some((0, false)) };
    if c.is_whitespace() || ends_clause(c) {
        return Some((bare.len(), false));
    }
    if is_quote(c) {
        let outer = bare.get(..bare.len() - c.len_utf8())?.chars().next_back();
        let begins = outer.is_none_or(|c| c.is_whitespace() || is_opening(c) || ends_clause(c));
        return begins.then_some((bare.len(), true));
    }
    // `@max/@eva`, `@max&@eva`.
    let joined = bare.get(last?.place.end..)?.trim_start_matches(is_closing);
    matches!(joined, "/" | "&" | "+").then_some((bare.len(), false))
}

/// Punctuation behind which a word may begin without a blank.
fn ends_clause(c: char) -> bool {
    matches!(c, ',' | ';' | ':' | '!' | '?' | '…') || ends_at_once(c)
}

/// Punctuation that no name, path or address goes on behind.
fn ends_at_once(c: char) -> bool {
    matches!(c, '—' | '–' | '，' | '。' | '、' | '；' | '：' | '！' | '？')
}

/// The word that may be meant as a name: letters, digits, `-` and `_`; no path, no address and no possessive.
fn word_at(rest: &str) -> Option<&str> {
    let is_part = |c: char| c.is_alphanumeric() || matches!(c, '-' | '_');
    let end = rest.find(|c: char| !is_part(c)).unwrap_or(rest.len());
    let (word, behind) = rest.split_at_checked(end)?;
    (!word.is_empty() && ends_name(behind)).then_some(word)
}

/// `!P1`, `!P2` or `!P3`, and nothing that goes on behind it.
fn intent_at(rest: &str) -> Option<Intent> {
    let (suffix, rest) = rest.split_at_checked(3)?;
    let intent = match suffix {
        "!P1" | "!p1" => Intent::Interrupt,
        "!P2" | "!p2" => Intent::Reply,
        "!P3" | "!p3" => Intent::Extend,
        _ => return None,
    };
    ends_word(rest).then_some(intent)
}

fn ends_name(rest: &str) -> bool {
    ends_word(rest) || intent_at(rest).is_some()
}

/// Whether a word ends here: at a blank, at the end, or at punctuation and brackets that a blank, the end or another
/// mention follows. So `@max.` and `@max,@eva` are mentions, and `@max.com`, `@max/node` and `@max's` are none.
fn ends_word(rest: &str) -> bool {
    let punctuation =
        |c: char| matches!(c, '.' | ',' | ':' | ';' | '!' | '?' | '…') || is_closing(c);
    let is_link =
        ["](", "]["].into_iter().any(|link| rest.trim_start_matches(['*', '_']).starts_with(link));
    let behind = rest.trim_start_matches(punctuation);
    let Some(next) = behind.chars().next() else { return true };
    let another = behind.strip_prefix(['/', '&', '+']).unwrap_or(behind);
    let is_joined = another.starts_with('@') && another.len() < rest.len();
    next.is_whitespace() || ends_at_once(next) || is_joined || is_link
}
