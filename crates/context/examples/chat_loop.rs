//! A chat loop that calls a model directly and never sends more than a budget of tokens.
//!
//! Run it with `cargo run -p tertulia-context --example chat_loop`. The model is a function here; a real
//! program sends `model_messages` to an API instead (`tertulia-dialect` writes the requests).

#![allow(clippy::print_stdout, reason = "an example shows what it does")]

use std::error::Error;

use tertulia_context::builder::{ContextBuildInput, ContextBuilder, ContextConfig, ModelMessage};
use tertulia_context::compact::Compactor;
use tertulia_session::{Entry, Message, Part, Role};

const BUDGET: u64 = 600;

fn main() -> Result<(), Box<dyn Error>> {
    for line in run(40)? {
        println!("{line}");
    }
    Ok(())
}

/// Runs a chat of some turns and returns one line for each of them.
pub(crate) fn run(turns: usize) -> Result<Vec<String>, Box<dyn Error>> {
    // With a compactor, messages that no longer fit are summarised. Without one they are dropped.
    let builder = ContextBuilder::new(ContextConfig::new(BUDGET))?
        .with_compactor(Compactor::Extractive)
        .with_system_prompt("You plan a kitchen garden. Be brief.");
    let mut log: Vec<Entry> = Vec::new();
    let mut lines = Vec::new();
    let mut new = vec![text(Role::User, "The garden has eight beds. Plan the first one.")];

    for turn in 1..=turns {
        let context = builder.build_context(&ContextBuildInput {
            session_entries: &log,
            input_messages: &new,
            ..ContextBuildInput::default()
        })?;
        let stats = context.stats;
        lines.push(format!(
            "turn {turn}: {} of {BUDGET} tokens, {} messages, {} summarised",
            stats.input_tokens, stats.message_count, stats.summarized_messages_count,
        ));
        let answer = call_model(&context.model_messages);

        // Store the entries: they contain the new messages and any summary. The next call needs nothing but the log.
        let entries = context.entries_to_append;
        log.extend(entries);
        new = vec![
            text(Role::Assistant, &answer),
            text(Role::User, &format!("Good. What goes into bed {}?", turn + 1)),
        ];
    }
    Ok(lines)
}

/// Takes the place of a model's API.
fn call_model(messages: &[ModelMessage<'_>]) -> String {
    format!(
        "I read {} messages. Beans, then winter lettuce, with straw between them.",
        messages.len()
    )
}

fn text(role: Role, text: &str) -> Message {
    Message::with_role(role, [Part::text(text)].into_iter().collect())
}
