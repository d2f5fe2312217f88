//! Shell completion: commands, flags, members, sessions, entries, models, formats. Called by the scripts of `tertulia
//! completions`. Reads the team file and a local store; starts nothing, creates no file, and ignores read errors.

use std::ffi::{OsStr, OsString};
use std::io::{self, Write};

use clap::builder::{PossibleValue, StyledStr};
use clap::{Arg, ArgAction, Command, CommandFactory};
use tertulia_chat::terminal::excerpt;
use tertulia_context::tokens::{MODELS, Tokenizer};
use tertulia_dialect::Dialect;
use tertulia_dialect::native::NativeFormat;
use tertulia_operations::names::{Latest, find_session_or_latest, short, short_session};
use tertulia_session::{Entry, EntryKind};
use tertulia_store::{ListFilter, ProjectScope, Range, SessionStore};
use tertulia_team::file::{MemberFile, TeamFile};

use crate::args::{Cli, PLAIN, StoreArg, TeamFileArg};
use crate::load_team::{LoadedTeam, find, open, project_here};
use crate::store_location::StoreLocation;

/// The types of the entries that a search looks into.
const ENTRY_TYPES: [&str; 5] =
    ["message", "team_task", "compaction_summary", "branch_summary", "system_prompt_override"];

/// Maximum number of offered sessions or entries.
const OFFERED_MAX: usize = 100;
/// Number of newest entries that are read.
const ENTRIES_READ: usize = 400;
/// Maximum width of a message or title next to its ID.
const HELP_COLUMNS: usize = 48;

/// The variable that requests completion; its value is the shell.
pub(crate) const VARIABLE: &str = "TERTULIA_COMPLETE";

#[derive(Clone, Debug, Default, PartialEq, Eq)]
struct Offer {
    value: String,
    help: String,
    /// Whether it is only offered if nothing else matches.
    is_rare: bool,
}

/// The parsed words before the last one.
#[derive(Debug)]
struct Before<'c> {
    command: &'c Command,
    first: Option<&'c str>,
    /// The number of the positional argument that is next.
    positional: usize,
    /// The flag that waits for its value.
    pending: Option<&'c Arg>,
    /// Whether no flag may follow.
    only_values: bool,
    /// The session that is named by a positional argument.
    session: Option<String>,
}

impl Offer {
    fn new(value: &str) -> Self {
        Self { value: value.to_owned(), ..Self::default() }
    }

    fn with_help(mut self, help: &str) -> Self {
        help.clone_into(&mut self.help);
        self
    }
}

/// Writes the completions of the last word; the words come after `--`. Returns `false` for a path, which the shell
/// completes.
pub(crate) fn complete(
    shell: &OsStr,
    arguments: Vec<OsString>,
    out: &mut dyn Write,
) -> io::Result<bool> {
    let words = arguments.into_iter().skip_while(|word| word != "--").skip(2);
    let words: Vec<String> = words.map(|word| word.to_string_lossy().into_owned()).collect();
    let (words, stays) = match shell.to_str() {
        Some("zsh" | "fish") => (words, 0),
        _ => typed(words),
    };
    let mut command = Cli::command();
    command.build();
    let Some(offers) = answer(&command, &words) else { return Ok(false) };
    for Offer { value, help, .. } in offers {
        match shell.to_str() {
            Some("zsh") if help.is_empty() => writeln!(out, "{}", value.replace(':', "\\:"))?,
            Some("zsh") => writeln!(out, "{}:{help}", value.replace(':', "\\:"))?,
            Some("fish") => writeln!(out, "{value}\t{help}")?,
            _ => writeln!(out, "{}", value.get(stays..).unwrap_or(&value))?,
        }
    }
    Ok(true)
}

