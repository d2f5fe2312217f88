//! Sessions of aider: `.aider.chat.history.md`, one Markdown file for all sessions in a folder.
//!
//! - `# aider chat started at 2026-01-31 12:00:00` starts a session, which becomes a branch. The time has no offset;
//!   it is read as UTC.
//! - Lines that begin with `#### ` are the user's. Lines that begin with `> ` are aider's own: settings, questions,
//!   output of commands, tokens. aider ends both with two spaces, which headings and quotes in an answer do not have.
//! - All other text is the answer. There are no tool calls: edits are blocks in the answer.

use tertulia_session::{EntryKind, Fields, ModelChange, Part, Role, Timestamp, Usage, Usd};

use super::item::{Item, Parent, Speakers};
use super::split::Piece;
use super::{NativeFormat, ReadSession};

const FORMAT: NativeFormat = NativeFormat::Aider;
const STARTED: &str = "# aider chat started at ";
const USER: &str = "#### ";
const NOTE: &str = "> ";
/// The commands that send their text to the model.
const ASKING: [&str; 5] = ["/ask", "/code", "/architect", "/context", "/help"];

/// Reads the records of a session of aider.
#[derive(Debug)]
pub(super) struct Reader {
    speakers: Speakers,
    model: Option<Box<str>>,
}

impl Reader {
    pub(super) fn new() -> Self {
        Self { speakers: Speakers::new(FORMAT), model: None }
    }

    pub(super) fn read(&mut self, text: &str, facts: &mut ReadSession) -> Item {
        if let Some(time) = text.strip_prefix(STARTED) {
            let timestamp = local_time(time.trim());
            let item = Item::known_record(FORMAT, "started");
            return Item { timestamp, parent: Parent::Root, ..item };
        }
        if text.starts_with(NOTE) {
            return self.notes(text, facts);
        }
        if text.starts_with(USER.trim_end()) {
            return self.user(text);
        }
        let parts = [Part::text(text.trim())];
        Item::new(EntryKind::Message(self.speakers.message(Role::Assistant, parts)))
    }

    /// Reads an input of the user. A command of aider is not sent to the model, except the commands in [`ASKING`].
    fn user(&self, text: &str) -> Item {
        let lines = text.lines().map(|line| {
            let line = line.strip_prefix(USER).or_else(|| line.strip_prefix(USER.trim_end()));
            let line = line.unwrap_or_default();
            line.strip_suffix("  ").unwrap_or(line)
        });
        let said = lines.collect::<Vec<_>>().join("\n");
        let command = said.split_whitespace().next().unwrap_or_default();
        let is_command = said.starts_with(['/', '!']) && !ASKING.contains(&command);
        if is_command || said.trim().is_empty() || said == "<blank>" {
            return Item::known_record(FORMAT, "command");
        }
        Item::new(EntryKind::Message(self.speakers.message(Role::User, [Part::text(said)])))
    }

    /// Reads a line of notes.
    fn notes(&mut self, text: &str, facts: &mut ReadSession) -> Item {
        let mut item = Item::known_record(FORMAT, "notes");
        let line = text.strip_prefix(NOTE).unwrap_or(text).trim();
        if let Some(version) = line.strip_prefix("Aider v") {
            facts.agent_version = Some(version.into());
        } else if let Some(model) = model(line) {
            if self.model.as_deref() != Some(model) {
                let change = ModelChange { model: model.into(), unknown: Fields::NONE };
                item.more.push(EntryKind::ModelChange(change));
            }
            self.model = Some(model.into());
            facts.model.clone_from(&self.model);
        } else if let Some(usage) = usage(line, self.model.as_deref()) {
            item.more.push(EntryKind::Usage(usage));
        }
        if !item.more.is_empty() {
            // The model and the usage belong to the branch.
            item.parent = Parent::Previous;
        }
        item
    }
}

/// Returns whether a text begins like a document of aider. The text may be cut at any position.
pub(super) fn is_document(text: &str) -> bool {
    text.trim_start_matches('\u{feff}').trim_start().starts_with(STARTED)
}

/// Splits a history into records. When the history grows, the records before the position that [`unfinished`] returns
/// stay the same.
pub(super) fn split(text: &str) -> Vec<Piece> {
    let mut splitter = Splitter::default();
    text.split_inclusive('\n').for_each(|line| splitter.push(line));
    splitter.end_piece();
    splitter.pieces
}

/// Returns the position of the last record, if more lines may belong to it.
pub(super) fn unfinished(text: &str) -> Option<usize> {
    let mut splitter = Splitter::default();
    let whole = text.rfind('\n').map_or(0, |end| end + 1);
    let (whole, cut) = text.split_at_checked(whole)?;
    whole.split_inclusive('\n').for_each(|line| splitter.push(line));
    let started = splitter.current.map(|(_, start)| start);
    started.or((!cut.is_empty()).then_some(whole.len()))
}

/// The speaker of a line.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Line {
    Started,
    User,
    Note,
    Answer,
}

