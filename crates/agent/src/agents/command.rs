//! Any program: it reads a prompt and writes an answer. All its arguments are its own.

use super::{AgentDefinition, GENERIC, PROGRAM_FIELDS, PROMPT_FIELDS, SystemText};
use crate::process::StartError;
use crate::process::neutral::Reader;
use crate::process::prepare::Prepared;
use crate::{AgentSpec, TurnRequest};

/// Any program.
pub const COMMAND: &AgentDefinition = &AgentDefinition {
    word: "command",
    title: "a program",
    fields: &[PROMPT_FIELDS, PROGRAM_FIELDS, &["output"]],
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
    Prepared::new(spec, request)
}
