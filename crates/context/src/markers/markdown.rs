//! Reads a text as CommonMark with pulldown-cmark: what is plain text, what is code, and where list items begin.
//! Called by `code` and `own`, which add simpler readings of the same text.

use std::borrow::Cow;
use std::ops::Range;

use pulldown_cmark::{CodeBlockKind, Event, Options, Parser, Tag, TagEnd};

use super::line;

/// The parts of a text. All ranges are in order and do not overlap. Text that is too costly to read does not count
/// as plain.
#[derive(Debug, Default)]
pub(super) struct Markdown {
    /// Fenced code in whole lines, outside of quotes.
    pub(super) fences: Vec<Range<usize>>,
    pub(super) spans: Vec<Range<usize>>,
    /// Lines after a code block that ended because they are not indented like its list item. They reach to the next
    /// fence. Their author meant them to be code.
    pub(super) lost: Vec<Range<usize>>,
    pub(super) open: Option<usize>,
    /// The ranges of plain text, outside of code, quotes, links and HTML.
    plain: Vec<Range<usize>>,
    /// The starts of lines that begin a list item.
    items: Vec<usize>,
    /// The ends of code blocks that ended together with their list item.
    cuts: Vec<usize>,
}

/// The maximum depth of lists and quotes. Deeper ones are not read, because the cost of a line grows with the depth.
const DEPTH_MAX: usize = 100;

/// The maximum number of times that the rest of a text is read again after lost code.
const READINGS_MAX: usize = 4;

#[derive(Default)]
struct State {
    /// The end of the current quote.
    quote_end: usize,
    /// The end of the current quote, code, link or image.
    hidden_end: usize,
    fence: Option<Fence>,
    /// A fenced block that ended with its list item, and where it ended.
    cut: Option<(Fence, usize)>,
}

struct Fence {
    start: usize,
    sign: u8,
    length: usize,
    /// The end of its code, where the closing fence begins.
    code_end: usize,
}

impl Markdown {
    pub(super) fn new(text: &str) -> Self {
        let mut markdown = Self::default();
        if line::lines(text).any(|line| line::depth_max(&text[line]) > DEPTH_MAX) {
            return markdown;
        }
        let text = with_plain_line_ends(text);
        let mut next = Some(0);
        for _ in 0..READINGS_MAX {
            next = next.and_then(|from| markdown.read(&text, from));
        }
        markdown
    }

    pub(super) fn is_plain(&self, range: &Range<usize>) -> bool {
        let next = self.plain.partition_point(|plain| plain.end <= range.start);
        self.plain.get(next).is_some_and(|it| it.start <= range.start && range.end <= it.end)
    }

    pub(super) fn is_item(&self, line: usize) -> bool {
        self.items.binary_search(&line).is_ok()
    }

    /// Returns whether a code block ended before this line because the line is not indented like its list item.
    pub(super) fn is_cut(&self, line: usize) -> bool {
        self.cuts.binary_search(&line).is_ok()
    }

    /// Reads the text from a position on. Returns the end of lost code; the text after it must be read again.
    fn read(&mut self, text: &str, from: usize) -> Option<usize> {
        let mut state = State::default();
        let parser = Parser::new_ext(text.get(from..)?, Options::empty());
        for (event, range) in parser.into_offset_iter() {
            let range = from + range.start..from + range.end;
            match event {
                Event::Start(Tag::Item) => {
                    let line = line::start(text, range.start);
                    if self.items.last() != Some(&line) {
                        self.items.push(line);
                    }
                }
                Event::Start(Tag::BlockQuote(_)) => {
                    state.quote_end = state.quote_end.max(range.end);
                    state.hide(&range);
                }
                Event::Start(Tag::CodeBlock(kind)) => {
                    state.hide(&range);
                    if range.start >= state.quote_end
                        && let Some(end) = self.start_code(text, &kind, &range, &mut state)
                    {
                        return Some(end);
                    }
                }
                Event::End(TagEnd::CodeBlock) => {
                    if let Some(fence) = state.fence.take() {
                        state.cut = self.end_fence(text, fence, range.end).or(state.cut);
                    }
                }
                Event::Start(Tag::Link { .. } | Tag::Image { .. }) => state.hide(&range),
                Event::Code(_) => self.spans.push(range),
                Event::Text(_) => match &mut state.fence {
                    Some(fence) => fence.code_end = range.end,
                    None if range.start >= state.hidden_end => self.add_plain(text, range),
                    None => {}
                },
                _ => {}
            }
        }
        None
    }

