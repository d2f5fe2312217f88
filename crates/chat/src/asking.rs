//! The command `/ask`: parses and writes it, and shows the result of an ask. `tertulia ask` sends this command to a process
//! that runs the session.

use tertulia_operations::names::short;
use tertulia_session::AskRound;
use tertulia_team::{
    AskComparison, AskFinding, AskRequest, AskResult, Driver, FindingSide, LineKind,
};

use crate::display_names::DisplayNames;
use crate::presenter::Figures;
use crate::style::{Line, Look};
use crate::terminal::counted;

pub(crate) const USAGE: &str = "usage: /ask NAME,NAME [--judge NAME] [--no-reactions] [--quorum N] [--grace SECONDS]: QUESTION";

/// The width of the first column of a result.
const WORD_COLUMNS: usize = 14;

/// Parses what follows `/ask`: the members and options, a colon, and the question.
pub(crate) fn read(given: &str) -> Result<(AskRequest, &str), String> {
    let wrong = || USAGE.to_owned();
    let colon = given.find([':', '：']).ok_or_else(wrong)?;
    let spaced = [": ", ":\n", "："].into_iter().filter_map(|end| given.find(end)).min();
    let (head, question) = given.split_at_checked(spaced.unwrap_or(colon)).ok_or_else(wrong)?;
    let question = question.trim_start_matches([':', '：']).trim();
    if question.is_empty() {
        return Err(format!("the question is empty; {USAGE}"));
    }
    let mut options = head.split(" --");
    let members = options.next().unwrap_or_default();
    let mut request = AskRequest { members: names(members), ..AskRequest::default() };
    for option in options {
        let (name, value) = option.trim().split_once(' ').unwrap_or((option.trim(), ""));
        let value = value.trim();
        let number =
            || value.parse::<u32>().map_err(|_| format!("--{name} needs a number; {USAGE}"));
        match name {
            "judge" if !value.is_empty() => request.judge = Some(value.to_owned()),
            "no-reactions" if value.is_empty() => request.answers_only = true,
            "quorum" => request.quorum = Some(number()?),
            "grace" => request.grace_seconds = Some(number()?),
            _ => return Err(format!("--{name} is not an option here; {USAGE}")),
        }
    }
    Ok((request, question))
}

/// Splits names at commas, or at spaces if there is no comma.
fn names(text: &str) -> Vec<String> {
    let is_between = |c: char| if text.contains(',') { c == ',' } else { c.is_whitespace() };
    let names = text.split(is_between).map(|name| name.trim().trim_start_matches('@'));
    names.filter(|name| !name.is_empty()).map(str::to_owned).collect()
}

/// Returns the command for a question.
pub fn ask_command(request: &AskRequest, question: &str) -> String {
    let mut command = format!("/ask {}", request.members.join(","));
    if let Some(judge) = &request.judge {
        command.push_str(&format!(" --judge {judge}"));
    }
    if request.answers_only {
        command.push_str(" --no-reactions");
    }
    if let Some(quorum) = request.quorum {
        command.push_str(&format!(" --quorum {quorum}"));
    }
    if let Some(seconds) = request.grace_seconds {
        command.push_str(&format!(" --grace {seconds}"));
    }
    format!("{command}: {question}")
}

/// Returns the result of the newest ask of a session.
pub(crate) fn last(driver: &Driver, names: &DisplayNames) -> Vec<Line> {
    let mut follower = tertulia_team::AskFollower::default();
    driver.entries().iter().for_each(|entry| drop(follower.on_entry(entry)));
    let result = follower.last().and_then(|question| follower.result(question));
    match result {
        Some(result) => result_lines(&result, names),
        None => vec![Line::new(USAGE, Look::Dim)],
    }
}

