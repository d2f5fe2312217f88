//! The prompt of Gemini: headers in words, no brackets, addressees left out.

use super::{Assembler, Header, Line, SystemPlace};
use crate::AgentType;

impl Assembler {
    /// The format of Gemini.
    pub const fn gemini() -> Self {
        Self {
            agent_type: AgentType::GoogleGemini,
            system: SystemPlace::Section(Header::new("Instructions:")),
            team_task: Header::new("Team Task:"),
            context: Header::new("Conversation so far:"),
            message: Header::new("Your task:"),
            line: Line::Dash,
            is_escaped: false,
        }
    }
}
