//! Texts of a megabyte with which a quadratic algorithm would never finish. There is no clock here: the test passes
//! if each call ends.

use tertulia_context::{
    Assembler, AssemblerInput, ContextKind, ContextManager, ContextMessage, ContextRequest,
    PromptStatus, Strip, TaskBlock, parse_markers, strip_markers,
};
use tertulia_session::Message;

use crate::harness::{ann, nothing};

const MEGABYTE: usize = 1_000_000;

const STRIPS: [Strip; 3] =
    [Strip::COMPACT, Strip::Compact(TaskBlock::ToBlankLine), Strip::Preserve];

/// Returns about a megabyte of repetitions of this piece.
fn many(piece: &str) -> String {
    piece.repeat(MEGABYTE / piece.len())
}

/// Passes a text to every function that reads texts.
fn run(text: &str) {
    for strip in STRIPS {
        let stripped = strip_markers(text, strip);
        assert!(stripped.text.len() <= text.len());
    }
    let markers = parse_markers(text);
    assert!(markers.clean_text.len() <= text.len());
}

#[test]
fn openings_without_an_end() {
    for opening in ["[", "[NEXT:", "[FROM:", "[DROP:", "[TEAM_TASK:", "[TEAM_TASK: [NEXT: [FROM: "]
    {
        run(&many(opening));
        run(&(many(opening) + "]"));
        run(&(many(opening) + "\n\n]"));
    }
}

#[test]
fn markers_that_are_none() {
    for piece in ["[FROM:]", "[NEXT]", "[]", "[FROM:]\n", "[[", "[TEAM_TASK", "]["] {
        run(&many(piece));
    }
}

#[test]
fn blocks_without_an_end() {
    for piece in [
        "[TEAM_TASK]",
        "[TEAM_TASK] ",
        "[TEAM_TASK]\n",
        "[TEAM_TASK]\n\n",
        "[TEAM_TASK] [x] ",
        "[TEAM_TASK]`[NEXT: a]`",
        "[TEAM_TASK]\n```\n```\n",
    ] {
        run(&many(piece));
    }
    run(&("[TEAM_TASK]".to_owned() + &many("[")));
    run(&("[TEAM_TASK]".to_owned() + &many("[NEXT:")));
    run(&("[TEAM_TASK]".to_owned() + &many("\n x")));
}

#[test]
fn runs_of_backticks() {
    let growing: String = (1..1400).map(|length| "`".repeat(length) + " ").collect();
    let shrinking: String = (1..1400).rev().map(|length| "`".repeat(length) + " ").collect();
    let marker = "[NEXT: a] ";
    for ticks in [many("`"), many("` "), many("`` ` "), growing, shrinking, many("```\n")] {
        run(&format!("{marker}{ticks}"));
        run(&format!("{ticks}{marker}"));
        run(&format!("{ticks}{marker}{ticks}"));
    }
    run(&many("`[NEXT: a]` "));
    run(&many("`[NEXT: a] "));
    run(&many("```\n[NEXT: a]\n```\n"));
    run(&many("~~~\n[NEXT: a]\n"));
}

#[test]
fn lists_quotes_tags_and_links_without_an_end() {
    for piece in [
        "- ",
        "1. ",
        "> ",
        "* * ",
        "- >",
        "<a",
        "<a>",
        "<pre>",
        "</a>",
        "<!--",
        "<!-- -->",
        "<",
        "<a><b>",
        "\\`",
        "`\\",
        "[NEXT:b](",
        "[NEXT:b]: ",
        "- a\n",
        "\n- ",
        "-\n\n",
        "    - a\n",
        "> a\n\n",
        "<details>\n",
        "</details>\n",
        "<x>\n\n",
        "- ```\n",
        "\t",
        "\u{200b}",
        "\r",
        "1. 1) ",
    ] {
        run(&format!("[NEXT: a] {}", many(piece)));
        run(&format!("{}\n\n[NEXT: a]", many(piece)));
        run(&many(&format!("{piece}[NEXT: a]")));
    }
    let lazy = many("b\n") + "\n[NEXT: a]";
    run(&format!("{}a\n{lazy}", "> ".repeat(50_000)));
    run(&format!("{}a\n{lazy}", "- ".repeat(45)));
    run(&format!("{}a\n{lazy}", ">".repeat(99)));
    run(&format!("[NEXT: a] {}", many("- ```\na\n```\n")));
    let deep: String = (0..1_000).map(|depth| " ".repeat(depth) + "- a\n").collect();
    run(&(deep + "[NEXT: a]"));
    let names: String = (0..100_000).map(|number| format!("<a{number}>")).collect();
    run(&(names + "[NEXT: a]"));
}

