//! Properties of every message and every JSON value.

use proptest::prelude::*;
use proptest::strategy::ValueTree;
use tertulia_session::json;
use tertulia_session::record::{read_conversation_message, read_message};

use crate::arbitrary::{at_least, conversation_message, json, message, nearly_message};
use crate::wire::{read, read_with_id, write, write_with_id};

proptest! {
    #![proptest_config(at_least(1000))]

    #[test]
    fn what_was_written_reads_as_the_same_message(message in message()) {
        let written = write(&message);
        prop_assert_eq!(read(&written).unwrap(), message, "{}", written);
    }

    #[test]
    fn what_was_written_with_an_id_reads_as_the_same_message(message in conversation_message()) {
        let written = write_with_id(&message);
        prop_assert_eq!(read_with_id(&written).unwrap(), message, "{}", written);
    }

    #[test]
    fn a_message_is_one_line_of_json(message in message()) {
        let written = write(&message);
        prop_assert!(!written.contains(['\n', '\r']), "{}", written);
        prop_assert!(json::parse(&written).is_ok());
    }

    #[test]
    fn what_could_be_read_is_written_so_that_it_reads_the_same(text in nearly_message()) {
        if let Ok(message) = read(&text) {
            let written = write(&message);
            let again = read(&written).unwrap();
            prop_assert_eq!(&again, &message, "{}", written);
            prop_assert_eq!(write(&again), written);
        }
    }

    #[test]
    fn a_message_or_one_sentence_comes_of_any_json(text in prop_oneof![json(), nearly_message()]) {
        let raw = json::parse(&text).unwrap();
        let errors = [
            read_message(raw).err(),
            read_conversation_message(raw).err(),
        ];
        for error in errors.into_iter().flatten() {
            let sentence = error.to_string();
            prop_assert!(sentence.starts_with("Message "), "{}", sentence);
            prop_assert!(!sentence.contains('\n'), "{}", sentence);
        }
    }

    #[test]
    fn a_value_or_an_error_comes_of_any_text(text in any::<String>()) {
        if let Ok(raw) = json::parse(&text) {
            let _ = read_message(raw);
        }
    }
}

#[test]
fn the_generator_of_near_messages_gives_messages_too() {
    let mut runner = proptest::test_runner::TestRunner::deterministic();
    let strategy = nearly_message();
    let made = |runner: &mut _| strategy.new_tree(runner).unwrap().current();
    let messages = (0..200).filter(|_| read(&made(&mut runner)).is_ok()).count();
    assert!((20..=190).contains(&messages), "{messages} of 200 are messages");
}
