//! Selects the parts of files to show, as blocks of lines. Blocks that were touched last and match the request best
//! come first. No line is shown twice.

use std::collections::{BTreeMap, BTreeSet, HashSet};
use std::ops::Range;

use super::Files;
use super::known::{Line, Run};
use crate::tokens::Tokenizer;

/// A search for the content of files.
pub(crate) struct ExcerptQuery<'w> {
    pub(crate) max_tokens: u64,
    pub(crate) tokenizer: &'w Tokenizer,
    /// Returns whether a message is sent unchanged.
    pub(crate) is_sent: &'w dyn Fn(usize) -> bool,
    /// Other lines that are sent.
    pub(crate) shown: &'w HashSet<&'w str>,
    /// Returns how well a text matches the request.
    pub(crate) weight: &'w dyn Fn(&str) -> u64,
    /// Selects the files by path.
    pub(crate) is_wanted: &'w dyn Fn(&str) -> bool,
}

/// Parts of files in their present state.
#[derive(Clone, Debug, Default)]
pub(crate) struct Excerpts {
    pub(crate) text: String,
    /// The messages that the lines come from.
    pub(crate) sources: BTreeSet<usize>,
}

/// The minimum and maximum number of lines in a block.
const BLOCK_LINES: (usize, usize) = (12, 40);

/// At this age, in messages, the weight of a block is halved.
const HALF_AGE: u64 = 30;

/// The maximum size of all candidates, as a multiple of the size that fits.
const CANDIDATES_FACTOR: u64 = 16;

/// Every line whose number is a multiple of this is shown with its number.
const NUMBERED: usize = 5;

/// The character between the number of a line and the line.
const NUMBER_MARK: char = '→';

/// After this many blocks that do not fit, the search for smaller ones ends.
const MISFITS_MAX: usize = 8;

struct Block<'f> {
    path: &'f str,
    /// The number of the run, and the lines in it.
    run: usize,
    lines: Range<usize>,
    touched: usize,
    known: &'f Run,
}

impl Files {
    /// Returns the parts of files that are known, wanted and not sent, as many as fit.
    pub(crate) fn excerpts(&self, query: &ExcerptQuery<'_>) -> Option<Excerpts> {
        let mut chosen: Vec<Block<'_>> = Vec::new();
        let (mut left, mut misfits) = (query.max_tokens, 0);
        for block in self.ranked(query) {
            let tokens = query.tokenizer.count(&block.shown()).tokens + 1;
            if tokens > left {
                misfits += 1;
                if misfits > MISFITS_MAX {
                    break;
                }
                continue;
            }
            left -= tokens;
            chosen.push(block);
        }
        // The whole text may need more tokens than its parts. If so, the blocks that were chosen last are removed.
        while !chosen.is_empty() {
            let excerpts = self.shown(&chosen);
            if query.tokenizer.count(&excerpts.text).tokens <= query.max_tokens {
                return Some(excerpts);
            }
            chosen.pop();
        }
        None
    }

