//! The known lines of one file. Where an edit cannot be placed, all that it may have changed is forgotten.

use std::collections::BTreeSet;
use std::ops::Range;
use std::sync::Arc;

use memchr::memmem::Finder;

use super::changes::Edit;

/// What is known of a file.
#[derive(Clone, Debug, Default)]
pub(super) struct KnownFile {
    /// In ascending order; between two of them there is at least one line that is not known.
    pub(super) runs: Vec<Run>,
    /// When it was read or changed last.
    pub(super) touched: usize,
    /// Where lines came from of which an edit kept a part.
    pub(super) mixed: BTreeSet<usize>,
}

/// Known lines that follow each other.
#[derive(Clone, Debug)]
pub(super) struct Run {
    /// The number of the first one, from 1.
    pub(super) first: usize,
    pub(super) lines: Vec<Line>,
}

#[derive(Clone, Debug)]
pub(super) struct Line {
    pub(super) text: Arc<str>,
    /// The message that showed it last; `None` where an edit kept a part of what was there.
    pub(super) source: Option<usize>,
}

impl Line {
    /// Of a line of which an edit kept a part: where that part and the rest come from. One that is as it was stays
    /// what it was.
    fn mix(&mut self, kept: Option<&Self>, place: usize) -> [Option<usize>; 2] {
        match kept {
            Some(kept) if kept.text == self.text => {
                self.source = kept.source;
                [None; 2]
            }
            _ => {
                self.source = None;
                [Some(place), kept.and_then(|kept| kept.source)]
            }
        }
    }
}

/// Of larger files nothing is known: every edit looks through all that is known of its file.
const BYTES_MAX: usize = 1 << 19;

/// Longer lines are not known.
const LINE_BYTES_MAX: usize = 1_900;

impl Run {
    fn end(&self) -> usize {
        self.first + self.lines.len()
    }
}

impl KnownFile {
    /// Takes in lines that were shown, from the first one's number on.
    pub(super) fn show(&mut self, first: usize, texts: &[&str], is_whole: bool, place: usize) {
        let shown = first..first + texts.len();
        if is_whole || !self.agrees(first, texts) {
            self.runs.clear();
            self.mixed.clear();
        }
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
        let line = |text: &&str| Line { text: (*text).into(), source: Some(place) };
        if !texts.is_empty() {
            runs.push(Run { first, lines: texts.iter().map(line).collect() });
        }
        self.runs = runs;
        // Tools cut lines that are too long, not always with a mark.
        self.forget(|line| line.len() >= LINE_BYTES_MAX);
        self.join();
    }

    /// Whether lines that are known already are shown as they are known. If not, something changed the file that
    /// the log does not tell.
    fn agrees(&self, first: usize, texts: &[&str]) -> bool {
        self.runs.iter().all(|run| {
            let known = (run.first..).zip(&run.lines);
            let mut both = known
                .filter_map(|(number, line)| Some((line, texts.get(number.checked_sub(first)?)?)));
            both.all(|(line, text)| *line.text == **text)
        })
    }

    /// Takes in the whole text of the file.
    pub(super) fn write(&mut self, content: &str, place: usize) {
        let lines: Vec<&str> = content.strip_suffix('\n').unwrap_or(content).split('\n').collect();
        self.show(1, &lines, true, place);
    }

    /// Takes in an edit that was made.
    pub(super) fn edit(&mut self, edit: &Edit, place: usize) {
        let Edit { old, new, all } = edit;
        if old == new {
            return;
        }
        let is_even = line_count(old) == line_count(new);
        let is_one_line = line_count(old) == 0;
        let is_from_top = matches!(self.runs.as_slice(), [run] if run.first == 1);
        let places = self.places(old);
        let is_placed = match places.len() {
            0 => false,
            // Elsewhere there may be more of it, and lines behind would have other numbers then.
            _ if *all => is_one_line && (is_even || is_from_top),
            count => count == 1,
        };
        if is_placed {
            // From the end on, so that the places stay right.
            for (run, range) in places.into_iter().rev() {
                self.replace(run, range, new, place);
            }
            return self.join();
        }
        match is_even && places.is_empty() && !old.is_empty() {
            true if is_one_line => {}
            true => self.forget_near(old),
            false => self.runs.clear(),
        }
    }

