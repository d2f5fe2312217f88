//! Tests `tertulia run` on a terminal: answers are shown as they are written, rendered and coloured, above one line
//! that shows who works, how long, and who is next. In a pipe, there is no such line.

use crate::pty::Pty;
use crate::workspace::Workspace;

/// Max writes two lines, waits for a file, and hands over to Eva.
const TEAM: &str = r#"
[[member]]
name = "ann"
kind = "human"
[[member]]
name = "max"
agent = "command"
command = ["sh", "-c", "cat > /dev/null; echo '## Plan'; printf 'use **one** queue'; while [ ! -e go ]; do sleep 0.05; done; echo ' for all'; touch gone"]
[[member]]
name = "eva"
agent = "script"
answers = ["Fine with `me`."]
"#;

/// Returns whether the last row of a screen shows who works, how long, and who is next.
fn is_status(screen: &str) -> bool {
    let last = screen.trim_end().lines().last().unwrap_or_default();
    last.contains("max · ") && last.contains(" s · then eva")
}

#[test]
fn an_answer_streams_in_above_a_line_that_says_who_works_and_who_is_next() {
    let workspace = Workspace::new(TEAM);
    let pty = Pty::start(&workspace, &["run", "@max @eva go", "--trust"], &[]);
    // Before the turn ends, the finished lines and the current line are shown.
    let screen = pty.until("the first lines and the status", |screen| {
        screen.contains("use **one** queue") && is_status(screen)
    });
    assert!(screen.contains("max:\nPlan\n"), "{screen}");
    assert!(!workspace.path("gone").exists());
    workspace.write("go", "");
    let shown = pty.ends();
    assert_eq!(shown.code, 0, "{}", shown.screen);
    // Lines are rendered when they are complete, each answer is shown once, and the status is removed.
    assert!(shown.screen.contains("Plan\nuse one queue for all\n"), "{}", shown.screen);
    assert!(shown.screen.contains("eva:\nFine with me.\n"), "{}", shown.screen);
    assert_eq!(shown.screen.matches("one queue").count(), 1, "{}", shown.screen);
    assert!(!shown.screen.contains("then eva"), "{}", shown.screen);
    assert!(shown.raw.contains("\u{1b}[1m"), "no colours: {:?}", shown.raw);
}

#[test]
fn without_colours_the_answer_streams_all_the_same() {
    let workspace = Workspace::new(TEAM);
    workspace.write("go", "");
    for (arguments, variables) in [
        (&["run", "@max go", "--trust"][..], &[("NO_COLOR", "1")][..]),
        (&["run", "@max go", "--trust", "--color", "never"], &[]),
    ] {
        let shown = Pty::start(&workspace, arguments, variables).ends();
        assert!(shown.screen.contains("use one queue for all"), "{}", shown.screen);
        assert!(!shown.raw.contains("\u{1b}[1m"), "{:?}", shown.raw);
    }
}

#[test]
fn with_quiet_only_the_answers_are_shown() {
    let workspace = Workspace::new(TEAM);
    workspace.write("go", "");
    let shown = Pty::start(&workspace, &["run", "@max go", "--trust", "--quiet"], &[]).ends();
    assert_eq!(shown.screen.trim_end(), "max:\n## Plan\nuse **one** queue for all");
    assert!(!shown.raw.contains('\u{1b}'), "{:?}", shown.raw);
}

#[test]
fn a_tool_is_one_line_and_a_failure_ends_with_a_command_that_retries_it() {
    let script = r#"cat > /dev/null; echo '{"type":"tool_start","id":"t","name":"Bash","input":{"command":"ls"}}'; exit 7"#;
    let team = format!(
        "[[member]]\nname = \"ann\"\nkind = \"human\"\n[[member]]\nname = \"max\"\nagent = \"command\"\n\
         output = \"jsonl\"\ncommand = [\"sh\", \"-c\", '''{script}''']\n"
    );
    let workspace = Workspace::new(&team);
    let shown = Pty::start(&workspace, &["run", "go", "--trust"], &[]).ends();
    assert_eq!(shown.code, 1, "{}", shown.screen);
    assert!(shown.screen.contains("→ Bash ls\n"), "{}", shown.screen);
    assert!(shown.screen.contains("max could not answer (crash): ended with exit code 7"));
    assert!(shown.screen.contains("--repeat e-"), "{}", shown.screen);
}

#[test]
fn in_a_pipe_an_answer_has_the_bytes_that_the_agent_wrote() {
    let workspace = Workspace::new(TEAM);
    workspace.write("go", "");
    let output = workspace.exits(0, &["run", "@max @eva go", "--trust"]);
    assert_eq!(
        output.stdout,
        "max:\n## Plan\nuse **one** queue for all\n\neva:\nFine with `me`.\n"
    );
    assert!(
        !output.stderr.contains('\u{1b}') && !output.stderr.contains(" · "),
        "{}",
        output.stderr
    );
}
