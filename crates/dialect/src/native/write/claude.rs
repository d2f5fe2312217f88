//! Writes sessions of Claude Code: one record for every block of an answer and for every result. Each record names
//! the previous one. Claude Code merges the records of an answer by `message.id`.

use std::borrow::Cow;

use tertulia_session::json::Json;
use tertulia_session::{EntryId, Image, Part};

use super::steps::{
    AssistantPiece, CallPiece, CallResult, Profile, Step, StepContent, Steps, UserPiece,
};
use super::{WriteRequest, Written, native_record_id};
use crate::anthropic::image_node;
use crate::arguments::as_object;
use crate::content::text_field;
use crate::fragment::{Map, Node};

const WITH_THINKING: Profile = Profile { keeps_thinking: is_signed, ..Profile::COMMON };

/// Returns what a session can contain. Claude Code sends the thinking of an answer only if the answer names a Claude
/// model.
pub(super) fn profile(request: &WriteRequest<'_>) -> &'static Profile {
    if model(request).is_some() { &WITH_THINKING } else { &Profile::COMMON }
}

/// Returns the model if it is a Claude model. Claude Code continues with the model of the last answer if it names
/// one, and otherwise with its own.
fn model<'a>(request: &WriteRequest<'a>) -> Option<&'a str> {
    request.model.filter(|model| model.starts_with("claude-"))
}

/// The version of Claude Code whose records these are.
const VERSION: &str = "2.1.325";

const NO_USAGE: &str = r#"{"input_tokens":0,"cache_creation_input_tokens":0,"cache_read_input_tokens":0,"output_tokens":0}"#;

/// Maximum length of the last prompt in the record for lists of sessions.
const PROMPT_CHARS: usize = 200;

const SIGNATURE: &str = "signature";

/// Writes the steps as records.
pub(super) fn write(request: &WriteRequest<'_>, steps: &Steps<'_>) -> Written {
    let last = request.continues.as_ref().and_then(|end| end.last_record_id.clone());
    let mut writer = Writer { request, text: String::new(), records: 0, last, answer: None };
    let is_user = |step: &Step<'_>| matches!(step.content, StepContent::User(_));
    // If records of the user follow each other, Claude Code adds line breaks. So they are written together.
    let mut runs = steps.steps.chunk_by(|one, next| is_user(one) && is_user(next)).peekable();
    while let Some(run) = runs.next() {
        let stop_reason = match runs.peek().and_then(|next| next.first()).map(|next| &next.content)
        {
            Some(StepContent::Assistant(_)) => None,
            Some(StepContent::Results(_)) => Some("tool_use"),
            Some(StepContent::User(_)) | None => Some("end_turn"),
        };
        writer.run(run, stop_reason);
    }
    writer.end(steps);
    Written {
        text: writer.text,
        is_document: false,
        records: writer.records,
        last_record_id: writer.last,
        items: Vec::new(),
    }
}

/// Returns whether thinking has a signature of Claude. Claude rejects thinking without a signature.
fn is_signed(part: &Part) -> bool {
    text_field(part.unknown_payload(), SIGNATURE).is_some()
}

struct Writer<'w, 'a> {
    request: &'w WriteRequest<'a>,
    text: String,
    records: u64,
    /// The id of the last record.
    last: Option<Box<str>>,
    /// The `message.id` of the answer that continues in the next record.
    answer: Option<String>,
}

