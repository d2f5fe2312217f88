//! Turns that alternate between the user and the model, as Anthropic and Gemini require. Consecutive messages of one
//! side form one turn. Results are in the user turn after their calls.

use std::slice::Iter;

use tertulia_session::{Part, PartKind, Role};

use crate::fragment::Node;
use crate::normalize::{Call, Conversation, MessageParts, Turn};
use crate::{Note, NoteKind, Placeholder};

#[derive(Clone, Debug)]
pub(crate) struct Block<'a> {
    pub(crate) index: usize,
    pub(crate) kind: BlockKind,
    pub(crate) node: Node<'a>,
    pub(crate) is_breakpoint: bool,
}

impl<'a> Block<'a> {
    pub(crate) fn new(index: usize, kind: BlockKind, node: Node<'a>) -> Self {
        Self { index, kind, node, is_breakpoint: false }
    }
}

/// The kinds of blocks that the rules distinguish.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum BlockKind {
    Text,
    Thinking,
    ToolResult,
    Other,
}

pub(crate) struct Writer {
    pub(crate) text: for<'a> fn(Node<'a>) -> Node<'a>,
    /// Returns the block of a part that is neither call nor result, in a message of this role. A
    /// system message accepts only text.
    pub(crate) content: for<'a> fn(usize, &'a Part, Role, &mut Vec<Note>) -> Option<Block<'a>>,
    pub(crate) call: for<'a> fn(&Call<'a>, &mut Vec<Note>) -> Node<'a>,
    pub(crate) results: for<'a> fn(&[Call<'a>], &mut Vec<Note>) -> Vec<Block<'a>>,
}

#[derive(Debug)]
pub(crate) struct Turns<'a>(Vec<(Role, Vec<Block<'a>>)>);

impl Writer {
    fn blocks<'a>(
        &self,
        message_parts: &MessageParts<'a>,
        role: Role,
        calls: &mut Iter<'_, Call<'a>>,
        notes: &mut Vec<Note>,
    ) -> Vec<Block<'a>> {
        let mut blocks = Vec::with_capacity(message_parts.parts.len());
        for part in message_parts.parts {
            blocks.extend(match &part.kind {
                PartKind::ToolCall(_) => calls
                    .next()
                    .map(|call| Block::new(call.index, BlockKind::Other, (self.call)(call, notes))),
                _ => (self.content)(message_parts.index, part, role, notes),
            });
        }
        if blocks.is_empty() {
            notes.push(Note::on(message_parts.index, NoteKind::EmptyLeftOut));
        }
        blocks
    }

    pub(crate) fn message_blocks<'a>(
        &self,
        message_parts: &MessageParts<'a>,
        role: Role,
        notes: &mut Vec<Note>,
    ) -> Vec<Block<'a>> {
        self.blocks(message_parts, role, &mut [].iter(), notes)
    }
}

impl<'a> Turns<'a> {
    /// Creates the turns of the conversation, without its volatile messages.
    pub(crate) fn new(
        conversation: &Conversation<'a>,
        writer: &Writer,
        notes: &mut Vec<Note>,
    ) -> Self {
        let mut turns = Self(Vec::with_capacity(conversation.turns.len()));
        for turn in &conversation.turns {
            match turn {
                Turn::System(message_parts) => {
                    notes.push(Note::on(message_parts.index, NoteKind::SystemAsUser));
                    turns.push(
                        Role::User,
                        writer.message_blocks(message_parts, Role::System, notes),
                        notes,
                    );
                }
                Turn::User(message_parts) => {
                    turns.push(
                        Role::User,
                        writer.message_blocks(message_parts, Role::User, notes),
                        notes,
                    );
                }
                Turn::Assistant(answer) => {
                    let mut calls = answer.calls.iter();
                    for message_parts in &answer.messages {
                        let blocks =
                            writer.blocks(message_parts, Role::Assistant, &mut calls, notes);
                        turns.push(Role::Assistant, blocks, notes);
                    }
                    // The user's next message is merged into the turn with the results.
                    turns.append(Role::User, (writer.results)(&answer.calls, notes));
                }
            }
        }
        turns
    }

    /// Adds the volatile messages, and a turn in front if the user has to begin.
    pub(crate) fn complete(
        &mut self,
        volatile: &[MessageParts<'a>],
        writer: &Writer,
        notes: &mut Vec<Note>,
    ) {
        for message_parts in volatile {
            self.append(Role::User, writer.message_blocks(message_parts, Role::System, notes));
        }
        let missing = match self.0.first() {
            None => Placeholder::Empty,
            Some((Role::Assistant, _)) => Placeholder::Opening,
            Some(_) => return,
        };
        self.0.insert(0, (Role::User, placeholder(missing, writer, notes)));
    }

    /// Adds a user turn if the model's turn would otherwise be last.
    pub(crate) fn close(&mut self, writer: &Writer, notes: &mut Vec<Note>) {
        if self.last_is_assistant() {
            self.append(Role::User, placeholder(Placeholder::Closing, writer, notes));
        }
    }

    /// Adds a message. Adds a note if it is merged with another message and not only with results.
    fn push(&mut self, role: Role, blocks: Vec<Block<'a>>, notes: &mut Vec<Note>) {
        let is_said = |block: &Block<'_>| block.kind != BlockKind::ToolResult;
        if let Some(first) = blocks.first()
            && let Some((last, before)) = self.0.last()
            && *last == role
            && before.iter().any(is_said)
        {
            notes.push(Note::on(first.index, NoteKind::Merged));
        }
        self.append(role, blocks);
    }

    fn append(&mut self, role: Role, blocks: Vec<Block<'a>>) {
        match self.0.last_mut() {
            _ if blocks.is_empty() => {}
            Some((last, turn)) if *last == role => turn.extend(blocks),
            _ => self.0.push((role, blocks)),
        }
    }

    pub(crate) fn last_is_assistant(&self) -> bool {
        matches!(self.0.last(), Some((Role::Assistant, _)))
    }

    pub(crate) fn blocks_mut(&mut self) -> impl DoubleEndedIterator<Item = &mut Block<'a>> {
        self.0.iter_mut().flat_map(|(_, blocks)| blocks)
    }

    /// Changes the blocks of every turn; removes turns without blocks.
    pub(crate) fn update(&mut self, mut each: impl FnMut(&mut Vec<Block<'a>>)) {
        self.0.iter_mut().for_each(|(_, blocks)| each(blocks));
        if self.0.iter().any(|(_, blocks)| blocks.is_empty()) {
            for (role, blocks) in std::mem::take(&mut self.0) {
                self.append(role, blocks);
            }
        }
    }

    /// Returns the list of turns. `model` is the role of the model, and `list` the field of the blocks.
    pub(crate) fn into_node(self, model: &'static str, list: &'static str) -> Node<'a> {
        let turn = |(role, blocks): (Role, Vec<Block<'a>>)| {
            let role = if role == Role::Assistant { model } else { "user" };
            Node::Map(vec![("role", Node::text(role)), (list, nodes(blocks))])
        };
        Node::List(self.0.into_iter().map(turn).collect())
    }
}

pub(crate) fn nodes(blocks: Vec<Block<'_>>) -> Node<'_> {
    Node::List(blocks.into_iter().map(|block| block.node).collect())
}

fn placeholder<'a>(reason: Placeholder, writer: &Writer, notes: &mut Vec<Note>) -> Vec<Block<'a>> {
    notes.push(Note::whole(NoteKind::UserTurnAdded { reason }));
    let node = (writer.text)(Node::text(reason.words()));
    vec![Block::new(usize::MAX, BlockKind::Text, node)]
}
