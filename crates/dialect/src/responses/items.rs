//! The items of a Responses input. Texts and pictures in a row are one message item; reasoning, calls
//! and outputs are items of their own.

use tertulia_session::json::Json;
use tertulia_session::{Part, PartKind, ToolResult};

use crate::arguments::as_text;
use crate::context::text_field;
use crate::fragment::{Map, Node};
use crate::pairs::{Call, Said};
use crate::picture::{TEXT_ONLY, common_picture};
use crate::reading::own_payload;
use crate::result_content::{Content, ERROR_MARK, Piece};
use crate::surrogates::mended;
use crate::{Dialect, Note, NoteKind};

/// The field of a thinking part that lets OpenAI read it again.
pub(super) const ENCRYPTED: &str = "encryptedContent";

/// The items so far, and the content of the message item that is being filled.
#[derive(Debug, Default)]
pub(super) struct Items<'a> {
    items: Vec<Node<'a>>,
    content: Vec<Node<'a>>,
    /// The messages of the reasoning items at the end, which nothing follows yet.
    open_reasoning: Vec<usize>,
}

/// Where a kept part belongs.
pub(super) fn is_content(kind: &str) -> bool {
    matches!(kind, "input_image" | "input_file" | "input_audio" | "refusal")
}

impl<'a> Items<'a> {
    /// Returns an empty list with the capacity for the items of this many messages.
    pub(super) fn with_capacity(messages: usize) -> Self {
        Self { items: Vec::with_capacity(messages), ..Self::default() }
    }

    pub(super) fn is_empty(&self) -> bool {
        self.items.is_empty()
    }

    pub(super) fn len(&self) -> usize {
        self.items.len()
    }

    pub(super) fn into_node(self) -> Node<'a> {
        Node::List(self.items)
    }

    /// Adds to the content, which is one text most of the time.
    fn add_content(&mut self, node: Node<'a>) {
        if self.content.is_empty() {
            self.content.reserve_exact(1);
        }
        self.content.push(node);
    }

    /// Adds a user message that nobody said.
    pub(super) fn add_user(&mut self, words: &'static str) {
        self.add_content(text_node("input_text", Node::text(words)));
        self.flush("user");
    }

    /// Adds a message of a user or of the system.
    pub(super) fn say(&mut self, role: &'static str, said: &Said<'a>, notes: &mut Vec<Note>) {
        let before = self.items.len();
        for part in said.parts {
            self.add_part(role, said.index, part, notes);
        }
        self.flush(role);
        if self.items.len() == before {
            notes.push(Note::on(said.index, NoteKind::EmptyLeftOut));
        }
    }

    /// Ends the message item that is being filled.
    pub(super) fn flush(&mut self, role: &'static str) {
        if self.content.is_empty() {
            return;
        }
        let content = std::mem::take(&mut self.content);
        self.open_reasoning.clear();
        self.items.push(Node::Map(vec![
            ("type", Node::text("message")),
            ("role", Node::text(role)),
            ("content", Node::List(content)),
        ]));
    }

    /// Adds calls or outputs of an answer.
    pub(super) fn add_all(&mut self, items: impl IntoIterator<Item = Node<'a>>) {
        for item in items {
            self.flush("assistant");
            self.open_reasoning.clear();
            self.items.push(item);
        }
    }

    /// Takes reasoning away that nothing follows in its answer: it would be refused.
    pub(super) fn drop_open_reasoning(&mut self, notes: &mut Vec<Note>) {
        for index in self.open_reasoning.drain(..) {
            self.items.pop();
            let why = "nothing follows it in its turn";
            notes.push(Note::on(index, NoteKind::ThinkingLeftOut { why }));
        }
    }

    /// Adds a part that is neither call nor result.
    pub(super) fn add_part(
        &mut self,
        role: &'static str,
        index: usize,
        part: &'a Part,
        notes: &mut Vec<Note>,
    ) {
        let text_type = if role == "assistant" { "output_text" } else { "input_text" };
        let note = match &part.kind {
            PartKind::Text(text) if text.is_empty() => NoteKind::EmptyLeftOut,
            PartKind::Text(text) => {
                return self.add_content(text_node(text_type, Node::text(text.as_str())));
            }
            PartKind::Thinking(text) if role == "assistant" => match reasoning_item(part, text) {
                Some(item) => return self.add_reasoning(index, item),
                None => NoteKind::ThinkingLeftOut { why: "it has no content encrypted by OpenAI" },
            },
            PartKind::Thinking(_) => NoteKind::ThinkingLeftOut { why: "only an assistant thinks" },
            PartKind::Image(_) if role != "user" => NoteKind::ImageLeftOut { why: TEXT_ONLY },
            PartKind::Image(image) => match common_picture(image) {
                Ok(picture) => {
                    return self.add_content(image_node(part, Node::Text(picture.url())));
                }
                Err(why) => NoteKind::ImageLeftOut { why },
            },
            PartKind::FileRef(file) => {
                let text = format!("[file: {}]", file.path);
                self.add_content(text_node(text_type, Node::text(text)));
                NoteKind::FileAsText { path: file.path.clone() }
            }
            PartKind::Other(other) if role != "assistant" && other.kind.ends_with("/reasoning") => {
                NoteKind::ThinkingLeftOut { why: "only an assistant thinks" }
            }
            PartKind::Other(other) => match own_payload(Dialect::OpenAiResponses, other) {
                Some(payload) => return self.add_own(role, index, &other.kind, payload),
                None => {
                    let why = "Responses has no such item";
                    NoteKind::PartLeftOut { kind: other.kind.clone(), why }
                }
            },
            PartKind::ToolCall(_) | PartKind::ToolResult(_) => return,
        };
        notes.push(Note::on(index, note));
    }

    fn add_reasoning(&mut self, index: usize, item: Node<'a>) {
        self.flush("assistant");
        self.items.push(item);
        self.open_reasoning.push(index);
    }

    fn add_own(&mut self, role: &'static str, index: usize, kind: &str, payload: &'a Json) {
        let node = Node::Raw(mended(payload));
        let kind = kind.rsplit('/').next().unwrap_or(kind);
        if is_content(kind) {
            return self.add_content(node);
        }
        if kind == "reasoning" {
            return self.add_reasoning(index, node);
        }
        self.flush(role);
        self.open_reasoning.clear();
        self.items.push(node);
    }
}

