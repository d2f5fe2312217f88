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
    let words = joined(words);
    let mut command = Cli::command();
    command.build();
    let Answer::Offers(offers) = answer(&command, &words) else { return Ok(false) };
    for Offer { value, help, .. } in offers {
        match shell.to_str() {
            Some("zsh") if help.is_empty() => writeln!(out, "{}", value.replace(':', "\\:"))?,
            Some("zsh") => writeln!(out, "{}:{help}", value.replace(':', "\\:"))?,
            Some("fish") => writeln!(out, "{value}\t{help}")?,
            _ => writeln!(out, "{value}")?,
        }
    }
    Ok(true)
}

/// The words without the sign in `--flag=value`, which bash hands over as a word of its own.
fn joined(words: Vec<String>) -> Vec<String> {
    let mut joined: Vec<String> = Vec::with_capacity(words.len());
    for word in words {
        let is_behind_flag = joined.last().is_some_and(|last| last.starts_with("--"));
        if word != "=" || !is_behind_flag {
            joined.push(word);
        }
    }
    joined
}

fn answer(root: &Command, words: &[String]) -> Answer {
    let current = words.last().map_or("", String::as_str);
    let offers = match spot(root, words) {
        Spot::Nowhere => Vec::new(),
        Spot::Command(command) => commands(command),
        Spot::Flag(command) => flags(command),
        Spot::Value(arg, stays) => match values(arg, words) {
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

/// Finds the place of the last word.
fn spot<'c>(root: &'c Command, words: &[String]) -> Spot<'c> {
    let (current, before) = match words.split_last() {
        Some((current, before)) => (current.as_str(), before),
        None => ("", words),
    };
    let (mut command, mut positional, mut pending, mut only_values) = (root, 1, None, false);
    for word in before {
        if pending.take().is_some() {
            continue;
        }
        if word == "--" {
            only_values = true;
        } else if let Some(flag) = word.strip_prefix('-').filter(|_| !only_values && word != "-") {
            pending = flag_named(command, flag).filter(|arg| takes_value(arg));
        } else if let Some(below) = command.find_subcommand(word) {
            (command, positional) = (below, 1);
        } else if !is_repeated(command, positional) {
            positional += 1;
        }
    }
    if let Some(arg) = pending {
        return Spot::Value(arg, String::new());
    }
    let inline = current.strip_prefix("--").and_then(|rest| rest.split_once('='));
    if let Some((name, _)) = inline.filter(|_| !only_values) {
        let arg = flag_named(command, &format!("-{name}"));
        return arg.map_or(Spot::Nowhere, |arg| Spot::Value(arg, format!("--{name}=")));
    }
    if current.starts_with('-') && current != "-" && !only_values {
        return Spot::Flag(command);
    }
    if command.has_subcommands() {
        return Spot::Command(command);
    }
    let found = command.get_positionals().find(|arg| arg.get_index() == Some(positional));
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

/// Whether the positional argument of this number takes all that follow.
fn is_repeated(command: &Command, number: usize) -> bool {
    let mut arguments = command.get_positionals();
    let found = arguments.find(|arg| arg.get_index() == Some(number));
    found.is_some_and(|arg| matches!(arg.get_action(), ArgAction::Append))
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

fn values(arg: &Arg, words: &[String]) -> Answer {
    let name =
        arg.get_value_names().and_then(|names| names.first()).map_or("", |name| name.as_str());
    let wanted = match (name, arg.get_id().as_str()) {
        ("SESSION", _) => Wanted::Session,
        ("ENTRY", _) => Wanted::Entry,
        ("TURN", _) | ("ID", "turn") => Wanted::Turn,
        ("API", _) => Wanted::Api,
        ("AGENT", _) => Wanted::Agent,
        ("NAME", "member" | "speaker") => Wanted::Member,
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
    Answer::Offers(Line::of(words).offers(wanted))
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
        assert_eq!(offered("sessions export x --format m"), ["markdown"]);
        assert_eq!(offered("run -- --max"), [""; 0]);
        assert_eq!(offered("run --max-turns "), [""; 0]);
        assert_eq!(offered("nonsense --nonsense x"), [""; 0]);
    }
}
