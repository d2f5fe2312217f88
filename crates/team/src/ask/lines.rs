//! Reads the lines in which a judge or a member compares answers: `AGREED A, B: …`, `ONLY A: …` and `CONTRADICTED A / B:
//! … / …`. Models vary the form, so the reader accepts list marks, emphasis, other words for the same, and labels at
//! other places. Everything else is no line. Pure; the time is linear in the length of the text.

/// One line of a comparison.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ComparedLine {
    pub kind: LineKind,
    /// What the line says, without labels; empty if only the sides say something.
    pub text: Box<str>,
    /// The answers that the line is about.
    pub sides: Vec<LineSide>,
}

/// What a line says about its answers.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum LineKind {
    /// They agree on the point.
    Agreed,
    /// Only one answer makes the point.
    Only,
    /// They contradict each other.
    Contradicted,
}

/// An answer that a line is about.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LineSide {
    /// The index of the answer among the known ones.
    pub answer: usize,
    /// What this answer says, if the line says it for each.
    pub text: Option<Box<str>>,
}

/// Words at the beginning of a line, in lower case.
const WORDS: [(&str, LineKind); 9] = [
    ("agreed", LineKind::Agreed),
    ("agreement", LineKind::Agreed),
    ("agree", LineKind::Agreed),
    ("only", LineKind::Only),
    ("contradicted", LineKind::Contradicted),
    ("contradiction", LineKind::Contradicted),
    ("contradict", LineKind::Contradicted),
    ("disagreed", LineKind::Contradicted),
    ("disagreement", LineKind::Contradicted),
];

/// Words around labels that mean nothing.
const FILLERS: [&str; 12] =
    ["answer", "answers", "and", "in", "by", "of", "vs", "versus", "or", "the", "between", "all"];

/// The maximum number of lines that are read.
const LINES_MAX: usize = 200;
/// The maximum length of the labels of a line.
const LABELS_BYTES_MAX: usize = 200;

/// Reads a comparison. `names` has the names of each known answer: its label, and others that a line may use for it.
pub fn read_lines(text: &str, names: &[Vec<String>]) -> Vec<ComparedLine> {
    text.lines().filter_map(|line| read_line(line, names)).take(LINES_MAX).collect()
}

fn read_line(line: &str, names: &[Vec<String>]) -> Option<ComparedLine> {
    let line = bare(line);
    let (kind, rest) = WORDS.iter().find_map(|(word, kind)| {
        let (start, rest) = line.split_at_checked(word.len())?;
        let ends = rest.chars().next().is_none_or(|c| !c.is_alphanumeric());
        (ends && start.eq_ignore_ascii_case(word)).then_some((*kind, rest))
    })?;
    let (head, body) = split_head(rest)?;
    let (mut answers, body) = match labels(head, names) {
        Some(answers) if !answers.is_empty() => (answers, body.trim().to_owned()),
        Some(_) => trailing(body.trim(), names),
        None => return None,
    };
    let (text, sides) = match kind {
        LineKind::Contradicted => {
            let (text, sides) = sides(&body, &answers, names);
            (text, sides)
        }
        _ => {
            if kind == LineKind::Agreed && answers.is_empty() {
                answers = (0..names.len()).collect();
            }
            (body, whole(&answers))
        }
    };
    let least = if kind == LineKind::Contradicted { 2 } else { 1 };
    let says = !text.is_empty() || sides.iter().any(|side| side.text.is_some());
    (says && sides.len() >= least).then(|| ComparedLine { kind, text: text.into(), sides })
}

/// Returns the line without list marks, quotes and emphasis.
fn bare(line: &str) -> String {
    let mut rest = line.trim();
    loop {
        let mark = |c: char| matches!(c, '-' | '*' | '+' | '•' | '>' | '#' | '|' | '_' | '`' | '[');
        let before = rest;
        rest = rest.trim_start_matches(mark).trim_start();
        let digits = rest.trim_start_matches(|c: char| c.is_ascii_digit());
        if digits.len() < rest.len() && rest.len() - digits.len() < 4 {
            rest = digits.strip_prefix(['.', ')']).map_or(rest, str::trim_start);
        }
        if rest == before {
            break;
        }
    }
    rest.trim_end_matches('|').trim_end().replace("**", "").replace("__", "").replace('`', "")
}

/// Splits a line after its first word into the labels and the text, at a colon or a dash.
fn split_head(rest: &str) -> Option<(&str, &str)> {
    let ends = [(": ", 2), ("：", 3), (" - ", 3), (" – ", 5), (" — ", 5)];
    let found = ends.iter().filter_map(|(end, length)| Some((rest.find(end)?, *length)));
    let colon = rest.strip_suffix(':').map(|head| (head.len(), 1));
    let narrow = rest.find(':').map(|at| (at, 1));
    let (at, length) = found.chain(colon).chain(narrow).min()?;
    (at <= LABELS_BYTES_MAX).then_some(())?;
    Some((rest.get(..at)?, rest.get(at + length..)?))
}

