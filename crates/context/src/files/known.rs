//! The known lines of one file. If the position of an edit is uncertain, all lines that it may have changed are
//! forgotten.

use std::borrow::Cow;
use std::collections::BTreeSet;
use std::ops::Range;
use std::sync::Arc;

use memchr::memmem::Finder;

use super::changes::{Edit, NUMBER_MAX};

/// The known lines of a file.
#[derive(Clone, Debug, Default)]
pub(super) struct KnownFile {
    /// In ascending order; between two runs there is at least one unknown line.
    pub(super) runs: Vec<Run>,
    /// The position of the message with the last read or change.
    pub(super) touched: usize,
    /// The sources of lines that were changed only in part.
    pub(super) partial_sources: BTreeSet<usize>,
    /// Whether the last known line is known to end with a line break; the last line of a file may have none.
    ends_with_line_break: bool,
}

/// Consecutive known lines.
#[derive(Clone, Debug)]
pub(super) struct Run {
    /// The number of the first line, from 1.
    pub(super) first: usize,
    pub(super) lines: Vec<Line>,
}

#[derive(Clone, Debug)]
pub(super) struct Line {
    pub(super) text: Arc<str>,
    /// The newest message that showed the line; `None` if only a part of the line was changed.
    pub(super) source: Option<usize>,
}

impl Line {
    /// Records that an edit changed only a part of this line. Returns the sources of the new part and of the kept
    /// part. A line that did not change keeps its source.
    fn record_partial_change(
        &mut self,
        kept: Option<&Self>,
        position: usize,
    ) -> [Option<usize>; 2] {
        match kept {
            Some(kept) if kept.text == self.text => {
                self.source = kept.source;
                [None; 2]
            }
            _ => {
                self.source = None;
                [Some(position), kept.and_then(|kept| kept.source)]
            }
        }
    }
}

/// The maximum size of a file. Larger ones are ignored, because every edit searches all known lines of its file.
const BYTES_MAX: usize = 1 << 19;

/// The maximum length of a line. Longer ones are ignored.
const LINE_BYTES_MAX: usize = 1_900;

impl Run {
    fn end(&self) -> usize {
        self.first + self.lines.len()
    }
}

impl KnownFile {
    /// Adds lines that were shown, the first one with this number.
    pub(super) fn show(&mut self, first: usize, texts: &[&str], is_whole: bool, position: usize) {
        if !(1..=NUMBER_MAX).contains(&first) || texts.is_empty() {
            return;
        }
        let shown = first..first + texts.len();
        if is_whole || !self.matches_known(first, texts) {
            self.clear();
        }
        self.ends_with_line_break &= self.runs.last().is_some_and(|last| last.end() >= shown.end);
        let mut runs = Vec::with_capacity(self.runs.len() + 2);
        for run in std::mem::take(&mut self.runs) {
            let keep = |range: Range<usize>| {
                let lines = run.lines.get(
                    range.start.saturating_sub(run.first)..range.end.saturating_sub(run.first),
                );
                let lines = lines.filter(|lines| !lines.is_empty())?.to_vec();
                Some(Run { first: range.start, lines })
            };
            runs.extend(keep(run.first..run.end().min(shown.start).max(run.first)));
            runs.extend(keep(run.first.max(shown.end).min(run.end())..run.end()));
        }
        let line = |text: &&str| Line { text: (*text).into(), source: Some(position) };
        runs.push(Run { first, lines: texts.iter().map(line).collect() });
        self.runs = runs;
        self.join();
        // Tools cut lines that are too long, sometimes without a mark.
        self.forget(|_, line| line.len() >= LINE_BYTES_MAX);
    }

    /// Returns whether all of these lines are already known with the same text.
    pub(super) fn contains(&self, first: usize, texts: &[&str]) -> bool {
        self.runs.iter().any(|run| {
            let lines = first.checked_sub(run.first).and_then(|skip| run.lines.get(skip..));
            lines.is_some_and(|lines| {
                lines.len() >= texts.len()
                    && lines.iter().zip(texts).all(|(line, text)| *line.text == **text)
            })
        })
    }

