//! Tool pairs are repaired and units are found. The notation is: `u hi`, `a text +call`, `t =call`, where `!call` is
//! a result that was made up and `~` is thinking. Each line of the output is a unit.

use proptest::prelude::*;
use tertulia_context::builder::{Item, LogIndex, MessageRef, RepairKind, Repaired, repair, units};
use tertulia_session::json::Json;
use tertulia_session::{Message, Part, PartKind, Role, Speaker, SpeakerType, ToolCall, ToolResult};

fn part(word: &str) -> Part {
    let json = |text: &str| Json::parse(text).unwrap();
    let kind = match word.split_at(1) {
        ("+", id) => PartKind::ToolCall(Box::new(ToolCall {
            tool_call_id: id.into(),
            tool_name: "tool".into(),
            arguments: json("{}"),
            raw_args_text: None,
        })),
        ("=", id) => PartKind::ToolResult(Box::new(ToolResult {
            tool_call_id: id.into(),
            is_error: false,
            content: json("\"ok\""),
        })),
        ("~", thought) => PartKind::Thinking(thought.to_owned()),
        ("_", _) => PartKind::Text(" \n".to_owned()),
        _ => PartKind::Text(word.to_owned()),
    };
    Part::new(kind)
}

fn item(place: usize, line: &str) -> Item<'static> {
    let (role, words) = line.split_once(' ').unwrap_or((line, ""));
    let mut message = Message::said(Speaker::new("x", "X", SpeakerType::Human), "");
    message.role = Some(match role {
        "s" => Role::System,
        "u" => Role::User,
        "a" => Role::Assistant,
        _ => Role::Tool,
    });
    message.parts = words.split_whitespace().map(part).collect();
    Item::new(LogIndex(place), MessageRef::generated(message))
}

fn repaired_messages(lines: &[&str]) -> Repaired<'static> {
    repair(lines.iter().enumerate().map(|(place, line)| item(place, line)))
}

fn shown_part(part: &Part) -> String {
    match &part.kind {
        PartKind::ToolCall(call) => format!("+{}", call.tool_call_id),
        PartKind::ToolResult(result) if result.is_error => {
            assert_eq!(result.content, Json::text(ToolResult::NOT_RECORDED));
            format!("!{}", result.tool_call_id)
        }
        PartKind::ToolResult(result) => format!("={}", result.tool_call_id),
        PartKind::Thinking(thought) => format!("~{thought}"),
        PartKind::Text(text) if text.trim().is_empty() => "_".to_owned(),
        _ => part.as_text().unwrap_or("?").to_owned(),
    }
}

fn shown_item(item: &Item<'_>) -> String {
    let role = match item.message.effective_role() {
        Role::System => "s",
        Role::User => "u",
        Role::Assistant => "a",
        Role::Tool => "t",
    };
    let parts = item.message.parts.iter().map(shown_part);
    std::iter::once(role.to_owned()).chain(parts).collect::<Vec<_>>().join(" ")
}

