//! The types of events without messages: settings, progress, and questions to the person.

/// Sorted for binary search.
const KNOWN: &[&str] = &[
    "abort",
    "agent_completed",
    "agent_idle",
    "assistant.idle",
    "assistant.intent",
    "assistant.message_delta",
    "assistant.message_start",
    "assistant.reasoning",
    "assistant.reasoning_delta",
    "assistant.server_tool_progress",
    "assistant.streaming_delta",
    "assistant.tool_call_delta",
    "assistant.turn_end",
    "assistant.turn_start",
    "capabilities.changed",
    "external_tool.completed",
    "external_tool.requested",
    "pending_messages.modified",
    "session_limits_exhausted.completed",
    "session_limits_exhausted.requested",
    "system.message",
    "system.notification",
    "tool.execution_partial_result",
    "tool.execution_progress",
    "tool.execution_start",
    "tool.user_requested",
    "tool_search.activated",
    "ui.ephemeral_query",
];

/// The prefixes of types that only concern the program.
const FAMILIES: &[&str] = &[
    "auto_mode_switch.",
    "command.",
    "commands.",
    "elicitation.",
    "exit_plan_mode.",
    "factory.",
    "hook.",
    "mcp.",
    "mcp_app.",
    "model.",
    "permission.",
    "sampling.",
    "session.",
    "skill.",
    "subagent.",
    "user_input.",
];

/// Returns whether events of this type are known to contain no message.
pub(super) fn is_known(kind: &str) -> bool {
    KNOWN.binary_search(&kind).is_ok() || FAMILIES.iter().any(|family| kind.starts_with(family))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_list_is_sorted() {
        assert!(KNOWN.is_sorted());
        assert!(is_known("hook.start") && is_known("abort") && !is_known("poem"));
    }
}