    /// Begins a code block outside of quotes. Returns the end of its first line if lost code ends there.
    fn start_code(
        &mut self,
        text: &str,
        kind: &CodeBlockKind<'_>,
        range: &Range<usize>,
        state: &mut State,
    ) -> Option<usize> {
        let block = &text[range.clone()];
        if matches!(kind, CodeBlockKind::Indented) {
            self.add_indented(text, range);
            return None;
        }
        let line_end = line::end(text, range.start);
        let closing = &text[range.start..line_end];
        if let Some((_, cut)) = state.cut.take_if(|(fence, _)| fence.is_closed_by(closing)) {
            self.lost.push(cut..line_end);
            return Some(line_end);
        }
        state.fence = Some(Fence::new(block, range.start, line_end));
        None
    }

    /// Adds indented code that contains a fence. By the rules there is no fence in it, but the author meant one.
    fn add_indented(&mut self, text: &str, range: &Range<usize>) {
        let mut lines = line::lines(&text[range.clone()])
            .map(|line| range.start + line.start..range.start + line.end);
        let opening = lines.find_map(|line| {
            let code = text[line.clone()].trim_ascii_start();
            Some(Fence::new(code, line.start, line.end)).filter(Fence::is_one)
        });
        let Some(fence) = opening else { return };
        let last = lines.filter(|line| !text[line.clone()].trim_ascii().is_empty()).last();
        let is_closed = last.is_some_and(|last| fence.is_closed_by(&text[last]));
        let start = line::start(text, fence.start);
        self.fences.push(start..line::end(text, range.end.saturating_sub(1)));
        let behind = text[range.end..].trim_ascii_start();
        if !is_closed && behind.is_empty() {
            self.open = Some(start);
        } else if !is_closed {
            self.cuts.push(line::start(text, text.len() - behind.len()));
        }
    }

    /// Ends a fenced block. Returns it if it ended with its list item.
    fn end_fence(&mut self, text: &str, fence: Fence, end: usize) -> Option<(Fence, usize)> {
        let closing = text.as_bytes().get(fence.code_end..end).unwrap_or_default();
        let is_closed = closing.contains(&fence.sign);
        let start = line::start(text, fence.start);
        if is_closed {
            self.fences.push(start..line::end(text, end));
            return None;
        }
        self.fences.push(start..end);
        if end == text.len() {
            self.open = Some(start);
            return None;
        }
        self.cuts.push(end);
        Some((fence, end))
    }

    /// Adds plain text, and joins it with the previous one if only spaces and emphasis marks are between them.
    fn add_plain(&mut self, text: &str, range: Range<usize>) {
        let is_near = |gap: &str| gap.bytes().all(|byte| b" \t\r\n\\*_".contains(&byte));
        match self.plain.last_mut() {
            Some(last) if text.get(last.end..range.start).is_some_and(is_near) => {
                last.end = range.end;
            }
            _ => self.plain.push(range),
        }
    }
}

impl State {
    fn hide(&mut self, range: &Range<usize>) {
        self.hidden_end = self.hidden_end.max(range.end);
    }
}

impl Fence {
    /// Returns the fence at the start of a block.
    fn new(block: &str, start: usize, code_end: usize) -> Self {
        let sign = block.bytes().next().unwrap_or_default();
        let length = block.bytes().take_while(|byte| *byte == sign).count();
        Self { start, sign, length, code_end }
    }

    fn is_one(&self) -> bool {
        self.length >= 3 && matches!(self.sign, b'`' | b'~')
    }

    fn is_closed_by(&self, line: &str) -> bool {
        let signs = line.trim_ascii().as_bytes();
        self.is_one() && signs.len() >= self.length && signs.iter().all(|it| *it == self.sign)
    }
}

/// Returns the text with every line break replaced by a line feed and without tabs before it. All positions stay the
/// same. pulldown-cmark does not find a fence after a single carriage return, or a closing fence with a tab after
/// it.
fn with_plain_line_ends(text: &str) -> Cow<'_, str> {
    let parts = |line: Range<usize>| {
        let line = &text[line];
        line.split_at(line.trim_end_matches([' ', '\t', '\r', '\n']).len())
    };
    let is_plain = |(_, end): (&str, &str)| !end.ends_with('\r') && !end.contains('\t');
    if line::lines(text).map(parts).all(is_plain) {
        return Cow::Borrowed(text);
    }
    let mut plain = String::with_capacity(text.len());
    for (line, end) in line::lines(text).map(parts) {
        plain.push_str(line);
        let is_alone = end.ends_with('\r');
        let blank = |c| match c {
            '\t' => ' ',
            '\r' if is_alone => '\n',
            c => c,
        };
        plain.extend(end.chars().map(blank));
    }
    Cow::Owned(plain)
}
