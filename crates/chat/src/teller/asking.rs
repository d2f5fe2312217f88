//! Questions to the person: of the table, and of an agent that wants to be allowed something. Each says
//! what can be answered.

use tertulia_operations::names::short;
use tertulia_team::{
    Dollars, PermissionAnswer, PermissionChoice, PermissionRequest, Question, Why,
};

use crate::narrate;
use crate::shown::Shown;
use crate::style::{Line, Look};
use crate::terminal::excerpt;

/// How many columns of what an agent wants are shown.
const WISH_COLUMNS: usize = 600;

/// A question of the table, with its reason in words.
pub(super) fn question(question: &Question, why: &str, shown: &Shown) -> Vec<Line> {
    let to = question.to.as_deref().map(|to| format!("{}: ", shown.name(to))).unwrap_or_default();
    let cure = match &question.why {
        Why::Answer { .. } => "reply, or /resume to skip".to_owned(),
        Why::LoopGuard { .. }
        | Why::PairLoop { .. }
        | Why::Cancelled { .. }
        | Why::Paused { .. }
        | Why::Resumed { interrupted: None, .. } => {
            "yes or /resume continues, no or /drop all cancels the queued turns; any other message \
             leaves them paused"
                .to_owned()
        }
        Why::Spending { allowed, .. } if *allowed == Dollars::default() => {
            "/drop all cancels the queued turns".to_owned()
        }
        Why::Spending { .. } => "yes or /resume allows as much again, no or /drop all cancels the \
                                 queued turns; any other message leaves them paused"
            .to_owned(),
        Why::Failed { turn, .. } => format!("/resume {turn} retries it; or send a message"),
        Why::Resumed { interrupted: Some(turn), waiting: 0 } => {
            format!("yes or /resume {turn} retries it; or send a message")
        }
        Why::Resumed { interrupted: Some(turn), .. } => {
            format!(
                "/resume {turn} retries it; yes or /resume continues without it, no or /drop all \
                 cancels the queued turns"
            )
        }
        Why::Unresolved { .. } | Why::NobodyToAnswer { .. } => {
            "/members shows who is there".to_owned()
        }
        Why::WhoSpeaks { .. } => {
            "begin with [FROM: name], or open the chat with --as NAME".to_owned()
        }
    };
    vec![
        Line::new("? ", Look::Strong).with(&short(&format!("{to}{why}")), Look::Strong),
        Line::new(&short(&format!("  {cure}")), Look::Dim),
    ]
}

/// What can be done while the table waits for a person; `None` if it does not.
pub(super) fn waits(question: &Question, shown: &Shown) -> Option<String> {
    let to = question.to.as_deref().map_or("you", |to| shown.name(to));
    match &question.why {
        Why::Answer { .. } => Some(format!("Waiting for {to}. Reply, or /resume to skip.")),
        Why::LoopGuard { .. }
        | Why::PairLoop { .. }
        | Why::Spending { .. }
        | Why::Paused { .. }
        | Why::Cancelled { .. }
        | Why::Resumed { waiting: 1.., .. } => {
            Some("Paused. /resume to continue, /drop all to stop.".to_owned())
        }
        _ => None,
    }
}

/// What an agent waits for, in a line.
pub(super) fn reminder(member: &str, request: &PermissionRequest) -> String {
    let numbers = match request.choices.len() {
        0 => String::new(),
        1 => "1, ".to_owned(),
        count => format!("1 to {count}, "),
    };
    format!("{member} asks… {numbers}0 says no, Esc ends the turn")
}

/// An agent wants to be allowed something.
pub(super) fn permission(member: &str, request: &PermissionRequest) -> Vec<Line> {
    let title = excerpt(&request.title, WISH_COLUMNS);
    let wish = narrate::permission(member, &title);
    let mut lines = vec![Line::new("? ", Look::Strong).with(&wish, Look::Strong)];
    if let Some(input) = &request.input {
        lines.push(Line::new(&format!("  {}", excerpt(input.as_str(), WISH_COLUMNS)), Look::Plain));
    }
    for (number, choice) in request.choices.iter().enumerate() {
        let name = excerpt(&choice.name, 100);
        let line = Line::new(&format!("  {}  {name}", number + 1), Look::Plain);
        // The words are the agent's, and may say anything.
        lines.push(line.with(&format!("  [{}]", effect(choice)), Look::Dim));
    }
    lines.push(Line::new("  type a number; 0 says no, Esc ends the turn", Look::Dim));
    lines
}

/// What a choice does, whatever the agent calls it.
fn effect(choice: &PermissionChoice) -> &'static str {
    match (choice.allows, choice.is_lasting) {
        (true, false) => "allows once",
        (true, true) => "allows always",
        (false, false) => "rejects once",
        (false, true) => "rejects always",
    }
}

/// What a typed number means; `None` if it is no answer.
pub(super) fn answer(request: &PermissionRequest, typed: &str) -> Option<PermissionAnswer> {
    let number: usize = typed.trim().parse().ok()?;
    match number.checked_sub(1) {
        None => Some(PermissionAnswer::Deny),
        Some(place) => {
            let choice = request.choices.get(place)?;
            Some(PermissionAnswer::Choose(choice.id.clone()))
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_wish_is_a_numbered_question_and_only_its_numbers_answer_it() {
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
                "  type a number; 0 says no, Esc ends the turn",
            ]
        );
        assert_eq!(answer(&request, " 1 "), Some(PermissionAnswer::Choose("a".into())));
        assert_eq!(answer(&request, "0"), Some(PermissionAnswer::Deny));
        for other in ["4", "-1", "yes", "", "1 2"] {
            assert_eq!(answer(&request, other), None, "{other}");
        }
    }
}