impl Writer<'_, '_> {
    /// Writes steps of the user, or one other step. An answer without a reason to stop continues in the next step.
    fn run(&mut self, run: &[Step<'_>], stop_reason: Option<&'static str>) {
        let Some(step) = run.last() else { return };
        match &step.content {
            StepContent::User(_) => {
                self.answer = None;
                let pieces = run.iter().flat_map(|step| match &step.content {
                    StepContent::User(pieces) => pieces.as_slice(),
                    StepContent::Assistant(_) | StepContent::Results(_) => &[],
                });
                let content = user_content(&pieces.collect::<Vec<_>>());
                let message = vec![("role", Node::text("user")), ("content", content)];
                self.record(step, 0, "user", message);
            }
            StepContent::Assistant(pieces) => {
                for (at, piece) in pieces.iter().enumerate() {
                    let stop_reason = stop_reason.filter(|_| at + 1 == pieces.len());
                    let message = self.answer_message(step, at, piece, stop_reason);
                    self.record(step, at, "assistant", message);
                }
            }
            StepContent::Results(results) => {
                self.answer = None;
                for (at, result) in results.iter().enumerate() {
                    let content = Node::List(vec![result_node(result)]);
                    let message = vec![("role", Node::text("user")), ("content", content)];
                    self.record(step, at, "user", message);
                }
            }
        }
    }

    /// Returns one block of an answer as a response of the API.
    fn answer_message<'n>(
        &mut self,
        step: &Step<'_>,
        record: usize,
        piece: &'n AssistantPiece<'n>,
        stop_reason: Option<&'static str>,
    ) -> Map<'n> {
        let id = match &self.answer {
            Some(id) => id.clone(),
            None => {
                let id = self.record_id(step, record).replace('-', "");
                self.answer.insert(format!("msg_{id}")).clone()
            }
        };
        let mut message = vec![
            ("id", Node::text(id)),
            ("type", Node::text("message")),
            ("role", Node::text("assistant")),
            ("content", Node::List(vec![block(piece)])),
            ("stop_reason", stop_reason.map_or(Node::Null, Node::text)),
            ("stop_sequence", Node::Null),
            ("usage", usage()),
        ];
        message.extend(model(self.request).map(|model| ("model", Node::text(model.to_owned()))));
        message
    }

    /// Returns the id of a record. The id of an added step depends on the previous record, because a continued
    /// session may already have an added step of the same kind.
    fn record_id(&self, step: &Step<'_>, record: usize) -> String {
        match (step.source, &self.last) {
            (None, Some(last)) => {
                native_record_id(self.request.session_id, &EntryId::from(&**last), record)
            }
            _ => step.record_id(self.request.session_id, record),
        }
    }

    fn record(&mut self, step: &Step<'_>, number: usize, kind: &'static str, message: Map<'_>) {
        let id = self.record_id(step, number);
        let parent = self.last.take().map_or(Node::Null, |last| Node::text(last.into_string()));
        self.line(vec![
            ("parentUuid", parent),
            ("isSidechain", Node::Bool(false)),
            ("type", Node::text(kind)),
            ("message", Node::Map(message)),
            ("uuid", Node::text(id.clone())),
            ("timestamp", Node::text(step.at.to_iso())),
            ("userType", Node::text("external")),
            ("entrypoint", Node::text("cli")),
            ("cwd", Node::text(self.request.folder)),
            ("sessionId", Node::text(self.request.session_id)),
            ("version", Node::text(VERSION)),
        ]);
        self.last = Some(id.into());
    }

    /// Writes the end of the conversation and the title. Claude Code continues at the end that was recorded last. It
    /// searches for both at the end of the file.
    fn end(&mut self, steps: &Steps<'_>) {
        let session = self.request.session_id;
        let leaf = self.last.clone().unwrap_or_default().into_string();
        self.line(vec![
            ("type", Node::text("last-prompt")),
            ("lastPrompt", Node::text(last_prompt(steps))),
            ("leafUuid", Node::text(leaf)),
            ("sessionId", Node::text(session)),
        ]);
        let Some(title) = self.request.title else { return };
        self.line(vec![
            ("type", Node::text("custom-title")),
            ("customTitle", Node::text(title)),
            ("sessionId", Node::text(session)),
        ]);
    }

    fn line(&mut self, fields: Map<'_>) {
        self.text.push_str(&Node::Map(fields).to_text());
        self.text.push('\n');
        self.records += 1;
    }
}

/// Returns the beginning of the last message of the user.
fn last_prompt(steps: &Steps<'_>) -> String {
    let said = steps.steps.iter().rev().find_map(|step| match &step.content {
        StepContent::User(pieces) => pieces.iter().find_map(|piece| match piece {
            UserPiece::Text(text) => Some(&**text),
            UserPiece::Image(_) => None,
        }),
        StepContent::Assistant(_) | StepContent::Results(_) => None,
    });
    said.unwrap_or_default().chars().take(PROMPT_CHARS).collect()
}

/// Returns the content of a user message. A single text becomes a string.
fn user_content<'n>(pieces: &[&'n UserPiece<'n>]) -> Node<'n> {
    if let [UserPiece::Text(text)] = pieces {
        return Node::text(&**text);
    }
    let piece = |piece: &&'n UserPiece<'n>| match piece {
        UserPiece::Text(text) => Some(text_node(text)),
        UserPiece::Image(image) => image_node(image).ok(),
    };
    Node::List(pieces.iter().filter_map(piece).collect())
}

fn block<'n>(piece: &'n AssistantPiece<'n>) -> Node<'n> {
    match piece {
        AssistantPiece::Text(text) => text_node(text),
        AssistantPiece::Thinking { text, part } => {
            let signature = text_field(part.unknown_payload(), SIGNATURE).unwrap_or_default();
            let fields = [("thinking", Node::text(*text)), (SIGNATURE, Node::text(signature))];
            Node::typed("thinking", fields)
        }
        AssistantPiece::Call(CallPiece { id, name, call }) => {
            let fields = [
                ("id", Node::text(&**id)),
                ("name", Node::text(&**name)),
                ("input", as_object(0, call, &mut Vec::new())),
            ];
            Node::typed("tool_use", fields)
        }
    }
}

fn result_node<'n>(result: &'n CallResult<'n>) -> Node<'n> {
    let CallResult { id, text, images, is_error, name: _ } = result;
    let content = if images.is_empty() {
        Node::text(text.as_str())
    } else {
        let text = Some(text_node(text)).filter(|_| !text.is_empty());
        let images = images.iter().filter_map(|image: &Image| image_node(image).ok());
        Node::List(text.into_iter().chain(images).collect())
    };
    let fields = [
        ("tool_use_id", Node::text(&**id)),
        ("content", content),
        ("is_error", Node::Bool(*is_error)),
    ];
    Node::typed("tool_result", fields)
}

fn text_node(text: &str) -> Node<'_> {
    Node::typed("text", [("text", Node::text(text))])
}

/// Returns a usage of zero, because writing an existing answer costs nothing.
fn usage<'n>() -> Node<'n> {
    let usage = Json::parse(NO_USAGE);
    usage.map_or(Node::Null, |usage| Node::Raw(Cow::Owned(usage)))
}
