//! Ids as people can read and type them: long ones are cut short. Every command takes a unique prefix of
//! an entry's id and the last part of a session's id, so a short one can be typed back. Pure.

use tertulia_store::SessionId;

/// So many digits of an entry's id are shown.
const DIGITS: usize = 8;
/// So many characters of it are shown.
pub(super) const SHOWN_ENTRY: usize = DIGITS + 2;
/// So many digits has an id that follows from content.
const WHOLE: usize = 32;
/// The form of a session's id that the store made; the last part is shown.
const MADE: &str = "dddd-dd-dd-dddd-xxxxxxxx";
const TAIL: usize = MADE.len() - 8;

/// A sentence with its long ids cut short.
pub fn short(text: &str) -> String {
    let mut shown = String::with_capacity(text.len());
    let mut rest = text;
    while let Some(place) = rest.find(|c: char| c == 'e' || c.is_ascii_digit()) {
        let (before, at) = rest.split_at(place);
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

/// The form of a session's id that is shown.
pub fn short_session(id: &SessionId) -> &str {
    let text = id.as_str();
    match is_made(text) {
        true => text.get(TAIL..).unwrap_or(text),
        false => text,
    }
}

/// The length of the entry's id that a text begins with, if it does, behind this character.
fn entry_at(text: &str, before: Option<char>) -> Option<usize> {
    let digits = text.strip_prefix("e-")?.bytes().take_while(u8::is_ascii_hexdigit).count();
    let is_inside_a_word = before.is_some_and(char::is_alphanumeric);
    (digits == WHOLE && !is_inside_a_word).then_some(WHOLE + 2)
}

/// Whether a text begins with the id of a session, behind this character. A path or another word that only
/// holds one stays whole.
fn session_at(text: &str, before: Option<char>) -> bool {
    let is_word = |c: char| c.is_alphanumeric() || matches!(c, '-' | '_' | '/' | '.' | ':');
    let is_whole = text.get(..MADE.len()).is_some_and(is_made);
    let mut after = text.get(MADE.len()..).unwrap_or_default().chars();
    let ends = match after.next() {
        // The end of a sentence.
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
        for other in ["e-mail", "e-3f", "some-f6320e2d19d89158e11d1f4b58fd28a7", "", "e-", "安e-"]
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
