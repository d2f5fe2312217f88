//! Tests `tertulia assemble`: lines in order, errors for invalid lines, and output without JSON.

use insta::assert_snapshot;
use proptest::prelude::*;

use crate::harness::{tertulia, tertulia_chunked, tertulia_on_terminal};

const HELLO: &str = r#"{"contextMessages":[{"from":"ann","to":"max","content":"Hi"}],"currentMessage":"Hello","teamTask":"Task","systemInstruction":"System","maxBytes":1000}"#;

#[test]
fn every_type_has_its_format() {
    let prompt = |agent: &str| tertulia(&["assemble", "--type", agent, "--text"], HELLO).stdout;
    assert_eq!(
        prompt("claude"),
        "[TEAM_TASK]\nTask\n\n[CONTEXT]\n- ann -> max: Hi\n\n[MESSAGE]\nHello"
    );
    assert_eq!(
        prompt("openai-codex"),
        "[SYSTEM]\nSystem\n\n[TEAM_TASK]\nTask\n\n[CONTEXT]\n- ann -> max: Hi\n\n[MESSAGE]\nHello"
    );
    assert_eq!(
        prompt("GEMINI"),
        "Instructions:\nSystem\n\nTeam Task:\nTask\n\nConversation so far:\n- ann: Hi\n\nYour task:\nHello"
    );
    assert_eq!(prompt("plain"), "System\n\nTask\n\nann: Hi\n\nHello");
}

#[test]
fn a_line_in_gives_a_line_out() {
    let outcome = tertulia(&["assemble", "--type", "claude"], &format!("{HELLO}\n\n{HELLO}"));
    assert!(outcome.exits_with(0));
    assert_eq!(outcome.stdout.lines().count(), 2);
    assert_snapshot!(outcome.stdout.lines().next().unwrap(), @r#"{"prompt":"[TEAM_TASK]\nTask\n\n[CONTEXT]\n- ann -> max: Hi\n\n[MESSAGE]\nHello","systemFlag":"System","status":"fits","bytes":67,"keptContext":1,"droppedContext":0}"#);
}

#[test]
fn a_wrong_line_gives_an_error_in_its_place_and_the_others_go_on() {
    let input = format!("{HELLO}\nnot json\n{{\"contextMessages\":[]}}\n[1]\n{HELLO}\n");
    let outcome = tertulia(&["assemble", "--type", "claude"], &input);
    assert!(outcome.exits_with(1));
    let lines: Vec<&str> = outcome.stdout.lines().collect();
    assert_snapshot!(lines[1..4].join("\n"), @r#"
    {"line":2,"error":"not JSON at line 1, column 2: expected ident"}
    {"line":3,"error":"AssemblerInput: currentMessage is missing; give a string"}
    {"line":4,"error":"AssemblerInput: the value must be an object; got a list"}
    "#);
    assert_eq!(lines[0], lines[4]);
    assert_snapshot!(outcome.stderr, @r"
    tertulia: line 2: not JSON at line 1, column 2: expected ident
    tertulia: line 3: AssemblerInput: currentMessage is missing; give a string
    tertulia: line 4: AssemblerInput: the value must be an object; got a list
    tertulia: 3 of 5 input lines failed
    ");
}

#[test]
fn bare_prompts_are_apart_by_one_line_break_and_the_system_text_is_reported() {
    let outcome =
        tertulia(&["assemble", "--type", "claude", "--text"], &format!("{HELLO}\n{HELLO}"));
    assert_eq!(outcome.stdout.matches("[MESSAGE]\nHello").count(), 2);
    assert!(outcome.stdout.ends_with("Hello"));
    assert!(outcome.stderr.contains("the system text (6 bytes) is not part of the prompt"));
}

#[test]
fn an_unknown_type_is_reported_and_plain_is_no_guess() {
    let guessed = tertulia(&["assemble", "--type", "other", "--text"], HELLO);
    assert!(guessed.stderr.contains("unknown agent type \"other\"; using plain text"));
    assert_eq!(tertulia(&["assemble", "--type", "plain", "--text"], HELLO).stderr, "");
    assert_eq!(tertulia(&["assemble", "--text"], HELLO).stdout, guessed.stdout);
}

#[test]
fn strict_refuses_what_does_not_hold_its_message() {
    let small = HELLO.replace("1000", "30");
    let outcome = tertulia(&["assemble", "--type", "codex", "--strict"], &small);
    assert!(outcome.exits_with(1));
    assert_snapshot!(outcome.stdout, @r#"{"line":1,"error":"the prompt does not fit: even without context it takes 50 bytes, the budget is 30; raise maxBytes or shorten instructions, task or message"}"#);
    let trimmed = HELLO.replace("1000", "55");
    assert!(tertulia(&["assemble", "--type", "codex", "--strict"], &trimmed).exits_with(0));
}

#[test]
fn a_message_that_is_cut_is_reported_with_its_line() {
    let small = HELLO.replace("1000", "36");
    let outcome = tertulia(&["assemble", "--type", "claude", "--text"], &small);
    assert!(
        outcome
            .stderr
            .contains("line 1: Message truncated: 2 of 5 bytes fit the budget of 36 bytes"),
        "{}",
        outcome.stderr
    );
    let flag = HELLO.replace("System", &"s".repeat(131_072)).replace("1000", "200000");
    let reported = tertulia(&["assemble", "--type", "claude"], &flag).stderr;
    assert!(
        reported.contains("line 1: System flag too long: 131072 bytes cannot pass as one argument"),
        "{reported}"
    );
    assert_eq!(tertulia(&["assemble", "--type", "codex"], &flag).stderr, "");
}

#[test]
fn a_terminal_gets_signs_for_control_characters_and_a_pipe_every_byte() {
    let line = r#"{"contextMessages":[],"currentMessage":"a\u001b]0;x\u0007b","teamTask":null}"#;
    assert_eq!(tertulia(&["assemble", "--text"], line).stdout, "a\u{1b}]0;x\u{7}b");
    assert_eq!(tertulia_on_terminal(&["assemble", "--text"], line).stdout, "a␛]0;x␇b\n");
}

#[test]
fn a_budget_of_nothing_gives_an_empty_prompt_and_says_so() {
    let line = r#"{"contextMessages":[],"currentMessage":"x","teamTask":null,"maxBytes":0}"#;
    assert_snapshot!(tertulia(&["assemble"], line).stdout, @r#"{"prompt":"","status":"message_dropped","bytes":0,"keptContext":0,"droppedContext":0}"#);
}

proptest! {
    #[test]
    fn any_chunk_of_json_lines_is_the_whole(
        lines in prop::collection::vec(prop::sample::select(vec![HELLO, "nonsense", "", "{}"]), 0..6),
        chunk in 1usize..300,
    ) {
        let input = lines.join("\n");
        let arguments = ["assemble", "--type", "codex"];
        let whole = tertulia_chunked(&arguments, input.as_bytes(), 1 << 16);
        let chunked = tertulia_chunked(&arguments, input.as_bytes(), chunk);
        prop_assert_eq!(&whole.stdout, &chunked.stdout);
        prop_assert_eq!(&whole.stderr, &chunked.stderr);
        let one_by_one: String = lines
            .iter()
            .map(|line| tertulia(&arguments, line).stdout)
            .collect();
        let without_numbers = |text: &str| text.split("\"line\":").map(|piece| piece.trim_start_matches(char::is_numeric).to_owned()).collect::<Vec<_>>();
        prop_assert_eq!(without_numbers(&whole.stdout), without_numbers(&one_by_one));
    }
}