    /// Returns whether lines that are already known are shown unchanged. If not, the file was changed in a way that
    /// the log does not show.
    fn matches_known(&self, first: usize, texts: &[&str]) -> bool {
        self.runs.iter().all(|run| {
            let known = (run.first..).zip(&run.lines);
            let mut both = known
                .filter_map(|(number, line)| Some((line, texts.get(number.checked_sub(first)?)?)));
            both.all(|(line, text)| *line.text == **text)
        })
    }

    /// Replaces the known lines by the whole text of the file.
    pub(super) fn write(&mut self, content: &str, position: usize) {
        let lines: Vec<&str> = content.strip_suffix('\n').unwrap_or(content).split('\n').collect();
        self.show(1, &lines, true, position);
        self.ends_with_line_break = content.ends_with('\n');
    }

    /// Applies an edit that was made.
    pub(super) fn edit(&mut self, edit: &Edit, position: usize) {
        let Edit { old, new, all, .. } = edit;
        let is_one_line = line_count(old) == 0;
        if old == new {
            return;
        }
        if *all {
            return match is_one_line && !old.is_empty() {
                true => self.replace_all(old, new, position),
                false => self.clear(),
            };
        }
        match self.positions(edit).as_slice() {
            [(run, range)] => {
                let (run, range) = (*run, range.clone());
                match self.may_delete_line_break(edit, run, range.start) {
                    true => self.forget_from(run, range.start),
                    false => self.replace(run, range, new, position),
                }
                self.join();
            }
            [] if is_one_line && !old.is_empty() => self.edit_elsewhere(old, new),
            [] if line_count(old) == line_count(new) => self.forget_near(edit),
            _ => self.clear(),
        }
    }

    /// Returns whether deleting a text may also delete the line break after it, as some tools do.
    fn may_delete_line_break(&self, edit: &Edit, run: usize, begin: usize) -> bool {
        let Edit { old, new, .. } = edit;
        if !new.is_empty() || old.ends_with('\n') {
            return false;
        }
        let text = self.runs.get(run).map(Run::text).unwrap_or_default();
        let behind = text.get(begin..).unwrap_or_default();
        // The text may overlap another occurrence of itself that ends at a line break, even in unknown lines.
        let reaches_out = line_count(old) > 0 && behind.len() <= old.len().saturating_mul(2);
        reaches_out || behind.contains(&format!("{old}\n"))
    }

    /// Removes the lines of a run from the line at a position on.
    fn forget_from(&mut self, run: usize, begin: usize) {
        self.runs.truncate(run + 1);
        self.ends_with_line_break = true;
        if let Some(run) = self.runs.last_mut() {
            let kept = run.text().get(..begin).map_or(0, line_count).saturating_sub(1);
            run.lines.truncate(kept);
        }
    }

    /// Replaces every occurrence of a text without line breaks. There may also be occurrences after the known lines.
    fn replace_all(&mut self, old: &str, new: &str, position: usize) {
        // It is unknown whether line breaks were deleted too.
        if new.is_empty() || line_count(new) > 0 && !self.is_from_top() {
            return self.clear();
        }
        let mut added = 0;
        let mut doubts = BTreeSet::new();
        for run in &mut self.runs {
            run.first += added;
            let mut lines = Vec::with_capacity(run.lines.len());
            for line in std::mem::take(&mut run.lines) {
                if !line.text.contains(old) {
                    lines.push(line);
                    continue;
                }
                self.partial_sources.extend(line.source.into_iter().chain([position]));
                for text in line.text.replace(old, new).split('\n') {
                    if new.split('\n').any(is_stripped) {
                        doubts.insert(run.first + lines.len());
                    }
                    lines.push(Line { text: text.into(), source: None });
                }
                added += line_count(new) * line.text.matches(old).count();
            }
            run.lines = lines;
        }
        self.forget(|number, _| doubts.contains(&number));
        self.join();
    }

