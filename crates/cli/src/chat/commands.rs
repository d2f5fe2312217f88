//! What a person types at the table: words, or a `/command`. Pure: reads the text and says what is
//! meant; an unknown command is answered with the nearest known one.

/// What was typed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Typed<'t> {
    /// Nothing.
    Nothing,
    /// Something to be said.
    Words(&'t str),
    /// A command that is known, and what follows its name.
    Command(Slash, &'t str),
    /// No command of this name; the nearest one.
    Unknown { name: &'t str, nearest: Option<&'static str> },
}

/// A command.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Slash {
    Next,
    Drop,
    Task,
    Context,
    Why,
    Compact,
    Resume,
    Fork,
    Export,
    Cancel,
    Members,
    Queue,
    Cost,
    Help,
    Quit,
}

/// All commands: the name, what may follow it, what it does.
pub(crate) const COMMANDS: [(Slash, &str, &str, &str); 15] = [
    (Slash::Next, "next", "NAME… [TEXT]", "say something to these members, or let them speak"),
    (Slash::Drop, "drop", "NAME|all", "cancel turns that wait"),
    (Slash::Task, "task", "[TEXT]", "set the team's task; without a text, take it away"),
    (Slash::Context, "context", "[NAME]", "what a member would get now"),
    (Slash::Why, "why", "[ENTRY]", "why the newest message, or this entry, led where it did"),
    (Slash::Compact, "compact", "", "let minutes stand for what was said so far"),
    (Slash::Resume, "resume", "[TURN]", "go on; or let a turn be repeated"),
    (Slash::Fork, "fork", "[ENTRY]", "go on in a new session, from here or from an earlier entry"),
    (Slash::Export, "export", "FILE", "write the session to a file, one entry per line"),
    (Slash::Cancel, "cancel", "", "stop the turn that runs"),
    (Slash::Members, "members", "", "who sits at the table"),
    (Slash::Queue, "queue", "", "who speaks, who waits, and why"),
    (Slash::Cost, "cost", "", "tokens and dollars of every member and of all"),
    (Slash::Help, "help", "", "these commands and the keys"),
    (Slash::Quit, "quit", "", "leave; the session is kept"),
];

/// How alike a typo and a name must be.
const NEAR: f64 = 0.6;

/// Reads what was typed.
pub(crate) fn read(text: &str) -> Typed<'_> {
    let text = text.trim();
    if text.is_empty() {
        return Typed::Nothing;
    }
    let Some(rest) = text.strip_prefix('/') else { return Typed::Words(text) };
    let (name, rest) = rest.split_once(char::is_whitespace).unwrap_or((rest, ""));
    // A path is no command, and neither is a text that only begins with a slash.
    if name.is_empty() || name.contains('/') {
        return Typed::Words(text);
    }
    match COMMANDS.iter().find(|(_, known, ..)| known.eq_ignore_ascii_case(name)) {
        Some((slash, ..)) => Typed::Command(*slash, rest.trim()),
        None => Typed::Unknown { name, nearest: nearest(name) },
    }
}

fn nearest(name: &str) -> Option<&'static str> {
    // A longer one is nobody's slip, and comparing costs its length.
    let name = Some(name).filter(|name| name.len() <= 32)?.to_ascii_lowercase();
    let close = COMMANDS.iter().map(|(_, known, ..)| {
        (strsim::jaro_winkler(&name, known), strsim::damerau_levenshtein(&name, known), *known)
    });
    let best = close.filter(|(close, edits, _)| *close > NEAR && *edits <= 3);
    best.max_by(|left, right| left.0.total_cmp(&right.0)).map(|(.., known)| known)
}

/// The lines of `/help`.
pub(crate) fn help() -> Vec<String> {
    let mut lines: Vec<String> = COMMANDS
        .iter()
        .map(|(_, name, args, what)| format!("{:<22} {what}", format!("/{name} {args}")))
        .collect();
    lines.push(String::new());
    lines.extend(
        [
            "@name asks a member; Tab completes @names, @files and /commands.",
            "A line that ends with \\ goes on in the next one; Alt-Enter breaks a line too.",
            "Esc or Ctrl-C stops the turn that runs; Ctrl-C twice, or Ctrl-D, leaves.",
        ]
        .map(str::to_owned),
    );
    lines
}

/// Members that are named at the beginning, and the text behind them.
pub(crate) fn names_and_text(text: &str, is_member: impl Fn(&str) -> bool) -> (Vec<&str>, &str) {
    let (mut names, mut rest) = (Vec::new(), text.trim());
    loop {
        let (word, after) = rest.split_once(char::is_whitespace).unwrap_or((rest, ""));
        let name = word.trim_start_matches('@').trim_end_matches([',', ':']);
        if name.is_empty() || !is_member(name) {
            return (names, rest);
        }
        names.push(name);
        rest = after.trim_start();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_and_commands_are_told_apart() {
        assert_eq!(read("  hello "), Typed::Words("hello"));
        assert_eq!(read("/queue"), Typed::Command(Slash::Queue, ""));
        assert_eq!(read("/Next max  go "), Typed::Command(Slash::Next, "max  go"));
        assert_eq!(read("/usr/bin is a path"), Typed::Words("/usr/bin is a path"));
        assert_eq!(read(" / "), Typed::Words("/"));
        assert_eq!(read("\n"), Typed::Nothing);
    }

    #[test]
    fn a_typo_is_answered_with_the_nearest_name() {
        for (typo, nearest) in [
            ("quue", Some("queue")),
            ("memebrs", Some("members")),
            ("exprot", Some("export")),
            ("hlep", Some("help")),
            ("xyzzy", None),
        ] {
            assert_eq!(read(&format!("/{typo} a")), Typed::Unknown { name: typo, nearest });
        }
        let long = format!("/{}", "q".repeat(100_000));
        assert!(matches!(read(&long), Typed::Unknown { nearest: None, .. }));
    }

    #[test]
    fn names_at_the_beginning_are_told_from_the_text() {
        let is_member = |name: &str| ["max", "eva"].contains(&name);
        let check = |text, names: &[&str], rest| {
            assert_eq!(names_and_text(text, is_member), (names.to_vec(), rest), "{text}");
        };
        check("max, eva: look at this", &["max", "eva"], "look at this");
        check("@max", &["max"], "");
        check("bob look", &[], "bob look");
        check("", &[], "");
    }
}
