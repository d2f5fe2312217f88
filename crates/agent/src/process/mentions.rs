//! Decides which `@` of a prompt stay although the agent's program expands them, and which are removed.
//! [`Mentions::find`] lists the rules. This module reads the agent's folder. Its result is data, so that the same
//! prompt can be built again.

use std::path::{Component, Path};

use super::escape::{PromptSyntax, is_mention, prompt_syntax};
use crate::AgentSpec;

/// How to treat the `@` signs of one prompt, by their byte offsets.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Mentions {
    kept: Vec<usize>,
    dropped: Vec<usize>,
}

/// A prompt, with the data that is needed to treat its `@` signs.
#[derive(Clone, Copy, Debug, Default)]
pub struct PromptText<'a> {
    pub text: &'a str,
    /// Offset at which a person's own message begins; it extends to the end. `None` if no person
    /// wrote it.
    pub person_from: Option<usize>,
    pub names: &'a [&'a str],
}

impl Mentions {
    /// No exceptions: every `@` that a program can expand is escaped.
    pub const NONE: Self = Self { kept: Vec::new(), dropped: Vec::new() };

    /// Returns a reference to [`Self::NONE`].
    pub fn none() -> &'static Self {
        static NONE: Mentions = Mentions::NONE;
        &NONE
    }

    /// Checks the prompt and the folder that the agent works in.
    ///
    /// - In a person's message `@path` stays if it names a file or folder below the working folder: the
    ///   program attaches it.
    /// - A member's name loses its `@` where the program would take it for a file.
    /// - For Claude Code any other plain word (`@Override`) stays if nothing has that name: it expands only
    ///   what exists. Gemini CLI looks for similar names too.
    pub fn find(spec: &AgentSpec, prompt: &PromptText<'_>) -> Self {
        let exists = |path: &str| spec.cwd.join(path).symlink_metadata().is_ok();
        let is_inside = |path: &str| is_inside(&spec.cwd, path);
        Self::find_with(prompt, prompt_syntax(spec), &exists, &is_inside)
    }

    pub(super) fn find_with(
        prompt: &PromptText<'_>,
        syntax: PromptSyntax,
        exists: &dyn Fn(&str) -> bool,
        is_inside: &dyn Fn(&str) -> bool,
    ) -> Self {
        let mut found = Self::NONE;
        let text = prompt.text;
        for (at, _) in text.match_indices('@').filter(|(at, _)| is_mention(text, *at, syntax)) {
            let after = text.get(at + 1..).unwrap_or_default();
            let is_start = starts_word(text.get(..at).unwrap_or_default());
            let is_member = |word: &str| is_start && is_name(word, prompt.names);
            // The program reads the path up to the next space.
            let names_file = |word: &str| {
                let first = word.split(' ').next().unwrap_or_default();
                exists(path_part(word)) || exists(path_part(first))
            };
            let is_persons = prompt.person_from.is_some_and(|from| at >= from);
            let member = name_at(after, prompt.names).filter(|_| is_start);
            let word = leading_run(after, is_word).filter(|word| !word.starts_with("agent-"));
            let word = member.or(word);
            let path = leading_run(after, is_path).map(|path| path.trim_end_matches('.'));
            match (word, path) {
                (_, Some(path))
                    if is_persons && is_start && !is_member(path) && is_inside(path) =>
                {
                    found.kept.push(at);
                }
                (Some(word), _) if syntax == PromptSyntax::Claude && !names_file(word) => {
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

    pub(crate) fn shifted_by(&self, bytes: usize) -> Self {
        let moved = |offsets: &[usize]| offsets.iter().map(|at| at + bytes).collect();
        Self { kept: moved(&self.kept), dropped: moved(&self.dropped) }
    }
}

/// Returns the leading characters of a text that may be part of a word or a path. Only punctuation may follow them up
/// to the next space, because the program reads up to that space.
fn leading_run(text: &str, belongs: fn(char) -> bool) -> Option<&str> {
    let end = text.find(|letter| !belongs(letter)).unwrap_or(text.len());
    let (run, rest) = text.split_at_checked(end).filter(|(run, _)| !run.is_empty())?;
    is_punctuation(rest).then_some(run)
}

/// Returns the longest of these names with which the text begins. Only punctuation may follow it up to the next
/// space. Names may contain spaces, dots and any letters.
fn name_at<'t>(text: &'t str, names: &[&str]) -> Option<&'t str> {
    let begins = |name: &str| {
        let (start, rest) = text.split_at_checked(name.len())?;
        (start.to_lowercase() == name.to_lowercase() && is_punctuation(rest)).then_some(start)
    };
    names.iter().filter_map(|name| begins(name)).max_by_key(|name| name.len())
}

fn is_punctuation(text: &str) -> bool {
    // Stops at the first character that is no punctuation, so that a megabyte without spaces is not read again for
    // every `@`.
    let mut rest = text.chars().take_while(|letter| !matches!(letter, ' ' | '\t' | '\n' | '\r'));
    rest.all(|letter| ".,:;!?)]}'\"*_>".contains(letter))
}

fn is_word(letter: char) -> bool {
    letter.is_ascii_alphanumeric() || letter == '_' || letter == '-'
}

fn is_path(letter: char) -> bool {
    is_word(letter) || letter == '.' || letter == '/'
}

/// Returns the part of a word that Claude Code reads as a path: up to its last letter, digit or
/// `_`.
fn path_part(word: &str) -> &str {
    word.trim_end_matches('-')
}

fn starts_word(before: &str) -> bool {
    before.chars().next_back().is_none_or(|letter| !letter.is_alphanumeric() && letter != '_')
}

fn is_name(word: &str, names: &[&str]) -> bool {
    names.iter().any(|name| name.to_lowercase() == word.to_lowercase())
}

/// Returns whether the path names something below the folder and never leads out of it.
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
    use crate::process::escape::{apply, edits};

    const NAMES: &[&str] = &["ann", "eva", "codex", "gpt-5.5", "安", "Max the Great"];

    /// Returns the text as it is sent. A `|` in the input marks the beginning of a person's message. The files
    /// `notes.md`, `src/a.rs` and `eva` exist.
    fn sent(marked: &str, syntax: PromptSyntax) -> String {
        let text = marked.replace('|', "");
        let prompt = PromptText { text: &text, person_from: marked.find('|'), names: NAMES };
        let exists = |path: &str| ["notes.md", "src/a.rs", "src", "eva"].contains(&path);
        let mentions = Mentions::find_with(&prompt, syntax, &exists, &exists);
        apply(&text, &edits(&text, syntax, &mentions)).into_owned()
    }

    #[test]
    fn a_file_in_a_persons_message_is_attached_by_the_agents_own_syntax() {
        for syntax in [PromptSyntax::Claude, PromptSyntax::Gemini] {
            assert_eq!(
                sent("|read @notes.md, then @src/a.rs.", syntax),
                "read @notes.md, then @src/a.rs."
            );
        }
    }

    #[test]
    fn a_file_in_any_other_text_is_not_read() {
        for syntax in [PromptSyntax::Claude, PromptSyntax::Gemini] {
            assert_eq!(sent("read @notes.md", syntax), r"read \@notes.md");
            assert_eq!(sent("@notes.md\n|read @src/a.rs", syntax), "\\@notes.md\nread @src/a.rs");
        }
    }

    #[test]
    fn a_person_attaches_only_what_is_there_and_can_be_named_plainly() {
        for syntax in [PromptSyntax::Claude, PromptSyntax::Gemini] {
            assert_eq!(
                sent("|@gone.md @src/a.rs,@notes.md", syntax),
                r"\@gone.md \@src/a.rs,@notes.md"
            );
        }
    }

    #[test]
    fn a_members_name_is_never_escaped() {
        assert_eq!(sent("@codex, agree? (@ann)", PromptSyntax::Claude), "@codex, agree? (@ann)");
        // A file has this name, or the program searches for similar names.
        assert_eq!(sent("@eva, agree?", PromptSyntax::Claude), "eva, agree?");
        assert_eq!(
            sent("@codex, agree? (@Ann) **@eva**", PromptSyntax::Gemini),
            "codex, agree? (Ann) **eva**"
        );
        let strange = "@gpt-5.5: ask @安, or @Max the Great.";
        assert_eq!(sent(strange, PromptSyntax::Claude), strange);
        assert_eq!(sent(strange, PromptSyntax::Gemini), "gpt-5.5: ask 安, or Max the Great.");
    }

    #[test]
    fn a_decorator_stays_code_for_claude() {
        assert_eq!(sent("@dataclass\nclass A:", PromptSyntax::Claude), "@dataclass\nclass A:");
        assert_eq!(sent("@app.route(\"/\")", PromptSyntax::Claude), "\\@app.route(\"/\")");
        assert_eq!(
            sent("@agent-x and @server:thing", PromptSyntax::Claude),
            r"\@agent-x and \@server:thing"
        );
    }

    #[test]
    fn a_name_inside_an_address_is_no_member() {
        assert_eq!(sent("me@codex.org me@codex", PromptSyntax::Gemini), r"me\@codex.org me\@codex");
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
