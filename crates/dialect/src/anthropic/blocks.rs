//! Writes parts, calls and results as content blocks. A part that Anthropic would reject causes a note instead of a
//! block.

use std::borrow::Cow;

use tertulia_session::json::{self, Json, Kind, Object};
use tertulia_session::{Image, Part, Role, ToolResult};

use super::cache::MARK;
use crate::arguments::as_object;
use crate::content::{
    Content, NO_IMAGE, NOT_THOUGHT, Picture, common_picture, no_other, own_payload, text_field,
    write_part,
};
use crate::fragment::Node;
use crate::normalize::Call;
use crate::result_content::{self, Piece, node_text};
use crate::surrogates::well_formed;
use crate::turns::{Block, BlockKind};
use crate::{Dialect, Note, NoteKind};

/// Removes the cache mark of a kept block or tool, because the number of marks is limited.
pub(super) fn kept(node: Node<'_>) -> Node<'_> {
    match node {
        Node::Raw(json) => Node::Raw(without_mark(&json).map_or(json, Cow::Owned)),
        other => other,
    }
}

pub(super) fn without_mark(json: &Json) -> Option<Json> {
    let object = Object::try_from(json.raw()).ok()?;
    object.names().any(|name| name == MARK).then_some(())?;
    let kept = object.into_fields().filter(|(name, _)| name != MARK);
    let fields: Vec<String> =
        kept.map(|(name, raw)| format!("{}:{}", Node::text(name).to_text(), raw.get())).collect();
    Json::parse(&format!("{{{}}}", fields.join(","))).ok()
}

pub(super) fn text_node(text: Node<'_>) -> Node<'_> {
    Node::typed("text", [("text", text)])
}

pub(super) fn content_block<'a>(
    index: usize,
    part: &'a Part,
    role: Role,
    notes: &mut Vec<Note>,
) -> Option<Block<'a>> {
    let (kind, node) = write_part(index, part, notes, |content| match content {
        Content::Text(text) if text.trim().is_empty() => Err(NoteKind::EmptyLeftOut),
        Content::Text(text) => Ok((BlockKind::Text, text_node(Node::Text(text)))),
        Content::Thinking(_) if role != Role::Assistant => Err(NOT_THOUGHT),
        Content::Thinking(text) => {
            let signature = text_field(part.unknown_payload(), "signature");
            let reason = "it is not signed by Anthropic";
            let signature = signature.ok_or(NoteKind::ThinkingLeftOut { reason })?;
            let fields = [("thinking", Node::text(text)), ("signature", Node::text(signature))];
            Ok((BlockKind::Thinking, Node::typed("thinking", fields)))
        }
        Content::Image(image) => match role {
            Role::System => Err(NO_IMAGE),
            Role::Assistant => {
                Err(NoteKind::ImageLeftOut { reason: "an assistant turn takes none" })
            }
            Role::User | Role::Tool => Ok((BlockKind::Other, image_node(image)?)),
        },
        Content::Other(other) if role == Role::System => Err(no_other(other)),
        Content::Other(other) => {
            let is_thinking = other.kind.ends_with("/redacted_thinking");
            if is_thinking && role != Role::Assistant {
                return Err(NOT_THOUGHT);
            }
            let kind = if is_thinking { BlockKind::Thinking } else { BlockKind::Other };
            Ok((kind, kept(Node::Raw(well_formed(own_payload(Dialect::Anthropic, other)?)))))
        }
    })?;
    Some(Block::new(index, kind, node))
}

pub(crate) fn image_node(image: &Image) -> Result<Node<'_>, NoteKind> {
    let source = match common_picture(image)? {
        Picture::Data { mime_type, data } => {
            let fields = [("media_type", Node::text(mime_type)), ("data", Node::text(data))];
            Node::typed("base64", fields)
        }
        Picture::Url { url, .. } => Node::typed("url", [("url", Node::text(url))]),
    };
    Ok(Node::typed("image", [("source", source)]))
}

pub(super) fn use_node<'a>(call: &Call<'a>, notes: &mut Vec<Note>) -> Node<'a> {
    let fields = [
        ("id", Node::text(call.id.clone())),
        ("name", Node::text(call.name.clone())),
        ("input", as_object(call.index, call.call, notes)),
    ];
    Node::typed("tool_use", fields)
}

pub(super) fn result_blocks<'a>(calls: &[Call<'a>], notes: &mut Vec<Note>) -> Vec<Block<'a>> {
    // There is memory for one more block, because the user's next message is merged into this turn.
    let mut blocks = Vec::with_capacity(calls.len() + 1);
    blocks.extend(calls.iter().map(|call| result_block(call, notes)));
    blocks
}

fn result_block<'a>(call: &Call<'a>, notes: &mut Vec<Note>) -> Block<'a> {
    let index = call.result_index();
    let is_error = call.result.is_none_or(|(_, result)| result.is_error);
    let mut fields = Vec::with_capacity(3 + usize::from(is_error));
    fields.push(("type", Node::text("tool_result")));
    fields.push(("tool_use_id", Node::text(call.id.clone())));
    let content = match call.result {
        Some((_, result)) => result_node(index, result, notes),
        None => Some(Node::text(ToolResult::NOT_RECORDED)),
    };
    fields.extend(content.map(|content| ("content", content)));
    if is_error {
        fields.push(("is_error", Node::Bool(true)));
    }
    Block::new(index, BlockKind::ToolResult, Node::Map(fields))
}

/// Returns the content of a result. A text stays a text, and blocks that Anthropic accepts stay unchanged. Other
/// content is rewritten.
fn result_node<'a>(
    index: usize,
    result: &'a ToolResult,
    notes: &mut Vec<Note>,
) -> Option<Node<'a>> {
    if result.content.kind() == Kind::Array && are_blocks(&result.content) {
        return Some(Node::Raw(well_formed(&result.content)));
    }
    let content = result_content::Content::new(result);
    if let [Piece::Text(text)] = content.pieces.as_slice() {
        let is_empty = match text {
            Node::Words { words, .. } => words.0.is_empty(),
            text => matches!(text, Node::Text(text) if text.is_empty()),
        };
        return (!is_empty).then(|| content.into_text());
    }
    let mut nodes = Vec::new();
    for piece in content.pieces {
        match piece {
            Piece::Text(text) if node_text(text.clone()).trim().is_empty() => {}
            Piece::Text(text) => nodes.push(text_node(text)),
            Piece::Image(image) => match image_node(&image) {
                Ok(node) => nodes.push(node.into_owned()),
                Err(kind) => notes.push(Note::on(index, kind)),
            },
        }
    }
    (!nodes.is_empty()).then_some(Node::List(nodes))
}

/// Returns whether a list contains only blocks that are allowed in a result.
fn are_blocks(content: &Json) -> bool {
    let blocks = json::elements(content.raw()).ok();
    let is_block = |raw: &&json::RawValue| {
        let Ok(mut block) = Object::try_from(*raw) else { return false };
        if block.names().any(|name| name == MARK) {
            return false;
        }
        match &*block.take("type").map(json::words).unwrap_or_default() {
            "text" => block.take("text").is_some_and(|text| {
                Kind::from(text) == Kind::String && !json::words(text).trim().is_empty()
            }),
            "image" => {
                let image = block.take("source").and_then(Image::from_source);
                image.is_some_and(|image| common_picture(&image).is_ok())
            }
            "document" | "search_result" | "tool_reference" => true,
            _ => false,
        }
    };
    blocks.is_some_and(|blocks| !blocks.is_empty() && blocks.iter().all(is_block))
}