fn shown_units(repaired: &Repaired<'_>) -> Vec<String> {
    let unit = |unit: &[Item<'_>]| unit.iter().map(shown_item).collect::<Vec<_>>().join(" | ");
    units(&repaired.items).into_iter().map(|one| unit(&repaired.items[one.items])).collect()
}

fn check(lines: &[&str], expected_units: &[&str], repairs: &[(&str, RepairKind)]) {
    let repaired = repaired_messages(lines);
    assert_eq!(shown_units(&repaired), expected_units, "{lines:?}");
    let told = repaired.repairs.iter().map(|one| (format!("e{}", one.entry.0), one.kind.clone()));
    let repairs = repairs.iter().map(|(entry, kind)| ((*entry).to_owned(), kind.clone()));
    assert_eq!(told.collect::<Vec<_>>(), repairs.collect::<Vec<_>>(), "{lines:?}");
}

fn missing(call: &str) -> RepairKind {
    RepairKind::MissingResult { call: call.into() }
}

fn orphan(call: &str) -> RepairKind {
    RepairKind::OrphanResult { call: call.into() }
}

fn misplaced(entry: &str) -> (&str, RepairKind) {
    (entry, RepairKind::MisplacedPart)
}

#[test]
fn a_sound_list_stays_as_it_is() {
    check(&["s be", "u hi", "a yo"], &["s be", "u hi", "a yo"], &[]);
    check(&["u go", "a +1", "t =1", "a ok"], &["u go", "a +1 | t =1", "a ok"], &[]);
}

#[test]
fn parallel_calls_and_their_results_are_one_unit_however_they_are_split() {
    check(&["a +1 +2", "t =2 =1", "u x"], &["a +1 +2 | t =2 =1", "u x"], &[]);
    check(&["a +1 +2", "t =1", "t =2", "u x"], &["a +1 +2 | t =1 | t =2", "u x"], &[]);
}

#[test]
fn a_call_without_a_result_gets_an_error_result_behind_those_that_are_there() {
    let repairs = [("e0", missing("1")), ("e0", missing("3"))];
    check(&["a +1 +2 +3", "t =2", "u x"], &["a +1 +2 +3 | t =2 | t !1 !3", "u x"], &repairs);
    check(&["a +1", "a ok"], &["a +1 | t !1", "a ok"], &[("e0", missing("1"))]);
}

#[test]
fn a_call_at_the_very_end_waits_for_its_result() {
    check(&["u go", "a +1"], &["u go", "a +1"], &[]);
    check(&["u go", "a +1 +2", "t =1"], &["u go", "a +1 +2 | t =1"], &[]);
    // The message after the call is empty, so the call is still at the end.
    check(&["a +1", "u _"], &["a +1"], &[("e1", RepairKind::Empty)]);
}

#[test]
fn a_result_without_a_call_before_it_is_left_out() {
    check(&["t =1", "u x"], &["u x"], &[("e0", orphan("1"))]);
    check(
        &["a +1", "t =1 =1 =9", "u x"],
        &["a +1 | t =1", "u x"],
        &[("e1", orphan("1")), ("e1", orphan("9"))],
    );
}

fn moved(call: &str) -> RepairKind {
    RepairKind::MovedResult { call: call.into() }
}

#[test]
fn a_late_result_is_moved_to_its_call() {
    check(&["a +1", "u stop", "t =1"], &["a +1 | t =1", "u stop"], &[("e2", moved("1"))]);
    check(
        &["a +1 +2 +3", "t =2", "u x", "t =3 =9", "u y"],
        &["a +1 +2 +3 | t =2 | t =3 | t !1", "u x", "u y"],
        &[("e0", missing("1")), ("e3", moved("3")), ("e3", orphan("9"))],
    );
    // The result belongs to the newest call with this id; an earlier call gets none.
    check(
        &["a +1", "u x", "a +1", "u y", "t =1"],
        &["a +1 | t !1", "u x", "a +1 | t =1", "u y"],
        &[("e0", missing("1")), ("e4", moved("1"))],
    );
}

#[test]
fn a_result_in_a_message_of_another_role_is_moved_to_its_call() {
    check(&["a +1", "u =1 hi"], &["a +1 | t =1", "u hi"], &[("e1", moved("1"))]);
    check(&["a +1", "u =1"], &["a +1 | t =1"], &[("e1", moved("1"))]);
    check(&["a +1 =1 ok", "u x"], &["a +1 ok | t =1", "u x"], &[("e0", moved("1"))]);
}

#[test]
fn a_repeated_call_and_a_misplaced_part_are_left_out() {
    let repeated = RepairKind::RepeatedCall { call: "1".into() };
    check(&["a +1 +1", "t =1"], &["a +1 | t =1"], &[("e0", repeated)]);
    check(&["u hi =1 +2"], &["u hi"], &[misplaced("e0"), misplaced("e0")]);
    check(&["a hm =1"], &["a hm"], &[misplaced("e0")]);
    check(&["a +1", "t words =1"], &["a +1 | t =1"], &[misplaced("e1")]);
}

#[test]
fn a_message_that_says_nothing_is_left_out() {
    for line in ["u", "u _", "a", "a ~hm", "a ~hm _", "s _"] {
        check(&["u hi", line], &["u hi"], &[("e1", RepairKind::Empty)]);
    }
    check(&["a ~hm +1", "t =1"], &["a ~hm +1 | t =1"], &[]);
}

#[test]
fn an_id_may_be_used_again_in_a_later_answer() {
    check(&["a +1", "t =1", "a +1", "t =1"], &["a +1 | t =1", "a +1 | t =1"], &[]);
}

#[test]
fn a_hundred_thousand_parallel_calls_are_repaired_in_one_pass() {
    let calls: String = (0..100_000).map(|n| format!(" +{n}")).collect();
    let results: String = (0..100_000).rev().map(|n| format!(" ={n}")).collect();
    let repaired = repaired_messages(&[&format!("a{calls}"), &format!("t{results}"), "u x"]);
    assert_eq!(repaired.items.len(), 3);
    assert_eq!(repaired.repairs, []);
}

fn any_line() -> impl Strategy<Value = String> {
    let word = prop::sample::select(vec!["hi", "_", "~t", "+1", "+2", "=1", "=2", "=3"]);
    let words = prop::collection::vec(word, 0..4);
    (prop::sample::select(vec!["s", "u", "a", "t"]), words)
        .prop_map(|(role, words)| format!("{role} {}", words.join(" ")))
}

/// Returns a rule of the providers that the repaired list breaks.
fn broken_rule(lines: &[String]) -> Option<String> {
    let mut open: Vec<String> = Vec::new();
    for (place, line) in lines.iter().enumerate() {
        let (role, words) = line.split_once(' ').unwrap_or((line, ""));
        let words: Vec<&str> = words.split(' ').filter(|word| !word.is_empty()).collect();
        if words.iter().all(|word| *word == "_" || word.starts_with('~')) {
            return Some(format!("{place} is empty"));
        }
        if role != "t" && !open.is_empty() {
            return Some(format!("{place} comes before the results of {open:?}"));
        }
        for word in words {
            let (sign, id) = word.split_at(1);
            match (role, sign) {
                ("a", "+") if open.iter().any(|call| call == id) => {
                    return Some(format!("{place} calls {id} twice"));
                }
                ("a", "+") => open.push(id.to_owned()),
                ("t", "=" | "!") if open.iter().any(|call| call == id) => {
                    open.retain(|call| call != id)
                }
                ("a" | "u" | "s", _) if !"+=!".contains(sign) => {}
                _ => return Some(format!("{place} has {word} in role {role}")),
            }
        }
    }
    None
}

proptest! {
    #[test]
    fn whatever_the_list_the_mended_one_breaks_no_rule(lines in prop::collection::vec(any_line(), 0..12)) {
        let lines: Vec<&str> = lines.iter().map(String::as_str).collect();
        let repaired = repaired_messages(&lines);
        let shown: Vec<String> = repaired.items.iter().map(shown_item).collect();
        prop_assert_eq!(broken_rule(&shown), None, "{:?}", shown);
    }

    #[test]
    fn mending_keeps_the_order_and_mends_once(lines in prop::collection::vec(any_line(), 0..12)) {
        let lines: Vec<&str> = lines.iter().map(String::as_str).collect();
        let repaired = repaired_messages(&lines);
        // Results may be anywhere in the input; in the output they follow their call.
        let said = repaired.items.iter().filter(|item| item.message.role != Some(Role::Tool));
        let places: Vec<usize> = said.map(|item| item.entry.0).collect();
        prop_assert!(places.is_sorted());
        let again = repair(repaired.items.clone());
        prop_assert_eq!(&again.items, &repaired.items);
        prop_assert_eq!(again.repairs, []);
    }

    #[test]
    fn nothing_that_could_be_kept_is_lost(lines in prop::collection::vec(any_line(), 0..12)) {
        let lines: Vec<&str> = lines.iter().map(String::as_str).collect();
        let repaired = repaired_messages(&lines);
        let shown: Vec<String> = repaired.items.iter().map(shown_item).collect();
        let said = |lines: &[&str]| -> usize {
            lines.iter().filter(|line| !line.starts_with('t')).map(|line| line.matches("hi").count()).sum()
        };
        prop_assert_eq!(said(&lines), said(&shown.iter().map(String::as_str).collect::<Vec<_>>()));
        for one in &repaired.repairs {
            let RepairKind::MissingResult { call } = &one.kind else { continue };
            let calls_again = |line: &&&str| line.starts_with('a') && line.contains(&format!("+{call}"));
            let before_next = lines[one.entry.0 + 1..].iter().take_while(|line| !calls_again(line));
            prop_assert!(before_next.clone().all(|line| !line.contains(&format!("={call}"))), "{:?}", shown);
        }
    }

    #[test]
    fn units_are_the_list_and_no_unit_begins_with_a_result(lines in prop::collection::vec(any_line(), 0..12)) {
        let lines: Vec<&str> = lines.iter().map(String::as_str).collect();
        let repaired = repaired_messages(&lines);
        let mut next = 0;
        for unit in units(&repaired.items) {
            prop_assert_eq!(unit.items.start, next);
            next = unit.items.end;
            prop_assert_ne!(repaired.items[unit.items.start].message.effective_role(), Role::Tool);
        }
        prop_assert_eq!(next, repaired.items.len());
    }
}
