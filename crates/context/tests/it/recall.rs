//! Promises of recall: the same passages each time, however the log was indexed; never more than the budget; only
//! messages that may be recalled; and nothing that was removed from the index.

use proptest::prelude::*;
use tertulia_context::recall::{Passage, RecallIndex, RecallQuery};
use tertulia_context::tokens::Tokenizer;
use tertulia_session::json::Json;
use tertulia_session::{Message, Part, PartKind, Role, Timestamp, ToolCall, ToolResult};

fn said(role: Role, text: &str) -> Message {
    Message::with_role(role, [Part::text(text)].into_iter().collect())
}

fn called(id: &str, arguments: &str) -> Message {
    let call = ToolCall {
        tool_call_id: id.into(),
        tool_name: "read".into(),
        arguments: Json::parse(arguments).unwrap(),
        raw_args_text: None,
    };
    let part = Part::new(PartKind::ToolCall(Box::new(call)));
    Message::with_role(Role::Assistant, [part].into_iter().collect())
}

fn answered(id: &str, text: &str) -> Message {
    let result = ToolResult { tool_call_id: id.into(), is_error: false, content: Json::text(text) };
    let part = Part::new(PartKind::ToolResult(Box::new(result)));
    Message::with_role(Role::Tool, [part].into_iter().collect())
}

fn index_of(log: &[Message]) -> RecallIndex {
    let mut index = RecallIndex::new();
    for (place, message) in log.iter().enumerate() {
        index.add(place, message);
    }
    index
}

fn ask(index: &RecallIndex, log: &[Message], request: &str, max_tokens: u64) -> Vec<Passage> {
    let request = said(Role::User, request);
    let query = RecallQuery { request: Some(&request), recent: &[] };
    index.search(&query, max_tokens, &Tokenizer::Bytes, |_| true, |place| log.get(place))
}

/// Returns the place of the best passage, by searching with room for only one.
fn best(log: &[Message], request: &str) -> Option<usize> {
    let max_tokens = 400;
    ask(&index_of(log), log, request, max_tokens).first().map(|passage| passage.position)
}

/// Returns a text of a few hundred tokens, so that two of them do not fit together.
fn long(words: &str) -> String {
    format!("{words} {}", "lorem ipsum dolor sit amet ".repeat(45))
}

#[test]
fn what_the_request_is_about_is_found() {
    let log = [
        said(Role::User, &long("the invoice of March is wrong")),
        said(Role::Assistant, &long("the garden needs water")),
        said(Role::User, &long("who feeds the cat")),
    ];
    assert_eq!(best(&log, "Where was that invoice?"), Some(0));
    assert_eq!(best(&log, "water?"), Some(1));
    assert_eq!(best(&log, "nothing else"), None);
}

#[test]
fn a_request_that_names_a_day_finds_what_was_said_then() {
    let log = ["a walk by the river", "soup for dinner", "a letter from home"];
    let log = log.map(|text| said(Role::User, &long(text)));
    let mut index = RecallIndex::new();
    for (place, day) in ["2023-05-01", "2023-05-02", "2023-06-02"].into_iter().enumerate() {
        let time: Timestamp = format!("{day}T10:00:00Z").parse().unwrap();
        index.add_with_time(place, &log[place], Some(&time));
    }
    let best = |request| ask(&index, &log, request, 400).first().map(|passage| passage.position);
    assert_eq!(best("Anything new on May 2nd?"), Some(1));
    assert_eq!(best("Anything new in June?"), Some(2));
    assert_eq!(best("Anything new on July 2nd?"), None);
}

#[test]
fn of_two_texts_that_answer_as_well_the_shorter_comes_first() {
    let short = "the invoice of March and more";
    let log = [said(Role::User, short), said(Role::User, &long("the invoice of March and more"))];
    let scores: Vec<u64> = ask(&index_of(&log), &log, "invoice of March", 10_000)
        .into_iter()
        .map(|passage| passage.score)
        .collect();
    assert!(scores[0] > scores[1], "{scores:?}");
}

