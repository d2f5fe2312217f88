//! Examples, compared with the rules of the agents' programs.

use proptest::prelude::*;

use super::*;

/// Returns the text as it is sent if no members and no files are known.
fn neutralise(text: &str, syntax: PromptSyntax) -> Cow<'_, str> {
    apply(text, &edits(text, syntax, &Mentions::NONE))
}

/// What Claude Code 2.1.325 and Gemini CLI 0.61.0 do with a prompt, taken from the programs.
mod programs {
    /// `\s` of JavaScript, which `trim` removes too.
    fn is_space(letter: char) -> bool {
        matches!(
            letter,
            '\t'..='\r' | ' ' | '\u{a0}' | '\u{1680}' | '\u{2000}'..='\u{200a}' | '\u{2028}' | '\u{2029}'
                | '\u{202f}' | '\u{205f}' | '\u{3000}' | '\u{feff}'
        )
    }

    /// `\w` of JavaScript.
    fn is_word(letter: Option<&char>) -> bool {
        letter.is_some_and(|letter| letter.is_ascii_alphanumeric() || *letter == '_')
    }

    /// A word also begins after one of these characters.
    const STOPS: &str = "。、？！";

    /// `/(^|[\s。、？！])@"([^"]+)"/`, and in each `/[^\s]+/` the first `@` at its start or after a
    /// stop, with everything up to the last `\b`, if not empty.
    pub(super) fn claude_reads_a_file(text: &str) -> bool {
        !claude_files(text).is_empty()
    }

    /// Returns the files that it looks for.
    pub(super) fn claude_files(text: &str) -> Vec<String> {
        let letters: Vec<char> = text.chars().collect();
        let begins = |at: usize| {
            let before = at.checked_sub(1).map(|before| letters[before]);
            before.is_none_or(|before| is_space(before) || STOPS.contains(before))
        };
        let quoted = |at: usize| {
            let quoted = letters[at..].strip_prefix(&['@', '"']).filter(|_| begins(at))?;
            let end = quoted.iter().position(|letter| *letter == '"').filter(|end| *end > 0)?;
            Some(quoted[..end].iter().collect())
        };
        let named = letters.split(|it| is_space(*it)).filter_map(named);
        (0..letters.len()).filter_map(quoted).chain(named).collect()
    }

    fn named(word: &[char]) -> Option<String> {
        let is_start = |at: &usize| *at == 0 || STOPS.contains(word[at - 1]);
        let at = (0..word.len()).filter(|at| word[*at] == '@').find(is_start)?;
        let is_edge = |end: &usize| is_word(word.get(end - 1)) != is_word(word.get(*end));
        let end = (at + 2..=word.len()).rev().find(is_edge)?;
        Some(word[at + 1..end].iter().collect())
    }

    /// `/(?<!\\)@(?:"[^"]*"|\\.|[^ \t\n\r,;!?()\[\]{}.]|\.(?!$|[ \t\n\r]))+/`. Its first piece decides.
    pub(super) fn gemini_reads_a_file(text: &str) -> bool {
        text.match_indices('@').any(|(at, _)| {
            let mut rest = text[at + 1..].chars();
            let is_path = match rest.next() {
                None => false,
                Some('.') => rest.next().is_some_and(|next| !" \t\n\r".contains(next)),
                Some(next) => !" \t\n\r,;!?()[]{}".contains(next),
            };
            is_path && !text[..at].ends_with('\\')
        })
    }

    /// `trim().startsWith("/")`, as in both programs. `signs` also contains `$` for Gemini's ACP mode.
    pub(super) fn is_command(text: &str, signs: &str) -> bool {
        text.trim_start_matches(is_space).starts_with(|first| signs.contains(first))
    }
}

fn check(text: &str, claude: &str, gemini: &str) {
    assert_eq!(neutralise(text, PromptSyntax::Claude), claude);
    assert_eq!(neutralise(text, PromptSyntax::Gemini), gemini);
}

fn both(text: &str, expected: &str) {
    check(text, expected, expected);
}

