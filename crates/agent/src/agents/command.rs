//! Any program: it reads a prompt and writes an answer. All its arguments are its own.

use super::{AgentDefinition, GENERIC, PROGRAM_FIELDS, PROMPT_FIELDS, SystemText};

/// Any program.
pub const COMMAND: &AgentDefinition = &AgentDefinition {
    word: "command",
    title: "a program",
    fields: &[PROMPT_FIELDS, PROGRAM_FIELDS, &["output"]],
    required: &[("command", "has no command; write command = [\"program\", \"argument\"]")],
    // Only one that writes our JSON lines may.
    reports_cost: false,
    system_text: SystemText::InFront,
    ..GENERIC
};
