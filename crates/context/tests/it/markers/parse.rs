//! What markers say, and where they say nothing.

use tertulia_context::{Markers, parse_markers};

/// The markers in one line, such as `next ivo!P1 lena!P2; drop ann; from ann; task tea`.
fn shown(markers: &Markers) -> String {
    let mut said = Vec::new();
    if !markers.next.is_empty() {
        let names = markers.next.iter();
        let names = names.map(|next| format!(" {}!{}", next.name, next.intent.as_str()));
        said.push(format!("next{}", names.collect::<String>()));
    }
    if !markers.drop.is_empty() {
        said.push(format!("drop {}", markers.drop.join(" ")));
    }
    said.extend(markers.from.as_ref().map(|name| format!("from {name}")));
    said.extend(markers.team_task.as_ref().map(|task| format!("task {task}")));
    said.join("; ")
}

#[track_caller]
fn check(text: &str, expected: &str) {
    assert_eq!(shown(&parse_markers(text)), expected, "{text:?}");
}

#[test]
fn next_names_members_in_order_of_appearance() {
    check("[NEXT: ivo]", "next ivo!P2");
    check("[NEXT: ivo, lena] x [next:ann]", "next ivo!P2 lena!P2 ann!P2");
    check("[NEXT: Ivo the Great , lena]", "next Ivo the Great!P2 lena!P2");
    check("[NEXT: ivo, ivo]", "next ivo!P2 ivo!P2");
}

#[test]
fn an_intent_stands_behind_a_name() {
    check("[NEXT: a!P1, b!p2, c !P3, d]", "next a!P1 b!P2 c!P3 d!P2");
    check("[NEXT: a \t!p1 ]", "next a!P1");
}

#[test]
fn what_is_no_intent_belongs_to_the_name() {
    check("[NEXT: a!P4]", "next a!P4!P2");
    check("[NEXT: a!P1!P2]", "next a!P1!P2");
    check("[NEXT: a!P2!P1]", "next a!P2!P1");
    check("[NEXT: a! P1]", "next a! P1!P2");
    check("[NEXT: a!P1x]", "next a!P1x!P2");
    check("[NEXT: !P1]", "next !P1!P2");
    check("[NEXT: a\u{ff01}P1]", "next a\u{ff01}P1!P2");
}

#[test]
fn empty_names_are_passed_over() {
    check("[NEXT:]", "");
    check("[NEXT:  , ,]", "");
    check("[NEXT: , a,, b ,]", "next a!P2 b!P2");
    check("[DROP:]", "");
}

#[test]
fn other_brackets_are_no_markers() {
    check("【NEXT: a】 [NEXT a] [ NEXT: b] [NEXT: c", "");
    check("[NE[NEXT: a]XT: b]", "next a!P2");
}

#[test]
fn drop_takes_names_without_intents() {
    check("[DROP: a, b!P1] [drop: c]", "drop a b c");
}

#[test]
fn drop_all_stands_alone() {
    check("[DROP: ALL]", "drop ALL");
    check("[DROP: a] [DROP:all ] [DROP: b]", "drop ALL");
    check("[DROP: ALL, a]", "drop ALL a");
}

#[test]
fn the_first_from_counts() {
    check("[FROM: ann] x [FROM: ivo]", "from ann");
    check("[FROM: ] [FROM:] [FROM: ivo]", "from ivo");
}

#[test]
fn the_last_team_task_counts() {
    check("[TEAM_TASK: tea] x [team_task:  Have\nbreakfast ]", "task Have\nbreakfast");
}

#[test]
fn the_block_form_sets_no_team_task() {
    check("[TEAM_TASK] Bake\n\nHello", "");
}

#[test]
fn markers_inside_a_task_block_are_heard() {
    check("[TEAM_TASK] Bake [NEXT: ivo] bread [DROP: ann]", "next ivo!P2; drop ann");
}

#[test]
fn markers_in_code_say_nothing() {
    check("write `[NEXT: a]` [NEXT: b]", "next b!P2");
    check("```\n[NEXT: a]\n[DROP: ALL]\n```\n[NEXT: b]", "next b!P2");
    check("~~~\n[FROM: ann] [TEAM_TASK: x]\n", "");
    check("``` no code [NEXT: a]`", "next a!P2");
    check("one ` alone [NEXT: a]", "next a!P2");
}

#[test]
fn markers_in_code_inside_a_list_item_say_nothing() {
    check("1. a\n\n    ```\n    [NEXT: b]\n\n    c\n    ```\n\n[NEXT: d]", "next d!P2");
}

#[test]
fn a_fence_is_not_closed_by_one_that_is_deeper() {
    check("```md\n1. a\n    ```\n    [NEXT: b]\n    ```\n```\n[NEXT: c]", "next c!P2");
}

#[test]
fn markers_in_quoted_lines_say_nothing() {
    check("> Ann said: [NEXT: a]\nI say [NEXT: b]", "next b!P2");
    check(">[NEXT: a]\n   > [DROP: ALL]\n>> [FROM: c]\n\n[NEXT: d]", "next d!P2");
    check("a > b [NEXT: c]", "next c!P2");
    // So far to the right it goes on with the paragraph instead of opening a quote.
    check("a\n    > b [NEXT: c]", "next c!P2");
    check("> a [NEXT: b] [NEXT: c]\r\n[NEXT: d]\r\n> [NEXT: e]", "next d!P2");
}

#[test]
fn all_of_it_together() {
    check(
        "[FROM: ann] Please go on. [NEXT: ivo!P1, lena] [DROP: rosa]\n[TEAM_TASK: Bake]",
        "next ivo!P1 lena!P2; drop rosa; from ann; task Bake",
    );
}

#[test]
fn the_clean_text_lacks_what_was_read_and_nothing_else() {
    for (text, clean) in [
        ("[FROM: ann] Go on. [NEXT: ivo]\n    x = 1\n", "Go on.\n    x = 1\n"),
        ("a\n[DROP: ALL]\n[TEAM_TASK: b]\nc", "a\nc"),
        ("`[NEXT: a]` [NEXT: b]", "`[NEXT: a]`"),
        ("> a [NEXT: b]\nc [NEXT: d]", "> a [NEXT: b]\nc"),
        ("[TEAM_TASK] Bake [NEXT: a] bread", "[TEAM_TASK] Bake bread"),
        ("[NEXT:] a [FROM: ] b", "a b"),
        ("  nothing  to\n\n read\t", "  nothing  to\n\n read\t"),
    ] {
        assert_eq!(parse_markers(text).clean_text, clean, "{text:?}");
    }
}