/// Returns the words as typed, and the number of bytes of the last one that bash does not replace.
fn typed(words: Vec<String>) -> (Vec<String>, usize) {
    let replaced = words.last().filter(|word| *word != ":").map_or(0, |word| unquoted(word).len());
    let words = joined(words);
    let stays = words.last().map_or(0, String::len).saturating_sub(replaced);
    (words, stays)
}

/// Returns the words without quotes, joined where bash splits them: at `=` and `:`, and at the `@` in the address of a server.
fn joined(words: Vec<String>) -> Vec<String> {
    let mut joined: Vec<String> = Vec::with_capacity(words.len());
    let mut is_open = false;
    for word in words {
        let was_open = std::mem::take(&mut is_open);
        match joined.last_mut() {
            Some(last) if word == "=" && last.starts_with("--") => {}
            Some(last) if word == ":" || word == "@" && last.contains("://") => {
                last.push_str(&word);
                is_open = true;
            }
            Some(last) if was_open && !word.is_empty() => last.push_str(&word),
            _ => joined.push(word),
        }
    }
    joined.iter().map(|word| unquoted(word)).collect()
}

/// Removes quotes and backslashes from a word.
fn unquoted(word: &str) -> String {
    let mut plain = String::with_capacity(word.len());
    let (mut quote, mut signs) = (None, word.chars());
    while let Some(c) = signs.next() {
        match quote {
            Some(open) if c == open => quote = None,
            None if matches!(c, '\'' | '"') => quote = Some(c),
            None | Some('"') if c == '\\' => plain.extend(signs.next()),
            _ => plain.push(c),
        }
    }
    plain
}

/// Returns the completions of the last word; `None` for a path, which the shell completes.
fn answer(root: &Command, words: &[String]) -> Option<Vec<Offer>> {
    let (current, before) = match words.split_last() {
        Some((current, before)) => (current.as_str(), before),
        None => ("", words),
    };
    let mut fitting = declared(&Before::read(root, before), current, words)?;
    fitting.retain(|offer| offer.value.starts_with(current));
    if fitting.iter().any(|offer| !offer.is_rare) {
        fitting.retain(|offer| !offer.is_rare);
    }
    Some(fitting)
}

impl<'c> Before<'c> {
    fn read(root: &'c Command, words: &[String]) -> Self {
        let mut before = Self {
            command: root,
            first: None,
            positional: 1,
            pending: None,
            only_values: false,
            session: None,
        };
        words.iter().for_each(|word| before.take(word));
        before
    }

    fn take(&mut self, word: &str) {
        if self.pending.take().is_some() {
            return;
        }
        if word == "--" {
            self.only_values = true;
        } else if let Some(flag) =
            word.strip_prefix('-').filter(|_| !self.only_values && word != "-")
        {
            self.pending =
                flag_named(self.command, flag).filter(|arg| arg.get_action().takes_values());
        } else if let Some(below) = self.command.find_subcommand(word) {
            self.first.get_or_insert(below.get_name());
            (self.command, self.positional) = (below, 1);
        } else {
            let found = positional(self.command, self.positional);
            if found.is_some_and(|arg| value_name(arg) == "SESSION") && !word.is_empty() {
                self.session = Some(word.to_owned());
            }
            if !found.is_some_and(|arg| matches!(arg.get_action(), ArgAction::Append)) {
                self.positional += 1;
            }
        }
    }
}

/// Returns the declared completions at the position of the last word; `None` for a path.
fn declared(before: &Before<'_>, current: &str, words: &[String]) -> Option<Vec<Offer>> {
    let command = before.command;
    if let Some(arg) = before.pending {
        return values(arg, words, before);
    }
    let inline = current.strip_prefix("--").and_then(|rest| rest.split_once('='));
    if let Some((name, _)) = inline.filter(|_| !before.only_values) {
        let Some(arg) = flag_named(command, &format!("-{name}")) else { return Some(Vec::new()) };
        let mut offers = values(arg, words, before)?;
        offers.iter_mut().for_each(|offer| offer.value.insert_str(0, &format!("--{name}=")));
        return Some(offers);
    }
    if current.starts_with('-') && current != "-" && !before.only_values {
        return Some(flags(command));
    }
    if command.has_subcommands() {
        return Some(commands(command));
    }
    match positional(command, before.positional) {
        Some(arg) => values(arg, words, before),
        None => Some(Vec::new()),
    }
}

