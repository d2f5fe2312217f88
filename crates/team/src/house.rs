//! Members of the house: they need no key, no network and no program. Called by the driver; each gives
//! a text.

mod librarian;
mod scribe;

use std::borrow::Cow;

use tertulia_context::parse_markers;

pub(crate) use librarian::look_up;
pub(crate) use scribe::{without_markers, write_minutes};

/// The words of others in the mouth of a house member must not route: names become code, and what is
/// left of markers loses its bracket.
fn quiet(text: &str) -> String {
    let mut quiet = String::with_capacity(text.len());
    for line in text.split_inclusive('\n') {
        quiet.push_str(&without_mentions(line));
    }
    let markers = parse_markers(&quiet);
    if markers.next.is_empty() && markers.drop.is_empty() {
        return quiet;
    }
    quiet.replace('[', "(")
}

fn without_mentions(line: &str) -> Cow<'_, str> {
    if !line.contains('@') {
        return Cow::Borrowed(line);
    }
    let mut text = String::with_capacity(line.len() + 8);
    for word in line.split_inclusive(char::is_whitespace) {
        let bare = word.trim_end();
        let blank = word.get(bare.len()..).unwrap_or_default();
        match mention_at(bare) {
            Some((before, name)) => {
                text.push_str(&format!("{before}`{}`{blank}", name.replace('`', "")));
            }
            None => text.push_str(word),
        }
    }
    Cow::Owned(text)
}

/// Where in a word somebody may be mentioned: what stands before that, and the rest. An address has a letter
/// or a digit before its `@`.
fn mention_at(word: &str) -> Option<(&str, &str)> {
    let is_mention = |at: usize| {
        let before = word.get(..at).and_then(|before| before.chars().next_back());
        before.is_none_or(|c| !c.is_alphanumeric()) && at + 1 < word.len()
    };
    let (at, _) = word.match_indices('@').find(|(at, _)| is_mention(*at))?;
    word.split_at_checked(at)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nothing_in_a_quiet_text_routes() {
        assert_eq!(quiet("- ask @max, or ann@max.com\n"), "- ask `@max,` or ann@max.com\n");
        assert_eq!(quiet("**@max** (@eva) x,@leo"), "**`@max**` (`@eva)` x,`@leo`");
        assert_eq!(quiet("call [NEXT: eva]"), "call (NEXT: eva]");
        assert_eq!(quiet("[a] plain [list]"), "[a] plain [list]");
    }
}
