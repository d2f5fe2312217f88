//! Which prompt format a name on the command line asks for. Used by the commands that assemble.

use std::io::Write;

use tertulia_chat::terminal::visible;
use tertulia_context::{AgentType, Assembler};

use crate::args::PLAIN;

/// The format of an agent. Plain text that was asked for by its name is no guess.
pub(super) fn choose_assembler(agent_type: &str, talk: &mut dyn Write) -> Assembler {
    let normalized = AgentType::named(agent_type);
    if matches!(normalized, AgentType::Other(_)) && agent_type != PLAIN {
        let _ = writeln!(
            talk,
            "tertulia: unknown agent type \"{}\"; using plain text. Known types: claude, codex, gemini, \
             {PLAIN}",
            visible(agent_type)
        );
    }
    Assembler::from(&normalized)
}
