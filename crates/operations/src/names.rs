//! The names of sessions and entries that people type, and the short forms that are shown to them. One function finds
//! a session and one finds an entry; every command uses these two. rpc accepts only complete ids.

mod entries;
mod sessions;

use tertulia_store::{SessionId, StoreError};

pub use entries::{find_entry, find_stored_entry, newest_message, own_newest_message};
pub use sessions::{
    Latest, elsewhere, exact_session, find_session, find_session_or_latest, is_latest,
    new_session_id, newest_team_session, refuse_latest,
};

const MATCHES_SHOWN: usize = 5;

type Named<T> = Result<T, NameError>;

/// An error of finding a session or an entry by its name.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum NameError {
    /// `location` is the location of the store.
    #[error("there are no sessions yet at {location}")]
    NoSessions { location: String },
    #[error("no session belongs to {project}")]
    NoSessionsHere { project: String },
    #[error("{}", no_team_session(.location, .folder, .elsewhere.as_deref()))]
    NoTeamSession { location: String, folder: String, elsewhere: Option<String> },
    #[error("there is no session {given}{}", did_you_mean(.nearest.as_deref()))]
    UnknownSession { given: String, nearest: Option<String> },
    #[error("Ambiguous ID \"{given}\"; matches: {matches}")]
    AmbiguousId { given: String, matches: String },
    /// The given name means the newest session, so no session may have it.
    #[error("{given} means the newest session; use another name")]
    NameOfLatest { given: String },
    #[error(
        "there is no entry {given} in {}{}",
        .session.as_ref().map_or("this session".to_owned(), |id| format!("session {id}")),
        did_you_mean(.nearest.as_deref())
    )]
    UnknownEntry { given: String, nearest: Option<String>, session: Option<SessionId> },
    #[error(transparent)]
    Store(#[from] StoreError),
}

impl NameError {
    /// Adds the session in which the search took place to the error.
    #[must_use]
    pub fn in_session(self, id: &SessionId) -> Self {
        match self {
            Self::UnknownEntry { given, nearest, .. } => {
                Self::UnknownEntry { given, nearest, session: Some(id.clone()) }
            }
            other => other,
        }
    }
}

fn did_you_mean(nearest: Option<&str>) -> String {
    nearest.map(|nearest| format!("; did you mean {nearest}?")).unwrap_or_default()
}

/// Returns the error text. A session of another folder is named in a form that every command accepts.
fn no_team_session(location: &str, folder: &str, elsewhere: Option<&str>) -> String {
    match elsewhere {
        Some(newest) => {
            format!("there is no session of {folder} in {location}; the newest one is {newest}")
        }
        None => format!("there is no session of {folder} to continue at {location}"),
    }
}

fn listed(matches: &[String]) -> String {
    let more = if matches.len() > MATCHES_SHOWN { ", …" } else { "" };
    matches.iter().take(MATCHES_SHOWN).cloned().collect::<Vec<_>>().join(", ") + more
}

const DIGITS: usize = 8;
const SHOWN_ENTRY: usize = DIGITS + 2;
/// The number of digits of an id that is derived from content.
const WHOLE: usize = 32;
const MADE: &str = "dddd-dd-dd-dddd-xxxxxxxx";
const TAIL: usize = MADE.len() - 8;

/// Returns a sentence with its long ids shortened.
pub fn short(text: &str) -> String {
    let mut shown = String::with_capacity(text.len());
    let mut rest = text;
    while let Some(position) = rest.find(|c: char| c == 'e' || c.is_ascii_digit()) {
        let (before, at) = rest.split_at(position);
        shown.push_str(before);
        let last = shown.chars().next_back();
        let (whole, kept) = match (entry_at(at, last), session_at(at, last)) {
            (Some(length), _) => (length, at.get(..SHOWN_ENTRY)),
            (None, true) => (MADE.len(), at.get(TAIL..MADE.len())),
            (None, false) => (1, at.get(..1)),
        };
        shown.push_str(kept.unwrap_or_default());
        rest = at.get(whole..).unwrap_or_default();
    }
    shown.push_str(rest);
    shown
}

/// Returns the short form of a session's id.
pub fn short_session(id: &SessionId) -> &str {
    let text = id.as_str();
    if is_made(text) { text.get(TAIL..).unwrap_or(text) } else { text }
}

/// Returns the length of the entry id at the start of a text, if there is one. `before` is the character before the
/// text.
fn entry_at(text: &str, before: Option<char>) -> Option<usize> {
    let digits = text.strip_prefix("e-")?.bytes().take_while(u8::is_ascii_hexdigit).count();
    let is_inside_a_word = before.is_some_and(char::is_alphanumeric);
    (digits == WHOLE && !is_inside_a_word).then_some(WHOLE + 2)
}

/// Returns whether a text begins with the id of a session. `before` is the character before the text. An id that is
/// only part of a word does not count.
fn session_at(text: &str, before: Option<char>) -> bool {
    let is_word = |c: char| c.is_alphanumeric() || matches!(c, '-' | '_' | '/' | '.' | ':');
    let is_whole = text.get(..MADE.len()).is_some_and(is_made);
    let mut after = text.get(MADE.len()..).unwrap_or_default().chars();
    let ends = match after.next() {
        Some('.' | ':') => after.next().is_none_or(|c| !is_word(c)),
        Some(c) => !is_word(c),
        None => true,
    };
    is_whole && ends && !before.is_some_and(is_word)
}

fn is_made(text: &str) -> bool {
    let fits = |(form, c): (u8, u8)| match form {
        b'd' => c.is_ascii_digit(),
        b'x' => c.is_ascii_digit() || c.is_ascii_lowercase(),
        form => c == form,
    };
    text.len() == MADE.len() && MADE.bytes().zip(text.bytes()).all(fits)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_whole_ids_are_cut() {
        let id = "e-f6320e2d19d89158e11d1f4b58fd28a7";
        assert_eq!(short(&format!("turn {id}: {id}")), "turn e-f6320e2d: e-f6320e2d");
        for other in ["e-text", "e-3f", "some-f6320e2d19d89158e11d1f4b58fd28a7", "", "e-", "安e-"]
        {
            assert_eq!(short(other), other);
        }
        assert_eq!(short(&format!("{id}0")), format!("{id}0"));
    }

    #[test]
    fn of_a_made_session_the_last_part_is_shown() {
        let id = "2026-11-16-1542-2ftj924w";
        let text = format!("session {id}; `tertulia chat --session {id}`. See {id}.");
        assert_eq!(
            short(&text),
            "session 2ftj924w; `tertulia chat --session 2ftj924w`. See 2ftj924w."
        );
        for other in
            ["/tmp/2026-11-16-1542-2ftj924w", "2026-11-16-1542-2ftj924w.jsonl", "2026-11-16"]
        {
            assert_eq!(short(other), other);
        }
        assert_eq!(short_session(&id.parse::<SessionId>().unwrap()), "2ftj924w");
        assert_eq!(short_session(&"login-page".parse::<SessionId>().unwrap()), "login-page");
    }
}
