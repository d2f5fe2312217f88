//! The prompt of Codex: as Claude's, with the system text inline under `[SYSTEM]`.

use super::{Assembler, Header, Line, SystemPlace};
use crate::AgentType;

impl Assembler {
    /// The format of Codex.
    pub const fn codex() -> Self {
        Self {
            agent_type: AgentType::OpenAiCodex,
            system: SystemPlace::Section(Header::new("[SYSTEM]")),
            team_task: Header::new("[TEAM_TASK]"),
            context: Header::new("[CONTEXT]"),
            message: Header::new("[MESSAGE]"),
            line: Line::Arrow,
            is_escaped: false,
        }
    }
}
