//! Stripping for prompts that contain code. The texts are built of known pieces, so the expected result is known.

use std::borrow::Cow;

use proptest::collection::vec;
use proptest::prelude::*;
use proptest::sample::select;
use tertulia_context::{Strip, strip_markers};

use super::arbitrary::{at_least, prose, prose_and_code};
use super::naive::holds_marker;

/// A piece of a line.
#[derive(Clone, Debug)]
enum Token {
    Word(&'static str),
    Code(&'static str),
    Marker(&'static str),
}

/// Lines of a text, each with its expected rest; `None` for a line that is removed.
type Lines = Vec<(String, Option<String>)>;

fn token() -> impl Strategy<Value = (&'static str, Token)> {
    let spaces = select(vec!["", " ", "  ", "\t "]);
    let marker = select(vec!["[NEXT: a]", "[FROM: b]", "[DROP: ALL]", "[TEAM_TASK: c]", "[next:]"]);
    let word = select(vec!["tea", "é,", "row[0]", "[x]", "NEXT:", "=>"]);
    let code = select(vec!["`x`", "`[NEXT: a]`", "``[FROM: b] ` ``"]);
    prop_oneof![
        2 => (spaces.clone(), marker.prop_map(Token::Marker)),
        2 => (spaces, word.prop_map(Token::Word)),
        // Two adjacent spans would form another kind of span.
        1 => (select(vec![" ", "\t"]), code.prop_map(Token::Code)),
    ]
}

/// Returns a line of words, inline code and markers.
fn line() -> impl Strategy<Value = Lines> {
    let indent = select(vec!["", "  ", "\t", "        "]);
    let trailing = select(vec!["", "", "  "]);
    (indent, vec(token(), 1..6), trailing).prop_map(|(indent, tokens, trailing)| {
        let mut text = indent.to_owned();
        let mut left = indent.to_owned();
        let mut anything_left = false;
        for (index, (spaces, token)) in tokens.iter().enumerate() {
            let spaces = if index == 0 { "" } else { spaces };
            text.push_str(spaces);
            match token {
                Token::Marker(marker) => text.push_str(marker),
                Token::Word(kept) | Token::Code(kept) => {
                    text.push_str(kept);
                    // At the start of a line, the spaces after markers are removed with them.
                    left.push_str(if anything_left { spaces } else { "" });
                    left.push_str(kept);
                    anything_left = true;
                }
            }
        }
        text.push_str(trailing);
        left.push_str(trailing);
        vec![(text, anything_left.then_some(left))]
    })
}

fn kept(lines: impl IntoIterator<Item = &'static str>) -> Lines {
    lines.into_iter().map(|line| (line.to_owned(), Some(line.to_owned()))).collect()
}

/// Returns a fenced block.
fn fenced() -> impl Strategy<Value = Lines> {
    let fence = select(vec![("```rust", "```"), ("~~~", "~~~~"), ("  ````", "````")]);
    let inside = select(vec!["[NEXT: a]", "    x[0] = 1;", "", "`", "[TEAM_TASK] b", "> c"]);
    (fence, vec(inside, 0..4))
        .prop_map(|((open, close), inside)| kept([open].into_iter().chain(inside).chain([close])))
}

/// Returns a task block, with the blank line that ends it.
fn task() -> impl Strategy<Value = Lines> {
    let first = select(vec!["[TEAM_TASK]", "  [team_task] Bake", "[TEAM_TASK]  row[0]"]);
    let more = select(vec!["bread", "  and [x]", "`[NEXT: a]`"]);
    (first, vec(more, 0..3)).prop_map(|(first, more)| {
        let gone = [first].into_iter().chain(more).map(|line| (line.to_owned(), None));
        gone.chain([(String::new(), Some(String::new()))]).collect()
    })
}

/// Returns a text and its expected rest.
fn text_and_rest() -> impl Strategy<Value = (String, String)> {
    let blank = select(vec!["", "  ", "\t"]).prop_map(|line| kept([line]));
    let piece = prop_oneof![4 => line(), 1 => blank, 1 => fenced(), 1 => task()];
    let line_break = select(vec!["\n", "\r\n"]);
    (vec(piece, 0..8), line_break, any::<bool>()).prop_map(|(pieces, line_break, at_end)| {
        let lines: Lines = pieces.concat();
        let all: Vec<&str> = lines.iter().map(|(line, _)| line.as_str()).collect();
        let left: Vec<&str> = lines.iter().filter_map(|(_, left)| left.as_deref()).collect();
        let joined = |lines: &[&str]| {
            let end = if at_end && !lines.is_empty() { line_break } else { "" };
            lines.join(line_break) + end
        };
        (joined(&all), joined(&left))
    })
}

fn preserve(text: &str) -> Cow<'_, str> {
    strip_markers(text, Strip::Preserve).text
}

fn is_subsequence(part: &str, whole: &str) -> bool {
    let mut rest = whole.chars();
    part.chars().all(|c| rest.any(|other| other == c))
}

proptest! {
    #![proptest_config(at_least(4000))]

    #[test]
    fn exactly_the_markers_and_their_spaces_go((text, rest) in text_and_rest()) {
        prop_assert_eq!(preserve(&text), rest);
    }

    #[test]
    fn nothing_is_added_or_moved(text in prose_and_code()) {
        prop_assert!(is_subsequence(&preserve(&text), &text));
    }

    #[test]
    fn a_text_without_brackets_is_given_back_as_it_is(text in "[^\\[]{0,40}") {
        prop_assert!(matches!(preserve(&text), Cow::Borrowed(same) if same == text));
    }

    #[test]
    fn a_text_without_markers_is_given_back_as_it_is(text in prose_and_code()) {
        if !holds_marker(&text) {
            prop_assert!(matches!(preserve(&text), Cow::Borrowed(same) if same == text));
        }
    }

    #[test]
    fn twice_is_once_where_no_marker_is_left(text in prose()) {
        let once = preserve(&text);
        if !holds_marker(&once) {
            prop_assert_eq!(preserve(&once), &*once);
        }
    }

    #[test]
    fn no_marker_is_left_that_was_there_before(before in prose(), after in prose()) {
        // This marker is not part of another one: it follows a blank line, and it is closed.
        let text = format!("{before}]\n\nhere [NEXT: somebody-else] there\n\n{after}");
        prop_assert!(!preserve(&text).contains("[NEXT: somebody-else]"));
    }

    #[test]
    fn every_code_block_is_left_byte_for_byte(
        before in prose(),
        inside in prose(),
        after in prose(),
    ) {
        let block = format!("```text\n{inside}\n```");
        let text = format!("{before}\n{block}\n{after}");
        prop_assert!(preserve(&text).contains(&block), "{:?}", text);
    }
}