/// Returns the result of an ask as lines. The ids are those that `sessions show` and `why` accept.
pub fn result_lines(result: &AskResult, names: &DisplayNames) -> Vec<Line> {
    let mut lines = vec![Line::new(headline(result, names), Look::Strong)];
    lines.extend(result.findings.iter().map(|finding| found(finding, names)));
    for unread in &result.unread {
        let name = names.name(&unread.member);
        let text = format!(
            "{name} used none of the expected forms (below): {}",
            short(unread.entry.as_str())
        );
        lines.push(row("not read", &text, Look::Dim));
        let quoted = unread.text.lines().map(|line| Line::new(format!("    {line}"), Look::Plain));
        lines.extend(quoted);
    }
    if !result.answers.is_empty() {
        let answer = |one: &tertulia_team::AskAnswer| {
            let label =
                if one.label.is_empty() { String::new() } else { format!(" ({})", one.label) };
            format!("{}{label} {}", names.name(&one.member), short(one.entry.as_str()))
        };
        let answers: Vec<String> = result.answers.iter().map(answer).collect();
        lines.push(row("answers", &answers.join(" · "), Look::Dim));
    }
    for missing in &result.missing {
        let word = match missing.round {
            AskRound::Answer => "no answer",
            AskRound::Reaction => "no reaction",
            AskRound::Judgement => "no judgement",
        };
        let turn = missing.turn.as_ref().map(|turn| format!("; turn {}", short(turn.as_str())));
        // Some reasons begin with the name.
        let who = match missing.why.strip_prefix(&*missing.member) {
            Some(why) => format!("{}{why}", names.name(&missing.member)),
            None => format!("{}: {}", names.name(&missing.member), missing.why),
        };
        let text = format!("{}{}", short(&who), turn.unwrap_or_default());
        lines.push(row(word, &text, Look::Error));
    }
    lines.extend(cost(result, names).map(|text| row("cost", &text, Look::Dim)));
    lines
}

fn headline(result: &AskResult, names: &DisplayNames) -> String {
    let missing = result.missing.iter().filter(|one| one.round == AskRound::Answer);
    let asked = result.answers.len() + missing.count();
    let compared = match &result.comparison {
        AskComparison::NotAsked => String::new(),
        AskComparison::TooFew => "; too few to compare".to_owned(),
        AskComparison::Missing => "; nobody compared them".to_owned(),
        AskComparison::Judged { judge, entry } => {
            format!("; {} compared them in {}", names.name(judge), short(entry.as_str()))
        }
        AskComparison::Reactions(all) => {
            let of = |(member, entry): &(Box<str>, tertulia_session::EntryId)| {
                format!("{} in {}", names.name(member), short(entry.as_str()))
            };
            format!("; compared by {}", all.iter().map(of).collect::<Vec<_>>().join(", "))
        }
    };
    let wanted = result.quorum.filter(|quorum| (result.answers.len() as u64) < u64::from(*quorum));
    let wanted = wanted.map(|quorum| format!(" (the quorum is {quorum})")).unwrap_or_default();
    let question = short(result.question.as_str());
    let asked = counted(asked as u64, "member", "members");
    format!("Result of {question}: {} of {asked} answered{wanted}{compared}", result.answers.len())
}

fn found(finding: &AskFinding, names: &DisplayNames) -> Line {
    let all = |of: &dyn Fn(&FindingSide) -> String, between: &str| {
        finding.sides.iter().map(of).collect::<Vec<_>>().join(between)
    };
    let sides = all(&|side| names.name(&side.member).to_owned(), ", ");
    let entries = all(&|side| short(side.entry.as_str()), ", ");
    let says = |side: &FindingSide| {
        format!("{}: {}", names.name(&side.member), side.text.as_deref().unwrap_or("…"))
    };
    let has_texts = finding.sides.iter().any(|side| side.text.is_some());
    let texts = if has_texts { all(&says, " / ") } else { String::new() };
    let text = [&*finding.text, &texts].into_iter().filter(|text| !text.is_empty());
    let text = text.collect::<Vec<_>>().join(" ");
    let by: Vec<&str> = finding.by.iter().map(|name| names.name(name)).collect();
    let by = if by.is_empty() { String::new() } else { format!("; says {}", by.join(", ")) };
    let (word, look) = match finding.kind {
        LineKind::Agreed => ("agreed".to_owned(), Look::Plain),
        LineKind::Only => (format!("only {sides}"), Look::Plain),
        LineKind::Contradicted => ("contradicted".to_owned(), Look::Plain),
    };
    let who = match finding.kind {
        LineKind::Agreed | LineKind::Contradicted if !has_texts => format!("{sides}: "),
        _ => String::new(),
    };
    row(&word, &text, look).with(&format!("  ({who}{entries}{by})"), Look::Dim)
}

