//! Takes the commands out of a prompt. Claude Code and Gemini CLI replace `@path` in a prompt by what is in
//! the file, and run a prompt that begins with `/` as one of their own commands. What members say to each
//! other must do neither. Pure; called by [`super::claude`] and [`super::gemini`].
//!
//! A backslash in front is all that is added: `@notes.md` becomes `\@notes.md`, `/compact` becomes
//! `\/compact`. Both programs then leave the text as it is, a person sees what it was, and so does a model.

use std::borrow::Cow;

/// Who reads the prompt.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Reader {
    /// It expands `@` at the start of a word, so `ann@example.org` stays as it is.
    Claude,
    /// It expands `@` anywhere, in an address too, and looks for files that are named alike.
    Gemini,
}

/// Gives the text with a backslash in front of what the reader would obey.
pub(super) fn neutralise(text: &str, reader: Reader) -> Cow<'_, str> {
    let first = text.len() - text.trim_start().len();
    let slash = text.get(first..).is_some_and(|rest| rest.starts_with('/')).then_some(first);
    let signs = text.match_indices('@').map(|(at, _)| at);
    let mentions = signs.filter(|at| is_mention(text, *at, reader));
    // The slash is before every mention: what stands in front of it is blank.
    let mut places = slash.into_iter().chain(mentions).peekable();
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

/// Whether the reader would look for a file at this `@`.
fn is_mention(text: &str, at: usize, reader: Reader) -> bool {
    let (before, after) = text.split_at(at);
    let previous = before.chars().next_back();
    let Some(next) = after.chars().nth(1) else { return false };
    let is_path = !next.is_whitespace() && !",;!?()[]{}".contains(next);
    let is_free = match (reader, previous) {
        (_, Some('\\')) => false,
        (Reader::Claude, Some(previous)) => !previous.is_alphanumeric() && previous != '_',
        (Reader::Claude, None) | (Reader::Gemini, _) => true,
    };
    is_path && is_free
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn check(text: &str, claude: &str, gemini: &str) {
        assert_eq!(neutralise(text, Reader::Claude), claude);
        assert_eq!(neutralise(text, Reader::Gemini), gemini);
    }

    fn both(text: &str, expected: &str) {
        check(text, expected, expected);
    }

    #[test]
    fn a_path_after_an_at_sign_is_no_longer_one() {
        both("please read @hello.txt now", r"please read \@hello.txt now");
        both("@a", r"\@a");
        both("see (@src/main.rs), \"@b\"", r#"see (\@src/main.rs), "\@b""#);
        both("@\"with blanks.txt\"", r#"\@"with blanks.txt""#);
        both("@~/x @/etc/passwd @é", r"\@~/x \@/etc/passwd \@é");
    }

    #[test]
    fn addresses_and_versions_stay_for_claude_and_stay_readable_for_gemini() {
        check("ann@example.org", "ann@example.org", r"ann\@example.org");
        check("npm i left@1.2", "npm i left@1.2", r"npm i left\@1.2");
    }

    #[test]
    fn a_lone_at_sign_and_one_that_is_escaped_stay() {
        both("3 @ 4, @", "3 @ 4, @");
        both(r"\@a and @, @)", r"\@a and @, @)");
    }

    #[test]
    fn decorators_and_patches_stay_readable() {
        both("@Override\nvoid f()", "\\@Override\nvoid f()");
        both("@@ -1,2 +1,2 @@", r"\@@ -1,2 +1,2 \@@");
    }

    #[test]
    fn a_slash_at_the_start_is_no_command() {
        both("/compact", r"\/compact");
        both("\n  /context now", "\n  \\/context now");
        both("see /compact", "see /compact");
        both("/a @b", r"\/a \@b");
    }

    #[test]
    fn what_needs_nothing_is_not_copied() {
        assert!(matches!(neutralise("plain", Reader::Gemini), Cow::Borrowed("plain")));
        assert!(matches!(neutralise("", Reader::Claude), Cow::Borrowed("")));
    }

    proptest! {
        #[test]
        fn only_backslashes_are_added_and_a_second_time_adds_none(
            text in r"([@/\\a. \n(é]|ab@c|@x){0,40}"
        ) {
            for reader in [Reader::Claude, Reader::Gemini] {
                let safe = neutralise(&text, reader).into_owned();
                prop_assert_eq!(safe.replace('\\', ""), text.replace('\\', ""));
                prop_assert_eq!(&neutralise(&safe, reader), &safe);
                for (at, _) in safe.match_indices('@') {
                    prop_assert!(!is_mention(&safe, at, reader));
                }
                prop_assert!(!safe.trim_start().starts_with('/'));
            }
        }
    }
}
