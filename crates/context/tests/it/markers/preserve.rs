//! Stripping for prompts that contain code: markers are removed with the spaces that they leave, everything else is
//! unchanged.

use std::borrow::Cow;

use tertulia_context::{Strip, strip_markers};

#[track_caller]
fn check(text: &str, expected: &str) {
    assert_eq!(strip_markers(text, Strip::Preserve).text, expected, "{text:?}");
}

/// Checks that nothing is removed, and nothing is copied.
#[track_caller]
fn check_untouched(text: &str) {
    let stripped = strip_markers(text, Strip::Preserve);
    assert_eq!(stripped.text, text);
    assert!(matches!(stripped.text, Cow::Borrowed(_)), "{text:?} was copied");
    assert_eq!(stripped.task_block_bytes, 0);
}

#[test]
fn a_line_of_only_markers_is_removed_whole() {
    check("a\n[NEXT: b]\nc", "a\nc");
    check("a\n  [NEXT: b] \t[FROM: c]  \nd", "a\nd");
    check("[NEXT: b]\nc", "c");
    check("a\n[NEXT: b]\n", "a\n");
    check("[NEXT: b]\n", "");
    check("[NEXT: b]\n[DROP: c]\n[TEAM_TASK: d]\n[FROM: e]\nx", "x");
}

#[test]
fn blank_lines_around_it_stay() {
    check("a\n\n[NEXT: b]\n\nc", "a\n\n\nc");
    check("\n[NEXT: b]\n", "\n");
    check("a\n[NEXT: b]\n\n", "a\n\n");
}

#[test]
fn elsewhere_a_marker_goes_with_the_spaces_before_it() {
    check("Tea? [NEXT: b]", "Tea?");
    check("a [NEXT: b] c", "a c");
    check("a \t [NEXT: b] c", "a c");
    check("a[NEXT: b]c", "ac");
    check("a[NEXT: b] c", "a c");
    check("a [NEXT: b], c", "a, c");
    check("a [NEXT: b]  ", "a  ");
}

#[test]
fn at_the_start_of_a_line_it_goes_with_the_spaces_behind_it() {
    check("[NEXT: b] c", "c");
    check("[NEXT: b]\t  c", "c");
    check("[NEXT: b]c", "c");
    check("a\n[NEXT: b] c\nd", "a\nc\nd");
}

#[test]
fn indentation_before_a_marker_is_kept() {
    check("  [NEXT: b] c", "  c");
    check("\t[NEXT: b][FROM: x]  c\n    d", "\tc\n    d");
}

#[test]
fn several_markers_on_a_line_go_together() {
    check("a [NEXT: b] [NEXT: c] d", "a d");
    check("a [NEXT: b][NEXT: c]", "a");
    check("[NEXT: b] [NEXT: c] d", "d");
    check("[NEXT: a] b [NEXT: c] d [NEXT: e]", "b d");
    check("a [NEXT: b] c [NEXT: d] e", "a c e");
}

#[test]
fn line_breaks_of_two_characters_stay_whole() {
    check("a [NEXT: b]\r\nc\r\n", "a\r\nc\r\n");
    check("a\r\n[NEXT: b]\r\nc", "a\r\nc");
    check("a\r\n[NEXT: b] \r\nc", "a\r\nc");
    check("[NEXT: b] c\r\nd", "c\r\nd");
    check("a\r\n[NEXT: b]", "a");
    check("a\r\n\r\n[NEXT: b]\r\n", "a\r\n\r\n");
}

#[test]
fn a_last_line_without_line_break_takes_the_one_before_it() {
    check("a\n[NEXT: b]", "a");
    check("a\n\n[NEXT: b]", "a\n");
    check("a\n[NEXT: b]\n[NEXT: c]", "a");
    check("a\n  [NEXT: b]  ", "a");
    check("\n[NEXT: b]", "");
    check("[NEXT: b]", "");
    check("  [NEXT: b]", "");
}

#[test]
fn nothing_else_is_touched() {
    check_untouched("");
    check_untouched("  a   b \t\n\n\n\tc\u{a0}\u{a0}d\u{feff}\r\n  ");
    check_untouched("[x] row[0] [NEXT a] [ NEXT: b] [NEX: c] 【NEXT: d】");
    check_untouched("[FROM:] [TEAM_TAS\u{212a}: x] [TEAM TASK] [TO: ann]");
}

#[test]
fn a_marker_that_is_never_closed_is_text() {
    check_untouched("[NEXT: a");
    check_untouched("[NEXT: a\n[DROP: b\n");
}

#[test]
fn all_markers_are_known_in_any_case() {
    check("a [next: b] [From: c] [dRoP: d] [team_task: e]", "a");
    check("a [NEXT:] [DROP:] [TEAM_TASK:]", "a");
}

#[test]
fn a_body_ends_at_the_first_bracket_that_closes() {
    check("[FROM: a [NEXT: b] c]", "c]");
    check("[NEXT: a\nb] c", "c");
    check("x\n[NEXT: a\nb]\ny", "x\ny");
}

