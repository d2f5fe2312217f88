//! `tertulia why` and `tertulia context --member`: what the log tells about its decisions, and what a member
//! would get.

use crate::room::Room;

const TEAM: &str = "[[member]]\nname = \"ann\"\nkind = \"human\"\n\
    [[member]]\nname = \"max\"\nagent = \"script\"\nanswers = [\"Done.\"]\n\
    instruction = \"You are Max.\"\nwindow = 4\n\
    [[member]]\nname = \"eva\"\nagent = \"claude\"\ninstruction = \"You are Eva.\"\n";

fn talked() -> Room {
    let room = Room::new(TEAM);
    room.exits(0, &["run", "@max hello [NEXT: mex]", "--new", "talk", "--trust"]);
    room
}

fn id_of(room: &Room, kind: &str) -> String {
    let entries = room.entries();
    let entry = entries.iter().find(|entry| entry["type"] == kind).unwrap();
    entry["id"].as_str().unwrap().to_owned()
}

#[test]
fn a_message_tells_whom_it_queued_and_whom_not() {
    let room = talked();
    let message = id_of(&room, "message");
    let left = room.exits(0, &["why", &message]);
    assert!(left.stdout.contains("ann wrote @max in"), "{}", left.stdout);
    assert!(left.stdout.contains("'mex'"), "{}", left.stdout);
    let cut = &message[..message.len() - 3];
    assert_eq!(room.exits(0, &["why", cut, "--session", "tal"]).stdout, left.stdout);
}

#[test]
fn a_turn_tells_its_whole_story() {
    let room = talked();
    let turn = id_of(&room, "turn");
    let left = room.exits(0, &["why", &turn, "--json"]);
    let states: Vec<_> = left.json().iter().map(|line| line["state"].clone()).collect();
    assert_eq!(states, ["queued", "started", "done"]);
    assert_eq!(left.json()[0]["turn"], *turn);
    assert_eq!(left.json()[0]["kind"], "turn");
}

#[test]
fn an_answer_tells_the_story_of_its_turn() {
    let room = talked();
    let left = room.exits(0, &["why", "--json"]);
    let states: Vec<_> = left.json().iter().map(|line| line["state"].clone()).collect();
    assert_eq!(&states[..3], ["queued", "started", "done"]);
    let told = room.exits(0, &["why"]).stdout;
    assert!(told.lines().next().unwrap().contains("ann wrote @max in"), "{told}");
}

#[test]
fn a_message_tells_that_its_turn_has_failed() {
    let team = TEAM.replace("agent = \"claude\"", "agent = \"command\"\ncommand = [\"false\"]");
    let room = Room::new(&team);
    room.exits(1, &["run", "@eva hello", "--new", "talk", "--trust"]);
    let left = room.exits(0, &["why", "--json"]);
    let states: Vec<_> = left.json().iter().map(|line| line["state"].clone()).collect();
    assert!(
        states.starts_with(&["queued".into(), "started".into(), "failed".into()]),
        "{states:?}"
    );
}

#[test]
fn an_entry_that_is_not_there_or_not_alone_is_told() {
    let room = talked();
    let left = room.exits(1, &["why", "zzz"]);
    let hint = "no entry zzz in session talk; `tertulia sessions show talk --all";
    assert!(left.stderr.contains(hint), "{}", left.stderr);
    let left = room.exits(1, &["why", "e-"]);
    assert!(left.stderr.contains("Ambiguous ID \"e-\"; matches: e-"), "{}", left.stderr);
    assert!(room.exits(1, &["why", "e-", "--session", "x"]).stderr.contains("no session x"));
}

