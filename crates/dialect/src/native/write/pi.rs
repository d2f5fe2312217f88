//! Writes sessions of pi: a header, and a chain of messages.

use std::borrow::Cow;

use tertulia_session::json::Json;
use tertulia_session::{Image, Timestamp};

use super::super::pi::PROVIDER;
use super::lines::Lines;
use super::steps::{AssistantPiece, CallResult, Step, Steps, UserPiece};
use super::turns::{Answer, Turn, turns};
use super::{WriteRequest, Written, native_record_id};
use crate::arguments::as_object;
use crate::content::{Picture, picture};
use crate::fragment::Node;

/// Writes the steps as records.
pub(super) fn write(request: &WriteRequest<'_>, steps: &Steps<'_>) -> Written {
    let mut chain = Chain {
        lines: Lines::default(),
        before: request.continues.as_ref().and_then(|end| end.last_record_id.clone()),
    };
    if request.continues.is_none() {
        let started = steps.steps.first().map_or(&request.now, |step| &step.at);
        chain.lines.push(&Node::typed(
            "session",
            [
                ("version", number(3)),
                ("id", Node::text(request.session_id)),
                ("timestamp", Node::text(started.to_iso())),
                ("cwd", Node::text(request.folder)),
            ],
        ));
        if let Some(title) = request.title {
            let id = native_record_id(request.session_id, &"title".into(), 0);
            chain.push("session_info", id, started, ("name", Node::text(title)));
        }
    }
    for turn in turns(&steps.steps) {
        let id = |step: &Step<'_>, record| step.record_id(request.session_id, record);
        match turn {
            Turn::User(step, pieces) => {
                let content = pieces.iter().map(user_part).collect();
                let message = message_node(step, "user", content);
                chain.push("message", id(step, 0), &step.at, ("message", message));
            }
            Turn::Answer(answer) => {
                let step = answer.step;
                let message = answer_message(&answer, request.model);
                chain.push("message", id(step, 0), &step.at, ("message", message));
                let Some((step, results)) = answer.results else { continue };
                for (record, result) in results.iter().enumerate() {
                    let message = result_message(step, result);
                    chain.push("message", id(step, record), &step.at, ("message", message));
                }
            }
        }
    }
    chain.lines.finish()
}

/// Records that each follow the previous one.
struct Chain {
    lines: Lines,
    /// The last record of the existing session.
    before: Option<Box<str>>,
}

impl Chain {
    fn push(
        &mut self,
        kind: &'static str,
        id: String,
        at: &Timestamp,
        field: (&'static str, Node<'_>),
    ) {
        let parent = self.lines.last_record_id().or(self.before.as_deref());
        let parent = parent.map_or(Node::Null, |id| Node::text(id.to_owned()));
        let record = Node::typed(
            kind,
            [
                ("id", Node::text(id.clone())),
                ("parentId", parent),
                ("timestamp", Node::text(at.to_iso())),
                field,
            ],
        );
        self.lines.push_with_id(id, &record);
    }
}

fn message_node<'a>(step: &Step<'_>, role: &'static str, content: Vec<Node<'a>>) -> Node<'a> {
    Node::Map(vec![
        ("role", Node::text(role)),
        ("content", Node::List(content)),
        ("timestamp", number(step.at.millis())),
    ])
}

fn user_part<'a>(piece: &'a UserPiece<'_>) -> Node<'a> {
    match piece {
        UserPiece::Text(text) => text_part(text),
        UserPiece::Image(image) => image_part(image),
    }
}

fn answer_message<'a>(answer: &'a Answer<'_, '_>, model: Option<&'a str>) -> Node<'a> {
    let reason = if answer.calls() { "toolUse" } else { "stop" };
    let parts = answer.pieces.iter().filter_map(|piece| match piece {
        AssistantPiece::Text(text) => Some(text_part(text)),
        // The profile accepts no thinking.
        AssistantPiece::Thinking { .. } => None,
        AssistantPiece::Call(call) => Some(Node::typed(
            "toolCall",
            [
                ("id", Node::text(&*call.id)),
                ("name", Node::text(&*call.name)),
                ("arguments", as_object(0, call.call, &mut Vec::new())),
            ],
        )),
    });
    let (provider, model) = match model.and_then(|model| model.split_once('/')) {
        Some((provider, model)) => (provider, model),
        None => (PROVIDER, model.unwrap_or("unknown")),
    };
    let mut message = message_node(answer.step, "assistant", parts.collect());
    message.push("api", Node::text(PROVIDER));
    message.push("provider", Node::text(provider));
    message.push("model", Node::text(model));
    message.push("usage", raw(NO_USAGE));
    message.push("stopReason", Node::text(reason));
    message
}

const NO_USAGE: &str = r#"{"input":0,"output":0,"cacheRead":0,"cacheWrite":0,"totalTokens":0,"cost":{"input":0,"output":0,"cacheRead":0,"cacheWrite":0,"total":0}}"#;

fn result_message<'a>(step: &Step<'_>, result: &'a CallResult<'_>) -> Node<'a> {
    let has_text = !result.text.is_empty() || result.images.is_empty();
    let text = has_text.then(|| text_part(&result.text));
    let content = text.into_iter().chain(result.images.iter().map(image_part)).collect();
    let mut message = message_node(step, "toolResult", content);
    message.push("toolCallId", Node::text(&*result.id));
    message.push("toolName", Node::text(&*result.name));
    message.push("isError", Node::Bool(result.is_error));
    message
}

fn text_part(text: &str) -> Node<'_> {
    Node::typed("text", [("text", Node::text(text))])
}

/// Returns a picture. pi accepts only data, so a picture with an address becomes a text with the address.
fn image_part(image: &Image) -> Node<'_> {
    match picture(image) {
        Ok(Picture::Data { mime_type, data }) => {
            Node::typed("image", [("data", Node::text(data)), ("mimeType", Node::text(mime_type))])
        }
        Ok(Picture::Url { url, .. }) => {
            Node::typed("text", [("text", Node::text(format!("[picture: {url}]")))])
        }
        // The profile accepts no pictures of this kind.
        Err(_) => text_part("[picture]"),
    }
}

fn number<'a>(number: i64) -> Node<'a> {
    raw(&number.to_string())
}

fn raw<'a>(json: &str) -> Node<'a> {
    Json::parse(json).map_or(Node::Null, |json| Node::Raw(Cow::Owned(json)))
}
