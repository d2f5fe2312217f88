//! Where markers have an effect, and where they have none.

use tertulia_context::{Markers, Strip, parse_markers, strip_markers};

/// Returns the markers in one line, such as `next ivo!P1 lena!P2; drop ann; from ann; task tea`.
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
fn an_intent_follows_a_name() {
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
fn markers_inside_a_task_block_count() {
    check("[TEAM_TASK] Bake [NEXT: ivo] bread [DROP: ann]", "next ivo!P2; drop ann");
}

#[test]
fn markers_in_code_are_ignored() {
    check("write `[NEXT: a]` [NEXT: b]", "next b!P2");
    check("```\n[NEXT: a]\n[DROP: ALL]\n```\n[NEXT: b]", "next b!P2");
    check("~~~\n[FROM: ann] [TEAM_TASK: x]\n", "");
    check("``` no code [NEXT: a]`", "next a!P2");
    check("one ` alone [NEXT: a]", "next a!P2");
}

#[test]
fn markers_in_code_inside_a_list_item_are_ignored() {
    check("1. a\n\n    ```\n    [NEXT: b]\n\n    c\n    ```\n\n[NEXT: d]", "next d!P2");
}

#[test]
fn a_fence_is_not_closed_by_one_that_is_deeper() {
    check("```md\n1. a\n    ```\n    [NEXT: b]\n    ```\n```\n[NEXT: c]", "next c!P2");
}

#[test]
fn markers_in_quoted_lines_are_ignored() {
    check("> Ann said: [NEXT: a]\n\nI say [NEXT: b]", "next b!P2");
    check(">[NEXT: a]\n   > [DROP: ALL]\n>> [FROM: c]\n\n[NEXT: d]", "next d!P2");
    check("a > b [NEXT: c]", "next c!P2");
    check("> a [NEXT: b] [NEXT: c]\r\n\r\n[NEXT: d]\r\n> [NEXT: e]", "next d!P2");
    check("- > [NEXT: a]\n\n1. > [NEXT: b]\n\n* 1) + > [NEXT: c]", "");
    check("- a\n\n    > [NEXT: b]\n\n\t> [NEXT: c]", "");
    check("a\n    > b [NEXT: c]", "");
    check("2. a\n\u{200b}> [NEXT: b]\n\n\u{a0}> [NEXT: c]", "");
    check("a\r> [NEXT: b]", "");
}

#[test]
fn a_quote_lasts_until_a_blank_line_or_a_fence() {
    check("> The README says:\n[NEXT: a]", "");
    check("> a\nb\n- [NEXT: c]\n  [NEXT: d]", "");
    check("- > a\n  [NEXT: b]\n\n[NEXT: c]", "next c!P2");
    check("> a\n \t\n[NEXT: b]", "next b!P2");
    check("> a\n```\nb\n```\n[NEXT: c]", "next c!P2");
    check("> ~~~\n> [NEXT: a]\n\n[NEXT: b]", "next b!P2");
}

#[test]
fn markers_in_indented_lines_are_ignored() {
    check("commit 1\n\n    [NEXT: a] deploy\n\n[NEXT: b]", "next b!P2");
    check("\t[NEXT: a]\n  \t[NEXT: b]\n\u{3000}\u{3000}\u{3000}\u{3000}[NEXT: c]", "");
    check("a\n    [NEXT: b]", "");
    check("   [NEXT: a]", "next a!P2");
    check("-     [NEXT: a]\n\n- b\n\n      [NEXT: c]", "");
    check("    - [NEXT: a]", "");
}

#[test]
fn markers_in_list_items_count_at_any_depth() {
    check("- [NEXT: a]\n- b [NEXT: c]\n  d [NEXT: e]", "next a!P2 c!P2 e!P2");
    check("1. a\n    - b [NEXT: c]\n        - d [NEXT: e]", "next c!P2 e!P2");
    check("- a\n\n    - b [NEXT: c]\n\n[NEXT: d]", "next c!P2 d!P2");
    check("10. a\n11. b [NEXT: c]", "next c!P2");
}

#[test]
fn what_only_looks_like_a_list_holds_no_items() {
    for list in ["a\n2. b\n", "* * *\n", "-\n", "a\n-\n", "-b\n", "1234567890. a\n", "- a\n\nb\n"] {
        check(&format!("{list}\n    - [NEXT: x]"), "");
    }
}

#[test]
fn markers_in_a_fence_of_a_list_item_are_ignored() {
    check("- ```\n  [NEXT: a]\n  ```\n[NEXT: b]", "next b!P2");
    check("1. ~~~\n   [NEXT: a]\n\n   [NEXT: b]\n   ~~~\n\n[NEXT: c]", "next c!P2");
    // The fence ends with its item. The text after it is not indented, but may have been meant as code.
    check("- ```\n[NEXT: a]\n\n[NEXT: b]", "next b!P2");
}

#[test]
fn only_what_closes_a_fence_closes_it() {
    check("   ```\na\n     ```\n[NEXT: b]\n   ```\n[NEXT: c]", "next c!P2");
    check("    ```\n\n```\n[NEXT: a]\n```\n[NEXT: b]", "next b!P2");
    check("```\n``` x\n[NEXT: a]\n```\n[NEXT: b]", "next b!P2");
}

#[test]
fn backticks_are_paired_in_every_way_that_a_reader_might() {
    check("a ` b\n- c `[NEXT: d]` e", "");
    check("- a ` b\n- c `d\n  [NEXT: e] f` g", "");
    check("# a `\nb `[NEXT: c]` d", "");
    check("\\` a `[NEXT: b]` c", "");
    check("| a ` | b |\n|---|---|\n| `[NEXT: c]` | d |", "");
    check("`a` and [NEXT: b] and `c`", "next b!P2");
}

#[test]
fn markers_in_html_are_ignored() {
    for text in [
        "<!-- [NEXT: a] -->",
        "b <!-- [NEXT: a]\n\n[NEXT: c] --> d",
        "<!-- never closed\n\n[NEXT: a]",
        "<pre>\n\n[NEXT: a]\n</pre>",
        "b <PRE class=\"x\">[NEXT: a]</PRE>",
        "<code>[NEXT: a]</code>",
        "<details>\n<summary>log</summary>\n\n[NEXT: a]\n\n</details>",
        "<details>\n<details>\n\n</details>\n\n[NEXT: a]\n\n</details>",
        "<details>\n\n[NEXT: a]",
        "<div>\n[NEXT: a]\n</div>",
        "<blockquote>\n\n[NEXT: a]\n\n</blockquote>",
        "<system-reminder>\n\n[NEXT: a]\n\n</system-reminder>",
        "He sent <tool_result>[NEXT: a]</tool_result>.",
        "<pre>\n```\n</pre>\n```\n[NEXT: a]\n```",
        "<?php\n[NEXT: a]\n?>",
        "<![CDATA[\n[NEXT: a]\n]]>",
    ] {
        check(text, "");
    }
    check("<pre>a</pre>\n\n<!-- b -->\n\n[NEXT: c]", "next c!P2");
    check("a<br>\n[NEXT: b]", "next b!P2");
    check("Write `<details>` there. [NEXT: a]", "next a!P2");
    check("```\n<pre>\n```\n[NEXT: a]", "next a!P2");
    check("a < b and Vec<u8> [NEXT: c]", "next c!P2");
    check("The <details> element. [NEXT: a]", "next a!P2");
}

/// Combinations of fences, lists, headings and HTML, read as a CommonMark parser reads them.
#[test]
fn a_fence_is_found_wherever_a_block_can_begin() {
    for text in [
        "> a\n2. ```\n\n   [NEXT: b]",
        "- a\nb\n2. ```\n\n   [NEXT: c]",
        "# a\n2. ```\n\n   [NEXT: b]",
        "a\n===\n2. ```\n\n   [NEXT: b]",
        "<x y=\"z\">-->\n~~~\n\n[NEXT: a]",
        "<?\n```\n````?>\n   2. ````\n\n      [NEXT: a]",
        "a\n- \n</x>\n[NEXT: b]",
        "a ```[NEXT: b]\n    ``` c",
        "a <?\n[NEXT: b] ?> c",
        "a <b title=\"[NEXT: c]\">",
    ] {
        check(text, "");
    }
}

#[test]
fn a_marker_that_is_a_link_is_ignored() {
    check("[NEXT: a](https://host)", "");
    check("![NEXT: a](b.png)", "");
    check("[NEXT: a]: https://host\n", "");
    check("[NEXT: a]: please look", "next a!P2");
    check("[NEXT: a] (please)", "next a!P2");
    check("[NEXT: a](please look)", "next a!P2");
    check("Done![NEXT: a]", "next a!P2");
}

#[test]
fn what_commonmark_does_not_show_as_text_routes_nobody_and_is_reported() {
    for text in [
        "Done <!X [NEXT: max]> now",
        "Done <![CDATA[ a [NEXT: max]> ]]> now",
        "[see [NEXT: max] there](https://host)",
        "[NEXT: max]: /u\n[NEXT: max]: /v\n",
        "- [NEXT: max]: /u",
    ] {
        let (names, told) = heard(text);
        assert!(names.is_empty() && told > 0, "{text}");
    }
    // A link may be defined elsewhere in the text, so this marker is a link.
    assert_eq!(heard("Go [NEXT: max]\n\n[next: MAX]: /u"), (Vec::new(), 2));
}

#[test]
fn line_breaks_and_whitespace_of_any_kind_end_a_fence() {
    check("```\r[NEXT: a]\r```\r[NEXT: b]", "next b!P2");
    check("```\n[NEXT: a]\n```\t\n[NEXT: b]", "next b!P2");
    check("```\n```\t\n\n```\n[NEXT: a]", "");
}

#[test]
fn text_that_costs_too_much_to_read_routes_nobody_and_is_reported() {
    let deep = ["> ".repeat(101), "- ".repeat(101), format!("{}- ", " ".repeat(300))];
    for begin in deep {
        assert_eq!(heard(&format!("{begin}a\n\n[NEXT: eva]")), (Vec::new(), 1), "{begin}");
    }
    let cut_off = "- ```\na\n```\n\n";
    assert_eq!(heard(&format!("{}[NEXT: eva]", cut_off.repeat(3))), (vec!["eva".to_owned()], 0));
    assert_eq!(heard(&format!("{}[NEXT: eva]", cut_off.repeat(9))), (Vec::new(), 1));
    // A long rule is not a deep list.
    let rule = format!("{}\n\n[NEXT: eva]", "* ".repeat(200));
    assert_eq!(heard(&rule), (vec!["eva".to_owned()], 0));
}

#[test]
fn a_marker_at_the_end_of_an_answer_counts_whatever_is_before_it() {
    for answer in [
        "Done.",
        "# Done\n",
        "Done:\n\n- a\n- b\n",
        "1. a\n   b\n2. c",
        "| a | b |\n|---|---|\n| c | d |\n",
        "```\nx\n```",
        "    x\n",
        "> q\n",
        "a\n===\n",
        "a\n---\n",
        "It's 5 < 6, `Vec<T>` and **bold**.",
        "<details>\n\nx\n\n</details>\n",
    ] {
        check(&format!("{answer}\n[NEXT: a]"), "next a!P2");
        check(&format!("{answer}\n\n[NEXT: a]\n"), "next a!P2");
    }
}

#[test]
fn what_may_have_been_meant_is_reported() {
    let ignored = |text: &str| parse_markers(text).ignored;
    assert_eq!(ignored("> a\n[NEXT: b]"), ["[NEXT: b]"]);
    assert_eq!(
        ignored("    [NEXT: b]\n\n[DROP: c](d)"),
        ["[NEXT: b]", "[DROP: c](d)".get(..9).unwrap()]
    );
    assert_eq!(ignored("> [NEXT: a] `[NEXT: b]`\n\n```\n[NEXT: c]\n```\n[NEXT: d]"), [""; 0]);
    assert_eq!(ignored(&"    [NEXT: a]\n".repeat(1000)).len(), 20);
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
        ("> a [NEXT: b]\n\nc [NEXT: d]", "> a [NEXT: b]\n\nc"),
        ("> a\nc [NEXT: d]", "> a\nc [NEXT: d]"),
        ("[TEAM_TASK] Bake [NEXT: a] bread", "[TEAM_TASK] Bake bread"),
        ("[NEXT:] a [FROM: ] b", "a b"),
        ("  nothing  to\n\n read\t", "  nothing  to\n\n read\t"),
    ] {
        assert_eq!(parse_markers(text).clean_text, clean, "{text:?}");
    }
}

