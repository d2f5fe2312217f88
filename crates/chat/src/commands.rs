//! Parses a typed line: a message, or a `/command`. For an unknown command it finds the nearest known one.

#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Typed<'t> {
    Nothing,
    Words(&'t str),
    Command(Slash, &'t str),
    Unknown { name: &'t str, nearest: Option<&'static str> },
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Slash {
    Next,
    Ask,
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
    TakeOver,
    Help,
    Quit,
}

/// All commands: name, arguments, description.
#[rustfmt::skip]
pub(crate) const COMMANDS: [(Slash, &str, &str, &str); 17] = [
    (Slash::Next, "next", "NAME… [TEXT]", "send a message to these members, or give them a turn"),
    (Slash::Ask, "ask", "NAME,…: TEXT", "ask several members, who do not see each other's answers; alone: the last result"),
    (Slash::Drop, "drop", "NAME…|all", "cancel queued turns"),
    (Slash::Task, "task", "[TEXT]", "set the team's task; without a text, clear it"),
    (Slash::Context, "context", "[NAME]", "show the prompt that a member would get now"),
    (Slash::Why, "why", "[ENTRY]", "explain who was asked because of the newest message, or of an entry"),
    (Slash::Compact, "compact", "", "summarise the conversation so far, so that prompts get shorter"),
    (Slash::Resume, "resume", "[TURN|NAME]", "resume what is paused, or retry a turn"),
    (Slash::Fork, "fork", "[ENTRY]", "continue in a new session, from the newest or an earlier entry"),
    (Slash::Export, "export", "FILE", "write the session to a file, one entry per line"),
    (Slash::Cancel, "cancel", "[NAME…|all]", "stop the running turns, or those of members; all: also queued ones"),
    (Slash::Members, "members", "", "list the team"),
    (Slash::Queue, "queue", "", "show who is answering, who is queued, and why"),
    (Slash::Cost, "cost", "", "show tokens and cost per member and in total"),
    (Slash::TakeOver, "takeover", "", "run a session here that another process ran"),
    (Slash::Help, "help", "", "show commands and keys"),
    (Slash::Quit, "quit", "", "leave the chat; the session is saved"),
];

/// Names that other programs use.
const ALIASES: [(&str, Slash); 5] = [
    ("exit", Slash::Quit),
    ("q", Slash::Quit),
    ("?", Slash::Help),
    ("who", Slash::Members),
    ("stop", Slash::Cancel),
];

pub(crate) fn read(text: &str) -> Typed<'_> {
    let text = text.trim();
    if text.is_empty() {
        return Typed::Nothing;
    }
    let Some(rest) = text.strip_prefix('/') else { return Typed::Words(text) };
    let (name, rest) = rest.split_once(char::is_whitespace).unwrap_or((rest, ""));
    // A path is not a command, nor is a text that begins with a lone slash.
    if name.contains('/') || (name.is_empty() && !rest.is_empty()) {
        return Typed::Words(text);
    }
    match named(name) {
        Some(slash) => Typed::Command(slash, rest.trim()),
        None => {
            let known = COMMANDS.iter().map(|(_, known, ..)| (known, *known));
            Typed::Unknown { name, nearest: tertulia_team::nearest_name(name, known) }
        }
    }
}

fn named(name: &str) -> Option<Slash> {
    let known = COMMANDS.iter().find(|(_, known, ..)| known.eq_ignore_ascii_case(name));
    let alias = || ALIASES.iter().find(|(alias, _)| alias.eq_ignore_ascii_case(name));
    known.map(|(slash, ..)| *slash).or_else(|| alias().map(|(_, slash)| *slash))
}

/// Returns the command, with its slash, for a line such as `exit` that is a command in other programs.
pub(crate) fn without_slash(words: &str) -> Option<String> {
    let is_elsewhere = |name: &&&str| words.eq_ignore_ascii_case(name);
    let name = ["help", "?", "quit", "exit", ":q"].iter().find(is_elsewhere)?;
    let slash = if matches!(*name, "help" | "?") { Slash::Help } else { Slash::Quit };
    let (_, name, ..) = COMMANDS.iter().find(|(known, ..)| *known == slash)?;
    Some(format!("/{name}"))
}

const KEYS: [&str; 4] = [
    "",
    "@name asks a member; Tab completes @names, @files and /commands.",
    "For a new line, end the line with \\ or press Alt-Enter.",
    "Esc or Ctrl-C stops the running turns; Ctrl-C twice, or Ctrl-D, leaves the chat.",
];

pub(crate) fn help() -> Vec<String> {
    let row = |(_, name, args, what): &(Slash, &str, &str, &str)| {
        format!("{:<22} {what}", format!("/{name} {args}"))
    };
    COMMANDS.iter().map(row).chain(KEYS.map(str::to_owned)).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_and_commands_are_distinguished() {
        assert_eq!(read("  hello "), Typed::Words("hello"));
        assert_eq!(read("/queue"), Typed::Command(Slash::Queue, ""));
        assert_eq!(read("/Next max  go "), Typed::Command(Slash::Next, "max  go"));
        assert_eq!(read("/usr/bin is a path"), Typed::Words("/usr/bin is a path"));
        assert_eq!(read("/ or not"), Typed::Words("/ or not"));
        assert_eq!(read(" / "), Typed::Unknown { name: "", nearest: None });
        assert_eq!(read("\n"), Typed::Nothing);
    }

    #[test]
    fn names_that_other_programs_have_are_known() {
        assert_eq!(read("/exit"), Typed::Command(Slash::Quit, ""));
        assert_eq!(read("/?"), Typed::Command(Slash::Help, ""));
        for (words, suggestion) in
            [("exit", "/quit"), ("Quit", "/quit"), (":q", "/quit"), ("?", "/help")]
        {
            assert_eq!(without_slash(words).as_deref(), Some(suggestion), "{words}");
        }
        for words in ["exit now", "cost", "", "help me"] {
            assert_eq!(without_slash(words), None, "{words}");
        }
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
}
