//! Parts as content blocks. A part that Anthropic would refuse gives no block, and a note.

use std::borrow::Cow;

use tertulia_session::json::{Json, Object};
use tertulia_session::{Image, Part, PartKind};

use super::cache::{MARK, mark_value};
use crate::arguments::as_object;
use crate::context::text_field;
use crate::fragment::{Map, Node};
use crate::pairs::{Call, Said};
use crate::picture::{Picture, TEXT_ONLY, common_picture};
use crate::reading::own_payload;
use crate::surrogates::mended;
use crate::turns::Side;
use crate::{Dialect, Note, NoteKind};

/// A content block and the message that it comes from.
#[derive(Clone, Debug)]
pub(super) struct Block<'a> {
    pub(super) index: usize,
    pub(super) kind: BlockKind,
    pub(super) body: Body<'a>,
    /// Whether a cache breakpoint stands behind it.
    pub(super) is_breakpoint: bool,
}

/// What is in a block or a tool.
#[derive(Clone, Debug)]
pub(super) enum Body<'a> {
    /// Written here.
    Fields(Map<'a>),
    /// Anthropic's own, as it was read.
    Kept(Cow<'a, Json>),
}

/// What the rules ask of a block.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum BlockKind {
    Text,
    Thinking,
    ToolResult,
    Other,
}

impl<'a> Body<'a> {
    /// A kept one, without the mark that it may have brought along: marks are counted.
    pub(super) fn kept(json: Cow<'a, Json>) -> Self {
        Self::Kept(without(&json, MARK).map_or(json, Cow::Owned))
    }

    /// Adds a field behind the others.
    pub(super) fn push(&mut self, name: &'static str, value: Node<'a>) {
        match self {
            Self::Fields(fields) => fields.push((name, value)),
            Self::Kept(json) => {
                let open = json.as_str().strip_suffix('}').unwrap_or_default();
                let text = format!("{open},{name:?}:{}}}", value.to_text());
                if let Ok(longer) = Json::parse(&text) {
                    *json = Cow::Owned(longer);
                }
            }
        }
    }

    pub(super) fn into_node(self) -> Node<'a> {
        match self {
            Self::Fields(fields) => Node::Map(fields),
            Self::Kept(json) => Node::Raw(json),
        }
    }
}

/// The object without this field; `None` if it has none.
pub(super) fn without(json: &Json, name: &str) -> Option<Json> {
    let object = Object::try_from(json.raw()).ok()?;
    object.names().any(|other| other == name).then_some(())?;
    let kept = object.into_fields().filter(|(other, _)| other != name);
    let fields: Vec<String> =
        kept.map(|(name, raw)| format!("{}:{}", Node::text(name).to_text(), raw.get())).collect();
    Json::parse(&format!("{{{}}}", fields.join(","))).ok()
}

impl<'a> Block<'a> {
    pub(super) fn new(index: usize, kind: BlockKind, fields: Map<'a>) -> Self {
        Self { index, kind, body: Body::Fields(fields), is_breakpoint: false }
    }

    pub(super) fn text(index: usize, text: Node<'a>) -> Self {
        let fields = vec![("type", Node::text("text")), ("text", text)];
        Self::new(index, BlockKind::Text, fields)
    }

    pub(super) fn into_node(mut self) -> Node<'a> {
        if self.is_breakpoint {
            self.body.push(MARK, mark_value());
        }
        self.body.into_node()
    }

    /// Cuts blanks off the end of a text; says whether there were any.
    pub(super) fn trim_end(&mut self) -> bool {
        let Body::Fields(fields) = &mut self.body else {
            return false;
        };
        match fields.last_mut() {
            Some((_, Node::Text(text))) if self.kind == BlockKind::Text => {
                let kept = text.trim_end().len();
                let has_blanks = kept < text.len();
                text.to_mut().truncate(kept);
                has_blanks
            }
            _ => false,
        }
    }

    /// A thinking block may not have the mark.
    pub(super) fn can_be_breakpoint(&self) -> bool {
        self.kind != BlockKind::Thinking
    }
}

/// The blocks of a message that takes text alone: a system message.
pub(super) fn text_blocks<'a>(said: &Said<'a>, notes: &mut Vec<Note>) -> Vec<Block<'a>> {
    let mut blocks = Vec::new();
    for part in said.parts {
        match &part.kind {
            PartKind::Image(_) => {
                let why = TEXT_ONLY;
                notes.push(Note::on(said.index, NoteKind::ImageLeftOut { why }));
            }
            PartKind::Other(other) => {
                let (kind, why) = (other.kind.clone(), TEXT_ONLY);
                notes.push(Note::on(said.index, NoteKind::PartLeftOut { kind, why }));
            }
            _ => blocks.extend(content_block(said.index, part, Side::User, notes)),
        }
    }
    note_if_empty(said, &blocks, notes);
    blocks
}

