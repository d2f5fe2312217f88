//! Any program: it reads a prompt and writes an answer. All its arguments are its own.

use super::{AgentDefinition, GENERIC, SystemText};
use crate::process::StartError;
use crate::process::neutral::Reader;
use crate::process::prepare::{Files, Prepared, command_line};
use crate::{AgentSpec, TurnRequest};

/// Any program.
pub const COMMAND: &AgentDefinition = &AgentDefinition {
    word: "command",
    title: "a program",
    fields: &[
        "instruction",
        "instruction_file",
        "preamble",
        "window",
        "budget_bytes",
        "budget_usd",
        "timeout_s",
        "first_byte_s",
        "silence_s",
        "max_processes",
        "max_memory_mb",
        "command",
        "args",
        "env",
        "cwd",
        "output",
        "memory",
    ],
    required: &[("command", "has no command; write command = [\"program\", \"argument\"]")],
    // Only one that writes our JSON lines may.
    reports_cost: false,
    reader: Reader::Plain,
    system_text: SystemText::InFront,
    ..GENERIC
};

pub(crate) fn prepare(spec: &AgentSpec, request: &TurnRequest<'_>) -> Result<Prepared, StartError> {
    if spec.program.is_none() {
        let message = "no program is named; set `command` to one that reads a prompt and writes \
                       an answer";
        return Err(StartError::NotAllowed { message: message.into() });
    }
    let command = command_line(spec, COMMAND)?;
    let prompt = crate::sent_prompt(spec, request);
    Ok(Prepared { command, prompt, files: Files::default() })
}
