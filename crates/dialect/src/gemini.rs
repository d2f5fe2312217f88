//! Gemini `generateContent`: `{systemInstruction?, contents, tools?}`. There are two roles, `user` and `model`. The
//! turn after calls contains as many function responses as there are calls, with the same names.

mod read;

use tertulia_session::json::{Json, Kind, Object};
use tertulia_session::{Part, Role, ToolResult};

use crate::arguments::as_object;
use crate::content::{
    Content, NO_IMAGE, Picture, no_other, own_payload, picture, text_field, write_part,
};
use crate::fragment::{Node, Rendering};
use crate::identifier_rules::{IdentifierRule, is_word};
use crate::normalize::{Call, Conversation, IdentifierRules};
use crate::result_content::{self, Piece};
use crate::surrogates::well_formed;
use crate::tool_specs::write_tools;
use crate::turns::{Block, BlockKind, Turns, Writer, nodes};
use crate::{Dialect, ModelContext, Note, NoteKind};

pub(crate) use read::{PartReader, read};

/// A name begins with a letter or `_`. Only a declaration may also contain dots and colons; a call may not.
pub(crate) const RULES: IdentifierRules = IdentifierRules {
    ids: IdentifierRule::visible(64),
    names: IdentifierRule {
        allows: |at, c| match at {
            0 => c.is_ascii_alphabetic() || c == '_',
            _ => is_word(c),
        },
        chars_max: 64,
    },
};

const WRITER: Writer =
    Writer { text: text_node, content: content_block, call: call_node, results: response_blocks };

/// Renders the messages as a fragment of a Gemini request. Function responses have the names of
/// their calls; thought signatures stay on the parts that had them.
pub(crate) fn render<'a>(context: &ModelContext<'a>) -> Rendering<'a> {
    let mut notes = Vec::new();
    let conversation = Conversation::new(context, RULES, &mut notes);
    let system = conversation.system.iter();
    let system: Vec<_> = system
        .flat_map(|message_parts| WRITER.message_blocks(message_parts, Role::System, &mut notes))
        .collect();
    let mut turns = Turns::new(&conversation, &WRITER, &mut notes);
    turns.complete(&conversation.volatile, &WRITER, &mut notes);
    turns.close(&WRITER, &mut notes);
    let mut fields = Vec::new();
    if !system.is_empty() {
        fields.push(("systemInstruction", Node::Map(vec![("parts", nodes(system))])));
    }
    fields.push(("contents", turns.into_node("model", "parts")));
    let tools = write_tools(Dialect::Gemini, RULES.names, context.tool_specs, &mut notes);
    // All functions go into one declaration; Gemini's own tools are separate entries after it.
    let is_function = |tool: &Node<'_>| matches!(tool, Node::Map(_));
    let (functions, mut own): (Vec<_>, Vec<_>) = tools.into_iter().partition(is_function);
    if !functions.is_empty() {
        own.insert(0, Node::Map(vec![("functionDeclarations", Node::List(functions))]));
    }
    Rendering::new(fields, own, notes)
}

/// Field of a part, here and in Gemini's API. It lets Gemini read its thoughts again.
const SIGNATURE: &str = "thoughtSignature";

fn text_node(text: Node<'_>) -> Node<'_> {
    Node::Map(vec![("text", text)])
}

fn content_block<'a>(
    index: usize,
    part: &'a Part,
    role: Role,
    notes: &mut Vec<Note>,
) -> Option<Block<'a>> {
    let signature = signature(part).filter(|_| role == Role::Assistant);
    let node = write_part(index, part, notes, |content| match content {
        Content::Text(text) if text.is_empty() && signature.is_none() => {
            Err(NoteKind::EmptyLeftOut)
        }
        Content::Text(text) => {
            let mut fields = vec![("text", Node::Text(text))];
            fields.extend(signature);
            Ok(Node::Map(fields))
        }
        Content::Thinking(text) => {
            let reason = "it is not signed by Gemini";
            let signature = signature.ok_or(NoteKind::ThinkingLeftOut { reason })?;
            let fields = vec![("text", Node::text(text)), ("thought", Node::Bool(true)), signature];
            Ok(Node::Map(fields))
        }
        Content::Image(_) if role == Role::System => Err(NO_IMAGE),
        Content::Image(image) => Ok(image_node(picture(image)?)),
        Content::Other(other) if role == Role::System => Err(no_other(other)),
        Content::Other(other) => Ok(Node::Raw(well_formed(own_payload(Dialect::Gemini, other)?))),
    })?;
    Some(Block::new(index, BlockKind::Other, node))
}

