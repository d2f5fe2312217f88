//! Tests how Markdown is rendered, and that the result does not depend on the chunks of the input.

use proptest::prelude::*;

use super::*;

fn whole(text: &str, columns: usize) -> Vec<Line> {
    let mut markdown = Markdown::default();
    let mut lines = markdown.push(text, columns);
    lines.extend(markdown.finish(columns));
    lines
}

fn texts(text: &str, columns: usize) -> Vec<String> {
    whole(text, columns).iter().map(Line::text).collect()
}

#[track_caller]
fn check(text: &str, expected: &[&str]) {
    assert_eq!(texts(text, 20), expected);
}

#[test]
fn prose_is_wrapped_at_spaces_and_wide_signs_take_two_columns() {
    check("one two three four five six", &["one two three four", "five six"]);
    check("设计登录页面的所有细节以及流程", &["设计登录页面的所有细", "节以及流程"]);
    check(&"a".repeat(45), &["a".repeat(20).as_str(), &"a".repeat(20), "aaaaa"]);
}

#[test]
fn lists_hang_and_headings_and_quotes_lose_their_signs() {
    check("- one two three four five", &["• one two three four", "  five"]);
    check("12. one two three four", &["12. one two three", "    four"]);
    check("## Title ##", &["Title"]);
    check("> said before", &["│ said before"]);
    check("#hashtag", &["#hashtag"]);
}

#[test]
fn code_is_never_wrapped_and_keeps_every_blank() {
    let code = "\tfn main() { /* a line that is longer than the screen */ }   ";
    let text = format!("```rust\n{code}\n**no**\n````\nprose");
    check(&text, &["```rust", code, "**no**", "````", "prose"]);
    let lines = whole(&text, 20);
    assert_eq!(lines[1], Line::new(code, Look::Code));
}

#[test]
fn tables_and_rules_are_left_as_they_are() {
    let table = "| a very wide column | another wide one |";
    check(table, &[table]);
    check("---\n***\n- - -", &["---", "***", "- - -"]);
}

#[test]
fn marks_inside_a_line_become_looks() {
    let line = &whole("a **b** *c* `d*e*` _f_ snake_case_name", 80)[0];
    let expected = Line::new("a ", Look::Plain)
        .with("b", Look::Strong)
        .with(" ", Look::Plain)
        .with("c", Look::Emphasized)
        .with(" ", Look::Plain)
        .with("d*e*", Look::Code)
        .with(" ", Look::Plain)
        .with("f", Look::Emphasized)
        .with(" snake_case_name", Look::Plain);
    assert_eq!(*line, expected);
    assert_eq!(texts("2 * 3 * 4, **open, \\*no\\*, `open", 80), ["2 * 3 * 4, **open, *no*, `open"]);
}

#[test]
fn a_link_shows_where_it_leads() {
    let text = "see [the bank](https://evil.example/x) now";
    assert_eq!(texts(text, 80), ["see the bank (https://evil.example/x) now"]);
    assert_eq!(texts("a [b] (c) [d](e", 80), ["a [b] (c) [d](e"]);
}

#[test]
fn control_characters_are_visible_in_prose_and_code_and_a_windows_line_end_is_none() {
    check("a\x1b[2J\r\nb\rc", &["a␛[2J", "b␍c"]);
    check("```\n\x1b]0;t\x07\n```", &["```", "␛]0;t␇", "```"]);
}

#[test]
fn what_is_not_complete_yet_can_be_seen() {
    let mut markdown = Markdown::default();
    assert!(markdown.push("Hello, wor", 20).is_empty());
    assert_eq!(markdown.pending(20, 3), [Line::new("Hello, wor", Look::Plain)]);
    assert_eq!(markdown.push("ld\nand", 20), [Line::new("Hello, world", Look::Plain)]);
    let mut endless = Markdown::default();
    endless.push(&"word ".repeat(10_000), 20);
    assert!(endless.pending(20, 3).len() <= 3);
}

