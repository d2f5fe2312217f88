//! Writes sessions of opencode: the document of `opencode import`. Importing into an existing session adds the
//! messages and keeps everything else. So a continuation is a document with only the new messages.
//!
//! Every answer is between `step-start` and `step-finish`; otherwise its text would be sent after the results of its
//! calls. opencode orders messages by time and parts by id. So all times differ, and the ids of parts are ascending.

use std::borrow::Cow;

use tertulia_session::{Image, ImageSource};

use super::exchange::{Answer, Content, Exchange, exchanges};
use super::steps::{CallPiece, CallResult, Steps, UserPiece};
use super::{WriteRequest, Written};
use crate::arguments::as_object;
use crate::fragment::{Map, Node};

/// The version of opencode whose document this is.
const VERSION: &str = "1.18.33";

/// The agent with which opencode starts.
const AGENT: &str = "build";

/// The model of a session without a chosen model. opencode has no such model, so the user must name one with
/// `--model`.
pub(in crate::native) const NO_MODEL: (&str, &str) = ("tertulia", "none");

/// Writes the steps as records.
pub(super) fn write(request: &WriteRequest<'_>, steps: &Steps<'_>) -> Written {
    let exchanges = exchanges(steps);
    let times = times(request, &exchanges);
    let mut document = Document {
        request,
        model: model(request),
        messages: Vec::with_capacity(exchanges.len()),
        parts: 0,
        user: None,
        last: None,
    };
    for (exchange, at) in exchanges.iter().zip(&times) {
        match &exchange.content {
            Content::User(pieces) => document.user(exchange, *at, pieces),
            Content::Answer(answer) => document.answer(exchange, *at, answer),
        }
    }
    let first = times.first().copied().unwrap_or_else(|| request.now.millis());
    let info = ("info", session(request, first));
    let messages = document.messages.len() as u64;
    let records = messages + document.parts + u64::from(request.continues.is_none());
    let last_record_id = document.last.map(Into::into);
    let whole = Node::Map(vec![info, ("messages", Node::List(document.messages))]);
    let mut text = whole.to_text();
    text.push('\n');
    Written { text, is_document: true, records, last_record_id, items: Vec::new() }
}

/// Returns the time of every message. Each is later than the previous one, and none is later than now.
fn times(request: &WriteRequest<'_>, exchanges: &[Exchange<'_, '_>]) -> Vec<i64> {
    let end = request.continues.as_ref().and_then(|end| end.last_timestamp.as_ref());
    let mut last = end.map_or(i64::MIN, |end| end.millis());
    let mut times: Vec<i64> = Vec::with_capacity(exchanges.len());
    for exchange in exchanges {
        last = exchange.step.at.millis().max(last.saturating_add(1));
        times.push(last);
    }
    let mut next = request.now.millis().saturating_add(1);
    for time in times.iter_mut().rev() {
        *time = (*time).min(next.saturating_sub(1));
        next = *time;
    }
    times
}

/// Returns the provider and the name of the model.
fn model<'a>(request: &WriteRequest<'a>) -> (&'a str, &'a str) {
    request.model.and_then(|model| model.split_once('/')).unwrap_or(NO_MODEL)
}

fn session<'a>(request: &WriteRequest<'a>, first: i64) -> Node<'a> {
    // opencode replaces this title by one that it generates.
    let untitled = || format!("New session - {}", request.now.to_iso());
    let title = request.title.map_or_else(|| untitled().into(), Cow::Borrowed);
    let slug: String =
        request.session_id.chars().filter(char::is_ascii_hexdigit).take(12).collect();
    Node::Map(vec![
        ("id", Node::text(request.session_id)),
        ("slug", Node::text(format!("tertulia-{slug}"))),
        ("version", Node::text(VERSION)),
        ("projectID", Node::text("global")),
        ("directory", Node::text(request.folder)),
        ("title", Node::Text(title)),
        (
            "time",
            Node::Map(vec![
                ("created", Node::number(first)),
                ("updated", Node::number(request.now.millis())),
            ]),
        ),
    ])
}

/// The messages so far.
struct Document<'r, 'a> {
    request: &'r WriteRequest<'a>,
    model: (&'a str, &'a str),
    messages: Vec<Node<'r>>,
    parts: u64,
    /// The id of the last message of the user.
    user: Option<String>,
    /// The id of the last part with content.
    last: Option<String>,
}

