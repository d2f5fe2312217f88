//! Takes the commands out of a prompt. Claude Code and Gemini CLI replace `@path` in a prompt by what is in
//! the file, and run a prompt that begins with `/` as one of their own commands; so do agents of the Agent
//! Client Protocol. What members say to each other must do neither. Pure; called by [`super::claude`],
//! [`super::gemini`] and `acp`.
//!
//! A backslash in front is all that is added: `@notes.md` becomes `\@notes.md`, `/compact` becomes
//! `\/compact`. The programs then leave the text as it is, a person sees what it was, and so does a model.
//! What a path may begin with is theirs to say and another thing in each, so nothing is guessed: an `@` stays
//! only where none of them can read on. Their rules stand in the tests.

use std::borrow::Cow;

/// Who reads the prompt.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Reader {
    /// It expands `@` at the start of a word, so `ann@example.org` stays as it is.
    Claude,
    /// It expands `@` anywhere, in an address too, and looks for files that are named alike.
    Gemini,
    /// An agent of the Agent Client Protocol: files are parts of their own there, so `@` is text. One that
    /// begins with `/` or, for Gemini CLI, with `$` is a command.
    Acp,
}

/// Gives the text with a backslash in front of what the reader would obey.
pub(crate) fn neutralise(text: &str, reader: Reader) -> Cow<'_, str> {
    let command = command_at(text, reader);
    let signs = text.match_indices('@').map(|(at, _)| at);
    let mentions = signs.filter(|at| is_mention(text, *at, reader));
    // The command is before every mention: what stands in front of it is blank.
    let mut places = command.into_iter().chain(mentions).peekable();
    if places.peek().is_none() {
        return Cow::Borrowed(text);
    }
    let mut safe = String::with_capacity(text.len() + 64);
    let mut from = 0;
    for at in places {
        safe.push_str(text.get(from..at).unwrap_or_default());
        safe.push('\\');
        from = at;
    }
    safe.push_str(text.get(from..).unwrap_or_default());
    Cow::Owned(safe)
}

/// Where a command begins. The programs trim the text before they look, and each takes other letters for
/// blank than we do: all that cannot be seen is passed over.
fn command_at(text: &str, reader: Reader) -> Option<usize> {
    let is_blank =
        |letter: char| letter.is_whitespace() || letter.is_control() || letter == '\u{feff}';
    let first = text.trim_start_matches(is_blank);
    let is_command = first.starts_with('/') || (reader == Reader::Acp && first.starts_with('$'));
    is_command.then_some(text.len() - first.len())
}

/// Whether the reader may look for a file at this `@`.
fn is_mention(text: &str, at: usize, reader: Reader) -> bool {
    let (before, after) = text.split_at(at);
    let previous = before.chars().next_back();
    let Some(next) = after.chars().nth(1) else { return false };
    // Other blanks, brackets and commas are the beginning of a path in one program or the other.
    let goes_on = !matches!(next, ' ' | '\t' | '\r' | '\n');
    let is_free = match (reader, previous) {
        (Reader::Acp, _) | (_, Some('\\')) => false,
        (Reader::Claude, Some(previous)) => !previous.is_alphanumeric() && previous != '_',
        (Reader::Claude, None) | (Reader::Gemini, _) => true,
    };
    goes_on && is_free
}

#[cfg(test)]
mod tests;
