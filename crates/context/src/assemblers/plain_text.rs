//! The prompt of every other agent: the texts one below the other, no headers at all.

use super::{Assembler, Header, Line, SystemPlace};
use crate::AgentType;

impl Assembler {
    /// The format for agents that have none of their own.
    pub fn plain_text() -> Self {
        Self {
            agent_type: AgentType::Other("unknown".into()),
            system: SystemPlace::Section(Header::NONE),
            team_task: Header::NONE,
            context: Header::NONE,
            message: Header::NONE,
            line: Line::Bare,
            is_escaped: false,
        }
    }

    /// The same with a header above every section, so that an agent can tell its instruction, the
    /// conversation and the message to answer apart.
    pub fn labelled_text() -> Self {
        Self { agent_type: AgentType::Other("unknown".into()), ..Self::codex() }
    }
}
