//! Writes sessions of Codex: rollout files with both logs. The model sees the `response_item` records. Codex lists
//! and shows only sessions with `event_msg` records. So every text is in both.

use std::borrow::Cow;

use tertulia_session::json::Json;
use tertulia_session::{Image, Timestamp, derived_uuid};

use super::steps::{AssistantPiece, CallPiece, CallResult, Step, StepContent, Steps, UserPiece};
use super::{WriteRequest, Written};
use crate::arguments::as_object;
use crate::content::common_picture;
use crate::fragment::Node;

/// The version of Codex whose records these are.
const VERSION: &str = "0.166.0";
/// A field outside the payload. Codex ignores and keeps it.
pub(in crate::native) const OURS: &str = "tertulia";
/// Bytes per token in Codex's estimate.
const TOKEN_BYTES: usize = 4;
/// Number of bytes that count for a picture of any size.
const PICTURE_BYTES: usize = 4_000;

/// Returns the name of a session's file below the folder `sessions` of Codex. The name must end with the id, because
/// Codex finds a session by it.
pub fn codex_file(session_id: &str, created: &Timestamp) -> String {
    let iso = created.to_iso();
    let seconds = iso.get(..19).unwrap_or(&iso);
    let folder = seconds.get(..10).unwrap_or_default().replace('-', "/");
    format!("{folder}/rollout-{}-{session_id}.jsonl", seconds.replace(':', "-"))
}

/// Writes the steps as records.
pub(super) fn write(request: &WriteRequest<'_>, steps: &Steps<'_>) -> Written {
    let first = request.continues.as_ref().map_or(0, |end| end.records);
    let mut rollout = Rollout {
        thread: request.session_id,
        is_continued: request.continues.is_some(),
        text: String::new(),
        first,
        next: first,
        bytes: 0,
        turn: None,
    };
    let started = steps.steps.first().map_or(&request.now, |step| &step.at);
    if request.continues.is_none() {
        rollout.describe(request, started);
    }
    for step in &steps.steps {
        rollout.step(request, step);
    }
    let end = steps.steps.last().map_or(&request.now, |step| &step.at);
    if request.continues.is_none() {
        rollout.count_tokens(end);
        if let Some(title) = request.title {
            let id = ("thread_id", Node::text(request.session_id));
            rollout.event(end, "thread_name_updated", [id, ("thread_name", Node::text(title))]);
        }
    }
    rollout.end_turn(end);
    Written {
        records: rollout.next - rollout.first,
        text: rollout.text,
        is_document: false,
        last_record_id: None,
        items: Vec::new(),
    }
}

/// The records so far.
struct Rollout<'a> {
    thread: &'a str,
    is_continued: bool,
    text: String,
    /// The ordinals of the first and of the next record.
    first: u64,
    next: u64,
    /// The number of bytes that the model sees.
    bytes: usize,
    turn: Option<Turn>,
}

/// A turn that has not ended.
struct Turn {
    id: String,
    answer: Option<String>,
}

