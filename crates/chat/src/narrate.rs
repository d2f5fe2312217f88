//! The words for what happens in a session: one wording for `run`, the chat and `sessions show`. Pure: what
//! happened goes in, one line of text comes out. Whoever shows it shortens and colours it.

use std::borrow::Cow;
use std::time::Duration;

use tertulia_store::SessionId;
use tertulia_team::{TurnNote, What};

use crate::terminal::{counted, duration, excerpt, grouped};

/// How many columns the name of a tool has at most: agents decide how long it is.
const TOOL_COLUMNS: usize = 40;

/// That a session was created or resumed.
pub fn opened(session: &SessionId, is_new: bool) -> String {
    if is_new { format!("session {session}") } else { format!("resuming session {session}") }
}

/// That so many recorded decisions are not the ones that the team file leads to now.
pub fn differences(count: usize) -> String {
    let decisions = counted(count as u64, "past decision", "past decisions");
    format!("{decisions} would differ with the current team file")
}

/// That a summary covers so many messages from now on.
pub fn summarised(messages: Option<u64>) -> String {
    format!("summarised {}", counted(messages.unwrap_or_default(), "message", "messages"))
}

/// That the team has this task, or none any more.
pub fn team_task(task: Option<&str>) -> String {
    match task {
        Some(task) => format!("team task: {task}"),
        None => "team task cleared".to_owned(),
    }
}

/// That an agent wants to be allowed something.
pub fn permission(member: &str, title: &str) -> String {
    format!("{member} asks for permission: {title}")
}

/// That an agent could not answer, and after which time, where that is known.
pub fn failure(member: &str, class: &str, message: &str, after: Option<Duration>) -> String {
    let after = after.map(|time| format!(" after {}", duration(time))).unwrap_or_default();
    format!("{member} could not answer ({class}){after}: {message}")
}

/// What an agent did besides answering, with the name of the member.
pub fn note(member: &str, what: &What) -> String {
    match what {
        What::PermissionAsked { title } => permission(member, title),
        What::Failed { class, message, .. } => failure(member, class, message, None),
        _ => format!("{member}: {}", activity(what)),
    }
}

/// The same where the name of the member stands there already.
pub fn activity(what: &What) -> String {
    match what {
        What::Began { session, model } => {
            let model = model.as_deref().map(|model| format!(", model {model}"));
            format!("native session ID: {session}{}", model.unwrap_or_default())
        }
        What::ToolStarted { name, input, .. } => {
            format!("→ {} {}", tool(name), given(input)).trim_end().to_owned()
        }
        What::ToolFinished { output, is_error: false, .. } => {
            format!("← {}", output.as_deref().unwrap_or("done"))
        }
        What::ToolFinished { id, name, output, .. } => {
            let name = tool(name.as_deref().unwrap_or(id));
            let why = output.as_deref().map(|why| format!(": {why}")).unwrap_or_default();
            format!("✗ {name} failed{why}")
        }
        What::ToolDenied { name, reason } => {
            let why = reason.as_deref().map(|why| format!(": {why}")).unwrap_or_default();
            format!("✗ {} was not allowed{why}", tool(name))
        }
        What::PermissionAsked { title } => format!("asks for permission: {title}"),
        What::PermissionAnswered { title, choice: Some(choice) } => {
            format!("permission answered with \"{choice}\": {title}")
        }
        What::PermissionAnswered { title, choice: None } => format!("permission denied: {title}"),
        What::Thought { text } => format!("(thinks) {text}"),
        What::Warned { message, .. } => format!("warning: {message}"),
        What::Failed { class, message, .. } => format!("could not answer ({class}): {message}"),
        What::Retried { budget } => {
            format!("the prompt was too long; retrying with at most {} bytes", grouped(*budget))
        }
    }
}

/// Whether this is to be seen while the turn runs. What a tool gave, what was allowed and where the agent keeps
/// its own record is for whoever reads the session later.
pub fn is_live(note: &TurnNote) -> bool {
    match &note.what {
        What::Began { .. } | What::PermissionAsked { .. } | What::PermissionAnswered { .. } => {
            false
        }
        What::ToolFinished { is_error, .. } => *is_error,
        What::ToolStarted { .. }
        | What::ToolDenied { .. }
        | What::Thought { .. }
        | What::Warned { .. }
        | What::Failed { .. }
        | What::Retried { .. } => true,
    }
}

/// A name without what could make it look like more.
fn tool(name: &str) -> String {
    excerpt(name, TOOL_COLUMNS)
}

/// What a tool was given: the value if there is only one, else all of it.
fn given(input: &str) -> Cow<'_, str> {
    match serde_json::from_str::<serde_json::Value>(input) {
        Ok(serde_json::Value::Object(fields)) => {
            let mut values = fields.values();
            match (values.next(), values.next()) {
                (Some(serde_json::Value::String(only)), None) => Cow::Owned(only.clone()),
                (None, _) => Cow::Borrowed(""),
                _ => Cow::Borrowed(input),
            }
        }
        Ok(serde_json::Value::Null) => Cow::Borrowed(""),
        _ => Cow::Borrowed(input),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn wordings() -> Vec<(What, &'static str)> {
        let started = |input: &str| What::ToolStarted {
            id: "1".into(),
            name: "Bash".into(),
            input: input.into(),
        };
        let finished = |output: Option<&str>, is_error| What::ToolFinished {
            id: "1".into(),
            name: Some("Bash".into()),
            output: output.map(Into::into),
            is_error,
        };
        let denied = |reason: Option<&str>| What::ToolDenied {
            name: "Write".into(),
            reason: reason.map(Into::into),
        };
        let answered = |choice: Option<&str>| What::PermissionAnswered {
            title: "rm -r build".into(),
            choice: choice.map(Into::into),
        };
        let (class, message, cure) = ("quota".into(), "nothing left".into(), "wait".into());
        let warning = "the message is cut".into();
        vec![
            (
                What::Began { session: "n1".into(), model: Some("m".into()) },
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
                What::PermissionAsked { title: "rm -r build".into() },
                "max asks for permission: rm -r build",
            ),
            (answered(Some("Allow")), "max: permission answered with \"Allow\": rm -r build"),
            (answered(None), "max: permission denied: rm -r build"),
            (What::Thought { text: "Hm.".into() }, "max: (thinks) Hm."),
            (What::Warned { class: None, message: warning }, "max: warning: the message is cut"),
            (What::Failed { class, message, cure }, "max could not answer (quota): nothing left"),
            (
                What::Retried { budget: 8192 },
                "max: the prompt was too long; retrying with at most 8,192 bytes",
            ),
        ]
    }

    #[test]
    fn everything_that_an_agent_does_has_one_wording() {
        for (what, told) in wordings() {
            assert_eq!(note("max", &what), told);
        }
    }

    #[test]
    fn what_is_shown_live_is_what_a_person_can_act_on() {
        for (what, told) in wordings() {
            let is_quiet =
                ["native session", "←", "permission"].iter().any(|word| told.contains(word));
            let note = TurnNote { turn: "t".into(), member: "max".into(), what };
            assert_eq!(is_live(&note), !is_quiet, "{told}");
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
