//! Converts the entries of a branch to blocks of a document. A call and its result form one block: a call waits for
//! its result until the next message. Entries that only record states of turns have no block.

use tertulia_session::json::{Json, RawValue};
use tertulia_session::{
    Entry, EntryKind, Image, Message, Part, PartKind, ResultPiece, Role, ToolResult, TurnActivity,
};
use tertulia_team::is_partial;

use super::When;
use super::call::{Call, Snippet};
use super::clean::one_line;
use crate::names::short;
use crate::session_file::name_of;

/// Maximum number of calls that wait for their results.
const WAITING_MAX: usize = 64;

/// A block of a document.
#[derive(Debug)]
pub(super) enum Block<'a> {
    /// The start of a message of a new speaker.
    Heading(Heading<'a>),
    /// Text of a message, in Markdown.
    Prose(&'a str),
    Thinking(&'a str),
    Tool(Tool),
    Picture(&'a Image),
    /// A summary that replaced earlier messages for the model.
    Summary(&'a str),
    /// A line within a message.
    Note(String),
    /// A line about the session, outside messages.
    SessionNote(String),
}

/// The start of a message.
#[derive(Clone, Debug)]
pub(super) struct Heading<'a> {
    pub name: &'a str,
    pub when: When<'a>,
    /// The short id of the entry.
    pub id: String,
    /// Whether the answer was cut off.
    pub is_partial: bool,
}

/// A tool call with its result, or only one of them.
#[derive(Debug, Default)]
pub(super) struct Tool {
    pub call: Option<Call>,
    pub outcome: Option<Outcome>,
}

/// The result of a tool.
#[derive(Debug, Default)]
pub(super) struct Outcome {
    pub is_error: bool,
    pub output: Option<Snippet>,
    pub pictures: Vec<Image>,
}

/// A function that receives blocks.
type Take<'t> = &'t mut dyn FnMut(Block<'_>);

/// Turns entries into blocks.
#[derive(Debug, Default)]
pub(super) struct Blocks {
    /// The current speaker, and whether it is an agent. Further messages of the same agent have no heading.
    speaker: Option<(Box<str>, bool)>,
    waiting: Vec<Call>,
}

impl Blocks {
    /// Adds the blocks of the next entry.
    pub(super) fn entry(&mut self, entry: &Entry, when: When<'_>, take: Take<'_>) {
        let note = match &entry.kind {
            EntryKind::Message(message) => return self.message(entry, message, when, take),
            EntryKind::TurnEvent(event) => {
                return self.activity(entry, &event.member, &event.activity, when, take);
            }
            EntryKind::CompactionSummary(summary) => {
                self.interrupt(take);
                return take(Block::Summary(&summary.summary));
            }
            EntryKind::TeamTask(task) => match &task.task {
                Some(task) => format!("Task: {}", one_line(task)),
                None => "Task cleared".to_owned(),
            },
            EntryKind::Purged(purged) => format!("[redacted {}]", one_line(&purged.type_name)),
            EntryKind::ModelChange(change) => format!("Model: {}", one_line(&change.model)),
            _ => return,
        };
        self.interrupt(take);
        take(Block::SessionNote(note));
    }

    /// Adds the calls that have no result.
    pub(super) fn end(&mut self, take: Take<'_>) {
        for call in self.waiting.drain(..) {
            take(Block::Tool(Tool { call: Some(call), outcome: None }));
        }
    }

    /// Ends the message of the current speaker.
    fn interrupt(&mut self, take: Take<'_>) {
        self.end(take);
        self.speaker = None;
    }

    fn message(&mut self, entry: &Entry, message: &Message, when: When<'_>, take: Take<'_>) {
        if !is_partial(entry) && message.parts.iter().all(is_empty) {
            return;
        }
        let role = message.effective_role();
        let has_results = |part: &Part| matches!(part.kind, PartKind::ToolResult(_));
        let is_result = role == Role::Tool || message.parts.iter().all(has_results);
        if !(is_result && self.speaker.is_some()) {
            let name = name_of(message);
            let cut_off = is_partial(entry);
            let goes_on = role == Role::Assistant && !cut_off;
            self.heading(entry, name, goes_on, cut_off, when, take);
        }
        for part in &message.parts {
            self.part(part, take);
        }
    }

    /// Adds a heading, unless the same agent continues.
    fn heading(
        &mut self,
        entry: &Entry,
        name: &str,
        goes_on: bool,
        is_partial: bool,
        when: When<'_>,
        take: Take<'_>,
    ) {
        let is_same = |(speaker, is_agent): &(Box<str>, bool)| *is_agent && **speaker == *name;
        if goes_on && self.speaker.as_ref().is_some_and(is_same) {
            return;
        }
        self.interrupt(take);
        let id = short(entry.id.as_str());
        take(Block::Heading(Heading { name, when, id, is_partial }));
        self.speaker = Some((name.into(), goes_on));
    }

    fn part(&mut self, part: &Part, take: Take<'_>) {
        match &part.kind {
            PartKind::ToolCall(call) => {
                let raw = call.raw_args_text.as_deref();
                let call = Call::new(&call.tool_call_id, &call.tool_name, &call.arguments, raw);
                return self.wait(call, take);
            }
            PartKind::ToolResult(result) => {
                let outcome = Outcome::new(result);
                return self.finish(&result.tool_call_id, None, outcome, take);
            }
            _ if is_empty(part) => return,
            _ => {}
        }
        self.end(take);
        match &part.kind {
            PartKind::Text(text) => take(Block::Prose(text)),
            PartKind::Thinking(text) => take(Block::Thinking(text)),
            PartKind::Image(image) => take(Block::Picture(image)),
            PartKind::FileRef(file) => take(Block::Note(format!("File: {}", one_line(&file.path)))),
            PartKind::Other(other) => take(Block::Note(format!("[{}]", one_line(&other.kind)))),
            PartKind::ToolCall(_) | PartKind::ToolResult(_) => {}
        }
    }

    /// Adds an action of an agent of the team during its turn.
    fn activity(
        &mut self,
        entry: &Entry,
        member: &str,
        activity: &TurnActivity,
        when: When<'_>,
        take: Take<'_>,
    ) {
        let note = match activity {
            TurnActivity::ToolStarted { id, name, input } => {
                self.heading(entry, member, true, false, when, take);
                return self.wait(Call::new(id, name, input, None), take);
            }
            TurnActivity::ToolFinished { id, name, output, is_error } => {
                let output = output.as_deref().and_then(Snippet::of_output);
                let outcome = Outcome { is_error: *is_error, output, pictures: Vec::new() };
                self.heading(entry, member, true, false, when, take);
                return self.finish(id, name.as_deref(), outcome, take);
            }
            TurnActivity::Thought { text } => {
                self.heading(entry, member, true, false, when, take);
                self.end(take);
                return take(Block::Thinking(text));
            }
            TurnActivity::ToolDenied { name, reason } => {
                let reason = reason.as_deref().map(|reason| format!(": {}", one_line(reason)));
                format!("{} was not allowed{}", one_line(name), reason.unwrap_or_default())
            }
            TurnActivity::PermissionAnswered { title, choice } => {
                let choice = choice.as_deref().map_or_else(|| "denied".to_owned(), one_line);
                format!("{}: {choice}", one_line(title))
            }
            TurnActivity::Failed { message, .. } => format!("Failed: {}", one_line(message)),
            _ => return,
        };
        self.heading(entry, member, true, false, when, take);
        self.end(take);
        take(Block::Note(note));
    }

    fn wait(&mut self, call: Call, take: Take<'_>) {
        if self.waiting.len() >= WAITING_MAX {
            self.end(take);
        }
        self.waiting.push(call);
    }

    fn finish(&mut self, id: &str, name: Option<&str>, outcome: Outcome, take: Take<'_>) {
        let at = self.waiting.iter().position(|call| *call.id == *id);
        let call = at.map(|at| self.waiting.remove(at)).or_else(|| {
            let nothing = Json::from(RawValue::NULL);
            name.map(|name| Call::new(id, name, &nothing, None))
        });
        take(Block::Tool(Tool { call, outcome: Some(outcome) }));
    }
}

/// Returns whether a part contains nothing to read.
fn is_empty(part: &Part) -> bool {
    match &part.kind {
        PartKind::Text(text) | PartKind::Thinking(text) => text.trim().is_empty(),
        _ => false,
    }
}

impl Outcome {
    fn new(result: &ToolResult) -> Self {
        let pictures = result.pieces().filter_map(|piece| match piece {
            ResultPiece::Image(image) => Some(image),
            ResultPiece::Text(_) | ResultPiece::Other(_) => None,
        });
        let pictures = pictures.collect();
        Self { is_error: result.is_error, output: Snippet::of_output(&result.text()), pictures }
    }
}
