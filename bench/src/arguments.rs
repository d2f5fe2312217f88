//! The command line: the command, its scale and the output format. Called only by `main`.

use std::error::Error;
use std::fmt;
use std::io::Write;
use std::path::PathBuf;
use std::process::ExitCode;
use std::time::Duration;

use crate::overhead::Programs;
use crate::{build, instructions, native, overhead, pairs, quality, store, suite, tokens_usage};

/// The usage text.
pub(crate) const USAGE: &str = "\
Usage: tertulia-bench [--quick] [--json]
       tertulia-bench --list-instruction-cases
       tertulia-bench --instructions <case>
       tertulia-bench --claude-usage <folder>
       tertulia-bench --quality <folder> [--half <half>] [--only <part>]… [--ours] [--all]
       tertulia-bench --build-times
       tertulia-bench --store <folder> [--quick]
       tertulia-bench --store-times <folder>
       tertulia-bench --overhead <folder> <tertulia> <hello> [--quick]
       tertulia-bench --pairs <folder> [--write <folder>]
       tertulia-bench --native <folder> [--import-mb <number>] [--quick]

  --quick                   smaller sizes and fewer rounds: whether it runs, not how fast
  --json                    one JSON object per line instead of a table
  --list-instruction-cases  the names of the cases for callgrind, one per line
  --instructions <case>     does the work of this case; count it with
                              valgrind --tool=callgrind --toggle-collect='*counted_work*'
  --claude-usage <folder>   how far the Claude estimate is off on the Claude Code transcripts
                              (*.jsonl) in this folder
  --quality <folder>        what context managers make of the sessions of the data sets in this
                              folder; reads them through the program zstd
    --half <half>           which half of each set: report (if not said), tune, or all
    --only <part>           only cost, edits-claude, edits-pi, qmsum, longmemeval, personamem or irc;
                              may be given again
    --ours                  without the baselines but for the sliding window
    --all                   also with settings other than the default
  --build-times             seconds of a cold and of a warm build of 10,000 messages as JSON, for
                              bench/peers/trim_messages.py
  --store <folder>          how fast the session store is on the disk of this folder
  --store-times <folder>    times of its appends and tail reads as JSON, for bench/peers/sessions.py
  --overhead <folder> <tertulia> <hello>
                            what Tertulia adds to a turn, with files in this folder, and how fast the first
                              program starts compared with the second, which prints a line
  --pairs <folder>          writes the sessions in this folder for every other agent, reads them back, and
                              compares what was kept; reads *.zst through the program zstd
    --write <folder>        where the written sessions are saved
  --native <folder>         how fast sessions of agents are read, listed, handed over and imported, with files
                              in this folder
    --import-mb <number>    the size of the imported session; 100 if not said
  --help                    this text

Exits with 1 if a figure is over its limit or cannot be measured, with 2 if called otherwise.";

/// The command to run.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Command {
    /// Measure everything.
    Measure { scale: Scale, form: Form },
    /// List the cases for callgrind.
    ListInstructionCases,
    /// Run one of these cases.
    Instructions(&'static instructions::Case),
    /// Compare the token estimate for Claude with the transcripts of this folder.
    ClaudeUsage(PathBuf),
    /// Compare context managers on the data sets of this folder.
    Quality { folder: PathBuf, options: quality::Options },
    /// Measure the session store in this folder.
    Store { folder: PathBuf, scale: Scale },
    /// Time the store for a comparison with other programs.
    StoreTimes(PathBuf),
    /// Measure the cost of a turn and of starting the program, with files in this folder.
    Overhead { folder: PathBuf, programs: Programs, scale: Scale },
    /// Write the sessions of this folder for all agents and compare.
    Pairs { folder: PathBuf, output: Option<PathBuf> },
    /// Measure how sessions of agents are read, listed, handed over and imported, with files in this folder.
    Native { folder: PathBuf, import_megabytes: usize, scale: Scale },
    /// Time builds for a comparison with another program.
    BuildTimes,
    /// Print the usage text.
    Help,
}

/// The output format of the figures.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Form {
    /// For people.
    Table,
    /// One object per line, for programs.
    JsonLines,
}

