//! `tertulia why` and `tertulia context --member`: the decisions in the log, and the prompt that a member would get.

use crate::workspace::Workspace;

const TEAM: &str = "[[member]]\nname = \"ann\"\nkind = \"human\"\n\
    [[member]]\nname = \"max\"\nagent = \"script\"\nanswers = [\"Done.\"]\n\
    instruction = \"You are Max.\"\nwindow = 4\n\
    [[member]]\nname = \"eva\"\nagent = \"claude\"\ninstruction = \"You are Eva.\"\n";

fn talked() -> Workspace {
    let workspace = Workspace::new(TEAM);
    workspace.exits(0, &["run", "@max hello [NEXT: mex]", "--new", "talk", "--trust"]);
    workspace
}

fn id_of(workspace: &Workspace, kind: &str) -> String {
    let entries = workspace.entries();
    let entry = entries.iter().find(|entry| entry["type"] == kind).unwrap();
    entry["id"].as_str().unwrap().to_owned()
}

#[test]
fn the_explanation_of_a_message_says_who_was_queued_and_who_was_not() {
    let workspace = talked();
    let message = id_of(&workspace, "message");
    let output = workspace.exits(0, &["why", &message]);
    assert!(output.stdout.contains("ann wrote @max in"), "{}", output.stdout);
    assert!(output.stdout.contains("'mex'"), "{}", output.stdout);
    let cut = &message[..message.len() - 3];
    assert_eq!(workspace.exits(0, &["why", cut, "--session", "tal"]).stdout, output.stdout);
}

#[test]
fn the_explanation_of_a_turn_is_its_full_history() {
    let workspace = talked();
    let turn = id_of(&workspace, "turn");
    let output = workspace.exits(0, &["why", &turn, "--json"]);
    let states: Vec<_> = output.json().iter().map(|line| line["state"].clone()).collect();
    assert_eq!(states, ["queued", "started", "done"]);
    assert_eq!(output.json()[0]["turn"], *turn);
    assert_eq!(output.json()[0]["kind"], "turn");
}

#[test]
fn the_explanation_of_an_answer_is_the_history_of_its_turn() {
    let workspace = talked();
    let output = workspace.exits(0, &["why", "--json"]);
    let states: Vec<_> = output.json().iter().map(|line| line["state"].clone()).collect();
    assert_eq!(&states[..3], ["queued", "started", "done"]);
    let reported = workspace.exits(0, &["why"]).stdout;
    assert!(reported.lines().next().unwrap().contains("ann wrote @max in"), "{reported}");
}

#[test]
fn the_explanation_of_a_message_says_that_its_turn_failed() {
    let team = TEAM.replace("agent = \"claude\"", "agent = \"command\"\ncommand = [\"false\"]");
    let workspace = Workspace::new(&team);
    workspace.exits(1, &["run", "@eva hello", "--new", "talk", "--trust"]);
    let output = workspace.exits(0, &["why", "--json"]);
    let states: Vec<_> = output.json().iter().map(|line| line["state"].clone()).collect();
    assert!(
        states.starts_with(&["queued".into(), "started".into(), "failed".into()]),
        "{states:?}"
    );
}

#[test]
fn an_entry_that_is_not_there_or_not_alone_is_reported() {
    let workspace = talked();
    let output = workspace.exits(1, &["why", "zzz"]);
    let hint = "no entry zzz in session talk; `tertulia sessions show talk --all";
    assert!(output.stderr.contains(hint), "{}", output.stderr);
    let output = workspace.exits(1, &["why", "e-"]);
    assert!(output.stderr.contains("Ambiguous ID \"e-\"; matches: e-"), "{}", output.stderr);
    assert!(workspace.exits(1, &["why", "e-", "--session", "x"]).stderr.contains("no session x"));
}

#[test]
fn a_member_gets_what_its_turn_would_begin_with_and_nothing_is_written() {
    let workspace = talked();
    let before = workspace.entries();
    let output = workspace.exits(0, &["context", "--member", "max", "--json"]);
    let record = &output.json()[0];
    assert_eq!(record["sessionId"], "talk");
    assert_eq!(record["keptContext"], 1);
    let prompt = record["prompt"].as_str().unwrap();
    assert!(prompt.contains("You are Max.") && prompt.contains("Done."), "{prompt}");
    assert_eq!(record["bytes"]["total"], prompt.len());
    assert_eq!(workspace.exits(0, &["context", "--member", "max"]).stdout, prompt);
    let table = workspace.exits(0, &["context", "--member", "max", "--explain"]).stdout;
    assert!(
        table.contains("max in session talk") && table.contains("covered by the summary"),
        "{table}"
    );
    // Claude gets its system text separately.
    let output = workspace.exits(0, &["context", "--member", "eva", "--session", "talk", "--json"]);
    let system = output.json()[0]["systemFlag"].as_str().unwrap().to_owned();
    assert!(system.starts_with("You are eva, a member of a team"), "{system}");
    assert!(system.ends_with("\n\nYou are Eva."), "{system}");
    assert_eq!(workspace.entries(), before);
}

