//! Parses markers: who is next and with which intent, who is dropped from the queue, who speaks, and the team's
//! task. The names are not resolved, because that requires the team.

use std::ops::Range;

use tertulia_session::Intent;

use super::authorship::{self, Authorship, AuthorshipIndex};
use super::code::touches;
use super::preserve::{ranges_without, without};
use super::scan::{Found, Kind, Scanner, brackets};
use crate::whitespace::trim;

/// The parsed markers of a message.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Markers {
    /// The members who are to speak next, in order of appearance.
    pub next: Vec<Next>,
    /// The members whose turns are removed from the queue; `["ALL"]` for all members.
    pub drop: Vec<String>,
    /// The speaker; the first `[FROM: …]` counts.
    pub from: Option<String>,
    /// The team's task; the last `[TEAM_TASK: …]` counts.
    pub team_task: Option<String>,
    /// The text without the markers that were read, otherwise unchanged.
    pub clean_text: String,
    /// Ignored markers, as they are written, if the sender may not expect that they are ignored
    /// ([`Authorship::Ambiguous`]); at most 20.
    pub ignored: Vec<String>,
}

/// One addressee of a message.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Next {
    pub name: String,
    pub intent: Intent,
}

/// The maximum number of ignored markers that are reported.
const IGNORED_MAX: usize = 20;

/// Reads the markers of a message. Markers in code, quotes, HTML and links are somebody else's words, and the block
/// form `[TEAM_TASK] …` is text: they have no effect and stay in the clean text.
pub fn parse_markers(text: &str) -> Markers {
    parse_markers_where(text, |ranges| vec![true; ranges.len()])
}

/// Reads the markers of a message for which `counting` returns true. `counting` is called once, with the ranges of
/// all markers of the sender, in order, and returns a value for each. Every other marker is reported as ignored and
/// stays in the clean text.
pub fn parse_markers_where(
    text: &str,
    counting: impl FnOnce(&[Range<usize>]) -> Vec<bool>,
) -> Markers {
    let (found, ignored) = effective_markers(text, counting);
    let mut markers = Markers::default();
    let mut drops_all = false;
    for marker in &found {
        let body = &text[marker.body.clone()];
        match marker.kind {
            Kind::Next => markers.next.extend(items(body).map(read_item)),
            Kind::Drop if trim(body).eq_ignore_ascii_case("all") => drops_all = true,
            Kind::Drop => {
                markers.drop.extend(items(body).map(read_item).map(|item| item.name));
            }
            Kind::From if markers.from.is_none() && !trim(body).is_empty() => {
                markers.from = Some(trim(body).to_owned());
            }
            Kind::TeamTask => markers.team_task = Some(trim(body).to_owned()),
            Kind::From | Kind::TaskBlock => {}
        }
    }
    if drops_all {
        markers.drop = vec!["ALL".to_owned()];
    }
    markers.clean_text = without(text, &found).into_owned();
    markers.ignored = ignored;
    markers
}

/// Returns the ranges of a text that are left without the effective markers, in order. Joined, they are the clean
/// text of [`parse_markers_where`].
pub fn kept_ranges_where(
    text: &str,
    counting: impl FnOnce(&[Range<usize>]) -> Vec<bool>,
) -> Vec<Range<usize>> {
    ranges_without(text, &effective_markers(text, counting).0)
}

fn effective_markers(
    text: &str,
    counting: impl FnOnce(&[Range<usize>]) -> Vec<bool>,
) -> (Vec<Found>, Vec<String>) {
    let (mut found, mut ignored) = (Vec::new(), Vec::new());
    let (mut markers, _) = markers_with_authorship(text);
    markers.retain(|(marker, _)| marker.kind != Kind::TaskBlock);
    let own = markers.iter().filter(|(_, author)| *author == Authorship::Own);
    let ranges: Vec<Range<usize>> = own.map(|(marker, _)| marker.whole.clone()).collect();
    let mut counts = if ranges.is_empty() { Vec::new() } else { counting(&ranges) }.into_iter();
    for (marker, author) in markers {
        match author {
            Authorship::Own if counts.next().unwrap_or(true) => found.push(marker),
            Authorship::Own | Authorship::Ambiguous if ignored.len() < IGNORED_MAX => {
                ignored.push(text[marker.whole].to_owned());
            }
            Authorship::Own | Authorship::Ambiguous | Authorship::Quoted => {}
        }
    }
    (found, ignored)
}

/// Returns the author of the text at these ranges. A range that touches a marker outside code counts as
/// [`Authorship::Quoted`].
pub fn authorship_of(text: &str, ranges: &[Range<usize>]) -> Vec<Authorship> {
    if ranges.is_empty() {
        return Vec::new();
    }
    let (found, index) = markers_with_authorship(text);
    let index = index.unwrap_or_else(|| AuthorshipIndex::new(text));
    let markers: Vec<Range<usize>> = found.into_iter().map(|(marker, _)| marker.whole).collect();
    let author = |range: &Range<usize>| match touches(&markers, range) {
        true => Authorship::Quoted,
        false => index.authorship_at(range),
    };
    ranges.iter().map(author).collect()
}

/// Returns the markers outside code, in order, without overlaps, each with its author. The range of a block is only
/// its label. If the text contains no marker, there is no judge, because finding code needs several passes.
fn markers_with_authorship(text: &str) -> (Vec<(Found, Authorship)>, Option<AuthorshipIndex>) {
    let mut found: Vec<(Found, Authorship)> = Vec::new();
    let mut scanner = Scanner::new(text);
    let mut index = None;
    for at in brackets(text, 0) {
        if found.last().is_some_and(|(last, _)| at < last.whole.end) {
            continue;
        }
        let Some(marker) = scanner.marker_at(at) else { continue };
        let index = index.get_or_insert_with(|| AuthorshipIndex::new(text));
        if index.code().touches(&marker.whole) && !index.is_behind_open_fence(&marker.whole) {
            continue;
        }
        let author = match index.authorship_at(&marker.whole) {
            Authorship::Own if authorship::looks_like_link(text, &marker.whole) => {
                Authorship::Ambiguous
            }
            author => author,
        };
        found.push((marker, author));
    }
    (found, index)
}

fn items(list: &str) -> impl Iterator<Item = &str> {
    list.split(',').map(trim).filter(|item| !item.is_empty())
}

/// Parses a name with its intent: the last `!P1`, `!P2` or `!P3`.
fn read_item(item: &str) -> Next {
    let plain = || Next { name: item.to_owned(), intent: Intent::default() };
    let Some((name, suffix)) = item.rsplit_once('!') else { return plain() };
    let intent = match suffix {
        "P1" | "p1" => Intent::Interrupt,
        "P2" | "p2" => Intent::Reply,
        "P3" | "p3" => Intent::Extend,
        _ => return plain(),
    };
    match trim(name) {
        "" => plain(),
        name => Next { name: name.to_owned(), intent },
    }
}
