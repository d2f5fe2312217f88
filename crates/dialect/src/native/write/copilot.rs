//! Writes sessions of Copilot CLI as the events that it writes itself, in `session-state/<id>/events.jsonl`. Copilot
//! CLI accepts them unchanged. Its command `sessions import` would give the session another id and today's date, and
//! cannot add to a session.

use tertulia_session::{Image, Timestamp};

use super::exchange::{Answer, Content, Exchange, exchanges};
use super::lines::Lines;
use super::steps::{CallPiece, CallResult, Profile, Steps, UserPiece};
use super::{WriteRequest, Written};
use crate::arguments::as_object;
use crate::content::{Picture, common_picture};
use crate::fragment::{Map, Node};

/// Only some models get the pictures in results.
pub(super) const PROFILE: Profile =
    Profile { joins_user_texts: true, result_images: false, ..Profile::OF_ANY_API };

/// The version of Copilot CLI whose events these are.
const VERSION: &str = "1.0.102";

/// Writes the steps as records.
pub(super) fn write(request: &WriteRequest<'_>, steps: &Steps<'_>) -> Written {
    let exchanges = exchanges(steps);
    let before = request.continues.as_ref().and_then(|end| end.last_record_id.clone());
    let mut events = Events { lines: Lines::default(), before, request };
    if request.continues.is_none() {
        events.start(exchanges.first());
    }
    for exchange in &exchanges {
        match &exchange.content {
            Content::User(pieces) => events.user(exchange, pieces),
            Content::Answer(answer) => events.answer(exchange, answer),
        }
    }
    events.lines.finish()
}

/// The events so far.
struct Events<'r, 'a> {
    lines: Lines,
    /// The last event of an existing session.
    before: Option<Box<str>>,
    request: &'r WriteRequest<'a>,
}

impl Events<'_, '_> {
    fn push(&mut self, kind: &'static str, id: &str, at: &Timestamp, data: Map<'_>) {
        let last = self.lines.last_record_id().or(self.before.as_deref()).map(str::to_owned);
        let event = Node::typed(
            kind,
            [
                ("data", Node::Map(data)),
                ("id", Node::text(id)),
                ("timestamp", Node::text(at.to_iso())),
                ("parentId", last.map_or(Node::Null, Node::text)),
            ],
        );
        self.lines.push_with_id(id.to_owned(), &event);
    }

    fn start(&mut self, first: Option<&Exchange<'_, '_>>) {
        let at = first.map_or(&self.request.now, |first| &first.step.at);
        let request = self.request;
        let mut data = vec![
            ("sessionId", Node::text(request.session_id)),
            ("version", Node::number(1)),
            ("producer", Node::text("tertulia")),
            ("copilotVersion", Node::text(VERSION)),
            ("startTime", Node::text(at.to_iso())),
        ];
        if let Some(model) = request.model {
            data.push(("selectedModel", Node::text(model)));
        }
        data.push(("context", Node::Map(vec![("cwd", Node::text(request.folder))])));
        let start = tertulia_session::EntryId::from("start");
        let id = super::native_record_id(request.session_id, &start, 0);
        self.push("session.start", &id, at, data);
    }

    fn user(&mut self, exchange: &Exchange<'_, '_>, pieces: &[UserPiece<'_>]) {
        let mut texts: Vec<&str> = Vec::new();
        let mut pictures = Vec::new();
        for piece in pieces {
            match piece {
                UserPiece::Text(text) => texts.push(text),
                UserPiece::Image(image) => match attachment(image) {
                    Ok(picture) => pictures.push(picture),
                    // Copilot CLI keeps only pictures with their data.
                    Err(address) => texts.push(address),
                },
            }
        }
        let mut data = vec![("content", Node::text(texts.join("\n")))];
        if !pictures.is_empty() {
            data.push(("attachments", Node::List(pictures)));
        }
        let id = exchange.record_id(self.request, 0);
        self.push("user.message", &id, &exchange.step.at, data);
    }

    fn answer(&mut self, exchange: &Exchange<'_, '_>, answer: &Answer<'_, '_>) {
        let at = &exchange.step.at;
        let id = exchange.record_id(self.request, 0);
        let calls = answer.calls.iter();
        let requests = calls.map(|(call, _)| {
            let id = ("toolCallId", Node::text(&*call.id));
            let name = ("name", Node::text(&*call.name));
            Node::Map(vec![
                id,
                name,
                ("arguments", arguments(call)),
                ("type", Node::text("function")),
            ])
        });
        let data = vec![
            ("messageId", Node::text(&*id)),
            ("content", Node::text(answer.text.unwrap_or_default())),
            ("toolRequests", Node::List(requests.collect())),
        ];
        self.push("assistant.message", &id, at, data);
        for (number, (call, _)) in (1..).step_by(2).zip(&answer.calls) {
            let data = vec![
                ("toolCallId", Node::text(&*call.id)),
                ("toolName", Node::text(&*call.name)),
                ("arguments", arguments(call)),
            ];
            let id = exchange.record_id(self.request, number);
            self.push("tool.execution_start", &id, at, data);
        }
        for (number, (_, result)) in (2..).step_by(2).zip(&answer.calls) {
            let Some(result) = result else { continue };
            let id = exchange.record_id(self.request, number);
            self.push("tool.execution_complete", &id, at, completed(result));
        }
    }
}

fn completed<'s>(result: &'s CallResult<'_>) -> Map<'s> {
    let text = Node::text(result.text.as_str());
    let (name, value) = if result.is_error {
        ("error", Node::Map(vec![("message", text)]))
    } else {
        ("result", Node::Map(vec![("content", text)]))
    };
    let id = ("toolCallId", Node::text(&*result.id));
    vec![id, ("success", Node::Bool(!result.is_error)), (name, value)]
}

fn arguments<'s>(call: &CallPiece<'s>) -> Node<'s> {
    as_object(0, call.call, &mut Vec::new())
}

/// Returns a picture as an attachment, or its address.
fn attachment(image: &Image) -> Result<Node<'_>, &str> {
    match common_picture(image) {
        Ok(Picture::Data { mime_type, data }) => Ok(Node::typed(
            "blob",
            [("mimeType", Node::text(mime_type)), ("data", Node::text(data))],
        )),
        Ok(Picture::Url { url, .. }) => Err(url),
        Err(_) => Err(""),
    }
}
