//! Tests `tertulia context`: the prompt, the table that explains it, and errors.

use insta::assert_snapshot;

use crate::harness::{Outcome, repository_file, tertulia};

fn login(arguments: &[&str]) -> Outcome {
    let path = repository_file("examples/login.json").display().to_string();
    tertulia(&[&["context", "--snapshot", &path], arguments].concat(), "")
}

fn piped(snapshot: &str, arguments: &[&str]) -> Outcome {
    tertulia(&[&["context", "--snapshot", "-"], arguments].concat(), snapshot)
}

fn explained(outcome: &Outcome) -> String {
    assert!(outcome.exits_with(0), "{}", outcome.stderr);
    outcome.stdout.lines().map(str::trim_end).collect::<Vec<_>>().join("\n")
}

#[test]
fn the_prompt_keeps_code_as_it_was_written() {
    let outcome = login(&["--type", "claude"]);
    assert!(outcome.exits_with(0));
    assert!(outcome.stdout.contains("\n    session.id = SessionId::new();\n"));
    assert!(!outcome.stdout.contains("[NEXT"));
    assert!(
        outcome
            .stdout
            .ends_with("[MESSAGE]\nMax, please write the handler now and keep Sarah's rule.")
    );
    assert_eq!(outcome.stderr, "");
}

#[test]
fn compact_folds_whitespace_as_the_contract_says() {
    let outcome = login(&["--type", "claude", "--whitespace", "compact"]);
    assert!(outcome.stdout.contains("\nsession.id = SessionId::new();\n}\n```\n- Max"));
}