#[test]
fn one_line_of_a_hundred_thousand_markers() {
    for piece in
        ["[NEXT: a]", "[NEXT: a] ", "x [NEXT: a] ", " [NEXT: a]x", "[TEAM_TASK: a][FROM: b]"]
    {
        let text = piece.repeat(100_000);
        run(&text);
        run(&format!("> {text}"));
    }
    let text = "[NEXT: a!P1, b] ".repeat(100_000);
    assert_eq!(parse_markers(&text).next.len(), 200_000);
    assert_eq!(strip_markers(&text, Strip::Preserve).text, "");
}

#[test]
fn a_hundred_thousand_lines_of_markers() {
    for line in ["[NEXT: a]\n", "  [NEXT: a] \r\n", "x [NEXT: a]\n", "> [NEXT: a]\n", "\n[NEXT: a]"]
    {
        run(&line.repeat(100_000));
    }
}

#[test]
fn spaces_without_an_end() {
    let spaces = " ".repeat(MEGABYTE);
    run(&spaces);
    run(&format!("[NEXT: a]{spaces}[NEXT: b]"));
    run(&format!("x{spaces}[NEXT: a]{spaces}y"));
    run(&many("[NEXT: a]    x    "));
    run(&format!("[TEAM_TASK]{}", many("\n          x")));
    run(&many("\n[TEAM_TASK]\n           x"));
    run(&many("\u{3000}\u{feff}"));
    run(&many("\n"));
    run(&many("\r\n"));
}

#[test]
fn a_list_of_a_hundred_thousand_names() {
    let names = "ivo!P1,".repeat(100_000);
    assert_eq!(parse_markers(&format!("[NEXT: {names}]")).next.len(), 100_000);
    assert_eq!(parse_markers(&format!("[DROP: {names}]")).drop.len(), 100_000);
    run(&format!("[NEXT: {}]", many("!P1")));
    run(&format!("[NEXT: {}]", many(",")));
}

#[test]
fn a_hundred_thousand_messages_of_context_are_trimmed() {
    let (from, content) = ("ann".into(), "x".repeat(100).into());
    let message = ContextMessage { from, to: None, content, kind: ContextKind::Text };
    let input = AssemblerInput {
        context_messages: vec![message; 100_000],
        current_message: "now".into(),
        max_bytes: 5_000_000,
        ..nothing()
    };
    for assembler in [Assembler::claude(), Assembler::plain_text()] {
        let output = assembler.assemble(&input);
        assert_eq!(output.status, PromptStatus::ContextTrimmed);
        assert!(output.prompt.len() <= 5_000_000 && output.prompt.len() > 4_999_000);
    }
}

#[test]
fn ten_thousand_contexts_of_a_long_conversation() {
    let mut manager = ContextManager::default();
    for _ in 0..100_000 {
        manager.add_message(Message::said(ann(), "tea [NEXT: ivo]")).unwrap();
    }
    for _ in 0..10_000 {
        let input = manager.get_context_for_agent("ivo", "claude", &ContextRequest::default());
        assert_eq!(input.context_messages.len(), 5);
    }
}
