//! Anthropic Messages: `{system?, messages, tools?}`. Two roles alternate, and the user is first. The results of an
//! answer's calls are the first blocks of the next user turn.

mod blocks;
mod cache;
mod read;

use tertulia_session::Role;

use crate::fragment::{Node, Rendering};
use crate::identifier_rules::IdentifierRule;
use crate::normalize::{Conversation, IdentifierRules};
use crate::tool_specs::write_tools;
use crate::turns::{Block, BlockKind, Turns, Writer, nodes};
use crate::{Dialect, ModelContext, Note, NoteKind};
use blocks::{content_block, kept, result_blocks, text_node, use_node};

pub(crate) use blocks::image_node;
pub(crate) use read::{read, read_block};

/// Ids must match `^[a-zA-Z0-9_-]+$`. 64 characters are safe for ids and for names.
const RULES: IdentifierRules =
    IdentifierRules { ids: IdentifierRule::word(64), names: IdentifierRule::word(64) };

const WRITER: Writer =
    Writer { text: text_node, content: content_block, call: use_node, results: result_blocks };

/// Renders the messages as a fragment of an Anthropic Messages request.
///
/// A cache breakpoint marks the last block of its message. At most four marks are set in total: first on the tools
/// and the system text, then on the last of the other messages.
pub(crate) fn render<'a>(context: &ModelContext<'a>) -> Rendering<'a> {
    let mut notes = Vec::new();
    let conversation = Conversation::new(context, RULES, &mut notes);
    let system = conversation.system.iter();
    let mut system: Vec<_> = system
        .flat_map(|message_parts| WRITER.message_blocks(message_parts, Role::System, &mut notes))
        .collect();
    let mut turns = Turns::new(&conversation, &WRITER, &mut notes);
    turns.update(|blocks| reorder_thinking(blocks, &mut notes));
    turns.complete(&conversation.volatile, &WRITER, &mut notes);
    if turns.last_is_assistant() {
        notes.push(Note::whole(NoteKind::EndsWithAssistant));
        trim_end(&mut turns, &mut notes);
    }
    let tools = write_tools(Dialect::Anthropic, RULES.names, context.tool_specs, &mut notes);
    let mut tools: Vec<_> = tools.into_iter().map(kept).collect();
    cache::mark(context, &mut tools, &mut system, &mut turns, &mut notes);

    let mut fields = Vec::new();
    if !system.is_empty() {
        fields.push(("system", nodes(system)));
    }
    fields.push(("messages", turns.into_node("assistant", "content")));
    Rendering::new(fields, tools, notes)
}

/// Ensures that a turn does not end with thinking, and that it begins with thinking if it has any.
fn reorder_thinking(blocks: &mut Vec<Block<'_>>, notes: &mut Vec<Note>) {
    let is_thinking = |block: &Block<'_>| block.kind == BlockKind::Thinking;
    while let Some(last) = blocks.pop_if(|last| is_thinking(last)) {
        let reason = "nothing follows it in its turn";
        notes.push(Note::on(last.index, NoteKind::ThinkingLeftOut { reason }));
    }
    if !blocks.first().is_some_and(is_thinking)
        && let Some(at) = blocks.iter().position(is_thinking)
    {
        let moved = blocks.remove(at);
        notes.push(Note::on(moved.index, NoteKind::ThinkingMoved));
        blocks.insert(0, moved);
    }
}

/// Removes whitespace at the end of the last text, if the request ends with the assistant. Anthropic does not allow
/// it there.
fn trim_end(turns: &mut Turns<'_>, notes: &mut Vec<Note>) {
    let Some(Block { index, kind: BlockKind::Text, node: Node::Map(fields), .. }) =
        turns.blocks_mut().next_back()
    else {
        return;
    };
    if let Some((_, Node::Text(text))) = fields.last_mut() {
        let kept = text.trim_end().len();
        if kept < text.len() {
            text.to_mut().truncate(kept);
            notes.push(Note::on(*index, NoteKind::SpacesTrimmed));
        }
    }
}
