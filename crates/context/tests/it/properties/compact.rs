//! Stripping by the contract's rule, compared with a naive implementation.

use std::borrow::Cow;

use proptest::collection::vec;
use proptest::prelude::*;
use proptest::sample::select;
use tertulia_context::{Strip, parse_markers, strip_all_markers, strip_markers};

use super::arbitrary::{at_least, prose, prose_and_code};
use super::naive::{holds_marker, strip_compact};

proptest! {
    #![proptest_config(at_least(4000))]

    #[test]
    fn it_strips_as_the_naive_version_does(text in prose_and_code()) {
        prop_assert_eq!(strip_all_markers(&text), strip_compact(&text));
    }

    #[test]
    fn any_text_at_all_comes_out_as_of_the_naive_version(text in any::<String>()) {
        prop_assert_eq!(strip_all_markers(&text), strip_compact(&text));
    }

    #[test]
    fn twice_is_once_where_no_marker_is_left(text in prose()) {
        let once = strip_all_markers(&text);
        if !holds_marker(&once) {
            prop_assert_eq!(strip_all_markers(&once), &*once);
        }
    }

    #[test]
    fn what_is_borrowed_is_what_was_given(text in prose()) {
        for strip in [Strip::COMPACT, Strip::Preserve] {
            if let Cow::Borrowed(same) = strip_markers(&text, strip).text {
                prop_assert_eq!(same, &text);
            }
        }
    }

    #[test]
    fn what_is_said_of_task_blocks_is_not_more_than_the_text(text in prose_and_code()) {
        for strip in [Strip::COMPACT, Strip::Preserve] {
            let stripped = strip_markers(&text, strip);
            prop_assert!(stripped.task_block_bytes <= text.len() - stripped.text.len());
        }
    }

    #[test]
    fn parsing_takes_any_text(text in prose_and_code()) {
        let markers = parse_markers(&text);
        // Stripping recognises fences and spans. Any other text that is not the sender's own contains one of these
        // signs.
        let signs = [">", "`", "\t", "    ", "\u{a0}", "\u{feff}", "\u{85}", "\u{2028}", "]:"];
        let is_plain = !signs.iter().any(|sign| text.contains(sign));
        if is_plain && !text.contains("[TEAM_TASK]") {
            prop_assert_eq!(&markers.clean_text, &strip_markers(&text, Strip::Preserve).text);
        }
        prop_assert!(markers.next.iter().all(|next| !next.name.is_empty()));
        prop_assert!(markers.drop.iter().all(|name| !name.is_empty()));
        prop_assert!(markers.from.is_none_or(|name| !name.is_empty()));
    }

    #[test]
    fn what_a_quote_or_an_indented_block_holds_says_nothing(
        lines in vec(prose_and_code(), 1..6),
        mark in select(vec!["> ", ">", "   > ", "- > ", "3) > ", "    ", "\t", "\t> ", "    - > "]),
    ) {
        // Every line of the text gets the mark; the text after the last line closes nothing.
        let text = lines.concat().replace(['\r', '\n'], "\n").replace("\n", &format!("\n{mark}"));
        let markers = parse_markers(&format!("{mark}{text}"));
        let said = (markers.next.len(), markers.drop.len(), markers.from, markers.team_task);
        prop_assert_eq!(said, (0, 0, None, None));
    }

    #[test]
    fn a_marker_after_a_blank_line_counts_where_nothing_is_open(before in prose()) {
        let text = format!("{before}]\n\nAnd now: [NEXT: somebody-else]");
        let markers = parse_markers(&text);
        prop_assert!(markers.next.iter().any(|next| next.name == "somebody-else"), "{:?}", text);
    }
}
