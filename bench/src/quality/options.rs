//! What of the quality bench is run: which half of each set, which parts, and who is compared. Read from
//! the words behind `--quality <folder>`.

use super::halves::Half;
use crate::arguments::UsageError;

/// What is run.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Options {
    pub(crate) half: Half,
    /// The parts that were named; none for all of them.
    pub(crate) only: Vec<Part>,
    /// Whether the baselines are left out but for the sliding window, which limits are held against.
    pub(crate) ours_alone: bool,
    /// Whether settings other than the default are compared too.
    pub(crate) other_settings: bool,
}

/// One part of the bench.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Part {
    /// Costs, identifiers, and what is known after a compaction.
    Cost,
    EditsClaude,
    EditsPi,
    Qmsum,
    Longmemeval,
    Personamem,
    Irc,
}

impl Options {
    /// Reads the words behind the folder.
    pub(crate) fn parse(mut words: impl Iterator<Item = String>) -> Result<Self, UsageError> {
        let mut options = Self::default();
        while let Some(word) = words.next() {
            match word.as_str() {
                "--half" => options.half = value("--half", &mut words, Half::find)?,
                "--only" => options.only.push(value("--only", &mut words, Part::find)?),
                "--ours" => options.ours_alone = true,
                "--all" => options.other_settings = true,
                _ => return Err(UsageError::UnknownArgument(word)),
            }
        }
        Ok(options)
    }

    /// Whether this part is run.
    pub(crate) fn has(&self, part: Part) -> bool {
        self.only.is_empty() || self.only.contains(&part)
    }
}

impl Part {
    const ALL: [Self; 7] = [
        Self::Cost,
        Self::EditsClaude,
        Self::EditsPi,
        Self::Qmsum,
        Self::Longmemeval,
        Self::Personamem,
        Self::Irc,
    ];

    fn find(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|part| part.name() == name)
    }

    fn name(self) -> &'static str {
        match self {
            Self::Cost => "cost",
            Self::EditsClaude => "edits-claude",
            Self::EditsPi => "edits-pi",
            Self::Qmsum => "qmsum",
            Self::Longmemeval => "longmemeval",
            Self::Personamem => "personamem",
            Self::Irc => "irc",
        }
    }
}

fn value<T>(
    option: &'static str,
    words: &mut impl Iterator<Item = String>,
    find: impl Fn(&str) -> Option<T>,
) -> Result<T, UsageError> {
    let word = words.next().unwrap_or_default();
    find(&word).ok_or(UsageError::BadValue { option, value: word })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parse(line: &str) -> Result<Options, UsageError> {
        Options::parse(line.split_whitespace().map(str::to_owned))
    }

    #[test]
    fn nothing_said_means_all_parts_of_the_report_half() {
        let options = parse("").unwrap();
        assert_eq!(options, Options::default());
        assert_eq!(options.half, Half::Report);
        assert!(Part::ALL.into_iter().all(|part| options.has(part)));
    }

    #[test]
    fn parts_are_named_one_by_one() {
        let options = parse("--only qmsum --half tune --only edits-pi --ours --all").unwrap();
        assert_eq!(options.only, [Part::Qmsum, Part::EditsPi]);
        assert!(options.has(Part::EditsPi) && !options.has(Part::Cost));
        assert_eq!(options.half, Half::Tune);
        assert!(options.ours_alone && options.other_settings);
    }

    #[test]
    fn what_cannot_be_understood_is_named() {
        for (line, problem) in [
            ("--fast", r#"there is no argument "--fast""#),
            ("--half", r#""" is no value for --half"#),
            ("--half first", r#""first" is no value for --half"#),
            ("--only pi", r#""pi" is no value for --only"#),
        ] {
            assert_eq!(parse(line).unwrap_err().to_string(), problem);
        }
    }
}