/// The size of the cases.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Scale {
    /// Messages in the large conversation.
    pub(crate) stored_messages: usize,
    /// Messages in the small one of two contexts; the large one has 16 times as many.
    pub(crate) context_messages: usize,
    /// Bytes of the small one of two texts; the large one has 16 times as many.
    pub(crate) text_bytes: usize,
    /// The time for comparing two pieces of work.
    pub(crate) time: Duration,
}

/// An error in the command line.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum UsageError {
    UnknownArgument(String),
    CaseMissing,
    /// The folder of this argument is missing.
    FolderMissing(&'static str),
    UnknownCase(String),
    /// An option of the quality bench has an invalid value.
    BadValue {
        option: &'static str,
        value: String,
    },
    NotTogether,
}

impl Scale {
    pub(crate) const FULL: Self = Self {
        stored_messages: 1_000_000,
        context_messages: 1_000,
        text_bytes: 8 * 1024,
        time: Duration::from_millis(500),
    };
    pub(crate) const QUICK: Self = Self {
        stored_messages: 50_000,
        context_messages: 500,
        text_bytes: 4 * 1024,
        time: Duration::from_millis(50),
    };
}

impl Command {
    /// Parses the arguments after the program's name.
    pub(crate) fn parse(words: impl IntoIterator<Item = String>) -> Result<Self, UsageError> {
        let (mut scale, mut form) = (Scale::FULL, Form::Table);
        let (mut other, mut store, mut overhead, mut native) = (None, None, None, None);
        let (mut pairs, mut output) = (None, None);
        let mut import_megabytes = native::IMPORT_MEGABYTES;
        let (mut given, mut words) = (0, words.into_iter());
        while let Some(word) = words.next() {
            given += 1;
            match word.as_str() {
                "--quick" => scale = Scale::QUICK,
                "--json" => form = Form::JsonLines,
                "--list-instruction-cases" => other = Some(Self::ListInstructionCases),
                "--instructions" => {
                    let name = words.next().ok_or(UsageError::CaseMissing)?;
                    let case = instructions::find(&name).ok_or(UsageError::UnknownCase(name))?;
                    other = Some(Self::Instructions(case));
                }
                "--claude-usage" => {
                    other = Some(Self::ClaudeUsage(folder(&mut words, "--claude-usage")?));
                }
                "--quality" => {
                    let folder = folder(&mut words, "--quality")?;
                    let options = quality::Options::parse(&mut words)?;
                    other = Some(Self::Quality { folder, options });
                }
                "--store" => store = Some(folder(&mut words, "--store")?),
                "--overhead" => {
                    let mut next = || words.next().map(PathBuf::from);
                    let paths = next().zip(next()).zip(next());
                    let missing = UsageError::FolderMissing("--overhead");
                    let ((folder, tertulia), hello) = paths.ok_or(missing)?;
                    overhead = Some((folder, Programs { tertulia, hello }));
                }
                "--native" => native = Some(folder(&mut words, "--native")?),
                "--import-mb" => {
                    let value = words.next().unwrap_or_default();
                    let bad =
                        || UsageError::BadValue { option: "--import-mb", value: value.clone() };
                    import_megabytes = value.parse().map_err(|_| bad())?;
                }
                "--store-times" => {
                    other = Some(Self::StoreTimes(folder(&mut words, "--store-times")?));
                }
                "--pairs" => pairs = Some(folder(&mut words, "--pairs")?),
                "--write" => output = Some(folder(&mut words, "--write")?),
                "--build-times" => other = Some(Self::BuildTimes),
                "--help" | "-h" => return Ok(Self::Help),
                _ => return Err(UsageError::UnknownArgument(word)),
            }
        }
        match other {
            Some(_) if given > 1 => Err(UsageError::NotTogether),
            Some(command) => Ok(command),
            None => Ok(match (store, overhead, native, pairs) {
                (Some(folder), _, _, _) => Self::Store { folder, scale },
                (_, Some((folder, programs)), _, _) => Self::Overhead { folder, programs, scale },
                (_, _, Some(folder), _) => Self::Native { folder, import_megabytes, scale },
                (_, _, _, Some(folder)) => Self::Pairs { folder, output },
                (None, None, None, None) => Self::Measure { scale, form },
            }),
        }
    }

