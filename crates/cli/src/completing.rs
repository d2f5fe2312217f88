//! What a shell offers at Tab: commands and flags as the arguments declare them, and what there is to name:
//! members, sessions, entries, models, formats. Reads the team file and the store on this machine; starts
//! nothing, makes no file, and stays silent where something cannot be read. Called when a shell asks, by
//! the script that `tertulia completions` prints.

mod offers;

use std::ffi::{OsStr, OsString};
use std::io::{self, Write};

use clap::{Arg, ArgAction, Command, CommandFactory};

use crate::args::Cli;
use offers::{Line, Wanted};

/// The variable by which a shell asks; it names the shell.
pub(crate) const VARIABLE: &str = "TERTULIA_COMPLETE";

/// Something that the word can become.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
struct Offer {
    value: String,
    help: String,
    /// Whether it is offered only if nothing else fits.
    is_rare: bool,
}

/// What the last word can become.
#[derive(Debug, PartialEq, Eq)]
enum Answer {
    Offers(Vec<Offer>),
    /// A path, which the shell knows better.
    Path,
}

/// What the words before the last one say.
#[derive(Debug)]
struct Before<'c> {
    command: &'c Command,
    /// The name of the first command.
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

/// Where in the declaration the last word stands.
#[derive(Debug)]
enum Spot<'c> {
    /// The value of this argument, behind a part of the word that stays.
    Value(&'c Arg, String),
    /// The name of a flag of this command.
    Flag(&'c Command),
    /// The name of a command below this one.
    Command(&'c Command),
    /// Nothing that is declared.
    Nowhere,
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

/// Writes what the last word of a command line can become; the words stand behind `--`. `false` if it is a
/// path, which the shell completes itself.
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
    let Answer::Offers(offers) = answer(&command, &words) else { return Ok(false) };
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

/// The words that bash hands over as they were typed, and how many bytes of the last one it does not replace.
fn typed(words: Vec<String>) -> (Vec<String>, usize) {
    let replaced = words.last().filter(|word| *word != ":").map_or(0, |word| unquoted(word).len());
    let words = joined(words);
    let stays = words.last().map_or(0, String::len).saturating_sub(replaced);
    (words, stays)
}

/// The words without quotes, and without what bash adds: it makes words of their own of `=` and `:`, and of the
/// `@` in the address of a server.
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

/// A word as a program gets it: without quotes and backslashes.
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

fn answer(root: &Command, words: &[String]) -> Answer {
    let (current, before) = match words.split_last() {
        Some((current, before)) => (current.as_str(), before),
        None => ("", words),
    };
    let before = Before::read(root, before);
    let offers = match spot(&before, current) {
        Spot::Nowhere => Vec::new(),
        Spot::Command(command) => commands(command),
        Spot::Flag(command) => flags(command),
        Spot::Value(arg, stays) => match values(arg, words, &before) {
            Answer::Path => return Answer::Path,
            Answer::Offers(mut offers) => {
                offers.iter_mut().for_each(|offer| offer.value.insert_str(0, &stays));
                offers
            }
        },
    };
    let mut fitting: Vec<Offer> =
        offers.into_iter().filter(|offer| offer.value.starts_with(current)).collect();
    if fitting.iter().any(|offer| !offer.is_rare) {
        fitting.retain(|offer| !offer.is_rare);
    }
    Answer::Offers(fitting)
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
            self.pending = flag_named(self.command, flag).filter(|arg| takes_value(arg));
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

/// Finds the place of the last word.
fn spot<'c>(before: &Before<'c>, current: &str) -> Spot<'c> {
    if let Some(arg) = before.pending {
        return Spot::Value(arg, String::new());
    }
    let inline = current.strip_prefix("--").and_then(|rest| rest.split_once('='));
    if let Some((name, _)) = inline.filter(|_| !before.only_values) {
        let arg = flag_named(before.command, &format!("-{name}"));
        return arg.map_or(Spot::Nowhere, |arg| Spot::Value(arg, format!("--{name}=")));
    }
    if current.starts_with('-') && current != "-" && !before.only_values {
        return Spot::Flag(before.command);
    }
    if before.command.has_subcommands() {
        return Spot::Command(before.command);
    }
    let found = positional(before.command, before.positional);
    found.map_or(Spot::Nowhere, |arg| Spot::Value(arg, String::new()))
}

/// The flag of a word without its first dash; none if it brings its value along.
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

fn takes_value(arg: &Arg) -> bool {
    matches!(arg.get_action(), ArgAction::Set | ArgAction::Append)
}

/// The positional argument of this number.
fn positional(command: &Command, number: usize) -> Option<&Arg> {
    command.get_positionals().find(|arg| arg.get_index() == Some(number))
}

/// The word for the value of an argument, as help shows it.
fn value_name(arg: &Arg) -> &str {
    arg.get_value_names().and_then(|names| names.first()).map_or("", |name| name.as_str())
}

fn commands(command: &Command) -> Vec<Offer> {
    let shown = command.get_subcommands().filter(|below| !below.is_hide_set());
    let about = |below: &Command| below.get_about().map(ToString::to_string).unwrap_or_default();
    shown.map(|below| Offer::new(below.get_name()).with_help(&about(below))).collect()
}

fn flags(command: &Command) -> Vec<Offer> {
    let shown = command.get_arguments().filter(|arg| !arg.is_hide_set());
    let flag = |arg: &Arg| {
        let help = arg.get_help().map(ToString::to_string).unwrap_or_default();
        let help = help.lines().next().unwrap_or_default().to_owned();
        Some(Offer::new(&format!("--{}", arg.get_long()?)).with_help(&help))
    };
    shown.filter_map(flag).collect()
}

fn values(arg: &Arg, words: &[String], before: &Before<'_>) -> Answer {
    let wanted = match (value_name(arg), arg.get_id().as_str()) {
        ("SESSION", _) => Wanted::Session,
        ("ENTRY", _) => Wanted::Entry,
        ("TURN", _) | ("ID", "turn") => Wanted::Turn,
        ("API", _) => Wanted::Api,
        ("AGENT", _) => Wanted::Agent,
        // Only a person can be spoken as; whoever is searched for may be anybody.
        ("NAME", "speaker") if arg.get_long() == Some("as") => Wanted::Person,
        ("NAME", "member" | "speaker") => Wanted::Member,
        ("TYPE", _) => Wanted::EntryType,
        ("NAME", "model") => Wanted::Model,
        ("NAME", "tokenizer") => Wanted::Tokenizer,
        ("FILE" | "DIR", _) => return Answer::Path,
        _ => {
            let values = arg.get_possible_values();
            let help = |value: &clap::builder::PossibleValue| {
                value.get_help().map(ToString::to_string).unwrap_or_default()
            };
            let offer = |value: &clap::builder::PossibleValue| {
                Offer::new(value.get_name()).with_help(&help(value))
            };
            return Answer::Offers(values.iter().map(offer).collect());
        }
    };
    Answer::Offers(Line::of(words, before).offers(wanted))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn offered(line: &str) -> Vec<String> {
        let mut command = Cli::command();
        command.build();
        let words: Vec<String> = line.split(' ').map(str::to_owned).collect();
        match answer(&command, &joined(words)) {
            Answer::Offers(offers) => offers.into_iter().map(|offer| offer.value).collect(),
            Answer::Path => vec!["(path)".to_owned()],
        }
    }

    #[test]
    fn commands_flags_and_values_are_told_apart() {
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
}