#[test]
fn text_joined_by_removing_a_marker_is_not_scanned_again() {
    check("[NE[NEXT: a]XT: b] hi", "[NEXT: b] hi");
    check("[FR[FROM: x]OM: y] hi", "[FROM: y] hi");
    check("[TEAM[DROP: x]_TASK] hi", "[TEAM_TASK] hi");
}

#[test]
fn markers_in_fenced_code_are_text() {
    check_untouched("```\n[NEXT: a]\n```\n");
    check_untouched("~~~ text\n[NEXT: a]\n\n[TEAM_TASK] b\n~~~");
    check_untouched("````\n```\n[NEXT: a]\n```\n````");
    check_untouched("   ```rust\n   x[0]; // [NEXT: a]\n   ```");
    check_untouched("```\nnever closed [NEXT: a]\n\n[NEXT: b]");
    check("[NEXT: a]\n```\n  [NEXT: b]\n```\n[NEXT: c]", "```\n  [NEXT: b]\n```");
    check("```\r\n[NEXT: a]\r\n```\r\nb [NEXT: c]\r\n", "```\r\n[NEXT: a]\r\n```\r\nb\r\n");
}

#[test]
fn markers_in_inline_code_are_text() {
    check_untouched("write `[NEXT: a]` to pass it on");
    check_untouched("``[NEXT: a] ` ``");
    check_untouched("`a\n[NEXT: b]\nc`");
    check("write `[NEXT: a]` [NEXT: b]", "write `[NEXT: a]`");
    check("a ` b [NEXT: c]", "a ` b");
    check("`a\n\n[NEXT: b]\nc`", "`a\n\nc`");
    check("``a [NEXT: b]`", "``a`");
}

#[test]
fn markers_in_code_inside_a_list_item_are_text() {
    check_untouched("- a\n\n  ```\n  [NEXT: b]\n\n  c\n  ```\n");
    check_untouched("1. a\n\n    ```\n    [NEXT: b]\n    ```\n");
    check_untouched("1. a\n\n    ```\n    [NEXT: b]\n\n    c\n    ```\n");
}

#[test]
fn markers_in_quoted_lines_are_stripped_like_others() {
    check("> a [NEXT: b]\n> c", "> a\n> c");
    check("> ```\n> [NEXT: b]\n> ```", "> ```\n> [NEXT: b]\n> ```");
}

#[test]
fn a_task_block_ends_at_a_blank_line() {
    check("[TEAM_TASK] Bake\nbread\n\nHello", "\nHello");
    check("[TEAM_TASK] Bake\nbread\n \t\nHello", " \t\nHello");
    check("[TEAM_TASK]\n\nHello", "\nHello");
    check("[TEAM_TASK] Bake\r\nbread\r\n\r\nHello\r\n", "\r\nHello\r\n");
    check("Hi [TEAM_TASK] Bake\nbread\n\nHello", "Hi\n\nHello");
    check("a\n[TEAM_TASK] Bake\n", "a\n");
    check("a\n[TEAM_TASK] Bake", "a");
}

#[test]
fn a_task_block_without_blank_line_reaches_to_the_end() {
    check("[TEAM_TASK] Bake\nHello", "");
    check("a\n[team_task] Bake row[0]\nHello [x]", "a");
}

#[test]
fn a_task_block_ends_at_the_next_marker() {
    check("[TEAM_TASK] Bake [NEXT: a] go", "go");
    check("[TEAM_TASK] Bake\n[NEXT: a]\nHello", "Hello");
    check("[TEAM_TASK] Bake\n[TEAM_TASK] Brew\n\nHello", "\nHello");
    check("[TEAM_TASK][DROP: ALL] Hello", "Hello");
    check("[TEAM_TASK] Bake `[NEXT: a]` row[0]\n\nHello", "\nHello");
}

#[test]
fn a_task_block_ends_at_a_fence() {
    check("[TEAM_TASK] Bake\n```\nx[0]\n```\nHello", "```\nx[0]\n```\nHello");
    check("a [TEAM_TASK] Bake\n~~~\nb\n~~~", "a\n~~~\nb\n~~~");
    check("[TEAM_TASK]\n```\nb\n```", "```\nb\n```");
    check("[TEAM_TASK] Bake\r\n```\r\nb\r\n```\r\n", "```\r\nb\r\n```\r\n");
}

#[test]
fn the_bytes_of_task_blocks_are_counted() {
    let bytes = |text: &str| strip_markers(text, Strip::Preserve).task_block_bytes;
    assert_eq!(bytes("[TEAM_TASK] Bake\n\nHello"), "[TEAM_TASK] Bake".len());
    assert_eq!(bytes("[TEAM_TASK]a[NEXT: b]\n\n[TEAM_TASK]c"), 24);
    assert_eq!(bytes("[TEAM_TASK: a] [NEXT: b] c"), 0);
}
