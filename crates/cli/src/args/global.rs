//! The options of all commands. The help of a single command hides them; the overview lists them. The program looks
//! for `--color` and `run --json` before it parses the arguments, because they decide how a parse error is printed.

use std::ffi::OsString;

use clap::{Args, ValueEnum};

/// Options of all commands.
#[derive(Debug, Args)]
pub(crate) struct GlobalArgs {
    /// Print only results and errors, no progress and no notes
    #[arg(long, short, global = true, hide = true)]
    pub(crate) quiet: bool,
    /// When to use colours
    #[arg(long, value_name = "WHEN", global = true, hide = true)]
    pub(crate) color: Option<ColorWhen>,
}

/// The values of `--color`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum ColorWhen {
    /// On a terminal, unless NO_COLOR is set
    Auto,
    /// Always
    Always,
    /// Never
    Never,
}

/// Returns the value of `--color` before the arguments are parsed, because a parse error may be coloured too.
pub(crate) fn color_option(arguments: &[OsString]) -> Option<ColorWhen> {
    let words: Vec<&str> = words(arguments).take_while(|word| *word != "--").collect();
    let value = |index: usize| {
        let word: &str = words.get(index)?;
        match word.strip_prefix("--color") {
            Some("") => words.get(index + 1).copied(),
            Some(value) => value.strip_prefix('='),
            None => None,
        }
    };
    let last = (0..words.len()).rev().find_map(value)?;
    ColorWhen::from_str(last, false).ok()
}

/// Returns the arguments after the program's name. An argument that is not UTF-8 cannot be an option and becomes empty.
fn words(arguments: &[OsString]) -> impl Iterator<Item = &str> {
    arguments.iter().skip(1).map(|word| word.to_str().unwrap_or_default())
}

/// Returns whether these are arguments of `run --json` or `ask --json`, even if other arguments are wrong.
pub(crate) fn wants_events(arguments: &[OsString]) -> bool {
    let mut words = words(arguments);
    // Global options may come before the command.
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
    matches!(command, Some("run" | "ask"))
        && words.take_while(|word| *word != "--").any(|word| word == "--json")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::args::Cli;

    #[test]
    fn the_last_color_option_before_the_end_of_options_counts() {
        let color = |words: &[&str]| {
            let words = std::iter::once("tertulia").chain(words.iter().copied());
            color_option(&words.map(OsString::from).collect::<Vec<_>>())
        };
        assert_eq!(color(&["run", "--color", "never", "hi"]), Some(ColorWhen::Never));
        assert_eq!(color(&["--color=always", "run"]), Some(ColorWhen::Always));
        assert_eq!(color(&["--color=always", "run", "--color=auto"]), Some(ColorWhen::Auto));
        for none in [&["run", "--", "--color", "never"][..], &["run", "--color"], &["--color=red"]]
        {
            assert_eq!(color(none), None, "{none:?}");
        }
    }

    #[test]
    fn run_json_is_recognised_wherever_the_global_options_are() {
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
    fn global_options_are_accepted_before_and_after_the_command() {
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