/// Returns the answers that these labels name; `None` if another word is among them.
fn labels(head: &str, names: &[Vec<String>]) -> Option<Vec<usize>> {
    let mut found = Vec::new();
    let mut rest = head;
    while let Some(first) = rest.chars().next() {
        if let Some((index, length)) = begins_with(rest, names) {
            if !found.contains(&index) {
                found.push(index);
            }
            rest = rest.get(length..)?;
        } else if first.is_alphanumeric() {
            let end = rest.find(|c: char| !c.is_alphanumeric()).unwrap_or(rest.len());
            let word = rest.get(..end)?;
            if !FILLERS.iter().any(|filler| filler.eq_ignore_ascii_case(word)) {
                return None;
            }
            rest = rest.get(end..)?;
        } else {
            rest = rest.get(first.len_utf8()..)?;
        }
    }
    Some(found)
}

/// Returns the answer whose name begins this text as a whole word, and the length of the name. The longest name counts.
fn begins_with(text: &str, names: &[Vec<String>]) -> Option<(usize, usize)> {
    let fits = |name: &String| {
        let (start, rest) = text.split_at_checked(name.len())?;
        let ends = rest.chars().next().is_none_or(|c| !c.is_alphanumeric());
        (ends && !name.is_empty() && start.eq_ignore_ascii_case(name)).then_some(name.len())
    };
    let found = names
        .iter()
        .enumerate()
        .flat_map(|(index, all)| all.iter().filter_map(fits).map(move |length| (index, length)));
    found.max_by_key(|(index, length)| (*length, std::cmp::Reverse(*index)))
}

/// Takes labels in brackets from the end of a text.
fn trailing(text: &str, names: &[Vec<String>]) -> (Vec<usize>, String) {
    let closed = text.trim_end_matches('.').trim_end();
    let brackets = [('(', ')'), ('[', ']')].into_iter().find_map(|(open, close)| {
        let inside = closed.strip_suffix(close)?;
        let at = inside.rfind(open)?;
        Some((inside.get(..at)?, inside.get(at + 1..)?))
    });
    let found = brackets.filter(|(_, inside)| inside.len() <= LABELS_BYTES_MAX);
    let found = found.and_then(|(before, inside)| Some((before, labels(inside, names)?)));
    match found {
        Some((before, answers)) if !answers.is_empty() => (answers, before.trim().to_owned()),
        _ => (Vec::new(), text.to_owned()),
    }
}

fn whole(answers: &[usize]) -> Vec<LineSide> {
    answers.iter().map(|answer| LineSide { answer: *answer, text: None }).collect()
}

/// Returns what a contradiction says, in general and for each side.
fn sides(body: &str, answers: &[usize], names: &[Vec<String>]) -> (String, Vec<LineSide>) {
    let parts: Vec<&str> = body.split(" / ").map(str::trim).collect();
    let own: Vec<Option<(usize, &str)>> = parts.iter().map(|part| labelled(part, names)).collect();
    let is_labelled = own.len() > 1 && own.iter().all(Option::is_some);
    if is_labelled {
        let side = |(answer, text): (usize, &str)| LineSide { answer, text: Some(text.into()) };
        return (String::new(), own.into_iter().flatten().map(side).collect());
    }
    if parts.len() == answers.len() && parts.len() > 1 {
        let side = |(answer, text): (&usize, &&str)| LineSide {
            answer: *answer,
            text: Some((*text).into()),
        };
        return (String::new(), answers.iter().zip(&parts).map(side).collect());
    }
    (body.to_owned(), whole(answers))
}