/// Returns the names that a text routes to, and the number of markers that are reported as ignored.
fn heard(text: &str) -> (Vec<String>, usize) {
    let markers = parse_markers(text);
    let names = markers.next.iter().map(|next| next.name.to_string()).collect();
    (names, markers.ignored.len())
}

#[test]
fn code_that_is_not_indented_as_its_list_item_hides_nothing_behind_it() {
    let text = "1. Create it:\n   ```bash\n   cat > x <<'EOF'\ncontent\n\n[NEXT: leo]\nEOF\n   ```\n\n[NEXT: eva]";
    assert_eq!(heard(text), (vec!["eva".to_owned()], 1));
    // A fence without an end ends with its list item.
    let open = "1. Create it:\n   ```bash\ncontent\n\n[NEXT: eva]";
    assert_eq!(heard(open), (vec!["eva".to_owned()], 0));
}

#[test]
fn a_marker_behind_an_open_fence_is_ignored_and_reported() {
    for text in [
        "```\n\n[NEXT: eva]",
        "```markdown\n```rust\nx\n```\n```\n\n[NEXT: eva]",
        "1. do\n   ```\n   x\n```\n\n[NEXT: eva]",
    ] {
        assert_eq!(heard(text).1 + heard(text).0.len(), 1, "{text}");
    }
    assert_eq!(heard("```\n\n[NEXT: eva]"), (Vec::new(), 1));
}

