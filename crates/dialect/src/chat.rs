//! OpenAI Chat Completions: `{messages, tools?}`. Each of our messages becomes one message of the request. After an
//! assistant message with calls, there is one tool message for each call.

mod read;

use tertulia_session::{Message, Part, ToolResult};

use crate::arguments::as_text;
use crate::content::{Content, NO_IMAGE, common_picture, own_payload, text_field, write_part};
use crate::fragment::{Map, Node, Rendering};
use crate::identifier_rules::IdentifierRule;
use crate::normalize::{Answer, Call, Conversation, IdentifierRules, MessageParts, Turn, is_call};
use crate::result_content::{self, ERROR_MARK, Piece};
use crate::surrogates::well_formed;
use crate::tool_specs::write_tools;
use crate::{Dialect, ModelContext, Note, NoteKind, Placeholder};

pub(crate) use read::read;

/// Limits of ids and names. OpenAI rejects longer call ids.
const RULES: IdentifierRules =
    IdentifierRules { ids: IdentifierRule::visible(40), names: IdentifierRule::word(64) };

/// Field that gives a system message another role name, such as `developer`.
pub(crate) const ROLE_FIELD: &str = "openaiRole";

/// Renders the messages as a fragment of a Chat Completions request. Volatile messages become system messages at the
/// end. Thinking is left out. A failed result is marked in its text.
pub(crate) fn render<'a>(context: &ModelContext<'a>) -> Rendering<'a> {
    let mut notes = Vec::new();
    let conversation = Conversation::new(context, RULES, &mut notes);
    let mut messages = Vec::with_capacity(context.messages.len());
    for message_parts in &conversation.system {
        push(&mut messages, system_role(message_parts.message), message_parts, &mut notes);
    }
    for turn in &conversation.turns {
        match turn {
            Turn::System(message_parts) => {
                push(&mut messages, system_role(message_parts.message), message_parts, &mut notes)
            }
            Turn::User(message_parts) => push(&mut messages, "user", message_parts, &mut notes),
            Turn::Assistant(answer) => push_answer(&mut messages, answer, &mut notes),
        }
    }
    for message_parts in &conversation.volatile {
        push(&mut messages, "system", message_parts, &mut notes);
    }
    if messages.is_empty() {
        let reason = Placeholder::Empty;
        notes.push(Note::whole(NoteKind::UserTurnAdded { reason }));
        messages.push(Node::Map(message("user", Node::text(reason.words()))));
    }
    let tools = write_tools(Dialect::OpenAiChat, RULES.names, context.tool_specs, &mut notes);
    Rendering::new(vec![("messages", Node::List(messages))], tools, notes)
}

pub(crate) fn system_role(message: &Message) -> &'static str {
    match text_field(&message.unknown, ROLE_FIELD).as_deref() {
        Some("developer") => "developer",
        _ => "system",
    }
}

fn message<'a>(role: &'static str, content: Node<'a>) -> Map<'a> {
    vec![("role", Node::text(role)), ("content", content)]
}

fn push<'a>(
    messages: &mut Vec<Node<'a>>,
    role: &'static str,
    message_parts: &MessageParts<'a>,
    notes: &mut Vec<Note>,
) {
    match content(role, std::slice::from_ref(message_parts), notes) {
        Some(content) => {
            messages.push(Node::Map(named(message(role, content), message_parts.message)));
        }
        None => notes.push(Note::on(message_parts.index, NoteKind::EmptyLeftOut)),
    }
}

/// Writes the messages of an answer up to the first message with a call. Merges the later ones into that message,
/// because nothing may come between a call and its result.
fn push_answer<'a>(messages: &mut Vec<Node<'a>>, answer: &Answer<'a>, notes: &mut Vec<Note>) {
    let has_call = |message_parts: &MessageParts<'_>| message_parts.parts.iter().any(is_call);
    let first = answer.messages.iter().position(has_call).unwrap_or(answer.messages.len());
    let (before, calling) = answer.messages.split_at(first);
    for message_parts in before {
        push(messages, "assistant", message_parts, notes);
    }
    let Some((caller, merged)) = calling.split_first() else { return };
    notes
        .extend(merged.iter().map(|message_parts| Note::on(message_parts.index, NoteKind::Merged)));
    let content = content("assistant", calling, notes).unwrap_or(Node::Null);
    let mut message = named(message("assistant", content), caller.message);
    message.reserve_exact(1);
    message.push(("tool_calls", Node::List(answer.calls.iter().map(call_node).collect())));
    messages.push(Node::Map(message));
    messages.extend(answer.calls.iter().map(|call| result_message(call, notes)));
}

