//! Tests `tertulia ask` and `/ask`: answers, the result, exit codes, wrong usage, events, and a session that another
//! process runs.

use serde_json::Value;

use crate::harness::repository_file;
use crate::workspace::{CommandOutput, Workspace, wait_until};

/// A person, three scripted members, one that fails, and a judge.
const TEAM: &str = r#"
[[member]]
name = "ann"
kind = "human"
[[member]]
name = "max"
agent = "script"
answers = ["Use an LRU."]
[[member]]
name = "eva"
agent = "script"
answers = ["Use an LRU, @max."]
[[member]]
name = "leo"
agent = "command"
command = ["sh", "-c", "cat >/dev/null; echo broken >&2; exit 3"]
[[member]]
name = "kim"
agent = "script"
answers = ["AGREED: use an LRU\nONLY A: a limit"]
"#;

fn ask(workspace: &Workspace, code: i32, words: &[&str]) -> CommandOutput {
    workspace.exits(code, &[&["ask", "Which cache?", "--trust"][..], words].concat())
}

/// Replaces IDs and labels, which are random.
fn without_ids(text: &str) -> String {
    let word = |word: &str| {
        let bare = word.trim_matches(|c: char| !c.is_alphanumeric() && c != '-');
        match bare.strip_prefix("e-") {
            Some(_) => word.replace(bare, "e-"),
            None if matches!(word, "(A)" | "(B)" | "(C)") => "(?)".to_owned(),
            None => word.to_owned(),
        }
    };
    let line = |line: &str| line.split(' ').map(word).collect::<Vec<_>>().join(" ");
    text.lines().map(line).collect::<Vec<_>>().join("\n")
}

fn result_of(stdout: &str) -> String {
    stdout.find("Result of ").map_or_else(String::new, |at| without_ids(stdout[at..].trim_end()))
}

#[test]
fn answers_come_first_and_then_the_result_with_links() {
    let workspace = Workspace::new(TEAM);
    let output = ask(&workspace, 0, &["--members", "max,eva,leo", "--judge", "kim"]);
    assert!(output.stdout.contains("max:\nUse an LRU.\n"), "{}", output.stdout);
    let result = result_of(&output.stdout);
    let lines: Vec<&str> = result.lines().collect();
    assert_eq!(lines[0], "Result of e-: 2 of 3 members answered; kim compared them in e-");
    assert_eq!(lines[1], "  agreed        use an LRU  (max, eva: e-, e-)");
    assert!(lines[2].starts_with("  only ") && lines[2].contains("a limit  (e-)"), "{result}");
    assert_eq!(lines[3], "  answers       max (?) e- · eva (?) e-");
    assert_eq!(lines[4], "  no answer     leo could not answer (crash); turn e-");
    // The answer of eva addresses nobody.
    assert!(output.stderr.contains("so it addresses nobody else; ignored @max"), "{output:?}");
    let question = output.stdout.split("Result of ").nth(1).unwrap();
    let question = question.split(':').next().unwrap();
    let why = workspace.exits(0, &["why", question]);
    assert!(why.stdout.contains("ann asked several members in e-"), "{}", why.stdout);
    workspace.exits(0, &["replay"]);
}

#[test]
fn members_compare_the_answers_themselves_unless_they_need_not() {
    let workspace = Workspace::new(TEAM);
    let output = ask(&workspace, 0, &["--members", "max, kim", "--new", "one"]);
    let result = result_of(&output.stdout);
    assert!(result.contains("; compared by max in e-, kim in e-"), "{result}");
    assert!(result.contains("not read      max used none of the expected forms"), "{result}");
    let output = ask(&workspace, 0, &["--members", "max,eva", "--no-reactions", "--new", "two"]);
    let result = result_of(&output.stdout);
    assert!(result.starts_with("Result of e-: 2 of 2 members answered\n"), "{result}");
}

#[test]
fn too_few_answers_are_an_error_that_says_so() {
    let workspace = Workspace::new(TEAM);
    let output = ask(&workspace, 1, &["--members", "max,leo", "--judge", "kim"]);
    assert!(output.stderr.ends_with("only one member answered\n"), "{}", output.stderr);
    assert!(result_of(&output.stdout).contains("1 of 2 members answered; too few to compare"));
}

#[test]
fn wrong_usage_is_refused_before_anything_is_stored() {
    let workspace = Workspace::new(TEAM);
    let usage = "name at least two members";
    for (words, reason) in [
        (&["--members", "max,evva"][..], "nobody is called 'evva'; did you mean eva?"),
        (&["--members", "max"], "name at least two members; only max is named"),
        (&["--members", ","], usage),
        (&["--members", "max,max"], "max is named twice"),
        (&["--members", "max,ann"], "ann is a person; only agents can be asked this way"),
        (&["--members", "max,eva", "--judge", "zed"], "nobody is called 'zed'"),
        (
            &["--members", "max,eva", "--quorum", "3"],
            "a quorum of 3 cannot be reached by 2 members",
        ),
        (&["--members", "max,eva", "--quorum", "0"], "0 is not in 1.."),
        (&["--members", "max,eva", "--grace", "3"], "--quorum"),
        (&["--members", "max,eva", "--judge", "kim", "--no-reactions"], "cannot be used with"),
    ] {
        let output = ask(&workspace, 2, words);
        assert!(output.stderr.contains(reason), "{words:?}: {}", output.stderr);
    }
    let output = workspace.exits(2, &["ask", " ", "--members", "max,eva", "--trust"]);
    assert!(output.stderr.contains("the text is empty"), "{}", output.stderr);
    assert_eq!(workspace.exits(0, &["sessions", "list", "--json"]).stdout.trim(), "");
}

