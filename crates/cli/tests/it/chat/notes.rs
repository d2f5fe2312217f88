//! Notes and commands while an answer is shown: each on its own lines, none inside the answer.

use super::ChatWorkspace;
use super::plain::{chat, talk};
use super::terminal::Terminal;

const TEAM: &str = r#"
[[member]]
name = "ann"
kind = "human"
[[member]]
name = "max"
agent = "script"
answers = ["It is so."]
[[member]]
name = "eva"
agent = "script"
answers = ["Fine."]
[[member]]
name = "scribe"
agent = "scribe"
[[member]]
name = "wrong"
agent = "command"
command = ["sh", "-c", "cat >/dev/null; printf 'caf\\351 now\\nmore\\n'"]
"#;

#[test]
fn a_note_of_a_message_stands_before_the_answer_and_not_in_it() {
    let workspace = ChatWorkspace::with(TEAM, &[]);
    let shown = talk(&workspace, &[], "Please ask @evva.\n");
    assert!(shown.contains("did you mean eva?\nmax:\nIt is so.\n"), "{shown}");
    let shown = talk(&workspace, &[], "@zzz hello\n");
    let expected =
        "ann: @zzz hello\nnobody in the team is called zzz; the message goes to max\nmax:\n";
    assert!(shown.contains(expected), "{shown}");
}

#[test]
fn what_is_wrong_with_an_answer_does_not_tear_its_words() {
    let workspace = ChatWorkspace::with(TEAM, &[]);
    let shown = talk(&workspace, &[], "@wrong hello\n");
    let expected = "wrong: warning: it wrote text that is not UTF-8: 0xE9 is not a character; ";
    assert!(shown.contains(expected), "{shown}");
    assert!(shown.contains("\nwrong:\ncaf\u{fffd} now\nmore\n"), "{shown}");
}

#[test]
fn where_an_answer_goes_on_after_something_else_its_speaker_is_named_again() {
    let halves = "cat >/dev/null; printf 'one\\nthe lon'\n\
                  while [ ! -e go ]; do sleep 0.05; done; printf 'gest word\\nend\\n'\n";
    let team = "[[member]]\nname = \"ann\"\nkind = \"human\"\n[[member]]\nname = \"max\"\n\
                agent = \"command\"\ncommand = [\"sh\", \"halves.sh\"]\n";
    let workspace = ChatWorkspace::with(team, &[("halves.sh", halves)]);
    let mut terminal = Terminal::chat(&workspace, &["--new", "talk"]);
    terminal.shows("> ");
    terminal.types("count\r");
    terminal.shows("max:\none\nthe lon\n");
    terminal.types("/queue\r");
    let reported = "max:\none\n> /queue\nmax is answering  ";
    terminal.until("the queue, and the open line below it", |screen| {
        screen.contains(reported) && screen.contains("\nmax:\nthe lon\n")
    });
    std::fs::write(workspace.path().join("go"), "").unwrap();
    let screen = terminal.shows("\nmax:\nthe longest word\nend\n");
    assert!(screen.contains(reported), "{screen}");
    terminal.types("/quit\r");
    assert_eq!(terminal.ends().0, 0);
}

#[test]
fn a_chat_with_a_line_that_was_not_sent_exits_as_a_run_would() {
    let two = format!("[[member]]\nname = \"bob\"\nkind = \"human\"\n{TEAM}");
    let workspace = ChatWorkspace::with(&two, &[]);
    let several = "the team has several people; begin the line with [FROM: name], or open the chat \
                   with --as NAME: bob, ann";
    let command = "the team has several people; to use commands, open the chat with --as NAME: bob";
    let agent = "'max' is an agent and cannot speak for a person";
    for (input, code, why) in [
        ("hello\n", 3, several),
        ("hello\n[FROM: ann] hello\n", 3, several),
        ("[FROM: ann] hello\nhello\n", 3, several),
        ("[FROM: max] hello\n", 2, agent),
        ("/task Build it\n", 3, command),
        ("/next max\n", 3, command),
        ("[FROM: ann] hello\n", 0, ""),
    ] {
        let output = chat(&workspace, &[], input.as_bytes());
        let reported = String::from_utf8(output.stderr).unwrap();
        assert_eq!(output.status.code(), Some(code), "{input:?}: {reported}");
        assert!(reported.contains(why), "{input:?}: {reported}");
    }
}

#[test]
fn as_sets_once_who_types() {
    let two = format!("[[member]]\nname = \"bob\"\nkind = \"human\"\n{TEAM}");
    let workspace = ChatWorkspace::with(&two, &[]);
    let input =
        "hello\n/task Build it\n/next max: go\n/drop all\n[FROM: Bob] @bob look\n/drop bob\n";
    let shown = talk(&workspace, &["--as", "Bob"], input);
    for part in
        [" · you are bob · /help\n", "bob: hello\n", "team task: Build it\n", "\n[NEXT: max]\ngo\n"]
    {
        assert!(shown.contains(part), "{part:?} is not in:\n{shown}");
    }
    assert!(!shown.contains("ann:"), "{shown}");
    let wrong = |more: &[&str], input: &str, why: &str| {
        let output = chat(&workspace, more, input.as_bytes());
        let reported = String::from_utf8(output.stderr).unwrap();
        assert_eq!(output.status.code(), Some(2), "{reported}");
        assert!(reported.contains(why), "{reported}");
    };
    wrong(
        &["--as", "bob"],
        "[FROM: ann] hello\n",
        "--as bob and [FROM: ann] in the text name different",
    );
    wrong(&["--as", "bob"], "/next max: [FROM: ann] hello\n", "name different speakers");
    wrong(&["--as", "max"], "hello\n", "--as: 'max' is an agent");
    wrong(&["--as", "bobb"], "hello\n", "did you mean --as bob?");
}

#[test]
fn a_person_who_is_waited_for_is_named_when_another_one_speaks() {
    let two = format!("[[member]]\nname = \"bob\"\nkind = \"human\"\n{TEAM}");
    let workspace = ChatWorkspace::with(&two, &[]);
    let shown = talk(&workspace, &[], "[FROM: ann] @bob look\n[FROM: ann] @max hello\n");
    assert!(shown.contains("? bob: ann waits for your answer\n"), "{shown}");
    let waits = "? bob: ann's message waits until you have answered e-";
    assert_eq!(shown.matches(waits).count(), 1, "{shown}");
}

#[test]
fn the_context_of_a_built_in_member_is_the_one_that_the_command_shows() {
    let workspace = ChatWorkspace::with(TEAM, &[]);
    let shown = talk(&workspace, &["--new", "talk"], "hello\n/context scribe\n");
    let note = "scribe is built in and reads the whole log";
    assert!(shown.contains(note), "{shown}");
    let numbers = shown.split_once("\nscribe would get ").unwrap().1;
    let bytes: usize = numbers.split_once(" of ").unwrap().0.replace(',', "").parse().unwrap();
    let team = workspace.path().join("tertulia.toml").display().to_string();
    let store = format!("sqlite:{}", workspace.path().join("home/sessions.db").display());
    let program = std::path::absolute(env!("CARGO_BIN_EXE_tertulia")).unwrap();
    let output = std::process::Command::new(program)
        .args(["context", "--member", "scribe", "--session", "talk", "--json"])
        .args(["--team", &team, "--store", &store])
        .envs(workspace.variables())
        .output()
        .unwrap();
    let record: serde_json::Value = serde_json::from_slice(&output.stdout).unwrap();
    assert_eq!(record["bytes"]["total"], bytes);
    assert!(String::from_utf8(output.stderr).unwrap().contains(note));
}
