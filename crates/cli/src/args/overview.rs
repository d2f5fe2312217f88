//! The help of the whole program: commands grouped by task, global options and examples. The description of each
//! command comes from its own declaration.

use std::ffi::OsString;
use std::fmt::Write as _;

use anstyle::Style;
use clap::{CommandFactory, Error, FromArgMatches};

use super::Cli;

/// The commands grouped by task, the most used ones first.
const GROUPS: [(&str, &[&str]); 5] = [
    ("Work with your team", &["chat", "run", "ask", "worktrees", "init", "doctor", "demo"]),
    ("Continue in another agent", &["handover", "receipt"]),
    ("Look back", &["sessions", "cost", "why", "context", "replay"]),
    ("For scripts and other programs", &["build", "assemble", "tokens", "rpc"]),
    ("Shell", &["completions", "man"]),
];

const OPTIONS: &str =
    "  -q, --quiet         Print only results and errors, no progress and no notes
      --color <WHEN>  Use colours: auto, always, never
  -h, --help          Print help
  -V, --version       Print version
";

const EXAMPLES: &str = "  tertulia init                                 create tertulia.toml with the agents found here
  tertulia                                      open the chat
  tertulia run \"suggest one small improvement\"  send one message and print the answers
  git diff | tertulia run -                     let the team look at a change
  tertulia handover --from claude --to codex    continue Claude's session in Codex
  tertulia sessions list                        show earlier conversations
";

const FOOTER: &str = "`tertulia COMMAND --help` describes a command.";

impl Cli {
    /// Returns the declaration of all commands, with the help grouped by task.
    pub(crate) fn declared() -> clap::Command {
        let command = Self::command();
        let template = template(&command);
        // -h and --help print the same overview.
        command.help_template(template)
    }

    /// Parses the arguments.
    pub(crate) fn read(arguments: impl IntoIterator<Item = OsString>) -> Result<Self, Error> {
        Self::from_arg_matches_mut(&mut Self::declared().try_get_matches_from(arguments)?)
    }
}

fn template(command: &clap::Command) -> String {
    let heading = Style::new().bold().underline();
    let literal = Style::new().bold();
    let mut text =
        "{about}\n\n{usage-heading} {usage}\n\nWithout a command, the chat opens.\n".to_owned();
    // Writing to a string cannot fail.
    for (title, names) in GROUPS {
        let _ = writeln!(text, "\n{heading}{title}:{heading:#}");
        for name in names {
            let about = command.find_subcommand(name).and_then(clap::Command::get_about);
            let about = about.map(ToString::to_string).unwrap_or_default();
            let _ = writeln!(text, "  {literal}{name:<12}{literal:#} {about}");
        }
    }
    let _ = write!(text, "\n{heading}Options:{heading:#}\n{OPTIONS}");
    let _ = write!(text, "\n{heading}Examples:{heading:#}\n{EXAMPLES}\n{FOOTER}");
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_command_is_in_one_group_and_every_group_names_commands() {
        let command = Cli::command();
        let declared = command.get_subcommands().map(clap::Command::get_name);
        let mut declared: Vec<&str> = declared.filter(|name| *name != "help").collect();
        let mut grouped: Vec<&str> = GROUPS.iter().flat_map(|(_, names)| *names).copied().collect();
        declared.sort_unstable();
        grouped.sort_unstable();
        assert_eq!(grouped, declared);
    }

    #[test]
    fn the_overview_names_every_option_of_all_commands() {
        for option in Cli::command().get_arguments().filter_map(|option| option.get_long()) {
            assert!(OPTIONS.contains(&format!("--{option}")), "{option}");
        }
    }
}
