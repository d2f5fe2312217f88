//! Properties of every list of messages: its request is valid for the vendor, it is the same every time, and a longer
//! list only appends to it.

use proptest::collection::vec;
use proptest::prelude::*;
use tertulia_dialect::{Dialect, ModelContext};
use tertulia_session::{ToolResult, json};

use crate::arbitrary::{at_least, lasting_messages, messages, tool_specs};
use crate::expressible::conversation;
use crate::messages::{render, turns};
use crate::rules::assert_valid;

proptest! {
    #![proptest_config(at_least(1500))]

    #[test]
    fn any_messages_make_a_request_that_the_vendor_takes(
        messages in messages(),
        tool_specs in tool_specs(),
        cache_breakpoints in vec(0..12usize, 0..7),
    ) {
        let context = ModelContext {
            tool_specs: &tool_specs,
            cache_breakpoints: &cache_breakpoints,
            ..ModelContext::new(&messages)
        };
        for dialect in Dialect::ALL {
            let rendering = dialect.render(&context);
            let request = rendering.fragment.to_json();
            assert_valid(dialect, &request);
            prop_assert_eq!(&request, &dialect.render(&context).fragment.to_json());
            for note in rendering.notes {
                prop_assert!(note.message.is_none_or(|at| at < messages.len().max(12)));
                prop_assert!(!note.to_string().contains('\n'));
            }
        }
    }

    /// The first `stable` turns of a list are the first turns of every longer list. If a call has no result yet,
    /// `stable` ends before the answer with that call. Otherwise it contains all turns for OpenAI. For Anthropic and
    /// Gemini it then contains all turns but the last, because a later message of the same side may join that turn.
    #[test]
    fn a_longer_list_begins_with_the_same_bytes(
        head in lasting_messages(),
        tail in lasting_messages(),
    ) {
        let whole: Vec<_> = head.iter().chain(&tail).cloned().collect();
        for dialect in Dialect::ALL {
            let before = turns(dialect, &render(dialect, &head).fragment.to_json());
            let after = turns(dialect, &render(dialect, &whole).fragment.to_json());
            let stable = stable(dialect, &before);
            prop_assert_eq!(&before[..stable], &after[..stable], "{:?}", dialect);
        }
    }

    #[test]
    fn a_volatile_tail_changes_no_turn_but_the_last(
        head in lasting_messages(),
        hint in "[a-z]{1,5}",
    ) {
        let mut whole = head.clone();
        whole.push(crate::messages::hint(&hint));
        for dialect in Dialect::ALL {
            let before = render(dialect, &head).fragment.to_json();
            let after = render(dialect, &whole).fragment.to_json();
            let (before, after) = (turns(dialect, &before), turns(dialect, &after));
            let stable = before.len() - 1;
            prop_assert_eq!(&before[..stable], &after[..stable], "{:?}", dialect);
            prop_assert!(after.last().unwrap().contains(&hint));
        }
    }

    #[test]
    fn what_the_vendor_can_say_comes_back_as_it_was(seed in conversation()) {
        for dialect in Dialect::ALL {
            let messages = seed.messages(dialect);
            let rendering = render(dialect, &messages);
            let request = rendering.fragment.to_json();
            assert_valid(dialect, &request);
            let reading = dialect.read(json::parse(&request).unwrap()).unwrap();
            prop_assert_eq!(&reading.messages, &messages, "{:?} {}", dialect, request);
            let again = render(dialect, &reading.messages).fragment.to_json();
            prop_assert_eq!(again, request);
        }
    }

    #[test]
    fn what_one_vendor_wrote_can_be_sent_to_another(messages in messages()) {
        for from in Dialect::ALL {
            let request = render(from, &messages).fragment.to_json();
            let reading = from.read(json::parse(&request).unwrap()).unwrap();
            for to in Dialect::ALL {
                assert_valid(to, &render(to, &reading.messages).fragment.to_json());
            }
        }
    }
}

fn stable(dialect: Dialect, turns: &[String]) -> usize {
    let open = turns.iter().position(|turn| turn.contains(ToolResult::NOT_RECORDED));
    // A placeholder at the end is replaced when the list becomes longer.
    let is_closed = turns.last().is_some_and(|turn| turn.contains("(Please continue.)"));
    let said = turns.len() - usize::from(is_closed);
    let is_placeholder = turns.len() == 1 && turns[0].contains("(Nothing was said yet.)");
    match dialect {
        Dialect::Anthropic | Dialect::Gemini => open.unwrap_or(said) - 1,
        _ if is_placeholder => 0,
        Dialect::OpenAiChat | Dialect::OpenAiResponses => match open {
            None => turns.len(),
            // The answer begins after the last turn that is not the assistant's.
            Some(at) => {
                turns[..at].iter().rposition(|turn| !is_answer(turn)).map_or(0, |at| at + 1)
            }
        },
    }
}

fn is_answer(turn: &str) -> bool {
    let value: serde_json::Value = serde_json::from_str(turn).unwrap();
    matches!(value["role"].as_str(), None | Some("assistant" | "tool"))
}