/// Returns the flag of a word without its first dash; `None` if the word includes its value.
fn flag_named<'c>(command: &'c Command, flag: &str) -> Option<&'c Arg> {
    match flag.strip_prefix('-') {
        Some(long) => command.get_arguments().find(|arg| arg.get_long() == Some(long)),
        None => {
            let mut letters = flag.chars();
            let (letter, None) = (letters.next()?, letters.next()) else { return None };
            command.get_arguments().find(|arg| arg.get_short() == Some(letter))
        }
    }
}

fn positional(command: &Command, number: usize) -> Option<&Arg> {
    command.get_positionals().find(|arg| arg.get_index() == Some(number))
}

/// Returns the value name of an argument, as in the help.
fn value_name(arg: &Arg) -> &str {
    arg.get_value_names().and_then(|names| names.first()).map_or("", |name| name.as_str())
}

fn plain<'n>(names: impl IntoIterator<Item = &'n str>) -> Vec<Offer> {
    names.into_iter().map(Offer::new).collect()
}

fn text_of(help: Option<&StyledStr>) -> String {
    help.map(ToString::to_string).unwrap_or_default()
}

fn commands(command: &Command) -> Vec<Offer> {
    let shown = command.get_subcommands().filter(|below| !below.is_hide_set());
    let offer =
        |below: &Command| Offer::new(below.get_name()).with_help(&text_of(below.get_about()));
    shown.map(offer).collect()
}

fn flags(command: &Command) -> Vec<Offer> {
    let shown = command.get_arguments().filter(|arg| !arg.is_hide_set());
    let flag = |arg: &Arg| {
        let help = text_of(arg.get_help());
        let help = help.lines().next().unwrap_or_default();
        Some(Offer::new(&format!("--{}", arg.get_long()?)).with_help(help))
    };
    shown.filter_map(flag).collect()
}

/// Returns the values of an argument; `None` for a path.
fn values(arg: &Arg, words: &[String], before: &Before<'_>) -> Option<Vec<Offer>> {
    let line = Line::new(words, before);
    Some(match (value_name(arg), arg.get_id().as_str()) {
        ("SESSION", _) => line.sessions().unwrap_or_default(),
        ("ENTRY", _) => line.entries(|_| true).unwrap_or_default(),
        ("TURN", _) | ("ID", "turn") => {
            line.entries(|entry| entry.turn().is_some()).unwrap_or_default()
        }
        ("API", _) => plain(Dialect::ALL.into_iter().map(Dialect::as_str)),
        ("AGENT", "to" | "from" | "agent") => {
            plain(NativeFormat::ALL.into_iter().map(NativeFormat::as_str))
        }
        ("AGENT", _) => plain(["claude", "codex", "gemini", PLAIN]),
        // `--as` accepts only people; a search accepts any speaker.
        ("NAME", "speaker") if arg.get_long() == Some("as") => {
            line.members(|member| member.agent.is_none())
        }
        ("NAME", "judge") | ("NAMES", "members") => line.members(|member| member.agent.is_some()),
        ("NAME", "member" | "speaker") => line.members(|_| true),
        ("TYPE", _) => plain(ENTRY_TYPES),
        ("NAME", "model") => plain(MODELS.iter().map(|model| model.prefix)),
        ("NAME", "tokenizer") => plain(Tokenizer::BUILT_IN.iter().map(Tokenizer::id)),
        ("FILE" | "DIR" | "FOLDER" | "SOURCE", _) => return None,
        _ => {
            let values = arg.get_possible_values();
            let offer = |value: &PossibleValue| {
                Offer::new(value.get_name()).with_help(&text_of(value.get_help()))
            };
            values.iter().map(offer).collect()
        }
    })
}

