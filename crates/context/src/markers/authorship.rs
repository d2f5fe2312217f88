//! Decides who is the author of a range of a message. It is the sender, or somebody else whose words are shown as
//! code, as a quote or in HTML. `parse` uses it for markers, and the router for mentions.
//!
//! Backticks can be paired in several ways, and programs that display Markdown differ. A range counts as the
//! sender's own only if it does so in every reading.

use std::ops::Range;

use super::code::{Code, Escapes, add_spans, touches};
use super::markdown::Markdown;
use super::{html, line};

/// The author of the text at a position.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Authorship {
    Own,
    /// In code or a quote that is marked as one.
    Quoted,
    /// Code, quoted or hidden by a rule that the sender may not have considered: in an indented line, in a line
    /// right below a quote, in HTML, in a link.
    Ambiguous,
}

pub(super) struct AuthorshipIndex {
    code: Code,
    markdown: Markdown,
    /// The code spans, if every span ended with its line.
    spans: Vec<Range<usize>>,
    elements: Vec<Range<usize>>,
    /// Lines that begin with `>`, also after list marks.
    quoted: Vec<Range<usize>>,
    /// Lines that are indented, continue a quote, or may belong to code before them.
    ambiguous: Vec<Range<usize>>,
}

impl AuthorshipIndex {
    pub(super) fn new(text: &str) -> Self {
        let markdown = Markdown::new(text);
        let code = Code::new(text, &markdown);
        let is_code = |position: &Range<usize>| {
            code.touches(position) && touches(&markdown.spans, position)
                || touches(&markdown.fences, position)
        };
        let elements = html::elements(text, is_code);
        let (spans, quoted, ambiguous) = (Vec::new(), Vec::new(), Vec::new());
        let mut index = Self { code, markdown, spans, elements, quoted, ambiguous };
        index.read_lines(text);
        index
    }

    pub(super) fn code(&self) -> &Code {
        &self.code
    }

    /// Returns the author of the range. It is the sender only if every byte of it is the sender's.
    pub(super) fn authorship_at(&self, range: &Range<usize>) -> Authorship {
        if self.is_behind_open_fence(range) {
            return Authorship::Ambiguous;
        }
        if self.code.touches(range) || touches(&self.quoted, range) {
            return Authorship::Quoted;
        }
        let doubts = [&self.spans, &self.elements, &self.markdown.lost, &self.ambiguous];
        let is_own = self.markdown.is_plain(range) && !doubts.iter().any(|it| touches(it, range));
        if is_own { Authorship::Own } else { Authorship::Ambiguous }
    }

    /// Returns whether a fence before this range has no end. The missing end may be a mistake, so a marker in this
    /// range is reported.
    pub(super) fn is_behind_open_fence(&self, range: &Range<usize>) -> bool {
        self.markdown.open.is_some_and(|open| open <= range.start)
    }

    /// Reads the lines outside of fences like a person who does not know the rules. A quote continues up to an empty
    /// line or a fence.
    fn read_lines(&mut self, text: &str) {
        let mut in_quote = false;
        for range in line::lines(text) {
            if touches(&self.markdown.fences, &range) {
                in_quote = false;
                continue;
            }
            let line = &text[range.clone()];
            add_spans(text, range.clone(), Escapes::Count, &mut self.spans);
            if line.trim_ascii().is_empty() {
                in_quote = false;
                continue;
            }
            let shape = line::shape(line);
            let is_indented = shape.columns >= 4 && !self.markdown.is_item(range.start);
            in_quote |= shape.is_quote || self.markdown.is_cut(range.start);
            if shape.is_quote {
                self.quoted.push(range);
            } else if in_quote || is_indented {
                self.ambiguous.push(range);
            }
        }
    }
}

/// The number of bytes that are searched for the target of a link.
const TARGET_BYTES_MAX: usize = 256;

/// Returns whether the brackets at this range look like a link or its definition.
pub(super) fn looks_like_link(text: &str, range: &Range<usize>) -> bool {
    let behind = &text[range.end..];
    let near = &behind[..behind.floor_char_boundary(TARGET_BYTES_MAX)];
    let is_title = |word: &str| word.starts_with(['"', '\'', '(']);
    if let Some(target) = near.strip_prefix('(') {
        let mut words = target.split_ascii_whitespace();
        let word = words.next().unwrap_or_default();
        word.starts_with('<')
            || word.contains(')')
            || word.len() == target.len()
            || words.next().is_some_and(is_title)
    } else if let Some(target) = near.strip_prefix(':') {
        let before = text.as_bytes()[..range.start].iter().rev().take(4);
        let begins_line = before
            .copied()
            .find(|byte| *byte != b' ')
            .is_none_or(|byte| byte == b'\n' || byte == b'\r');
        let line = target.trim_ascii_start().split(['\n', '\r']).next().unwrap_or_default();
        begins_line && line.split_ascii_whitespace().nth(1).is_none_or(is_title)
    } else {
        false
    }
}
