//! Tests the effect and the addressee of a person's message while turns are paused, with `tertulia run`.

use crate::workspace::Workspace;

/// Two members that hand over to each other until a person is asked.
const LOOP: &str = r#"
[[member]]
name = "a"
agent = "script"
answers = ["ping @b"]
[[member]]
name = "b"
agent = "script"
answers = ["pong @a"]
[[member]]
name = "c"
agent = "script"
answers = ["Here."]
"#;

fn started(workspace: &Workspace) -> usize {
    workspace.turns().iter().filter(|turn| turn.ends_with("started")).count()
}

/// Returns a workspace where a and b were stopped after this many turns.
fn stopped() -> (Workspace, usize) {
    let workspace = Workspace::new(LOOP);
    let output = workspace.exits(3, &["run", "go"]);
    assert!(
        output.stderr.contains("a and b have taken 12 turns with each other"),
        "{}",
        output.stderr
    );
    let before = started(&workspace);
    (workspace, before)
}

#[test]
fn a_no_to_the_question_starts_no_turn() {
    let (workspace, before) = stopped();
    let output = workspace.exits(0, &["run", "--continue", "no"]);
    assert_eq!((started(&workspace), &*output.stdout), (before, ""));
    assert!(output.stderr.contains("Stopped: one queued turn was cancelled"), "{}", output.stderr);
    let output = workspace.exits(0, &["run", "--continue"]);
    assert!(output.stderr.contains("nothing to do: no turns are queued"), "{}", output.stderr);
    workspace.exits(0, &["replay", &workspace.session()]);
}

#[test]
fn a_turn_that_was_declined_is_not_called_unfinished() {
    let (workspace, _) = stopped();
    workspace.exits(0, &["run", "--continue", "no"]);
    let output = workspace.tertulia_with(&["chat", "--continue"], b"/resume\n");
    assert_eq!(output.code, Some(0), "{output:#?}");
    assert!(!output.stdout.contains("last turn"), "{}", output.stdout);
    assert!(output.stdout.trim_end().ends_with("\nno turns are queued"), "{}", output.stdout);
}

#[test]
fn a_yes_to_the_question_continues() {
    let (workspace, before) = stopped();
    workspace.exits(3, &["run", "--continue", "yes"]);
    assert_eq!(started(&workspace), before + 12);
    workspace.exits(0, &["replay", &workspace.session()]);
}

#[test]
fn another_message_is_answered_and_the_old_turns_stay_paused() {
    let (workspace, before) = stopped();
    let output = workspace.exits(3, &["run", "--continue", "@c where are you?"]);
    assert_eq!((started(&workspace), &*output.stdout), (before + 1, "c:\nHere.\n"));
    assert!(
        output.stderr.contains("one earlier turn is still paused. Continue?"),
        "{}",
        output.stderr
    );
    let output = workspace.exits(3, &["run", "--continue"]);
    assert!(output.stderr.contains("12 turns with each other"), "{}", output.stderr);
    workspace.exits(0, &["replay", &workspace.session()]);
}

#[test]
fn a_message_that_reaches_nobody_starts_no_turn() {
    let workspace = Workspace::new(LOOP);
    workspace.exits(3, &["run", "go", "--max-turns", "1"]);
    assert_eq!(started(&workspace), 1);
    let output = workspace.exits(3, &["run", "--continue", "@nobody hi [NEXT: zed]"]);
    assert_eq!((started(&workspace), &*output.stdout), (1, ""));
    assert!(output.stderr.contains("nobody is called 'zed'"), "{}", output.stderr);
    assert!(output.stderr.contains("one earlier turn is still paused"), "{}", output.stderr);
    workspace.exits(3, &["run", "--continue", "[TEAM_TASK: Make it fast]"]);
    assert_eq!(started(&workspace), 1);
    workspace.exits(0, &["replay", &workspace.session()]);
}

/// A member who asks the person, and a default member who does not.
const ASKING: &str = r#"
default = "max"
[[member]]
name = "ann"
kind = "human"
[[member]]
name = "max"
agent = "script"
answers = ["I am max."]
[[member]]
name = "carol"
agent = "script"
answers = ["@ann, drop or wait?", "Good."]
"#;

#[test]
fn a_task_does_not_answer_a_question_and_a_plain_reply_goes_to_who_asked() {
    let workspace = Workspace::new(ASKING);
    let output = workspace.exits(0, &["run", "@carol look"]);
    assert!(
        output.stderr.contains("your turn, ann: carol asked you a question"),
        "{}",
        output.stderr
    );
    let output = workspace.exits(0, &["run", "--continue", "[TEAM_TASK: Make it fast]"]);
    assert!(output.stderr.contains("carol asked you a question"), "{}", output.stderr);
    assert!(!workspace.turns().contains(&"ann done".to_owned()), "{:?}", workspace.turns());
    let output = workspace.exits(0, &["run", "--continue", "Wait."]);
    assert_eq!(output.stdout, "carol:\nGood.\n");
    let entries = workspace.entries();
    let is_said = |entry: &&serde_json::Value| {
        entry["type"] == "message" && entry["payload"].to_string().contains("Wait.")
    };
    let said = entries.iter().find(is_said).unwrap();
    let why = workspace.exits(0, &["why", said["id"].as_str().unwrap()]);
    assert!(why.stdout.contains("addresses nobody, and carol had asked ann"), "{}", why.stdout);
    workspace.exits(0, &["replay", &workspace.session()]);
}

/// Returns the prompt of eva if max gives this answer.
fn handed_over(answer: &str) -> (bool, String) {
    let answer = serde_json::Value::from(answer);
    let workspace = Workspace::new(&format!(
        "[[member]]\nname = \"ann\"\nkind = \"human\"\n\
         [[member]]\nname = \"max\"\nagent = \"script\"\nanswers = [{answer}]\n\
         [[member]]\nname = \"eva\"\nagent = \"script\"\nanswers = [\"Yes.\"]\n"
    ));
    let output = workspace.exits(0, &["run", "go"]);
    (output.stdout.contains("eva:\nYes."), output.stderr)
}

#[test]
fn common_ways_to_address_somebody_hand_over() {
    for answer in [
        "**@eva** please",
        "(@eva) hm",
        "_@eva_",
        "@eva,@ann hm",
        "\\@eva please check",
        "The reader waits. @eva, does that hold?",
        "Done.\n\n[NEXT: eva]",
    ] {
        assert!(handed_over(answer).0, "{answer}");
    }
}

#[test]
fn what_does_not_hand_over_is_reported() {
    for answer in [
        "Next: eva",
        "The word \"@eva\" is there.",
        "as @eva said before, it works",
        "files: [NEXT: eva] was a file name",
        "Files:\na.txt\n[NEXT: eva]\nb.txt",
    ] {
        let (is_handed_over, reported) = handed_over(answer);
        assert!(!is_handed_over, "{answer}");
        assert!(reported.contains("tertulia: Ignored "), "{answer}: {reported}");
    }
}
