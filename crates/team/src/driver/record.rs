//! Selects which events of a turn the log keeps: tools, warnings and failures. Their size is limited, because a
//! session keeps them forever. They become entries that no prompt includes.

use tertulia_agent::{PermissionAnswer, PermissionRequest};
use tertulia_dialect::stream::{ErrorClass, StreamEvent, TurnOutput, Unparsed};
use tertulia_session::json::Json;
use tertulia_session::{Entry, Message, Routing, TurnActivity, Usage, Usd};

use crate::team::{Responder, Team};

const TEXT_BYTES_MAX: usize = 64 * 1024;
/// Maximum size of a stored partial answer. The rest is dropped, because a session keeps it forever.
pub(super) const PARTIAL_BYTES_MAX: usize = 1024 * 1024;
/// Replaces a tool input that is too long.
const TOO_LONG: &str = "(too long)";
/// Size limit for names and identifiers, whose length the agent chooses.
const NAME_BYTES_MAX: usize = 256;
/// Maximum length of the note about the missing part of a name.
const MISSING_BYTES_MAX: usize = 48;
const LINE_BYTES_MAX: usize = 1024;

/// Returns the record of an event. Text has no record because it becomes the message, and usage has its own entries.
pub(super) fn activity_of(event: &StreamEvent) -> Option<TurnActivity> {
    Some(match event {
        StreamEvent::Started { session_id: Some(session), model } => {
            let model = model.as_deref().map(name);
            TurnActivity::Began { session: cut(session, LINE_BYTES_MAX), model }
        }
        StreamEvent::ToolStarted { id, name: tool, input, .. } => {
            TurnActivity::ToolStarted { id: name(id), name: name(tool), input: short_input(input) }
        }
        StreamEvent::ToolFinished { id, name: tool, output, is_error } => {
            TurnActivity::ToolFinished {
                id: name(id),
                name: tool.as_deref().map(name),
                output: output.as_deref().map(|text| cut(text, TEXT_BYTES_MAX)),
                is_error: *is_error,
            }
        }
        StreamEvent::ToolDenied(denied) => {
            let reason = denied.reason.as_deref().map(|text| cut(text, TEXT_BYTES_MAX));
            TurnActivity::ToolDenied { name: name(&denied.name), reason }
        }
        StreamEvent::Warning { class, message } => {
            let class = class.map(|class| class.as_str().into());
            TurnActivity::Warned { class, message: cut(message, TEXT_BYTES_MAX) }
        }
        StreamEvent::Violation { line, .. } => odd("that breaks the protocol", line),
        StreamEvent::Unparsed { reason: Unparsed::NotUtf8, line } => not_utf8(line),
        StreamEvent::Unparsed { line, .. } => odd("that cannot be read", line),
        StreamEvent::Oversize { prefix, .. } => odd("that is too long", prefix),
        _ => return None,
    })
}

pub(super) fn permission_asked(request: &PermissionRequest) -> TurnActivity {
    TurnActivity::PermissionAsked { title: cut(&request.title, TEXT_BYTES_MAX) }
}

pub(super) fn permission_answered(
    request: &PermissionRequest,
    answer: &PermissionAnswer,
) -> TurnActivity {
    let title = cut(&request.title, TEXT_BYTES_MAX);
    let chosen = match answer {
        PermissionAnswer::Choose(id) => request.choices.iter().find(|one| one.id == *id),
        PermissionAnswer::Deny | PermissionAnswer::EndTurn => None,
    };
    TurnActivity::PermissionAnswered { title, choice: chosen.map(|one| name(&one.name)) }
}

pub(super) fn failure(class: ErrorClass, message: &str) -> TurnActivity {
    let message = cut(message, TEXT_BYTES_MAX);
    TurnActivity::Failed { class: class.as_str().into(), message, cure: class.advice().into() }
}