    /// Returns whether the known lines begin with the first line of the file and have no gap.
    fn is_from_top(&self) -> bool {
        matches!(self.runs.as_slice(), [run] if run.first == 1)
    }

    /// Applies an edit of a text without line breaks that is not in the known lines, unless the tool may have
    /// accepted a similar text.
    fn edit_elsewhere(&mut self, old: &str, new: &str) {
        let old = comparable_text(old);
        let is_near = |text: &str| comparable_text(text).contains(&old);
        let is_even = line_count(new) == 0 && !new.is_empty();
        let is_far = !self.lines().any(|line| is_near(&line.text));
        match is_even || self.is_from_top() && is_far {
            true => self.forget(|_, text| is_near(text)),
            false => self.clear(),
        }
    }

    /// Returns the matches of a text: the run, and the byte range in its text.
    fn positions(&self, edit: &Edit) -> Vec<(usize, Range<usize>)> {
        let Edit { old, is_lines, .. } = edit;
        let (old, skip) = match is_lines {
            true => (Cow::Owned(format!("\n{old}")), 1),
            false => (Cow::Borrowed(old.as_str()), 0),
        };
        let finder = Finder::new(&*old);
        let mut positions = Vec::new();
        for (number, run) in self.runs.iter().enumerate().filter(|_| old.len() > skip) {
            let text = run.text();
            // The first line of a file has no line break before it.
            let top = usize::from(run.first == 1 && !is_lines);
            let mut from = top;
            while let Some(at) = text.get(from..).and_then(|rest| finder.find(rest.as_bytes())) {
                let begin = from + at;
                from = begin + old.len();
                let is_end = from == text.len() && number + 1 == self.runs.len();
                // An empty last line may just be the end of the file.
                let is_line = *is_lines && !text.ends_with("\n\n");
                let is_sure = !is_end || self.ends_with_line_break || is_line;
                if is_sure && (run.first == 1 || !may_begin_before(&text, &old, begin)) {
                    positions.push((number, begin + skip..from));
                } else {
                    // A position that is uncertain is added twice, which makes the edit ambiguous.
                    positions.extend([(number, begin..from), (number, begin..from)]);
                }
            }
        }
        positions
    }

    fn replace(&mut self, run: usize, range: Range<usize>, new: &str, position: usize) {
        let Some(known) = self.runs.get_mut(run) else { return };
        let text = known.text();
        let (Some(before), Some(old), Some(behind)) =
            (text.get(..range.start), text.get(range.clone()), text.get(range.end..))
        else {
            return;
        };
        // Line 0 ends with the line break before the first known line. It is unknown, and so is the line after the
        // last known one.
        let (begin, end) = (line_count(before), line_count(before) + line_count(old));
        let head = before.rsplit('\n').next().unwrap_or_default();
        let tail = behind.split('\n').next().unwrap_or_default();
        let joined = format!("{head}{new}{tail}");
        let mut texts: Vec<&str> = joined.split('\n').collect();
        let count = known.lines.len();
        let gone = begin.max(1) - 1..end.min(count);
        if begin == 0 {
            texts.remove(0);
        }
        if end > count {
            texts.pop();
        }
        let skipped = usize::from(begin == 0);
        let doubts =
            new.split('\n').skip(skipped).enumerate().filter(|(_, text)| is_stripped(text));
        let doubts: BTreeSet<usize> =
            doubts.map(|(at, _)| known.first + gone.start + at).take(texts.len()).collect();
        let mut lines: Vec<Line> = texts
            .into_iter()
            .map(|text| Line { text: text.into(), source: Some(position) })
            .collect();
        if !head.is_empty()
            && let Some(line) = lines.first_mut()
        {
            self.partial_sources.extend(
                line.record_partial_change(known.lines.get(gone.start), position)
                    .into_iter()
                    .flatten(),
            );
        }
        if !tail.is_empty()
            && let Some(line) = lines.last_mut()
        {
            let kept = gone.end.checked_sub(1).and_then(|last| known.lines.get(last));
            self.partial_sources
                .extend(line.record_partial_change(kept, position).into_iter().flatten());
        }
        known.lines.splice(gone, lines);
        for later in self.runs.iter_mut().skip(run + 1) {
            later.first = (later.first + line_count(new)).saturating_sub(line_count(old));
        }
        if !doubts.is_empty() {
            self.forget(|number, _| doubts.contains(&number));
        }
    }

