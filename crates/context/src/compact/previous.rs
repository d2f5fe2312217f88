//! Parses the previous summary: our own format line by line, any other text by its headings and sentences. Never
//! fails, since any text can be a summary. Called by [`super::extract`].

use super::known::distinct_names;
use super::sections::{Section, split_line};
use super::sentences::sentences;
use super::work::of_done;
use crate::identifiers::identifiers;
use crate::truncate::truncate_to_bytes;

#[derive(Debug, Default, PartialEq, Eq)]
pub(super) struct Carried<'a> {
    /// Oldest first, without the names.
    pub(super) lines: Vec<CarriedLine<'a>>,
    /// All its names, in order. The names in its lines are newer, so they come before those in its list of names.
    pub(super) names: Vec<&'a str>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct CarriedLine<'a> {
    pub(super) section: Section,
    /// The id before the text; empty if there is none.
    pub(super) id: &'a str,
    pub(super) text: &'a str,
}

/// Words in headings of other formats, in lower case; the first match counts.
const HEADINGS: [(Section, &[&str]); 7] = [
    (
        Section::Goal,
        &["goal", "objective", "intent", "目标", "ziel", "objetivo", "objectif", "目的"],
    ),
    (Section::Constraints, &["constraint", "requirement", "rules", "约束", "制約"]),
    (Section::Decisions, &["decision", "决定"]),
    (Section::Errors, &["error"]),
    (Section::Open, &["next", "pending", "todo", "open"]),
    (Section::Done, &["done", "progress", "completed"]),
    (Section::Requests, &["request"]),
];

/// The size of the pieces that lines of free text are cut into, so that no line is too long to be kept.
const PIECE_MAX: usize = 240;

pub(super) fn parse(text: &str) -> Carried<'_> {
    let own = text.lines().any(|line| Section::of_heading(line).is_some());
    let lines = if own { own_lines(text) } else { free_lines(text) };
    let names = distinct_names(text);
    Carried { lines, names }
}

fn own_lines(text: &str) -> Vec<CarriedLine<'_>> {
    let mut lines = Vec::new();
    let mut open = Section::Notes;
    for line in text.lines() {
        if let Some(section) = Section::of_heading(line) {
            open = section;
            continue;
        }
        let (id, text) = split_line(line);
        let (section, text) = match open {
            Section::Done => of_done(text).unwrap_or((open, text)),
            _ => (open, text),
        };
        let section = match section {
            // Names are carried over separately. A line without any name is a note in the wrong section.
            Section::Names if identifiers(text).next().is_some() => continue,
            Section::Names => Section::Notes,
            section => section,
        };
        if !text.is_empty() {
            lines.push(CarriedLine { section, id, text });
        }
    }
    lines
}

/// Returns the lines of a summary in another format. If no heading names the goal, the first sentence is used as the
/// goal, because it usually contains it.
fn free_lines(text: &str) -> Vec<CarriedLine<'_>> {
    let mut lines: Vec<CarriedLine<'_>> = Vec::new();
    let mut open = Section::Notes;
    for line in text.lines() {
        if let Some(section) = heading(line) {
            open = section;
            continue;
        }
        for sentence in sentences(line) {
            let pieces = pieces(sentence);
            lines.extend(pieces.map(|text| CarriedLine { section: open, id: "", text }));
        }
    }
    if !lines.iter().any(|line| line.section == Section::Goal)
        && let Some(first) = lines.first_mut()
    {
        first.section = Section::Goal;
    }
    lines
}

/// Returns the section that a heading of another format opens. A heading is a short line with marks around it.
pub(super) fn heading(line: &str) -> Option<Section> {
    let line = line.trim();
    let marked = line.starts_with('#') || line.ends_with([':', '：']) || line.starts_with("**");
    if !marked || line.len() > 60 {
        return None;
    }
    let small = line.to_lowercase();
    let known = HEADINGS.iter().find(|(_, words)| words.iter().any(|word| small.contains(word)));
    Some(known.map_or(Section::Notes, |(section, _)| *section))
}

/// Returns a text in pieces of a limited size, cut at spaces where possible.
fn pieces(text: &str) -> impl Iterator<Item = &str> {
    let mut rest = text;
    std::iter::from_fn(move || {
        rest = rest.trim_start();
        if rest.is_empty() {
            return None;
        }
        let mut piece = truncate_to_bytes(rest, PIECE_MAX);
        if piece.len() < rest.len() {
            let blank = piece.rfind(' ').filter(|at| *at > PIECE_MAX / 2);
            piece = blank.and_then(|at| piece.get(..at)).unwrap_or(piece);
        }
        rest = rest.get(piece.len()..).unwrap_or_default();
        Some(piece.trim_end())
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn shown<'a>(carried: &Carried<'a>) -> Vec<(Section, &'a str, &'a str)> {
        carried.lines.iter().map(|line| (line.section, line.id, line.text)).collect()
    }

    #[test]
    fn our_own_format_is_read_line_by_line() {
        let text = "## Goal\n- [e-1] ship it\n## Names\nb_c a_b\n## Notes\n- [e-2] see a_b\n";
        let carried = parse(text);
        assert_eq!(
            shown(&carried),
            [(Section::Goal, "e-1", "ship it"), (Section::Notes, "e-2", "see a_b")]
        );
        assert_eq!(carried.names, ["b_c", "a_b"]);
    }

    #[test]
    fn free_text_has_its_goal_first() {
        let carried = parse("We build a shop. Colours are blue.\n\n**Next steps:**\n- pay page");
        assert_eq!(
            shown(&carried),
            [
                (Section::Goal, "", "We build a shop."),
                (Section::Notes, "", "Colours are blue."),
                (Section::Open, "", "pay page"),
            ]
        );
    }

    #[test]
    fn long_sentences_are_cut_into_pieces_that_hold_it_all() {
        let text = "word ".repeat(200);
        let carried = parse(&text);
        assert!(carried.lines.iter().all(|line| line.text.len() <= PIECE_MAX));
        let words: usize =
            carried.lines.iter().map(|line| line.text.split_whitespace().count()).sum();
        assert_eq!(words, 200);
    }
}