/// Returns the usage of an answer, with the cost that the agent reported, or otherwise with the computed one.
pub(super) fn usage_of(team: &Team, member: &str, output: &TurnOutput) -> Option<Usage> {
    if output.usage.is_none() && output.cost.is_none() {
        return None;
    }
    let spec = match team.member(member).map(|one| &one.responder) {
        Some(Responder::Agent(spec)) => Some(spec),
        _ => None,
    };
    let configured = spec.and_then(|spec| spec.model.clone());
    let usage = output.usage.unwrap_or_default();
    let read = [usage.input, usage.cache_read, usage.cache_write];
    let mut usage = Usage {
        member: member.into(),
        model: output.model.clone().or(configured),
        input_tokens: read.into_iter().flatten().fold(0, u64::saturating_add),
        cached_tokens: usage.cache_read,
        output_tokens: usage.output.unwrap_or(0),
        cost_usd: output.cost.and_then(|cost| Usd::new(cost.usd)),
        cache_write_tokens: usage.cache_write,
        agent: spec.map(|spec| spec.kind.definition().word.into()),
        ..Usage::default()
    };
    team.prices.complete(&mut usage);
    Some(usage)
}

/// Shortens a partial answer, and returns a warning about the rest.
pub(super) fn kept_of(mut text: String) -> (String, Option<TurnActivity>) {
    let written = text.len();
    text.truncate(text.floor_char_boundary(PARTIAL_BYTES_MAX));
    let cut = (text.len() < written)
        .then(|| warning(format!("it wrote {written} bytes; the first {} are kept", text.len())));
    (text, cut)
}

/// Returns the record of invalid UTF-8. In plain text, only the invalid bytes were replaced; otherwise a whole line
/// was skipped.
fn not_utf8(line: &[u8]) -> TurnActivity {
    let Err(error) = std::str::from_utf8(line) else {
        return odd("that is not UTF-8", line);
    };
    let wrong = line.get(error.valid_up_to()..).unwrap_or_default();
    let wrong = wrong.get(..error.error_len().unwrap_or(wrong.len())).unwrap_or(wrong);
    let bytes: Vec<String> = wrong.iter().map(|byte| format!("0x{byte:02X}")).collect();
    let bytes = bytes.join(" ");
    if wrong.len() < line.len() {
        let position = error.valid_up_to() + 1;
        let why = format!("that is not UTF-8, byte {position} of it ({bytes}) is not a character");
        return odd(&why, line);
    }
    let message = format!(
        "it wrote text that is not UTF-8: {bytes} is not a character; \u{fffd} replaces it and all \
         later ones"
    );
    warning(message)
}

fn odd(why: &str, line: &[u8]) -> TurnActivity {
    let line = String::from_utf8_lossy(line.get(..LINE_BYTES_MAX).unwrap_or(line));
    warning(format!("it wrote a line {why}: {line}"))
}

/// Returns the record of a failure without a known class.
pub(super) fn warning(message: impl Into<Box<str>>) -> TurnActivity {
    TurnActivity::Warned { class: None, message: message.into() }
}

fn short_input(input: &Json) -> Json {
    if input.as_str().len() > TEXT_BYTES_MAX { Json::text(TOO_LONG) } else { input.clone() }
}

pub(super) fn cut(text: &str, bytes: usize) -> Box<str> {
    text.get(..text.floor_char_boundary(bytes)).unwrap_or(text).into()
}

/// Shortens an event to its stored size, so that waiting events do not fill the memory. Answers have their own limit.
pub(super) fn shorten(event: &mut StreamEvent) {
    match event {
        StreamEvent::ToolStarted { id, name: tool, input, .. } => {
            (*id, *tool) = (name(id), name(tool));
            *input = short_input(input);
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

/// Shortens a name, and appends the number of missing bytes.
fn name(text: &str) -> Box<str> {
    // A name that was already shortened stays as it is.
    if text.len() <= NAME_BYTES_MAX + MISSING_BYTES_MAX {
        return text.into();
    }
    let kept = cut(text, NAME_BYTES_MAX);
    format!("{kept}… ({} bytes more)", text.len() - kept.len()).into()
}

pub(super) fn partial_mark() -> Option<Json> {
    Json::parse(r#"{"partial":true}"#).ok()
}

/// Returns whether a driver received a message and found no addressee. Only a driver records the addressees of a
/// message; an import does not.
pub fn reached_nobody(message: &Message) -> bool {
    message.routing.as_deref() == Some(&Routing::to::<&str>([]))
}

/// Returns whether a message is only the beginning of an answer.
pub fn is_partial(entry: &Entry) -> bool {
    entry.meta.is_some() && entry.meta == partial_mark()
}
