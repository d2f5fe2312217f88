//! What an agent did besides speaking, one line each.

use tertulia_team::{TurnNote, What};

use crate::shown::Shown;
use crate::style::{Line, Look};
use crate::terminal::{excerpt, grouped};

/// How many columns of a failure are shown.
const FAILURE_COLUMNS: usize = 1_000;

/// The lines of a note.
pub(super) fn lines(note: &TurnNote, columns: usize, shown: &Shown) -> Vec<Line> {
    let short = |text: &str| excerpt(text, columns.saturating_sub(4).max(8));
    let dim = |text: &str| vec![Line::of(&short(text), Look::Dim)];
    match &note.what {
        What::ToolStarted { name, input, .. } => {
            dim(&format!("→ {} {}", one_word(name), summary(input)))
        }
        What::ToolFinished { is_error: false, .. } => Vec::new(),
        What::ToolFinished { id, name, output, .. } => {
            let name = name.as_deref().unwrap_or(id);
            let why = output.as_deref().unwrap_or("it says nothing more");
            vec![Line::of(&short(&format!("✗ {} failed: {why}", one_word(name))), Look::Alarm)]
        }
        What::ToolDenied { name, reason } => {
            let why = reason.as_deref().map(|why| format!(": {why}")).unwrap_or_default();
            vec![Line::of(
                &short(&format!("✗ {} was not allowed{why}", one_word(name))),
                Look::Alarm,
            )]
        }
        // For whoever looks for the agent's own record of the turn later.
        What::Began { .. } => Vec::new(),
        // Asked and answered on the screen.
        What::PermissionAsked { .. } | What::PermissionAnswered { .. } => Vec::new(),
        What::Thought { text } => dim(&format!("… {text}")),
        What::Warned { message, .. } => dim(&format!("! {}: {message}", shown.name(&note.member))),
        What::Failed { class, message, cure } => {
            let text =
                format!("{} could not answer ({class}): {message}", shown.name(&note.member));
            let text = excerpt(&text, FAILURE_COLUMNS);
            let hint = shown.hint(&note.member, class, message, cure);
            let hint = hint.map(|hint| Line::of(&hint, Look::Dim));
            std::iter::once(Line::of(&text, Look::Alarm)).chain(hint).collect()
        }
        What::Retried { budget } => dim(&format!(
            "! the prompt was too large; once more with {} bytes at most",
            grouped(*budget)
        )),
    }
}

/// A name without what could make it look like more.
fn one_word(name: &str) -> String {
    excerpt(name, 40)
}

/// What a tool was given: the value if there is one, else all of it.
fn summary(input: &str) -> String {
    match serde_json::from_str::<serde_json::Value>(input) {
        Ok(serde_json::Value::Object(fields)) => {
            let mut values = fields.values();
            match (values.next(), values.next()) {
                (Some(serde_json::Value::String(only)), None) => only.clone(),
                (None, _) => String::new(),
                _ => input.to_owned(),
            }
        }
        Ok(serde_json::Value::Null) => String::new(),
        _ => input.to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn shown(what: What) -> Vec<String> {
        let note = TurnNote { turn: "t".into(), member: "max".into(), what };
        let members = vec![tertulia_team::TeamMember::scribe("max")];
        let team = tertulia_team::Team::new(members, tertulia_team::Limits::default(), None);
        let file = tertulia_team::file::TeamFile::of(Vec::new());
        lines(&note, 40, &Shown::new(&team.unwrap(), &file)).iter().map(Line::text).collect()
    }

    #[test]
    fn a_tool_is_one_line_whatever_it_was_given() {
        let started = |input: &str| What::ToolStarted {
            id: "1".into(),
            name: "Bash".into(),
            input: input.into(),
        };
        assert_eq!(
            shown(started(r#"{"command":"ls -l\nrm x\u001b[2J"}"#)),
            ["→ Bash ls -l rm x␛[2J"]
        );
        assert_eq!(shown(started("null")), ["→ Bash"]);
        let long = format!(r#"{{"a":1,"b":"{}"}}"#, "x".repeat(1000));
        assert_eq!(shown(started(&long)).len(), 1);
        assert!(shown(started(&long))[0].chars().count() <= 40);
    }

    #[test]
    fn only_a_tool_that_failed_is_told_of_again() {
        let ended = |is_error| What::ToolFinished {
            id: "1".into(),
            name: Some("Bash".into()),
            output: Some("no such file".into()),
            is_error,
        };
        assert!(shown(ended(false)).is_empty());
        assert_eq!(shown(ended(true)), ["✗ Bash failed: no such file"]);
    }
}