fn text_node<'a>(kind: &'static str, text: Node<'a>) -> Node<'a> {
    Node::Map(vec![("type", Node::text(kind)), ("text", text)])
}

fn image_node<'a>(part: &Part, url: Node<'a>) -> Node<'a> {
    let mut fields: Map<'a> = vec![("type", Node::text("input_image")), ("image_url", url)];
    let detail = text_field(part.unknown_payload(), "detail");
    fields.extend(detail.map(|detail| ("detail", Node::text(detail))));
    Node::Map(fields)
}

/// Reasoning without its id: with the encrypted content it needs none, and an id would have to be
/// followed by the item that OpenAI stored behind it.
fn reasoning_item<'a>(part: &Part, text: &'a str) -> Option<Node<'a>> {
    let encrypted = text_field(part.unknown_payload(), ENCRYPTED)?;
    let summary = match text {
        "" => Vec::new(),
        text => vec![text_node("summary_text", Node::text(text))],
    };
    Some(Node::Map(vec![
        ("type", Node::text("reasoning")),
        ("summary", Node::List(summary)),
        ("encrypted_content", Node::text(encrypted)),
    ]))
}

pub(super) fn call_item<'a>(call: &Call<'a>) -> Node<'a> {
    Node::Map(vec![
        ("type", Node::text("function_call")),
        ("call_id", Node::text(call.id.clone())),
        ("name", Node::text(call.name.clone())),
        ("arguments", Node::text(as_text(call.call))),
    ])
}

/// The result of a call, or an error where there is none.
pub(super) fn output_item<'a>(call: &Call<'a>, notes: &mut Vec<Note>) -> Node<'a> {
    Node::Map(vec![
        ("type", Node::text("function_call_output")),
        ("call_id", Node::text(call.id.clone())),
        ("output", output_node(call, notes)),
    ])
}

/// A list of blocks stays a list, pictures included; anything else is one text.
fn output_node<'a>(call: &Call<'a>, notes: &mut Vec<Note>) -> Node<'a> {
    let Some((index, result)) = call.result else {
        return Node::text(format!("{ERROR_MARK}{}", ToolResult::NOT_RECORDED));
    };
    let content = Content::of(result);
    if result.is_error {
        let id = call.call.tool_call_id.clone();
        notes.push(Note::on(index, NoteKind::ErrorAsText { id }));
    }
    if !content.is_list || (result.is_error && content.images() == 0) {
        let text = content.into_text();
        return if result.is_error { text.into_error_node() } else { text.into_node() };
    }
    let mut nodes = Vec::new();
    if result.is_error {
        nodes.push(text_node("input_text", Node::text(ERROR_MARK)));
    }
    for piece in content.pieces {
        match piece {
            Piece::Text(text) => nodes.push(text_node("input_text", text.into_node())),
            Piece::Image(image) => match common_picture(&image) {
                Ok(picture) => {
                    let url = Node::text(picture.url().into_owned());
                    nodes.push(Node::Map(vec![
                        ("type", Node::text("input_image")),
                        ("image_url", url),
                    ]));
                }
                Err(why) => notes.push(Note::on(index, NoteKind::ImageLeftOut { why })),
            },
        }
    }
    if nodes.is_empty() { Node::text("") } else { Node::List(nodes) }
}
