//! What an agent did besides speaking, one line each.

use tertulia_session::{TurnActivity, TurnEvent};

use crate::narrate;
use crate::shown::Shown;
use crate::style::{Line, Look};
use crate::terminal::excerpt;

/// How many columns of a failure are shown.
const FAILURE_COLUMNS: usize = 1_000;

pub(super) fn lines(note: &TurnEvent, columns: usize, shown: &Shown) -> Vec<Line> {
    if !narrate::is_live(note) {
        return Vec::new();
    }
    let name = shown.name(&note.member);
    let line =
        |text: &str, look| vec![Line::new(&excerpt(text, columns.saturating_sub(4).max(8)), look)];
    match &note.activity {
        what @ TurnActivity::Failed { class, message, cure } => {
            let text = excerpt(&narrate::note(name, what), FAILURE_COLUMNS);
            let hint = shown.hint(&note.member, class, message, cure);
            let hint = hint.map(|hint| Line::new(&hint, Look::Dim));
            std::iter::once(Line::new(&text, Look::Alarm)).chain(hint).collect()
        }
        // It may come where the name does not stand above it.
        what @ TurnActivity::Warned { .. } => line(&narrate::note(name, what), Look::Dim),
        what @ (TurnActivity::ToolFinished { .. } | TurnActivity::ToolDenied { .. }) => {
            line(&narrate::activity(what), Look::Alarm)
        }
        what => line(&narrate::activity(what), Look::Dim),
    }
}

#[cfg(test)]
mod tests {
    use tertulia_session::json::Json;

    use super::*;

    fn shown(activity: TurnActivity) -> Vec<String> {
        let note = TurnEvent::new("t".into(), "max", activity);
        let members = vec![tertulia_team::TeamMember::scribe("max")];
        let team = tertulia_team::Team::new(members, tertulia_team::Limits::default(), None);
        let file = tertulia_team::file::TeamFile::new(Vec::new());
        lines(&note, 40, &Shown::new(&team.unwrap(), &file)).iter().map(Line::text).collect()
    }

    #[test]
    fn a_tool_is_one_line_whatever_it_was_given() {
        let started = |input: &str| TurnActivity::ToolStarted {
            id: "1".into(),
            name: "Bash".into(),
            input: Json::parse(input).unwrap(),
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
        let ended = |is_error| TurnActivity::ToolFinished {
            id: "1".into(),
            name: Some("Bash".into()),
            output: Some("no such file".into()),
            is_error,
        };
        assert!(shown(ended(false)).is_empty());
        assert_eq!(shown(ended(true)), ["✗ Bash failed: no such file"]);
    }
}
