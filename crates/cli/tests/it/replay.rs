//! `tertulia replay`: the same log gives the same decisions, and another team is noticed.

use crate::room::Room;

const TEAM: &str = "[[member]]\nname = \"ann\"\nkind = \"human\"\n\
    [[member]]\nname = \"max\"\nagent = \"script\"\nanswers = [\"@eva please look.\"]\n\
    [[member]]\nname = \"eva\"\nagent = \"script\"\nanswers = [\"Fine.\"]\n";

fn talked() -> Room {
    let room = Room::new(TEAM);
    room.exits(0, &["run", "hello", "--session", "talk"]);
    room.exits(0, &["run", "once more", "--session", "talk"]);
    room
}

#[test]
fn the_same_team_decides_the_same() {
    let room = talked();
    let before = room.entries();
    let left = room.exits(0, &["replay", "tal"]);
    assert_eq!(left.stdout, "");
    assert_eq!(left.stderr, "tertulia: 4 turns, every decision as before\n");
    let record = &room.exits(0, &["replay", "talk", "--json"]).json()[0];
    assert_eq!((&record["equal"], &record["turns"]), (&true.into(), &4.into()));
    assert_eq!(record["differences"].as_array().map(Vec::len), Some(0));
    assert_eq!(room.entries(), before);
}

#[test]
fn another_team_decides_otherwise_and_every_difference_is_told() {
    let room = talked();
    room.write("other.toml", &format!("default = \"eva\"\n{TEAM}"));
    let left = room.exits(1, &["replay", "talk", "--team", "other.toml"]);
    assert!(left.stdout.contains("now it would be eva's turn"), "{}", left.stdout);
    assert!(left.stderr.contains("would differ with the current team file"), "{}", left.stderr);
}

#[test]
fn a_member_that_is_gone_is_a_stranger() {
    let room = talked();
    room.write("small.toml", TEAM.split("[[member]]\nname = \"eva\"").next().unwrap());
    let left = room.exits(1, &["replay", "talk", "--team", "small.toml", "--json"]);
    let record = &left.json()[0];
    let kinds: Vec<_> = record["differences"].as_array().unwrap().iter().collect();
    assert!(kinds.iter().any(|one| one["kind"] == "stranger"), "{record}");
    let text = kinds[0]["text"].as_str().unwrap_or_default();
    assert!(text.contains("eva does not sit at the table"), "{text}");
}

#[test]
fn a_table_that_would_go_on_now_is_told() {
    let limits = |turns: u32| format!("[limits]\nturns = {turns}\n{TEAM}");
    let room = Room::new(&limits(1));
    room.exits(3, &["run", "hello", "--session", "talk"]);
    room.exits(0, &["replay", "talk"]);
    room.write("tertulia.toml", &limits(9));
    let left = room.exits(1, &["replay", "talk"]);
    assert!(
        left.stdout.contains("the log ends here; now it would go on with eva's turn is started")
    );
    assert!(
        left.stderr.contains("1 turn, 1 difference. The recorded decisions are kept"),
        "{}",
        left.stderr
    );
    let record = &room.exits(1, &["replay", "talk", "--json"]).json()[0];
    assert_eq!(record["differences"][0]["kind"], "ending");
}

#[test]
fn a_log_that_ends_with_a_message_nobody_has_heard_yet_is_no_difference() {
    let room = talked();
    let log = room.exits(0, &["sessions", "export", "talk"]).stdout;
    let lines: Vec<&str> = log.lines().collect();
    let asked = lines.iter().rposition(|line| line.contains("once more")).unwrap();
    room.write("begun.jsonl", &lines[..=asked].join("\n"));
    room.exits(0, &["sessions", "import", "begun.jsonl", "--as", "begun"]);
    room.exits(0, &["replay", "begun"]);
}

#[test]
fn of_many_differences_the_first_are_told_and_that_there_may_be_more() {
    let room = Room::new(TEAM);
    let lines = "hello\n".repeat(55);
    room.tertulia_with(&["chat", "--session", "talk"], lines.as_bytes());
    room.write("other.toml", &format!("default = \"eva\"\n{TEAM}"));
    let left = room.exits(1, &["replay", "talk", "--team", "other.toml"]);
    assert!(left.stderr.contains("50 differences and perhaps more"), "{}", left.stderr);
}

#[test]
fn one_difference_is_told_as_one() {
    let room = Room::new(&TEAM.replace("@eva please look.", "Fine too."));
    room.exits(0, &["run", "hello", "--session", "talk"]);
    room.write("tertulia.toml", &format!("default = \"eva\"\n{TEAM}"));
    let left = room.exits(1, &["replay", "talk"]);
    assert!(
        left.stderr.contains("1 turn, 1 difference. The recorded decisions are kept"),
        "{}",
        left.stderr
    );
    let left = room.exits(0, &["run", "@eva hello", "--session", "talk"]);
    let told = "one past decision would differ with the current team file";
    assert!(left.stderr.contains(told), "{}", left.stderr);
}

#[test]
fn a_run_with_fewer_turns_is_replayed_with_as_many_and_the_next_one_with_all() {
    let room = Room::new(TEAM);
    room.exits(3, &["run", "hello", "--session", "talk", "--max-turns", "1"]);
    let shown = room.exits(0, &["sessions", "show", "talk"]).stdout;
    assert!(shown.contains("· the table stands in /"), "{shown}");
    assert!(shown.contains("· a person is asked after one turn"), "{shown}");
    room.exits(0, &["replay", "talk"]);
    let left = room.exits(0, &["run", "--continue"]);
    assert!(!left.stderr.contains("would differ"), "{}", left.stderr);
    room.exits(0, &["replay", "talk"]);
}
