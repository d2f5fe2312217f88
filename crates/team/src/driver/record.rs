//! What an agent did during its turn, as entries: tools, thinking, warnings, failures. They are `custom`
//! entries, so that no prompt and no model sees them; whoever shows a session reads them back here.

use serde_json::{Value, json};
use tertulia_agent::{PermissionAnswer, PermissionRequest};
use tertulia_dialect::stream::{ErrorClass, StreamEvent, Unparsed};
use tertulia_session::json::Json;
use tertulia_session::{Entry, EntryId, EntryKind, Message, Routing};

/// Of a longer text the beginning is kept.
const TEXT_BYTES_MAX: usize = 64 * 1024;
/// What stands for the input of a tool that is longer.
const TOO_LONG: &str = "\"(too long)\"";
/// Of a name or an identifier, of which the agent decides the length.
const NAME_BYTES_MAX: usize = 256;
/// What says how much of a name is missing is never longer.
const MISSING_BYTES_MAX: usize = 48;
/// Of a line that could not be read.
const LINE_BYTES_MAX: usize = 1024;

/// Something that happened during a turn and is no message.
#[derive(Clone, Debug, PartialEq)]
pub struct TurnNote {
    /// The turn.
    pub turn: EntryId,
    /// Whose it is.
    pub member: Box<str>,
    /// What happened.
    pub what: What,
}

/// What happened during a turn.
#[derive(Clone, Debug, PartialEq)]
pub enum What {
    /// The agent began a session of its own, in which its own record of the turn is kept.
    Began {
        /// The agent's id of that session.
        session: Box<str>,
        /// The model that it says it will ask.
        model: Option<Box<str>>,
    },
    /// A tool was called.
    ToolStarted {
        /// The agent's id of the call.
        id: Box<str>,
        /// The tool.
        name: Box<str>,
        /// What it was given, as JSON.
        input: Box<str>,
    },
    /// A tool ended.
    ToolFinished {
        /// The agent's id of the call.
        id: Box<str>,
        /// The tool.
        name: Option<Box<str>>,
        /// What it gave.
        output: Option<Box<str>>,
        /// Whether it failed.
        is_error: bool,
    },
    /// A tool was not allowed.
    ToolDenied {
        /// The tool.
        name: Box<str>,
        /// Why.
        reason: Option<Box<str>>,
    },
    /// The agent asked to be allowed something.
    PermissionAsked {
        /// What it wanted, in its words.
        title: Box<str>,
    },
    /// What it was told.
    PermissionAnswered {
        /// What it wanted.
        title: Box<str>,
        /// The words of the choice; none for a no.
        choice: Option<Box<str>>,
    },
    /// The model thought.
    Thought {
        /// What it thought.
        text: Box<str>,
    },
    /// Something went wrong and the agent went on.
    Warned {
        /// The class, where it is known.
        class: Option<Box<str>>,
        /// What was said.
        message: Box<str>,
    },
    /// The turn failed.
    Failed {
        /// The class.
        class: Box<str>,
        /// What was said or seen.
        message: Box<str>,
        /// What to do.
        cure: Box<str>,
    },
    /// The prompt was too large, and the turn is tried again with a smaller one.
    Retried {
        /// The budget of the second attempt.
        budget: u64,
    },
}

impl TurnNote {
    pub(super) fn new(turn: &EntryId, member: &str, what: What) -> Self {
        Self { turn: turn.clone(), member: member.into(), what }
    }

    /// The entry's payload.
    pub(super) fn to_kind(&self) -> EntryKind {
        let mut fields = match &self.what {
            What::Began { session, model } => json!({"session": session, "model": model}),
            What::ToolStarted { id, name, input } => {
                let input = serde_json::from_str(input).unwrap_or(Value::Null);
                json!({"id": id, "name": name, "input": input})
            }
            What::ToolFinished { id, name, output, is_error } => {
                json!({"id": id, "name": name, "output": output, "isError": is_error})
            }
            What::ToolDenied { name, reason } => json!({"name": name, "reason": reason}),
            What::PermissionAsked { title } => json!({"title": title}),
            What::PermissionAnswered { title, choice } => {
                json!({"title": title, "choice": choice})
            }
            What::Thought { text } => json!({"text": text}),
            What::Warned { class, message } => json!({"class": class, "message": message}),
            What::Failed { class, message, cure } => {
                json!({"class": class, "message": message, "cure": cure})
            }
            What::Retried { budget } => json!({"budget": budget}),
        };
        if let Some(fields) = fields.as_object_mut() {
            fields.insert("agent".to_owned(), self.what.name().into());
            fields.insert("turn".to_owned(), self.turn.as_str().into());
            fields.insert("member".to_owned(), (*self.member).into());
        }
        EntryKind::Custom(Json::parse(&fields.to_string()).ok())
    }