#[test]
fn events_end_with_the_result_and_the_exit_code() {
    let workspace = Workspace::new(TEAM);
    let output = ask(&workspace, 0, &["--members", "max,eva,leo", "--judge", "kim", "--json"]);
    let events = output.json();
    let [.., result, end] = events.as_slice() else { panic!("{events:?}") };
    assert_eq!((&result["type"], &end["type"]), (&Value::from("ask"), &Value::from("end")));
    assert_eq!(result["isComplete"], true);
    assert_eq!(result["comparison"]["judge"], "kim");
    assert_eq!(result["missing"][0]["errorClass"], "crash");
    assert_eq!(result["findings"][0]["kind"], "agreed");
    let entries = workspace.entries();
    let exists = |id: &Value| entries.iter().any(|entry| entry["id"] == *id);
    let answers = result["findings"][0]["answers"].as_array().unwrap();
    assert!(answers.len() == 2 && answers.iter().all(|answer| exists(&answer["entry"])));
    let output = workspace.tertulia(&["ask", "Which?", "--json"]);
    assert_eq!((output.code, output.json()[0]["exitCode"].clone()), (Some(2), Value::from(2)));
}

#[test]
fn all_means_all_agents_and_a_message_to_all_asks_them_too() {
    let workspace = Workspace::new(TEAM);
    let output = ask(&workspace, 0, &["--members", "all", "--no-reactions", "--new", "one"]);
    assert!(result_of(&output.stdout).contains("3 of 4 members answered"), "{}", output.stdout);
    let output = workspace.exits(0, &["run", "Which cache, @all?", "--new", "two"]);
    assert!(result_of(&output.stdout).contains("3 of 4 members answered"), "{}", output.stdout);
}

#[test]
fn the_chat_shows_the_result_and_shows_it_again() {
    let workspace = Workspace::new(TEAM);
    let typed = b"/ask max, eva --judge kim: Which cache?\n/ask\n/ask max: Which?\n/ask max\n";
    let output = workspace.tertulia_with(&["chat", "--trust"], typed);
    let shown = format!("{}{}", output.stdout, output.stderr);
    let plain = without_ids(&shown);
    let headline = "Result of e-: 2 of 2 members answered; kim compared them in e-";
    assert_eq!(plain.matches(headline).count(), 2, "{shown}");
    assert!(shown.contains("name at least two members; only max is named"), "{shown}");
    assert!(shown.contains("usage: /ask NAME,NAME"), "{shown}");
}

#[test]
fn a_question_joins_the_process_that_runs_the_session() {
    let team = TEAM.replace(
        "cat >/dev/null; echo broken >&2; exit 3",
        "cat >/dev/null; touch begun; until test -e go; do sleep 0.05; done; echo Done.",
    );
    let workspace = Workspace::new(&team);
    workspace.exits(0, &["run", "[DROP: max]", "--new", "talk", "--trust"]);
    let first = workspace.start(&["run", "@leo one", "--session", "talk"]);
    wait_until("the first turn", || workspace.path("begun").exists());
    let words = ["ask", "Which: a\nor b?", "--members", "max,eva", "--judge", "kim"];
    let second = workspace.start(&[&words[..], &["--session", "talk"]].concat());
    wait_until("the question", || workspace.said().iter().any(|(_, text)| text.contains("or b?")));
    workspace.write("go", "");
    for run in [first, second] {
        let output = CommandOutput::wait(run);
        assert_eq!(output.code, Some(0), "{output:?}");
        assert!(result_of(&output.stdout).contains("2 of 2 members answered"), "{output:?}");
    }
    assert!(workspace.said().contains(&("ann".to_owned(), "Which: a\nor b?".to_owned())));
}

#[test]
fn the_page_about_asks_shows_the_real_result() {
    let page = std::fs::read_to_string(repository_file("docs/ask.md")).unwrap();
    let block = |opening: &str| {
        let (_, rest) = page.split_once(&format!("```{opening}\n")).unwrap();
        rest.split_once("\n```").unwrap().0.to_owned()
    };
    let workspace = Workspace::new(&block("toml"));
    let words = ["--members", "max,eva", "--judge", "kim"];
    let output = workspace.exits(0, &[&["ask", "Which cache do we need?"][..], &words].concat());
    assert_eq!(result_of(&output.stdout), without_ids(&block("text")));
}