fn named<'a>(mut message: Map<'a>, source: &Message) -> Map<'a> {
    let name = text_field(&source.unknown, "name");
    let is_name = |name: &String| *RULES.names.rewrite(name) == **name;
    message.extend(name.filter(is_name).map(|name| ("name", Node::text(name))));
    message
}

/// Returns a single text as a string, and several parts as a list. `None` if nothing is left.
fn content<'a>(
    role: &str,
    message_parts: &[MessageParts<'a>],
    notes: &mut Vec<Note>,
) -> Option<Node<'a>> {
    let parts = message_parts.iter().flat_map(|message_parts| {
        message_parts.parts.iter().map(|part| (message_parts.index, part))
    });
    let mut nodes = parts.filter_map(|(index, part)| content_part(role, index, part, notes));
    let listed = |node| match node {
        text @ Node::Text(_) => text_node(text),
        other => other,
    };
    match (nodes.next()?, nodes.next()) {
        (text @ Node::Text(_), None) => Some(text),
        (first, second) => {
            Some(Node::List([first].into_iter().chain(second).chain(nodes).map(listed).collect()))
        }
    }
}

fn text_node(text: Node<'_>) -> Node<'_> {
    Node::typed("text", [("text", text)])
}

/// Returns the part as an element of a list. A text keeps the form that it has outside a list.
fn content_part<'a>(
    role: &str,
    index: usize,
    part: &'a Part,
    notes: &mut Vec<Note>,
) -> Option<Node<'a>> {
    write_part(index, part, notes, |content| match content {
        Content::Text(text) if text.is_empty() => Err(NoteKind::EmptyLeftOut),
        Content::Text(text) => Ok(Node::Text(text)),
        Content::Thinking(_) => {
            Err(NoteKind::ThinkingLeftOut { reason: "Chat Completions takes none" })
        }
        Content::Image(_) if role != "user" => Err(NO_IMAGE),
        Content::Image(image) => {
            let mut address = vec![("url", Node::Text(common_picture(image)?.url()))];
            let detail = text_field(part.unknown_payload(), "detail");
            address.extend(detail.map(|detail| ("detail", Node::text(detail))));
            Ok(Node::typed("image_url", [("image_url", Node::Map(address))]))
        }
        Content::Other(other) => {
            Ok(Node::Raw(well_formed(own_payload(Dialect::OpenAiChat, other)?)))
        }
    })
}

fn call_node<'a>(call: &Call<'a>) -> Node<'a> {
    let name = ("name", Node::text(call.name.clone()));
    let function = vec![name, ("arguments", Node::text(as_text(call.call)))];
    Node::Map(vec![
        ("id", Node::text(call.id.clone())),
        ("type", Node::text("function")),
        ("function", Node::Map(function)),
    ])
}

fn result_message<'a>(call: &Call<'a>, notes: &mut Vec<Note>) -> Node<'a> {
    Node::Map(vec![
        ("role", Node::text("tool")),
        ("tool_call_id", Node::text(call.id.clone())),
        ("content", result_node(call, notes)),
    ])
}

/// Returns the content of a result. A list of texts stays a list; all other content becomes one text.
fn result_node<'a>(call: &Call<'a>, notes: &mut Vec<Note>) -> Node<'a> {
    let Some((index, result)) = call.result else {
        return Node::text(format!("{ERROR_MARK}{}", ToolResult::NOT_RECORDED));
    };
    let content = result_content::Content::new(result);
    let images = content.images();
    notes.extend((0..images).map(|_| Note::on(index, NO_IMAGE)));
    if result.is_error {
        let id = call.call.tool_call_id.clone();
        notes.push(Note::on(index, NoteKind::ErrorAsText { id }));
        return content.into_error_text();
    }
    if images > 0 || !content.is_list {
        return content.into_text();
    }
    let texts = content.pieces.into_iter().filter_map(|piece| match piece {
        Piece::Text(text) => Some(text_node(text)),
        Piece::Image(_) => None,
    });
    Node::List(texts.collect())
}
