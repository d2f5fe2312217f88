//! Which `@` of a prompt may stay as they are although the agent's program expands them, and which are
//! left out: the files that a person attached, and words that name no file. Looks at the agent's folder;
//! what it finds is data, so that a prompt can be made the same once more.

use std::path::{Component, Path};

use super::neutral::{Reader, is_mention, reader_of};
use crate::AgentSpec;

/// What becomes of the `@` signs of one prompt, by their places in it.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Mentions {
    kept: Vec<usize>,
    dropped: Vec<usize>,
}

/// What a prompt is made of, as far as its `@` signs are concerned.
#[derive(Clone, Copy, Debug, Default)]
pub struct PromptText<'a> {
    pub text: &'a str,
    /// Where a person's own message begins in it, up to its end; `None` if a person did not write it.
    pub person_from: Option<usize>,
    pub names: &'a [&'a str],
}

impl Mentions {
    /// No exceptions: every `@` that a program could expand is escaped.
    pub const NONE: Self = Self { kept: Vec::new(), dropped: Vec::new() };

    /// [`Self::NONE`], to be borrowed.
    pub fn none() -> &'static Self {
        static NONE: Mentions = Mentions::NONE;
        &NONE
    }

    /// Looks at the prompt and at the folder that the agent works in.
    ///
    /// - In a person's message `@path` stays if it names a file or folder below the working folder: the
    ///   program attaches it.
    /// - A member's name loses its `@` where the program would take it for a file.
    /// - For Claude Code any other plain word (`@Override`) stays if nothing has that name: it expands only
    ///   what exists. Gemini CLI looks for similar names too.
    pub fn find(spec: &AgentSpec, prompt: &PromptText<'_>) -> Self {
        let exists = |path: &str| spec.cwd.join(path).symlink_metadata().is_ok();
        let is_inside = |path: &str| is_inside(&spec.cwd, path);
        Self::among(prompt, reader_of(spec), &exists, &is_inside)
    }

    pub(super) fn among(
        prompt: &PromptText<'_>,
        reader: Reader,
        exists: &dyn Fn(&str) -> bool,
        is_inside: &dyn Fn(&str) -> bool,
    ) -> Self {
        let mut found = Self::NONE;
        let text = prompt.text;
        for (at, _) in text.match_indices('@').filter(|(at, _)| is_mention(text, *at, reader)) {
            let after = text.get(at + 1..).unwrap_or_default();
            let is_start = starts_word(text.get(..at).unwrap_or_default());
            let is_member = |word: &str| is_start && is_name(word, prompt.names);
            // A program reads on to the next blank.
            let names_file = |word: &str| {
                let first = word.split(' ').next().unwrap_or_default();
                exists(named(word)) || exists(named(first))
            };
            let is_persons = prompt.person_from.is_some_and(|from| at >= from);
            let member = name_at(after, prompt.names).filter(|_| is_start);
            let word = run_of(after, is_word).filter(|word| !word.starts_with("agent-"));
            let word = member.or(word);
            let path = run_of(after, is_path).map(|path| path.trim_end_matches('.'));
            match (word, path) {
                (_, Some(path))
                    if is_persons && is_start && !is_member(path) && is_inside(path) =>
                {
                    found.kept.push(at);
                }
                (Some(word), _) if reader == Reader::Claude && !names_file(word) => {
                    found.kept.push(at);
                }
                (Some(word), _) if is_member(word) => found.dropped.push(at),
                _ => {}
            }
        }
        found
    }

    pub(super) fn keeps(&self, at: usize) -> bool {
        self.kept.binary_search(&at).is_ok()
    }

    pub(super) fn drops(&self, at: usize) -> bool {
        self.dropped.binary_search(&at).is_ok()
    }

    pub(crate) fn behind(&self, bytes: usize) -> Self {
        let moved = |places: &[usize]| places.iter().map(|at| at + bytes).collect();
        Self { kept: moved(&self.kept), dropped: moved(&self.dropped) }
    }
}

/// The letters at the start of a text that may be part of a word or a path, if nothing but punctuation
/// follows them up to the next blank: a program reads on to that blank.
fn run_of(text: &str, belongs: fn(char) -> bool) -> Option<&str> {
    let end = text.find(|letter| !belongs(letter)).unwrap_or(text.len());
    let (run, rest) = text.split_at_checked(end).filter(|(run, _)| !run.is_empty())?;
    is_punctuation(rest).then_some(run)
}

/// The longest of these names that the text begins with, if nothing but punctuation follows it up to the next
/// blank. Names may have blanks, dots and any letters.
fn name_at<'t>(text: &'t str, names: &[&str]) -> Option<&'t str> {
    let begins = |name: &str| {
        let (start, rest) = text.split_at_checked(name.len())?;
        (start.to_lowercase() == name.to_lowercase() && is_punctuation(rest)).then_some(start)
    };
    names.iter().filter_map(|name| begins(name)).max_by_key(|name| name.len())
}

