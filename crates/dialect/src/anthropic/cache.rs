//! Cache breakpoints: at most four marks in a request, each on a block that may have one.

use crate::fragment::Node;
use crate::normalize::is_volatile;
use crate::turns::{Block, BlockKind, Turns};
use crate::{ModelContext, Note, NoteKind};

const MARKS_MAX: usize = 4;

pub(super) const MARK: &str = "cache_control";

fn push_mark(node: &mut Node<'_>) {
    node.push(MARK, Node::typed("ephemeral", []));
}

/// Sets the marks: first on the last tool and the last system block, then on the last messages,
/// because a later mark covers everything before it.
pub(super) fn mark<'a>(
    context: &ModelContext<'a>,
    tools: &mut [Node<'a>],
    system: &mut [Block<'a>],
    turns: &mut Turns<'a>,
    notes: &mut Vec<Note>,
) {
    let mut left = MARKS_MAX;
    let requested = requested(context, notes);
    if requested.is_empty() {
        return;
    }
    if let Some(tool) = tools.last_mut() {
        push_mark(tool);
        left -= 1;
    }
    let first_system = system.first().map_or(usize::MAX, |block| block.index);
    let last_system = system.last().map_or(0, |block| block.index);
    let is_system = |at: &usize| (first_system..=last_system).contains(at);
    if let Some(block) = system.last_mut().filter(|_| requested.iter().any(is_system)) {
        push_mark(&mut block.node);
        left -= 1;
    }
    for at in requested.into_iter().rev().filter(|at| !is_system(at)) {
        if left == 0 {
            leave_out(at, "a request may have four", notes);
            continue;
        }
        // A thinking block may not have the mark, so the block before it gets the mark.
        let can_be_marked =
            |block: &&mut Block<'_>| block.index <= at && block.kind != BlockKind::Thinking;
        match turns.blocks_mut().rev().find(can_be_marked) {
            Some(block) if block.is_breakpoint => {}
            Some(block) => {
                block.is_breakpoint = true;
                push_mark(&mut block.node);
                left -= 1;
            }
            None => leave_out(at, "its message is not in the request", notes),
        }
    }
}

fn requested(context: &ModelContext<'_>, notes: &mut Vec<Note>) -> Vec<usize> {
    let mut requested = context.cache_breakpoints.to_vec();
    requested.sort_unstable();
    requested.dedup();
    requested.retain(|&at| {
        let reason = match context.messages.get(at) {
            None => "there is no such message",
            Some(message) if is_volatile(message) => "volatile messages are not cached",
            Some(_) => return true,
        };
        leave_out(at, reason, notes);
        false
    });
    requested
}

fn leave_out(at: usize, reason: &'static str, notes: &mut Vec<Note>) {
    notes.push(Note::on(at, NoteKind::BreakpointLeftOut { reason }));
}
