//! Stripping by the contract's rule, and the two ends of a task block. The contract's own cases are in
//! `cases`.

use std::borrow::Cow;

use tertulia_context::{Strip, TaskBlock, strip_all_markers, strip_markers};

use crate::harness::{Notes, ann, context, say};

const TO_BLANK_LINE: Strip = Strip::Compact(TaskBlock::ToBlankLine);

#[track_caller]
fn check(text: &str, expected: &str) {
    assert_eq!(strip_all_markers(text), expected, "{text:?}");
}

#[track_caller]
fn check_to_blank_line(text: &str, expected: &str) {
    assert_eq!(strip_markers(text, TO_BLANK_LINE).text, expected, "{text:?}");
}

#[test]
fn code_is_text_like_any_other() {
    check("```\n    [NEXT: a] x\n```", "```\nx\n```");
    check("write `[NEXT: a]`", "write ``");
}

#[test]
fn kinds_of_markers_go_one_after_the_other() {
    // FROM is stripped first. So stripping FROM can create a NEXT marker, but stripping NEXT can never create a FROM
    // marker.
    check("[NE[FROM: x]XT: b] hi", "hi");
    check("[TEAM[FROM: x]_TASK: y] hi", "hi");
    check("[TEAM[FROM: x]_TASK] y [z]", "[z]");
    check("[NE[TEAM_TASK: x]XT: b] hi", "hi");
    check("[FR[NEXT: x]OM: y] hi", "[FROM: y] hi");
    check("[TEAM_TA[NEXT: x]SK] y", "[TEAM_TASK] y");
}

#[test]
fn every_kind_looks_through_the_text_once() {
    check("[NE[NEXT: a]XT: b] hi", "[NEXT: b] hi");
    check("[FR[FROM: a]OM: b] hi", "[FROM: b] hi");
    check("[TEAM_TASK][TEAM_TASK] a [b]", "[b]");
}

#[test]
fn every_whitespace_of_javascript_folds() {
    for c in "\t\u{b}\u{c}\r \u{a0}\u{1680}\u{2000}\u{200a}\u{2028}\u{2029}\u{202f}\u{205f}\u{3000}\u{feff}"
        .chars()
    {
        check(&format!("a{c}{c}b"), "a b");
        check(&format!("{c}a{c}"), "a");
        check(&format!("a{c}b"), &format!("a{c}b"));
    }
}

#[test]
fn a_text_that_is_clean_already_is_not_copied() {
    for text in ["a b\nc [x]", "[FROM:]", "a\u{85}\u{85}b"] {
        assert!(matches!(strip_all_markers(text), Cow::Borrowed(same) if same == text), "{text:?}");
    }
}

#[test]
fn a_task_block_may_end_at_a_blank_line_instead() {
    check_to_blank_line("[TEAM_TASK] Bake\nrow[0]\n\nHello  x[1]", "Hello x[1]");
    check_to_blank_line("[TEAM_TASK] Bake\r\nbread\r\n \r\nHello", "Hello");
    check_to_blank_line("[TEAM_TASK] Bake [NEXT: a] go", "go");
    check_to_blank_line("[TEAM_TASK] Bake [DROP: ALL] go", "[DROP: ALL] go");
    check_to_blank_line("[TEAM_TASK] Bake [TEAM_TASK] brew\n\ngo", "go");
    check_to_blank_line("[TEAM_TASK] Bake\nHello", "");
    check_to_blank_line("a [TEAM_TASK] Bake", "a");
}

#[test]
fn the_bytes_of_task_blocks_are_counted() {
    let bytes = |text: &str, strip: Strip| strip_markers(text, strip).task_block_bytes;
    let text = "[TEAM_TASK] Bake bread\n\nrow[0]";
    assert_eq!(bytes(text, Strip::COMPACT), "[TEAM_TASK] Bake bread\n\nrow".len());
    assert_eq!(bytes(text, TO_BLANK_LINE), "[TEAM_TASK] Bake bread".len());
    assert_eq!(bytes("[TEAM_TASK: a] [NEXT: b] [FROM: c]", Strip::COMPACT), 0);
}

#[test]
fn the_loss_of_a_task_block_is_logged_with_its_bytes() {
    let notes = Notes::default();
    let mut manager = notes.logged();
    say(&mut manager, &ann(), &["[TEAM_TASK] Bake bread\nHello Ivo", "[TEAM_TASK: Brew] Hi", "x"]);
    notes.read();
    assert_eq!(context(&manager).current_message, "x");
    assert_eq!(notes.read(), ["debug [ContextManager] TEAM_TASK block removed: 32 bytes of msg-1"]);
    assert_eq!(
        manager.messages().next().unwrap().message.text(),
        "[TEAM_TASK] Bake bread\nHello Ivo"
    );
}
