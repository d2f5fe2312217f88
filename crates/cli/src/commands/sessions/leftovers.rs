//! Removes texts outside the store after a redaction or a deletion, and reports the copies that remain.

use std::collections::HashSet;
use std::path::PathBuf;

use serde_json::{Map, Value};
use tertulia_chat::History;
use tertulia_session::EntryKind;
use tertulia_store::{Range, Remains, SessionId, SessionStore};
use tertulia_team::file::Trust;

use super::{counted, print_note};
use crate::Streams;
use crate::error::Result;
use crate::store_location::{StoreLocation, home};

/// Shorter texts match many lines by chance.
const HISTORY_CHARACTERS_MIN: usize = 4;

#[derive(Default)]
pub(super) struct Leftovers {
    /// Places in which the database may still contain the texts after the last step.
    pub(super) remains: Vec<Remains>,
    removed_copies: Vec<PathBuf>,
    kept_copies: Vec<PathBuf>,
    history_lines: usize,
    history_failed: Option<String>,
    /// Number of removed copies of trusted files.
    seen_removed: usize,
}

impl Leftovers {
    /// Removes the copies that migrations left beside the store.
    pub(super) fn remove_copies(&mut self, store: &SessionStore) -> Result {
        let copies = store.remove_old_copies()?;
        self.removed_copies.extend(copies.removed);
        self.kept_copies = copies.kept;
        Ok(())
    }

    /// Removes the lines of the chat history that contain one of these texts.
    pub(super) fn forget_lines(&mut self, texts: &[String]) {
        let texts: Vec<&str> = texts.iter().map(|text| typed(text)).collect();
        let is_long = |text: &str| text.chars().count() >= HISTORY_CHARACTERS_MIN;
        self.forget_where(|line| {
            texts.iter().any(|text| typed(line) == *text || is_long(text) && line.contains(text))
        });
    }

    /// Removes a text that a person gave, however short, from the chat history and from copies of trusted files.
    pub(super) fn forget_text(&mut self, text: &str) {
        self.forget_where(|line| line.contains(text));
        if let Ok(home) = home() {
            self.seen_removed += Trust::forget_seen(&home, text);
        }
    }

    /// Removes the lines of the chat history that people typed in a session.
    pub(super) fn forget_session(&mut self, store: &SessionStore, session: &SessionId) -> Result {
        let mut said = HashSet::new();
        for stored in store.entries(session, &Range::All)? {
            // Only the entries before a damaged one can be used.
            let Ok(stored) = stored else { break };
            match &stored.entry.kind {
                EntryKind::Message(message) if message.is_from_human() => {
                    said.insert(typed(&message.text()).to_owned());
                }
                EntryKind::TeamTask(task) => {
                    said.extend(task.task.as_deref().map(|task| task.trim().to_owned()));
                }
                _ => {}
            }
        }
        said.remove("");
        self.forget_where(|line| said.contains(typed(line)));
        Ok(())
    }

    fn forget_where(&mut self, holds: impl Fn(&str) -> bool) {
        match History::forget(home().ok(), holds) {
            Ok(lines) => self.history_lines += lines,
            Err(error) => self.history_failed = Some(error.to_string()),
        }
    }

    pub(super) fn to_json(&self, location: &StoreLocation) -> Map<String, Value> {
        let paths = |paths: &[PathBuf]| -> Value {
            paths.iter().map(|path| path.display().to_string()).collect()
        };
        let fields = [
            ("remains", self.remains.iter().map(|one| one.as_str()).collect()),
            ("outOfReach", out_of_reach(location).into_iter().collect()),
            ("removedCopies", paths(&self.removed_copies)),
            ("keptCopies", paths(&self.kept_copies)),
            ("chatHistoryLines", self.history_lines.into()),
            ("trustedCopies", self.seen_removed.into()),
        ];
        let error = self.history_failed.as_deref().map(|error| ("chatHistoryError", error.into()));
        let fields = fields.into_iter().chain(error);
        fields.map(|(name, value)| (name.to_owned(), value)).collect()
    }

    pub(super) fn print(&self, location: &StoreLocation, streams: &mut Streams<'_>) {
        if self.history_lines > 0 {
            let lines = counted(self.history_lines as u64, "line", "lines");
            print_note(streams, &format!("removed {lines} from the chat history"));
        }
        if let Some(error) = &self.history_failed {
            let line = "the text is still in the chat history, which cannot be changed";
            print_note(streams, &format!("{line}: {error}"));
        }
        if self.seen_removed > 0 {
            let files = counted(self.seen_removed as u64, "copy", "copies");
            let line = "of trusted files; the next trust question shows these files in full";
            print_note(streams, &format!("removed {files} {line}"));
        }
        for copy in &self.removed_copies {
            print_note(
                streams,
                &format!("removed {}, a copy from before an update", copy.display()),
            );
        }
        for copy in &self.kept_copies {
            let copy = copy.display();
            print_note(
                streams,
                &format!(
                    "the text is still in {copy}, a copy from before an update; delete this file"
                ),
            );
        }
        for remains in &self.remains {
            print_note(streams, &format!("the text is still in {}", remains.describe()));
        }
        print_note(
            streams,
            &format!(
                "copies that Tertulia cannot remove may remain in: {}",
                out_of_reach(location).join("; ")
            ),
        );
    }
}

/// Returns what a person typed, without the addressees: `@max`, `/next max`, `/task`, `[TEAM_TASK: …]`.
fn typed(text: &str) -> &str {
    let text = text.trim();
    if let Some(task) = text.strip_prefix("[TEAM_TASK:").and_then(|task| task.strip_suffix(']')) {
        return task.trim();
    }
    let mut words = match text.split_once(char::is_whitespace) {
        Some(("/task", task)) => return task.trim(),
        Some(("/next", rest)) => {
            let rest = rest.trim_start();
            rest.split_once(char::is_whitespace).map_or(rest, |(_, words)| words.trim_start())
        }
        _ => text,
    };
    while let Some((name, rest)) = words.split_once(char::is_whitespace)
        && name.starts_with('@')
    {
        words = rest.trim_start();
    }
    words
}

fn out_of_reach(location: &StoreLocation) -> Vec<&'static str> {
    let mut copies = vec![
        "earlier backups and exports",
        "the agents' own session files, and requests already sent to models",
        "the team file, and a chat that is open now",
        "the terminal's scrollback",
    ];
    if location.is_server() {
        copies.push("the server's write-ahead log, replicas and backups");
    }
    copies
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_was_typed_is_known_however_it_was_addressed() {
        for line in ["look here", "@max look here", "@max @eva look here", "/next max look here"] {
            assert_eq!(typed(line), "look here", "{line}");
        }
        for line in ["/task rotate it", "[TEAM_TASK: rotate it]", " rotate it "] {
            assert_eq!(typed(line), "rotate it", "{line}");
        }
        assert_eq!(typed("@max"), "@max");
        assert_eq!(typed("/next max"), "max");
        assert_eq!(typed(""), "");
    }
}