/// The options on the command line that determine which members, sessions and entries are offered.
struct Line {
    store: Option<String>,
    team: TeamFileArg,
    /// The session whose entries are offered.
    session: Option<String>,
    /// Whether the default is the newest session of the project, even without a team.
    is_of_store: bool,
}

impl Line {
    fn new(words: &[String], before: &Before<'_>) -> Self {
        let value = |flag: &str| {
            let joined = format!("{flag}=");
            let apart = words.windows(2).find_map(|pair| match pair {
                [name, value] if name == flag => Some(value.as_str()),
                _ => None,
            });
            let found = apart.or_else(|| words.iter().find_map(|word| word.strip_prefix(&joined)));
            found.filter(|value| !value.is_empty() && !value.starts_with("--")).map(str::to_owned)
        };
        Self {
            store: value("--store").or_else(|| std::env::var("TERTULIA_STORE").ok()),
            team: TeamFileArg { team: value("--team").map(Into::into) },
            session: value("--session").or_else(|| before.session.clone()),
            is_of_store: before.first == Some("sessions"),
        }
    }

    fn members(&self, fits: impl Fn(&MemberFile) -> bool) -> Vec<Offer> {
        let team = match find(&self.team) {
            Ok(Some(found)) => open(&found).ok().map(|opened| opened.team),
            Ok(None) => Some(TeamFile::built_in()),
            Err(_) => None,
        };
        let members = team.map(|team| team.members).unwrap_or_default();
        let fitting = members.iter().filter(|member| fits(member));
        fitting.map(|member| Offer::new(&member.name)).collect()
    }

    /// Opens the store, if it is an existing file: a server may be slow.
    fn store(&self) -> Option<SessionStore> {
        let location = StoreLocation::read(&StoreArg { store: self.store.clone() }).ok()?;
        location.is_file().then(|| location.open_existing().ok()).flatten().flatten()
    }

    fn sessions(&self) -> Option<Vec<Offer>> {
        let project = LoadedTeam::folder(&self.team).unwrap_or_else(|_| project_here());
        let project = ProjectScope::Project(project);
        let filter = ListFilter { limit: Some(OFFERED_MAX), project, ..ListFilter::default() };
        let sessions = self.store()?.list(&filter).ok()?;
        let mut offers = vec![Offer::new("latest").with_help("the newest session")];
        for info in sessions {
            let title = info.title.as_deref().map(|title| excerpt(title, HELP_COLUMNS));
            let (title, shown) = (title.unwrap_or_default(), short_session(&info.id));
            offers.push(Offer::new(shown).with_help(&title));
            if shown != info.id.as_str() {
                // Matches if the person typed a date.
                offers.push(Offer { is_rare: true, ..Offer::new(info.id.as_str()) });
            }
        }
        Some(offers)
    }

