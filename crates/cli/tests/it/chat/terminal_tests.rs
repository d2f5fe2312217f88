//! Tests the chat on a terminal.

use super::ChatWorkspace;
use super::escapes::{corpus, foreign};
use super::terminal::Terminal;
use crate::workspace::{is_alive, pid_in, signal, wait_until};

const CTRL_C: &str = "\x03";
const CTRL_D: &str = "\x04";
const ESC: &str = "\x1b";
const TAB: &str = "\t";

/// Returns the screen without the parts that differ from run to run.
fn masked(screen: &str) -> String {
    let line = |line: &str| match line.strip_suffix(" s").map(str::parse::<f64>) {
        Some(Ok(_)) => "TIME s".to_owned(),
        _ => line.trim_end().to_owned(),
    };
    let reported = |line: &&str| !line.ends_with("is trusted as it is now");
    screen.lines().filter(reported).map(line).collect::<Vec<_>>().join("\n").trim_end().to_owned()
}

#[test]
fn ctrl_z_stops_the_program_and_it_goes_on_where_it_was() {
    let workspace = ChatWorkspace::new(&["One."]);
    let mut terminal = Terminal::chat_in_shell(&workspace, &["--new", "talk"]);
    terminal.shows("> ");
    terminal.types("half a li");
    terminal.has_typed("> half a li");
    terminal.types("\x1a");
    // The terminal is in line mode again for the shell.
    terminal.until("the shell", |screen| screen.contains("\nicanon\nit stopped"));
    terminal.types("\n");
    terminal.has_taken_the_keyboard(2);
    terminal.has_typed("> half a li");
    terminal.types("ne\r");
    terminal.shows("ann: half a line\n");
    terminal.has_answered("One.");
    terminal.types("/quit\r");
    assert_eq!(terminal.ends().0, 0);
}

#[test]
fn ctrl_z_without_a_shell_above_is_no_end() {
    let workspace = ChatWorkspace::new(&["One."]);
    let mut terminal = Terminal::chat(&workspace, &[]);
    terminal.shows("> ");
    terminal.types("\x1a");
    terminal.has_taken_the_keyboard(2);
    terminal.types("hello\r");
    terminal.has_answered("One.");
    terminal.types("/quit\r");
    assert_eq!(terminal.ends().0, 0);
}

#[test]
fn a_quiet_chat_ends_without_a_word() {
    for (quiet, is_said) in [(&["--quiet"][..], true), (&["--quiet"], false), (&[], true)] {
        let workspace = ChatWorkspace::new(&["One."]);
        let mut terminal = Terminal::chat(&workspace, quiet);
        terminal.shows("> ");
        if is_said {
            terminal.types("hello\r");
            terminal.has_answered("One.");
        }
        terminal.types("/quit\r");
        let (code, screen, _) = terminal.ends();
        let is_told = screen.contains("Resume with: ") || screen.contains("Nothing was said");
        assert_eq!((code, is_told), (0, quiet.is_empty()), "{screen}");
    }
}

#[test]
fn what_is_typed_right_after_a_fork_goes_to_the_fork() {
    let workspace = ChatWorkspace::new(&["One.", "Two.", "Three."]);
    let mut terminal = Terminal::chat(&workspace, &["--new", "talk"]);
    terminal.shows("> ");
    terminal.types("first\r");
    terminal.has_answered("One.");
    // In one write, as if a person types fast or pastes without bracketed paste.
    terminal.types("/fork\rsecondline\rthirdline\r");
    terminal.shows("Two.");
    terminal.has_answered("Three.");
    terminal.types("/quit\r");
    let (code, screen, _) = terminal.ends();
    assert_eq!(code, 0, "{screen}");
    let first = super::plain::talk(&workspace, &["--session", "talk"], "");
    assert!(first.contains("ann: first") && !first.contains("line"), "{first}");
    let fork = super::plain::talk(&workspace, &["--continue"], "");
    assert!(fork.contains("ann: secondline") && fork.contains("ann: thirdline"), "{fork}");
}