/// Returns the tokens and the cost of each member, and of all.
fn cost(result: &AskResult, names: &DisplayNames) -> Option<String> {
    let mut all = Figures::default();
    let mut members: Vec<(&str, Figures)> = Vec::new();
    for usage in &result.usages {
        all.add(usage);
        match members.iter_mut().find(|(name, _)| **name == *usage.member) {
            Some((_, figures)) => figures.add(usage),
            None => {
                let mut figures = Figures::default();
                figures.add(usage);
                members.push((&usage.member, figures));
            }
        }
    }
    let total = all.counted()?;
    let of = |(name, figures): &(&str, Figures)| {
        format!(
            "{} {}",
            names.name(name),
            figures.counted().unwrap_or_else(|| "not reported".into())
        )
    };
    Some(format!("{}; in total {total}", members.iter().map(of).collect::<Vec<_>>().join("; ")))
}

fn row(word: &str, text: &str, look: Look) -> Line {
    Line::new(format!("  {word:<WORD_COLUMNS$}"), Look::Dim).with(text, look)
}

#[cfg(test)]
mod tests {
    use tertulia_session::{Usage, Usd};

    use super::*;

    fn request(members: &[&str]) -> AskRequest {
        let members = members.iter().map(|name| (*name).to_owned()).collect();
        AskRequest { members, ..AskRequest::default() }
    }

    #[test]
    fn a_result_shows_the_cost_of_each_member_and_of_all() {
        let usage = |member: &str, output_tokens, cost| Usage {
            member: member.into(),
            input_tokens: 1_000,
            output_tokens,
            cost_usd: Usd::new(cost),
            ..Usage::default()
        };
        let result = AskResult {
            question: "e-12345678".into(),
            answers: Vec::new(),
            missing: Vec::new(),
            comparison: AskComparison::TooFew,
            findings: Vec::new(),
            unread: Vec::new(),
            quorum: Some(2),
            costs: Vec::new(),
            usages: vec![usage("max", 20, 0.5), usage("eva", 5, 0.25), usage("max", 1, 0.125)],
        };
        let lines = result_lines(&result, &DisplayNames::default());
        let texts: Vec<String> = lines.iter().map(Line::text).collect();
        let headline =
            "Result of e-12345678: 0 of 0 members answered (the quorum is 2); too few to compare";
        assert_eq!(texts[0], headline);
        let costs = "  cost          max 2,000 tokens in, 21 out · $0.625; eva 1,000 tokens in, 5 out · \
                     $0.25; in total 3,000 tokens in, 26 out · $0.875";
        assert_eq!(texts[1..], [costs]);
    }

    #[test]
    fn a_command_has_members_options_and_a_question() {
        assert_eq!(read("max,eva: Which?"), Ok((request(&["max", "eva"]), "Which?")));
        assert_eq!(
            read("@max @eva:which: a or b?").unwrap(),
            (request(&["max", "eva:which"]), "a or b?")
        );
        assert_eq!(read("all:Which?"), Ok((request(&["all"]), "Which?")));
        let full = AskRequest {
            judge: Some("Big Leo".into()),
            answers_only: true,
            quorum: Some(2),
            grace_seconds: Some(0),
            ..request(&["max", "Eva Two"])
        };
        let command = ask_command(&full, "Which: a\nor b?");
        let given = command.strip_prefix("/ask ").unwrap();
        assert_eq!(read(given), Ok((full, "Which: a\nor b?")));
    }

    #[test]
    fn a_command_that_cannot_be_read_says_how_to_write_it() {
        for (given, reason) in [
            ("max, eva", "usage: /ask"),
            ("max, eva: ", "the question is empty"),
            ("max --quorum x: Which?", "--quorum needs a number"),
            ("max --jury eva: Which?", "--jury is not an option here"),
            ("max --judge: Which?", "--judge is not an option here"),
        ] {
            assert!(read(given).unwrap_err().starts_with(reason), "{given}");
        }
    }
}
