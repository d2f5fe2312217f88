//! Gemini `generateContent`: `{systemInstruction?, contents, tools?}`. Two roles, `user` and `model`;
//! as many function responses as calls, under the same names, in the turn behind them.

mod parts;
mod read;

use std::borrow::Cow;

use tertulia_session::PartKind;

use crate::fragment::{Fragment, Node, Rendering};
use crate::note::sorted;
use crate::pairs::{Answer, Script, Spellings, Turn};
use crate::spelling::{Spelling, is_word};
use crate::tool_specs::{Tool, tools};
use crate::turns::{Side, Turns};
use crate::{Dialect, ModelContext, Note, NoteKind, Placeholder};
use parts::{Piece, call_part, content_parts, response_parts, text_parts};

pub use read::read_gemini;

/// A name begins with a letter or `_`. A declaration may have dots and colons too, but a call may not.
const SPELLINGS: Spellings = Spellings {
    ids: Spelling::visible(64),
    names: Spelling {
        allows: |at, c| match at {
            0 => c.is_ascii_alphabetic() || c == '_',
            _ => is_word(c),
        },
        chars_max: 64,
    },
};

/// The messages as a fragment of a Gemini request. The names of function responses are those of their
/// calls; thought signatures stay on the parts that brought them.
pub fn render_gemini<'a>(context: &ModelContext<'a>) -> Rendering<'a> {
    let mut notes = Vec::new();
    let script = Script::of(context, SPELLINGS, &mut notes);
    let system: Vec<Node<'_>> = script
        .system
        .iter()
        .flat_map(|said| text_parts(said, &mut notes))
        .map(|piece| piece.node)
        .collect();
    let turns = write_turns(&script, &mut notes);
    let mut fields = Vec::new();
    if !system.is_empty() {
        fields.push(("systemInstruction", Node::Map(vec![("parts", Node::List(system))])));
    }
    fields.push(("contents", Node::List(turns.into_iter().map(turn_node).collect())));
    let tools = write_tools(context, &mut notes);
    if !tools.is_empty() {
        fields.push(("tools", Node::List(tools)));
    }
    Rendering { fragment: Fragment::new(fields), notes: sorted(notes) }
}

fn write_turns<'a>(script: &Script<'a>, notes: &mut Vec<Note>) -> Turns<Piece<'a>> {
    let mut turns = Turns::with_capacity(script.turns.len());
    for turn in &script.turns {
        match turn {
            Turn::System(said) => {
                notes.push(Note::on(said.index, NoteKind::SystemAsUser));
                push(&mut turns, Side::User, text_parts(said, notes), notes);
            }
            Turn::User(said) => {
                push(&mut turns, Side::User, content_parts(said, Side::User, notes), notes);
            }
            Turn::Assistant(answer) => push_answer(&mut turns, answer, notes),
        }
    }
    for said in &script.volatile {
        turns.append(Side::User, text_parts(said, notes));
    }
    let mut added = |why: Placeholder| {
        notes.push(Note::whole(NoteKind::UserTurnAdded { why }));
        Piece::placeholder(why)
    };
    match turns.first_side() {
        None => turns.insert_first(Side::User, added(Placeholder::Empty)),
        Some(Side::Assistant) => turns.insert_first(Side::User, added(Placeholder::Opening)),
        Some(Side::User) => {}
    }
    if turns.last_side() == Some(Side::Assistant) {
        turns.append(Side::User, vec![added(Placeholder::Closing)]);
    }
    turns
}

fn push<'a>(
    turns: &mut Turns<Piece<'a>>,
    side: Side,
    pieces: Vec<Piece<'a>>,
    notes: &mut Vec<Note>,
) {
    if let Some(first) = pieces.first()
        && turns.would_merge(side, |piece| piece.is_response)
    {
        notes.push(Note::on(first.index, NoteKind::Merged));
    }
    turns.append(side, pieces);
}

fn push_answer<'a>(turns: &mut Turns<Piece<'a>>, answer: &Answer<'a>, notes: &mut Vec<Note>) {
    let mut calls = answer.calls.iter();
    for said in &answer.said {
        let mut pieces = Vec::with_capacity(said.parts.len());
        for part in said.parts {
            match &part.kind {
                PartKind::ToolCall(_) => {
                    pieces.extend(calls.next().map(|call| call_part(call, notes)));
                }
                _ => pieces.extend(parts::content_part(said.index, part, Side::Assistant, notes)),
            }
        }
        if pieces.is_empty() {
            notes.push(Note::on(said.index, NoteKind::EmptyLeftOut));
        }
        push(turns, Side::Assistant, pieces, notes);
    }
    // Pictures of a result stand behind all responses, so that these are in a row; then the next request.
    let mut responses = Vec::with_capacity(answer.calls.len() + 1);
    let mut pictures = Vec::new();
    for call in &answer.calls {
        let (response, images) = response_parts(call, notes);
        responses.push(response);
        pictures.extend(images);
    }
    responses.extend(pictures);
    turns.append(Side::User, responses);
}

fn turn_node<'a>((side, pieces): (Side, Vec<Piece<'a>>)) -> Node<'a> {
    let role = match side {
        Side::User => "user",
        Side::Assistant => "model",
    };
    let parts = pieces.into_iter().map(|piece| piece.node).collect();
    Node::Map(vec![("role", Node::text(role)), ("parts", Node::List(parts))])
}

/// All functions in one declaration; Gemini's own tools are entries of their own behind it.
fn write_tools<'a>(context: &ModelContext<'a>, notes: &mut Vec<Note>) -> Vec<Node<'a>> {
    let (mut functions, mut own) = (Vec::new(), Vec::new());
    for tool in tools(context.tool_specs, Dialect::Gemini, SPELLINGS.names, notes) {
        match tool {
            Tool::Function(mut function) => {
                if function.strict.take().is_some() {
                    let (name, field) = (function.name.as_str().into(), "strict");
                    notes.push(Note::whole(NoteKind::ToolFieldChanged { name, field }));
                }
                functions.push(Node::Map(function.into_fields("parametersJsonSchema")));
            }
            Tool::Own(json) => own.push(Node::Raw(Cow::Owned(json))),
        }
    }
    if !functions.is_empty() {
        own.insert(0, Node::Map(vec![("functionDeclarations", Node::List(functions))]));
    }
    own
}
