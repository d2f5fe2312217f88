//! Whose words stand at a place of a message: the sender's own, or somebody else's that are shown as code,
//! as a quote or in HTML. Asked by `parse` for markers and by the router for mentions.
//!
//! Backticks can be paired in several ways, and programs that show Markdown differ. A place is the sender's
//! own only if every way of reading says so.

use std::ops::Range;

use super::blocks::Blocks;
use super::code::{Code, Escapes, add_spans, paragraphs, touches};
use super::{html, line};

/// Whose words stand at a place.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Words {
    /// The sender's own.
    Own,
    /// In code or a quote that is marked as one.
    Foreign,
    /// Code, quoted or hidden by a rule that the sender may not have thought of: in an indented line, in
    /// one right below a quote, in HTML, in a link.
    Unclear,
}

/// Tells whose words stand where in one text.
pub(super) struct Judge<'t> {
    text: &'t str,
    code: Code,
    blocks: Blocks,
    /// Spans if they end with their block, and if they end with their line.
    spans: [Vec<Range<usize>>; 2],
    elements: Vec<Range<usize>>,
}

/// The target of a link is looked for in so many bytes; a word that is longer is taken for one.
const TARGET_BYTES_MAX: usize = 256;

impl<'t> Judge<'t> {
    pub(super) fn of(text: &'t str) -> Self {
        let blocks = Blocks::of(text);
        let code = Code::of(text, &blocks);
        let spans = [spans_of_blocks(text, &blocks), spans_of_lines(text, &blocks)];
        let is_code = |place: &Range<usize>| code.touches(place) && touches(&spans[0], place);
        let is_fence = |place: &Range<usize>| touches(&blocks.fences, place);
        let elements = html::elements(text, |place| is_code(place) || is_fence(place));
        Self { text, code, blocks, spans, elements }
    }

    pub(super) fn code(&self) -> &Code {
        &self.code
    }

    /// Whose words the range holds: its own only if no byte of it is anybody else's.
    pub(super) fn words_at(&self, range: &Range<usize>) -> Words {
        if self.is_behind_open_fence(range) {
            return Words::Unclear;
        }
        let is_code = self.code.touches(range);
        if is_code || touches(&self.blocks.quoted, range) {
            return Words::Foreign;
        }
        let is_span = self.spans.iter().any(|spans| touches(spans, range));
        let is_html = touches(&self.elements, range);
        let is_lost = touches(&self.blocks.lost, range);
        match is_span || is_html || is_lost || touches(&self.blocks.unclear, range) {
            true => Words::Unclear,
            false => Words::Own,
        }
    }

    /// Whether a fence before this has no end. It may be one too many, so what stands here is told.
    pub(super) fn is_behind_open_fence(&self, range: &Range<usize>) -> bool {
        self.blocks.open.is_some_and(|open| open <= range.start)
    }

    /// Whether brackets at this range are the text of a link, or define one: then nobody sees them.
    pub(super) fn is_link(&self, range: &Range<usize>) -> bool {
        let behind = self.text.as_bytes().get(range.end..).unwrap_or_default();
        let word = |bytes: &[u8]| {
            let near = bytes.iter().take(TARGET_BYTES_MAX);
            near.take_while(|byte| !byte.is_ascii_whitespace()).count()
        };
        // What stands behind a target and the blanks there.
        let title = |target: &[u8], length: usize| {
            let behind = target.get(length..).unwrap_or_default();
            behind.get(blank(behind)).copied()
        };
        match behind {
            [b'(', target @ ..] => {
                let target = &target[blank(target)..];
                let length = word(target);
                let has_title = matches!(title(target, length), Some(b'"' | b'\'' | b'('));
                let is_word = length == TARGET_BYTES_MAX || target[..length].contains(&b')');
                is_word || has_title || target.first() == Some(&b'<')
            }
            [b':', target @ ..] => {
                let target = &target[blank(target)..];
                // The target may stand on the next line.
                let target = match target {
                    [b'\r', b'\n', next @ ..] | [b'\n' | b'\r', next @ ..] => &next[blank(next)..],
                    here => here,
                };
                let length = word(target);
                let ends = matches!(
                    title(target, length),
                    None | Some(b'\n' | b'\r' | b'"' | b'\'' | b'(')
                );
                let is_target = length > 0 && ends || length == TARGET_BYTES_MAX;
                is_target && self.begins_line(range.start)
            }
            _ => false,
        }
    }

    fn begins_line(&self, at: usize) -> bool {
        let bytes = &self.text.as_bytes()[..at];
        let blanks = bytes.iter().rev().take(4).take_while(|byte| **byte == b' ').count();
        matches!(bytes[..at - blanks].last(), None | Some(b'\n' | b'\r'))
    }
}

/// How many blanks stand here.
fn blank(bytes: &[u8]) -> usize {
    let near = bytes.iter().take(TARGET_BYTES_MAX);
    near.take_while(|byte| matches!(byte, b' ' | b'\t')).count()
}

/// The prose between fences.
fn prose<'b>(text: &str, blocks: &'b Blocks) -> impl Iterator<Item = Range<usize>> + 'b {
    let starts = std::iter::once(0).chain(blocks.fences.iter().map(|fence| fence.end));
    let ends = blocks.fences.iter().map(|fence| fence.start).chain([text.len()]);
    starts.zip(ends).map(|(start, end)| start..end)
}

fn spans_of_blocks(text: &str, blocks: &Blocks) -> Vec<Range<usize>> {
    let mut spans = Vec::new();
    let mut cuts = blocks.cuts.iter().copied().peekable();
    for paragraph in prose(text, blocks).flat_map(|prose| paragraphs(text, prose)) {
        let mut start = paragraph.start;
        while let Some(cut) = cuts.next_if(|cut| *cut < paragraph.end) {
            let cut = cut.max(start);
            add_spans(text, start..cut, Escapes::Count, &mut spans);
            start = cut;
        }
        add_spans(text, start..paragraph.end, Escapes::Count, &mut spans);
    }
    spans
}

fn spans_of_lines(text: &str, blocks: &Blocks) -> Vec<Range<usize>> {
    let mut spans = Vec::new();
    for prose in prose(text, blocks) {
        for line in line::lines(&text[prose.clone()]) {
            let line = prose.start + line.start..prose.start + line.end;
            add_spans(text, line, Escapes::Count, &mut spans);
        }
    }
    spans
}
