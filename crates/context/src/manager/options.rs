//! The options of a [`ContextManager`](crate::ContextManager), and those of a single call.

use std::collections::HashMap;
use std::num::NonZeroUsize;
use std::sync::Arc;

use tertulia_session::ConversationMessage;

use crate::AgentType;
use crate::log::LogSink;
use crate::markers::Strip;

/// The default number of context messages for an agent.
pub const DEFAULT_CONTEXT_WINDOW_SIZE: usize = 5;

/// The default budget of a prompt in bytes: 768 KiB.
pub const DEFAULT_MAX_BYTES: u64 = 768 * 1024;

/// Called with every message that was added.
pub type MessageHook = Box<dyn Fn(&Arc<ConversationMessage>) + Send + Sync>;
/// Called with every new team task; `None` if it was removed.
pub type TeamTaskHook = Box<dyn Fn(Option<&str>) + Send + Sync>;
/// Called with every message that leaves the conversation because of a cap.
pub type ArchiveHook = Box<dyn Fn(Arc<ConversationMessage>) + Send + Sync>;

/// The settings of a manager.
pub struct ContextManagerOptions {
    pub context_window_size: usize,
    /// Window sizes by agent id or by agent type (short or full name); the id takes precedence.
    pub member_windows: HashMap<String, usize>,
    pub max_bytes: u64,
    pub strip: Strip,
    pub message_cap: Option<MessageCap>,
    pub on_message_added: Option<MessageHook>,
    pub on_team_task_changed: Option<TeamTaskHook>,
    pub log_sink: Option<LogSink>,
}

/// The maximum number of messages in a conversation, and the archive that gets the others, so that nothing is lost
/// silently.
pub struct MessageCap {
    pub messages_max: NonZeroUsize,
    pub archive: ArchiveHook,
}

/// The settings of one request for a context.
#[derive(Clone, Copy, Debug, Default)]
pub struct ContextRequest<'a> {
    pub window_size: Option<usize>,
    pub system_instruction: Option<&'a str>,
    pub instruction_file_text: Option<&'a str>,
}

impl Default for ContextManagerOptions {
    fn default() -> Self {
        Self {
            context_window_size: DEFAULT_CONTEXT_WINDOW_SIZE,
            member_windows: HashMap::new(),
            max_bytes: DEFAULT_MAX_BYTES,
            strip: Strip::COMPACT,
            message_cap: None,
            on_message_added: None,
            on_team_task_changed: None,
            log_sink: None,
        }
    }
}

impl ContextManagerOptions {
    pub(super) fn window_of(&self, agent_id: &str, agent_type: &str) -> usize {
        if self.member_windows.is_empty() {
            return self.context_window_size;
        }
        let window = |name: &str| self.member_windows.get(name).copied();
        let own = window(agent_id);
        let by_type = || AgentType::named(agent_type).names().iter().find_map(|name| window(name));
        own.or_else(by_type).unwrap_or(self.context_window_size)
    }
}