#[test]
fn the_table_shows_sections_and_the_outcome_of_every_message() {
    let outcome = login(&["--type", "codex", "--instruction", "You are Max."]);
    assert!(outcome.stdout.starts_with("[SYSTEM]\nYou are Max.\n\n"));
    assert_snapshot!(explained(&login(&["--type", "codex", "--instruction", "You are Max.", "--budget", "400", "--explain"])), @"
    openai-codex  334 of 400 bytes  older messages left out

    section               bytes
    system                   21    6 %  █▋
    team task                70   21 %  █████▏
    context                 171   51 %  ████████████▍
    message                  66   20 %  ████▊
    blank lines               6    2 %  ▌

    message    from             text                                        bytes  outcome
    msg-1 … msg-2  2 messages before the window
    msg-3      Sarah            Keep the name, but set SameSite=Lax…          165  left out: over the budget
    msg-4      Max              Done, with a test. Carol, the form …           93  left out: over the budget
    msg-5      Carol            Locked accounts get a quiet grey ba…          106  left out: over the budget
    msg-6      Ann              Yes. Also: nobody should see whethe…           68  in the context
    msg-7      Sarah            Then the form answers the same text…           92  in the context
    msg-8      Ann              Max, please write the handler now a…           56  the message to answer
    ");
}

#[test]
fn the_table_shows_a_cut_message_and_a_repetition() {
    let max = r#""speaker":{"roleId":"max","roleName":"Max","type":"ai"}"#;
    let twice = format!(
        r#"{{"version":1,"messages":[{{"id":"a","content":"Done.",{max}}},{{"id":"b","content":"Done. [NEXT: ann]",{max}}}]}}"#
    );
    assert_snapshot!(explained(&piped(&twice, &["--type", "gemini", "--explain"])), @"
    google-gemini  16 of 786,432 bytes  everything fits

    section               bytes
    system                    0    0 %
    team task                 0    0 %
    context                   0    0 %
    message                  16  100 %  ████████████████████████
    blank lines               0    0 %

    message    from             text                                        bytes  outcome
    a          Max              Done.                                           –  left out: same as b
    b          Max              Done. [NEXT: ann]                               5  the message to answer
    ");
    let cut = piped(&twice, &["--type", "gemini", "--explain", "--budget", "13"]);
    assert_snapshot!(explained(&cut), @"
    google-gemini  13 of 13 bytes  the newest message is cut

    section               bytes
    system                    0    0 %
    team task                 0    0 %
    context                   0    0 %
    message                  13  100 %  ████████████████████████
    blank lines               0    0 %

    message    from             text                                        bytes  outcome
    a          Max              Done.                                           –  left out: same as b
    b          Max              Done. [NEXT: ann]                               2  cut: 3 bytes over the budget
    ");
    assert!(cut.stderr.contains("Message truncated: 2 of 5 bytes fit the budget of 13 bytes"));
}

#[test]
fn an_empty_conversation_has_a_table_too() {
    assert_snapshot!(explained(&piped(r#"{"version":1,"messages":[]}"#, &["--explain"])), @"
    plain text  0 of 786,432 bytes  everything fits

    section               bytes
    system                    0
    team task                 0
    context                   0
    message                   0
    blank lines               0

    No messages in this conversation.
    ");
}

#[test]
fn the_json_form_holds_prompt_numbers_and_verdicts() {
    let outcome =
        login(&["--type", "claude", "--window", "2", "--budget", "200", "--json", "--explain"]);
    let verdicts = outcome.stdout.split_once("\"verdicts\":").unwrap().1;
    assert_snapshot!(verdicts.replace("},{", "},\n{"), @r#"
    [{"id":"msg-1","verdict":"outside_window","behind":5},
    {"id":"msg-2","verdict":"outside_window","behind":4},
    {"id":"msg-3","verdict":"outside_window","behind":3},
    {"id":"msg-4","verdict":"outside_window","behind":2},
    {"id":"msg-5","verdict":"outside_window","behind":1},
    {"id":"msg-6","verdict":"over_budget","bytes":68},
    {"id":"msg-7","verdict":"over_budget","bytes":92},
    {"id":"msg-8","verdict":"in_prompt","section":"message","bytes":56}]}
    "#);
}

#[test]
fn instructions_come_from_the_command_line_and_from_a_file() {
    let file = repository_file("rustfmt.toml").display().to_string();
    let outcome = login(&[
        "--type",
        "claude",
        "--instruction",
        "Be kind.",
        "--instruction-file",
        &file,
        "--json",
    ]);
    assert!(outcome.stdout.contains(r#""systemFlag":"Be kind.\n\nedition"#));
    let reported = login(&["--type", "claude", "--instruction", "Be kind."]);
    // Only --member and --turn print it before the prompt.
    assert!(!reported.stdout.contains("Be kind."));
    assert!(reported.stderr.contains("the system text (8 bytes) is sent separately"));
}

#[test]
fn names_and_texts_cannot_move_the_cursor() {
    let hostile = r#"{"version":1,"messages":[{"id":"\u001b[2J","content":"\u001b]0;title\u0007 hi \u202e","speaker":{"roleId":"a\u001b[31m"}},{"id":"b","content":"x","speaker":{"roleId":"b"}}]}"#;
    let outcome = piped(hostile, &["--explain"]);
    assert!(!outcome.stdout.contains(['\u{1b}', '\u{7}', '\u{202e}']));
    assert!(outcome.stdout.contains("␛]0;title␇ hi"));
    // Data in a pipe is not changed.
    assert!(piped(hostile, &[]).stdout.contains('\u{1b}'));
}

#[test]
fn columns_stay_aligned_for_wide_names() {
    let wide = r#"{"version":1,"messages":[{"id":"a","content":"设计登录页面","speaker":{"roleId":"小明"}},{"id":"b","content":"ok","speaker":{"roleId":"b"}}]}"#;
    assert_snapshot!(explained(&piped(wide, &["--explain"])), @"
    plain text  30 of 786,432 bytes  everything fits

    section               bytes
    system                    0    0 %
    team task                 0    0 %
    context                  26   87 %  ████████████████████▉
    message                   2    7 %  █▋
    blank lines               2    7 %  █▋

    message    from             text                                        bytes  outcome
    a          小明             设计登录页面                                   26  in the context
    b          b                ok                                              2  the message to answer
    ");
}

#[test]
fn what_cannot_be_read_is_reported_with_file_position_and_fix() {
    let reported = |outcome: &Outcome| {
        assert!(outcome.exits_with(1));
        outcome.stderr.clone()
    };
    let missing = tertulia(&["context", "--snapshot", "no-such.json"], "");
    assert!(reported(&missing).starts_with("tertulia: cannot read no-such.json: "));
    assert_snapshot!(reported(&piped("{", &[])), @"tertulia: standard input: Invalid snapshot format: not JSON at line 1, column 1: EOF while parsing an object");
    assert_snapshot!(reported(&piped(r#"{"version":3}"#, &[])), @"tertulia: standard input: Invalid snapshot format: version must be the number 1; got 3");
    assert_snapshot!(reported(&piped(r#"{"version":1,"messages":[{"id":"a","content":"x","speaker":{"roleId":7}}]}"#, &[])), @"tertulia: standard input: Invalid snapshot format: messages[0]: Message speaker.roleId must be a string; got a number");
}

#[test]
fn standard_input_can_be_read_once() {
    let outcome = piped("{}", &["--instruction-file", "-"]);
    assert!(outcome.exits_with(2));
    assert!(outcome.stderr.contains("only one of --snapshot and --instruction-file can be -"));
}

#[test]
fn wrong_usage_exits_with_two_and_says_what_is_right() {
    for (arguments, reported) in [
        (&["--window", "-1"][..], "must be a whole number of 0 or more"),
        (&["--window", "1.5"], "must be a whole number of 0 or more"),
        (&["--budget", "lots"], "must be a whole number of bytes, such as 65536 or 64KiB"),
        (&["--whitespace", "none"], "possible values: preserve, compact"),
        (&["--colour"], "unexpected argument '--colour'"),
    ] {
        let outcome = login(arguments);
        assert!(outcome.exits_with(2), "{arguments:?}");
        let stderr = anstream::adapter::strip_str(&outcome.stderr).to_string();
        assert!(stderr.contains(reported), "{arguments:?}: {stderr}");
        assert_eq!(outcome.stdout, "");
    }
}

#[test]
fn a_window_of_nothing_and_one_beyond_everything_are_fine() {
    assert!(!login(&["--type", "claude", "--window", "0"]).stdout.contains("[CONTEXT]"));
    let all = login(&["--type", "claude", "--window", "18446744073709551615"]);
    assert!(all.stdout.contains("We need a login page by Friday."));
}
