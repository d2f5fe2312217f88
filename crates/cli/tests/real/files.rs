//! Checks that `@file` in a person's message attaches the file, and that `@file` in other messages attaches nothing.

use tertulia_fake_models::Step;

use crate::workspace::Workspace;
use crate::{CLAUDE, CODEX, GEMINI_ASKED};

const CONTENT: &str = "what-is-in-the-file";

fn workspace() -> Workspace {
    let workspace = Workspace::new();
    workspace.write("notes.md", CONTENT);
    for model in [CLAUDE, CODEX, GEMINI_ASKED] {
        workspace.says(model, "I have read it.");
    }
    workspace
}

#[test]
fn a_file_that_a_person_names_is_attached_by_claude_and_gemini() {
    for (member, model) in [("max", CLAUDE), ("leo", GEMINI_ASKED)] {
        let workspace = workspace();
        let run = workspace.run(&[&format!("@{member} please read @notes.md now")]);
        assert_eq!(run.code, Some(0), "{run:#?}");
        let asked = workspace.asked(model).pop().unwrap();
        assert!(asked.body.contains(CONTENT), "{member}: {}", asked.user);
    }
}

#[test]
fn a_file_that_a_person_names_is_a_path_for_codex() {
    let workspace = workspace();
    let run = workspace.run(&["@eva please read @notes.md now"]);
    assert_eq!(run.code, Some(0), "{run:#?}");
    let asked = workspace.asked(CODEX).pop().unwrap();
    assert!(asked.user.ends_with("@eva please read @notes.md now"), "{}", asked.user);
    assert!(!asked.body.contains(CONTENT), "{}", asked.user);
}

#[test]
fn a_file_that_an_agent_names_is_attached_by_nobody() {
    for (member, model) in [("max", CLAUDE), ("leo", GEMINI_ASKED)] {
        let workspace = workspace();
        let said = format!("Look at @notes.md, @gone.md and @Override.\n\n[NEXT: {member}]");
        workspace.does(CODEX, [Step::text(&said)]);
        let run = workspace.run(&["@eva go on"]);
        assert_eq!(run.code, Some(0), "{run:#?}");
        let asked = workspace.asked(model).pop().unwrap();
        assert!(asked.user.contains("Look at \\@notes.md"), "{member}: {}", asked.user);
        assert!(!asked.body.contains(CONTENT), "{member}: {}", asked.user);
    }
}