    /// Runs the command.
    pub(crate) fn run(self) -> Result<ExitCode, Box<dyn Error>> {
        let mut stdout = std::io::stdout().lock();
        match self {
            Self::Measure { scale, form } => return suite::run(&scale, form, &mut stdout),
            Self::ListInstructionCases => instructions::list(&mut stdout)?,
            Self::Instructions(case) => case.run()?,
            Self::ClaudeUsage(folder) => tokens_usage::run(&folder, &mut stdout)?,
            Self::Quality { folder, options } => {
                return quality::run(&folder, &options, &mut stdout);
            }
            Self::Pairs { folder, output } => {
                return pairs::run(&folder, output.as_deref(), &mut stdout);
            }
            Self::Native { folder, import_megabytes, scale } => {
                return native::run(&folder, import_megabytes, &scale, &mut stdout);
            }
            Self::BuildTimes => build::times(&mut stdout)?,
            Self::Store { folder, scale } => return store::run(&folder, &scale, &mut stdout),
            Self::Overhead { folder, programs, scale } => {
                return overhead::run(&folder, &programs, &scale, &mut stdout);
            }
            Self::StoreTimes(folder) => return store::times(&folder, &mut stdout),
            Self::Help => writeln!(stdout, "{USAGE}")?,
        }
        Ok(ExitCode::SUCCESS)
    }
}

/// Reads the folder behind an option.
fn folder(
    words: &mut impl Iterator<Item = String>,
    option: &'static str,
) -> Result<PathBuf, UsageError> {
    words.next().map(PathBuf::from).ok_or(UsageError::FolderMissing(option))
}

impl fmt::Display for UsageError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::UnknownArgument(word) => write!(f, "there is no option {word:?}"),
            Self::CaseMissing => f.write_str("--instructions needs the name of a case"),
            Self::FolderMissing(argument) => write!(f, "{argument} needs a folder"),
            Self::UnknownCase(name) => {
                write!(f, "there is no case {name:?}; --list-instruction-cases names them")
            }
            Self::BadValue { option, value } => write!(f, "{value:?} is not a valid value for {option}"),
            Self::NotTogether => f.write_str(
                "--instructions, --list-instruction-cases, --claude-usage and --quality can be given only once and not together",
            ),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parse(line: &str) -> Result<Command, UsageError> {
        Command::parse(line.split_whitespace().map(str::to_owned))
    }

    #[test]
    fn without_arguments_everything_is_measured_and_printed_as_a_table() {
        let (scale, form) = (Scale::FULL, Form::Table);
        assert_eq!(parse(""), Ok(Command::Measure { scale, form }));
    }

    #[test]
    fn size_and_form_are_said_in_any_order() {
        let (scale, form) = (Scale::QUICK, Form::JsonLines);
        for line in ["--quick --json", "--json --quick"] {
            assert_eq!(parse(line), Ok(Command::Measure { scale, form }), "{line}");
        }
    }

    #[test]
    fn a_folder_follows_its_argument() {
        let (folder, options) = (PathBuf::from("data"), quality::Options::default());
        assert_eq!(parse("--quality data"), Ok(Command::Quality { folder, options }));
        assert_eq!(parse("--claude-usage raw"), Ok(Command::ClaudeUsage("raw".into())));
        let (folder, scale) = (PathBuf::from("disk"), Scale::QUICK);
        let store = Command::Store { folder: folder.clone(), scale };
        assert_eq!(parse("--quick --store disk"), Ok(store));
        let import_megabytes = 1_000;
        assert_eq!(
            parse("--native disk --import-mb 1000 --quick"),
            Ok(Command::Native { folder, import_megabytes, scale })
        );
        let (folder, output) = (PathBuf::from("data"), Some(PathBuf::from("out")));
        assert_eq!(parse("--pairs data --write out"), Ok(Command::Pairs { folder, output }));
    }

    #[test]
    fn what_cannot_be_understood_is_named() {
        for (line, problem) in [
            ("--fast", r#"there is no option "--fast""#),
            ("--instructions", "--instructions needs the name of a case"),
            ("--instructions x", r#"there is no case "x"; --list-instruction-cases names them"#),
            (
                "--quick --instructions strip-compact",
                "--instructions, --list-instruction-cases, --claude-usage and --quality can be given only once and not together",
            ),
            ("--claude-usage", "--claude-usage needs a folder"),
            ("--quality", "--quality needs a folder"),
            ("--native disk --import-mb many", "\"many\" is not a valid value for --import-mb"),
        ] {
            assert_eq!(parse(line).unwrap_err().to_string(), problem);
        }
    }
}