impl<'r, 'a: 'r> Document<'r, 'a> {
    fn user(&mut self, exchange: &Exchange<'r, 'a>, at: i64, pieces: &'r [UserPiece<'a>]) {
        let mut parts = Parts::new(self.request, exchange);
        for piece in pieces {
            match piece {
                UserPiece::Text(text) => parts.add("text", vec![("text", Node::text(&**text))]),
                UserPiece::Image(image) => parts.add("file", file(image)),
            }
            self.last = Some(parts.last_id());
        }
        let (provider, name) = self.model;
        let model = vec![("providerID", Node::text(provider)), ("modelID", Node::text(name))];
        let info = vec![
            ("id", Node::text(parts.message.clone())),
            ("sessionID", Node::text(self.request.session_id)),
            ("role", Node::text("user")),
            ("time", Node::Map(vec![("created", Node::number(at))])),
            ("agent", Node::text(AGENT)),
            ("model", Node::Map(model)),
        ];
        self.user = Some(parts.message.clone());
        self.push(info, parts);
    }

    fn answer(&mut self, exchange: &Exchange<'r, 'a>, at: i64, answer: &Answer<'r, 'a>) {
        let mut parts = Parts::new(self.request, exchange);
        let reason = if answer.calls.is_empty() { "stop" } else { "tool-calls" };
        parts.add("step-start", Vec::new());
        if let Some(text) = answer.text {
            let time = vec![("start", Node::number(at)), ("end", Node::number(at))];
            parts.add("text", vec![("text", Node::text(text)), ("time", Node::Map(time))]);
            self.last = Some(parts.last_id());
        }
        for (call, result) in &answer.calls {
            let state = state(call, *result, at, &parts);
            let id = ("callID", Node::text(&*call.id));
            parts.add("tool", vec![("tool", Node::text(&*call.name)), id, ("state", state)]);
            self.last = Some(parts.last_id());
        }
        let reason_field = ("reason", Node::text(reason));
        parts.add(
            "step-finish",
            vec![reason_field, ("cost", Node::number(0)), ("tokens", no_tokens())],
        );
        let (provider, name) = self.model;
        let parent = self.user.clone().unwrap_or_else(|| parts.message.clone());
        let folder = Node::text(self.request.folder);
        let info = vec![
            ("id", Node::text(parts.message.clone())),
            ("sessionID", Node::text(self.request.session_id)),
            ("role", Node::text("assistant")),
            (
                "time",
                Node::Map(vec![("created", Node::number(at)), ("completed", Node::number(at))]),
            ),
            ("parentID", Node::text(parent)),
            ("modelID", Node::text(name)),
            ("providerID", Node::text(provider)),
            ("mode", Node::text(AGENT)),
            ("agent", Node::text(AGENT)),
            ("path", Node::Map(vec![("cwd", folder.clone()), ("root", folder)])),
            ("cost", Node::number(0)),
            ("tokens", no_tokens()),
            ("finish", Node::text(reason)),
        ];
        self.push(info, parts);
    }

    fn push(&mut self, info: Map<'r>, parts: Parts<'r>) {
        self.parts += parts.nodes.len() as u64;
        let parts = ("parts", Node::List(parts.nodes));
        self.messages.push(Node::Map(vec![("info", Node::Map(info)), parts]));
    }
}

/// The parts of one message.
struct Parts<'r> {
    session: &'r str,
    message: String,
    /// The prefix of the ids of the parts.
    stem: String,
    nodes: Vec<Node<'r>>,
}

impl<'r> Parts<'r> {
    fn new<'a: 'r>(request: &'r WriteRequest<'a>, exchange: &Exchange<'_, '_>) -> Self {
        let uuid = exchange.record_id(request, 0).replace('-', "");
        let stem = format!("prt_{}", uuid.get(..26).unwrap_or(&uuid));
        let message = format!("msg_{uuid}");
        Self { session: request.session_id, message, stem, nodes: Vec::new() }
    }

    /// Returns the id of the part with this number. The ids are ascending.
    fn id(&self, number: usize) -> String {
        format!("{}{number:06x}", self.stem)
    }

    fn last_id(&self) -> String {
        self.id(self.nodes.len().saturating_sub(1))
    }

    fn add(&mut self, kind: &'static str, fields: Map<'r>) {
        let id = self.id(self.nodes.len());
        self.nodes.push(self.part(id, kind, fields));
    }

    fn part(&self, id: String, kind: &'static str, fields: Map<'r>) -> Node<'r> {
        let mut part = vec![
            ("id", Node::text(id)),
            ("sessionID", Node::text(self.session)),
            ("messageID", Node::text(self.message.clone())),
            ("type", Node::text(kind)),
        ];
        part.extend(fields);
        Node::Map(part)
    }
}

/// Returns the state of a completed call.
fn state<'r>(
    call: &'r CallPiece<'_>,
    result: Option<&'r CallResult<'_>>,
    at: i64,
    parts: &Parts<'r>,
) -> Node<'r> {
    let input = ("input", as_object(0, call.call, &mut Vec::new()));
    let time = ("time", Node::Map(vec![("start", Node::number(at)), ("end", Node::number(at))]));
    let text = Node::text(result.map_or("", |result| result.text.as_str()));
    if result.is_none_or(|result| result.is_error) {
        return Node::Map(vec![("status", Node::text("error")), input, ("error", text), time]);
    }
    let mut state = vec![
        ("status", Node::text("completed")),
        input,
        ("output", text),
        ("title", Node::text(&*call.name)),
        ("metadata", Node::Map(Vec::new())),
        time,
    ];
    let images = result.map_or(&[][..], |result| &result.images);
    if !images.is_empty() {
        let id = |at: usize| format!("{}-{at:02x}", parts.id(parts.nodes.len()));
        let files = images.iter().enumerate();
        let files = files.map(|(at, image)| parts.part(id(at), "file", file(image)));
        state.push(("attachments", Node::List(files.collect())));
    }
    Node::Map(state)
}

fn file(image: &Image) -> Map<'_> {
    let url = match &image.source {
        ImageSource::Data(data) => format!("data:{};base64,{data}", image.mime_type).into(),
        ImageSource::Url(url) => Cow::Borrowed(&**url),
    };
    vec![("mime", Node::text(&*image.mime_type)), ("url", Node::Text(url))]
}

fn no_tokens<'a>() -> Node<'a> {
    let cache = Node::Map(vec![("read", Node::number(0)), ("write", Node::number(0))]);
    Node::Map(vec![
        ("input", Node::number(0)),
        ("output", Node::number(0)),
        ("reasoning", Node::number(0)),
        ("cache", cache),
    ])
}
