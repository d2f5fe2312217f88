//! Reads the arguments of one command without declaring the others. Declaring all of them takes longer
//! than most commands do, and the first argument nearly always says which one it is.

use std::ffi::OsString;

use clap::{Args, Error, FromArgMatches};

use super::Cli;

impl Cli {
    /// Reads what was typed.
    pub(crate) fn read(arguments: impl IntoIterator<Item = OsString>) -> Result<Self, Error> {
        let arguments: Vec<OsString> = arguments.into_iter().collect();
        let name = arguments.get(1).and_then(|name| name.to_str()).unwrap_or_default();
        let declared = match one(name) {
            Some(command) => root().subcommand(command),
            None => Self::declared(),
        };
        Self::from_arg_matches_mut(&mut declared.try_get_matches_from(arguments)?)
    }
}

/// The program without its commands, as [`Cli`] declares it.
fn root() -> clap::Command {
    let root = clap::Command::new("tertulia")
        .version(env!("CARGO_PKG_VERSION"))
        .max_term_width(super::WIDTH_MAX);
    super::GlobalArgs::augment_args(root)
}

/// The command of this name.
fn one(name: &str) -> Option<clap::Command> {
    Some(match name {
        "init" => declared::<super::InitArgs>("init"),
        "chat" => declared::<super::ChatArgs>("chat"),
        "run" => declared::<super::RunArgs>("run"),
        "demo" => declared::<super::DemoArgs>("demo"),
        "why" => declared::<super::WhyArgs>("why"),
        "replay" => declared::<super::ReplayArgs>("replay"),
        "context" => declared::<super::ContextArgs>("context"),
        "build" => declared::<super::BuildArgs>("build"),
        "assemble" => declared::<super::AssembleArgs>("assemble"),
        "rpc" => declared::<super::RpcArgs>("rpc"),
        "sessions" => declared::<super::SessionsArgs>("sessions"),
        "tokens" => declared::<super::TokensArgs>("tokens"),
        "doctor" => declared::<super::DoctorArgs>("doctor"),
        "completions" => declared::<super::CompletionsArgs>("completions"),
        "man" => declared::<super::ManArgs>("man"),
        _ => return None,
    })
}

fn declared<A: Args>(name: &'static str) -> clap::Command {
    A::augment_args(clap::Command::new(name))
}

/// Whether these are arguments of a `run` whose events a program reads, however wrong the others are.
pub(crate) fn wants_events(arguments: &[OsString]) -> bool {
    let mut words = arguments.iter().skip(1).map(|word| word.to_str().unwrap_or_default());
    // The options of all commands may stand before the name.
    let command = loop {
        match words.next() {
            Some("-q" | "--quiet") => {}
            Some("--color") => {
                words.next();
            }
            Some(word) if word.starts_with("--color=") => {}
            other => break other,
        }
    };
    command == Some("run") && words.take_while(|word| *word != "--").any(|word| word == "--json")
}

#[cfg(test)]
mod tests {
    use clap::CommandFactory;

    use super::*;

    #[test]
    fn a_command_alone_is_the_command_among_all() {
        for among_all in Cli::command().get_subcommands() {
            let name = among_all.get_name();
            if name == "help" {
                continue;
            }
            let typed = |words: &[&str]| words.iter().map(OsString::from).collect::<Vec<_>>();
            for words in [
                typed(&["tertulia", name, "--help"]),
                typed(&["tertulia", name, "-h"]),
                typed(&["tertulia", name, "--no-such-thing"]),
                typed(&["tertulia", name, "too", "many", "words"]),
                typed(&["tertulia", name, "--version"]),
            ] {
                assert!(one(name).is_some(), "{name}");
                let alone = Cli::read(words.clone()).map(|_| ()).map_err(|error| error.to_string());
                let all = Cli::declared().try_get_matches_from(words.clone());
                let all = all.map(|_| ()).map_err(|error| error.to_string());
                assert_eq!(alone, all, "{words:?}");
            }
        }
    }

    #[test]
    fn what_names_no_command_is_read_as_a_whole() {
        let typed = |words: &[&str]| words.iter().map(OsString::from).collect::<Vec<_>>();
        for words in [typed(&["tertulia", "--version"]), typed(&["tertulia", "contxt"])] {
            let read = Cli::read(words.clone()).unwrap_err().to_string();
            let declared = Cli::declared().try_get_matches_from(words).unwrap_err();
            assert_eq!(read, declared.to_string());
        }
        assert!(Cli::read(typed(&["tertulia"])).unwrap().command.is_none());
    }

    #[test]
    fn events_are_wanted_wherever_the_options_of_all_commands_stand() {
        let wants =
            |text: &str| wants_events(&text.split(' ').map(OsString::from).collect::<Vec<_>>());
        for text in [
            "tertulia run --json --nope",
            "tertulia -q run --json --nope",
            "tertulia --quiet --color=never run hi --json",
            "tertulia --color never -q run --json",
        ] {
            assert!(wants(text), "{text}");
        }
        for text in [
            "tertulia",
            "tertulia --color",
            "tertulia -q why --json run",
            "tertulia --color run --json",
            "tertulia -q run -- --json",
        ] {
            assert!(!wants(text), "{text}");
        }
    }

    #[test]
    fn options_of_all_commands_are_taken_before_and_behind_the_name() {
        for words in [
            &["tertulia", "--quiet", "doctor"][..],
            &["tertulia", "doctor", "--quiet"],
            &["tertulia", "run", "-q", "hi"],
            &["tertulia", "-q", "run", "hi"],
            &["tertulia", "sessions", "list", "-q"],
        ] {
            let cli = Cli::read(words.iter().map(OsString::from)).unwrap();
            assert!(cli.global.quiet, "{words:?}");
        }
    }
}