    /// Returns the newest messages and turns of the session.
    fn entries(&self, fits: impl Fn(&Entry) -> bool) -> Option<Vec<Offer>> {
        let store = self.store()?;
        let folder = LoadedTeam::folder(&self.team).unwrap_or_default();
        let latest = match self.is_of_store {
            true => Latest::OfProject(&folder),
            false => Latest::OfFolder(&folder),
        };
        let session = find_session_or_latest(&store, self.session.as_deref(), latest).ok()?;
        let entries = store.load(&session, &Range::Tail(ENTRIES_READ)).ok()?;
        let newest = entries.iter().rev().map(|stored| &stored.entry);
        let offered = newest.filter(|entry| fits(entry)).filter_map(|entry| {
            let help = match &entry.kind {
                EntryKind::Message(message) => message.text().into_owned(),
                EntryKind::Turn(turn) => format!("{}'s turn {}", turn.member, turn.state.as_str()),
                _ => return None,
            };
            let help = excerpt(&help, HELP_COLUMNS);
            Some(Offer::new(&short(entry.id.as_str())).with_help(&help))
        });
        Some(offered.take(OFFERED_MAX).collect())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn offered(line: &str) -> Vec<String> {
        let mut command = Cli::command();
        command.build();
        let words: Vec<String> = line.split(' ').map(str::to_owned).collect();
        match answer(&command, &joined(words)) {
            Some(offers) => offers.into_iter().map(|offer| offer.value).collect(),
            None => vec!["(path)".to_owned()],
        }
    }

    #[test]
    fn commands_flags_and_values_are_distinguished() {
        assert_eq!(offered("se"), ["sessions"]);
        assert_eq!(offered("sessions re"), ["rename", "redact", "restore"]);
        assert_eq!(offered("run --max"), ["--max-turns"]);
        assert_eq!(offered("sessions show --tail 3 --me"), ["--messages"]);
        assert_eq!(offered("sessions --sto"), ["--store"]);
        assert_eq!(offered("sessions export x -o "), ["(path)"]);
        assert_eq!(offered("tokens a b c"), ["(path)"]);
        assert_eq!(offered("build --format=o"), ["--format=openai"]);
        assert_eq!(offered("build --format = o"), ["openai"]);
        assert_eq!(offered("sessions --store sqlite : /x list --js"), ["--json"]);
        assert_eq!(offered("sessions --store sqlite :"), [""; 0]);
        assert_eq!(offered("sessions export x --format m"), ["markdown"]);
        assert_eq!(offered("run -- --max"), [""; 0]);
        assert_eq!(offered("run --max-turns "), [""; 0]);
        assert_eq!(offered("nonsense --nonsense x"), [""; 0]);
    }

    #[test]
    fn words_that_bash_parts_are_put_together_and_lose_their_quotes() {
        for (parted, whole) in [
            (&["--store", "=", "sqlite", ":", "/x"][..], &["--store", "sqlite:/x"][..]),
            (
                &["postgres", ":", "//u", "@", "h", ":", "1/d", "why"],
                &["postgres://u@h:1/d", "why"],
            ),
            (&["run", "hello", ":", ""], &["run", "hello:", ""]),
            (&["run", "@", "max", ""], &["run", "@", "max", ""]),
            (&["'my team'", r#""a 'b\" c""#, r"a\ b", "'c"], &["my team", "a 'b\" c", "a b", "c"]),
        ] {
            assert_eq!(joined(parted.iter().map(|word| (*word).to_owned()).collect()), whole);
        }
        let stays = |words: &[&str]| typed(words.iter().map(|&word| word.to_owned()).collect()).1;
        assert_eq!(stays(&["show", "a", ":", "b"]), 2);
        assert_eq!(stays(&["show", "a", ":"]), 2);
        assert_eq!(stays(&["show", "a:b"]), 0);
    }

    fn line(text: &str) -> Line {
        let mut command = Cli::command();
        command.build();
        let words: Vec<String> = text.split(' ').map(str::to_owned).collect();
        let (_, before) = words.split_last().unwrap();
        Line::new(&words, &Before::read(&command, before))
    }

    #[test]
    fn what_stands_on_the_line_already_says_where_to_look() {
        let read = line("why --session a --store=sqlite:b --team c.toml ");
        assert_eq!(read.session.as_deref(), Some("a"));
        assert_eq!(read.store.as_deref(), Some("sqlite:b"));
        assert_eq!(read.team.team.as_deref(), Some(std::path::Path::new("c.toml")));
        for redacts in ["sessions redact login ", "sessions --store b redact --json login "] {
            let read = line(redacts);
            assert_eq!((read.session.as_deref(), read.is_of_store), (Some("login"), true));
        }
        assert_eq!(line("sessions show --from ").session, None);
        assert_eq!(line("why --session").session, None);
    }
}