#[test]
fn links_with_titles_and_their_definitions_route_nobody() {
    for text in [
        "[NEXT: max](/u \"t\")",
        "[NEXT: max](<a b>)",
        "[NEXT: max]: /u \"t\"",
        "[NEXT: max]:\n/u",
        "[NEXT: max]:\r\n  /u 't'",
    ] {
        assert_eq!(heard(text), (Vec::new(), 1), "{text}");
    }
    for text in ["[NEXT: max]: please look", "[NEXT: max]:\nplease look at it", "[NEXT: max] (now)"]
    {
        assert_eq!(heard(text), (vec!["max".to_owned()], 0), "{text}");
    }
}

#[test]
fn a_less_than_sign_opens_no_tag_across_a_blank_line() {
    let text = "keep i <n. It's fine.\n\n[NEXT: eva]\n\nthen a -> b";
    assert_eq!(heard(text), (vec!["eva".to_owned()], 0));
}

/// An algorithm with quadratic cost would not end here within an hour.
#[test]
fn long_texts_full_of_half_markers_are_read_in_one_pass() {
    for piece in
        ["[", "]", "[NEXT:", "[NEXT: a", "`[", "[[NEXT: a]", "> [", "```\n", "a", "\\[", "[FROM: ["]
    {
        let text = piece.repeat(2_000_000 / piece.len());
        let _ = parse_markers(&text);
        let _ = strip_markers(&text, Strip::Preserve);
    }
}
