//! Which files a command may change.

/// The files that a command may change.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Reach {
    Nothing,
    /// The files that the command names.
    Named,
    All,
}

/// Commands of git that replace the content of files.
#[rustfmt::skip]
const GIT_WRITERS: [&str; 14] = [
    "am", "apply", "checkout", "cherry-pick", "clean", "merge", "pull", "rebase", "reset", "restore", "revert", "stash",
    "submodule", "switch",
];

/// Words in commands that change the files they name.
#[rustfmt::skip]
const WRITERS: [&str; 21] = [
    "sed -i", "sed -E -i", "sed -Ei", "perl -i", "perl -pi", ">", "tee ", "mv ", "cp ", "rm ", "patch ", "truncate ",
    "python", "node ", "ruby ", " -w ", "--write", "--fix", "black ", "apply_patch", "unlink ",
];

/// Commands that rewrite all files of a project, unless files are named.
#[rustfmt::skip]
const FORMATTERS: [&str; 12] = [
    "cargo fmt", "cargo fix", "rustfmt", "go fmt", "gofmt -w", "--fix", "--write", "black ", "ruff format", "isort ",
    " format", " fmt",
];

/// Words with which a command can change files that it does not name.
const WIDE: [&str; 6] = ["*", "xargs", "find ", "for ", "while ", " -r"];

/// Returns which files a command may change.
pub(super) fn reach(command: &str) -> Reach {
    let mut bare = unquoted(command);
    if bare.split([';', '|', '&', '\n', '(', '`']).any(moves_tree) {
        return Reach::All;
    }
    for harmless in ["2>&1", "2>/dev/null", ">/dev/null", "> /dev/null", "->", "=>"] {
        bare = bare.replace(harmless, "");
    }
    let has = |words: &[&str]| words.iter().any(|word| bare.contains(word));
    let names_file = || {
        let mut words = bare.split_whitespace().map(|word| word.trim_matches(['\'', '"', ';']));
        words.any(|word| {
            let end = word.rsplit_once('.').map(|(_, end)| end);
            !word.starts_with('-') && end.is_some_and(|end| !end.is_empty() && !end.contains('/'))
        })
    };
    let is_checked = ["--check", "--diff", "--format", "--list-different"];
    if has(&FORMATTERS) && !has(&is_checked) && (bare.contains("rustfmt") || !names_file()) {
        return Reach::All;
    }
    match has(&WRITERS) {
        true if has(&WIDE) => Reach::All,
        true => Reach::Named,
        false => Reach::Nothing,
    }
}

/// Returns the command without quoted texts and here-documents, such as a commit message, because these may contain
/// anything.
fn unquoted(command: &str) -> String {
    let mut bare = String::with_capacity(command.len());
    let (mut quote, mut end) = (None, None);
    for line in command.split_inclusive('\n') {
        if let Some(word) = end {
            end = (line.trim() != word).then_some(word);
            continue;
        }
        let from = bare.len();
        for letter in line.chars() {
            match quote {
                Some(open) if open == letter => quote = None,
                Some(_) => {}
                None if matches!(letter, '\'' | '"') => quote = Some(letter),
                None => bare.push(letter),
            }
        }
        let is_given = bare.get(from..).is_some_and(|line| line.contains("<<"));
        let word = line.split_once("<<").filter(|_| is_given && quote.is_none());
        let word = word.and_then(|(_, rest)| rest.split_whitespace().next());
        end = word.map(|word| word.trim_start_matches('-').trim_matches(['\'', '"']));
    }
    bare
}

/// Returns whether a command replaces files of a working tree by other versions.
fn moves_tree(command: &str) -> bool {
    let mut words = command.split_whitespace();
    let Some(tool) = words.by_ref().find(|word| {
        let name = word.rsplit('/').next().unwrap_or(word);
        ["git", "gh", "hg", "jj", "svn"].contains(&name)
    }) else {
        return false;
    };
    let rest: Vec<&str> = words.collect();
    // This creates a new branch at the current commit, so no file changes.
    if let ["checkout", "-b", _] | ["switch", "-c", _] = rest.as_slice() {
        return false;
    }
    let is_git = tool.ends_with("git");
    rest.iter().take(if is_git { 3 } else { 2 }).any(|word| GIT_WRITERS.contains(word))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn commands_reach_as_far_as_they_may() {
        let nothing = [
            "ls",
            "cargo test 2>&1 | tail",
            "git status",
            "git checkout -b x",
            "cargo fmt --check",
            "git commit -m 'Now\ngit merge works'",
            "git commit -m 'Fix the format of it => for all *'",
            "git commit -F - <<'END'\ncargo fmt > x for *\nEND\n",
        ];
        let named = ["sed -i s/a/b/ x.rs", "echo > x.rs", "rm x.rs", "black x.py"];
        let all = [
            "git stash",
            "cd x && git -C y checkout .",
            "git stash; git checkout -b x",
            "cargo fmt",
            "black .",
            "sed -i s/a/b/ src/*.rs",
            "rm -rf src",
            "(git reset --hard)",
            "npx prettier --write .",
            "cat <<END\nx\nEND\ncargo fmt",
        ];
        let is = |commands: &[&str], wanted| {
            commands.iter().for_each(|one| assert_eq!(reach(one), wanted, "{one}"));
        };
        is(&nothing, Reach::Nothing);
        is(&named, Reach::Named);
        is(&all, Reach::All);
    }
}
