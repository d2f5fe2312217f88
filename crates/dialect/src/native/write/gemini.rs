//! Writes sessions of Gemini CLI: a header, and a record for every message.
//!
//! Calls and their results are written in the form that the model gets, and not in the `toolCalls` of the agent's own
//! records, because the agent repeats the results in `toolCalls` at every resume.

use std::borrow::Cow;

use tertulia_session::Timestamp;
use tertulia_session::json::Json;

use super::super::gemini::{FRONT, OPENING_ANSWER};
use super::lines::Lines;
use super::sha256::sha256_hex;
use super::steps::{AssistantPiece, CallResult, Profile, Step, Steps, UserPiece};
use super::turns::{Answer, Turn, turns};
use super::{WriteRequest, Written, native_record_id};
use crate::arguments::as_object;
use crate::content::picture;
use crate::fragment::Node;
use crate::gemini::{RULES, image_node};

pub(super) const PROFILE: Profile = Profile { rules: RULES, ..Profile::COMMON };

/// The agent omits a message of the user with one of these beginnings, which are those of commands and of its own
/// texts.
const LEFT_OUT: [&str; 4] = ["/", "?", "<session_context>", "<hook_context>"];

const NO_TOKENS: &str = r#"{"input":0,"output":0,"cached":0,"thoughts":0,"tool":0,"total":0}"#;

/// Writes the steps as records.
pub(super) fn write(request: &WriteRequest<'_>, steps: &Steps<'_>) -> Written {
    let mut lines = Lines::default();
    let now = request.now.to_iso();
    if request.continues.is_none() {
        let started = steps.steps.first().map_or(now.clone(), |step| step.at.to_iso());
        let mut header = vec![
            ("sessionId", Node::text(request.session_id)),
            ("projectHash", Node::text(sha256_hex(request.folder))),
            ("startTime", Node::text(started)),
            ("lastUpdated", Node::text(now.clone())),
            ("kind", Node::text("main")),
        ];
        header.extend(request.title.map(|title| ("summary", Node::text(title))));
        lines.push(&Node::Map(header));
    }
    let mut push = |id: String, at: &Timestamp, kind, content, more| {
        let mut record = vec![
            ("id", Node::text(id.clone())),
            ("timestamp", Node::text(at.to_iso())),
            ("type", Node::text(kind)),
            ("content", Node::List(content)),
        ];
        record.extend::<Vec<_>>(more);
        lines.push_with_id(id, &Node::Map(record));
    };
    if let Some(first) = steps.steps.first().filter(|_| request.continues.is_none()) {
        let id = native_record_id(request.session_id, &"opening".into(), 0);
        push(id, &first.at, "gemini", vec![text_part(OPENING_ANSWER)], answer_fields(None));
    }
    let id = |step: &Step<'_>| step.record_id(request.session_id, 0);
    for turn in turns(&steps.steps) {
        match turn {
            Turn::User(step, pieces) => {
                let (content, more) = user_content(pieces);
                push(id(step), &step.at, "user", content, more);
            }
            Turn::Answer(answer) => {
                let (step, content) = (answer.step, answer_content(&answer));
                push(id(step), &step.at, "gemini", content, answer_fields(request.model));
                if let Some((step, results)) = answer.results {
                    push(id(step), &step.at, "user", result_content(results), Vec::new());
                }
            }
        }
    }
    let updated = Node::Map(vec![("lastUpdated", Node::text(now))]);
    lines.push(&Node::Map(vec![("$set", updated)]));
    lines.finish()
}

/// Returns the parts of a message of the user, and further fields of its record.
fn user_content<'a>(pieces: &'a [UserPiece<'_>]) -> (Vec<Node<'a>>, Vec<(&'static str, Node<'a>)>) {
    let is_left_out = match pieces.first() {
        Some(UserPiece::Text(text)) => {
            LEFT_OUT.iter().any(|start| text.trim_start().starts_with(start))
        }
        _ => false,
    };
    let part = |piece: &'a UserPiece<'_>| match piece {
        UserPiece::Text(text) => Some(text_part(text)),
        UserPiece::Image(image) => picture(image).ok().map(image_node),
    };
    let parts = || pieces.iter().filter_map(part);
    if !is_left_out {
        return (parts().collect(), Vec::new());
    }
    let content = std::iter::once(text_part(FRONT)).chain(parts()).collect();
    // This is the text that the screen shows.
    (content, vec![("displayContent", Node::List(parts().collect()))])
}

fn answer_content<'a>(answer: &Answer<'a, '_>) -> Vec<Node<'a>> {
    let part = |piece: &&'a AssistantPiece<'_>| match piece {
        AssistantPiece::Text(text) => Some(text_part(text)),
        // The profile accepts no thinking.
        AssistantPiece::Thinking { .. } => None,
        AssistantPiece::Call(call) => {
            let function = Node::Map(vec![
                ("id", Node::text(&*call.id)),
                ("name", Node::text(&*call.name)),
                ("args", as_object(0, call.call, &mut Vec::new())),
            ]);
            Some(Node::Map(vec![("functionCall", function)]))
        }
    };
    answer.pieces.iter().filter_map(part).collect()
}

fn answer_fields(model: Option<&str>) -> Vec<(&'static str, Node<'_>)> {
    let no_tokens = Json::parse(NO_TOKENS).ok().map(|json| Node::Raw(Cow::Owned(json)));
    let mut fields = vec![("thoughts", Node::List(Vec::new()))];
    fields.extend(no_tokens.map(|tokens| ("tokens", tokens)));
    fields.extend(model.map(|model| ("model", Node::text(model))));
    fields
}

/// Returns the parts of results for the model: first all results, then their pictures.
fn result_content<'a>(results: &'a [CallResult<'_>]) -> Vec<Node<'a>> {
    let response = |result: &'a CallResult<'_>| {
        let name = if result.is_error { "error" } else { "output" };
        let response = Node::Map(vec![
            ("id", Node::text(&*result.id)),
            ("name", Node::text(&*result.name)),
            ("response", Node::Map(vec![(name, Node::text(&*result.text))])),
        ]);
        Node::Map(vec![("functionResponse", response)])
    };
    let images = results.iter().flat_map(|result| &result.images);
    let images = images.filter_map(|image| picture(image).ok().map(image_node));
    results.iter().map(response).chain(images).collect()
}

fn text_part(text: &str) -> Node<'_> {
    Node::Map(vec![("text", Node::text(text))])
}
