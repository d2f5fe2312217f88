//! `tertulia replay`: the same log gives the same decisions, and another team is noticed.

use crate::room::Room;

const TEAM: &str = "[[member]]\nname = \"ann\"\nkind = \"human\"\n\
    [[member]]\nname = \"max\"\nagent = \"script\"\nanswers = [\"@eva please look.\"]\n\
    [[member]]\nname = \"eva\"\nagent = \"script\"\nanswers = [\"Fine.\"]\n";

fn talked() -> Room {
    let room = Room::new(TEAM);
    room.exits(0, &["run", "hello", "--new", "talk"]);
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
    assert!(left.stderr.contains("the recorded decisions are kept"), "{}", left.stderr);
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
    assert!(text.contains("eva is not in the team"), "{text}");
}

#[test]
fn a_table_that_would_go_on_now_is_told() {
    let limits = |turns: u32| format!("[limits]\nturns = {turns}\n{TEAM}");
    let room = Room::new(&limits(1));
    room.exits(3, &["run", "hello", "--new", "talk"]);
    room.exits(0, &["replay", "talk"]);
    room.write("tertulia.toml", &limits(9));
    let left = room.exits(1, &["replay", "talk"]);
    assert!(left.stdout.contains("the current team would continue with eva's turn is started"));
    assert!(
        left.stderr.contains("1 turn, 1 difference; the recorded decisions are kept"),
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
    room.tertulia_with(&["chat", "--new", "talk"], lines.as_bytes());
    room.write("other.toml", &format!("default = \"eva\"\n{TEAM}"));
    let left = room.exits(1, &["replay", "talk", "--team", "other.toml"]);
    assert!(left.stderr.contains("50 differences and perhaps more"), "{}", left.stderr);
}

#[test]
fn one_difference_is_told_as_one() {
    let room = Room::new(&TEAM.replace("@eva please look.", "Fine too."));
    room.exits(0, &["run", "hello", "--new", "talk"]);
    room.write("tertulia.toml", &format!("default = \"eva\"\n{TEAM}"));
    let left = room.exits(1, &["replay", "talk"]);
    assert!(
        left.stderr.contains("1 turn, 1 difference; the recorded decisions are kept"),
        "{}",
        left.stderr
    );
    let left = room.exits(0, &["run", "@eva hello", "--session", "talk"]);
    let told = "1 past decision would differ with the current team file";
    assert!(left.stderr.contains(told), "{}", left.stderr);
}

#[test]
fn a_run_with_fewer_turns_is_replayed_with_as_many_and_the_next_one_with_all() {
    let room = Room::new(TEAM);
    room.exits(3, &["run", "hello", "--new", "talk", "--max-turns", "1"]);
    let shown = room.exits(0, &["sessions", "show", "talk", "--all"]).stdout;
    assert!(shown.contains("· project folder: /"), "{shown}");
    assert!(shown.contains("· a person is asked after one turn"), "{shown}");
    room.exits(0, &["replay", "talk"]);
    let left = room.exits(0, &["run", "--continue"]);
    assert!(!left.stderr.contains("would differ"), "{}", left.stderr);
    room.exits(0, &["replay", "talk"]);
}

#[test]
fn after_a_redaction_no_decision_differs() {
    let room = talked();
    for text in ["once more", "please look", "Fine."] {
        let said = |entry: &&serde_json::Value| {
            entry["type"] == "message" && entry["payload"].to_string().contains(text)
        };
        let log = room.exits(0, &["sessions", "export", "talk"]).json();
        let id = log.iter().find(said).expect(text)["id"].as_str().unwrap().to_owned();
        room.exits(0, &["sessions", "redact", "talk", &id]);
        let left = room.exits(0, &["replay", "talk"]);
        assert!(left.stderr.contains(" redacted; decisions made for "), "{}", left.stderr);
        let record = &room.exits(0, &["replay", "talk", "--json"]).json()[0];
        assert!(record["unchecked"].as_array().unwrap().contains(&id.into()), "{record}");
    }
    let left = room.exits(0, &["run", "and now?", "--session", "talk"]);
    assert!(!left.stderr.contains("would differ"), "{}", left.stderr);
}

#[test]
fn after_the_redaction_of_a_turn_no_decision_differs() {
    for state in ["queued", "started", "done"] {
        let room = talked();
        let log = room.exits(0, &["sessions", "export", "talk"]).json();
        let is_turn = |entry: &&serde_json::Value| {
            entry["type"] == "turn" && entry["payload"]["state"] == state
        };
        let id = log.iter().find(is_turn).unwrap()["id"].as_str().unwrap().to_owned();
        room.exits(0, &["sessions", "redact", "talk", &id]);
        room.exits(0, &["replay", "talk"]);
        let left = room.exits(0, &["run", "and now?", "--session", "talk"]);
        assert!(!left.stderr.contains("would differ"), "{state}: {}", left.stderr);
        room.exits(0, &["replay", "talk"]);
    }
}

#[test]
fn of_an_imported_session_no_decision_differs() {
    let room = Room::new(TEAM);
    let said = |number: usize, role: &str, text: &str| {
        let payload = serde_json::json!({"role": role, "content": text});
        format!("{{\"id\":\"m{number}\",\"type\":\"message\",\"payload\":{payload}}}\n")
    };
    let log: String = (0..20)
        .map(|number| match number % 2 {
            0 => said(number, "user", "@max do it"),
            _ => said(number, "assistant", "@eva please look."),
        })
        .collect();
    room.write("old.jsonl", &log);
    room.exits(0, &["sessions", "import", "old.jsonl", "--as", "old"]);
    room.exits(0, &["replay", "old"]);
    let left = room.exits(0, &["run", "and now?", "--session", "old"]);
    assert!(!left.stderr.contains("would differ"), "{}", left.stderr);
    room.exits(0, &["replay", "old"]);
}

#[test]
fn a_fork_at_an_answer_interrupts_nobody_and_says_who_was_not_asked() {
    let room = talked();
    let log = room.exits(0, &["sessions", "export", "talk"]).json();
    let said = |entry: &&serde_json::Value| {
        entry["type"] == "message" && entry["payload"].to_string().contains("please look")
    };
    let id = log.iter().find(said).unwrap()["id"].as_str().unwrap();
    room.exits(0, &["sessions", "branch", "talk", id, "--into", "fork"]);
    let left = room.exits(0, &["chat", "--session", "fork"]);
    let told = "The last message is for eva. Nobody was asked in this session yet; /next eva asks.";
    assert!(left.stdout.contains(told), "{}", left.stdout);
    let left = room.exits(0, &["run", "@eva go", "--session", "fork"]);
    assert!(!left.stderr.contains("would differ") && !left.stderr.contains("interrupted"));
    room.exits(0, &["replay", "fork"]);
    let typed = format!("/fork {id}\n/next eva\n");
    let left = room.tertulia_with(&["chat", "--session", "talk"], typed.as_bytes());
    assert!(left.stdout.contains(told), "{}", left.stdout);
    assert!(left.stdout.contains("eva:\nFine."), "{}", left.stdout);
    assert!(!left.stdout.contains("interrupted"), "{}", left.stdout);
}
