//! The blocks of a Markdown text, line by line, by the rules of CommonMark as far as they tell the sender's
//! own words from code and quotes: list items, quotes, fences, indented code and HTML. One pass, called by
//! `code` and `own`. Where Markdown and a hasty reader would differ, a line is not taken for the sender's
//! own; only fences are followed to the letter, since one that is missed turns all behind it inside out.

use std::ops::Range;

use super::html::{self, End};
use super::line::{self, Cursor, Fence, Mark};

/// What the lines of a text are. All ranges are in order and do not overlap.
#[derive(Debug, Default)]
pub(super) struct Blocks {
    /// Fenced code, with its fences.
    pub(super) fences: Vec<Range<usize>>,
    /// Lines that begin with `>`, behind list marks too.
    pub(super) quoted: Vec<Range<usize>>,
    /// Lines that are code, quoted or HTML by a rule that their writer may not have thought of: indented
    /// ones, those that go on with a quote, and HTML.
    pub(super) unclear: Vec<Range<usize>>,
    /// Code that is none by the rules, since it is not indented as the list item that its fence is in.
    pub(super) lost: Vec<Range<usize>>,
    /// Where a fence begins that never ends.
    pub(super) open: Option<usize>,
    /// Where a block begins without a blank line before it.
    pub(super) cuts: Vec<usize>,
}

/// What is known behind a line.
#[derive(Default)]
struct State {
    /// The list items that are open.
    items: Vec<Item>,
    /// A text that the next line may go on with: the column of the item that holds it.
    paragraph: Option<usize>,
    /// A quote that the next line may go on with.
    in_quote: bool,
    fence: Option<(usize, usize, Fence)>,
    /// A fence that ended, here, because its code was not indented as its list item. Who wrote it meant the
    /// code to go on up to the end of the fence.
    lost: Option<(usize, Fence)>,
    html: Option<(usize, End)>,
}

/// A list item.
struct Item {
    /// Where its text begins.
    column: usize,
    /// Nothing stands behind its mark: a blank line ends it.
    is_empty: bool,
}

/// So many list items may begin on one line: each is looked for in all that is left of the line.
const MARKS_MAX: usize = 32;

