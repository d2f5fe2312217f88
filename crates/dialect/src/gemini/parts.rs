//! Parts as Gemini parts. A thought signature stands beside the text, the thought or the call that
//! brought it.

use std::borrow::Cow;

use tertulia_session::json::{Json, Kind, Object};
use tertulia_session::{Image, Part, PartKind, ToolResult};

use crate::arguments::as_object;
use crate::context::text_field;
use crate::fragment::{Map, Node};
use crate::pairs::{Call, Said};
use crate::picture::{Picture, TEXT_ONLY, picture};
use crate::reading::own_payload;
use crate::result_content::{self, Content};
use crate::surrogates::mended;
use crate::turns::Side;
use crate::{Dialect, Note, NoteKind, Placeholder};

/// The field of a part, here and at Gemini, with which it can read its thoughts again.
pub(super) const SIGNATURE: &str = "thoughtSignature";

/// A part of a turn and the message that it comes from.
#[derive(Clone, Debug)]
pub(super) struct Piece<'a> {
    pub(super) index: usize,
    pub(super) is_response: bool,
    pub(super) node: Node<'a>,
}

impl<'a> Piece<'a> {
    fn new(index: usize, fields: Map<'a>) -> Self {
        Self { index, is_response: false, node: Node::Map(fields) }
    }

    /// A text that nobody said.
    pub(super) fn placeholder(why: Placeholder) -> Self {
        Self::new(usize::MAX, vec![("text", Node::text(why.words()))])
    }
}

/// The parts of a message that takes text alone: a system message.
pub(super) fn text_parts<'a>(said: &Said<'a>, notes: &mut Vec<Note>) -> Vec<Piece<'a>> {
    let mut pieces = Vec::new();
    for part in said.parts {
        match &part.kind {
            PartKind::Image(_) => {
                notes.push(Note::on(said.index, NoteKind::ImageLeftOut { why: TEXT_ONLY }));
            }
            PartKind::Other(other) => {
                let (kind, why) = (other.kind.clone(), TEXT_ONLY);
                notes.push(Note::on(said.index, NoteKind::PartLeftOut { kind, why }));
            }
            _ => pieces.extend(content_part(said.index, part, Side::User, notes)),
        }
    }
    note_if_empty(said, &pieces, notes);
    pieces
}

/// The parts of a user's message.
pub(super) fn content_parts<'a>(
    said: &Said<'a>,
    side: Side,
    notes: &mut Vec<Note>,
) -> Vec<Piece<'a>> {
    let mut pieces = Vec::with_capacity(said.parts.len());
    pieces.extend(said.parts.iter().filter_map(|part| content_part(said.index, part, side, notes)));
    note_if_empty(said, &pieces, notes);
    pieces
}

fn note_if_empty(said: &Said<'_>, pieces: &[Piece<'_>], notes: &mut Vec<Note>) {
    if pieces.is_empty() {
        notes.push(Note::on(said.index, NoteKind::EmptyLeftOut));
    }
}

/// The part of a part that is neither call nor result.
pub(super) fn content_part<'a>(
    index: usize,
    part: &'a Part,
    side: Side,
    notes: &mut Vec<Note>,
) -> Option<Piece<'a>> {
    let signature = signature(part).filter(|_| side == Side::Assistant);
    let note = match &part.kind {
        PartKind::Text(text) if text.is_empty() && signature.is_none() => NoteKind::EmptyLeftOut,
        PartKind::Text(text) => {
            let mut fields = vec![("text", Node::text(text.as_str()))];
            fields.extend(signature);
            return Some(Piece::new(index, fields));
        }
        PartKind::Thinking(_) if signature.is_none() => {
            NoteKind::ThinkingLeftOut { why: "it is not signed by Gemini" }
        }
        PartKind::Thinking(text) => {
            let mut fields =
                vec![("text", Node::text(text.as_str())), ("thought", Node::Bool(true))];
            fields.extend(signature);
            return Some(Piece::new(index, fields));
        }
        PartKind::Image(image) => match picture(image) {
            Ok(picture) => return Some(Piece::new(index, vec![image_field(picture)])),
            Err(why) => NoteKind::ImageLeftOut { why },
        },
        PartKind::FileRef(file) => {
            notes.push(Note::on(index, NoteKind::FileAsText { path: file.path.clone() }));
            let text = format!("[file: {}]", file.path);
            return Some(Piece::new(index, vec![("text", Node::text(text))]));
        }
        PartKind::Other(other) => match own_payload(Dialect::Gemini, other) {
            Some(payload) => {
                let node = Node::Raw(mended(payload));
                return Some(Piece { index, is_response: false, node });
            }
            None => {
                let why = "Gemini has no such part";
                NoteKind::PartLeftOut { kind: other.kind.clone(), why }
            }
        },
        PartKind::ToolCall(_) | PartKind::ToolResult(_) => return None,
    };
    notes.push(Note::on(index, note));
    None
}

