//! Anthropic Messages: `{system?, messages, tools?}`. Two roles that take turns, the user first; the
//! results of an answer's calls are the first blocks of the next user turn.

mod blocks;
mod cache;
mod read;
mod results;

use std::borrow::Cow;

use tertulia_session::PartKind;

use crate::fragment::{Fragment, Node, Rendering};
use crate::note::sorted;
use crate::pairs::{Answer, Call, Said, Script, Spellings, Turn};
use crate::spelling::Spelling;
use crate::tool_specs::{Tool, tools};
use crate::turns::{Side, Turns};
use crate::{Dialect, ModelContext, Note, NoteKind, Placeholder};
use blocks::{Block, BlockKind, Body, content_blocks, text_blocks, use_block};
use results::result_block;

pub use read::read_anthropic;

/// Ids are checked against `^[a-zA-Z0-9_-]+$`; 64 characters are safe for ids and names alike.
const SPELLINGS: Spellings = Spellings { ids: Spelling::word(64), names: Spelling::word(64) };

/// The messages as a fragment of an Anthropic Messages request.
///
/// A cache breakpoint goes on the last block of its message, at most four in all: the tools and the
/// system text have the first claim, then the last of the others.
pub fn render_anthropic<'a>(context: &ModelContext<'a>) -> Rendering<'a> {
    let mut notes = Vec::new();
    let script = Script::of(context, SPELLINGS, &mut notes);
    let mut system: Vec<Block<'_>> =
        script.system.iter().flat_map(|said| text_blocks(said, &mut notes)).collect();
    let mut turns = write_turns(&script, &mut notes);
    let mut tools = write_tools(context, &mut notes);
    cache::mark(context, &mut tools, &mut system, &mut turns, &mut notes);

    let mut fields = Vec::new();
    if !system.is_empty() {
        fields.push(("system", Node::List(system.into_iter().map(Block::into_node).collect())));
    }
    fields.push(("messages", Node::List(turns.into_iter().map(turn_node).collect())));
    if !tools.is_empty() {
        fields.push(("tools", Node::List(tools.into_iter().map(Body::into_node).collect())));
    }
    Rendering { fragment: Fragment::new(fields), notes: sorted(notes) }
}

fn write_turns<'a>(script: &Script<'a>, notes: &mut Vec<Note>) -> Turns<Block<'a>> {
    let mut turns = Turns::with_capacity(script.turns.len());
    for turn in &script.turns {
        match turn {
            Turn::System(said) => {
                notes.push(Note::on(said.index, NoteKind::SystemAsUser));
                push(&mut turns, Side::User, text_blocks(said, notes), notes);
            }
            Turn::User(said) => {
                push(&mut turns, Side::User, content_blocks(said, Side::User, notes), notes);
            }
            Turn::Assistant(answer) => push_answer(&mut turns, answer, notes),
        }
    }
    turns.update(|blocks| put_thinking_in_place(blocks, notes));
    for said in &script.volatile {
        turns.append(Side::User, text_blocks(said, notes));
    }
    let missing = match turns.first_side() {
        None => Some(Placeholder::Empty),
        Some(Side::Assistant) => Some(Placeholder::Opening),
        Some(Side::User) => None,
    };
    if let Some(why) = missing {
        notes.push(Note::whole(NoteKind::UserTurnAdded { why }));
        turns.insert_first(Side::User, Block::text(usize::MAX, Node::text(why.words())));
    }
    trim_end(&mut turns, notes);
    turns
}

/// Adds a message; that it joins another one is noted.
fn push<'a>(
    turns: &mut Turns<Block<'a>>,
    side: Side,
    blocks: Vec<Block<'a>>,
    notes: &mut Vec<Note>,
) {
    let is_result = |block: &Block<'_>| block.kind == BlockKind::ToolResult;
    if let Some(first) = blocks.first()
        && turns.would_merge(side, is_result)
    {
        notes.push(Note::on(first.index, NoteKind::Merged));
    }
    turns.append(side, blocks);
}

fn push_answer<'a>(turns: &mut Turns<Block<'a>>, answer: &Answer<'a>, notes: &mut Vec<Note>) {
    let mut calls = answer.calls.iter();
    for said in &answer.said {
        let blocks = answer_blocks(said, &mut calls, notes);
        push(turns, Side::Assistant, blocks, notes);
    }
    // The next request joins the results.
    let mut results = Vec::with_capacity(answer.calls.len() + 1);
    results.extend(answer.calls.iter().map(|call| result_block(call, notes)));
    turns.append(Side::User, results);
}

/// A turn neither ends with thinking nor, if it has any, begins without.
fn put_thinking_in_place(blocks: &mut Vec<Block<'_>>, notes: &mut Vec<Note>) {
    let is_thinking = |block: &Block<'_>| block.kind == BlockKind::Thinking;
    while let Some(last) = blocks.pop_if(|last| is_thinking(last)) {
        let why = "nothing follows it in its turn";
        notes.push(Note::on(last.index, NoteKind::ThinkingLeftOut { why }));
    }
    if !blocks.first().is_some_and(is_thinking)
        && let Some(at) = blocks.iter().position(is_thinking)
    {
        let moved = blocks.remove(at);
        notes.push(Note::on(moved.index, NoteKind::ThinkingMoved));
        blocks.insert(0, moved);
    }
}

/// The last text of a request that ends with the assistant may not end with blanks.
fn trim_end(turns: &mut Turns<Block<'_>>, notes: &mut Vec<Note>) {
    if turns.last_side() != Some(Side::Assistant) {
        return;
    }
    notes.push(Note::whole(NoteKind::EndsWithAssistant));
    if let Some(last) = turns.last_block_mut()
        && last.trim_end()
    {
        notes.push(Note::on(last.index, NoteKind::BlanksTrimmed));
    }
}

fn turn_node<'a>((side, blocks): (Side, Vec<Block<'a>>)) -> Node<'a> {
    let role = match side {
        Side::User => "user",
        Side::Assistant => "assistant",
    };
    let content = blocks.into_iter().map(Block::into_node).collect();
    Node::Map(vec![("role", Node::text(role)), ("content", Node::List(content))])
}

/// The blocks of one assistant message; its calls are the next ones of the answer.
fn answer_blocks<'a, 'c>(
    said: &Said<'a>,
    calls: &mut impl Iterator<Item = &'c Call<'a>>,
    notes: &mut Vec<Note>,
) -> Vec<Block<'a>>
where
    'a: 'c,
{
    let mut all = Vec::with_capacity(said.parts.len());
    for part in said.parts {
        match &part.kind {
            PartKind::ToolCall(_) => {
                all.extend(calls.next().map(|call| use_block(call, notes)));
            }
            _ => all.extend(blocks::content_block(said.index, part, Side::Assistant, notes)),
        }
    }
    if all.is_empty() {
        notes.push(Note::on(said.index, NoteKind::EmptyLeftOut));
    }
    all
}

fn write_tools<'a>(context: &ModelContext<'a>, notes: &mut Vec<Note>) -> Vec<Body<'a>> {
    let tools = tools(context.tool_specs, Dialect::Anthropic, SPELLINGS.names, notes);
    let write = |tool| match tool {
        Tool::Function(function) => Body::Fields(function.into_fields("input_schema")),
        Tool::Own(json) => Body::kept(Cow::Owned(json)),
    };
    tools.into_iter().map(write).collect()
}
