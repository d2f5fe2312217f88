//! The results of calls as blocks: a text, or a list of blocks that Anthropic takes there.

use std::borrow::Cow;

use tertulia_session::json::{self, Json, Kind, Object};
use tertulia_session::{Image, ToolResult};

use super::blocks::{Block, BlockKind, image_node};
use super::cache::MARK;
use crate::fragment::Node;
use crate::pairs::Call;
use crate::picture::common_picture;
use crate::result_content::{Content, Piece};
use crate::surrogates::mended;
use crate::turns::Side;
use crate::{Note, NoteKind};

/// The result of a call, or an error where there is none.
pub(super) fn result_block<'a>(call: &Call<'a>, notes: &mut Vec<Note>) -> Block<'a> {
    let index = call.result_index();
    let is_error = call.result.is_none_or(|(_, result)| result.is_error);
    let mut fields = Vec::with_capacity(3 + usize::from(is_error));
    fields.push(("type", Node::text("tool_result")));
    fields.push(("tool_use_id", Node::text(call.id.clone())));
    let content = match call.result {
        Some((_, result)) => result_content(index, result, notes),
        None => Some(Node::text(ToolResult::NOT_RECORDED)),
    };
    fields.extend(content.map(|content| ("content", content)));
    if is_error {
        fields.push(("is_error", Node::Bool(true)));
    }
    Block::new(index, BlockKind::ToolResult, fields)
}

/// A text stays a text, blocks that Anthropic takes stay as they are; the rest is written anew.
fn result_content<'a>(
    index: usize,
    result: &'a ToolResult,
    notes: &mut Vec<Note>,
) -> Option<Node<'a>> {
    if result.content.kind() == Kind::Array && are_blocks(&result.content) {
        return Some(Node::Raw(mended(&result.content)));
    }
    let content = Content::of(result);
    if let [Piece::Text(text)] = content.pieces.as_slice() {
        return (!text.is_empty()).then(|| content.into_text().into_node());
    }
    let mut nodes = Vec::new();
    for piece in content.pieces {
        match piece {
            Piece::Text(text) if text.is_blank() => {}
            Piece::Text(text) => nodes.push(Block::text(index, text.into_node()).into_node()),
            Piece::Image(image) => match image_node(&image, Side::User) {
                Ok(fields) => nodes.push(owned(&Node::Map(fields))),
                Err(why) => notes.push(Note::on(index, NoteKind::ImageLeftOut { why })),
            },
        }
    }
    (!nodes.is_empty()).then_some(Node::List(nodes))
}

fn owned<'b>(node: &Node<'_>) -> Node<'b> {
    Node::Raw(Cow::Owned(node.to_json()))
}

fn has_mark(block: &Object<'_>) -> bool {
    block.names().any(|name| name == MARK)
}

/// Whether a list holds nothing but blocks that may stand in a result.
fn are_blocks(content: &Json) -> bool {
    let blocks = json::elements(content.raw()).ok();
    let is_block = |raw: &&json::RawValue| {
        let Some(mut block) = Object::try_from(*raw).ok().filter(|block| !has_mark(block)) else {
            return false;
        };
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
