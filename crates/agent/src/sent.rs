//! What an agent is sent, to the byte: the prompt with nothing in it that its program would obey, and the
//! system text in front of it where the program takes one text only. Pure; the programs are started with
//! it, and the driver stores how it was made.

use crate::agents::{AgentDefinition, SystemText};
use crate::process::neutral::{Reader, apply, edits};
use crate::process::{Edit, Mentions, headed};
use crate::{AgentSpec, TurnRequest};

/// The text that the agent gets on its standard input, or as its prompt.
pub fn sent_prompt(spec: &AgentSpec, request: &TurnRequest<'_>) -> String {
    let prompt = request.prompt;
    let text = match spec.kind.definition().system_text {
        SystemText::Separate => prompt.to_owned(),
        SystemText::InFront => headed(request.system, prompt),
        SystemText::Instructions => {
            match request.system.filter(|system| !system.trim().is_empty()) {
                Some(system) => {
                    format!("<instructions>\n{}\n</instructions>\n\n{prompt}", system.trim_end())
                }
                None => prompt.to_owned(),
            }
        }
    };
    let mentions = request.mentions.behind(text.len() - prompt.len());
    apply(&text, &edits(&text, reader_of(spec), &mentions)).into_owned()
}

/// What is changed in a prompt that has no system text in front of it.
pub fn prompt_edits(spec: &AgentSpec, prompt: &str, mentions: &Mentions) -> Vec<Edit> {
    edits(prompt, reader_of(spec), mentions)
}

/// Who reads the prompt. An adapter for the Agent Client Protocol may hand it to a program that interprets it; it
/// may be started by another program (`npx …/claude-agent-acp`).
pub(crate) fn reader_of(spec: &AgentSpec) -> Reader {
    let reader = spec.kind.definition().reader;
    if reader != Reader::Acp {
        return reader;
    }
    let adapters = spec.program.iter().chain(&spec.args).filter_map(|word| {
        let cli = AgentDefinition::of_adapter(word)?.cli.as_ref()?;
        cli.adapter.map(|(_, reader)| reader)
    });
    adapters.into_iter().find(|adapter| *adapter != reader).unwrap_or(reader)
}
