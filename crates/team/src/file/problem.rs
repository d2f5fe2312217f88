//! Errors and warnings of a team file with their positions. They are collected while the file is read, and shown with
//! the line and a mark below it. This module uses no field except the name of a member.

use std::ops::Range;

use super::tree::{Node, Value};
use crate::names::{fold, nearest_name};

/// Maximum number of problems that are kept. Further ones are only counted.
const KEPT_MAX: usize = 100;
const SHOWN_CHARS: usize = 100;

/// A 1-based position in a text; a column is a character.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Position {
    pub line: usize,
    pub column: usize,
}

/// An error or a warning.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error(
    "{file}{}{}: {what}{}",
    position.map(|Position { line, column }| format!(":{line}:{column}")).unwrap_or_default(),
    if path.is_empty() { String::new() } else { format!(": {path}") },
    excerpt.as_ref().map(|excerpt| format!("\n{excerpt}")).unwrap_or_default()
)]
pub struct FileProblem {
    pub file: Box<str>,
    /// The position in the file. `None` if the problem concerns the whole file.
    pub position: Option<Position>,
    /// The field, such as `member "max": permissions`. A member without a name is identified by its number, as in
    /// `member 2`. May be empty.
    pub path: Box<str>,
    /// The problem, and how to fix it.
    pub what: Box<str>,
    pub excerpt: Option<Box<str>>,
}

/// All errors of a file, in the order of its lines.
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
    /// Whether the position is a whole member, which is identified by its name and not by an index.
    is_member: bool,
}

#[derive(Default)]
pub(super) struct Problems<'a> {
    text: &'a str,
    file: &'a str,
    errors: Vec<(usize, FileProblem)>,
    more: usize,
    warnings: Vec<(usize, FileProblem)>,
    /// Lines that contain a part of these ranges are not quoted.
    pub(super) secrets: Vec<Range<usize>>,
    /// Whether the text looks like a team file. Lines of other files are not quoted, because they may contain keys.
    is_team: bool,
}

impl<'a> Problems<'a> {
    pub(super) fn new(text: &'a str, file: &'a str) -> Self {
        Self { text, file, is_team: is_team(text), ..Self::default() }
    }

    /// Same as [`Self::new`], for a file that contains no keys.
    pub(super) fn quoting(text: &'a str, file: &'a str) -> Self {
        Self { text, file, is_team: true, ..Self::default() }
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
            file: self.file.into(),
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

    /// Creates the position of a syntax error, which belongs to no field.
    pub(super) fn at(span: Range<usize>) -> Self {
        Self { span, ..Self::default() }
    }

    /// Creates the position of a member: by its name, or else by its 1-based number.
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

    /// Returns the line with its number and a mark below it. Of a long line, returns the part around the position.
    fn excerpt(&self, marked_bytes: usize) -> String {
        let skipped = self.position.column.saturating_sub(SHOWN_CHARS / 2 + 1);
        let skipped = if self.position.column > SHOWN_CHARS / 2 + 20 { skipped } else { 0 };
        let shown: String =
            self.text.chars().skip(skipped).take(SHOWN_CHARS).map(visible).collect();
        let before: String =
            shown.chars().take(self.position.column - 1 - skipped).map(space).collect();
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

/// Makes a character safe for a terminal.
fn visible(c: char) -> char {
    let changes_direction = matches!(c, '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{2069}');
    if (c.is_control() && c != '\t') || changes_direction { '\u{fffd}' } else { c }
}

/// Returns the space as wide as a character.
fn space(c: char) -> char {
    match c {
        '\t' => '\t',
        c if is_wide(c) => '\u{3000}',
        _ => ' ',
    }
}

/// Returns whether a terminal shows it in two columns; accurate enough to place a mark.
fn is_wide(c: char) -> bool {
    matches!(c, '\u{1100}'..='\u{115f}' | '\u{2e80}'..='\u{a4cf}' | '\u{ac00}'..='\u{d7a3}'
        | '\u{f900}'..='\u{faff}' | '\u{fe30}'..='\u{fe6f}' | '\u{ff00}'..='\u{ff60}'
        | '\u{1f300}'..='\u{1faff}' | '\u{20000}'..='\u{3fffd}')
}

impl FileErrors {
    pub(super) fn of_file(file: &str, what: impl Into<Box<str>>) -> Self {
        let (position, path, excerpt) = (None, "".into(), None);
        let problem = FileProblem { file: file.into(), position, path, what: what.into(), excerpt };
        Self { errors: vec![problem], more: 0 }
    }
}

const QUOTED_CHARS: usize = 40;

/// Common names in other tools, and the corresponding names here.
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

/// Returns whether both have the same letters: `agnet` for `agent`.
fn is_shuffled(written: &str, known: &str) -> bool {
    let sorted = |text: &str| {
        let mut letters: Vec<char> = text.chars().collect();
        letters.sort_unstable();
        letters
    };
    written.len() == known.len() && sorted(written) == sorted(known)
}

/// Quotes a value in an error: shortened, and safe for a terminal.
pub(super) fn quoted(text: &str) -> String {
    let cut = text.chars().nth(QUOTED_CHARS).is_some();
    let start: String = text.chars().take(QUOTED_CHARS).collect();
    let end = if cut { "…" } else { "" };
    format!("\"{}{end}\"", start.escape_debug().to_string().replace("\\'", "'"))
}