    /// Returns all blocks, best first.
    fn ranked(&self, query: &ExcerptQuery<'_>) -> Vec<Block<'_>> {
        let mut blocks = self.blocks(query);
        blocks.sort_by_key(|block| std::cmp::Reverse(block.touched));
        let most = usize::try_from(query.max_tokens.saturating_mul(4 * CANDIDATES_FACTOR))
            .unwrap_or(usize::MAX);
        let mut bytes = 0_usize;
        let looked = blocks.iter().take_while(|block| {
            let is_in = bytes < most;
            bytes += block.bytes();
            is_in
        });
        let looked = looked.count();
        blocks.truncate(looked);
        let weights: Vec<u64> = blocks.iter().map(|block| (query.weight)(&block.text())).collect();
        let heaviest = weights.iter().copied().max().unwrap_or_default().max(1);
        let newest = blocks.iter().map(|block| block.touched).max().unwrap_or_default();
        let mut ranked: Vec<(u64, Block<'_>)> = weights
            .into_iter()
            .zip(blocks)
            .map(|(weight, block)| {
                let age = (newest - block.touched) as u64;
                let recency = 1_000 * HALF_AGE / (HALF_AGE + age);
                (recency + weight.saturating_mul(1_000) / heaviest, block)
            })
            .collect();
        ranked.sort_by(|one, other| {
            other.0.cmp(&one.0).then_with(|| other.1.touched.cmp(&one.1.touched))
        });
        ranked.into_iter().map(|(_, block)| block).collect()
    }

    fn blocks(&self, query: &ExcerptQuery<'_>) -> Vec<Block<'_>> {
        let mut blocks = Vec::new();
        let is_new = |line: &Line| {
            !line.text.trim().is_empty()
                && !line.source.is_some_and(query.is_sent)
                && !query.shown.contains(&*line.text)
        };
        for (path, file) in &self.files {
            if !(query.is_wanted)(path) || self.is_open(path) {
                continue;
            }
            for (number, run) in file.runs.iter().enumerate() {
                for lines in segments(&run.lines) {
                    let block = Block { path, run: number, touched: 0, lines, known: run };
                    if !block.lines().iter().any(is_new) {
                        continue;
                    }
                    let touched = block.lines().iter().filter_map(|line| line.source).max();
                    blocks.push(Block { touched: touched.unwrap_or(file.touched), ..block });
                }
            }
        }
        blocks
    }

    /// Returns the chosen blocks file by file; the file that was touched last is at the end.
    fn shown(&self, chosen: &[Block<'_>]) -> Excerpts {
        let mut by_file: BTreeMap<(usize, &str), Vec<&Block<'_>>> = BTreeMap::new();
        for block in chosen {
            let touched = self.files.get(block.path).map_or(0, |file| file.touched);
            by_file.entry((touched, block.path)).or_default().push(block);
        }
        let mut excerpts = Excerpts::default();
        for ((_, path), mut blocks) in by_file {
            blocks.sort_by_key(|block| (block.run, block.lines.start));
            for near in blocks
                .chunk_by(|one, next| one.run == next.run && one.lines.end == next.lines.start)
            {
                let (Some(first), Some(last)) = (near.first(), near.last()) else { continue };
                excerpts.text.push_str(&head(path, first.first(), last.last()));
                let lines = near.iter().flat_map(|block| block.lines());
                for (number, line) in (first.first()..).zip(lines) {
                    push_line(&mut excerpts.text, number, &line.text);
                    excerpts.sources.extend(line.source);
                }
            }
            excerpts
                .sources
                .extend(self.files.get(path).into_iter().flat_map(|file| &file.partial_sources));
        }
        excerpts
    }
}

impl<'f> Block<'f> {
    fn lines(&self) -> &'f [Line] {
        self.known.lines.get(self.lines.clone()).unwrap_or_default()
    }

    fn first(&self) -> usize {
        self.known.first + self.lines.start
    }

    fn last(&self) -> usize {
        self.known.first + self.lines.end - 1
    }

    /// Returns the block as it is shown on its own.
    fn shown(&self) -> String {
        let mut text = head(self.path, self.first(), self.last());
        for (number, line) in (self.first()..).zip(self.lines()) {
            push_line(&mut text, number, &line.text);
        }
        text
    }

    fn text(&self) -> String {
        let mut text = String::new();
        for line in self.lines() {
            text.push_str(&line.text);
            text.push('\n');
        }
        text
    }

    fn bytes(&self) -> usize {
        self.lines().iter().map(|line| line.text.len() + 1).sum()
    }
}

fn head(path: &str, first: usize, last: usize) -> String {
    format!("\n\n[{path}, lines {first}-{last}]")
}

fn push_line(text: &mut String, number: usize, line: &str) {
    text.push('\n');
    if number.is_multiple_of(NUMBERED) {
        text.push_str(&number.to_string());
        text.push(NUMBER_MARK);
    }
    text.push_str(line);
}

/// Returns a line of an excerpt without its number.
pub(crate) fn without_number(line: &str) -> &str {
    let rest = line.trim_start_matches(|one: char| one.is_ascii_digit());
    let bare = rest.strip_prefix(NUMBER_MARK).filter(|_| rest.len() < line.len());
    bare.unwrap_or(line)
}

/// Cuts lines into blocks, if possible before an unindented line that follows a blank one, or else before any line
/// that follows a blank one.
fn segments(lines: &[Line]) -> Vec<Range<usize>> {
    let (min, max) = BLOCK_LINES;
    let is_blank = |at: usize| lines.get(at).is_none_or(|line| line.text.trim().is_empty());
    let is_top = |at: usize| {
        lines.get(at).is_some_and(|line| !line.text.starts_with([' ', '\t', '}', ')', ']']))
    };
    let mut segments = Vec::new();
    let mut begin = 0;
    while lines.len() - begin > max {
        let ends = begin + min..=begin + max;
        let top = ends.clone().find(|end| is_blank(end - 1) && is_top(*end) && !is_blank(*end));
        let end = top.or_else(|| ends.clone().rev().find(|end| is_blank(end - 1)));
        let end = end.unwrap_or(begin + max * 3 / 5);
        segments.push(begin..end);
        begin = end;
    }
    if begin < lines.len() {
        segments.push(begin..lines.len());
    }
    segments
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::super::tests::Work;
    use super::*;

    fn lines(texts: &[&str]) -> Vec<Line> {
        texts.iter().map(|text| Line { text: (*text).into(), source: None }).collect()
    }

    fn work(count: usize, paths: &[&str]) -> Work {
        let mut work = Work::default();
        for path in paths {
            let text: Vec<String> =
                (1..=count).map(|number| format!("{path} says {number}")).collect();
            work.read(path, &text.join("\n"));
        }
        work
    }

    fn shown(work: &Work, max_tokens: u64, sent: usize, asked: &str) -> String {
        let excerpts = work.files.excerpts(&ExcerptQuery {
            max_tokens,
            tokenizer: &Tokenizer::O200k,
            is_sent: &|position| position == sent,
            shown: &HashSet::from(["b says 1"]),
            weight: &|text| u64::from(text.contains(asked)),
            is_wanted: &|_| true,
        });
        excerpts.unwrap_or_default().text
    }

    #[test]
    fn a_block_ends_before_something_begins() {
        let mut texts = vec!["  x"; 60];
        (texts[19], texts[20]) = ("", "fn b() {");
        assert_eq!(segments(&lines(&texts)), [0..20, 20..60]);
    }

    #[test]
    fn adjacent_blocks_have_one_head() {
        let text = shown(&work(100, &["a"]), 10_000, 0, "?");
        assert_eq!(text.matches("[a, lines").count(), 1);
        assert!(text.starts_with("\n\n[a, lines 1-100]\na says 1\n"));
    }

    #[test]
    fn lines_that_are_sent_are_no_reason_to_show_a_block() {
        assert_eq!(shown(&work(5, &["a"]), 10_000, 2, "?"), "");
        assert_eq!(shown(&work(1, &["b"]), 10_000, 0, "?"), "");
        assert!(shown(&work(2, &["b"]), 10_000, 0, "?").ends_with("\nb says 1\nb says 2"));
    }

    #[test]
    fn every_fifth_line_has_its_number_which_is_no_part_of_the_line() {
        let text = shown(&work(11, &["a"]), 10_000, 0, "?");
        let numbered: Vec<&str> = text.lines().filter(|line| line.contains('→')).collect();
        assert_eq!(numbered, ["5→a says 5", "10→a says 10"]);
        assert_eq!(without_number("10→a says 10"), "a says 10");
        assert_eq!(["→x", "10 x", "x→y", ""].map(without_number), ["→x", "10 x", "x→y", ""]);
    }

    #[test]
    fn the_budget_holds() {
        let work = work(90, &["a", "b", "c"]);
        for max in (0..1_500).step_by(37) {
            assert!(Tokenizer::O200k.count(&shown(&work, max, 0, "?")).tokens <= max);
        }
    }

    #[test]
    fn the_newest_and_what_is_asked_about_come_first() {
        let work = work(30, &["a", "b", "c"]);
        let is_only = |text: &str, path: &str| {
            text.starts_with(&format!("\n\n[{path}, ")) && text.matches("[").count() == 1
        };
        assert!(is_only(&shown(&work, 200, 0, "?"), "c"));
        assert!(is_only(&shown(&work, 200, 0, "a says"), "a"));
    }

    proptest! {
        #[test]
        fn segments_cover_every_line_once(texts in prop::collection::vec(prop::sample::select(vec!["", "x", " y", "}"]), 0..300), is_full: bool) {
            let texts: Vec<&str> = texts.into_iter().map(|text| if is_full { "x" } else { text }).collect();
            let covered: Vec<usize> = segments(&lines(&texts)).into_iter().flatten().collect();
            prop_assert_eq!(covered, (0..texts.len()).collect::<Vec<_>>());
        }
    }
}
