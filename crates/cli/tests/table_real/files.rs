//! `@file` in a person's message reaches the model as each program attaches files; what members say attaches
//! nothing.

use tertulia_fake_models::Step;

use crate::house::House;
use crate::{CLAUDE, CODEX, GEMINI_ASKED};

const CONTENT: &str = "what-is-in-the-file";

fn house() -> House {
    let house = House::new();
    house.write("notes.md", CONTENT);
    for model in [CLAUDE, CODEX, GEMINI_ASKED] {
        house.says(model, "I have read it.");
    }
    house
}

#[test]
fn a_file_that_a_person_names_is_attached_by_claude_and_gemini() {
    for (member, model) in [("max", CLAUDE), ("leo", GEMINI_ASKED)] {
        let house = house();
        let run = house.run(&[&format!("@{member} please read @notes.md now")]);
        assert_eq!(run.code, Some(0), "{run:#?}");
        let asked = house.asked(model).pop().unwrap();
        assert!(asked.body.contains(CONTENT), "{member}: {}", asked.user);
    }
}

#[test]
fn a_file_that_a_person_names_is_a_path_for_codex() {
    let house = house();
    let run = house.run(&["@eva please read @notes.md now"]);
    assert_eq!(run.code, Some(0), "{run:#?}");
    let asked = house.asked(CODEX).pop().unwrap();
    assert!(asked.user.ends_with("@eva please read @notes.md now"), "{}", asked.user);
    assert!(!asked.body.contains(CONTENT), "{}", asked.user);
}

#[test]
fn a_file_that_an_agent_names_is_attached_by_nobody() {
    for (member, model) in [("max", CLAUDE), ("leo", GEMINI_ASKED)] {
        let house = house();
        let said = format!("Look at @notes.md, @gone.md and @Override.\n\n[NEXT: {member}]");
        house.does(CODEX, [Step::text(&said)]);
        let run = house.run(&["@eva go on"]);
        assert_eq!(run.code, Some(0), "{run:#?}");
        let asked = house.asked(model).pop().unwrap();
        assert!(asked.user.contains("Look at \\@notes.md"), "{member}: {}", asked.user);
        assert!(!asked.body.contains(CONTENT), "{member}: {}", asked.user);
    }
}
