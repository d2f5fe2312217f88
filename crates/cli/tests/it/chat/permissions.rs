//! An agent's request for permission on a terminal: a numbered question, answered by typing, or ended with Esc. The
//! agent is a shell script that uses the Agent Client Protocol.

use super::ChatWorkspace;
use super::terminal::Terminal;

const TEAM: &str = r#"
[[member]]
name = "ann"
kind = "human"

[[member]]
name = "asker"
agent = "acp"
command = ["sh", "asker.sh"]
"#;

/// Initializes, reads the prompt, asks, and prints the result.
const ASKER: &str = r#"
trap '' TERM
hear() { IFS= read -r line || exit 0; }
say() { printf '%s\n' "$1"; }
chunk() { say '{"jsonrpc":"2.0","method":"session/update","params":{"sessionId":"s-1","update":{"sessionUpdate":"agent_message_chunk","content":{"type":"text","text":"'"$1"'"}}}}'; }
hear; say '{"jsonrpc":"2.0","id":1,"result":{"protocolVersion":1,"agentInfo":{"name":"fake"}}}'
hear; say '{"jsonrpc":"2.0","id":2,"result":{"sessionId":"s-1"}}'
hear
chunk 'I will tidy up.'
say '{"jsonrpc":"2.0","id":"p-1","method":"session/request_permission","params":{"sessionId":"s-1","toolCall":{"toolCallId":"c-1","title":"rm -r build","kind":"execute","rawInput":{"command":"rm -r build"}},"options":[{"optionId":"always","name":"Always allow","kind":"allow_always"},{"optionId":"once","name":"Allow once","kind":"allow_once"},{"optionId":"no","name":"Reject","kind":"reject_once"}]}}'
hear
echo "$line" >>reported
case "$line" in
  *'"optionId":"no"'*) chunk ' So it stays.' ;;
  *'"optionId"'*) chunk ' It is gone.' ;;
  *) hear; say '{"jsonrpc":"2.0","id":4,"result":{"stopReason":"cancelled"}}'; exit 0 ;;
esac
say '{"jsonrpc":"2.0","id":4,"result":{"stopReason":"end_turn"}}'
hear
"#;