#[test]
fn a_line_without_an_end_is_cut_and_many_marks_cost_little() {
    let long = "x".repeat(LINE_BYTES_MAX * 2 + 5);
    let lines = texts(&format!("```\n{long}"), 20);
    assert_eq!(
        lines.iter().map(String::len).collect::<Vec<_>>(),
        [3, LINE_BYTES_MAX, LINE_BYTES_MAX, 5]
    );
    for hostile in ["[", "*", "**a ", "`", "_a ", "[a](", "> ", "\\"] {
        assert!(!texts(&hostile.repeat(200_000 / hostile.len()), 80).is_empty());
    }
}

#[test]
fn twice_the_text_is_looked_at_twice_at_most() {
    let runs: String = (1..360).map(|length| format!("{} ", "`".repeat(length))).collect();
    let hostile =
        ["[", "*", "**a ", "`", "_a ", "[a](", "[a](b ", "[[a](b c)", "a]( ", "[a] ", "*a _b "];
    for piece in hostile.into_iter().chain([runs.as_str()]) {
        let text = piece.repeat(1 + LINE_BYTES_MAX / piece.len());
        let bytes = inline::add(&mut Line::default(), &text, Look::Plain);
        assert!(bytes <= 3 * text.len(), "{bytes} of {} for {:.20}", text.len(), piece);
    }
}

#[test]
fn a_huge_text_in_pieces_gives_as_many_bytes_as_it_has() {
    const SIZE: usize = 1024 * 1024;
    for line in ["a word ", "x", "- item of a list\n", "设", "> > q "] {
        let mut markdown = Markdown::default();
        let (mut bytes, mut rows, mut seen) = (0, 0, 0);
        let piece = line.repeat(1 + 4096 / line.len());
        let mut sent = 0;
        while sent < SIZE {
            sent += piece.len();
            let lines = markdown.push(&piece, 80);
            bytes += lines.iter().map(|line| line.text().len()).sum::<usize>();
            rows += lines.len();
            seen += markdown.pending(80, 6).iter().map(|line| line.text().len()).sum::<usize>();
            assert!(markdown.open.len() <= LINE_BYTES_MAX);
        }
        assert!(bytes <= sent + sent / 8, "{bytes} bytes of {sent} for {line:?}");
        assert!(rows <= sent / 16, "{rows} rows of {sent} for {line:?}");
        assert!(seen <= sent / 4, "{seen} bytes were drawn before their line was whole");
    }
}

proptest! {
    #[test]
    fn the_pieces_do_not_matter(
        text in r"(?s)([a-z `*_#>\-|~\[\]()\\0-9设\r\n\x1b\t]|```|\*\*){0,200}",
        cuts in prop::collection::vec(0_usize..400, 0..12),
        columns in 1_usize..60,
    ) {
        let mut cuts: Vec<usize> =
            cuts.into_iter().map(|cut| text.floor_char_boundary(cut)).collect();
        cuts.sort_unstable();
        let mut markdown = Markdown::default();
        let (mut lines, mut from) = (Vec::new(), 0);
        for cut in cuts.into_iter().chain([text.len()]) {
            lines.extend(markdown.push(&text[from..cut], columns));
            let _ = markdown.pending(columns, 2);
            from = cut;
        }
        lines.extend(markdown.finish(columns));
        prop_assert_eq!(lines, whole(&text, columns));
    }

    #[test]
    fn no_row_of_prose_is_wider_than_the_screen(
        text in "[a-z设é \\-*`_]{0,200}",
        columns in 8_usize..60,
    ) {
        prop_assume!(!text.starts_with("```"));
        for line in whole(&text, columns) {
            prop_assert!(line.width() <= columns, "{:?}", line.text());
        }
    }

    #[test]
    fn nothing_but_our_own_codes_is_ever_painted(text in "(?s).{0,200}") {
        for line in whole(&text, 40) {
            prop_assert!(!line.painted(false).chars().any(|c| c.is_control() && c != '\t'));
        }
    }
}
