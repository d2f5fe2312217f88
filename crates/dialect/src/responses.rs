//! OpenAI Responses: `{instructions?, input, tools?}`. The input is a list of items: messages,
//! reasoning, calls and their outputs, paired by `call_id`.

mod items;
mod read;

use std::borrow::Cow;

use tertulia_session::{Part, PartKind};

use crate::chat::system_role;
use crate::fragment::{Fragment, Node, Rendering};
use crate::note::sorted;
use crate::pairs::{Answer, Said, Script, Spellings, Turn};
use crate::picture::TEXT_ONLY;
use crate::spelling::Spelling;
use crate::tool_specs::{Tool, tools};
use crate::{Dialect, ModelContext, Note, NoteKind, Placeholder};
use items::{Items, call_item, output_item};

pub use read::read_openai_responses;

/// Longer ids of calls are refused.
const SPELLINGS: Spellings = Spellings { ids: Spelling::visible(64), names: Spelling::word(64) };

/// The messages as a fragment of a Responses request. The system text becomes the instructions; a
/// system message in the middle and the volatile messages are items in their places. Thinking is sent
/// back where its encrypted content is known.
pub fn render_openai_responses<'a>(context: &ModelContext<'a>) -> Rendering<'a> {
    let mut notes = Vec::new();
    let script = Script::of(context, SPELLINGS, &mut notes);
    let instructions = instructions(&script.system, &mut notes);
    let mut items = Items::with_capacity(context.messages.len());
    for turn in &script.turns {
        match turn {
            Turn::System(said) => items.say(system_role(said.message), said, &mut notes),
            Turn::User(said) => items.say("user", said, &mut notes),
            Turn::Assistant(answer) => push_answer(&mut items, answer, &mut notes),
        }
    }
    for said in &script.volatile {
        items.say("system", said, &mut notes);
    }
    if items.is_empty() {
        let why = Placeholder::Empty;
        notes.push(Note::whole(NoteKind::UserTurnAdded { why }));
        items.add_user(why.words());
    }
    let mut fields = Vec::new();
    fields.extend(instructions.map(|text| ("instructions", Node::Text(text))));
    fields.push(("input", items.into_node()));
    let tools = write_tools(context, &mut notes);
    if !tools.is_empty() {
        fields.push(("tools", Node::List(tools)));
    }
    Rendering { fragment: Fragment::new(fields), notes: sorted(notes) }
}

/// The system texts in one, a blank line between them.
fn instructions<'a>(system: &[Said<'a>], notes: &mut Vec<Note>) -> Option<Cow<'a, str>> {
    let mut all: Option<Cow<'a, str>> = None;
    for said in system {
        for part in said.parts {
            let Some(text) = system_text(said.index, part, notes) else {
                continue;
            };
            match &mut all {
                Some(whole) => {
                    let whole = whole.to_mut();
                    whole.push_str("\n\n");
                    whole.push_str(&text);
                }
                None => all = Some(text),
            }
        }
    }
    all
}

fn system_text<'a>(index: usize, part: &'a Part, notes: &mut Vec<Note>) -> Option<Cow<'a, str>> {
    let note = match &part.kind {
        PartKind::Text(text) if text.is_empty() => NoteKind::EmptyLeftOut,
        PartKind::Text(text) => return Some(Cow::Borrowed(text)),
        PartKind::FileRef(file) => {
            notes.push(Note::on(index, NoteKind::FileAsText { path: file.path.clone() }));
            return Some(Cow::Owned(format!("[file: {}]", file.path)));
        }
        PartKind::Image(_) => NoteKind::ImageLeftOut { why: TEXT_ONLY },
        PartKind::Thinking(_) => NoteKind::ThinkingLeftOut { why: "only an assistant thinks" },
        PartKind::Other(other) => {
            NoteKind::PartLeftOut { kind: other.kind.clone(), why: TEXT_ONLY }
        }
        PartKind::ToolCall(_) | PartKind::ToolResult(_) => return None,
    };
    notes.push(Note::on(index, note));
    None
}

fn push_answer<'a>(items: &mut Items<'a>, answer: &Answer<'a>, notes: &mut Vec<Note>) {
    let mut calls = answer.calls.iter();
    for said in &answer.said {
        let before = items.len();
        for part in said.parts {
            match &part.kind {
                PartKind::ToolCall(_) => items.add_all(calls.next().map(call_item)),
                _ => items.add_part("assistant", said.index, part, notes),
            }
        }
        items.flush("assistant");
        if items.len() == before {
            notes.push(Note::on(said.index, NoteKind::EmptyLeftOut));
        }
    }
    items.drop_open_reasoning(notes);
    items.add_all(answer.calls.iter().map(|call| output_item(call, notes)));
}

fn write_tools<'a>(context: &ModelContext<'a>, notes: &mut Vec<Note>) -> Vec<Node<'a>> {
    let tools = tools(context.tool_specs, Dialect::OpenAiResponses, SPELLINGS.names, notes);
    let write = |tool| match tool {
        Tool::Function(function) => {
            let mut fields = vec![("type", Node::text("function"))];
            fields.extend(function.into_fields("parameters"));
            Node::Map(fields)
        }
        Tool::Own(json) => Node::Raw(Cow::Owned(json)),
    };
    tools.into_iter().map(write).collect()
}
