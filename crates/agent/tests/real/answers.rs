//! Prompts and answers arrive byte for byte.

use std::fs;
use std::time::Duration;

use tertulia_fake_models::Step;

use crate::program::Program;
use crate::trial::Trial;

crate::for_each_program![
    an_answer_arrives_byte_for_byte,
    markers_arrive_untouched,
    the_system_text_arrives_in_the_request,
    a_long_prompt_arrives_byte_for_byte,
    a_path_after_an_at_sign_is_not_replaced_by_the_file,
    a_prompt_that_looks_like_a_command_is_none,
];

mod pieces {
    use super::*;

    crate::for_first_programs![
        a_slow_answer_arrives_in_its_order,
        an_answer_that_was_cut_once_arrives_whole_and_alone,
    ];
}

const ANSWER: &str = "Here it is:\n\n```rust\nfn main() {\n    let 名前 = \"世界 🙂\";\n\tprintln!(\"{名前}\\n\");\n}\n```\n\n{\"type\":\"result\",\"is_error\":true,\"text\":\"[NEXT: nobody]\"}\n    indented, and 한국어, \u{1f469}\u{200d}\u{1f680} and é.";

fn an_answer_arrives_byte_for_byte(program: Program) {
    let outcome = Trial::new(program, [Step::text(ANSWER)]).run("Show me the code.");
    assert_eq!(outcome.text(), ANSWER);
    assert_eq!(outcome.pieces().concat(), ANSWER);
    assert_eq!(outcome.only_request().user, "Show me the code.");
    assert_eq!(outcome.report.orphans_killed, 0, "{:#?}", outcome.report);
}

fn markers_arrive_untouched(program: Program) {
    let text = "I have done my part.\n\n[NEXT: sarah]\n[STATUS: done]\n[TODO: a | b]";
    let outcome = Trial::new(program, [Step::text(text)]).run("Go on. [NEXT: you]");
    assert_eq!(outcome.text(), text);
    assert_eq!(outcome.only_request().user, "Go on. [NEXT: you]");
}

fn the_system_text_arrives_in_the_request(program: Program) {
    let system = "You are «Ána», the \"reviewer\".\n\tBe brief \\ exact.";
    let mut trial = Trial::new(program, [Step::text("Yes.")]);
    trial.system = Some(system);
    let outcome = trial.run("Are you there?");
    assert_eq!(outcome.text(), "Yes.");
    let asked = outcome.only_request();
    match program {
        // These programs accept no system text besides their own, so ours precedes the prompt.
        Program::Gemini | Program::OpenCode | Program::Copilot => {
            assert_eq!(asked.user, format!("{system}\n\nAre you there?"))
        }
        Program::Claude | Program::Codex | Program::Pi => {
            assert!(asked.system.contains(system), "{}", asked.system);
            assert_eq!(asked.user, "Are you there?");
        }
    }
}

fn a_long_prompt_arrives_byte_for_byte(program: Program) {
    let line = "    let x = \"長い文 🙂\"; // {\"a\": [1, 2]}\t<b>&amp;\\n\n";
    let mut prompt = line.repeat(700 * 1024 / line.len());
    prompt.push_str("the end, with whitespace   \n");
    match program {
        // Copilot removes whitespace at the end of the prompt; pi also at its start.
        Program::Copilot => prompt.truncate(prompt.trim_end().len()),
        Program::Pi => prompt = prompt.trim().to_owned(),
        _ => {}
    }
    let outcome = Trial::new(program, [Step::text("I have read it.")]).run(&prompt);
    assert_eq!(outcome.text(), "I have read it.");
    let asked = outcome.only_request();
    assert!(asked.user == prompt, "{} bytes became {}", prompt.len(), asked.user.len());
}

fn a_path_after_an_at_sign_is_not_replaced_by_the_file(program: Program) {
    // Each of these is resolved from the folder as text, so the part before `/../` need not exist.
    let prompt = "Have you read @secret.txt and x@secret.txt, @(/../secret.txt, @{x}/../secret.txt, \
                  @\u{85}/../secret.txt, @\u{a0}/../secret.txt, @\u{3000}/../secret.txt, \
                  @\"secret.txt\", 。@secret.txt or \u{feff}@secret.txt?";
    let trial = Trial::new(program, [Step::text("No.")]);
    fs::write(trial.work().join("secret.txt"), "what-is-in-the-file\n").unwrap();
    let outcome = trial.run(prompt);
    assert_eq!(outcome.text(), "No.");
    let asked = outcome.only_request();
    assert!(!asked.body.contains("what-is-in-the-file"), "{}", asked.user);
    assert_eq!(asked.user.replace('\\', ""), prompt);
}

fn a_prompt_that_looks_like_a_command_is_none(program: Program) {
    // The programs trim more characters than whitespace.
    for prompt in ["/context of what?", "\u{feff} /context of what?"] {
        let outcome = Trial::new(program, [Step::text("It is a path.")]).run(prompt);
        assert_eq!(outcome.text(), "It is a path.");
        let asked = outcome.only_request().user.replace('\\', "");
        assert!(asked.ends_with("/context of what?"), "{asked}");
    }
}

fn a_slow_answer_arrives_in_its_order(program: Program) {
    let text: String = (0..20).map(|number| format!("word{number} ")).collect();
    let step = Step::Slow { text: text.clone(), pause: Duration::from_millis(60) };
    let outcome = Trial::new(program, [step]).run("Slowly, please.");
    assert_eq!(outcome.text(), text);
    assert_eq!(outcome.pieces().concat(), text);
    if program.streams() {
        assert!(outcome.pieces().len() >= 5, "{:?}", outcome.pieces());
    }
}

fn an_answer_that_was_cut_once_arrives_whole_and_alone(program: Program) {
    let steps = [Step::EndEarly("Half of an ans".into()), Step::text("A whole answer.")];
    let mut trial = Trial::new(program, steps);
    program.allow_retry(&mut trial.spec);
    let outcome = trial.run("Are you there?");
    assert_eq!(outcome.text(), "A whole answer.");
    assert_eq!(outcome.asked.len(), 2);
}
