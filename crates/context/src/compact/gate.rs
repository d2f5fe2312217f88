//! The checks for every summary, whoever wrote it: it is not empty, within its cap, smaller than what it covers, and
//! includes content of the previous one. Used by [`super::Compactor`] and by code that takes a summary from outside.
//! It only checks; callers decide what follows.

use std::collections::HashSet;

use super::known::{Known, distinct_names, distinct_words, without_position};
use super::{SummaryFailure, SummaryTask};
use crate::whitespace::trim;

/// The reason for refusing a text as a summary.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum Refusal {
    #[error(transparent)]
    NotWritten(SummaryFailure),
    #[error("the summary is blank")]
    Blank,
    #[error("the summary has {tokens} tokens; {max_tokens} are allowed")]
    OverCap { tokens: u64, max_tokens: u64 },
    #[error("the summary has {tokens} tokens, no fewer than the {covered_tokens} that it covers")]
    NotSmaller { tokens: u64, covered_tokens: u64 },
    #[error(
        "the summary keeps {carried} of the {known} {what} of the previous summary; it must keep at least a third"
    )]
    NotCarried {
        carried: usize,
        known: usize,
        /// The unit: `names`, or `words` if the previous summary has no names.
        what: &'static str,
    },
}

/// One of this many names of the previous summary must be in the new one, for example a third.
pub(super) const CARRIED_PART: usize = 3;

/// Checks a summary and returns its tokens. `covered_tokens` is the size of what it replaces, with the previous summary.
pub fn accept(text: &str, task: &SummaryTask<'_>, covered_tokens: u64) -> Result<u64, Refusal> {
    if trim(text).is_empty() {
        return Err(Refusal::Blank);
    }
    let tokens = task.tokenizer.count(text).tokens;
    if tokens > task.max_tokens {
        return Err(Refusal::OverCap { tokens, max_tokens: task.max_tokens });
    }
    if tokens >= covered_tokens {
        return Err(Refusal::NotSmaller { tokens, covered_tokens });
    }
    let (carried, known, what) = carried(task.previous.unwrap_or_default(), text);
    if carried < known.div_ceil(CARRIED_PART) {
        return Err(Refusal::NotCarried { carried, known, what });
    }
    Ok(tokens)
}

fn carried(previous: &str, text: &str) -> (usize, usize, &'static str) {
    let names = distinct_names(previous);
    if names.is_empty() {
        let words = distinct_words(previous);
        let found: HashSet<String> = distinct_words(text).into_iter().collect();
        let carried = words.iter().filter(|word| found.contains(*word)).count();
        return (carried, words.len(), "words");
    }
    let mut known = Known::default();
    known.read(text);
    let is_carried = |name: &&&str| known.has(name) || known.has(without_position(name));
    let carried = names.iter().filter(is_carried).count();
    (carried, names.len(), "names")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tokens::Tokenizer;

    #[track_caller]
    fn check(text: &str, previous: Option<&str>, max_tokens: u64, expected: &Result<u64, Refusal>) {
        let tokenizer = Tokenizer::Bytes;
        let task = SummaryTask { previous, covered: &[], max_tokens, tokenizer: &tokenizer };
        assert_eq!(&accept(text, &task, 10), expected, "{text}");
    }

    #[test]
    fn a_summary_that_says_enough_passes_with_its_tokens() {
        check("eight ch", None, 2, &Ok(2));
    }

    #[test]
    fn a_blank_summary_is_refused() {
        check(" \n\t", None, 100, &Err(Refusal::Blank));
    }

    #[test]
    fn a_summary_over_its_cap_is_refused() {
        let refusal = Refusal::OverCap { tokens: 3, max_tokens: 2 };
        check("more than 8", None, 2, &Err(refusal));
    }

    #[test]
    fn a_summary_as_long_as_what_it_covers_is_refused() {
        let text = "a".repeat(40);
        check(&text, None, 99, &Err(Refusal::NotSmaller { tokens: 10, covered_tokens: 10 }));
    }

    #[test]
    fn a_third_of_the_names_must_be_carried() {
        let previous = Some("- [e-1234567] a_b c_d\n- e_f g_h");
        let refusal = Refusal::NotCarried { carried: 1, known: 4, what: "names" };
        check("only a_b here", previous, 99, &Err(refusal));
        check("a_b and x/y/g_h", previous, 99, &Ok(4));
    }

    #[test]
    fn without_names_a_third_of_the_words_must_be_carried() {
        let previous = Some("Dinner with Maria, then dancing.");
        let refusal = Refusal::NotCarried { carried: 1, known: 5, what: "words" };
        check("maria came", previous, 99, &Err(refusal));
        check("Maria danced; dinner", previous, 99, &Ok(5));
        check("在家吃饭", Some("在家吃饭"), 99, &Ok(3));
    }

    #[test]
    fn a_refusal_names_its_figures() {
        let refusal = Refusal::OverCap { tokens: 3, max_tokens: 2 };
        assert_eq!(refusal.to_string(), "the summary has 3 tokens; 2 are allowed");
    }
}