#[test]
fn chinese_and_japanese_are_found_without_spaces() {
    let log = [
        said(Role::User, &long("我们决定使用新的数据库来保存订单")),
        said(Role::User, &long("明日は東京タワーに行きます")),
        said(Role::User, &long("今天天气很好")),
    ];
    assert_eq!(best(&log, "哪个数据库？"), Some(0));
    assert_eq!(best(&log, "東京の予定は？"), Some(1));
}

#[test]
fn an_exact_identifier_beats_its_pieces() {
    let log = [
        said(Role::Assistant, &long("user name user name get the user name")),
        said(Role::Assistant, &long("call getUserName there")),
        said(Role::Assistant, &long("the user has a name")),
    ];
    assert_eq!(best(&log, "what about getUserName"), Some(1));
    assert!(best(&log[..1], "getUserName").is_some());
}

#[test]
fn a_file_is_found_by_the_path_of_the_call_that_read_it() {
    let log = [
        called("1", r#"{"path":"/src/ann/src/billing.rs"}"#),
        answered("1", &long("fn total() {}")),
        called("2", r#"{"path":"/src/ann/src/garden.rs"}"#),
        answered("2", &long("fn water() {}")),
    ];
    for request in ["fix billing.rs", "look at src/billing.rs again", "/src/ann/src/billing.rs"] {
        let found = ask(&index_of(&log), &log, request, 500);
        assert!(found.iter().any(|passage| passage.position == 1), "{request}");
        assert!(found.iter().all(|passage| passage.position != 3), "{request}");
    }
}

#[test]
fn a_result_loses_its_subject_with_its_call() {
    let log = [called("1", r#"{"path":"billing.rs"}"#), answered("1", &long("fn total() {}"))];
    let mut index = index_of(&log);
    assert!(ask(&index, &log, "billing.rs", 500).iter().any(|passage| passage.position == 1));
    index.remove(0);
    assert!(ask(&index, &log, "billing.rs", 500).is_empty());
    assert!(!ask(&index, &log, "total", 500).is_empty());
}

#[test]
fn of_a_long_result_only_the_lines_that_matter_come_back() {
    let mut lines: Vec<String> =
        (0..2_000).map(|line| format!("line {line} of the output")).collect();
    lines[1_234] = "thread panicked at \"overflow\"".into();
    let log = [called("1", r#"{"command":"make test"}"#), answered("1", &lines.join("\n"))];
    let found = ask(&index_of(&log), &log, "why was there a panicked overflow", 300);
    assert_eq!(found.len(), 1);
    assert!(found[0].text.contains("panicked at \"overflow\"\nline 1235 of"), "{}", found[0].text);
    assert!(found[0].text.len() < 1_500);
}

#[test]
fn passages_that_touch_come_back_as_one_text() {
    let text: String =
        (0..60).map(|line| format!("needle in line {line:03}, with its words\n")).collect();
    let log = [answered("1", &text)];
    let found = ask(&index_of(&log), &log, "needle", 10_000);
    assert_eq!(found.len(), 1);
    assert_eq!(found[0].text, text);
    assert_eq!(found[0].tokens, Tokenizer::Bytes.count(&text).tokens);
}

#[test]
fn a_message_that_is_gone_is_passed_over() {
    let log = [said(Role::User, "the needle"), said(Role::User, "the haystack")];
    let index = index_of(&log);
    assert!(ask(&index, &[], "needle", 100).is_empty());
    // If another text is at this place, the cut is made where possible, and never inside a character.
    let other = [said(Role::User, "漢"), said(Role::User, "")];
    assert!(ask(&index, &other, "needle", 100).is_empty());
}

#[test]
fn hostile_texts_are_taken_in_and_asked_for() {
    const MEGABYTE: usize = 1_000_000;
    for piece in
        ["a", "a/", "a_", "aB", "{", "\\", "\\n", "漢", "\u{301}", "ภ", "\n", " a", "\u{10ffff}"]
    {
        let text = piece.repeat(MEGABYTE / piece.len());
        let log = [said(Role::User, &text), answered("1", &text), said(Role::User, "a needle")];
        let index = index_of(&log);
        assert_eq!(index.len(), 3);
        assert!(ask(&index, &log, &text, 500).iter().map(|one| one.tokens).sum::<u64>() <= 500);
    }
    let deep = format!("{}{}", "[".repeat(MEGABYTE / 2), "]".repeat(MEGABYTE / 2));
    let log = [called("1", &deep)];
    assert_eq!(index_of(&log).len(), 1);
}

/// Returns messages of few words, so that their words repeat.
fn messages() -> impl Strategy<Value = Vec<Message>> {
    let word = prop_oneof![
        Just("alpha"),
        Just("betaGamma"),
        Just("src/main.rs"),
        Just("数据库"),
        Just("\n"),
        Just("the"),
        Just("\"quoted\""),
        Just("é😀"),
    ];
    let text = prop::collection::vec(word, 0..400).prop_map(|words| words.join(" "));
    let message = (0..5_u8, text, "[ab]").prop_map(|(kind, text, id)| match kind {
        0 => said(Role::User, &text),
        1 => said(Role::Assistant, &text),
        2 => called(&id, r#"{"path":"src/main.rs","flag":true}"#),
        3 => called(&id, &format!(r#"{{"text":{}}}"#, Json::text(&text).as_str())),
        _ => answered(&id, &text),
    });
    prop::collection::vec(message, 0..12)
}

/// Returns the results of a search for the last message.
fn search(
    index: &RecallIndex,
    log: &[Message],
    max_tokens: u64,
    tokenizer: &Tokenizer,
    is_candidate: impl Fn(usize) -> bool,
) -> Vec<Passage> {
    let recent: Vec<&Message> = log.iter().rev().take(3).rev().collect();
    let query = RecallQuery { request: recent.first().copied(), recent: &recent };
    index.search(&query, max_tokens, tokenizer, is_candidate, |place| log.get(place))
}

proptest! {
    #[test]
    fn forgetting_a_message_is_as_if_it_had_never_been_there(
        log in messages(), gone in prop::collection::vec(any::<bool>(), 12),
    ) {
        let is_gone = |place: usize| gone[place];
        let mut never = RecallIndex::new();
        for (place, message) in log.iter().enumerate().filter(|(place, _)| !is_gone(*place)) {
            never.add(place, message);
        }
        let mut one_by_one = index_of(&log);
        (0..log.len()).filter(|place| is_gone(*place)).for_each(|place| one_by_one.remove(place));
        let mut at_once = index_of(&log);
        at_once.retain(|place| !is_gone(place));
        prop_assert_eq!(&one_by_one, &never);
        prop_assert_eq!(&at_once, &never);
        let found = search(&at_once, &log, 600, &Tokenizer::Bytes, |_| true);
        prop_assert!(found.iter().all(|passage| !is_gone(passage.position)));
        prop_assert_eq!(found, search(&never, &log, 600, &Tokenizer::Bytes, |_| true));
    }

    #[test]
    fn a_search_in_between_and_a_second_index_change_nothing(log in messages()) {
        let mut index = RecallIndex::new();
        for (place, message) in log.iter().enumerate() {
            index.add(place, message);
            search(&index, &log, 300, &Tokenizer::Bytes, |_| true);
        }
        let again = index_of(&log);
        prop_assert_eq!(index.len(), log.len());
        prop_assert_eq!(
            search(&index, &log, 300, &Tokenizer::Claude, |_| true),
            search(&again, &log, 300, &Tokenizer::Claude, |_| true)
        );
    }

    #[test]
    fn passages_fit_and_stand_in_order_and_may_be_recalled(
        log in messages(), max_tokens in 0..2_000_u64, candidates in prop::collection::vec(any::<bool>(), 12),
    ) {
        let index = index_of(&log);
        for tokenizer in [Tokenizer::Bytes, Tokenizer::Claude, Tokenizer::O200k] {
            let found = search(&index, &log, max_tokens, &tokenizer, |place| candidates[place]);
            prop_assert!(found.iter().map(|passage| passage.tokens).sum::<u64>() <= max_tokens);
            prop_assert!(found.is_sorted_by_key(|passage| passage.position));
            for passage in &found {
                prop_assert!(candidates[passage.position]);
                prop_assert_eq!(tokenizer.count(&passage.text).tokens, passage.tokens);
            }
        }
    }
}
