//! Changes texts so that no heading, tag, fence or link target in them affects the text that follows. A text that
//! cannot be changed in this way is written as a code block. The result is parsed again to check this.

use std::ops::Range;

use pulldown_cmark::{Event, HeadingLevel, OffsetIter, Parser, Tag, TagEnd};

use crate::readable::prose;

/// Maximum number of rounds. A change may uncover markup that has to be changed too.
const ROUNDS_MAX: usize = 4;
/// Headings in a text get this level or a deeper one.
const LEVEL: &str = "####";

/// Returns a person's or an agent's Markdown in a form that does not affect the text after it.
pub(super) fn contained(text: &str) -> String {
    let mut text = text.trim_matches('\n').to_owned();
    if text.len() <= prose::BYTES_MAX {
        for _ in 0..ROUNDS_MAX {
            let edits = edits(&text);
            if edits.is_empty() {
                break;
            }
            text = edited(&text, edits);
        }
        if let Some(fence) = open_fence(&text) {
            text.push('\n');
            text.push_str(&fence);
        }
        text.push('\n');
        if is_contained(&text) {
            return text;
        }
    }
    let mut block = String::new();
    fenced("text", &text, &mut block);
    block
}

/// Writes a text as a code block that the text itself cannot end.
pub(super) fn fenced(language: &str, text: &str, into: &mut String) {
    let fence = "`".repeat(longest_run(text, b'`').max(2) + 1);
    into.push_str(&fence);
    into.push_str(language);
    into.push('\n');
    into.push_str(text);
    if !text.ends_with('\n') {
        into.push('\n');
    }
    into.push_str(&fence);
    into.push('\n');
}

/// Returns a text of one line in a form without markup.
pub(super) fn plain(text: &str) -> String {
    // Brackets need no escape unless something in the text could turn them into a link.
    let is_link = ["](", "][", "]:"].iter().any(|link| text.contains(link));
    let mut escaped = String::with_capacity(text.len());
    for (at, c) in text.char_indices() {
        let is_list = at == 0 && matches!(c, '+' | '-');
        match c {
            '<' => escaped.push_str("&lt;"),
            '&' => escaped.push_str("&amp;"),
            '[' | ']' if !is_link => escaped.push(c),
            '\\' | '`' | '*' | '_' | '[' | ']' | '|' | '~' | '#' | '>' | '!' => {
                escaped.push('\\');
                escaped.push(c);
            }
            c if is_list => {
                escaped.push('\\');
                escaped.push(c);
            }
            c => escaped.push(c),
        }
    }
    escaped
}

fn longest_run(text: &str, byte: u8) -> usize {
    let (mut longest, mut run) = (0, 0);
    for one in text.bytes() {
        run = if one == byte { run + 1 } else { 0 };
        longest = longest.max(run);
    }
    longest
}

fn parse(text: &str) -> OffsetIter<'_> {
    Parser::new_ext(text, prose::options()).into_offset_iter()
}

/// Returns the replacements of tags, headings, and targets of links.
fn edits(text: &str) -> Vec<(Range<usize>, String)> {
    let parser = parse(text);
    let targets = parser.reference_definitions().iter();
    let mut edits: Vec<(Range<usize>, String)> = targets
        .map(|(_, target)| (target.span.start..target.span.start, "\\".to_owned()))
        .collect();
    for (event, range) in parser {
        match event {
            Event::Html(_) | Event::InlineHtml(_) => {
                let tag = text.get(range.clone()).unwrap_or_default();
                edits.push((range, tag.replace('<', "&lt;")));
            }
            Event::Start(Tag::Heading { level, .. }) if level < HeadingLevel::H4 => {
                let heading = text.get(range.clone()).unwrap_or_default();
                edits.push((range, deeper(heading)));
            }
            _ => {}
        }
    }
    edits.sort_by_key(|(range, _)| range.start);
    edits
}

/// Applies edits that are in order. An edit inside another one waits for the next round.
fn edited(text: &str, edits: Vec<(Range<usize>, String)>) -> String {
    let mut edited = String::with_capacity(text.len() + 16);
    let mut at = 0;
    for (range, new) in edits {
        if range.start < at {
            continue;
        }
        edited.push_str(text.get(at..range.start).unwrap_or_default());
        edited.push_str(&new);
        at = range.end;
    }
    edited.push_str(text.get(at..).unwrap_or_default());
    edited
}

