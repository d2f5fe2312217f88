//! Checks that the cost of the context and the prompt of a window depends on the size of the window, not on the
//! length of the conversation.

use std::error::Error;

use tertulia_context::{AssemblerOutput, ContextManager, ContextRequest};

use crate::arguments::Scale;
use crate::measure::in_turns;
use crate::report::{Figure, Theme, grouped};
use crate::sample::{Addressed, conversation};

/// The number of messages in the small conversation: just more than the window and its current message.
pub(crate) const FEW_MESSAGES: usize = 10;

const LIMIT: f64 = 1.3;

/// Compares a window of 5 in a long conversation with one in a short conversation that ends with the same messages.
///
/// Both are warm: the same messages are read repeatedly, as they are when several members get the same messages.
/// The time of the first access to memory depends on the machine and is not measured here.
pub(crate) fn measure(scale: &Scale) -> Result<Theme, Box<dyn Error>> {
    let few = conversation(FEW_MESSAGES, Addressed::ToOne)?;
    let many = conversation(scale.stored_messages, Addressed::ToOne)?;
    if context_and_prompt(&few) != context_and_prompt(&many) {
        return Err("the two conversations do not give the same prompt".into());
    }
    let pair =
        in_turns(scale.time * 4, LIMIT, || context_and_prompt(&few), || context_and_prompt(&many));
    let name = format!("{} stored messages against {FEW_MESSAGES}", grouped(scale.stored_messages));
    let figure = Figure::ratio(name, &pair, LIMIT);
    Ok(Theme { title: "Context and prompt for a window of 5", figures: vec![figure] })
}

/// Returns the text that a member gets for the newest message.
pub(crate) fn context_and_prompt(manager: &ContextManager) -> AssemblerOutput {
    let input = manager.get_context_for_agent("sarah", "claude", &ContextRequest::default());
    manager.assemble_prompt("claude", &input)
}
