//! `@name`, the short form of `[NEXT: name]`. It is at the start of a word, in the sender's own words, and consists
//! of a member's exact name (ignoring case). Emphasis and brackets may surround it. All other text after an `@` is
//! ordinary text; a word that resembles a member's name is reported. `address` decides whether an agent addresses a
//! member or only mentions it.

use std::ops::Range;

use tertulia_context::{Authorship, authorship_of};
use tertulia_session::Intent;

use super::Sender;
use super::address::{self, Spot};
use super::{is_closing, is_opening, is_quote};
use crate::ask::EVERYBODY;
use crate::roster::{MemberIndex, Resolved, Roster};

#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Mention {
    pub(super) index: MemberIndex,
    pub(super) intent: Intent,
}

/// The names that can be mentioned, longest first.
pub(super) struct Names(Vec<(Box<str>, MemberIndex)>);

/// A word after an `@` that is close to a name.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct UnknownMention {
    pub(crate) name: Box<str>,
    pub(crate) nearest: Box<str>,
    pub(crate) is_first: bool,
}

enum Found {
    Mention(Mention),
    /// A member's name in quotation marks, in a link, or in the middle of an agent's sentence.
    Aside(MemberIndex),
    UnknownMention(UnknownMention),
    /// `@all` in a person's message.
    Everybody,
    /// The range of a name at the beginning of the message that resembles no member's name.
    Nobody(Range<usize>),
}

struct Candidate {
    range: Range<usize>,
    found: Found,
}

/// Maximum number of words that are compared with names. A text with more of them does not contain misspelled names.
const UNKNOWN_MENTIONS_MAX: usize = 20;

impl Names {
    pub(super) fn new(roster: &Roster) -> Self {
        Self::map(roster, str::to_owned)
    }

    pub(super) fn map(roster: &Roster, rewrite: impl Fn(&str) -> String) -> Self {
        let mut names: Vec<(Box<str>, MemberIndex)> = Vec::new();
        for (index, member) in roster.indexed() {
            names.push((rewrite(&member.name).into(), index));
        }
        for (index, member) in roster.indexed() {
            let shown = member.display_name.as_deref().map(&rewrite);
            // A name takes precedence over a display name. A display name of two members refers to neither.
            let shown = shown.filter(|shown| {
                let twins = roster.indexed().filter(|(_, other)| {
                    other.names().any(|name| rewrite(name).eq_ignore_ascii_case(shown))
                });
                twins.count() == 1
            });
            names.extend(shown.map(|shown| (shown.into(), index)));
        }
        names.retain(|(name, _)| !name.is_empty());
        names.sort_by_key(|(name, _)| std::cmp::Reverse(name.len()));
        Self(names)
    }

