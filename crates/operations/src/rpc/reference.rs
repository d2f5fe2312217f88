//! The rpc methods as a table for people. `cargo xtask reference` writes it to docs/rpc.md. A test compares its names
//! with those of the server.

/// The description of one method.
#[derive(Debug)]
pub struct MethodReference {
    /// The method's name in a request.
    pub name: &'static str,
    /// The section of the page: `conversations`, `texts`, `contexts` or `sessions`.
    pub group: &'static str,
    /// Its parameters in Markdown; a question mark marks an optional one.
    pub parameters: &'static str,
    /// Its result in Markdown.
    pub result: &'static str,
}

const fn method(
    name: &'static str,
    group: &'static str,
    parameters: &'static str,
    result: &'static str,
) -> MethodReference {
    MethodReference { name, group, parameters, result }
}

/// All methods, in the order of the server's table.
pub const REFERENCE: &[MethodReference] = &[
    method(
        "createConversation",
        "conversations",
        r#"`conversation?`, `contextWindowSize?` (5), `maxBytes?` (786432), `whitespace?` (`compact` or `preserve`), `maxMessages?`, `memberWindows?` (`{"max": 20}`, by agent id or agent type)"#,
        "`{conversation}`",
    ),
    method("addMessage", "conversations", "`message`", "the message with its id"),
    method("getMessages", "conversations", "", "`{messages}`"),
    method("getLatestMessage", "conversations", "", "the message, or `null`"),
    method(
        "setTeamTask",
        "conversations",
        "`task` (a string, cut to 5120 bytes; `null` removes it)",
        "`{task}`",
    ),
    method("getTeamTask", "conversations", "", "`{task}`"),
    method(
        "getContextForAgent",
        "conversations",
        "`agentId`, `agentType`, `options?` (`windowSizeOverride?`, `systemInstruction?`, `instructionFileText?`)",
        "an AssemblerInput",
    ),
    method(
        "assemblePrompt",
        "conversations",
        "`agentType`, `input`, `explain?`",
        "`{prompt, systemFlag?, status, bytes, keptContext, droppedContext}`",
    ),
    method("clear", "conversations", "", "`{}`"),
    method("exportSnapshot", "conversations", "", "`{messages, teamTask, timestamp, version}`"),
    method("importSnapshot", "conversations", "`snapshot`", "`{messageCount}`"),
    method("stripAllMarkers", "texts", "`text`, `mode?` (`compact` or `preserve`)", "`{text}`"),
    method(
        "parseMarkers",
        "texts",
        "`text`",
        "`{next: [{name, intent}], drop, from?, teamTask?, cleanText}`",
    ),
    method("normalizeAgentType", "texts", "`type`", "`{type}`"),
    method("truncateToBytes", "texts", "`text`, `maxBytes`", "`{text}`"),
    method("formatAddressees", "texts", "`addressees?`", "`{text}`"),
    method(
        "estimateTokens",
        "texts",
        "`messages`, `toolSpecs?`, `tokenizer?` (`claude`)",
        "`{tokens}`",
    ),
    method(
        "buildContext",
        "contexts",
        "`config`, `model?` or `tokenizer?`, `sessionEntries?` or `sessionId?`, `inputMessages?`, `systemPrompt?`, `toolSpecs?`, `runtimeInitData?`, `runtimeHints?`, `overflowHint?`, `explain?`, `format?`, …",
        "`{modelMessages, modelToolSpecs?, compacted, compactionSummaryEntry?, entriesToAppend, stats, cacheBreakpoints, …}`",
    ),
    method(
        "computeContextUpdates",
        "contexts",
        "the same, with `newMessages?` instead of `inputMessages?`",
        "`{updatedMessages?, compacted, entriesToAppend, stats, …}`",
    ),
    method(
        "acceptSummary",
        "contexts",
        "`config`, `model?` or `tokenizer?`, `sessionEntries` or `sessionId`, `summaryRequest`, `text`, `author?`",
        "`{accepted, reason?, entriesToAppend}`",
    ),
    method(
        "createSession",
        "sessions",
        "`sessionId?`, `project?` (the folder that the server works for)",
        "`{sessionId}`",
    ),
    method(
        "append",
        "sessions",
        "`sessionId`, `entries`, `expectedTailEntryId?`",
        "`{lastAppendedEntryId, appendedCount}`",
    ),
    method(
        "load",
        "sessions",
        "`sessionId`, and at most one of `tail?` (a number), `from?` and `branch?` (entry ids; `branch` may have a `tail` too)",
        "`{entries}`",
    ),
    method(
        "branch",
        "sessions",
        "`sessionId`, `entryId`, `into?`",
        "`{sessionId, lastAppendedEntryId, appendedCount}`; with `into` the new session, as in `listSessions`",
    ),
    method(
        "redact",
        "sessions",
        "`sessionId`, `entryId`, `reason?`",
        "`{sessionId, lastAppendedEntryId, appendedCount}`; answers of built-in members that were made from the entry are redacted too",
    ),
    method(
        "search",
        "sessions",
        "`query`, `sessionId?`, `speaker?`, `type?`, `since?`, `until?`, `limit?` (20), `project?` (all), `explain?`",
        "`{hits: [{sessionId, entryId, seq, type, speaker?, timestamp?, score, snippet, matches?}], more, partial?, ignored?}`",
    ),
    method(
        "listSessions",
        "sessions",
        "`prefix?`, `since?`, `until?`, `limit?`, `project?`",
        "`{sessions: [{sessionId, entries, createdAt, updatedAt, tailEntryId?, head, title?, project?}]}`; without `project` of all projects",
    ),
    method(
        "getCost",
        "sessions",
        "`by?` (`day`, `session`, `member`, `agent`, `model` or `project`), `since?`, `sessionId?`, `project?` (all)",
        "`{groups: [{name, answers, freshInputTokens, cachedTokens, cacheWriteTokens, outputTokens, reportedUsd, computedUsd, pricesDates, unknownAnswers, unknownTokens}], by, total, damagedSessions}`; days are those of UTC, computed costs use the built-in prices; a `name` that was not recorded is null",
    ),
    method(
        "verify",
        "sessions",
        "`sessionId`",
        "`{sessionId, entries, purged, head, damage?: {place, entryId?, reason}}`",
    ),
];

#[cfg(test)]
mod tests {
    use super::super::methods;
    use super::REFERENCE;

    #[test]
    fn the_reference_names_the_methods_of_the_server() {
        let names = REFERENCE.iter().map(|method| method.name);
        assert!(names.eq(methods::all().map(|method| method.name)));
    }
}
