//! What markers say: who is next and with which intent, who is dropped from the queue, who speaks,
//! what the team's task is. Names are not resolved here; that needs the team.

use super::preserve::{markers_outside_code, without};
use super::scan::Kind;
use crate::whitespace::trim;

/// What the markers of a message say.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Markers {
    /// Who is to speak next, in order of appearance.
    pub next: Vec<Next>,
    /// Whose turns are taken out of the queue; `["ALL"]` for everybody's.
    pub drop: Vec<String>,
    /// Who speaks; the first `[FROM: …]` counts.
    pub from: Option<String>,
    /// The team's task; the last `[TEAM_TASK: …]` counts.
    pub team_task: Option<String>,
    /// The text without the markers that were read, otherwise byte for byte as it was.
    pub clean_text: String,
}

/// One addressee of a message.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Next {
    /// The name as it was written.
    pub name: String,
    /// How urgent it is.
    pub intent: Intent,
}

/// How urgent a turn is.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Intent {
    /// `!P1`: before everything else.
    Interrupt,
    /// `!P2`, and what is meant when nothing is said.
    #[default]
    Reply,
    /// `!P3`: when there is time.
    Extend,
}

impl Intent {
    /// `P1`, `P2` or `P3`.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Interrupt => "P1",
            Self::Reply => "P2",
            Self::Extend => "P3",
        }
    }
}

/// Reads the markers of a message. Markers in code and in quoted lines are somebody else's words, and
/// the block form `[TEAM_TASK] …` is text: they say nothing and stay in the clean text.
pub fn parse_markers(text: &str) -> Markers {
    let mut quotes = Quotes { text, line: 0, seen: 0 };
    let mut found = markers_outside_code(text);
    found.retain(|marker| !quotes.hold(marker.whole.start) && marker.kind != Kind::TaskBlock);
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
    markers
}

fn items(list: &str) -> impl Iterator<Item = &str> {
    list.split(',').map(trim).filter(|item| !item.is_empty())
}

/// A name with an intent behind it; only the last `!P1`, `!P2` or `!P3` is one.
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

/// Tells quoted lines; asked for ascending places.
struct Quotes<'t> {
    text: &'t str,
    /// Where the line of the last question begins.
    line: usize,
    seen: usize,
}

impl Quotes<'_> {
    fn hold(&mut self, at: usize) -> bool {
        if let Some(newline) = memchr::memrchr(b'\n', &self.text.as_bytes()[self.seen..at]) {
            self.line = self.seen + newline + 1;
        }
        self.seen = at;
        let indent = self.text[self.line..at].bytes().take(4).take_while(|b| *b == b' ').count();
        indent <= 3 && self.text[self.line + indent..at].starts_with('>')
    }
}