#[test]
fn a_member_gets_what_its_turn_would_begin_with_and_nothing_is_written() {
    let room = talked();
    let before = room.entries();
    let left = room.exits(0, &["context", "--member", "max", "--json"]);
    let record = &left.json()[0];
    assert_eq!(record["sessionId"], "talk");
    assert_eq!(record["keptContext"], 1);
    let prompt = record["prompt"].as_str().unwrap();
    assert!(prompt.contains("You are Max.") && prompt.contains("Done."), "{prompt}");
    assert_eq!(record["bytes"]["total"], prompt.len());
    assert_eq!(room.exits(0, &["context", "--member", "max"]).stdout, prompt);
    let table = room.exits(0, &["context", "--member", "max", "--explain"]).stdout;
    assert!(
        table.contains("max in session talk") && table.contains("covered by the summary"),
        "{table}"
    );
    // Claude's system text travels apart.
    let left = room.exits(0, &["context", "--member", "eva", "--session", "talk", "--json"]);
    let system = left.json()[0]["systemFlag"].as_str().unwrap().to_owned();
    assert!(system.starts_with("You are eva, a member of a team"), "{system}");
    assert!(system.ends_with("\n\nYou are Eva."), "{system}");
    assert_eq!(room.entries(), before);
}

#[test]
fn nothing_is_told_that_was_never_decided() {
    let room = Room::new(TEAM);
    for (id, text) in [("old", "hello @max"), ("lost", "hello [NEXT: mex]")] {
        let log = crate::harness::said("m1", "user", text);
        let import = ["sessions", "import", "-", "--as", id];
        assert_eq!(room.tertulia_with(&import, log.as_bytes()).code, Some(0));
        let left = room.exits(0, &["why", "m1", "--session", id]);
        assert_eq!(left.stdout, "");
        assert!(left.stderr.contains("nothing was decided because of m1"), "{}", left.stderr);
    }
    // What a table did not find anybody for, it did decide about.
    room.exits(3, &["run", "hello [NEXT: mex]", "--new", "new", "--trust"]);
    let left = room.exits(0, &["why", &id_of(&room, "message"), "--session", "new"]);
    assert!(left.stdout.contains("'mex'"), "{}", left.stdout);
}

#[test]
fn another_team_changes_nothing_in_what_was_decided() {
    let room = talked();
    let message = id_of(&room, "message");
    room.write("tertulia.toml", &TEAM.replace("\"max\"", "\"tom\""));
    let left = room.exits(0, &["why", &message]);
    assert!(left.stdout.contains("max's turn") && !left.stdout.contains("tom"), "{}", left.stdout);
    assert!(left.stderr.contains("`tertulia replay talk` shows how"), "{}", left.stderr);
    let left = room.exits(0, &["why", &message, "--team", "tertulia.toml"]);
    let replay = "`tertulia replay talk --team tertulia.toml` shows how";
    assert!(left.stderr.contains(replay), "{}", left.stderr);
}

#[test]
fn a_person_gets_no_prompt_and_an_own_message_is_told() {
    let room = talked();
    let left = room.exits(2, &["context", "--member", "ann"]);
    assert!(left.stderr.contains("ann is a person and gets no prompt"), "{}", left.stderr);
    assert!(left.stderr.contains("name an agent: max, eva"), "{}", left.stderr);
    let left = room.exits(0, &["context", "--member", "max", "--explain"]);
    assert!(left.stderr.contains("the latest message is max's own"), "{}", left.stderr);
    assert!(left.stdout.contains("     1  message word for word"), "{}", left.stdout);
    assert_eq!(room.exits(0, &["context", "--member", "eva", "--explain"]).stderr, "");
}

#[test]
fn every_message_of_a_members_window_has_a_verdict() {
    let room = talked();
    let table = room.exits(0, &["context", "--member", "eva", "--explain"]).stdout;
    let rows = |word: &str| table.lines().filter(|line| line.ends_with(word)).count();
    assert_eq!((rows("in the context"), rows("the message to answer")), (1, 1), "{table}");
    let record = room.exits(0, &["context", "--member", "eva", "--json"]).stdout;
    let record: serde_json::Value = serde_json::from_str(&record).unwrap();
    let verdicts = record["verdicts"].as_array().unwrap();
    let words: Vec<_> = verdicts.iter().map(|one| one["section"].as_str().unwrap()).collect();
    assert_eq!(words, ["context", "message"], "{record}");
    let bytes: u64 = verdicts.iter().map(|one| one["bytes"].as_u64().unwrap()).sum();
    assert!(bytes < record["bytes"]["total"].as_u64().unwrap(), "{record}");
}

