//! Questions to the person: from the session, and permission requests of agents. Each lists the possible answers.

use tertulia_operations::names::short;
use tertulia_team::{
    Dollars, PauseReason, PermissionAnswer, PermissionChoice, PermissionRequest, Question,
};

use crate::display_names::DisplayNames;
use crate::narrate;
use crate::style::{Line, Look};
use crate::terminal::excerpt;

/// Maximum width of a permission request.
const REQUEST_COLUMNS: usize = 600;

pub(super) fn question(question: &Question, why: &str, names: &DisplayNames) -> Vec<Line> {
    let to = question.to.as_deref().map(|to| format!("{}: ", names.name(to))).unwrap_or_default();
    let advice = match &question.why {
        PauseReason::Answer { .. } => "reply, or /resume to skip".to_owned(),
        PauseReason::Limited { .. } => {
            "the turn starts when the limit ends; yes or /resume tries again now, no or /drop all \
             cancels it"
                .to_owned()
        }
        PauseReason::LoopGuard { .. }
        | PauseReason::PairLoop { .. }
        | PauseReason::Cancelled { .. }
        | PauseReason::LimitedAfterTools { .. }
        | PauseReason::Paused { .. }
        | PauseReason::Resumed { interrupted: None, .. } => {
            "\"yes\" or /resume continues; \"no\" or /drop all cancels the queued turns; any other \
             message leaves them paused"
                .to_owned()
        }
        PauseReason::Spending { allowed, .. } if *allowed == Dollars::default() => {
            "/drop all cancels the queued turns".to_owned()
        }
        PauseReason::Spending { stopped: Some(turn), .. } => {
            format!(
                "/resume {turn} retries it; \"yes\" or /resume continues without it; \"no\" or \
                 /drop all cancels the queued turns; or send a message"
            )
        }
        PauseReason::Spending { .. } => {
            "\"yes\" or /resume allows the same amount again; \"no\" or /drop all cancels the \
             queued turns; any other message leaves them paused"
                .to_owned()
        }
        PauseReason::Failed { turn, .. } => format!("/resume {turn} retries it; or send a message"),
        PauseReason::Resumed { interrupted: Some(turn), waiting: 0 } => {
            format!("\"yes\" or /resume {turn} retries it; or send a message")
        }
        PauseReason::Resumed { interrupted: Some(turn), .. } => {
            format!(
                "/resume {turn} retries it; \"yes\" or /resume continues without it; \"no\" or \
                 /drop all cancels the queued turns"
            )
        }
        PauseReason::ResumedSeveral { waiting: 0, .. } => {
            "\"yes\" retries them, /resume ID retries one; or send a message".to_owned()
        }
        PauseReason::ResumedSeveral { .. } => {
            "/resume ID retries one; \"yes\" or /resume continues without them; \"no\" or /drop all \
             cancels the queued turns"
                .to_owned()
        }
        PauseReason::Unresolved { .. } | PauseReason::NobodyToAnswer { .. } => {
            "/members lists the team".to_owned()
        }
        PauseReason::WhoSpeaks { .. } => {
            "begin with [FROM: name], or open the chat with --as NAME".to_owned()
        }
    };
    vec![
        Line::new("? ", Look::Strong).with(&short(&format!("{to}{why}")), Look::Strong),
        Line::new(short(&format!("  {advice}")), Look::Dim),
    ]
}

/// Returns what a person can do while the session waits for them; `None` if it does not wait.
pub(super) fn waits(question: &Question, names: &DisplayNames) -> Option<String> {
    let to = question.to.as_deref().map_or("you", |to| names.name(to));
    match &question.why {
        PauseReason::Answer { .. } => Some(format!("Waiting for {to}. Reply, or /resume to skip.")),
        PauseReason::Limited { .. } => {
            Some("Waiting for the end of a usage limit. /resume to try again now.".to_owned())
        }
        PauseReason::LoopGuard { .. }
        | PauseReason::LimitedAfterTools { .. }
        | PauseReason::PairLoop { .. }
        | PauseReason::Spending { .. }
        | PauseReason::Paused { .. }
        | PauseReason::Cancelled { .. }
        | PauseReason::Resumed { waiting: 1.., .. }
        | PauseReason::ResumedSeveral { waiting: 1.., .. } => {
            Some("Paused. /resume to continue, /drop all to stop.".to_owned())
        }
        _ => None,
    }
}

pub(super) fn reminder(member: &str, request: &PermissionRequest) -> String {
    let numbers = match request.choices.len() {
        0 => String::new(),
        1 => "1, ".to_owned(),
        count => format!("1 to {count}, "),
    };
    format!("{member} asks for permission: {numbers}0 = no, Esc ends the turn")
}

pub(super) fn permission(member: &str, request: &PermissionRequest) -> Vec<Line> {
    let title = excerpt(&request.title, REQUEST_COLUMNS);
    let text = narrate::permission(member, &title);
    let mut lines = vec![Line::new("? ", Look::Strong).with(&text, Look::Strong)];
    if let Some(input) = &request.input {
        lines.push(Line::new(
            format!("  {}", excerpt(input.as_str(), REQUEST_COLUMNS)),
            Look::Plain,
        ));
    }
    for (number, choice) in request.choices.iter().enumerate() {
        let name = excerpt(&choice.name, 100);
        let line = Line::new(format!("  {}  {name}", number + 1), Look::Plain);
        // The name comes from the agent and may be misleading.
        lines.push(line.with(&format!("  [{}]", effect(choice)), Look::Dim));
    }
    lines.push(Line::new("  type a number; 0 = no, Esc ends the turn", Look::Dim));
    lines
}