#[test]
fn leaving_at_once_says_that_no_session_was_stored() {
    let workspace = ChatWorkspace::new(&["One."]);
    let mut terminal = Terminal::chat(&workspace, &[]);
    terminal.shows("> ");
    terminal.types(CTRL_D);
    let (code, screen, _) = terminal.ends();
    assert_eq!(code, 0, "{screen}");
    assert!(screen.contains("No message was sent, so no session was stored."), "{screen}");
    assert!(!screen.contains("Resume with"), "{screen}");
}

#[test]
fn leaving_right_after_a_fork_leaves_the_fork() {
    let workspace = ChatWorkspace::new(&["One."]);
    let mut terminal = Terminal::chat(&workspace, &["--new", "talk"]);
    terminal.shows("> ");
    terminal.types("first\r");
    terminal.has_answered("One.");
    terminal.types("/fork\r\x04");
    let (code, screen, _) = terminal.ends();
    assert_eq!(code, 0, "{screen}");
    assert!(screen.contains("Forked. You are now in session "), "{screen}");
}

#[test]
fn ctrl_c_works_in_a_paste_that_never_ends() {
    let workspace = ChatWorkspace::new(&["One."]);
    let mut terminal = Terminal::chat(&workspace, &[]);
    terminal.shows("> ");
    terminal.types("@slow count\r");
    terminal.shows("count 2 of many");
    // One write is read at once: if the letter is shown, the paste after it has been read.
    terminal.types("x\x1b[200~never");
    terminal.has_typed("> x");
    // A key, not part of the paste.
    terminal.types("\x03");
    terminal.shows("cancelled · ");
    terminal.has_typed("> xnever");
    terminal.types("\x03");
    assert_eq!(terminal.ends().0, 0);
}

#[test]
fn a_typed_line_is_answered_above_the_next_one() {
    let workspace = ChatWorkspace::new(&[
        "# Plan\n\n- **one** of `two`\n- three\n\n```rust\n    let a = 1;\n```",
    ]);
    let mut terminal = Terminal::chat(&workspace, &["--new", "talk"]);
    terminal.shows("> ");
    terminal.types("helo\x1b[Dl");
    terminal.shows("> hello");
    terminal.types("\r");
    let screen = terminal.until("the answer and its figures", |screen| {
        screen.contains("let a") && screen.trim_end().ends_with(" s\n\n>")
    });
    let expected = "session talk · @ann @max @slow · /help\nann: hello\nmax:\nPlan\n\n• one of two\n\
                    • three\n\n```rust\n    let a = 1;\n```\nTIME s\n\n>";
    assert_eq!(masked(&screen), expected);
    terminal.types(CTRL_D);
    let (code, screen, _) = terminal.ends();
    assert_eq!(code, 0, "{screen}");
    assert!(screen.contains("tertulia chat --session talk"), "{screen}");
}

#[test]
fn members_files_and_commands_are_completed() {
    let workspace = ChatWorkspace::new(&["One."]);
    let mut terminal = Terminal::chat(&workspace, &[]);
    terminal.shows("> ");
    terminal.types(&format!("@m{TAB}"));
    terminal.has_typed("> @max ");
    terminal.types(&format!("see @scr{TAB}"));
    terminal.shows("> @max see @script.jsonl ");
    terminal.types(&format!("\x15/co{TAB}"));
    terminal.shows("/context  /compact  /cost");
    terminal.types(&format!("n{TAB}"));
    terminal.has_typed("> /context ");
    terminal.types("\x15/memebrs\r");
    terminal.shows("there is no command /memebrs; did you mean /members?");
    terminal.types("\x1b[A");
    terminal.shows("\n> /memebrs");
    terminal.types("\x15exit\r");
    let screen = terminal.shows("'exit' was not sent; did you mean /quit?");
    assert!(!screen.contains("ann: exit"), "{screen}");
    terminal.types("/exi");
    terminal.types("t\r");
    assert_eq!(terminal.ends().0, 0);
}