    /// Returns the member whose name begins this text, and the length of the name.
    fn begin(&self, text: &str) -> Option<(usize, MemberIndex)> {
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
    pub(super) unknown_mentions: Vec<UnknownMention>,
    /// The range of the name at the beginning of the message, if no member has it.
    pub(super) nobody: Option<Range<usize>>,
    /// Members whose mention may be in somebody else's words.
    pub(super) ignored: Vec<MemberIndex>,
    /// Whether a person mentions everybody.
    pub(super) everybody: bool,
}

/// Returns all mentions in a message, in order, at any position in a sentence.
pub(super) fn find(text: &str, names: &Names) -> Vec<Mention> {
    read(text, candidates(text, names, Sender::Person, None)).members
}

pub(super) fn find_all(text: &str, roster: &Roster, sender: Sender) -> Mentions {
    read(text, candidates(text, &Names::new(roster), sender, Some(roster)))
}

fn read(text: &str, candidates: Vec<Candidate>) -> Mentions {
    let ranges: Vec<Range<usize>> = candidates.iter().map(|one| one.range.clone()).collect();
    let mut mentions = Mentions::default();
    for (candidate, words) in candidates.into_iter().zip(authorship_of(text, &ranges)) {
        match (candidate.found, words) {
            (Found::Mention(mention), Authorship::Own) => mentions.members.push(mention),
            (Found::Mention(Mention { index, .. }), Authorship::Ambiguous)
            | (Found::Aside(index), Authorship::Own | Authorship::Ambiguous) => {
                mentions.ignored.push(index)
            }
            (Found::UnknownMention(unknown_mention), Authorship::Own) => {
                mentions.unknown_mentions.push(unknown_mention)
            }
            (Found::Nobody(range), Authorship::Own) => mentions.nobody = Some(range),
            (Found::Everybody, Authorship::Own) => mentions.everybody = true,
            (Found::Mention(_) | Found::Aside(_), Authorship::Quoted)
            | (
                Found::UnknownMention(_) | Found::Nobody(_) | Found::Everybody,
                Authorship::Quoted | Authorship::Ambiguous,
            ) => {}
        }
    }
    // Report each member once. Do not report a member that the message addresses too.
    let mut reported: Vec<MemberIndex> =
        mentions.members.iter().map(|mention| mention.index).collect();
    mentions.ignored.retain(|index| {
        let is_new = !reported.contains(index);
        reported.extend(is_new.then_some(*index));
        is_new
    });
    mentions
}

fn candidates(
    text: &str,
    names: &Names,
    sender: Sender,
    roster: Option<&Roster>,
) -> Vec<Candidate> {
    let mut found: Vec<Candidate> = Vec::new();
    let mut spots: Vec<Spot> = Vec::new();
    let mut compared = 0;
    for (at, _) in text.match_indices('@') {
        let Some((start, is_quoted)) = start_of(text, at, spots.last()) else { continue };
        let rest = text.get(at + 1..).unwrap_or_default();
        let Some((length, index)) = names.begin(rest) else {
            let Some((word, roster)) = word_at(rest).zip(roster) else { continue };
            if sender == Sender::Person && word.eq_ignore_ascii_case(EVERYBODY) {
                if !is_quoted {
                    found.push(Candidate {
                        range: at..at + 1 + word.len(),
                        found: Found::Everybody,
                    });
                }
                continue;
            }
            if compared == UNKNOWN_MENTIONS_MAX {
                continue;
            }
            compared += 1;
            let is_first = text.get(..at).is_some_and(|before| before.trim().is_empty());
            let range = at..at + 1 + word.len();
            let unknown_mention = |nearest| UnknownMention { name: word.into(), nearest, is_first };
            let found_here = match roster.resolve(word) {
                Resolved::Member(index) => {
                    Found::UnknownMention(unknown_mention(roster.name(index).into()))
                }
                Resolved::Unknown { nearest: Some(nearest) } => {
                    Found::UnknownMention(unknown_mention(nearest))
                }
                Resolved::Unknown { nearest: None } if is_first => Found::Nobody(at + 1..range.end),
                Resolved::Unknown { nearest: None } | Resolved::Several(_) => continue,
            };
            found.push(Candidate { range, found: found_here });
            continue;
        };
        let end = at + 1 + length;
        let intent = intent_at(text.get(end..).unwrap_or_default());
        let end = if intent.is_some() { end + 3 } else { end };
        let intent = intent.unwrap_or_default();
        let behind = text.get(end..).unwrap_or_default().trim_start_matches(['*', '_']);
        let is_link = ["](", "]:", "]["].into_iter().any(|link| behind.starts_with(link));
        let found_here = match is_quoted || is_link {
            true => Found::Aside(index),
            false => Found::Mention(Mention { index, intent }),
        };
        spots.push(Spot { range: start..end, candidate: found.len() });
        found.push(Candidate { range: at..end, found: found_here });
    }
    if sender == Sender::Agent {
        for candidate in address::spoken_of(text, &spots) {
            if let Some(Candidate { found, .. }) = found.get_mut(candidate)
                && let Found::Mention(Mention { index, .. }) = found
            {
                *found = Found::Aside(*index);
            }
        }
    }
    found
}

/// Returns where a mention begins, including opening characters before it, and whether it is quoted. `None` if no
/// word begins with this `@`. A word begins after whitespace, punctuation, another mention, and opening emphasis or
/// brackets.
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
    let joined = bare.get(last?.range.end..)?.trim_start_matches(is_closing);
    matches!(joined, "/" | "&" | "+").then_some((bare.len(), false))
}

/// Returns whether a word may begin after this punctuation without whitespace.
fn ends_clause(c: char) -> bool {
    matches!(c, ',' | ';' | ':' | '!' | '?' | '…') || ends_at_once(c)
}

/// Returns whether this punctuation ends every name, path and address.
fn ends_at_once(c: char) -> bool {
    matches!(c, '—' | '–' | '，' | '。' | '、' | '；' | '：' | '！' | '？')
}

/// Returns the word that may be a name: letters, digits, `-` and `_`; not a path, an address or a possessive.
fn word_at(rest: &str) -> Option<&str> {
    let is_part = |c: char| c.is_alphanumeric() || matches!(c, '-' | '_');
    let end = rest.find(|c: char| !is_part(c)).unwrap_or(rest.len());
    let (word, behind) = rest.split_at_checked(end)?;
    (!word.is_empty() && ends_name(behind)).then_some(word)
}

/// Parses `!P1`, `!P2` or `!P3` at the end of a word.
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

/// Returns whether a word ends here: at whitespace, at the end, or at punctuation and brackets followed by whitespace, the
/// end or another mention. So `@max.` and `@max,@eva` are mentions; `@max.com`, `@max/node` and `@max's` are not.
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