/// Returns a heading with a deeper level.
fn deeper(heading: &str) -> String {
    if let Some(rest) = heading.strip_prefix('#') {
        return format!("{LEVEL}{}", rest.trim_start_matches('#'));
    }
    // In an underlined heading, the last line is the underline.
    let text = heading.trim_end();
    let text = text.rsplit_once('\n').map_or(text, |(text, _)| text);
    let end = heading.get(heading.trim_end().len()..).unwrap_or_default();
    format!("{LEVEL} {}{end}", text.lines().map(str::trim).collect::<Vec<_>>().join(" "))
}

/// Returns the fence that ends an open code block at the end of a text.
fn open_fence(text: &str) -> Option<String> {
    let mut start = None;
    for (event, range) in parse(text) {
        match event {
            Event::Start(Tag::CodeBlock(_)) => start = Some(range),
            Event::End(TagEnd::CodeBlock) if range.end < text.trim_end().len() => start = None,
            _ => {}
        }
    }
    let block = text.get(start?)?;
    let sign = block.chars().next().filter(|c| matches!(c, '`' | '~'))?;
    let fence: String = block.chars().take_while(|c| *c == sign).collect();
    let last = block.trim_end().lines().skip(1).last().unwrap_or_default().trim();
    let is_closed = last.len() >= fence.len() && last.chars().all(|c| c == sign);
    (!is_closed).then_some(fence)
}

/// Returns whether a heading after the text is still a heading, and nothing in the text extends beyond it.
fn is_contained(text: &str) -> bool {
    const NEXT: &str = "\n## next\n";
    let all = format!("{text}{NEXT}");
    let parser = parse(&all);
    if parser.reference_definitions().iter().next().is_some() {
        return false;
    }
    let (mut depth, mut is_heading) = (0_usize, false);
    for (event, range) in parser {
        match event {
            Event::Html(_) | Event::InlineHtml(_) => return false,
            Event::Start(Tag::Heading { level, .. }) if level < HeadingLevel::H4 => {
                is_heading = depth == 0 && range.start == text.len() + 1;
                if !is_heading {
                    return false;
                }
                depth += 1;
            }
            Event::Start(_) => depth += 1,
            Event::End(_) => depth = depth.saturating_sub(1),
            _ => {}
        }
    }
    is_heading
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[track_caller]
    fn check(text: &str, expected: &str) {
        assert_eq!(contained(text), expected, "{text}");
    }

    #[test]
    fn plain_answers_stay_as_they_are() {
        for text in ["Done.\n\n- one\n- two\n", "a *b* `<c>`\n", "```html\n<b>\n# c\n```\n"] {
            check(text, text);
        }
    }

    #[test]
    fn headings_are_below_those_of_the_document() {
        check("# a", "#### a\n");
        check("## ann ##\n\nb", "#### ann ##\n\nb\n");
        check("ann\n---\nb", "#### ann\nb\n");
        check("> # a", "> #### a\n");
    }

    #[test]
    fn tags_are_text() {
        check("a </details> <b>c</b>", "a &lt;/details> &lt;b>c&lt;/b>\n");
        check("<!-- a", "&lt;!-- a\n");
        check("<div>\n# a\n</div>", "&lt;div>\n#### a\n&lt;/div>\n");
    }

    #[test]
    fn a_code_block_is_closed() {
        check("a\n```rust\nb", "a\n```rust\nb\n```\n");
        check("~~~~\nb\n```", "~~~~\nb\n```\n~~~~\n");
        check("```\na\n```", "```\na\n```\n");
    }

    #[test]
    fn targets_of_links_are_text() {
        check("[ann]: https://a", "\\[ann]: https://a\n");
    }

    #[test]
    fn a_fence_is_longer_than_those_in_it() {
        let mut block = String::new();
        fenced("text", "a ```` b", &mut block);
        assert_eq!(block, "`````text\na ```` b\n`````\n");
    }

    proptest! {
        #[test]
        fn every_text_is_contained(
            text in r"(#|=|-|>|`{1,4}|~~~|<|/|details|!--|\[a\]: b|\n|\t|  |[a-c&*_|+]|1\.|<b>|\r)*"
        ) {
            prop_assert!(is_contained(&contained(&text)));
        }

        #[test]
        fn any_characters_are_contained(text: String) {
            prop_assert!(is_contained(&contained(&text)));
        }

        #[test]
        fn plain_words_are_no_markup(text in r"[#=>`~<!\[\]():&*_|+a-c .-]*") {
            for (event, _) in parse(&format!("a {}", plain(&text))) {
                let is_plain = matches!(event, Event::Text(_) | Event::Start(Tag::Paragraph) | Event::End(_));
                prop_assert!(is_plain, "{event:?}");
            }
        }
    }
}