/// Stops an answer in the middle; the typed text is kept.
fn stops_with(key: &str) {
    let workspace = ChatWorkspace::new(&["One."]);
    let mut terminal = Terminal::chat(&workspace, &["--new", "talk"]);
    terminal.shows("> ");
    terminal.types("@slow count\r");
    terminal.shows("count 3 of many");
    terminal.shows("slow is answering… Esc to stop");
    terminal.types("next thought");
    terminal.shows("> next thought");
    terminal.types(key);
    let screen = terminal.until("that it was cancelled", |screen| screen.contains("cancelled · "));
    assert!(screen.contains("(cut off here)"), "{screen}");
    terminal.until("what was typed", |screen| screen.trim_end().ends_with("\n> next thought"));
    terminal.types("\x15@max hello\r");
    terminal.has_answered("One.");
    terminal.types("/quit\r");
    assert_eq!(terminal.ends().0, 0);
}

#[test]
fn ctrl_c_stops_an_answer_in_the_middle() {
    stops_with(CTRL_C);
}

#[test]
fn esc_stops_an_answer_in_the_middle() {
    stops_with(ESC);
}

#[test]
fn what_is_said_meanwhile_waits_and_goes_on_when_the_person_wants_it() {
    let workspace = ChatWorkspace::new(&["One."]);
    let mut terminal = Terminal::chat(&workspace, &[]);
    terminal.shows("> ");
    terminal.types("@slow count\r");
    terminal.shows("count 2 of many");
    terminal.types("@max your turn\r");
    terminal.shows("ann: @max your turn");
    terminal.types("/queue\r");
    terminal.shows("max waits  ann wrote @max in e-");
    terminal.types("@max!P1 at once\r");
    terminal.shows("ann: @max!P1 at once");
    terminal.types("/queue\r");
    terminal.until("the urgent turn above the other", |screen| {
        let (urgent, other) = (screen.rfind("max waits (P1)  ann"), screen.rfind("max waits  ann"));
        urgent.is_some() && urgent < other
    });
    terminal.types(ESC);
    terminal.shows("Continue with the 2 queued turns?");
    terminal.shows("\"yes\" or /resume continues");
    terminal.types("/resume\r");
    terminal.shows("max:\nOne.");
    terminal.types(CTRL_D);
    assert_eq!(terminal.ends().0, 0);
}

#[test]
fn ctrl_c_twice_leaves_and_what_was_said_is_there_again() {
    let workspace = ChatWorkspace::new(&["One."]);
    let mut terminal = Terminal::chat(&workspace, &["--new", "talk"]);
    terminal.shows("> ");
    terminal.types("first word\r");
    terminal.has_answered("One.");
    terminal.types("half a line");
    terminal.shows("> half a line");
    terminal.types(CTRL_C);
    terminal.shows("Press Ctrl-C again to leave\n>");
    terminal.types(CTRL_C);
    assert_eq!(terminal.ends().0, 0);

    let mut again = Terminal::chat(&workspace, &["--continue"]);
    let screen = again.shows("One.");
    assert!(screen.contains("session talk") && screen.contains("ann: first word"), "{screen}");
    again.types("\x1b[A");
    again.shows("> first word");
    again.types("\x15/quit\r");
    assert_eq!(again.ends().0, 0);
}

#[test]
fn leaving_in_the_middle_of_an_answer_keeps_what_came() {
    let workspace = ChatWorkspace::new(&["One."]);
    let mut terminal = Terminal::chat(&workspace, &["--new", "talk"]);
    terminal.shows("> ");
    terminal.types("@slow count\r");
    terminal.shows("count 3 of many");
    let kill = std::process::Command::new("kill").arg(terminal.process().to_string()).status();
    assert!(kill.unwrap().success());
    let (code, screen, raw) = terminal.ends();
    assert_eq!(code, 0, "{screen}");
    assert!(String::from_utf8_lossy(&raw).contains("\x1b[?2004l"), "the terminal is given back");
    let again = Terminal::chat(&workspace, &["--continue"]);
    let screen = again.shows("(cut off here)");
    assert!(screen.contains("count 2 of many"), "{screen}");
}

