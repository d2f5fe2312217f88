//! OpenAI Responses: `{instructions?, input, tools?}`. The input is a list of items: messages,
//! reasoning, calls and their outputs, paired by `call_id`.

mod read;

use std::borrow::Cow;
use std::slice::Iter;

use tertulia_session::json::Json;
use tertulia_session::{Part, PartKind, ToolResult};

use crate::arguments::as_text;
use crate::chat::system_role;
use crate::content::{
    Content, NO_IMAGE, NOT_THOUGHT, common_picture, no_other, own_payload, text_field, write_part,
};
use crate::fragment::{Node, Rendering};
use crate::identifier_rules::IdentifierRule;
use crate::normalize::{Answer, Call, Conversation, IdentifierRules, MessageParts, Turn};
use crate::result_content::{self, ERROR_MARK, Piece};
use crate::surrogates::well_formed;
use crate::tool_specs::write_tools;
use crate::{Dialect, ModelContext, Note, NoteKind, Placeholder};

pub(crate) use read::read;

/// Limits of ids and names. OpenAI rejects longer call ids.
const RULES: IdentifierRules =
    IdentifierRules { ids: IdentifierRule::visible(64), names: IdentifierRule::word(64) };

/// Renders the messages as a fragment of a Responses request. The system text becomes the instructions. Later system
/// messages and the volatile messages become items in order. Thinking is included if its encrypted content is known.
pub(crate) fn render<'a>(context: &ModelContext<'a>) -> Rendering<'a> {
    let mut notes = Vec::new();
    let conversation = Conversation::new(context, RULES, &mut notes);
    let instructions = instructions(&conversation.system, &mut notes);
    let items = Vec::with_capacity(context.messages.len());
    let mut items = Items { items, ..Items::default() };
    for turn in &conversation.turns {
        match turn {
            Turn::System(message_parts) => items.add_message(
                system_role(message_parts.message),
                message_parts,
                &mut [].iter(),
                &mut notes,
            ),
            Turn::User(message_parts) => {
                items.add_message("user", message_parts, &mut [].iter(), &mut notes)
            }
            Turn::Assistant(answer) => push_answer(&mut items, answer, &mut notes),
        }
    }
    for message_parts in &conversation.volatile {
        items.add_message("system", message_parts, &mut [].iter(), &mut notes);
    }
    if items.items.is_empty() {
        let reason = Placeholder::Empty;
        notes.push(Note::whole(NoteKind::UserTurnAdded { reason }));
        items.add_content(text_node("input_text", Node::text(reason.words())));
        items.flush("user");
    }
    let mut fields = Vec::new();
    fields.extend(instructions.map(|text| ("instructions", Node::Text(text))));
    fields.push(("input", Node::List(items.items)));
    let tools = write_tools(Dialect::OpenAiResponses, RULES.names, context.tool_specs, &mut notes);
    Rendering::new(fields, tools, notes)
}

fn instructions<'a>(system: &[MessageParts<'a>], notes: &mut Vec<Note>) -> Option<Cow<'a, str>> {
    let mut all: Option<Cow<'a, str>> = None;
    let parts = system.iter().flat_map(|message_parts| {
        message_parts.parts.iter().map(|part| (message_parts.index, part))
    });
    for (index, part) in parts {
        let text = write_part(index, part, notes, |content| match content {
            Content::Text(text) if text.is_empty() => Err(NoteKind::EmptyLeftOut),
            Content::Text(text) => Ok(text),
            Content::Thinking(_) => Err(NOT_THOUGHT),
            Content::Image(_) => Err(NO_IMAGE),
            Content::Other(other) => Err(no_other(other)),
        });
        match (&mut all, text) {
            (Some(whole), Some(text)) => {
                whole.to_mut().push_str("\n\n");
                whole.to_mut().push_str(&text);
            }
            (None, Some(text)) => all = Some(text),
            (_, None) => {}
        }
    }
    all
}

fn push_answer<'a>(items: &mut Items<'a>, answer: &Answer<'a>, notes: &mut Vec<Note>) {
    let mut calls = answer.calls.iter();
    for message_parts in &answer.messages {
        items.add_message("assistant", message_parts, &mut calls, notes);
    }
    items.drop_open_reasoning(notes);
    items.add_all(answer.calls.iter().map(|call| output_item(call, notes)));
}

/// Field of a thinking part. It lets OpenAI read its reasoning again.
pub(crate) const ENCRYPTED: &str = "encryptedContent";

/// The items so far, and the content of the current message item. Consecutive texts and pictures form one message
/// item. Reasoning, calls and outputs are separate items.
#[derive(Debug, Default)]
struct Items<'a> {
    items: Vec<Node<'a>>,
    content: Vec<Node<'a>>,
    /// Indexes of the messages of the reasoning items at the end, which no item follows yet.
    open_reasoning: Vec<usize>,
}

impl<'a> Items<'a> {
    /// Adds a node to the content, which is usually a single text.
    fn add_content(&mut self, node: Node<'a>) {
        if self.content.is_empty() {
            self.content.reserve_exact(1);
        }
        self.content.push(node);
    }

    fn add_message(
        &mut self,
        role: &'static str,
        message_parts: &MessageParts<'a>,
        calls: &mut Iter<'_, Call<'a>>,
        notes: &mut Vec<Note>,
    ) {
        let before = self.items.len();
        for part in message_parts.parts {
            match &part.kind {
                PartKind::ToolCall(_) => self.add_all(calls.next().map(call_item)),
                _ => self.add_part(role, message_parts.index, part, notes),
            }
        }
        self.flush(role);
        if self.items.len() == before {
            notes.push(Note::on(message_parts.index, NoteKind::EmptyLeftOut));
        }
    }

