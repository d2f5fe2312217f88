//! Finds the code in a text: fenced blocks and inline spans. `markdown` finds the fences. Spans are paired in one
//! pass, whatever backticks the text contains, and without knowing where blocks begin.

use std::collections::HashMap;
use std::ops::Range;

use super::markdown::Markdown;

#[derive(Debug, Default)]
pub(super) struct Code {
    regions: Vec<Range<usize>>,
    fences: Vec<usize>,
}

/// Whether a backslash escapes a backtick.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Escapes {
    Count,
    AreText,
}

struct Run {
    range: Range<usize>,
    is_escaped: bool,
}

impl Code {
    pub(super) fn find(text: &str) -> Self {
        match memchr::memchr2(b'`', b'~', text.as_bytes()) {
            Some(_) => Self::new(text, &Markdown::new(text)),
            None => Self::default(),
        }
    }

    pub(super) fn new(text: &str, markdown: &Markdown) -> Self {
        let mut code = Self::default();
        let mut prose = 0;
        for fence in &markdown.fences {
            code.add_paragraphs(text, prose..fence.start);
            code.fences.push(fence.start);
            code.regions.push(fence.clone());
            prose = fence.end;
        }
        code.add_paragraphs(text, prose..text.len());
        code
    }

    pub(super) fn touches(&self, range: &Range<usize>) -> bool {
        touches(&self.regions, range)
    }

    pub(super) fn next_fence(&self, from: usize) -> Option<usize> {
        self.fences.get(self.fences.partition_point(|fence| *fence < from)).copied()
    }

    /// Adds the spans between two fences. A span does not extend over a blank line.
    fn add_paragraphs(&mut self, text: &str, prose: Range<usize>) {
        for paragraph in paragraphs(text, prose) {
            add_spans(text, paragraph, Escapes::AreText, &mut self.regions);
        }
    }
}

/// Returns whether a range shares a byte with one of these regions, which are in order and do not overlap.
pub(super) fn touches(regions: &[Range<usize>], range: &Range<usize>) -> bool {
    let next = regions.partition_point(|region| region.end <= range.start);
    regions.get(next).is_some_and(|region| region.start < range.end)
}

/// Returns the ranges of lines without a blank line between them.
pub(super) fn paragraphs(text: &str, prose: Range<usize>) -> impl Iterator<Item = Range<usize>> {
    let (mut at, end) = (prose.start, prose.end);
    std::iter::from_fn(move || {
        let start = at;
        let lines = text.get(start..end)?.split_inclusive('\n');
        for line in lines {
            at += line.len();
            if line.trim_ascii().is_empty() {
                break;
            }
        }
        (start < end).then_some(start..at)
    })
}

pub(super) fn add_spans(
    text: &str,
    paragraph: Range<usize>,
    escapes: Escapes,
    spans: &mut Vec<Range<usize>>,
) {
    let runs = backtick_runs(&text[paragraph.clone()], escapes);
    if runs.is_empty() {
        return;
    }
    // For every run, the next one that closes it, found in one pass from the end.
    let mut closes = vec![None; runs.len()];
    let mut last_of_length = HashMap::new();
    for (index, run) in runs.iter().enumerate().rev() {
        closes[index] =
            last_of_length.get(&(run.range.len() - usize::from(run.is_escaped))).copied();
        last_of_length.insert(run.range.len(), index);
    }
    let mut index = 0;
    while index < runs.len() {
        let Some(close) = closes[index] else {
            index += 1;
            continue;
        };
        let start = runs[index].range.start + usize::from(runs[index].is_escaped);
        let end = runs[close].range.end;
        spans.push(paragraph.start + start..paragraph.start + end);
        index = close + 1;
    }
}

fn backtick_runs(text: &str, escapes: Escapes) -> Vec<Run> {
    let bytes = text.as_bytes();
    let mut runs: Vec<Run> = Vec::new();
    for at in memchr::memchr_iter(b'`', bytes) {
        match runs.last_mut() {
            Some(run) if run.range.end == at => run.range.end += 1,
            _ => {
                let before = bytes[..at].iter().rev().take_while(|byte| **byte == b'\\').count();
                let is_escaped = escapes == Escapes::Count && before % 2 == 1;
                runs.push(Run { range: at..at + 1, is_escaped });
            }
        }
    }
    runs
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Checks a text in which code is written as `‹…›`.
    fn check(text: &str, expected: &str) {
        let mut shown = String::new();
        let mut until = 0;
        for region in Code::find(text).regions {
            shown.push_str(&text[until..region.start]);
            shown.push('‹');
            shown.push_str(&text[region.clone()]);
            shown.push('›');
            until = region.end;
        }
        shown.push_str(&text[until..]);
        assert_eq!(shown, expected);
    }

    #[test]
    fn a_span_ends_at_the_next_run_of_the_same_length() {
        check("a `b` c", "a ‹`b`› c");
        check("``a`b`` c`", "‹``a`b``› c`");
        check("`a\nb`", "‹`a\nb`›");
        check("`a\n\nb`", "`a\n\nb`");
        check("no ` code", "no ` code");
    }

    #[test]
    fn a_fence_ends_at_one_that_is_as_long_or_at_the_end() {
        check("x\n```rust\ny\n```\nz", "x\n‹```rust\ny\n```\n›z");
        check("~~~\n```\n~~~\nz", "‹~~~\n```\n~~~\n›z");
        check("````\n```\n````\nz", "‹````\n```\n````\n›z");
        check("```\nnever closed", "‹```\nnever closed›");
        check(
            "- a\n\n    ```\n    b\n\n    c\n    ```\nd",
            "- a\n\n‹    ```\n    b\n\n    c\n    ```\n›d",
        );
        check("```a``` b", "‹```a```› b");
        check("- ```\n  a\n  ```\nb", "‹- ```\n  a\n  ```\n›b");
        check("- ```\n  a\nb", "‹- ```\n  a\n›b");
        check("    ```\n\n```\na\n```\n", "‹    ```\n›\n‹```\na\n```\n›");
        check("    ```\n\n    a\n    ```\nb", "‹    ```\n\n    a\n    ```\n›b");
        check("   ```\na\n     ```\nb", "‹   ```\na\n     ```\nb›");
        check("> ```\n\na", "> ```\n\na");
    }

    /// Checks the spans of a text on its own.
    #[test]
    fn an_escaped_backtick_opens_nothing_and_closes_all_the_same() {
        let spans = |text: &'static str| {
            let mut found = Vec::new();
            add_spans(text, 0..text.len(), Escapes::Count, &mut found);
            found.into_iter().map(|range| &text[range]).collect::<Vec<_>>()
        };
        assert_eq!(spans(r"\` a `b` c"), ["`b`"]);
        assert_eq!(spans(r"\\`a`"), ["`a`"]);
        assert_eq!(spans(r"`a\` b"), [r"`a\`"]);
        assert_eq!(spans(r"\``a` b"), ["`a`"]);
        assert_eq!(spans(r"\` a"), [""; 0]);
    }
}
