//! The command line of a role: only `--name value` pairs.

use std::collections::BTreeMap;

use crate::error::FaultsError;
use crate::rng::Rng;

/// The usage text.
pub(crate) const USAGE: &str = "\
Usage: tertulia-faults <role> [--seed N] [--option value]...

Roles, and their options with default values:
  kills --kills 500                    kill 4 processes that append to one file
  images --images 20000                power cuts: possible states of a disk; --trace FILE repeats
                                       a bad trace that an earlier run stored
  errors --stride 1                    disk errors at every call, once and persistent
  copies --stride 1                    kills and errors at every call of backup, restore, import, export,
                                       migration, branch, delete, redact, trust and init; --job NAME
                                       selects one of them
  cuts --images 1000                   power cuts during each of these commands; --job NAME selects one
  disk-full --rounds 20                no space left, and space again
  read-only                            a file, and a file system, that cannot be written to
  locked                               a writer that hangs and holds the lock
  damage --stride 61 --cuts 500        changed bits and truncated files
  clock --jumps 12                     a clock that runs backwards
  race --rounds 10000                  two processes that expect the same tail
  trees --count 200                    hostile process trees, as root and as an ordinary user
  postgres-kills --kills 500           kill a PostgreSQL server that 4 processes use
  all --kills 500 --images 20000       all of them in turn

A role prints its figures on one line and exits with 1 if a guarantee was broken or no fault occurred.
";

/// The options of one call.
#[derive(Clone, Debug)]
pub(crate) struct Options {
    role: String,
    values: BTreeMap<String, String>,
}

impl Options {
    /// Parses pairs of names and values; only these names are known.
    pub(crate) fn parse(
        role: &str,
        arguments: &[String],
        names: &[&str],
    ) -> Result<Self, FaultsError> {
        let mut values = BTreeMap::new();
        let mut arguments = arguments.iter();
        while let Some(argument) = arguments.next() {
            let name = argument.strip_prefix("--").filter(|name| names.contains(name));
            let unknown = || FaultsError::Usage(format!("`{role}` does not accept `{argument}`"));
            let name = name.ok_or_else(unknown)?;
            let missing = || FaultsError::Usage(format!("`{argument}` needs a value"));
            values.insert(name.to_owned(), arguments.next().ok_or_else(missing)?.clone());
        }
        Ok(Self { role: role.to_owned(), values })
    }

    pub(crate) fn text(&self, name: &str) -> Option<&str> {
        self.values.get(name).map(String::as_str)
    }

    /// Returns a required text.
    pub(crate) fn needed(&self, name: &str) -> Result<&str, FaultsError> {
        let missing = || FaultsError::Usage(format!("`{}` needs `--{name}`", self.role));
        self.text(name).ok_or_else(missing)
    }

    pub(crate) fn number(&self, name: &str, otherwise: u64) -> Result<u64, FaultsError> {
        let Some(text) = self.text(name) else { return Ok(otherwise) };
        let wrong = || FaultsError::Usage(format!("`--{name}` must be a number; got {text:?}"));
        text.parse().map_err(|_| wrong())
    }

    /// Returns the seed; generates and keeps one if none was given.
    pub(crate) fn seed(&mut self) -> Result<u64, FaultsError> {
        let seed = self.number("seed", Rng::seed())?;
        self.values.insert("seed".to_owned(), seed.to_string());
        Ok(seed)
    }

    /// Returns the command that repeats the run.
    pub(crate) fn command(&self) -> String {
        let mut command = format!("tertulia-faults {}", self.role);
        for (name, value) in &self.values {
            command.push_str(&format!(" --{name} {value}"));
        }
        command
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parse(line: &str) -> Result<Options, FaultsError> {
        let words: Vec<String> = line.split_whitespace().map(str::to_owned).collect();
        Options::parse("kills", &words, &["seed", "kills"])
    }

    #[test]
    fn names_and_values_are_parsed_and_repeatable() {
        let mut options = parse("--kills 20 --seed 7").unwrap();
        assert_eq!(options.number("kills", 500).unwrap(), 20);
        assert_eq!(options.seed().unwrap(), 7);
        assert_eq!(options.command(), "tertulia-faults kills --kills 20 --seed 7");
    }

    #[test]
    fn a_generated_seed_is_in_the_command() {
        let mut options = parse("").unwrap();
        let seed = options.seed().unwrap();
        assert_eq!(options.command(), format!("tertulia-faults kills --seed {seed}"));
        assert_eq!(options.seed().unwrap(), seed);
    }

    #[test]
    fn unknown_names_and_invalid_values_are_refused() {
        assert!(parse("--cycles 3").is_err());
        assert!(parse("kills").is_err());
        assert!(parse("--kills").is_err());
        assert!(parse("--kills many").unwrap().number("kills", 1).is_err());
    }
}
