//! The options that every command takes. They are hidden in the help of the commands, and the overview lists them.

use std::ffi::OsString;

use clap::{Args, ValueEnum};

/// What every command takes.
#[derive(Debug, Args)]
pub(crate) struct GlobalArgs {
    /// Print results and errors only, no progress and no notes
    #[arg(long, short, global = true, hide = true)]
    pub(crate) quiet: bool,
    /// When to use colours
    #[arg(long, value_name = "WHEN", global = true, hide = true)]
    pub(crate) color: Option<ColorWhen>,
}

/// When colours are used.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum ColorWhen {
    /// On a terminal, unless NO_COLOR is set
    Auto,
    /// Always
    Always,
    /// Never
    Never,
}

/// What `--color` says, before the arguments as a whole are read: an error in them may have colours too.
pub(crate) fn color_of(arguments: &[OsString]) -> Option<ColorWhen> {
    let words = arguments.iter().skip(1).map(|word| word.to_str().unwrap_or_default());
    let words: Vec<&str> = words.take_while(|word| *word != "--").collect();
    let value = |place: usize| {
        let word: &str = words.get(place)?;
        match word.strip_prefix("--color") {
            Some("") => words.get(place + 1).copied(),
            Some(value) => value.strip_prefix('='),
            None => None,
        }
    };
    let last = (0..words.len()).rev().find_map(value)?;
    ColorWhen::from_str(last, false).ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_last_color_option_before_the_end_of_options_counts() {
        let color = |words: &[&str]| {
            let words = std::iter::once("tertulia").chain(words.iter().copied());
            color_of(&words.map(OsString::from).collect::<Vec<_>>())
        };
        assert_eq!(color(&["run", "--color", "never", "hi"]), Some(ColorWhen::Never));
        assert_eq!(color(&["--color=always", "run"]), Some(ColorWhen::Always));
        assert_eq!(color(&["--color=always", "run", "--color=auto"]), Some(ColorWhen::Auto));
        for none in [&["run", "--", "--color", "never"][..], &["run", "--color"], &["--color=red"]]
        {
            assert_eq!(color(none), None, "{none:?}");
        }
    }
}