fn signature<'a>(part: &Part) -> Option<(&'static str, Node<'a>)> {
    let signature = text_field(part.unknown_payload(), SIGNATURE)?;
    Some((SIGNATURE, Node::text(signature)))
}

fn image_field(picture: Picture<'_>) -> (&'static str, Node<'_>) {
    match picture {
        Picture::Data { mime_type, data } => {
            let fields = vec![("mimeType", Node::text(mime_type)), ("data", Node::text(data))];
            ("inlineData", Node::Map(fields))
        }
        Picture::Url { mime_type, url } => {
            let mut fields = Vec::new();
            if !mime_type.ends_with('*') {
                fields.push(("mimeType", Node::text(mime_type)));
            }
            fields.push(("fileUri", Node::text(url)));
            ("fileData", Node::Map(fields))
        }
    }
}

pub(super) fn call_part<'a>(call: &Call<'a>, notes: &mut Vec<Note>) -> Piece<'a> {
    let function = vec![
        ("id", Node::text(call.id.clone())),
        ("name", Node::text(call.name.clone())),
        ("args", as_object(call.index, call.call, notes)),
    ];
    let mut fields = vec![("functionCall", Node::Map(function))];
    fields.extend(signature(call.part));
    Piece::new(call.index, fields)
}

/// The response to a call, or an error where there is none, and the pictures of the result.
pub(super) fn response_parts<'a>(
    call: &Call<'a>,
    notes: &mut Vec<Note>,
) -> (Piece<'a>, Vec<Piece<'a>>) {
    let index = call.result_index();
    let mut pictures = Vec::new();
    let response = match call.result {
        None => Node::Map(vec![("error", Node::text(ToolResult::NOT_RECORDED))]),
        Some((_, result)) => {
            let content = Content::of(result);
            pictures = picture_parts(index, &content, notes);
            response_node(&result.content, content, result.is_error)
        }
    };
    let function = vec![
        ("id", Node::text(call.id.clone())),
        ("name", Node::text(call.name.clone())),
        ("response", response),
    ];
    let node = Node::Map(vec![("functionResponse", Node::Map(function))]);
    (Piece { index, is_response: true, node }, pictures)
}

/// `output` or `error`, as Gemini suggests; an object that cannot be taken for one of them stays as it is.
fn response_node<'a>(json: &'a Json, content: Content<'a>, is_error: bool) -> Node<'a> {
    let name = if is_error { "error" } else { "output" };
    if content.images() > 0 {
        return Node::Map(vec![(name, content.into_text().into_node())]);
    }
    match json.kind() {
        Kind::Null => Node::Map(vec![(name, Node::text(""))]),
        Kind::Object if !is_error && !is_wrapped(json) => Node::Raw(mended(json)),
        _ => Node::Map(vec![(name, Node::Raw(mended(json)))]),
    }
}

fn is_wrapped(json: &Json) -> bool {
    let object = Object::try_from(json.raw()).ok();
    let mut names = object.iter().flat_map(Object::names);
    matches!((names.next(), names.next()), (Some("output" | "error"), None))
}

fn picture_parts<'a>(index: usize, content: &Content<'_>, notes: &mut Vec<Note>) -> Vec<Piece<'a>> {
    let mut pieces = Vec::new();
    for piece in &content.pieces {
        let result_content::Piece::Image(image) = piece else {
            continue;
        };
        match owned_image(image) {
            Ok(node) => pieces.push(Piece { index, is_response: true, node }),
            Err(why) => notes.push(Note::on(index, NoteKind::ImageLeftOut { why })),
        }
    }
    pieces
}

fn owned_image<'a>(image: &Image) -> Result<Node<'a>, &'static str> {
    let node = Node::Map(vec![image_field(picture(image)?)]);
    Ok(Node::Raw(Cow::Owned(node.to_json())))
}