    /// Where a text stands: the run, and the bytes in its text.
    fn places(&self, old: &str) -> Vec<(usize, Range<usize>)> {
        let finder = Finder::new(old);
        let mut places = Vec::new();
        for (number, run) in self.runs.iter().enumerate().filter(|_| !old.is_empty()) {
            let text = run.text();
            // The first line of a file has no break before it.
            let mut from = usize::from(run.first == 1);
            while let Some(at) = text.get(from..).and_then(|rest| finder.find(rest.as_bytes())) {
                let begin = from + at;
                from = begin + old.len();
                places.push((number, begin..from));
            }
        }
        places
    }

    fn replace(&mut self, run: usize, range: Range<usize>, new: &str, place: usize) {
        let Some(known) = self.runs.get_mut(run) else { return };
        let text = known.text();
        let (Some(before), Some(old), Some(behind)) =
            (text.get(..range.start), text.get(range.clone()), text.get(range.end..))
        else {
            return;
        };
        // Line 0 ends with the break before the first line; it is not known, as the line behind the last one is not.
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
        let mut lines: Vec<Line> =
            texts.into_iter().map(|text| Line { text: text.into(), source: Some(place) }).collect();
        if !head.is_empty()
            && let Some(line) = lines.first_mut()
        {
            self.mixed.extend(line.mix(known.lines.get(gone.start), place).into_iter().flatten());
        }
        if !tail.is_empty()
            && let Some(line) = lines.last_mut()
        {
            let kept = gone.end.checked_sub(1).and_then(|last| known.lines.get(last));
            self.mixed.extend(line.mix(kept, place).into_iter().flatten());
        }
        known.lines.splice(gone, lines);
        for later in self.runs.iter_mut().skip(run + 1) {
            later.first = (later.first + line_count(new)).saturating_sub(line_count(old));
        }
    }

    /// Forgets the lines that a text may hold, which stands where nothing is known, at least in part.
    fn forget_near(&mut self, old: &str) {
        let ends = [old.lines().next(), old.lines().next_back()];
        let ends = ends.map(|end| end.unwrap_or_default().trim());
        self.forget(|line| {
            let bare = line.trim();
            old.contains(bare) || ends.iter().any(|end| !end.is_empty() && bare.contains(end))
        });
    }

    fn forget(&mut self, is_gone: impl Fn(&str) -> bool) {
        let mut runs: Vec<Run> = Vec::new();
        for run in std::mem::take(&mut self.runs) {
            for (number, line) in (run.first..).zip(run.lines) {
                match runs.last_mut() {
                    _ if is_gone(&line.text) => {}
                    Some(last) if last.end() == number => last.lines.push(line),
                    _ => runs.push(Run { first: number, lines: vec![line] }),
                }
            }
        }
        self.runs = runs;
    }

    /// Puts runs in order and joins those that follow each other.
    fn join(&mut self) {
        self.runs.sort_by_key(|run| run.first);
        let mut runs: Vec<Run> = Vec::with_capacity(self.runs.len());
        for run in std::mem::take(&mut self.runs) {
            match runs.last_mut() {
                _ if run.lines.is_empty() => {}
                Some(last) if last.end() == run.first => last.lines.extend(run.lines),
                _ => runs.push(run),
            }
        }
        self.runs = runs;
        if self.bytes() > BYTES_MAX {
            self.runs.clear();
        }
    }

    pub(super) fn bytes(&self) -> usize {
        self.runs.iter().flat_map(|run| &run.lines).map(|line| line.text.len() + 1).sum()
    }
}

impl Run {
    /// Its lines, each behind a line break, and one at the end.
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
