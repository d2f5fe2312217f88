//! The texts for session events: one wording for `run`, the chat and `sessions show`. Pure: takes an event and returns
//! one line; the caller shortens and colours it.

use std::borrow::Cow;
use std::time::Duration;

use tertulia_session::json::{Json, Kind, Object, parse, text};
use tertulia_session::{
    CacheMiss, FreshStart, MemoryMode, Turn, TurnActivity, TurnEvent, TurnState,
};
use tertulia_store::SessionId;

use crate::terminal::{counted, duration, excerpt, grouped};

/// Maximum width of a tool's name, which agents choose.
const TOOL_COLUMNS: usize = 40;

/// Says that a session was created or resumed.
pub fn opened(session: &SessionId, is_new: bool) -> String {
    if is_new { format!("session {session}") } else { format!("resuming session {session}") }
}

/// Says how many recorded decisions differ from those of the current team file.
pub fn differences(count: usize) -> String {
    let decisions = counted(count as u64, "past decision", "past decisions");
    format!("{decisions} would differ with the current team file")
}

/// Says how many messages a new summary covers.
pub fn summarised(messages: Option<u64>) -> String {
    format!("summarised {}", counted(messages.unwrap_or_default(), "message", "messages"))
}

/// Says that the team's task was set or cleared.
pub fn team_task(task: Option<&str>) -> String {
    match task {
        Some(task) => format!("team task: {task}"),
        None => "team task cleared".to_owned(),
    }
}

/// Says that an agent asks for permission.
pub fn permission(member: &str, title: &str) -> String {
    format!("{member} asks for permission: {title}")
}

/// Says that an agent could not answer, and after what time if known.
pub fn failure(member: &str, class: &str, message: &str, after: Option<Duration>) -> String {
    let after = after.map(|time| format!(" after {}", duration(time))).unwrap_or_default();
    format!("{member} could not answer ({class}){after}: {message}")
}

/// Describes an agent's activity, with the member's name.
pub fn note(member: &str, what: &TurnActivity) -> String {
    match what {
        TurnActivity::PermissionAsked { title } => permission(member, title),
        TurnActivity::Failed { class, message, .. } => failure(member, class, message, None),
        _ => format!("{member}: {}", activity(what)),
    }
}

/// Describes an agent's activity without the member's name.
pub fn activity(what: &TurnActivity) -> String {
    match what {
        TurnActivity::Began { session, model } => {
            let model = model.as_deref().map(|model| format!(", model {model}"));
            format!("native session ID: {session}{}", model.unwrap_or_default())
        }
        TurnActivity::ToolStarted { name, input, .. } => {
            format!("→ {} {}", tool(name), given(input)).trim_end().to_owned()
        }
        TurnActivity::ToolFinished { output, is_error: false, .. } => {
            format!("← {}", output.as_deref().unwrap_or("done"))
        }
        TurnActivity::ToolFinished { id, name, output, .. } => {
            let name = tool(name.as_deref().unwrap_or(id));
            let why = output.as_deref().map(|why| format!(": {why}")).unwrap_or_default();
            format!("✗ {name} failed{why}")
        }
        TurnActivity::ToolDenied { name, reason } => {
            let why = reason.as_deref().map(|why| format!(": {why}")).unwrap_or_default();
            format!("✗ {} was not allowed{why}", tool(name))
        }
        TurnActivity::PermissionAsked { title } => format!("asks for permission: {title}"),
        TurnActivity::PermissionAnswered { title, choice: Some(choice) } => {
            format!("permission answered with \"{choice}\": {title}")
        }
        TurnActivity::PermissionAnswered { title, choice: None } => {
            format!("permission denied: {title}")
        }
        TurnActivity::Thought { text } => format!("(thinks) {text}"),
        TurnActivity::Warned { message, .. } => format!("warning: {message}"),
        TurnActivity::Failed { class, message, .. } => {
            format!("could not answer ({class}): {message}")
        }
        TurnActivity::Retried { budget } => {
            format!("the prompt was too long; retrying with at most {} bytes", grouped(*budget))
        }
        TurnActivity::Resent { .. } => "another prompt was sent".to_owned(),
        TurnActivity::MemoryReset { memory } => match &memory.fresh_start {
            Some(reason) => begins_new_session(memory.mode, reason),
            None => "begins a new session of its own".to_owned(),
        },
        TurnActivity::Other { kind } => kind.to_string(),
    }
}

/// Says why an agent does not continue the session that it keeps itself; `None` for a turn that does, or that has no
/// reason.
pub fn fresh_start(member: &str, turn: &Turn) -> Option<String> {
    let memory = turn.memory.as_deref().filter(|_| turn.state == TurnState::Started)?;
    let reason = memory.fresh_start.as_ref()?;
    Some(format!("{member} {}", begins_new_session(memory.mode, reason)))
}

/// Says why the provider's cache did not contain the earlier part of a conversation.
pub fn cache_miss(cause: CacheMiss) -> &'static str {
    match cause {
        CacheMiss::System => "the system text was changed",
        CacheMiss::Tools => "the program or its permissions were changed",
        CacheMiss::Model => "another model answers",
        CacheMiss::History => "the conversation was sent again",
        CacheMiss::Expiry => "the last turn is too long ago",
        CacheMiss::VendorCompaction => "the agent had shortened its history",
        CacheMiss::Unknown => "the reason is not known",
    }
}

fn begins_new_session(mode: MemoryMode, reason: &FreshStart) -> String {
    let reason = reason.reason();
    match mode {
        MemoryMode::Native => format!("begins a new session of its own, because {reason}"),
        MemoryMode::Fresh | MemoryMode::Apart => {
            format!("answers without a memory, because {reason}")
        }
    }
}

