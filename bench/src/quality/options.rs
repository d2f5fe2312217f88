//! The options of the quality bench: the half of each set, the parts, and the compared managers. Parsed from the
//! arguments after `--quality <folder>`.

use super::halves::Half;
use crate::arguments::UsageError;

/// The selected runs.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Options {
    pub(crate) half: Half,
    /// The selected parts; empty for all of them.
    pub(crate) only: Vec<Part>,
    /// Whether only the sliding window is run of the baselines. The limits need it.
    pub(crate) ours_alone: bool,
    /// Whether settings other than the default are compared too.
    pub(crate) other_settings: bool,
}

/// One part of the bench.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Part {
    /// Measures costs, identifiers, and the facts known after a compaction.
    Cost,
    EditsClaude,
    EditsPi,
    Qmsum,
    Longmemeval,
    Personamem,
    Irc,
}

impl Options {
    /// Parses the arguments after the folder.
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

    /// Returns whether this part is run.
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
            ("--fast", r#"there is no option "--fast""#),
            ("--half", r#""" is not a valid value for --half"#),
            ("--half first", r#""first" is not a valid value for --half"#),
            ("--only pi", r#""pi" is not a valid value for --only"#),
        ] {
            assert_eq!(parse(line).unwrap_err().to_string(), problem);
        }
    }
}