#[test]
fn the_screen_may_change_its_size_while_an_answer_streams_in() {
    let workspace = ChatWorkspace::new(&["One."]);
    let mut terminal = Terminal::chat(&workspace, &[]);
    terminal.shows("> ");
    terminal.types("@slow count\r");
    terminal.shows("count 2 of many");
    terminal.types("a line that is typed while the screen becomes narrow");
    terminal.shows("becomes narrow");
    terminal.resize(12, 40);
    terminal.until("a wrapped line", |screen| {
        screen.contains("> a line that is typed while the screen") && screen.contains("\n  ")
    });
    terminal.resize(30, 100);
    terminal.until("one line again", |screen| {
        screen.trim_end().ends_with("> a line that is typed while the screen becomes narrow")
    });
    terminal.types(ESC);
    terminal.shows("cancelled");
    terminal.types(&format!("\x15{CTRL_D}"));
    assert_eq!(terminal.ends().0, 0);
}

#[test]
fn no_escape_sequence_of_an_answer_reaches_the_terminal() {
    let sequences = corpus();
    let prose = sequences.iter().map(|one| format!("a{one}b")).collect::<Vec<_>>().join("\n");
    let code = format!("```sh{}\n{prose}\n```\n# {prose}\n[x]({prose})", sequences[0]);
    let answer = format!("{prose}\n{code}\nthe end");
    let workspace = ChatWorkspace::new(&[&answer]);
    let mut terminal = Terminal::chat(&workspace, &["--new", "talk"]);
    terminal.shows("> ");
    terminal.types("hello\r");
    terminal.has_answered("the end");
    terminal.types(&format!("\x1b[200~pasted {}{}\x1b[201~", sequences[0], sequences[60]));
    terminal.shows("> pasted ␛");
    terminal.types("\x15/why\r");
    terminal.shows("max's turn");
    terminal.types("/quit\r");
    let (code, _, raw) = terminal.ends();
    assert_eq!(code, 0);
    assert_eq!(foreign(&String::from_utf8(raw).unwrap()), "");

    let again = Terminal::chat(&workspace, &["--continue"]);
    again.shows("more bytes; /export FILE writes the whole message)");
    again.until("the line to type", |screen| screen.trim_end().ends_with('>'));
}

#[test]
fn with_no_color_there_are_no_colours_and_a_dumb_terminal_gets_plain_lines() {
    let workspace = ChatWorkspace::new(&["**One.**"]);
    let env = [("TERM", "xterm-256color"), ("NO_COLOR", "1")];
    let mut terminal = Terminal::chat_with(&workspace, &[], &env);
    terminal.shows("> ");
    terminal.types("hello\r");
    terminal.has_answered("One.");
    terminal.types(CTRL_D);
    let (_, _, raw) = terminal.ends();
    let raw = String::from_utf8(raw).unwrap();
    let coded = raw
        .split("\x1b[")
        .skip(1)
        .any(|code| code.trim_start_matches(|c: char| c.is_ascii_digit()).starts_with('m'));
    assert!(!coded, "{raw:?}");

    let mut dumb = Terminal::chat_with(&workspace, &[], &[("TERM", "dumb")]);
    dumb.shows("> ");
    dumb.types("hello\r");
    dumb.shows("One.");
    dumb.types("/quit\r");
    let (_, _, raw) = dumb.ends();
    assert!(!raw.contains(&0x1b));
}

#[test]
fn a_chat_whose_terminal_takes_nothing_any_more_ends_with_its_agent_all_the_same() {
    let team = "[[member]]\nname = \"ann\"\nkind = \"human\"\n\n\
                [[member]]\nname = \"loud\"\nagent = \"command\"\ncommand = [\"sh\", \"loud.sh\"]\n";
    // Much more than a terminal buffers if its output is not read.
    let loud = "cat >/dev/null\necho $$ > pid\necho ready\nuntil test -e go; do sleep 0.05; done\n\
                yes some words | head -c 300000\ntouch said\nsleep 600\n";
    let workspace = ChatWorkspace::with(team, &[("loud.sh", loud)]);
    let mut terminal = Terminal::chat(&workspace, &[]);
    terminal.shows("> ");
    terminal.types("go\r");
    terminal.shows("ready");
    terminal.stalls();
    let pid = pid_in(&workspace.path().join("pid"));
    std::fs::write(workspace.path().join("go"), "").unwrap();
    wait_until("all that was said", || workspace.path().join("said").exists());
    signal("-TERM", terminal.process());
    assert_eq!(terminal.dies(), 130);
    wait_until("the agent's end", || !is_alive(&pid));
}