/// Returns whether this is shown while the turn runs. Tool output, granted permissions and the native session ID are
/// only shown in the stored session.
pub fn is_live(note: &TurnEvent) -> bool {
    match &note.activity {
        TurnActivity::Began { .. }
        | TurnActivity::PermissionAsked { .. }
        | TurnActivity::PermissionAnswered { .. }
        | TurnActivity::Resent { .. }
        | TurnActivity::Other { .. } => false,
        TurnActivity::MemoryReset { memory } => memory.fresh_start.is_some(),
        TurnActivity::ToolFinished { is_error, .. } => *is_error,
        TurnActivity::ToolStarted { .. }
        | TurnActivity::ToolDenied { .. }
        | TurnActivity::Thought { .. }
        | TurnActivity::Warned { .. }
        | TurnActivity::Failed { .. }
        | TurnActivity::Retried { .. } => true,
    }
}

/// Returns a tool's name, shortened to one line.
fn tool(name: &str) -> String {
    excerpt(name, TOOL_COLUMNS)
}

/// Returns the input of a tool: the value if there is only one field, otherwise all of it.
fn given(input: &Json) -> Cow<'_, str> {
    let all = Cow::Borrowed(input.as_str());
    let Ok(raw) = parse(input.as_str()) else { return all };
    match Kind::from(raw) {
        Kind::Null => Cow::Borrowed(""),
        Kind::Object => {
            let mut values = Object::try_from(raw).into_iter().flat_map(Object::into_fields);
            match (values.next(), values.next()) {
                (Some((_, only)), None) => text(only).map_or(all, Cow::Owned),
                (None, _) => Cow::Borrowed(""),
                _ => all,
            }
        }
        _ => all,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn wordings() -> Vec<(TurnActivity, &'static str)> {
        let started = |input: &str| TurnActivity::ToolStarted {
            id: "1".into(),
            name: "Bash".into(),
            input: Json::parse(input).unwrap(),
        };
        let finished = |output: Option<&str>, is_error| TurnActivity::ToolFinished {
            id: "1".into(),
            name: Some("Bash".into()),
            output: output.map(Into::into),
            is_error,
        };
        let denied = |reason: Option<&str>| TurnActivity::ToolDenied {
            name: "Write".into(),
            reason: reason.map(Into::into),
        };
        let answered = |choice: Option<&str>| TurnActivity::PermissionAnswered {
            title: "rm -r build".into(),
            choice: choice.map(Into::into),
        };
        let (class, message, cure) = ("quota".into(), "nothing left".into(), "wait".into());
        let warning = "the message is cut".into();
        vec![
            (
                TurnActivity::Began { session: "n1".into(), model: Some("m".into()) },
                "max: native session ID: n1, model m",
            ),
            (started(r#"{"command":"ls -l"}"#), "max: → Bash ls -l"),
            (started(r#"{"path":"a","line":2}"#), "max: → Bash {\"path\":\"a\",\"line\":2}"),
            (started("{}"), "max: → Bash"),
            (started("null"), "max: → Bash"),
            (finished(Some("one file"), false), "max: ← one file"),
            (finished(None, false), "max: ← done"),
            (finished(Some("no such file"), true), "max: ✗ Bash failed: no such file"),
            (finished(None, true), "max: ✗ Bash failed"),
            (denied(Some("read only")), "max: ✗ Write was not allowed: read only"),
            (denied(None), "max: ✗ Write was not allowed"),
            (
                TurnActivity::PermissionAsked { title: "rm -r build".into() },
                "max asks for permission: rm -r build",
            ),
            (answered(Some("Allow")), "max: permission answered with \"Allow\": rm -r build"),
            (answered(None), "max: permission denied: rm -r build"),
            (TurnActivity::Thought { text: "Hm.".into() }, "max: (thinks) Hm."),
            (
                TurnActivity::Warned { class: None, message: warning },
                "max: warning: the message is cut",
            ),
            (
                TurnActivity::Failed { class, message, cure },
                "max could not answer (quota): nothing left",
            ),
            (
                TurnActivity::Retried { budget: 8192 },
                "max: the prompt was too long; retrying with at most 8,192 bytes",
            ),
        ]
    }

    #[test]
    fn everything_that_an_agent_does_has_one_wording() {
        for (what, reported) in wordings() {
            assert_eq!(note("max", &what), reported);
        }
    }

    #[test]
    fn what_is_shown_live_is_what_a_person_can_act_on() {
        for (what, reported) in wordings() {
            let is_quiet =
                ["native session", "←", "permission"].iter().any(|word| reported.contains(word));
            let note = TurnEvent::new("t".into(), "max", what);
            assert_eq!(is_live(&note), !is_quiet, "{reported}");
        }
    }

    #[test]
    fn what_happens_to_a_session_has_one_wording() {
        let late = failure("max", "crash", "exit code 7", Some(Duration::from_millis(1_500)));
        assert_eq!(late, "max could not answer (crash) after 1.5 s: exit code 7");
        let id = "s1".parse::<SessionId>().unwrap();
        assert_eq!(opened(&id, true), "session s1");
        assert_eq!(opened(&id, false), "resuming session s1");
        assert_eq!(differences(1), "1 past decision would differ with the current team file");
        assert_eq!(differences(2), "2 past decisions would differ with the current team file");
        assert_eq!(summarised(Some(3)), "summarised 3 messages");
        assert_eq!(team_task(Some("ship it")), "team task: ship it");
        assert_eq!(team_task(None), "team task cleared");
    }
}