/// What a line is behind the marks of its list items.
enum Rest<'t> {
    Nothing,
    /// Code by its indentation, which ends before this column.
    Indented(usize, &'t str),
    Break,
    Text(usize, &'t str),
}

impl Blocks {
    pub(super) fn of(text: &str) -> Self {
        let mut blocks = Self::default();
        let mut state = State::default();
        for range in line::lines(text) {
            blocks.read(&text[range.clone()], &range, &mut state);
        }
        if let Some((start, ..)) = state.fence {
            blocks.fences.push(start..text.len());
            blocks.open = Some(start);
        }
        blocks
    }

    fn read(&mut self, line: &str, range: &Range<usize>, state: &mut State) {
        let cursor = Cursor::at_text(line);
        if cursor.rest().trim_ascii().is_empty() {
            if matches!(state.html, Some((_, End::BlankLine))) {
                state.html = None;
            }
            if state.fence.is_none() {
                (state.paragraph, state.in_quote) = (None, false);
                state.items.pop_if(|item| item.is_empty);
            }
            return;
        }
        if self.goes_on(line, &cursor, range, state) {
            return;
        }
        self.begin(line, cursor, range, state);
    }

    /// Whether the line belongs to a fence or to HTML that is open. Either ends with the list item that
    /// holds it.
    fn goes_on(
        &mut self,
        line: &str,
        cursor: &Cursor<'_>,
        range: &Range<usize>,
        state: &mut State,
    ) -> bool {
        if let Some((start, column, fence)) = &state.fence {
            let start = *start;
            if cursor.column < *column {
                self.fences.push(start..range.start);
                state.in_quote = true;
                let ended = state.fence.take().map(|(_, _, fence)| (range.start, fence));
                state.lost = ended.filter(|_| !state.items.is_empty());
                return false;
            }
            if cursor.column - column < 4 && fence.is_closed_by(cursor.rest()) {
                self.fences.push(start..range.end);
                state.fence = None;
            }
            return true;
        }
        if let Some((column, end)) = &state.html {
            if cursor.column < *column {
                state.html = None;
                return false;
            }
            let ends = end.is_in(line);
            self.unclear.push(range.clone());
            state.html.take_if(|_| ends);
            return true;
        }
        false
    }

    /// A line that begins anew, or goes on with a paragraph.
    fn begin(&mut self, line: &str, cursor: Cursor<'_>, range: &Range<usize>, state: &mut State) {
        let indent = cursor.column;
        state.items.retain(|item| item.column <= indent);
        let known = state.items.len();
        // A line outside of the item that holds the paragraph may go on with it, but is not in it.
        let in_paragraph = state.paragraph.is_some_and(|column| column <= indent);
        let rest = marks(cursor, state, in_paragraph);
        let is_item = state.items.len() > known;
        let looks = line::looks(line);
        let mut is_foreign = state.in_quote || looks.columns >= 4 && !is_item;
        if is_item {
            self.cuts.push(range.start);
        }
        match rest {
            Rest::Text(column, text) if !looks.is_quote => {
                if self.finds_end(text, range, state) {
                    return;
                }
                if let Some(fence) = Fence::of(text) {
                    self.fence(range, column, fence, state);
                    return;
                }
                if let Some(end) = html::block(text, state.paragraph.is_some()) {
                    self.cuts.push(range.start);
                    is_foreign = true;
                    state.html = Some((column, end)).filter(|(_, end)| !end.is_in(text));
                    state.paragraph = None;
                } else if line::is_heading(text) {
                    self.cuts.extend([range.start, range.end]);
                    state.paragraph = None;
                } else {
                    // Where one is open already, this line goes on with it.
                    state.paragraph.get_or_insert(column);
                }
            }
            // No line without a `>` is in it.
            Rest::Text(..) => state.paragraph = Some(usize::MAX),
            Rest::Break => {
                self.cuts.push(range.start);
                state.paragraph = None;
            }
            Rest::Indented(column, text) => {
                // No fence by the rules, but meant as one; it reaches no further than the code.
                let fence = Fence::of(text).filter(|_| state.paragraph.is_none());
                if let Some(fence) = fence {
                    self.fence(range, column, fence, state);
                    return;
                }
                is_foreign = true;
            }
            Rest::Nothing => {}
        }
        if looks.is_quote {
            state.in_quote = true;
            self.quoted.push(range.clone());
        } else if is_foreign {
            self.unclear.push(range.clone());
        }
    }

    /// Whether the line is the end of a fence that was taken for ended: all up to here is its code.
    fn finds_end(&mut self, text: &str, range: &Range<usize>, state: &mut State) -> bool {
        let Some((start, _)) = state.lost.take_if(|(_, fence)| fence.is_closed_by(text)) else {
            return false;
        };
        self.lost.push(start..range.end);
        (state.paragraph, state.in_quote) = (None, false);
        true
    }

    fn fence(&mut self, range: &Range<usize>, column: usize, fence: Fence, state: &mut State) {
        state.fence = Some((range.start, column, fence));
        (state.paragraph, state.in_quote) = (None, false);
    }
}

/// Reads the marks of the list items that begin on a line, and opens them.
fn marks<'t>(mut cursor: Cursor<'t>, state: &mut State, mut in_paragraph: bool) -> Rest<'t> {
    if let Some(item) = state.items.last_mut() {
        item.is_empty = false;
    }
    let most = state.items.len() + MARKS_MAX;
    loop {
        let base = state.items.last().map_or(0, |item| item.column);
        if cursor.rest().trim_ascii().is_empty() {
            return Rest::Nothing;
        }
        if cursor.column - base >= 4 || state.items.len() >= most {
            return Rest::Indented(base + 4, cursor.rest());
        }
        if line::is_break(cursor.rest()) || in_paragraph && line::is_underline(cursor.rest()) {
            return Rest::Break;
        }
        let Some(mark) = Mark::of(cursor.rest()) else { return Rest::Text(base, cursor.rest()) };
        if in_paragraph && !mark.may_interrupt {
            return Rest::Text(base, cursor.rest());
        }
        let end = cursor.column + mark.width;
        cursor.skip(mark.width);
        let is_empty = cursor.rest().trim_ascii().is_empty();
        // So far behind its mark a text is code, one column behind it.
        let is_code = is_empty || cursor.column - end > 4;
        let column = if is_code { end + 1 } else { cursor.column };
        state.items.push(Item { column, is_empty });
        (state.paragraph, in_paragraph) = (None, false);
    }
}
