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
        Line::new(short(&format!("  {cure}")), Look::Dim),
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

pub(super) fn reminder(member: &str, request: &PermissionRequest) -> String {
    let numbers = match request.choices.len() {
        0 => String::new(),
        1 => "1, ".to_owned(),
        count => format!("1 to {count}, "),
    };
    format!("{member} asks… {numbers}0 says no, Esc ends the turn")
}

pub(super) fn permission(member: &str, request: &PermissionRequest) -> Vec<Line> {
    let title = excerpt(&request.title, WISH_COLUMNS);
    let wish = narrate::permission(member, &title);
    let mut lines = vec![Line::new("? ", Look::Strong).with(&wish, Look::Strong)];
    if let Some(input) = &request.input {
        lines.push(Line::new(format!("  {}", excerpt(input.as_str(), WISH_COLUMNS)), Look::Plain));
    }
    for (number, choice) in request.choices.iter().enumerate() {
        let name = excerpt(&choice.name, 100);
        let line = Line::new(format!("  {}  {name}", number + 1), Look::Plain);
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

/// What a person means who types while an agent waits to be allowed something.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Meant {
    Answer(PermissionAnswer),
    /// An answer, but it is not clear which one.
    Unclear,
    Else,
}

/// What is meant by a line. The number of a choice, yes or no: a yes only where a single choice allows. A name counts
/// only for a choice that does not allow: the agent gives the names, and one that is called `stop` must not be a yes.
pub(crate) fn meant(request: &PermissionRequest, typed: &str) -> Meant {
    let typed = typed.trim();
    let is = |word: &str| typed.eq_ignore_ascii_case(word);
    // Before the names: what the agent calls its choices must not turn a no into a yes.
    if typed.parse() == Ok(0_usize) || is("n") || is("no") {
        return Meant::Answer(PermissionAnswer::Deny);
    }
    let choices = || request.choices.iter();
    let fitting: Vec<&PermissionChoice> = if let Ok(number) = typed.parse::<usize>() {
        request.choices.get(number - 1).into_iter().collect()
    } else if is("y") || is("yes") || is("ok") {
        choices().filter(|choice| choice.allows).collect()
    } else {
        let named: Vec<_> = choices().filter(|choice| is(&choice.name)).collect();
        if named.is_empty() {
            // A number is meant as an answer, whatever it is.
            let is_number = typed.chars().all(|c| c.is_ascii_digit() || c == '-');
            return if is_number && !typed.is_empty() { Meant::Unclear } else { Meant::Else };
        }
        if named.iter().any(|choice| choice.allows) { Vec::new() } else { named }
    };
    match fitting.as_slice() {
        [one] => Meant::Answer(PermissionAnswer::Choose(one.id.clone())),
        _ => Meant::Unclear,
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
        let chosen = Meant::Answer(PermissionAnswer::Choose("a".into()));
        assert_eq!(meant(&request, " 1 "), chosen);
        assert_eq!(meant(&request, "0"), Meant::Answer(PermissionAnswer::Deny));
        for other in ["4", "-1", "yes", "", "1 2"] {
            assert!(!matches!(meant(&request, other), Meant::Answer(_)), "{other}");
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
        let chosen = |id: &str| Meant::Answer(PermissionAnswer::Choose(id.into()));
        let one = request(&[("Allow", true), ("Reject", false)]);
        for (typed, expected) in [
            ("1", chosen("allow")),
            (" allow ", Meant::Unclear),
            ("Reject", chosen("reject")),
            ("yes", chosen("allow")),
            ("n", Meant::Answer(PermissionAnswer::Deny)),
            ("0", Meant::Answer(PermissionAnswer::Deny)),
            ("3", Meant::Unclear),
            ("-1", Meant::Unclear),
            ("", Meant::Else),
            ("yes, but tell me why", Meant::Else),
        ] {
            assert_eq!(meant(&one, typed), expected, "{typed}");
        }
        let twisted = request(&[("No", true), ("Yes", false), ("0", true)]);
        assert_eq!(meant(&twisted, "no"), Meant::Answer(PermissionAnswer::Deny));
        assert_eq!(meant(&twisted, "0"), Meant::Answer(PermissionAnswer::Deny));
        assert_eq!(meant(&twisted, "yes"), Meant::Unclear);
        let twins = request(&[("Allow", false), ("Allow", true)]);
        assert_eq!(meant(&twins, "allow"), Meant::Unclear);
        let several = request(&[("Always", true), ("Once", true)]);
        assert_eq!(meant(&several, "yes"), Meant::Unclear, "nobody is allowed more than was meant");
        assert_eq!(meant(&request(&[]), "yes"), Meant::Unclear);
    }
}