/// The blocks of a user's message.
pub(super) fn content_blocks<'a>(
    said: &Said<'a>,
    side: Side,
    notes: &mut Vec<Note>,
) -> Vec<Block<'a>> {
    let mut blocks = Vec::with_capacity(said.parts.len());
    blocks
        .extend(said.parts.iter().filter_map(|part| content_block(said.index, part, side, notes)));
    note_if_empty(said, &blocks, notes);
    blocks
}

fn note_if_empty(said: &Said<'_>, blocks: &[Block<'_>], notes: &mut Vec<Note>) {
    if blocks.is_empty() {
        notes.push(Note::on(said.index, NoteKind::EmptyLeftOut));
    }
}

/// The block of a part that is neither call nor result.
pub(super) fn content_block<'a>(
    index: usize,
    part: &'a Part,
    side: Side,
    notes: &mut Vec<Note>,
) -> Option<Block<'a>> {
    let note = match &part.kind {
        PartKind::Text(text) if text.trim().is_empty() => NoteKind::EmptyLeftOut,
        PartKind::Text(text) => return Some(Block::text(index, Node::text(text.as_str()))),
        PartKind::Thinking(text) => match thinking(index, part, text, side) {
            Ok(block) => return Some(block),
            Err(why) => NoteKind::ThinkingLeftOut { why },
        },
        PartKind::Image(image) => match image_node(image, side) {
            Ok(fields) => return Some(Block::new(index, BlockKind::Other, fields)),
            Err(why) => NoteKind::ImageLeftOut { why },
        },
        PartKind::FileRef(file) => {
            notes.push(Note::on(index, NoteKind::FileAsText { path: file.path.clone() }));
            return Some(Block::text(index, Node::text(format!("[file: {}]", file.path))));
        }
        PartKind::Other(other) if side == Side::User && is_redacted_thinking(&other.kind) => {
            NoteKind::ThinkingLeftOut { why: "only an assistant thinks" }
        }
        PartKind::Other(other) => match own_payload(Dialect::Anthropic, other) {
            Some(payload) => return Some(kept(index, &other.kind, payload)),
            None => {
                let why = "Anthropic has no such block";
                NoteKind::PartLeftOut { kind: other.kind.clone(), why }
            }
        },
        PartKind::ToolCall(_) | PartKind::ToolResult(_) => return None,
    };
    notes.push(Note::on(index, note));
    None
}

fn is_redacted_thinking(kind: &str) -> bool {
    kind.ends_with("/redacted_thinking")
}

fn kept<'a>(index: usize, kind: &str, payload: &'a Json) -> Block<'a> {
    let kind = if is_redacted_thinking(kind) { BlockKind::Thinking } else { BlockKind::Other };
    Block { index, kind, body: Body::kept(mended(payload)), is_breakpoint: false }
}

fn thinking<'a>(
    index: usize,
    part: &Part,
    text: &'a str,
    side: Side,
) -> Result<Block<'a>, &'static str> {
    if side == Side::User {
        return Err("only an assistant thinks");
    }
    let signature = text_field(part.unknown_payload(), "signature");
    let signature = signature.ok_or("it is not signed by Anthropic")?;
    let fields = vec![
        ("type", Node::text("thinking")),
        ("thinking", Node::text(text)),
        ("signature", Node::text(signature)),
    ];
    Ok(Block::new(index, BlockKind::Thinking, fields))
}

pub(super) fn image_node(image: &Image, side: Side) -> Result<Map<'_>, &'static str> {
    if side == Side::Assistant {
        return Err("an assistant turn takes none");
    }
    let source = match common_picture(image)? {
        Picture::Data { mime_type, data } => vec![
            ("type", Node::text("base64")),
            ("media_type", Node::text(mime_type)),
            ("data", Node::text(data)),
        ],
        Picture::Url { url, .. } => vec![("type", Node::text("url")), ("url", Node::text(url))],
    };
    Ok(vec![("type", Node::text("image")), ("source", Node::Map(source))])
}

pub(super) fn use_block<'a>(call: &Call<'a>, notes: &mut Vec<Note>) -> Block<'a> {
    let fields = vec![
        ("type", Node::text("tool_use")),
        ("id", Node::text(call.id.clone())),
        ("name", Node::text(call.name.clone())),
        ("input", as_object(call.index, call.call, notes)),
    ];
    Block::new(call.index, BlockKind::Other, fields)
}