impl Rollout<'_> {
    fn push(&mut self, at: &Timestamp, kind: &str, payload: &Node<'_>) {
        self.push_with(at, kind, payload, "");
    }

    /// Adds a record. `more` is the JSON of further fields.
    fn push_with(&mut self, at: &Timestamp, kind: &str, payload: &Node<'_>, more: &str) {
        let payload = payload.to_text();
        if kind == "response_item" {
            self.bytes += payload.len();
        }
        let (time, ordinal) = (at.to_iso(), self.next);
        self.text.push_str(&format!(
            r#"{{"timestamp":"{time}","ordinal":{ordinal},"type":"{kind}","payload":{payload}{more}}}"#
        ));
        self.text.push('\n');
        self.next += 1;
    }

    fn event<const N: usize>(
        &mut self,
        at: &Timestamp,
        kind: &'static str,
        fields: [(&'static str, Node<'_>); N],
    ) {
        self.push(at, "event_msg", &Node::typed(kind, fields));
    }

    /// Adds the description of the session. It names no provider, so Codex uses the configured one. Codex refuses to
    /// resume a session with a different provider.
    fn describe(&mut self, request: &WriteRequest<'_>, started: &Timestamp) {
        let fields = [
            ("id", Node::text(request.session_id)),
            ("timestamp", Node::text(started.to_iso())),
            ("cwd", Node::text(request.folder)),
            ("originator", Node::text(OURS)),
            ("cli_version", Node::text(VERSION)),
            ("source", Node::text("cli")),
        ];
        self.push(started, "session_meta", &Node::Map(fields.into()));
    }

    fn step(&mut self, request: &WriteRequest<'_>, step: &Step<'_>) {
        match &step.content {
            StepContent::User(pieces) => {
                self.end_turn(&step.at);
                self.start_turn(request, step);
                self.user(&step.at, pieces);
            }
            StepContent::Assistant(pieces) => {
                self.start_turn(request, step);
                pieces.iter().for_each(|piece| self.assistant(&step.at, piece));
            }
            StepContent::Results(results) => {
                self.start_turn(request, step);
                results.iter().for_each(|result| self.result(&step.at, result));
            }
        }
    }

    /// Starts a turn if there is none.
    fn start_turn(&mut self, request: &WriteRequest<'_>, step: &Step<'_>) {
        if self.turn.is_some() {
            return;
        }
        let id = step.record_id(request.session_id, 0);
        let fields = [
            ("turn_id", Node::text(id.clone())),
            ("started_at", seconds(&step.at)),
            ("model_context_window", Node::Null),
            ("collaboration_mode_kind", Node::text("default")),
        ];
        self.event(&step.at, "task_started", fields);
        self.turn = Some(Turn { id, answer: None });
    }

    fn end_turn(&mut self, at: &Timestamp) {
        let Some(turn) = self.turn.take() else { return };
        let fields = [
            ("turn_id", Node::text(turn.id)),
            ("last_agent_message", turn.answer.map_or(Node::Null, Node::text)),
            ("completed_at", seconds(at)),
        ];
        self.event(at, "task_complete", fields);
    }

    fn user(&mut self, at: &Timestamp, pieces: &[UserPiece<'_>]) {
        self.message(at, "user", pieces.iter().map(user_block).collect());
        let (mut texts, mut images) = (Vec::new(), Vec::new());
        for piece in pieces {
            match piece {
                UserPiece::Text(text) => texts.push(&**text),
                UserPiece::Image(image) => images.push(address(image)),
            }
        }
        self.count_pictures(images.iter().map(String::len));
        let text = texts.join("\n");
        self.shown_item(at, "UserMessage", ("text", &text), &images);
        let fields = [
            ("message", Node::text(text)),
            ("images", Node::List(images.into_iter().map(Node::text).collect())),
            ("local_images", Node::List(Vec::new())),
            ("text_elements", Node::List(Vec::new())),
        ];
        self.event(at, "user_message", fields);
    }

    fn assistant(&mut self, at: &Timestamp, piece: &AssistantPiece<'_>) {
        match piece {
            AssistantPiece::Text(text) => {
                self.message(at, "assistant", vec![text_block("output_text", text)]);
                self.shown_item(at, "AgentMessage", ("Text", text), &[]);
                self.event(at, "agent_message", [("message", Node::text(&**text))]);
                if let Some(turn) = &mut self.turn {
                    turn.answer = Some(text.clone().into_owned());
                }
            }
            AssistantPiece::Call(call) => self.call(at, call),
            // The profile accepts no thinking.
            AssistantPiece::Thinking { .. } => {}
        }
    }

    /// Adds an item as Codex writes it to its own sessions. Codex shows the turns of its own sessions only from these
    /// events, and the turns of sessions that we create only from the other events.
    fn shown_item(
        &mut self,
        at: &Timestamp,
        kind: &'static str,
        text: (&'static str, &str),
        images: &[String],
    ) {
        let Some(turn) = self.turn.as_ref().filter(|_| self.is_continued) else { return };
        let id = derived_uuid(&["item", self.thread, &turn.id, &self.next.to_string()]);
        let image = |url: &String| Node::typed("image", [("url", Node::text(url.clone()))]);
        let text = (!text.1.is_empty()).then(|| text_block(text.0, text.1));
        let content = Node::List(text.into_iter().chain(images.iter().map(image)).collect());
        let item = Node::typed(kind, [("id", Node::text(id)), ("content", content)]);
        let millis = || number(u64::try_from(at.millis()).unwrap_or_default());
        let fields = [
            ("thread_id", Node::text(self.thread)),
            ("turn_id", Node::text(turn.id.clone())),
            ("item", item),
            ("started_at_ms", millis()),
            ("completed_at_ms", millis()),
        ];
        let payload = Node::typed("item_completed", fields).into_owned();
        self.push(at, "event_msg", &payload);
    }

    fn message(&mut self, at: &Timestamp, role: &'static str, content: Vec<Node<'_>>) {
        let fields = [("role", Node::text(role)), ("content", Node::List(content))];
        self.push(at, "response_item", &Node::typed("message", fields));
    }

    fn call(&mut self, at: &Timestamp, piece: &CallPiece<'_>) {
        // The step has recorded what became of the arguments.
        let arguments = as_object(0, piece.call, &mut Vec::new());
        let fields = [
            ("name", Node::text(&*piece.name)),
            ("arguments", Node::text(arguments.to_text())),
            ("call_id", Node::text(&*piece.id)),
        ];
        self.push(at, "response_item", &Node::typed("function_call", fields));
    }

    fn result(&mut self, at: &Timestamp, result: &CallResult<'_>) {
        let output = if result.images.is_empty() {
            Node::text(&*result.text)
        } else {
            let text = (!result.text.is_empty()).then(|| text_block("input_text", &result.text));
            Node::List(text.into_iter().chain(result.images.iter().map(image_block)).collect())
        };
        let fields = [("call_id", Node::text(&*result.id)), ("output", output)];
        let more = if result.is_error {
            format!(r#","{OURS}":{{"isError":true}}"#)
        } else {
            String::new()
        };
        self.push_with(at, "response_item", &Node::typed("function_call_output", fields), &more);
        self.count_pictures(result.images.iter().map(|image| address(image).len()));
    }

    /// Corrects the counted bytes for pictures of these sizes, which were counted as text.
    fn count_pictures(&mut self, sizes: impl Iterator<Item = usize>) {
        for size in sizes {
            self.bytes = self.bytes.saturating_sub(size) + PICTURE_BYTES;
        }
    }

    /// Adds the size of the session. Codex uses it to decide when to compact.
    fn count_tokens(&mut self, at: &Timestamp) {
        let total = self.bytes.div_ceil(TOKEN_BYTES);
        let usage = || {
            let count = |name: &str| match name {
                "total_tokens" => number(total as u64),
                _ => number(0),
            };
            let names = [
                "input_tokens",
                "cached_input_tokens",
                "output_tokens",
                "reasoning_output_tokens",
                "total_tokens",
            ];
            Node::Map(names.map(|name| (name, count(name))).into())
        };
        let info = Node::Map(vec![
            ("total_token_usage", usage()),
            ("last_token_usage", usage()),
            ("model_context_window", Node::Null),
        ]);
        self.event(at, "token_count", [("info", info), ("rate_limits", Node::Null)]);
    }
}

fn user_block<'a>(piece: &'a UserPiece<'_>) -> Node<'a> {
    match piece {
        UserPiece::Text(text) => text_block("input_text", text),
        UserPiece::Image(image) => image_block(image),
    }
}

fn text_block<'a>(kind: &'static str, text: &'a str) -> Node<'a> {
    Node::typed(kind, [("text", Node::text(text))])
}

fn image_block(image: &Image) -> Node<'_> {
    Node::typed("input_image", [("image_url", Node::text(address(image)))])
}

/// Returns the URL of a picture, which the steps have checked.
fn address(image: &Image) -> String {
    common_picture(image).map(|picture| picture.url().into_owned()).unwrap_or_default()
}

fn seconds(at: &Timestamp) -> Node<'static> {
    number(u64::try_from(at.millis().div_euclid(1000)).unwrap_or_default())
}

fn number(number: u64) -> Node<'static> {
    let json = Json::parse(&number.to_string());
    json.map_or(Node::Null, |json| Node::Raw(Cow::Owned(json)))
}