/// Returns what a choice does, whatever the agent calls it.
fn effect(choice: &PermissionChoice) -> &'static str {
    match (choice.allows, choice.is_lasting) {
        (true, false) => "allows once",
        (true, true) => "allows always",
        (false, false) => "rejects once",
        (false, true) => "rejects always",
    }
}

/// The meaning of a line that a person types while an agent waits for permission.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Reply {
    Answer(PermissionAnswer),
    /// An answer, but an ambiguous one.
    Unclear,
    Other,
}

/// Parses a line as an answer: the number of a choice, yes or no. Yes counts only if exactly one choice allows. The name
/// of a choice counts only if the choice does not allow: agents set the names, and one called `stop` must not mean yes.
pub(crate) fn parse_reply(request: &PermissionRequest, typed: &str) -> Reply {
    let typed = typed.trim();
    let is = |word: &str| typed.eq_ignore_ascii_case(word);
    // Checked before the names: a name set by the agent must not turn a no into a yes.
    if typed.parse() == Ok(0_usize) || is("n") || is("no") {
        return Reply::Answer(PermissionAnswer::Deny);
    }
    let choices = || request.choices.iter();
    let fitting: Vec<&PermissionChoice> = if let Ok(number) = typed.parse::<usize>() {
        request.choices.get(number - 1).into_iter().collect()
    } else if is("y") || is("yes") || is("ok") {
        choices().filter(|choice| choice.allows).collect()
    } else {
        let named: Vec<_> = choices().filter(|choice| is(&choice.name)).collect();
        if named.is_empty() {
            // Any number is meant as an answer.
            let is_number = typed.chars().all(|c| c.is_ascii_digit() || c == '-');
            return if is_number && !typed.is_empty() { Reply::Unclear } else { Reply::Other };
        }
        if named.iter().any(|choice| choice.allows) { Vec::new() } else { named }
    };
    match fitting.as_slice() {
        [one] => Reply::Answer(PermissionAnswer::Choose(one.id.clone())),
        _ => Reply::Unclear,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_permission_request_is_a_numbered_question_that_only_its_numbers_answer() {
        let choice = |id: &str, name: &str, allows, is_lasting| PermissionChoice {
            id: id.into(),
            name: name.into(),
            allows,
            is_lasting,
        };
        let request = PermissionRequest {
            title: "rm -r \x1b[2J/".into(),
            tool: None,
            input: None,
            choices: vec![
                choice("a", "Allow", true, false),
                choice("d", "Deny (safe)", true, true),
                choice("r", "Reject", false, false),
            ],
        };
        let shown: Vec<String> = permission("max", &request).iter().map(Line::text).collect();
        assert_eq!(
            shown,
            [
                "? max asks for permission: rm -r ␛[2J/",
                "  1  Allow  [allows once]",
                "  2  Deny (safe)  [allows always]",
                "  3  Reject  [rejects once]",
                "  type a number; 0 = no, Esc ends the turn",
            ]
        );
        let chosen = Reply::Answer(PermissionAnswer::Choose("a".into()));
        assert_eq!(parse_reply(&request, " 1 "), chosen);
        assert_eq!(parse_reply(&request, "0"), Reply::Answer(PermissionAnswer::Deny));
        for other in ["4", "-1", "yes", "", "1 2"] {
            assert!(!matches!(parse_reply(&request, other), Reply::Answer(_)), "{other}");
        }
    }

    fn request(choices: &[(&str, bool)]) -> PermissionRequest {
        let choice = |(name, allows): &(&str, bool)| PermissionChoice {
            id: name.to_lowercase().into(),
            name: (*name).into(),
            allows: *allows,
            is_lasting: false,
        };
        let choices = choices.iter().map(choice).collect();
        PermissionRequest { title: "rm".into(), tool: None, input: None, choices }
    }

    #[test]
    fn a_number_a_name_and_a_plain_yes_or_no_are_answers() {
        let chosen = |id: &str| Reply::Answer(PermissionAnswer::Choose(id.into()));
        let one = request(&[("Allow", true), ("Reject", false)]);
        for (typed, expected) in [
            ("1", chosen("allow")),
            (" allow ", Reply::Unclear),
            ("Reject", chosen("reject")),
            ("yes", chosen("allow")),
            ("n", Reply::Answer(PermissionAnswer::Deny)),
            ("0", Reply::Answer(PermissionAnswer::Deny)),
            ("3", Reply::Unclear),
            ("-1", Reply::Unclear),
            ("", Reply::Other),
            ("yes, but tell me why", Reply::Other),
        ] {
            assert_eq!(parse_reply(&one, typed), expected, "{typed}");
        }
        let twisted = request(&[("No", true), ("Yes", false), ("0", true)]);
        assert_eq!(parse_reply(&twisted, "no"), Reply::Answer(PermissionAnswer::Deny));
        assert_eq!(parse_reply(&twisted, "0"), Reply::Answer(PermissionAnswer::Deny));
        assert_eq!(parse_reply(&twisted, "yes"), Reply::Unclear);
        let twins = request(&[("Allow", false), ("Allow", true)]);
        assert_eq!(parse_reply(&twins, "allow"), Reply::Unclear);
        let several = request(&[("Always", true), ("Once", true)]);
        assert_eq!(
            parse_reply(&several, "yes"),
            Reply::Unclear,
            "nobody is allowed more than was parse_reply"
        );
        assert_eq!(parse_reply(&request(&[]), "yes"), Reply::Unclear);
    }
}