#[test]
fn a_type_has_the_budget_that_a_member_of_it_has() {
    let room = talked();
    let table = |arguments: &[&str]| {
        let words = [&["context", "--session", "talk", "--explain"], arguments].concat();
        room.exits(0, &words).stdout.lines().next().unwrap().to_owned()
    };
    let member = room.exits(0, &["context", "--member", "eva", "--json"]).json();
    assert_eq!(member[0]["budgetBytes"], 360_000);
    for (name, budget) in [
        ("claude", " of 360,000 bytes"),
        ("codex", " of 489,600 bytes"),
        ("gemini", " of 786,432 bytes"),
        ("plain", " of 786,432 bytes"),
    ] {
        assert!(table(&["--type", name]).contains(budget), "{}", table(&["--type", name]));
    }
    let given = table(&["--type", "claude", "--budget", "64KiB"]);
    assert!(given.contains(" of 65,536 bytes"), "{given}");
}

/// Entries that name a member, a file and a marker, and so many that a summary and recalled passages stand for some.
fn said_often(count: usize) -> String {
    let line = |number: usize| {
        let text = format!(
            "We decided that part {number} is done by @eva in src/part_{number}.rs.\n[NEXT: cod] Go on."
        );
        crate::harness::said(&format!("m{number}"), "user", &text)
    };
    let last = crate::harness::said("last", "user", "What was decided about src/part_7.rs, @eva?");
    (0..count).map(line).chain([last]).collect::<Vec<_>>().join("\n")
}

#[test]
fn a_type_gets_what_a_member_of_it_gets() {
    let member =
        |name: &str, agent: &str| format!("[[member]]\nname = \"{name}\"\nagent = \"{agent}\"\n");
    let team = [member("eva", "claude"), member("cod", "codex"), member("gem", "gemini")].concat();
    let room = Room::new(&format!("[[member]]\nname = \"ann\"\nkind = \"human\"\n{team}"));
    for count in [1, 30, 90] {
        let session = format!("s{count}");
        let import = ["sessions", "import", "-", "--as", &session];
        assert_eq!(room.tertulia_with(&import, said_often(count).as_bytes()).code, Some(0));
        for (name, agent, context) in [
            ("eva", "claude", "[CONTEXT]\n"),
            ("cod", "codex", "[CONTEXT]\n"),
            ("gem", "gemini", "Conversation so far:\n"),
        ] {
            let of = |arguments: &[&str]| {
                let words = [&["context", "--session", &session, "--json"], arguments].concat();
                room.exits(0, &words).json().remove(0)
            };
            let (member, of_type) = (of(&["--member", name]), of(&["--type", agent, "--explain"]));
            for field in ["verdicts", "keptContext", "droppedContext"] {
                assert_eq!(member[field], of_type[field], "{field} of {name} in {session}");
            }
            let context_of = |record: &serde_json::Value| {
                let prompt = record["prompt"].as_str().unwrap();
                prompt[prompt.find(context).unwrap()..].to_owned()
            };
            assert_eq!(context_of(&member), context_of(&of_type), "{name} in {session}");
            assert_eq!(member["bytes"]["context"], of_type["sections"]["context"]);
            assert_eq!(count < 90, member["coveredByMinutes"] == 0, "{member}");
        }
    }
}

#[test]
fn a_member_that_is_not_there_is_refused() {
    let left = talked().exits(2, &["context", "--member", "mex"]);
    assert!(left.stderr.contains("did you mean max?"), "{}", left.stderr);
}

#[test]
fn a_long_session_is_carried_by_minutes_in_what_a_member_would_get() {
    let room = Room::new(TEAM);
    let mut log = String::new();
    for number in 0..80 {
        let text = format!("We decided that part {number} is done by Max.");
        log.push_str(&crate::harness::said(&format!("m{number}"), "user", &text));
        log.push('\n');
    }
    let imported = room.tertulia_with(&["sessions", "import", "-", "--as", "long"], log.as_bytes());
    assert_eq!(imported.code, Some(0), "{imported:?}");
    let left = room.exits(0, &["context", "--member", "max", "--session", "long", "--json"]);
    let record = &left.json()[0];
    assert!(record["coveredByMinutes"].as_u64().unwrap() > 30, "{record}");
    assert_eq!(room.entries().len(), 80);
}