    /// What an entry says of a turn, if it does.
    pub fn of(entry: &Entry) -> Option<Self> {
        let EntryKind::Custom(Some(payload)) = &entry.kind else { return None };
        let fields: Value = serde_json::from_str(payload.as_str()).ok()?;
        let text = |name: &str| fields.get(name)?.as_str().map(Box::<str>::from);
        let what = match fields.get("agent")?.as_str()? {
            "began" => What::Began { session: text("session")?, model: text("model") },
            "tool_started" => What::ToolStarted {
                id: text("id")?,
                name: text("name")?,
                input: fields.get("input")?.to_string().into(),
            },
            "tool_finished" => What::ToolFinished {
                id: text("id")?,
                name: text("name"),
                output: text("output"),
                is_error: fields.get("isError")?.as_bool()?,
            },
            "tool_denied" => What::ToolDenied { name: text("name")?, reason: text("reason") },
            "permission_asked" => What::PermissionAsked { title: text("title")? },
            "permission_answered" => {
                What::PermissionAnswered { title: text("title")?, choice: text("choice") }
            }
            "thought" => What::Thought { text: text("text")? },
            "warned" => What::Warned { class: text("class"), message: text("message")? },
            "failed" => What::Failed {
                class: text("class")?,
                message: text("message")?,
                cure: text("cure")?,
            },
            "retried" => What::Retried { budget: fields.get("budget")?.as_u64()? },
            _ => return None,
        };
        Some(Self { turn: EntryId::from(&*text("turn")?), member: text("member")?, what })
    }
}

impl What {
    fn name(&self) -> &'static str {
        match self {
            Self::Began { .. } => "began",
            Self::ToolStarted { .. } => "tool_started",
            Self::ToolFinished { .. } => "tool_finished",
            Self::ToolDenied { .. } => "tool_denied",
            Self::PermissionAsked { .. } => "permission_asked",
            Self::PermissionAnswered { .. } => "permission_answered",
            Self::Thought { .. } => "thought",
            Self::Warned { .. } => "warned",
            Self::Failed { .. } => "failed",
            Self::Retried { .. } => "retried",
        }
    }

    /// What is to be kept of an event; `None` for text, which becomes the message, and for figures,
    /// which become entries of their own.
    pub(super) fn of(event: &StreamEvent) -> Option<Self> {
        Some(match event {
            StreamEvent::Started { session_id: Some(session), model } => {
                let model = model.as_deref().map(name);
                Self::Began { session: cut(session, LINE_BYTES_MAX), model }
            }
            StreamEvent::ToolStarted { id, name: tool, input, .. } => {
                let input = input.as_str();
                let input = if input.len() > TEXT_BYTES_MAX { TOO_LONG } else { input };
                Self::ToolStarted { id: name(id), name: name(tool), input: input.into() }
            }
            StreamEvent::ToolFinished { id, name: tool, output, is_error } => Self::ToolFinished {
                id: name(id),
                name: tool.as_deref().map(name),
                output: output.as_deref().map(|text| cut(text, TEXT_BYTES_MAX)),
                is_error: *is_error,
            },
            StreamEvent::ToolDenied(denied) => {
                let reason = denied.reason.as_deref().map(|text| cut(text, TEXT_BYTES_MAX));
                Self::ToolDenied { name: name(&denied.name), reason }
            }
            StreamEvent::Warning { class, message } => {
                let class = class.map(|class| class.as_str().into());
                Self::Warned { class, message: cut(message, TEXT_BYTES_MAX) }
            }
            StreamEvent::Violation { line, .. } => Self::odd("that breaks the protocol", line),
            StreamEvent::Unparsed { reason: Unparsed::NotUtf8, line } => Self::not_utf8(line),
            StreamEvent::Unparsed { line, .. } => Self::odd("that cannot be read", line),
            StreamEvent::Oversize { head, .. } => Self::odd("that is too long", head),
            _ => return None,
        })
    }

    pub(super) fn permission_asked(request: &PermissionRequest) -> Self {
        Self::PermissionAsked { title: cut(&request.title, TEXT_BYTES_MAX) }
    }

    pub(super) fn permission_answered(
        request: &PermissionRequest,
        answer: &PermissionAnswer,
    ) -> Self {
        let title = cut(&request.title, TEXT_BYTES_MAX);
        let chosen = match answer {
            PermissionAnswer::Choose(id) => request.choices.iter().find(|one| one.id == *id),
            PermissionAnswer::Deny | PermissionAnswer::EndTurn => None,
        };
        Self::PermissionAnswered { title, choice: chosen.map(|one| name(&one.name)) }
    }

    pub(super) fn failure(class: ErrorClass, message: &str) -> Self {
        let message = cut(message, TEXT_BYTES_MAX);
        Self::Failed { class: class.as_str().into(), message, cure: class.cure().into() }
    }

    /// Of a plain text only the bytes are there that are no character, of which each stretch was replaced;
    /// else a whole line that was passed over.
    fn not_utf8(line: &[u8]) -> Self {
        let Err(error) = std::str::from_utf8(line) else {
            return Self::odd("that is not UTF-8", line);
        };
        let wrong = line.get(error.valid_up_to()..).unwrap_or_default();
        let wrong = wrong.get(..error.error_len().unwrap_or(wrong.len())).unwrap_or(wrong);
        let bytes: Vec<String> = wrong.iter().map(|byte| format!("0x{byte:02X}")).collect();
        let bytes = bytes.join(" ");
        if wrong.len() < line.len() {
            let place = error.valid_up_to() + 1;
            let why = format!("that is not UTF-8, byte {place} of it ({bytes}) is no character");
            return Self::odd(&why, line);
        }
        let message = format!(
            "it wrote text that is not UTF-8: {bytes} is no character; \u{fffd} stands for it, and for \
             any other that follows"
        );
        Self::Warned { class: None, message: message.into() }
    }

    fn odd(why: &str, line: &[u8]) -> Self {
        let line = String::from_utf8_lossy(line.get(..LINE_BYTES_MAX).unwrap_or(line));
        Self::Warned { class: None, message: format!("it wrote a line {why}: {line}").into() }
    }
}

