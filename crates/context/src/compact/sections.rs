//! The sections of a summary: their headings, their order and their shares of the cap. This code also writes the
//! lines, in the form that [`super::previous`] parses.

use tertulia_session::EntryId;

use crate::truncate::truncate_to_bytes;

/// A section of a summary. The variants are in the order of the text.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Section {
    Goal,
    Requests,
    Constraints,
    Decisions,
    Done,
    Files,
    Commands,
    Errors,
    Open,
    Names,
    Notes,
}

impl Section {
    #[rustfmt::skip]
    pub(super) const ALL: [Self; 11] = [
        Self::Goal, Self::Requests, Self::Constraints, Self::Decisions, Self::Done, Self::Files,
        Self::Commands, Self::Errors, Self::Open, Self::Names, Self::Notes,
    ];

    /// The order in which sections get their tokens. The first sections are kept longest.
    #[rustfmt::skip]
    pub(super) const BY_WEIGHT: [Self; 11] = [
        Self::Goal, Self::Constraints, Self::Files, Self::Requests, Self::Errors, Self::Commands,
        Self::Open, Self::Done, Self::Decisions, Self::Names, Self::Notes,
    ];

    pub(super) fn layout(self) -> Layout {
        let layout = |heading, share, line_max| Layout { heading, share, line_max };
        match self {
            Self::Goal => layout("## Goal\n", 90, 700),
            Self::Requests => layout("## Requests\n", 100, 400),
            Self::Constraints => layout("## Constraints\n", 80, 300),
            Self::Decisions => layout("## Decisions\n", 40, 300),
            Self::Done => layout("## Done\n", 50, 200),
            Self::Files => layout("## Files changed\n", 80, 200),
            Self::Commands => layout("## Commands run\n", 180, COMMAND_MAX),
            Self::Errors => layout("## Errors\n", 60, 100),
            Self::Open => layout("## Open\n", 50, 300),
            Self::Names => layout("## Names\n", 240, 200),
            Self::Notes => layout("## Notes\n", 30, 300),
        }
    }

    pub(super) fn of_heading(line: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|section| section.layout().heading.trim_end() == line.trim_end())
    }
}

pub(super) struct Layout {
    /// The heading with its line break.
    pub(super) heading: &'static str,
    /// The section's share of the cap, in thousandths. Unused tokens go to the next section.
    pub(super) share: u64,
    /// The maximum bytes of one line.
    pub(super) line_max: usize,
}

/// The maximum bytes of a command in a line. The beginning of a command is usually enough to recognise it.
pub(super) const COMMAND_MAX: usize = 80;

/// The maximum characters of an id in a line.
const ID_CHARS: usize = 8;

/// The maximum length of an id that is written whole.
const ID_WHOLE: usize = 12;

/// Returns the id as it is written in a line.
pub fn short_id(id: &EntryId) -> &str {
    let id = id.as_str();
    if id.len() <= ID_WHOLE {
        return id;
    }
    let end = id.char_indices().nth(ID_CHARS).map_or(id.len(), |(at, _)| at);
    id.get(..end).unwrap_or(id)
}

pub(super) fn line(id: &str, text: &str) -> String {
    if id.is_empty() { format!("- {text}\n") } else { format!("- [{id}] {text}\n") }
}

/// Returns the id and the text of a line that [`line()`] wrote. For any other line, returns an empty id and the
/// whole line.
pub(super) fn split_line(line: &str) -> (&str, &str) {
    let line = line.trim();
    let text = line.strip_prefix("- ").or_else(|| line.strip_prefix("* ")).unwrap_or(line);
    let marked = text.strip_prefix('[').and_then(|rest| rest.split_once("] "));
    match marked {
        Some((id, text)) if id.len() <= 4 * ID_WHOLE && !id.contains(' ') => (id, text.trim()),
        _ => ("", text.trim()),
    }
}

/// Returns a text on one line within these bytes, with every run of spaces replaced by one. The text is cut between
/// characters, if possible at a space.
pub(super) fn one_line(text: &str, max: usize) -> String {
    let mut line = String::with_capacity(text.len().min(max + 8));
    for word in text.split_whitespace() {
        if !line.is_empty() {
            line.push(' ');
        }
        let room = max.saturating_sub(line.len());
        if word.len() > room {
            if room > 16 {
                line.push_str(truncate_to_bytes(word, room));
            }
            line.truncate(line.trim_end().len());
            line.push('…');
            break;
        }
        line.push_str(word);
    }
    line
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_line_is_read_as_it_was_written() {
        assert_eq!(split_line(&line("e-1", "text [x] y")), ("e-1", "text [x] y"));
        assert_eq!(split_line(&line("", "text")), ("", "text"));
        assert_eq!(split_line("* [not an id] text"), ("", "[not an id] text"));
    }

    #[test]
    fn a_heading_is_read_as_it_was_written() {
        for section in Section::ALL {
            assert_eq!(Section::of_heading(section.layout().heading), Some(section));
        }
    }

    #[test]
    fn the_shares_are_the_whole() {
        assert_eq!(Section::ALL.map(|section| section.layout().share).iter().sum::<u64>(), 1000);
    }

    #[test]
    fn a_long_text_is_cut_at_a_character_and_ends_with_dots() {
        assert_eq!(one_line("a  b\n c", 99), "a b c");
        assert_eq!(one_line("one two three", 8), "one two…");
        assert_eq!(one_line(&"中".repeat(50), 20), format!("{}…", "中".repeat(6)));
    }

    #[test]
    fn long_ids_are_shortened() {
        assert_eq!(short_id(&EntryId::from("e-af1349b9f5f9a1a6")), "e-af1349");
        assert_eq!(short_id(&EntryId::from("entry-12")), "entry-12");
    }
}
