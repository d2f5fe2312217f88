//! Finds the content of HTML elements and comments, also across blank lines, where Markdown sees only text. Called
//! by `own`. Text in tags is mostly copied from elsewhere, and comments are not displayed.

use std::borrow::Cow;
use std::collections::HashMap;
use std::ops::Range;

use super::scan::Lookahead;

/// Elements that contain code, a quote or collapsed text, wherever in a line they begin.
#[rustfmt::skip]
const QUOTING: [&str; 14] = [
    "blockquote", "code", "details", "kbd", "listing", "plaintext", "pre", "q", "samp", "script", "style",
    "template", "textarea", "xmp",
];

/// Elements without an end tag.
const VOID: [&str; 6] = ["br", "hr", "img", "input", "link", "wbr"];

/// The beginnings and ends of HTML that is not shown.
const HIDDEN: [(&str, &str); 3] = [("<!--", "-->"), ("<?", "?>"), ("<![CDATA[", "]]>")];

/// The number of bytes of a tag that are searched for attributes.
const TAG_BYTES_MAX: usize = 1024;

/// The maximum length of an element's name.
const NAME_BYTES_MAX: usize = 40;

/// Returns the ranges of elements and comments, with their tags, in order and without overlaps. They include
/// elements that begin a line, those with a custom name, and those that quote, wherever they begin. A quoting
/// element without an end reaches to the end of the text if it begins a line.
pub(super) fn elements(text: &str, is_code: impl Fn(&Range<usize>) -> bool) -> Vec<Range<usize>> {
    let bytes = text.as_bytes();
    let mut found: Vec<Range<usize>> = Vec::new();
    let mut open: HashMap<Cow<'_, str>, Vec<(usize, bool)>> = HashMap::new();
    let mut tag_end = Lookahead::default();
    let mut hidden =
        HIDDEN.map(|(_, end)| (memchr::memmem::Finder::new(end), Lookahead::default()));
    let mut until = 0;
    for at in memchr::memchr_iter(b'<', bytes) {
        if at < until || is_code(&(at..at + 1)) {
            continue;
        }
        let kind =
            HIDDEN.iter().position(|(opening, _)| bytes[at..].starts_with(opening.as_bytes()));
        if let Some((finder, ahead)) = kind.and_then(|kind| hidden.get_mut(kind)) {
            let look = |from: usize| finder.find(&bytes[from..]).map(|length| from + length);
            if let Some(end) = ahead.get(at, look) {
                until = end + finder.needle().len();
                found.push(at..until);
            }
            continue;
        }
        let inside = &text[at + 1..];
        let Some(name) = name(inside.trim_start_matches('/')) else { continue };
        let look = |from: usize| memchr::memchr(b'>', &bytes[from..]).map(|length| from + length);
        let Some(end) = tag_end.get(at, look) else { break };
        let name = match name.bytes().any(|byte| byte.is_ascii_uppercase()) {
            true => Cow::Owned(name.to_ascii_lowercase()),
            false => Cow::Borrowed(name),
        };
        let is_void = bytes[end - 1] == b'/' || VOID.contains(&&*name);
        // The value of an attribute is not displayed. No tag continues after an empty line.
        let is_one =
            memchr::memmem::find(&bytes[at..end.min(at + TAG_BYTES_MAX)], b"\n\n").is_none();
        if is_one && memchr::memchr2(b'"', b'\'', &bytes[at..end.min(at + TAG_BYTES_MAX)]).is_some()
        {
            found.push(at..end + 1);
        }
        if inside.starts_with('/') {
            let start = open.get_mut(&name).and_then(Vec::pop);
            found.extend(start.filter(|(_, counts)| *counts).map(|(start, _)| start..end + 1));
        } else if !is_void {
            let is_own = name.contains(['-', '_']) || QUOTING.contains(&&*name);
            let counts = is_own || begins_line(bytes, at);
            open.entry(name).or_default().push((at, counts));
        }
    }
    for name in QUOTING {
        let left = open.get(name).into_iter().flatten();
        let first = left.map(|(start, _)| *start).find(|start| begins_line(bytes, *start));
        found.extend(first.map(|start| start..text.len()));
    }
    merged(found)
}

fn name(text: &str) -> Option<&str> {
    if !text.starts_with(|c: char| c.is_ascii_alphabetic()) {
        return None;
    }
    let is_part =
        |byte: u8| byte.is_ascii_alphanumeric() || matches!(byte, b'-' | b'_' | b':' | b'.');
    let length = text.bytes().take(NAME_BYTES_MAX + 1).take_while(|byte| is_part(*byte)).count();
    text.get(..length).filter(|_| length <= NAME_BYTES_MAX)
}

fn begins_line(bytes: &[u8], at: usize) -> bool {
    let spaces = bytes[..at].iter().rev().take_while(|byte| matches!(byte, b' ' | b'\t')).count();
    at == spaces || matches!(bytes[at - spaces - 1], b'\n' | b'\r')
}

/// Sorts ranges and joins those that touch.
fn merged(mut ranges: Vec<Range<usize>>) -> Vec<Range<usize>> {
    ranges.sort_by_key(|range| range.start);
    let mut merged: Vec<Range<usize>> = Vec::new();
    for range in ranges {
        match merged.last_mut() {
            Some(last) if range.start <= last.end => last.end = last.end.max(range.end),
            _ => merged.push(range),
        }
    }
    merged
}