fn signature<'a>(part: &Part) -> Option<(&'static str, Node<'a>)> {
    let signature = text_field(part.unknown_payload(), SIGNATURE)?;
    Some((SIGNATURE, Node::text(signature)))
}

/// Returns the part with a picture.
pub(crate) fn image_node(picture: Picture<'_>) -> Node<'_> {
    let mime_type = |mime_type| ("mimeType", Node::text(mime_type));
    let (name, fields) = match picture {
        Picture::Data { mime_type: known, data } => {
            ("inlineData", vec![mime_type(known), ("data", Node::text(data))])
        }
        Picture::Url { mime_type: known, url } if !known.ends_with('*') => {
            ("fileData", vec![mime_type(known), ("fileUri", Node::text(url))])
        }
        Picture::Url { url, .. } => ("fileData", vec![("fileUri", Node::text(url))]),
    };
    Node::Map(vec![(name, Node::Map(fields))])
}

fn call_node<'a>(call: &Call<'a>, notes: &mut Vec<Note>) -> Node<'a> {
    let arguments = as_object(call.index, call.call, notes);
    let mut fields = vec![("functionCall", function_node(call, "args", arguments))];
    fields.extend(signature(call.part));
    Node::Map(fields)
}

fn function_node<'a>(call: &Call<'a>, name: &'static str, value: Node<'a>) -> Node<'a> {
    let (id, function) = (Node::text(call.id.clone()), Node::text(call.name.clone()));
    Node::Map(vec![("id", id), ("name", function), (name, value)])
}

/// Returns the responses to calls, or errors for missing ones. Pictures come after all of them, so
/// that the responses are consecutive.
fn response_blocks<'a>(calls: &[Call<'a>], notes: &mut Vec<Note>) -> Vec<Block<'a>> {
    // There is memory for one more block, because the user's next message is merged into this turn.
    let mut responses = Vec::with_capacity(calls.len() + 1);
    let mut pictures = Vec::new();
    for call in calls {
        let index = call.result_index();
        let response = match call.result {
            None => Node::Map(vec![("error", Node::text(ToolResult::NOT_RECORDED))]),
            Some((_, result)) => {
                let content = result_content::Content::new(result);
                for piece in &content.pieces {
                    let Piece::Image(image) = piece else { continue };
                    match picture(image) {
                        Ok(picture) => pictures.push(Block::new(
                            index,
                            BlockKind::ToolResult,
                            image_node(picture).into_owned(),
                        )),
                        Err(kind) => notes.push(Note::on(index, kind)),
                    }
                }
                response_node(&result.content, content, result.is_error)
            }
        };
        let function = function_node(call, "response", response);
        let node = Node::Map(vec![("functionResponse", function)]);
        responses.push(Block::new(index, BlockKind::ToolResult, node));
    }
    responses.extend(pictures);
    responses
}

/// Returns the response as a field `output` or `error`, as Gemini suggests. An object that cannot be confused with
/// these stays unchanged.
fn response_node<'a>(
    json: &'a Json,
    content: result_content::Content<'a>,
    is_error: bool,
) -> Node<'a> {
    let value = match json.kind() {
        _ if content.images() > 0 => content.into_text(),
        Kind::Null => Node::text(""),
        Kind::Object if !is_error && !is_wrapped(json) => return Node::Raw(well_formed(json)),
        _ => Node::Raw(well_formed(json)),
    };
    Node::Map(vec![(if is_error { "error" } else { "output" }, value)])
}

fn is_wrapped(json: &Json) -> bool {
    let object = Object::try_from(json.raw()).ok();
    let mut names = object.iter().flat_map(Object::names);
    matches!((names.next(), names.next()), (Some("output" | "error"), None))
}
