//! What is wrong with a team file, and where: collected while it is read, shown with the line and a mark
//! below it. Knows no field but the name of a member.

use std::ops::Range;

use super::tree::{Node, Value};
use crate::names::{fold, nearest_name};

/// More problems of one file are only counted.
const KEPT_MAX: usize = 100;
const SHOWN_CHARS: usize = 100;

/// A place in a text, both from 1; a column is a character.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Position {
    pub line: usize,
    pub column: usize,
}

/// One thing that is wrong, or may not be meant.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error(
    "{place}{}{}: {what}{}",
    position.map(|Position { line, column }| format!(":{line}:{column}")).unwrap_or_default(),
    if path.is_empty() { String::new() } else { format!(": {path}") },
    excerpt.as_ref().map(|excerpt| format!("\n{excerpt}")).unwrap_or_default()
)]
pub struct FileProblem {
    pub place: Box<str>,
    /// Where in it; `None` if the problem is the file itself.
    pub position: Option<Position>,
    /// The field, such as `member "max": permissions`, or `member 2`, from 1, where it has no name; may be empty.
    pub path: Box<str>,
    /// What is wrong, and the cure.
    pub what: Box<str>,
    pub excerpt: Option<Box<str>>,
}

/// All that is wrong with a file, in the order of its lines.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error(
    "{}{}",
    errors.iter().map(ToString::to_string).collect::<Vec<_>>().join("\n"),
    if *more > 0 { format!("\n… and {more} more") } else { String::new() }
)]
pub struct FileErrors {
    pub errors: Vec<FileProblem>,
    pub more: usize,
}

#[derive(Clone, Debug, Default)]
pub(super) struct Spot {
    pub(super) path: String,
    pub(super) span: Range<usize>,
    /// Whether it is a whole member, which is named and not numbered by brackets.
    is_member: bool,
}

#[derive(Default)]
pub(super) struct Problems<'a> {
    text: &'a str,
    place: &'a str,
    errors: Vec<(usize, FileProblem)>,
    more: usize,
    warnings: Vec<(usize, FileProblem)>,
    /// Lines with a part of these are not repeated.
    pub(super) secrets: Vec<Range<usize>>,
    /// Whether the text looks like a team file. Of any other no line is repeated: it may be a file of keys.
    is_team: bool,
}

impl<'a> Problems<'a> {
    pub(super) fn new(text: &'a str, place: &'a str) -> Self {
        Self { text, place, is_team: is_team(text), ..Self::default() }
    }

    pub(super) fn error(&mut self, spot: &Spot, what: impl Into<String>) {
        if self.errors.len() < KEPT_MAX {
            let problem = self.problem(spot, what.into());
            self.errors.push((spot.span.start, problem));
        } else {
            self.more += 1;
        }
    }

    pub(super) fn warn(&mut self, spot: &Spot, what: impl Into<String>) {
        if self.warnings.len() < KEPT_MAX {
            let problem = self.problem(spot, what.into());
            self.warnings.push((spot.span.start, problem));
        }
    }

    pub(super) fn has_errors(&self) -> bool {
        !self.errors.is_empty()
    }

    pub(super) fn finish(self) -> Result<Vec<FileProblem>, FileErrors> {
        match self.errors.is_empty() {
            true => Ok(in_order(self.warnings)),
            false => Err(FileErrors { errors: in_order(self.errors), more: self.more }),
        }
    }

    fn problem(&self, spot: &Spot, what: String) -> FileProblem {
        let line = Line::at(self.text, spot.span.start);
        let is_hidden = |at: &Range<usize>| at.start < line.bytes.end && at.end > line.bytes.start;
        let is_secret = self.secrets.iter().any(is_hidden);
        FileProblem {
            place: self.place.into(),
            position: Some(line.position),
            path: spot.path.as_str().into(),
            what: what.into(),
            excerpt: (self.is_team && !is_secret).then(|| line.excerpt(spot.span.len()).into()),
        }
    }
}

