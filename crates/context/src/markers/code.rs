//! Where a Markdown text is code: fenced blocks and inline spans, by the rules of CommonMark as far
//! as they matter for markers. Found in one pass, whatever backticks the text holds.

use std::ops::Range;

/// The code in a text, in order, without overlaps.
#[derive(Debug, Default)]
pub(super) struct Code {
    regions: Vec<Range<usize>>,
    /// Where the fenced ones begin.
    fences: Vec<usize>,
}

struct Fence {
    indent: usize,
    sign: u8,
    length: usize,
    /// What stands behind the signs.
    info: bool,
}

impl Code {
    pub(super) fn of(text: &str) -> Self {
        let mut code = Self::default();
        let mut prose = 0;
        let mut open: Option<(usize, Fence)> = None;
        let mut start = 0;
        for line in text.split_inclusive('\n') {
            let end = start + line.len();
            match (&open, fence(line)) {
                (None, Some(fence)) => {
                    code.add_spans(text, prose..start);
                    code.fences.push(start);
                    open = Some((start, fence));
                }
                (Some((from, opening)), Some(closing)) if closes(opening, &closing) => {
                    code.regions.push(*from..end);
                    (open, prose) = (None, end);
                }
                (None, None) if line.trim_ascii().is_empty() => {
                    // A span does not reach over a blank line.
                    code.add_spans(text, prose..start);
                    prose = end;
                }
                _ => {}
            }
            start = end;
        }
        match open {
            Some((from, _)) => code.regions.push(from..text.len()),
            None => code.add_spans(text, prose..text.len()),
        }
        code
    }

    /// Whether any byte of the range is code.
    pub(super) fn touches(&self, range: &Range<usize>) -> bool {
        let next = self.regions.partition_point(|region| region.end <= range.start);
        self.regions.get(next).is_some_and(|region| region.start < range.end)
    }

    /// Where the next fenced block begins at or behind this place.
    pub(super) fn next_fence(&self, from: usize) -> Option<usize> {
        self.fences.get(self.fences.partition_point(|fence| *fence < from)).copied()
    }

    /// Adds the inline spans of one paragraph.
    fn add_spans(&mut self, text: &str, paragraph: Range<usize>) {
        let runs = backtick_runs(&text[paragraph.clone()]);
        // For every run the next one of the same length, found from behind in one pass.
        let mut next_same = vec![None; runs.len()];
        let mut last_of_length = std::collections::HashMap::new();
        for (index, run) in runs.iter().enumerate().rev() {
            next_same[index] = last_of_length.insert(run.len(), index);
        }
        let mut index = 0;
        while index < runs.len() {
            let Some(close) = next_same[index] else {
                index += 1;
                continue;
            };
            let range = paragraph.start + runs[index].start..paragraph.start + runs[close].end;
            self.regions.push(range);
            index = close + 1;
        }
    }
}

fn backtick_runs(text: &str) -> Vec<Range<usize>> {
    let mut runs: Vec<Range<usize>> = Vec::new();
    for at in memchr::memchr_iter(b'`', text.as_bytes()) {
        match runs.last_mut() {
            Some(run) if run.end == at => run.end += 1,
            _ => runs.push(at..at + 1),
        }
    }
    runs
}

fn fence(line: &str) -> Option<Fence> {
    // However deep: what CommonMark takes for an indented block instead is code as well.
    let unindented = line.trim_start_matches([' ', '\t']);
    let sign = unindented.bytes().next().filter(|byte| matches!(byte, b'`' | b'~'))?;
    let length = unindented.bytes().take_while(|byte| *byte == sign).count();
    let info = unindented[length..].trim_ascii();
    // "```a```" on one line is an inline span.
    let inline = sign == b'`' && info.contains('`');
    let indent = line.len() - unindented.len();
    (length >= 3 && !inline).then_some(Fence { indent, sign, length, info: !info.is_empty() })
}

fn closes(opening: &Fence, closing: &Fence) -> bool {
    let deeper = closing.indent > opening.indent + 3;
    closing.sign == opening.sign && closing.length >= opening.length && !closing.info && !deeper
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Shows code as `‹…›`.
    fn check(text: &str, expected: &str) {
        let mut shown = String::new();
        let mut until = 0;
        for region in Code::of(text).regions {
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
    }
}
