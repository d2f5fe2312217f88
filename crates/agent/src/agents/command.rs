//! Any program that reads a prompt and writes an answer. It gets only the arguments of the team file.

use super::{AgentDefinition, GENERIC, PROGRAM_FIELDS, PROMPT_FIELDS, SystemText};

/// Any program.
pub const COMMAND: &AgentDefinition = &AgentDefinition {
    word: "command",
    title: "a program",
    fields: &[PROMPT_FIELDS, PROGRAM_FIELDS, &["output"]],
    required: &[("command", "has no command; write command = [\"program\", \"argument\"]")],
    // Only programs that write our JSON lines may report their cost.
    reports_cost: false,
    reports_tokens: false,
    system_text: SystemText::InFront,
    ..GENERIC
};