impl Spot {
    pub(super) fn part(&self, name: &str, span: Range<usize>) -> Self {
        let path = match (self.path.is_empty(), name.starts_with('[')) {
            (true, _) => name.to_owned(),
            (false, _) if self.is_member => format!("{}: {name}", self.path),
            (false, true) => format!("{}{name}", self.path),
            (false, false) => format!("{}.{name}", self.path),
        };
        Self { path, span, is_member: false }
    }

    /// The place of a syntax error, which belongs to no field.
    pub(super) fn at(span: Range<usize>) -> Self {
        Self { span, ..Self::default() }
    }

    /// The place of a member: by its name, or by its number counted from 1 where it has none.
    pub(super) fn of_member(index: usize, node: &Node, span: Range<usize>) -> Self {
        let name = node.field("name").and_then(|field| match &field.value {
            Value::Text(name) if !name.trim().is_empty() => Some(quoted(name)),
            _ => None,
        });
        let name = name.unwrap_or_else(|| (index + 1).to_string());
        Self { path: format!("member {name}"), span, is_member: true }
    }
}

fn is_team(text: &str) -> bool {
    let begins = |line: &str| {
        let line = line.trim_start_matches([BOM, ' ', '\t']);
        let field = line.split_once('=').map(|(name, _)| name.trim());
        line.starts_with("[[member]]")
            || line.starts_with("[limits]")
            || matches!(field, Some("task" | "default" | "member"))
            || line.contains("\"schemaVersion\"")
            || line.contains("\"members\"")
    };
    text.lines().any(begins)
}

fn in_order(mut problems: Vec<(usize, FileProblem)>) -> Vec<FileProblem> {
    problems.sort_by_key(|(at, _)| *at);
    problems.into_iter().map(|(_, problem)| problem).collect()
}

struct Line<'a> {
    text: &'a str,
    bytes: Range<usize>,
    position: Position,
}

impl<'a> Line<'a> {
    fn at(text: &'a str, byte: usize) -> Self {
        let byte = text.floor_char_boundary(byte);
        let (before, after) = text.split_at(byte);
        let start = before.rfind('\n').map_or(0, |at| at + 1);
        let end = after.find('\n').map_or(text.len(), |at| byte + at);
        let line = text.get(start..end).unwrap_or_default();
        let lead = text.get(start..byte).unwrap_or_default().trim_start_matches(BOM);
        let position = Position {
            line: before.bytes().filter(|byte| *byte == b'\n').count() + 1,
            column: lead.chars().count() + 1,
        };
        let text = line.trim_start_matches(BOM).trim_end_matches('\r');
        Self { text, bytes: start..end, position }
    }

    /// The line with its number, and a mark below; of a long line the part around the place.
    fn excerpt(&self, marked_bytes: usize) -> String {
        let skipped = self.position.column.saturating_sub(SHOWN_CHARS / 2 + 1);
        let skipped = if self.position.column > SHOWN_CHARS / 2 + 20 { skipped } else { 0 };
        let shown: String =
            self.text.chars().skip(skipped).take(SHOWN_CHARS).map(visible).collect();
        let before: String =
            shown.chars().take(self.position.column - 1 - skipped).map(blank).collect();
        let rest = self.text.chars().skip(self.position.column - 1);
        let mut bytes = 0;
        let marked = rest
            .take(SHOWN_CHARS / 2)
            .take_while(|c| {
                let inside = bytes < marked_bytes;
                bytes += c.len_utf8();
                inside
            })
            .map(|c| if is_wide(c) { "^^" } else { "^" });
        let marks: String = marked.collect();
        let marks = if marks.is_empty() { "^" } else { &marks };
        let number = self.position.line.to_string();
        let margin = " ".repeat(number.len());
        format!("{number} | {shown}\n{margin} | {before}{marks}")
    }
}