#[test]
fn nothing_is_reported_that_was_never_decided() {
    let workspace = Workspace::new(TEAM);
    for (id, text) in [("old", "hello @max"), ("lost", "hello [NEXT: mex]")] {
        let log = crate::harness::said("m1", "user", text);
        let import = ["sessions", "import", "-", "--as", id];
        assert_eq!(workspace.tertulia_with(&import, log.as_bytes()).code, Some(0));
        let output = workspace.exits(0, &["why", "m1", "--session", id]);
        assert_eq!(output.stdout, "");
        assert!(output.stderr.contains("m1 caused no decision"), "{}", output.stderr);
    }
    // A message without an addressee has a decision, too.
    workspace.exits(3, &["run", "hello [NEXT: mex]", "--new", "new", "--trust"]);
    let output = workspace.exits(0, &["why", &id_of(&workspace, "message"), "--session", "new"]);
    assert!(output.stdout.contains("'mex'"), "{}", output.stdout);
}

#[test]
fn another_team_changes_nothing_in_what_was_decided() {
    let workspace = talked();
    let message = id_of(&workspace, "message");
    workspace.write("tertulia.toml", &TEAM.replace("\"max\"", "\"tom\""));
    let output = workspace.exits(0, &["why", &message]);
    assert!(
        output.stdout.contains("max's turn") && !output.stdout.contains("tom"),
        "{}",
        output.stdout
    );
    assert!(output.stderr.contains("`tertulia replay talk` shows how"), "{}", output.stderr);
    let output = workspace.exits(0, &["why", &message, "--team", "tertulia.toml"]);
    let replay = "`tertulia replay talk --team tertulia.toml` shows how";
    assert!(output.stderr.contains(replay), "{}", output.stderr);
}

#[test]
fn a_person_gets_no_prompt_and_an_own_message_is_reported() {
    let workspace = talked();
    let output = workspace.exits(2, &["context", "--member", "ann"]);
    assert!(output.stderr.contains("ann is a person and gets no prompt"), "{}", output.stderr);
    assert!(output.stderr.contains("name an agent: max, eva"), "{}", output.stderr);
    let output = workspace.exits(0, &["context", "--member", "max", "--explain"]);
    assert!(output.stderr.contains("the latest message is max's own"), "{}", output.stderr);
    assert!(output.stdout.contains("     1  message verbatim"), "{}", output.stdout);
    assert_eq!(workspace.exits(0, &["context", "--member", "eva", "--explain"]).stderr, "");
}

#[test]
fn every_message_of_a_members_window_has_a_verdict() {
    let workspace = talked();
    let table = workspace.exits(0, &["context", "--member", "eva", "--explain"]).stdout;
    let rows = |word: &str| table.lines().filter(|line| line.ends_with(word)).count();
    assert_eq!((rows("in the context"), rows("the message to answer")), (1, 1), "{table}");
    let record = workspace.exits(0, &["context", "--member", "eva", "--json"]).stdout;
    let record: serde_json::Value = serde_json::from_str(&record).unwrap();
    let verdicts = record["verdicts"].as_array().unwrap();
    let words: Vec<_> = verdicts.iter().map(|one| one["section"].as_str().unwrap()).collect();
    assert_eq!(words, ["context", "message"], "{record}");
    let bytes: u64 = verdicts.iter().map(|one| one["bytes"].as_u64().unwrap()).sum();
    assert!(bytes < record["bytes"]["total"].as_u64().unwrap(), "{record}");
}

#[test]
fn a_type_has_the_budget_that_a_member_of_it_has() {
    let workspace = talked();
    let table = |arguments: &[&str]| {
        let words = [&["context", "--session", "talk", "--explain"], arguments].concat();
        workspace.exits(0, &words).stdout.lines().next().unwrap().to_owned()
    };
    let member = workspace.exits(0, &["context", "--member", "eva", "--json"]).json();
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

/// Returns entries that name a member, a file and a marker. If there are many, a summary and recalled passages replace
/// some of them.
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
    let workspace =
        Workspace::new(&format!("[[member]]\nname = \"ann\"\nkind = \"human\"\n{team}"));
    for count in [1, 30, 90] {
        let session = format!("s{count}");
        let import = ["sessions", "import", "-", "--as", &session];
        assert_eq!(workspace.tertulia_with(&import, said_often(count).as_bytes()).code, Some(0));
        for (name, agent, context) in [
            ("eva", "claude", "[CONTEXT]\n"),
            ("cod", "codex", "[CONTEXT]\n"),
            ("gem", "gemini", "Conversation so far:\n"),
        ] {
            let of = |arguments: &[&str]| {
                let words = [&["context", "--session", &session, "--json"], arguments].concat();
                workspace.exits(0, &words).json().remove(0)
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
    let output = talked().exits(2, &["context", "--member", "mex"]);
    assert!(output.stderr.contains("did you mean max?"), "{}", output.stderr);
}

#[test]
fn a_member_of_a_long_session_would_get_a_summary() {
    let workspace = Workspace::new(TEAM);
    let mut log = String::new();
    for number in 0..80 {
        let text = format!("We decided that part {number} is done by Max.");
        log.push_str(&crate::harness::said(&format!("m{number}"), "user", &text));
        log.push('\n');
    }
    let imported =
        workspace.tertulia_with(&["sessions", "import", "-", "--as", "long"], log.as_bytes());
    assert_eq!(imported.code, Some(0), "{imported:?}");
    let output = workspace.exits(0, &["context", "--member", "max", "--session", "long", "--json"]);
    let record = &output.json()[0];
    assert!(record["coveredByMinutes"].as_u64().unwrap() > 30, "{record}");
    assert_eq!(workspace.entries().len(), 80);
}
