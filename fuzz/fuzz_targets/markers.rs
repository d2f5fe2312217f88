//! Strips and parses the markers of any text: there must be no panic, and stripping may only remove text.
#![no_main]

use libfuzzer_sys::fuzz_target;
use tertulia_context::{Strip, TaskBlock, parse_markers, strip_markers};

fuzz_target!(|text: &str| {
    let preserved = strip_markers(text, Strip::Preserve).text;
    assert!(is_subsequence(&preserved, text), "preserve added text");
    if !text.contains('[') {
        assert_eq!(preserved, text, "there was no marker to remove");
    }
    let compact = strip_markers(text, Strip::COMPACT);
    assert!(compact.text.len() <= text.len());
    assert!(compact.text.split('\n').all(|line| compact.text.is_empty() || !line.is_empty()));
    let to_blank_line = Strip::Compact(TaskBlock::ToBlankLine);
    assert!(strip_markers(text, to_blank_line).text.len() <= text.len());
    let markers = parse_markers(text);
    assert!(is_subsequence(&markers.clean_text, text));
    assert!(markers.next.iter().all(|next| !next.name.is_empty()));
});

fn is_subsequence(short: &str, long: &str) -> bool {
    let mut rest = long.chars();
    short.chars().all(|wanted| rest.any(|c| c == wanted))
}