fn is_punctuation(text: &str) -> bool {
    // Up to the first other letter: a text of a megabyte without blanks is not read for every `@` in it.
    let mut rest = text.chars().take_while(|letter| !matches!(letter, ' ' | '\t' | '\n' | '\r'));
    rest.all(|letter| ".,:;!?)]}'\"*_>".contains(letter))
}

fn is_word(letter: char) -> bool {
    letter.is_ascii_alphanumeric() || letter == '_' || letter == '-'
}

fn is_path(letter: char) -> bool {
    is_word(letter) || letter == '.' || letter == '/'
}

/// The part of a word that Claude Code takes for a path: up to its last letter, digit or `_`.
fn named(word: &str) -> &str {
    word.trim_end_matches('-')
}

fn starts_word(before: &str) -> bool {
    before.chars().next_back().is_none_or(|letter| !letter.is_alphanumeric() && letter != '_')
}

fn is_name(word: &str, names: &[&str]) -> bool {
    names.iter().any(|name| name.to_lowercase() == word.to_lowercase())
}

/// Whether this names something below the folder, without leaving it on the way.
fn is_inside(folder: &Path, path: &str) -> bool {
    let is_plain = |part: Component<'_>| matches!(part, Component::Normal(_) | Component::CurDir);
    let whole = folder.join(path);
    Path::new(path).components().all(is_plain)
        && match (whole.canonicalize(), folder.canonicalize()) {
            (Ok(real), Ok(folder)) => real.starts_with(&folder) && real != folder,
            _ => false,
        }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::process::neutral::{apply, edits};

    const NAMES: &[&str] = &["ann", "eva", "codex", "gpt-5.5", "安", "Max the Great"];

    /// What is sent of a text in which a person's message begins at `|`. There are the files `notes.md`,
    /// `src/a.rs` and `eva`.
    fn sent(marked: &str, reader: Reader) -> String {
        let text = marked.replace('|', "");
        let prompt = PromptText { text: &text, person_from: marked.find('|'), names: NAMES };
        let exists = |path: &str| ["notes.md", "src/a.rs", "src", "eva"].contains(&path);
        let mentions = Mentions::among(&prompt, reader, &exists, &exists);
        apply(&text, &edits(&text, reader, &mentions)).into_owned()
    }

    #[test]
    fn a_file_in_a_persons_message_is_attached_by_the_agents_own_syntax() {
        for reader in [Reader::Claude, Reader::Gemini] {
            assert_eq!(
                sent("|read @notes.md, then @src/a.rs.", reader),
                "read @notes.md, then @src/a.rs."
            );
        }
    }

    #[test]
    fn a_file_in_any_other_text_is_not_read() {
        for reader in [Reader::Claude, Reader::Gemini] {
            assert_eq!(sent("read @notes.md", reader), r"read \@notes.md");
            assert_eq!(sent("@notes.md\n|read @src/a.rs", reader), "\\@notes.md\nread @src/a.rs");
        }
    }

    #[test]
    fn a_person_attaches_only_what_is_there_and_can_be_named_plainly() {
        for reader in [Reader::Claude, Reader::Gemini] {
            assert_eq!(
                sent("|@gone.md @src/a.rs,@notes.md", reader),
                r"\@gone.md \@src/a.rs,@notes.md"
            );
        }
    }

    #[test]
    fn a_members_name_is_never_escaped() {
        assert_eq!(sent("@codex, agree? (@ann)", Reader::Claude), "@codex, agree? (@ann)");
        // A file has the name, or the program looks for similar ones.
        assert_eq!(sent("@eva, agree?", Reader::Claude), "eva, agree?");
        assert_eq!(
            sent("@codex, agree? (@Ann) **@eva**", Reader::Gemini),
            "codex, agree? (Ann) **eva**"
        );
        let strange = "@gpt-5.5: ask @安, or @Max the Great.";
        assert_eq!(sent(strange, Reader::Claude), strange);
        assert_eq!(sent(strange, Reader::Gemini), "gpt-5.5: ask 安, or Max the Great.");
    }

    #[test]
    fn a_decorator_stays_code_for_claude() {
        assert_eq!(sent("@dataclass\nclass A:", Reader::Claude), "@dataclass\nclass A:");
        assert_eq!(sent("@app.route(\"/\")", Reader::Claude), "\\@app.route(\"/\")");
        assert_eq!(
            sent("@agent-x and @server:thing", Reader::Claude),
            r"\@agent-x and \@server:thing"
        );
    }

    #[test]
    fn a_name_inside_an_address_is_no_member() {
        assert_eq!(sent("me@codex.org me@codex", Reader::Gemini), r"me\@codex.org me\@codex");
    }

    #[test]
    fn only_what_lies_below_the_folder_is_inside() {
        let folder = tempfile::tempdir().unwrap();
        std::fs::write(folder.path().join("a.md"), "a").unwrap();
        std::os::unix::fs::symlink("/etc", folder.path().join("out")).unwrap();
        for (path, expected) in [
            ("a.md", true),
            ("./a.md", true),
            ("b.md", false),
            ("../a.md", false),
            ("/etc/hosts", false),
            ("out/hosts", false),
            (".", false),
        ] {
            assert_eq!(is_inside(folder.path(), path), expected, "{path}");
        }
    }
}
