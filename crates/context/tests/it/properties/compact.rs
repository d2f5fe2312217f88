//! Stripping by the contract's rule, against the naive version of it.

use std::borrow::Cow;

use proptest::prelude::*;
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
        if !text.contains('>') && !text.contains("[TEAM_TASK]") {
            prop_assert_eq!(&markers.clean_text, &strip_markers(&text, Strip::Preserve).text);
        }
        prop_assert!(markers.next.iter().all(|next| !next.name.is_empty()));
        prop_assert!(markers.drop.iter().all(|name| !name.is_empty()));
        prop_assert!(markers.from.is_none_or(|name| !name.is_empty()));
    }
}