const BOM: char = '\u{feff}';

/// A character as a terminal may be given it.
fn visible(c: char) -> char {
    let changes_direction = matches!(c, '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{2069}');
    if (c.is_control() && c != '\t') || changes_direction { '\u{fffd}' } else { c }
}

/// The blank that is as wide as a character.
fn blank(c: char) -> char {
    match c {
        '\t' => '\t',
        c if is_wide(c) => '\u{3000}',
        _ => ' ',
    }
}

/// Whether a terminal gives it two columns; good enough to put a mark in its place.
fn is_wide(c: char) -> bool {
    matches!(c, '\u{1100}'..='\u{115f}' | '\u{2e80}'..='\u{a4cf}' | '\u{ac00}'..='\u{d7a3}'
        | '\u{f900}'..='\u{faff}' | '\u{fe30}'..='\u{fe6f}' | '\u{ff00}'..='\u{ff60}'
        | '\u{1f300}'..='\u{1faff}' | '\u{20000}'..='\u{3fffd}')
}

impl FileErrors {
    pub(super) fn of_file(place: &str, what: impl Into<Box<str>>) -> Self {
        let (position, path, excerpt) = (None, "".into(), None);
        let problem =
            FileProblem { place: place.into(), position, path, what: what.into(), excerpt };
        Self { errors: vec![problem], more: 0 }
    }
}

const QUOTED_CHARS: usize = 40;

/// Words that people bring along from elsewhere, folded, and what they are called here.
const ALSO_CALLED: &[(&str, &str)] = &[
    ("apikey", "key_variable"),
    ("apikeyenv", "key_variable"),
    ("arguments", "args"),
    ("additionalargs", "args"),
    ("basedir", "cwd"),
    ("claudecode", "claude"),
    ("cmd", "command"),
    ("dir", "cwd"),
    ("endpoint", "base_url"),
    ("environment", "env"),
    ("folder", "cwd"),
    ("geminicli", "gemini"),
    ("googlegemini", "gemini"),
    ("maxrounds", "turns"),
    ("openaicodex", "codex"),
    ("person", "human"),
    ("program", "command"),
    ("prompt", "instruction"),
    ("system", "instruction"),
    ("systeminstruction", "instruction"),
    ("systemprompt", "instruction"),
    ("themecolor", "color"),
    ("type", "kind"),
    ("url", "base_url"),
    ("user", "human"),
    ("workdir", "cwd"),
    ("write", "edit"),
];

pub(super) fn did_you_mean(written: &str, known: &[&str]) -> String {
    nearest_of(written, known).map_or_else(String::new, |name| format!("; did you mean {name}?"))
}

pub(super) fn nearest_of(written: &str, known: &[&str]) -> Option<Box<str>> {
    let wanted = fold(written);
    let nearest = nearest_name(written, known.iter().map(|name| (name, *name)));
    let called = ALSO_CALLED.iter().find(|(other, _)| *other == wanted).map(|(_, name)| *name);
    let is_meant = |name: &&str| called == Some(name) || is_shuffled(&wanted, &fold(name));
    nearest.or_else(|| known.iter().copied().find(is_meant)).map(Box::from)
}

/// Whether both have the same letters: `agnet` for `agent`.
fn is_shuffled(written: &str, known: &str) -> bool {
    let sorted = |text: &str| {
        let mut letters: Vec<char> = text.chars().collect();
        letters.sort_unstable();
        letters
    };
    written.len() == known.len() && sorted(written) == sorted(known)
}

/// A value as an error repeats it: short, in quotes, without what a terminal would obey.
pub(super) fn quoted(text: &str) -> String {
    let cut = text.chars().nth(QUOTED_CHARS).is_some();
    let start: String = text.chars().take(QUOTED_CHARS).collect();
    let end = if cut { "…" } else { "" };
    format!("\"{}{end}\"", start.escape_debug().to_string().replace("\\'", "'"))
}
