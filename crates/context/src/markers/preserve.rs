//! Strips markers and keeps every byte outside of them: code, indentation and blank lines.
//!
//! A line with only markers is removed as a whole. Elsewhere a marker is removed with the spaces before it or, at the
//! start of a line, with the spaces after it. Markers in code are text.

use std::borrow::Cow;
use std::ops::Range;

use super::Stripped;
use super::code::Code;
use super::scan::{Found, Kind, Scanner, brackets, is_blank};

pub(super) fn strip(text: &str) -> Stripped<'_> {
    let markers = markers_with_blocks(text);
    let blocks = markers.iter().filter(|found| found.kind == Kind::TaskBlock);
    let task_block_bytes = blocks.map(|found| found.whole.len()).sum();
    Stripped { text: without(text, &markers), task_block_bytes }
}

pub(super) fn without<'a>(text: &'a str, markers: &[Found]) -> Cow<'a, str> {
    if markers.is_empty() {
        return Cow::Borrowed(text);
    }
    Cow::Owned(ranges_without(text, markers).into_iter().map(|range| &text[range]).collect())
}

/// Removes these markers with the spaces that they leave, and returns the other ranges of the text. No range is
/// empty.
pub(super) fn ranges_without(text: &str, markers: &[Found]) -> Vec<Range<usize>> {
    let mut kept = Vec::new();
    let mut until = 0;
    for group in groups(text, markers) {
        let gap = Gap::around(text, &group);
        // The spaces before a group may have been removed with the previous group.
        kept.push(until..gap.range.start.max(until));
        until = gap.range.end;
        if gap.whole_line && until == text.len() && !text.ends_with('\n') {
            drop_line_break(text, &mut kept);
        }
    }
    kept.push(until..text.len());
    kept.retain(|range| !range.is_empty());
    kept
}

/// Returns the markers outside code, in order, without overlaps. The range of a block includes its text.
fn markers_with_blocks(text: &str) -> Vec<Found> {
    let mut markers: Vec<Found> = Vec::new();
    let mut scanner = Scanner::new(text);
    // Finding code needs a pass over the text, so it is done only if the text contains a marker.
    let mut code = None;
    for at in brackets(text, 0) {
        if markers.last().is_some_and(|last| at < last.whole.end) {
            continue;
        }
        let Some(mut found) = scanner.marker_at(at) else { continue };
        let code = code.get_or_insert_with(|| Code::find(text));
        if code.touches(&found.whole) {
            continue;
        }
        if found.kind == Kind::TaskBlock {
            found.whole.end = block_end(text, found.whole.end, &mut scanner, code);
        }
        markers.push(found);
    }
    markers
}

/// Returns the end of a block: a blank line, a fenced block, the next marker or the end of the text.
fn block_end(text: &str, body: usize, scanner: &mut Scanner<'_>, code: &Code) -> usize {
    let blank = scanner.paragraph_end(body);
    // The line break before the fence belongs to the fence.
    let fence = code.next_fence(body).map_or(text.len(), |fence| (fence - 1).max(body));
    let limit = blank.min(fence);
    let mut is_marker =
        |at: &usize| scanner.marker_at(*at).is_some_and(|found| !code.touches(&found.whole));
    brackets(text, body).take_while(|at| *at < limit).find(|at| is_marker(at)).unwrap_or(limit)
}

/// Groups markers on one line with only spaces between them, which are removed together.
fn groups<'a>(text: &'a str, markers: &'a [Found]) -> impl Iterator<Item = Range<usize>> + 'a {
    let blank_between = |left: &Found, right: &Found| {
        text.as_bytes()[left.whole.end..right.whole.start].iter().all(|byte| is_blank(*byte))
    };
    markers
        .chunk_by(blank_between)
        .filter_map(|group| Some(group.first()?.whole.start..group.last()?.whole.end))
}

struct Gap {
    range: Range<usize>,
    whole_line: bool,
}

impl Gap {
    fn around(text: &str, group: &Range<usize>) -> Self {
        let bytes = text.as_bytes();
        let spaces_before =
            bytes[..group.start].iter().rev().take_while(|byte| is_blank(**byte)).count();
        let spaces_after = bytes[group.end..].iter().take_while(|byte| is_blank(**byte)).count();
        let (start, end) = (group.start - spaces_before, group.end + spaces_after);
        let starts_line = start == 0 || bytes[start - 1] == b'\n';
        let ends_line = end == text.len() || bytes[end] == b'\n';
        let range = match (starts_line, ends_line) {
            (true, true) => start..(end + 1).min(text.len()),
            // The spaces before the marker are the indentation of the text after it, so they stay.
            (true, false) => group.start..end,
            (false, _) => start..group.end,
        };
        Self { range, whole_line: starts_line && ends_line }
    }
}

/// Removes the line break before the last line. Called if that line was removed and had no line break of its own.
fn drop_line_break(text: &str, kept: &mut Vec<Range<usize>>) {
    kept.retain(|range| !range.is_empty());
    let Some(last) = kept.last_mut() else { return };
    let line = &text[last.clone()];
    let line = line.strip_suffix('\n').map(|line| line.strip_suffix('\r').unwrap_or(line));
    if let Some(line) = line {
        last.end = last.start + line.len();
    }
}
