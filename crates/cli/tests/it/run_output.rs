//! Tests the output of `tertulia run`: no control sequences for people, and events for programs.

use crate::harness::{tertulia, tertulia_on_terminal};
use crate::workspace::Workspace;

/// Sequences in a hostile answer: cursor movements, titles, clipboards, modes, queries, and ways to hide them.
const SEQUENCES: [&str; 40] = [
    "\x1b[2J",
    "\x1b[H",
    "\x1b[31m",
    "\x1b[1;1H",
    "\x1b[?1049h",
    "\x1b[?25l",
    "\x1b[6n",
    "\x1b[c",
    "\x1b[>c",
    "\x1b[5n",
    "\x1b]0;t\x07",
    "\x1b]0;t\x1b\\",
    "\x1b]2;t\x07",
    "\x1b]52;c;eA==\x07",
    "\x1b]8;;http://x\x07l\x1b]8;;\x07",
    "\x1b]1337;File=x\x07",
    "\x1b]9;n\x07",
    "\x1b]777;notify;a;b\x07",
    "\x1bP+q544e\x1b\\",
    "\x1bPq#0\x1b\\",
    "\x1b_Gf=1\x1b\\",
    "\x1b^p\x1b\\",
    "\x1bX\x1b\\",
    "\x1bc",
    "\x1b7",
    "\x1b8",
    "\x1bM",
    "\x1b(0",
    "\x1b#8",
    "\x1b[?1000h",
    "\x1b[?2004h",
    "\x1b[20t",
    "\u{9b}2J",
    "\u{9d}0;t\u{9c}",
    "\u{90}q\u{9c}",
    "\x08\x08\x08",
    "\r over",
    "\x07",
    "\x7f\x0e\x0f",
    "\u{202e}txt.exe",
];

#[test]
fn no_control_sequence_of_an_answer_reaches_a_terminal() {
    let folder = tempfile::tempdir().unwrap();
    let team = folder.path().join("team.toml");
    for (index, sequence) in SEQUENCES.iter().enumerate() {
        let answer = serde_json::to_string(&format!("a{sequence}b")).unwrap();
        let answer = answer.replace('\u{7f}', "\\u007F");
        let mut written = String::new();
        for c in answer.chars() {
            match u32::from(c) {
                code @ 0x80..0xa0 => written.push_str(&format!("\\u00{code:02X}")),
                _ => written.push(c),
            }
        }
        let text =
            format!("[[member]]\nname = \"max\"\nagent = \"script\"\nanswers = [{written}]\n");
        std::fs::write(&team, text).unwrap();
        let (team, store) = (team.to_str().unwrap(), "memory");
        let arguments = ["run", "hello", "--team", team, "--store", store];
        let shown = tertulia_on_terminal(&arguments, "");
        assert!(shown.exits_with(0), "{index}: {}", shown.stderr);
        for text in [&shown.stdout, &shown.stderr] {
            let hidden =
                |c: char| (c.is_control() && c != '\n') || ('\u{202a}'..='\u{202e}').contains(&c);
            assert!(!text.contains(hidden), "{index}: {text:?}");
        }
        // In a pipe, every byte is unchanged.
        let piped = tertulia(&arguments, "");
        assert_eq!(piped.stdout, format!("max:\na{sequence}b\n"), "{index}");
    }
}

#[test]
fn events_are_one_json_object_per_line_and_the_last_one_is_the_end() {
    let workspace = Workspace::new(
        "[[member]]\nname = \"ann\"\nkind = \"human\"\n\
         [[member]]\nname = \"max\"\nagent = \"script\"\nanswers = [\"Yes. [NEXT: nobody]\"]\n",
    );
    let output = workspace.exits(3, &["run", "hello", "--json", "--new", "talk"]);
    let events = output.json();
    let types: Vec<&str> = events.iter().map(|event| event["type"].as_str().unwrap()).collect();
    assert_eq!(
        types,
        [
            "session", "stored", "stored", "stored", "stored", "fed", "text", "textEnd", "stored",
            "stored", "note", "asked", "end"
        ]
    );
    assert_eq!(events[0].to_string(), r#"{"isNew":true,"sessionId":"talk","type":"session"}"#);
    assert_eq!(events[1]["entry"]["payload"]["kind"], "folder");
    assert_eq!(events[2]["entry"]["payload"]["parts"][0]["payload"]["text"], "hello");
    assert_eq!(events[3]["entry"]["payload"]["state"], "queued");
    assert_eq!(events[6]["text"], "Yes. [NEXT: nobody]");
    assert_eq!(events[6]["member"], "max");
    assert_eq!(events[6]["turn"], events[3]["entry"]["id"]);
    let end = &events[12]["pause"];
    assert_eq!((&end["why"], &end["question"]["why"]), (&"asked".into(), &"unresolved".into()));
    assert_eq!(end["question"]["to"], "ann");
    assert_eq!(events[12]["exitCode"], 3);
    assert!(events[12]["error"].as_str().unwrap().contains("was sent to nobody"), "{}", events[12]);
    assert_eq!(end["question"]["entries"][0], events[8]["entry"]["id"]);
    // Notes for people are not printed.
    assert_eq!(output.stderr.lines().filter(|line| line.contains("working")).count(), 0);
    let entries: Vec<_> = events.iter().filter(|event| event["type"] == "stored").collect();
    let stored = workspace.entries();
    assert_eq!(entries.len() + 1, stored.len(), "all but the header");
    for (event, entry) in entries.iter().zip(&stored[1..]) {
        assert_eq!(event["entry"], *entry);
    }
}

#[test]
fn a_run_that_fails_early_ends_with_an_event_too() {
    let team = "[[member]]\nname = \"max\"\nagent = \"script\"\nanswers = [\"Hi.\"]\n";
    let workspace = Workspace::new(team);
    workspace.write("broken.toml", "[[member]]\nname = \"max\"\nagent = \"clod\"\n");
    workspace
        .write("sessions.db", "this is no database, and long enough to be seen as none at all");
    for (code, arguments, word) in [
        (2, &["hello", "--team", "broken.toml"][..], "broken.toml:3:"),
        (2, &["hello", "--member", "mex"], "did you mean max?"),
        (1, &["hello", "--store", "sqlite:sessions.db"], "sessions.db"),
        (2, &[], "nothing to send"),
        (1, &["--continue"], "there are no sessions yet"),
        (2, &["hello", "--bogus"], "unexpected argument '--bogus' found"),
        (2, &["hello", "--max-turns", "none"], "invalid value 'none'"),
        (2, &["hello", "again"], "unexpected argument 'again' found"),
    ] {
        let output = workspace.exits(code, &[&["run", "--json"], arguments].concat());
        let events = output.json();
        assert_eq!(events.len(), 1, "{output:?}");
        assert_eq!((&events[0]["type"], &events[0]["exitCode"]), (&"end".into(), &code.into()));
        assert_eq!(events[0]["pause"]["why"], "failed");
        let error = events[0]["error"].as_str().unwrap();
        assert!(error.contains(word), "{error}");
        assert!(output.stderr.contains(word), "people see it too: {}", output.stderr);
    }
    let output = workspace.exits(0, &["run", "--json", "hello"]);
    let end = output.json().pop().unwrap();
    assert_eq!((&end["exitCode"], end.get("error")), (&0.into(), None));
    let output = workspace.exits(1, &["run", "--json", "--continue", "--repeat", "zzz"]);
    let ends = output.json().iter().filter(|event| event["type"] == "end").count();
    assert_eq!((ends, &output.json().last().unwrap()["exitCode"]), (1, &1.into()));
}