const ASKED: &str = "\
session talk · @ann @asker · /help
ann: please tidy up
asker:
I will tidy up.
→ execute rm -r build
? asker asks for permission: rm -r build
  {\"command\":\"rm -r build\"}
  1  Always allow  [allows always]
  2  Allow once  [allows once]
  3  Reject  [rejects once]
  type a number; 0 = no, Esc ends the turn
";

const REMINDER: &str = "asker asks for permission: 1 to 3, 0 = no, Esc ends the turn";

/// Returns a folder with a person and an agent that asks.
pub(super) fn asking() -> ChatWorkspace {
    ChatWorkspace::with(TEAM, &[("asker.sh", ASKER)])
}

/// Returns a chat in which the agent has asked.
fn asked() -> (ChatWorkspace, Terminal) {
    let workspace = asking();
    let mut terminal = Terminal::chat(&workspace, &["--new", "talk"]);
    terminal.shows("> ");
    terminal.types("please tidy up\r");
    let screen = terminal.until("the question", |screen| is_at_rest(screen, REMINDER));
    assert_eq!(reported(&screen), format!("{ASKED}{REMINDER}\n>"));
    (workspace, terminal)
}

/// Returns whether this text is above an empty input line.
fn is_at_rest(screen: &str, above: &str) -> bool {
    screen.trim_end().ends_with(&format!("{above}\n>"))
}

/// Returns the screen without the line about the team file, and without times.
fn reported(screen: &str) -> String {
    let lines = screen.lines().map(str::trim_end).filter(|line| !line.ends_with("as it is now"));
    let timeless = lines.map(|line| match line.strip_suffix(" s") {
        Some(time) if time.ends_with(|c: char| c.is_ascii_digit()) => {
            let words = time.trim_end_matches(|c: char| c.is_ascii_digit() || c == '.');
            format!("{words}TIME")
        }
        _ => line.to_owned(),
    });
    timeless.collect::<Vec<_>>().join("\n").trim_end().to_owned()
}

/// Returns the answer that the agent got.
fn answered(workspace: &ChatWorkspace) -> String {
    std::fs::read_to_string(workspace.path().join("reported")).unwrap()
}

/// Types, waits for the end of the turn, and compares the text below the question.
#[track_caller]
fn check(keys: &str, is_over: &str, below: &str, outcome: &str) {
    let (workspace, mut terminal) = asked();
    terminal.types(keys);
    let screen = terminal.until("the end of the turn", |screen| {
        screen.contains(is_over) && screen.trim_end().ends_with(" s\n\n>")
    });
    assert_eq!(reported(&screen), format!("{ASKED}{below}\n\n>"));
    assert!(answered(&workspace).contains(outcome), "{}", answered(&workspace));
    terminal.types("/queue\r");
    terminal.shows("no turn is running or queued");
    terminal.types("/quit\r");
    assert_eq!(terminal.ends().0, 0);
}

#[test]
fn a_typed_number_allows_it() {
    check("2\r", "It is gone.", "(Allow once)\nasker:\n It is gone.\nTIME", r#""optionId":"once""#);
}

#[test]
fn the_name_of_a_choice_may_refuse_it_and_never_allows_it() {
    let below = "(Reject)\nasker:\n✗ execute was not allowed: not permitted\n So it stays.\nTIME";
    check("reject\r", "So it stays.", below, r#""optionId":"no""#);
    let below = "'always allow' is unclear; type a number from 0 to 3 (0 = no)\n(Allow once)\nasker:\n It is gone.\nTIME";
    check("always allow\r2\r", "It is gone.", below, r#""optionId":"once""#);
}

#[test]
fn a_typed_nought_refuses_it() {
    let below = "(no)\nasker:\n✗ execute was not allowed: not permitted\n So it stays.\nTIME";
    check("0\r", "So it stays.", below, r#""optionId":"no""#);
}

#[test]
fn esc_ends_the_turn_that_asks() {
    let below =
        "asker:\n✗ execute was not allowed: not permitted\n(cut off here)\ncancelled · TIME";
    check("\x1b", "cancelled", below, r#"{"outcome":"cancelled"}"#);
}

#[test]
fn a_yes_that_may_mean_two_things_and_a_wrong_number_are_no_answers_and_not_said() {
    let (workspace, mut terminal) = asked();
    terminal.types("yes\r");
    terminal.shows("'yes' is unclear; type a number from 0 to 3 (0 = no)");
    terminal.types("4\r");
    let screen = terminal.shows("'4' is unclear; type a number from 0 to 3 (0 = no)");
    assert!(!screen.contains("ann: yes") && screen.contains(REMINDER), "{screen}");
    terminal.types("/queue\r");
    terminal.shows("asker is answering  e-");
    assert!(!workspace.path().join("reported").exists(), "the agent waits");
    terminal.types("no\r");
    terminal.shows("So it stays.");
    terminal.types("/quit\r");
    assert_eq!(terminal.ends().0, 0);
}

#[test]
fn words_are_said_meanwhile_and_the_agent_still_waits() {
    let (_chat, mut terminal) = asked();
    terminal.types("tell me why first\r");
    terminal.until("the words and the reminder", |screen| {
        screen.contains("ann: tell me why first") && is_at_rest(screen, REMINDER)
    });
    terminal.types("\x1b");
    terminal.shows("Continue with the queued turn?");
    terminal.until("the hint", |screen| {
        is_at_rest(screen, "Paused. /resume to continue, /drop all to stop.")
    });
    terminal.types("/drop all\r");
    terminal.until("nothing waits", |screen| screen.trim_end().ends_with("ann: [DROP: ALL]\n>"));
    terminal.types("/quit\r");
    assert_eq!(terminal.ends().0, 0);
}
