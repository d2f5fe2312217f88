//! The prompt of Claude Code: bracketed headers; the system text travels apart, for
//! `--append-system-prompt`, and counts against the budget all the same.

use super::{Assembler, Header, Line, SystemPlace};
use crate::AgentType;

impl Assembler {
    /// The format of Claude Code.
    pub const fn claude() -> Self {
        Self {
            agent_type: AgentType::ClaudeCode,
            system: SystemPlace::Flag,
            team_task: Header::new("[TEAM_TASK]"),
            context: Header::new("[CONTEXT]"),
            message: Header::new("[MESSAGE]"),
            line: Line::Arrow,
            is_escaped: false,
        }
    }
}