/// Splits a label from the beginning of a side.
fn labelled<'t>(part: &'t str, names: &[Vec<String>]) -> Option<(usize, &'t str)> {
    let part =
        part.strip_prefix("answer ").or_else(|| part.strip_prefix("Answer ")).unwrap_or(part);
    let (answer, length) = begins_with(part, names)?;
    let separators = |c: char| c.is_whitespace() || matches!(c, ':' | '-' | '–' | '—' | ',');
    let rest = part.get(length..)?;
    // "A cache is needed" begins with a word, not with a label, unless something separates it.
    let text = rest.trim_start_matches(separators);
    Some((answer, text)).filter(|(_, text)| !text.is_empty())
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn names() -> Vec<Vec<String>> {
        let named = |label: &str, name: &str| vec![label.to_owned(), name.to_owned()];
        vec![named("A", "max"), named("B", "eva"), named("C", "leo")]
    }

    /// Shows a line as `kind [answers] text`, with the texts of sides after them.
    fn show(line: &ComparedLine) -> String {
        let side = |side: &LineSide| match &side.text {
            Some(text) => format!("{}={text}", side.answer),
            None => side.answer.to_string(),
        };
        let sides: Vec<String> = line.sides.iter().map(side).collect();
        format!("{:?} [{}] {}", line.kind, sides.join("; "), line.text).trim().to_owned()
    }

    #[track_caller]
    fn check(text: &str, expected: &[&str]) {
        let read = read_lines(text, &names());
        assert_eq!(read.iter().map(show).collect::<Vec<_>>(), expected, "{text}");
    }

    #[test]
    fn the_form_that_the_prompt_asks_for_is_read() {
        check(
            "AGREED A, B: The cache needs a limit.\nONLY C: Use an LRU.\n\
             CONTRADICTED A / B: 100 entries / no limit",
            &[
                "Agreed [0; 1] The cache needs a limit.",
                "Only [2] Use an LRU.",
                "Contradicted [0=100 entries; 1=no limit]",
            ],
        );
    }

    #[test]
    fn other_forms_that_models_write_are_read_too() {
        for (text, expected) in [
            ("- **AGREED**: Tea. (A, B)", "Agreed [0; 1] Tea."),
            ("1. Agreed: Tea.", "Agreed [0; 1; 2] Tea."),
            ("* agreed (A and C): Tea.", "Agreed [0; 2] Tea."),
            ("AGREEMENT [answers A, B] - Tea.", "Agreed [0; 1] Tea."),
            ("**ONLY A:** Tea", "Only [0] Tea"),
            ("> Only answer B — Tea", "Only [1] Tea"),
            ("ONLY max: Tea", "Only [0] Tea"),
            ("only: Tea [C]", "Only [2] Tea"),
            ("| ONLY A: Tea |", "Only [0] Tea"),
            (
                "CONTRADICTED: A says tea / B says coffee",
                "Contradicted [0=says tea; 1=says coffee]",
            ),
            (
                "CONTRADICTED: A: tea / B: coffee / C: water",
                "Contradicted [0=tea; 1=coffee; 2=water]",
            ),
            ("CONTRADICTED A vs. B: the drink", "Contradicted [0; 1] the drink"),
            ("Contradiction between eva and leo: the drink", "Contradicted [1; 2] the drink"),
            ("DISAGREED A, B：茶", "Contradicted [0; 1] 茶"),
            ("`AGREED A, B:` Tea", "Agreed [0; 1] Tea"),
            ("AGREED A,B:Tea", "Agreed [0; 1] Tea"),
        ] {
            check(text, &[expected]);
        }
    }

    #[test]
    fn other_text_is_no_line() {
        for text in [
            "",
            "Only the first answer is right: tea.",
            "ONLY: Tea",
            "ONLY D: Tea",
            "AGREED A, B:",
            "AGREED",
            "CONTRADICTED A: Tea",
            "CONTRADICTED: Tea / coffee",
            "Agreedness A: Tea",
            "They agreed A: Tea",
            "I agree with A",
            "A: Tea",
        ] {
            check(text, &[]);
        }
        check("Here is my verdict:\n\nAGREED A, B: Tea\n\nThanks!", &["Agreed [0; 1] Tea"]);
    }

    #[test]
    fn there_is_a_limit_of_lines() {
        assert_eq!(read_lines(&"ONLY A: Tea\n".repeat(10_000), &names()).len(), LINES_MAX);
        assert_eq!(read_lines("AGREED: Tea", &[]), []);
    }

    fn piece() -> impl Strategy<Value = String> {
        const KNOWN: &[&str] = &[
            "AGREED",
            "ONLY",
            "CONTRADICTED",
            "agree",
            " A",
            " B",
            "/",
            ":",
            " / ",
            "(A, B)",
            "[",
            "]",
            "**",
            "- ",
            "\n",
            "：",
            " — ",
            "é",
            "\u{2028}",
            "max",
            "1. ",
            "`",
            "|",
        ];
        prop_oneof![4 => prop::sample::select(KNOWN).prop_map(str::to_owned), 1 => any::<String>()]
    }

    proptest! {
        #[test]
        fn no_text_causes_a_panic_and_every_line_names_known_answers(
            pieces in prop::collection::vec(piece(), 0..40),
        ) {
            for line in read_lines(&pieces.concat(), &names()) {
                let least = if line.kind == LineKind::Contradicted { 2 } else { 1 };
                prop_assert!(line.sides.len() >= least);
                prop_assert!(line.sides.iter().all(|side| side.answer < 3));
            }
        }
    }
}