    fn flush(&mut self, role: &'static str) {
        if self.content.is_empty() {
            return;
        }
        let content = std::mem::take(&mut self.content);
        self.open_reasoning.clear();
        let fields = [("role", Node::text(role)), ("content", Node::List(content))];
        self.items.push(Node::typed("message", fields));
    }

    fn add_all(&mut self, items: impl IntoIterator<Item = Node<'a>>) {
        for item in items {
            self.flush("assistant");
            self.open_reasoning.clear();
            self.items.push(item);
        }
    }

    /// Removes reasoning that no item of its answer follows, because OpenAI would reject it.
    fn drop_open_reasoning(&mut self, notes: &mut Vec<Note>) {
        for index in self.open_reasoning.drain(..) {
            self.items.pop();
            let reason = "nothing follows it in its turn";
            notes.push(Note::on(index, NoteKind::ThinkingLeftOut { reason }));
        }
    }

    fn add_part(
        &mut self,
        role: &'static str,
        index: usize,
        part: &'a Part,
        notes: &mut Vec<Note>,
    ) {
        let is_assistant = role == "assistant";
        let text_type = if is_assistant { "output_text" } else { "input_text" };
        write_part(index, part, notes, |content| {
            match content {
                Content::Text(text) if text.is_empty() => return Err(NoteKind::EmptyLeftOut),
                Content::Text(text) => self.add_content(text_node(text_type, Node::Text(text))),
                Content::Thinking(_) if !is_assistant => return Err(NOT_THOUGHT),
                Content::Thinking(text) => {
                    let reason = "it has no content encrypted by OpenAI";
                    let item = reasoning_item(part, text);
                    self.add_reasoning(index, item.ok_or(NoteKind::ThinkingLeftOut { reason })?);
                }
                Content::Image(_) if role != "user" => return Err(NO_IMAGE),
                Content::Image(image) => {
                    let mut node = image_node(Node::Text(common_picture(image)?.url()));
                    if let Some(detail) = text_field(part.unknown_payload(), "detail") {
                        node.push("detail", Node::text(detail));
                    }
                    self.add_content(node);
                }
                Content::Other(other) => {
                    if !is_assistant && other.kind.ends_with("/reasoning") {
                        return Err(NOT_THOUGHT);
                    }
                    let payload = own_payload(Dialect::OpenAiResponses, other)?;
                    self.add_own(role, index, &other.kind, payload);
                }
            }
            Ok(())
        });
    }

    fn add_reasoning(&mut self, index: usize, item: Node<'a>) {
        self.flush("assistant");
        self.items.push(item);
        self.open_reasoning.push(index);
    }

    fn add_own(&mut self, role: &'static str, index: usize, kind: &str, payload: &'a Json) {
        let node = Node::Raw(well_formed(payload));
        match kind.rsplit('/').next().unwrap_or(kind) {
            "input_image" | "input_file" | "input_audio" | "refusal" => self.add_content(node),
            "reasoning" => self.add_reasoning(index, node),
            _ => {
                self.flush(role);
                self.open_reasoning.clear();
                self.items.push(node);
            }
        }
    }
}

fn text_node<'a>(kind: &'static str, text: Node<'a>) -> Node<'a> {
    Node::typed(kind, [("text", text)])
}

fn image_node(url: Node<'_>) -> Node<'_> {
    Node::typed("input_image", [("image_url", url)])
}

/// Returns the item for reasoning, without an id. With the encrypted content no id is needed. After an item with an
/// id, OpenAI would require the item that it stored next.
fn reasoning_item<'a>(part: &Part, text: &'a str) -> Option<Node<'a>> {
    let encrypted = text_field(part.unknown_payload(), ENCRYPTED)?;
    let summary = match text {
        "" => Vec::new(),
        text => vec![text_node("summary_text", Node::text(text))],
    };
    let fields = [("summary", Node::List(summary)), ("encrypted_content", Node::text(encrypted))];
    Some(Node::typed("reasoning", fields))
}

fn call_item<'a>(call: &Call<'a>) -> Node<'a> {
    let fields = [
        ("call_id", Node::text(call.id.clone())),
        ("name", Node::text(call.name.clone())),
        ("arguments", Node::text(as_text(call.call))),
    ];
    Node::typed("function_call", fields)
}

fn output_item<'a>(call: &Call<'a>, notes: &mut Vec<Note>) -> Node<'a> {
    let fields = [("call_id", Node::text(call.id.clone())), ("output", output_node(call, notes))];
    Node::typed("function_call_output", fields)
}

/// Returns the output of a call. A list of blocks stays a list, including pictures; all other content becomes one
/// text.
fn output_node<'a>(call: &Call<'a>, notes: &mut Vec<Note>) -> Node<'a> {
    let Some((index, result)) = call.result else {
        return Node::text(format!("{ERROR_MARK}{}", ToolResult::NOT_RECORDED));
    };
    let content = result_content::Content::new(result);
    if result.is_error {
        let id = call.call.tool_call_id.clone();
        notes.push(Note::on(index, NoteKind::ErrorAsText { id }));
    }
    if !content.is_list || (result.is_error && content.images() == 0) {
        return if result.is_error { content.into_error_text() } else { content.into_text() };
    }
    let mut nodes = Vec::new();
    if result.is_error {
        nodes.push(text_node("input_text", Node::text(ERROR_MARK)));
    }
    for piece in content.pieces {
        match piece {
            Piece::Text(text) => nodes.push(text_node("input_text", text)),
            Piece::Image(image) => match common_picture(&image) {
                Ok(picture) => nodes.push(image_node(Node::text(picture.url().into_owned()))),
                Err(kind) => notes.push(Note::on(index, kind)),
            },
        }
    }
    if nodes.is_empty() { Node::text("") } else { Node::List(nodes) }
}
