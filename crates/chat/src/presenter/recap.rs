//! The newest messages of a resumed session. Reads only the beginning of each message, so the cost does not depend on
//! the size of a message.

use tertulia_session::{Entry, Message, Part, Turn, TurnState};
use tertulia_team::is_partial;

use super::Presenter;
use crate::style::{Line, Look};
use crate::terminal::counted;

/// Maximum number of bytes shown of a message.
const BYTES_MAX: usize = 8 * 1024;
const LINES_MAX: usize = 100;

impl Presenter {
    pub(crate) fn recap(&mut self, entries: &[Entry], count: usize) -> Vec<Line> {
        entries.iter().for_each(|entry| drop(self.asks.on_entry(entry)));
        let messages: Vec<(&Entry, &Message)> = entries
            .iter()
            .filter_map(|entry| Some((entry, entry.message()?)))
            .filter(|(_, message)| texts(message).any(|text| !text.trim_start().is_empty()))
            .collect();
        let earlier = messages.len().saturating_sub(count);
        let mut lines = Vec::new();
        if earlier > 0 {
            let text = format!(
                "({} not shown)",
                counted(earlier as u64, "earlier message", "earlier messages")
            );
            lines.push(Line::new(text, Look::Dim));
        }
        if let Some((entry, message)) = messages.last() {
            self.remember(entry, message);
        }
        for (entry, message) in messages.into_iter().skip(earlier) {
            let (text, left_out) = beginning(message);
            lines.extend(self.message_lines(message, &text, false));
            if left_out > 0 {
                let more = counted(left_out as u64, "more byte", "more bytes");
                let text = format!("(… and {more}; /export FILE writes the whole message)");
                lines.push(Line::new(&text, Look::Dim));
            }
            if is_partial(entry) {
                lines.push(Line::new("(cut off here)", Look::Dim));
            }
            lines.push(Line::default());
        }
        lines
    }

    /// Returns the line that says that a turn did not finish, and how to retry it.
    pub(crate) fn unfinished(&self, turn: &Turn) -> Vec<Line> {
        let state = match turn.state {
            TurnState::Failed => "failed",
            TurnState::Cancelled => "was cancelled",
            TurnState::Interrupted => "was interrupted",
            TurnState::Queued | TurnState::Started | TurnState::Done => return Vec::new(),
        };
        let (name, member) = (self.names.name(&turn.member), &turn.member);
        let text = format!("{name}'s last turn {state}; /resume {member} retries it");
        self.fitted(&[Line::new(&text, Look::Dim)])
    }
}

fn texts(message: &Message) -> impl Iterator<Item = &str> {
    message.parts.iter().filter_map(Part::as_text)
}

/// Returns the beginning of a message, and the number of omitted bytes. Ends after a whole line, or else after a whole
/// word, if one is near the end.
fn beginning(message: &Message) -> (String, usize) {
    let mut text = String::new();
    let mut is_whole = true;
    for (number, part) in texts(message).enumerate() {
        if number > 0 {
            text.push('\n');
        }
        let room = BYTES_MAX.saturating_sub(text.len());
        let head = part.get(..part.floor_char_boundary(room)).unwrap_or_default();
        text.push_str(head);
        is_whole = head.len() == part.len();
        if !is_whole {
            break;
        }
    }
    if let Some((index, _)) = text.match_indices('\n').nth(LINES_MAX - 1) {
        // A line break at the very end does not start another line.
        if index + 1 < text.len() || !is_whole {
            text.truncate(index);
            is_whole = false;
        }
    } else if !is_whole {
        let far = text.len() / 2;
        let end = text.rfind('\n').or_else(|| text.rfind(' ')).filter(|end| *end > far);
        text.truncate(end.unwrap_or(text.len()));
    }
    let said: usize = texts(message).map(str::len).sum();
    let left_out = if is_whole { 0 } else { said.saturating_sub(text.len()).max(1) };
    (text, left_out)
}

#[cfg(test)]
mod tests {
    use tertulia_session::{EntryKind, NewEntry, Speaker, SpeakerType};
    use tertulia_team::file::TeamFile;
    use tertulia_team::{Limits, Team, TeamMember};

    use super::*;
    use crate::DisplayNames;

    fn said(text: &str) -> Entry {
        let speaker = Speaker::new("max", "max", SpeakerType::Ai);
        NewEntry::new(EntryKind::Message(Message::said(speaker, text))).with_content_id()
    }

    fn recap(entries: &[Entry]) -> Vec<String> {
        let members = vec![TeamMember::person("ann"), TeamMember::scribe("max")];
        let team = Team::new(members, Limits::default(), None).unwrap();
        let mut presenter =
            Presenter::new(DisplayNames::new(&team, &TeamFile::new(Vec::new())), 80);
        presenter.recap(entries, 6).iter().map(Line::text).collect()
    }

    #[test]
    fn of_a_huge_message_only_the_beginning_is_looked_at() {
        const SIZE: usize = 8 * 1024 * 1024;
        for line in ["count 1 of many\n", "x", "\n", "a word ", "设", "**[`_"] {
            let text = format!("first {}", line.repeat(SIZE / line.len()));
            let lines = recap(&[said(&text)]);
            let bytes: usize = lines.iter().map(String::len).sum();
            assert!(lines.len() <= BYTES_MAX / 40 + 4, "{} lines of {line:?}", lines.len());
            assert!(bytes <= BYTES_MAX + 200, "{bytes} bytes of {line:?}");
            let end = &lines[lines.len() - 2];
            assert!(end.contains("more bytes; /export FILE writes the whole message"), "{end}");
        }
    }

    #[test]
    fn what_is_not_long_is_shown_whole_and_what_is_left_out_is_counted() {
        assert_eq!(recap(&[said("one\ntwo")]), ["max:", "one", "two", ""]);
        let all = "line\n".repeat(LINES_MAX);
        assert_eq!(recap(&[said(&all)]).len(), LINES_MAX + 2);
        let more = format!("{all}and more");
        let lines = recap(&[said(&more)]);
        assert_eq!(
            lines[LINES_MAX + 1],
            "(… and 9 more bytes; /export FILE writes the whole message)"
        );
        let long = "word ".repeat(BYTES_MAX);
        let said = said(&long);
        let (text, left_out) = beginning(said.message().unwrap());
        assert!(text.ends_with("word"), "a whole word");
        assert_eq!(text.len() + left_out, long.len());
    }
}