#[test]
fn a_path_after_an_at_sign_is_no_longer_one() {
    both("please read @hello.txt now", r"please read \@hello.txt now");
    both("@a", r"\@a");
    both("see (@src/main.rs), \"@b\"", r#"see (\@src/main.rs), "\@b""#);
    both("@\"with spaces.txt\"", r#"\@"with spaces.txt""#);
    both("@~/x @/etc/passwd @é", r"\@~/x \@/etc/passwd \@é");
}

#[test]
fn a_path_may_begin_with_any_sign() {
    both("@(/../secret.txt", r"\@(/../secret.txt");
    both("@(group)/layout.tsx, @{x}", r"\@(group)/layout.tsx, \@{x}");
    both("@, @) @; @.", r"\@, \@) \@; \@.");
    both("@[id]/page.tsx @!x @?x", r"\@[id]/page.tsx \@!x \@?x");
}

#[test]
fn only_the_whitespace_that_all_agree_on_ends_an_at_sign() {
    for blank in ['\u{85}', '\u{a0}', '\u{3000}', '\u{b}', '\u{c}', '\u{2028}', '\u{feff}'] {
        both(&format!("@{blank}/../secret.txt"), &format!("\\@{blank}/../secret.txt"));
    }
    both("@ a @\ta @\na @\r\na @", "@ a @\ta @\na @\r\na @");
}

#[test]
fn a_word_begins_behind_any_blank_and_any_stop() {
    for before in ["\u{feff}", "\u{85}", "\u{3000}", "。", "、", "？", "！", "«"] {
        both(&format!("a{before}@b"), &format!("a{before}\\@b"));
    }
}

#[test]
fn addresses_and_versions_stay_for_claude_and_stay_readable_for_gemini() {
    check("ann@example.org", "ann@example.org", r"ann\@example.org");
    check("npm i left@1.2", "npm i left@1.2", r"npm i left\@1.2");
}

#[test]
fn a_lone_at_sign_and_one_that_is_escaped_stay() {
    both("3 @ 4, @", "3 @ 4, @");
    both(r"\@a and \@(x", r"\@a and \@(x");
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
    both("\u{feff}/context", "\u{feff}\\/context");
    both("see /compact", "see /compact");
    both("/a @b", r"\/a \@b");
    both("$5 each", "$5 each");
}

#[test]
fn an_acp_agent_gets_no_command_and_keeps_its_at_signs() {
    let acp = |text: &'static str| neutralise(text, PromptSyntax::Acp);
    assert_eq!(acp("/memory show @a"), r"\/memory show @a");
    assert_eq!(acp(" \u{feff}\n/help"), " \u{feff}\n\\/help");
    assert_eq!(acp("$memory show"), r"\$memory show");
    assert_eq!(acp("read @a, pay $5 /now"), "read @a, pay $5 /now");
}

#[test]
fn what_needs_nothing_is_not_copied() {
    assert!(matches!(neutralise("plain", PromptSyntax::Gemini), Cow::Borrowed("plain")));
    assert!(matches!(neutralise("", PromptSyntax::Claude), Cow::Borrowed("")));
}

#[test]
fn the_rules_of_the_programs_know_what_they_expand() {
    for text in ["@a", "x @(/../a", "@\u{85}/../a", "。@a", "@\"a b\"", "\u{feff}@a", "@(group)/a"]
    {
        assert!(programs::claude_reads_a_file(text), "{text:?}");
    }
    for text in ["a@b", r"\@a", "@ a", "@(", "@\u{a0}a", "@"] {
        assert!(!programs::claude_reads_a_file(text), "{text:?}");
    }
    for text in ["@a", "a@b", "@\u{a0}/../a", "@\u{85}", "@\"\"", "@.a", "@\\ a"] {
        assert!(programs::gemini_reads_a_file(text), "{text:?}");
    }
    for text in [r"\@a", "@ a", "@(a", "@. ", "@.", "@"] {
        assert!(!programs::gemini_reads_a_file(text), "{text:?}");
    }
}

proptest! {
    #[test]
    fn no_program_finds_anything_to_obey_and_only_backslashes_are_added(
        text in "([@/$\\\\a_. \t\r\n(){},;!?\"é。？\u{b}\u{85}\u{a0}\u{3000}\u{feff}]|ab@c|@x){0,40}"
    ) {
        for syntax in [PromptSyntax::Claude, PromptSyntax::Gemini, PromptSyntax::Acp, PromptSyntax::Commands] {
            let safe = neutralise(&text, syntax).into_owned();
            prop_assert_eq!(safe.replace('\\', ""), text.replace('\\', ""));
            prop_assert_eq!(&neutralise(&safe, syntax), &safe);
            match syntax {
                PromptSyntax::Claude => prop_assert!(!programs::claude_reads_a_file(&safe), "{}", safe),
                PromptSyntax::Gemini => prop_assert!(!programs::gemini_reads_a_file(&safe), "{}", safe),
                PromptSyntax::Acp => prop_assert!(!programs::is_command(&safe, "$"), "{}", safe),
                PromptSyntax::Commands | PromptSyntax::Plain => {}
            }
            prop_assert!(!programs::is_command(&safe, "/"), "{}", safe);
        }
    }

    #[test]
    fn what_members_say_reads_no_file_whatever_is_kept_of_it(
        text in "([@/a_. \n(),:!?\"é。-]|ab@c|@x|@ab|@agent-a|@eva|\\*\\*@ab\\*\\*){0,30}"
    ) {
        use crate::process::mentions::{Mentions, PromptText};
        const FILES: [&str; 5] = ["a", "ab", "a/b", "x.a", "agent-a"];
        let exists = |path: &str| FILES.contains(&path);
        let prompt = PromptText { text: &text, person_from: None, names: &["ab", "eva"] };
        for syntax in [PromptSyntax::Claude, PromptSyntax::Gemini] {
            let mentions = Mentions::find_with(&prompt, syntax, &exists, &exists);
            let safe = apply(&text, &edits(&text, syntax, &mentions)).into_owned();
            match syntax {
                PromptSyntax::Claude => {
                    let read = programs::claude_files(&safe);
                    let found = read.iter().any(|path| exists(path) || path.starts_with("agent-"));
                    prop_assert!(!found, "{safe:?}: {read:?}");
                }
                _ => prop_assert!(!programs::gemini_reads_a_file(&safe), "{safe:?}"),
            }
            prop_assert!(!programs::is_command(&safe, "/"), "{}", safe);
        }
    }
}
