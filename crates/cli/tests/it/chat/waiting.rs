//! Tests the line above the input that shows whose turn it is.

use super::ChatWorkspace;
use super::terminal::Terminal;

const TEAM: &str = r#"
[limits]
turns = 1

[[member]]
name = "ann"
kind = "human"

[[member]]
name = "max"
agent = "script"
answers = ["@ann which one?", "@eva please look.", "Done."]

[[member]]
name = "eva"
agent = "script"
answers = ["It is fine."]
"#;

fn ends_with(screen: &str, end: &str) -> bool {
    screen.trim_end().ends_with(end)
}

#[test]
fn the_status_line_shows_who_waits_and_how_to_continue() {
    let workspace = ChatWorkspace::with(TEAM, &[]);
    let mut terminal = Terminal::chat(&workspace, &["--new", "talk"]);
    terminal.shows("> ");
    terminal.types("hello\r");
    let hint = "Waiting for ann. Reply, or /resume to skip.\n>";
    let screen = terminal.until("the hint", |screen| ends_with(screen, hint));
    assert!(screen.contains("? ann: max waits for your answer"), "{screen}");
    terminal.types("/resume\r");
    terminal.until("no hint", |screen| ends_with(screen, "> /resume\n>"));
    terminal.types("/resume\r");
    terminal.until("that nothing waits", |screen| ends_with(screen, "no turns are queued\n>"));

    terminal.types("go on\r");
    let hint = "Paused. /resume to continue, /drop all to stop.\n>";
    let screen = terminal.until("the hint", |screen| ends_with(screen, hint));
    assert!(screen.contains("have taken one turn since a person last wrote"), "{screen}");
    terminal.types("/queue\r");
    terminal.shows("eva waits  max wrote @eva in e-");
    terminal.types("/resume\r");
    terminal.shows("eva:\nIt is fine.");
    terminal.types("/quit\r");
    assert_eq!(terminal.ends().0, 0);
}

#[test]
fn a_session_that_is_opened_again_says_who_waits() {
    let workspace = ChatWorkspace::with(TEAM, &[]);
    let mut terminal = Terminal::chat(&workspace, &["--new", "talk"]);
    terminal.shows("> ");
    terminal.types("hello\r");
    terminal.shows("? ann: max waits for your answer");
    terminal.types("\x04");
    assert_eq!(terminal.ends().0, 0);

    let mut again = Terminal::chat(&workspace, &["--continue"]);
    again.until("the question and the hint", |screen| {
        screen.contains("max:\n@ann which one?\n\n? ann: max waits for your answer")
            && ends_with(screen, "Waiting for ann. Reply, or /resume to skip.\n>")
    });
    again.types("/quit\r");
    assert_eq!(again.ends().0, 0);
}

#[test]
fn our_own_sentences_are_not_broken_inside_a_word() {
    let workspace = ChatWorkspace::with(TEAM, &[]);
    let mut terminal = Terminal::chat(&workspace, &["--new", "talk"]);
    terminal.shows("> ");
    terminal.types("/fork with a name that nobody knows and that goes on");
    terminal.resize(40, 44);
    terminal.until("the narrow line", |screen| screen.contains("\n  hat goes on"));
    terminal.types("\r");
    let screen = terminal.shows("show entry IDs");
    assert!(screen.contains("there is no entry with a name that nobody\nknows"), "{screen}");
    terminal.types("/quit\r");
    assert_eq!(terminal.ends().0, 0);
}
