//! The title that a person gives a session. It is stored in the log as a setting. So it is part of exports, backups
//! and branches, but of no prompt. The ids of title entries are numbered (`title-1`, `title-2`, …). So the newest
//! title is found by its id, however long the session is.

use tertulia_session::{Entry, EntryId, EntryKind, NewEntry, Setting, Timestamp};

use crate::clock::now_millis;
use crate::model::Append;
use crate::salting::fresh_salt;
use crate::{Problem, Result, SessionId, SessionStore, StoreError};

const CHARACTERS_MAX: usize = 80;
const NUMBERS_MAX: u64 = 10_000;

/// A text that is not a valid title.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum InvalidTitle {
    #[error("the title has {characters} characters; use at most {CHARACTERS_MAX}")]
    TooLong { characters: usize },
    #[error("a title must be one line without control characters")]
    NotOneLine,
}

/// Trims and validates a title.
fn checked(title: &str) -> Result<&str, InvalidTitle> {
    let title = title.trim();
    let characters = title.chars().count();
    if characters > CHARACTERS_MAX {
        return Err(InvalidTitle::TooLong { characters });
    }
    if title.chars().any(char::is_control) {
        return Err(InvalidTitle::NotOneLine);
    }
    Ok(title)
}

/// Returns the first line of a text, as the title of a session without one.
pub(crate) fn first_line(text: &str) -> String {
    let line = text.lines().map(str::trim).find(|line| !line.is_empty()).unwrap_or_default();
    let mut characters = line.chars();
    let mut title: String = characters.by_ref().take(CHARACTERS_MAX).collect();
    if characters.next().is_some() {
        title.push('…');
    }
    title
}

/// Creates the entry that sets the title; an empty title removes an earlier one.
fn entry(number: u64, title: &str, parent: Option<&EntryId>, now: Timestamp) -> Entry {
    let kind = EntryKind::SessionSetting(Setting::Title { title: title.into() }.into());
    let new = NewEntry { parent_id: parent.cloned(), ..NewEntry::new(kind).at(now) };
    new.salted(fresh_salt()).with_id(id(number))
}

impl SessionStore {
    /// Returns the title that a person set.
    pub fn own_title(&self, id: &SessionId) -> Result<Option<String>> {
        let (title, _) = self.newest_title(id)?;
        Ok(title.filter(|title| !title.is_empty()))
    }

    /// Sets the title of a session; an empty title removes it. The title is an entry of the log.
    pub fn rename(&self, id: &SessionId, title: &str) -> Result<()> {
        let title = checked(title)?;
        let now = Timestamp::from_millis(now_millis());
        loop {
            let (current, number) = self.newest_title(id)?;
            if current.as_deref().unwrap_or_default() == title {
                return Ok(());
            }
            let make =
                |tail: Option<&EntryId>| Append::new([entry(number, title, tail, now.clone())]);
            match self.append_to_tail(id, make) {
                // Somebody else set a title meanwhile.
                Err(StoreError::SessionWriteFailed {
                    problem: Problem::OtherContent(_), ..
                }) => {}
                renamed => return renamed.map(drop),
            }
        }
    }

    /// Returns the current title, and the number of the next title entry.
    fn newest_title(&self, session: &SessionId) -> Result<(Option<String>, u64)> {
        let mut title = None;
        for number in 1..NUMBERS_MAX {
            let Some(seq) = self.backend.find(session, &id(number))? else {
                return Ok((title, number));
            };
            let row = self.backend.rows(session, seq - 1, 1)?.into_iter().next();
            let entry = row.and_then(|row| row.decode().ok());
            // An entry of another kind, or a redacted one, has no title.
            if let Some(Setting::Title { title: given }) =
                entry.as_ref().and_then(|stored| stored.entry.kind.setting())
            {
                title = Some(given.to_string());
            }
        }
        Ok((title, NUMBERS_MAX))
    }
}

fn id(number: u64) -> EntryId {
    EntryId::from(format!("title-{number}").as_str())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_title_is_one_short_line() {
        assert_eq!(checked("  Log in "), Ok("Log in"));
        assert_eq!(checked("a\nb"), Err(InvalidTitle::NotOneLine));
        assert_eq!(checked("\u{1b}[2J"), Err(InvalidTitle::NotOneLine));
        assert_eq!(checked(&"é".repeat(80)).map(str::len), Ok(160));
        assert_eq!(checked(&"x".repeat(81)), Err(InvalidTitle::TooLong { characters: 81 }));
    }
}