/// Splits the text where the speaker changes. Each line of notes is a piece. Empty lines belong to the piece after
/// them, so that a piece does not change when aider writes more.
#[derive(Debug, Default)]
struct Splitter {
    pieces: Vec<Piece>,
    /// Whether the lines of the user end with two spaces, as aider writes them.
    is_marked: bool,
    /// The speaker of the piece that may continue, and the start of its first line.
    current: Option<(Line, usize)>,
    /// The end of the last piece.
    taken: usize,
    /// The end of the last line that is not empty.
    end: usize,
    at: usize,
}

impl Splitter {
    fn push(&mut self, line: &str) {
        let kind = self.kind(line);
        if line.trim().is_empty() && kind == Line::Answer {
            // Every input of the user follows an empty line, so this one is complete.
            if matches!(self.current, Some((Line::User, _))) {
                self.end_piece();
            }
            self.at += line.len();
            return;
        }
        if self.current.is_some_and(|(current, _)| current != kind) {
            self.end_piece();
        }
        self.current.get_or_insert((kind, self.at));
        self.at += line.len();
        self.end = self.at;
        if matches!(kind, Line::Started | Line::Note) {
            self.end_piece();
        }
    }

    fn kind(&mut self, line: &str) -> Line {
        let has_mark = matches!(line.trim_end_matches(['\r', '\n']).as_bytes(), [.., b' ', b' ']);
        let is_marked = !self.is_marked || has_mark;
        if line.starts_with(STARTED) {
            // Another version of aider may have written the session before.
            self.is_marked = false;
            Line::Started
        } else if line.starts_with(USER.trim_end()) && is_marked && is_user(line) {
            self.is_marked = has_mark;
            Line::User
        } else if line.starts_with(NOTE) && is_marked {
            Line::Note
        } else {
            Line::Answer
        }
    }

    fn end_piece(&mut self) {
        let Some((kind, start)) = self.current.take() else { return };
        // The value includes the line break before an answer, which distinguishes it from a note: an answer may
        // begin with `> `.
        let shift = usize::from(kind == Line::Answer && start > 0);
        self.pieces.push(Piece::record(self.taken..self.end, start - shift..self.end));
        self.taken = self.end;
    }
}

/// Returns whether a line begins with exactly four number signs.
fn is_user(line: &str) -> bool {
    line.strip_prefix(USER.trim_end()).is_some_and(|rest| rest.starts_with([' ', '\r', '\n']))
}

/// Returns the model in a note such as `Main model: gpt-4o with diff edit format`.
fn model(line: &str) -> Option<&str> {
    let starts = ["Main model: ", "Model: ", "Models: "];
    let rest = starts.iter().find_map(|start| line.strip_prefix(start))?;
    let model = rest.split_once(" with ").map_or(rest, |(model, _)| model);
    (!model.contains(char::is_whitespace) && !model.is_empty()).then_some(model)
}

/// Reads `Tokens: 3.4k sent, 1.2k cache hit, 45 received. Cost: $0.17 message, $0.20 session.`, or the format of
/// earlier versions, `3400 prompt tokens, 45 completion tokens, $0.17 cost`.
fn usage(line: &str, model: Option<&str>) -> Option<Usage> {
    let line = match line.strip_prefix("Tokens: ") {
        Some(line) => line,
        None if line.ends_with(" cost") => line,
        None => return None,
    };
    let before = |unit: &str| {
        let (before, _) = line.split_once(unit)?;
        before.rsplit([' ', ',']).next()
    };
    let either = |unit: &str, earlier: &str| before(unit).or_else(|| before(earlier));
    let cost = either(" message,", " cost").and_then(|cost| cost.strip_prefix('$'));
    Some(Usage {
        member: FORMAT.as_str().into(),
        model: model.map(Into::into),
        input_tokens: tokens(either(" sent", " prompt tokens")?)?,
        cached_tokens: before(" cache hit").and_then(tokens),
        output_tokens: tokens(either(" received", " completion tokens")?)?,
        cost_usd: cost.and_then(|cost| Usd::new(cost.parse().ok()?)),
        agent: Some(FORMAT.as_str().into()),
        ..Usage::default()
    })
}

/// Reads `45`, `3.4k`, `34k` or `34,000`.
fn tokens(text: &str) -> Option<u64> {
    let (digits, factor) = match text.strip_suffix('k') {
        Some(digits) => (digits, 1000.0),
        None => (text, 1.0),
    };
    let number: f64 = digits.parse().ok()?;
    let is_count = number.is_finite() && number >= 0.0;
    #[expect(
        clippy::cast_possible_truncation,
        clippy::cast_sign_loss,
        reason = "not negative was just checked; the cast saturates"
    )]
    is_count.then(|| (number * factor).round() as u64)
}

/// Reads `2026-01-31 12:00:00` as UTC.
fn local_time(text: &str) -> Option<Timestamp> {
    let (date, time) = text.split_once(' ')?;
    let millis = format!("{date}T{time}Z").parse::<Timestamp>().ok()?.millis();
    Some(Timestamp::from_millis(millis))
}
