//! What a person's words do while turns are paused, and where they go: as `tertulia run` shows it.

use crate::room::Room;

/// Two that hand over to each other until somebody is asked.
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

fn started(room: &Room) -> usize {
    room.turns().iter().filter(|turn| turn.ends_with("started")).count()
}

/// A room where a and b were stopped after this many turns.
fn stopped() -> (Room, usize) {
    let room = Room::new(LOOP);
    let left = room.exits(3, &["run", "go"]);
    assert!(left.stderr.contains("a and b have taken 12 turns with each other"), "{}", left.stderr);
    let before = started(&room);
    (room, before)
}

#[test]
fn a_no_to_the_question_starts_no_turn() {
    let (room, before) = stopped();
    let left = room.exits(0, &["run", "--continue", "no"]);
    assert_eq!((started(&room), &*left.stdout), (before, ""));
    assert!(left.stderr.contains("Stopped: one queued turn was cancelled"), "{}", left.stderr);
    let left = room.exits(0, &["run", "--continue"]);
    assert!(left.stderr.contains("nothing to do: no turns are queued"), "{}", left.stderr);
    room.exits(0, &["replay", &room.session()]);
}

#[test]
fn a_turn_that_was_declined_is_not_called_unfinished() {
    let (room, _) = stopped();
    room.exits(0, &["run", "--continue", "no"]);
    let left = room.tertulia_with(&["chat", "--continue"], b"/resume\n");
    assert_eq!(left.code, Some(0), "{left:#?}");
    assert!(!left.stdout.contains("last turn"), "{}", left.stdout);
    assert!(left.stdout.trim_end().ends_with("\nno turns are queued"), "{}", left.stdout);
}

#[test]
fn a_yes_to_the_question_continues() {
    let (room, before) = stopped();
    room.exits(3, &["run", "--continue", "yes"]);
    assert_eq!(started(&room), before + 12);
    room.exits(0, &["replay", &room.session()]);
}

#[test]
fn another_message_is_answered_and_the_old_turns_stay_paused() {
    let (room, before) = stopped();
    let left = room.exits(3, &["run", "--continue", "@c where are you?"]);
    assert_eq!((started(&room), &*left.stdout), (before + 1, "c:\nHere.\n"));
    assert!(left.stderr.contains("one earlier turn is still paused. Continue?"), "{}", left.stderr);
    let left = room.exits(3, &["run", "--continue"]);
    assert!(left.stderr.contains("12 turns with each other"), "{}", left.stderr);
    room.exits(0, &["replay", &room.session()]);
}

#[test]
fn a_message_that_reaches_nobody_starts_no_turn() {
    let room = Room::new(LOOP);
    room.exits(3, &["run", "go", "--max-turns", "1"]);
    assert_eq!(started(&room), 1);
    let left = room.exits(3, &["run", "--continue", "@nobody hi [NEXT: zed]"]);
    assert_eq!((started(&room), &*left.stdout), (1, ""));
    assert!(left.stderr.contains("nobody is called 'zed'"), "{}", left.stderr);
    assert!(left.stderr.contains("one earlier turn is still paused"), "{}", left.stderr);
    room.exits(3, &["run", "--continue", "[TEAM_TASK: Make it fast]"]);
    assert_eq!(started(&room), 1);
    room.exits(0, &["replay", &room.session()]);
}

/// One who asks the person, and a default member who does not.
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
    let room = Room::new(ASKING);
    let left = room.exits(0, &["run", "@carol look"]);
    assert!(left.stderr.contains("your turn, ann: carol asked you a question"), "{}", left.stderr);
    let left = room.exits(0, &["run", "--continue", "[TEAM_TASK: Make it fast]"]);
    assert!(left.stderr.contains("carol asked you a question"), "{}", left.stderr);
    assert!(!room.turns().contains(&"ann done".to_owned()), "{:?}", room.turns());
    let left = room.exits(0, &["run", "--continue", "Wait."]);
    assert_eq!(left.stdout, "carol:\nGood.\n");
    let entries = room.entries();
    let is_said = |entry: &&serde_json::Value| {
        entry["type"] == "message" && entry["payload"].to_string().contains("Wait.")
    };
    let said = entries.iter().find(is_said).unwrap();
    let why = room.exits(0, &["why", said["id"].as_str().unwrap()]);
    assert!(why.stdout.contains("addresses nobody, and carol had asked ann"), "{}", why.stdout);
    room.exits(0, &["replay", &room.session()]);
}

/// What eva is asked if max answers this.
fn handed_over(answer: &str) -> (bool, String) {
    let answer = serde_json::Value::from(answer);
    let room = Room::new(&format!(
        "[[member]]\nname = \"ann\"\nkind = \"human\"\n\
         [[member]]\nname = \"max\"\nagent = \"script\"\nanswers = [{answer}]\n\
         [[member]]\nname = \"eva\"\nagent = \"script\"\nanswers = [\"Yes.\"]\n"
    ));
    let left = room.exits(0, &["run", "go"]);
    (left.stdout.contains("eva:\nYes."), left.stderr)
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
fn what_does_not_hand_over_is_told() {
    for answer in [
        "Next: eva",
        "The word \"@eva\" is there.",
        "as @eva said before, it works",
        "files: [NEXT: eva] was a file name",
        "Files:\na.txt\n[NEXT: eva]\nb.txt",
    ] {
        let (is_handed_over, told) = handed_over(answer);
        assert!(!is_handed_over, "{answer}");
        assert!(told.contains("tertulia: Ignored "), "{answer}: {told}");
    }
}