fn cut(text: &str, bytes: usize) -> Box<str> {
    text.get(..text.floor_char_boundary(bytes)).unwrap_or(text).into()
}

/// Cuts what an event says down to what is kept of it, so that events that wait do not fill the memory. The
/// text of an answer has a limit of its own.
pub(super) fn shorten(event: &mut StreamEvent) {
    match event {
        StreamEvent::ToolStarted { id, name: tool, input, .. } => {
            (*id, *tool) = (name(id), name(tool));
            if input.as_str().len() > TEXT_BYTES_MAX
                && let Ok(note) = Json::parse(TOO_LONG)
            {
                *input = note;
            }
        }
        StreamEvent::ToolFinished { id, name: tool, output, .. } => {
            *id = name(id);
            *tool = tool.as_deref().map(name);
            if let Some(text) = output.as_mut().filter(|text| text.len() > TEXT_BYTES_MAX) {
                *text = cut(text, TEXT_BYTES_MAX).into();
            }
        }
        StreamEvent::Warning { message, .. } if message.len() > TEXT_BYTES_MAX => {
            *message = cut(message, TEXT_BYTES_MAX);
        }
        _ => {}
    }
}

/// A name as it is kept. Of a longer one the beginning, with the number of bytes that are missing.
fn name(text: &str) -> Box<str> {
    // One that was shortened already stays as it is.
    if text.len() <= NAME_BYTES_MAX + MISSING_BYTES_MAX {
        return text.into();
    }
    let kept = cut(text, NAME_BYTES_MAX);
    format!("{kept}… ({} bytes more)", text.len() - kept.len()).into()
}

/// Marks a message as the beginning of an answer that did not come to its end.
pub(super) fn partial_mark() -> Option<Json> {
    Json::parse(r#"{"partial":true}"#).ok()
}

/// Whether a table heard a message and found nobody for it: the driver notes whom a message reached,
/// while an import notes what was written in it.
pub fn reached_nobody(message: &Message) -> bool {
    message.routing.as_deref() == Some(&Routing::to::<&str>([]))
}

/// Whether a message is only the beginning of an answer.
pub fn is_partial(entry: &Entry) -> bool {
    entry.meta.is_some() && entry.meta == partial_mark()
}