    /// Removes the lines that may contain a text if a part of the text is in unknown lines.
    fn forget_near(&mut self, edit: &Edit) {
        let old = match edit.is_lines {
            true => edit.old.strip_suffix('\n').unwrap_or(&edit.old),
            false => &edit.old,
        };
        let ends = [old.split('\n').next(), old.rsplit('\n').next()];
        let ends = ends.map(|end| comparable_text(end.unwrap_or_default()));
        let is_known =
            |end: &String| self.lines().any(|line| comparable_text(&line.text).contains(end));
        // If both ends of the text are known, the tool may have matched any of the known lines.
        if ends.iter().any(String::is_empty) || ends.iter().all(is_known) {
            return self.clear();
        }
        let old = comparable_text(old);
        self.forget(|_, line| {
            let line = comparable_text(line);
            old.contains(&line) || ends.iter().any(|end| line.contains(end))
        });
    }

    /// Removes lines by their numbers and texts.
    fn forget(&mut self, is_gone: impl Fn(usize, &str) -> bool) {
        let mut runs: Vec<Run> = Vec::new();
        for run in std::mem::take(&mut self.runs) {
            for (number, line) in (run.first..).zip(run.lines) {
                match runs.last_mut() {
                    _ if is_gone(number, &line.text) => {}
                    Some(last) if last.end() == number => last.lines.push(line),
                    _ => runs.push(Run { first: number, lines: vec![line] }),
                }
            }
        }
        self.runs = runs;
    }

    fn clear(&mut self) {
        self.runs.clear();
        self.partial_sources.clear();
        self.ends_with_line_break = false;
    }

    fn lines(&self) -> impl Iterator<Item = &Line> {
        self.runs.iter().flat_map(|run| &run.lines)
    }

    /// Sorts the runs and joins consecutive ones.
    fn join(&mut self) {
        self.runs.sort_by_key(|run| run.first);
        let mut runs: Vec<Run> = Vec::with_capacity(self.runs.len());
        for run in std::mem::take(&mut self.runs) {
            match runs.last_mut() {
                _ if run.lines.is_empty() => {}
                Some(last) if last.end() == run.first => last.lines.extend(run.lines),
                Some(last) if last.end() > run.first => {}
                _ => runs.push(run),
            }
        }
        self.runs = runs;
        if self.bytes() > BYTES_MAX {
            self.clear();
        }
    }

    pub(super) fn bytes(&self) -> usize {
        self.lines().map(|line| line.text.len() + 1).sum()
    }
}

impl Run {
    /// Returns the lines, each after a line break, and a line break at the end.
    fn text(&self) -> String {
        let mut text = String::from("\n");
        for line in &self.lines {
            text.push_str(&line.text);
            text.push('\n');
        }
        text
    }
}

fn line_count(text: &str) -> usize {
    text.bytes().filter(|byte| *byte == b'\n').count()
}

/// Returns whether the first occurrence of a text may begin before the known lines. Tools use the first one.
fn may_begin_before(text: &str, old: &str, begin: usize) -> bool {
    let (text, old) = (text.as_bytes(), old.as_bytes());
    (1..old.len().saturating_sub(begin))
        .any(|from| old.get(from..).is_some_and(|rest| text.starts_with(rest)))
}

/// Returns whether tools may strip the end of a line before they write it.
fn is_stripped(line: &str) -> bool {
    line.ends_with(char::is_whitespace)
}

/// Returns the characters that tools compare when they accept a similar text.
fn comparable_text(text: &str) -> String {
    let chars = text.chars().filter(|one| !one.is_whitespace() && *one != '\\');
    let chars = chars.map(|one| match one {
        '‘' | '’' => '\'',
        '“' | '”' => '"',
        other => other,
    });
    chars.collect()
}
