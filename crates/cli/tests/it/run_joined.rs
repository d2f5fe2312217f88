//! `tertulia run` in a session that another process runs.

use std::io::{BufRead, BufReader, Write};
use std::os::unix::net::UnixListener;
use std::process::Child;

use tertulia_store::{SessionId, SessionStore, StoreUrl};
use tertulia_team::wire::{HostMessage, VERSION};

use crate::workspace::{CommandOutput, Workspace, signal, wait_until};

/// Returns a workspace with an agent that answers when there is a file `go`, and a run that waits for it.
fn busy() -> (Workspace, Child) {
    let team = "[[member]]\nname = \"ann\"\nkind = \"human\"\n\
        [[member]]\nname = \"max\"\nagent = \"command\"\n\
        command = [\"sh\", \"-c\", \"cat >/dev/null; touch begun; until test -e go; do sleep 0.05; done; echo Done.\"]\n";
    let workspace = Workspace::new(team);
    workspace.exits(0, &["run", "[DROP: max]", "--new", "talk", "--trust"]);
    let first = workspace.start(&["run", "one", "--session", "talk"]);
    wait_until("the first turn", || workspace.path("begun").exists());
    (workspace, first)
}

fn talk(workspace: &Workspace) -> Vec<String> {
    let said = |(who, text): &(String, String)| format!("{who}: {text}");
    workspace.said().iter().map(said).collect()
}

#[test]
fn a_second_program_that_cannot_reach_the_first_is_refused_and_stores_nothing() {
    let (workspace, first) = busy();
    let store = format!("sqlite:{}", workspace.root().join("data/sessions.db").display());
    // Both at once, because each tries for a while.
    let others = [&["run", "two"][..], &["run", "--continue"]].map(|words| {
        let arguments = [words, &["--session", "talk", "--store", &store, "--trust"]].concat();
        // With another data folder, it looks for the socket in another place.
        let mut command = workspace.command(&arguments);
        command.env("TERTULIA_HOME", workspace.root().join("other")).spawn().unwrap()
    });
    for other in others {
        let output = CommandOutput::wait(other);
        assert_eq!(output.code, Some(1), "{output:?}");
        let reported = "nothing was stored, because another process uses or has changed this \
            session; close it there, or try again";
        assert!(output.stderr.contains(reported), "{output:?}");
    }
    // Commands that only read do not disturb it.
    workspace.exits(0, &["context", "--member", "max", "--session", "talk"]);
    workspace.write("go", "");
    let output = CommandOutput::wait(first);
    assert_eq!((output.code, &*output.stdout), (Some(0), "max:\nDone.\n"), "{output:?}");
    assert_eq!(talk(&workspace), ["ann: [DROP: max]", "ann: one", "max: Done.\n"]);
}

#[test]
fn a_second_program_joins_the_first_and_both_print_the_answers() {
    let (workspace, first) = busy();
    let second = workspace.start(&["run", "two", "--session", "talk"]);
    wait_until("the second message", || talk(&workspace).contains(&"ann: two".to_owned()));
    workspace.write("go", "");
    for run in [first, second] {
        let output = CommandOutput::wait(run);
        assert_eq!(output.code, Some(0), "{output:?}");
        assert_eq!(output.stdout, "max:\nDone.\n\nmax:\nDone.\n", "{output:?}");
    }
    let expected = ["ann: [DROP: max]", "ann: one", "ann: two", "max: Done.\n", "max: Done.\n"];
    assert_eq!(talk(&workspace), expected);
}

#[test]
fn a_run_that_is_interrupted_only_leaves() {
    let (workspace, first) = busy();
    let second = workspace.start(&["run", "two", "--session", "talk"]);
    wait_until("the second message", || talk(&workspace).contains(&"ann: two".to_owned()));
    signal("-INT", second.id());
    let output = CommandOutput::wait(second);
    assert_eq!(output.code, Some(130), "{output:?}");
    assert!(output.stderr.contains("the process that runs it continues"), "{output:?}");
    workspace.write("go", "");
    let output = CommandOutput::wait(first);
    assert_eq!((output.code, &*output.stdout), (Some(0), "max:\nDone.\n\nmax:\nDone.\n"));
}

#[test]
fn a_run_whose_host_is_killed_says_how_to_continue() {
    let (workspace, first) = busy();
    let second = workspace.start(&["run", "two", "--session", "talk"]);
    wait_until("the second message", || talk(&workspace).contains(&"ann: two".to_owned()));
    signal("-KILL", first.id());
    CommandOutput::wait(first);
    let output = CommandOutput::wait(second);
    assert_eq!(output.code, Some(3), "{output:?}");
    assert!(output.stderr.contains("has ended during a turn; `tertulia run"), "{output:?}");
    workspace.write("go", "");
    let output = workspace.tertulia(&["run", "--continue", "--session", "talk"]);
    assert!(output.stdout.ends_with("max:\nDone.\n"), "{output:?}");
    let two = talk(&workspace).iter().filter(|said| *said == "ann: two").count();
    assert_eq!(two, 1);
}

#[test]
fn of_many_runs_at_once_each_succeeds_and_every_message_is_stored_once() {
    let team = "[[member]]\nname = \"ann\"\nkind = \"human\"\n\
        [[member]]\nname = \"max\"\nagent = \"script\"\nscript_file = \"script.jsonl\"\n";
    let workspace = Workspace::new(team);
    // It answers at once, so runs start and end all the time.
    workspace.write("script.jsonl", &"\"Done.\"\n".repeat(3));
    workspace.exits(0, &["run", "[DROP: max]", "--new", "talk", "--trust"]);
    let mut texts = Vec::new();
    for round in 0..6 {
        let said: Vec<String> = (0..12).map(|run| format!("@max {round} {run}")).collect();
        let start = |text: &String| workspace.start(&["run", text, "--session", "talk"]);
        let runs: Vec<Child> = said.iter().map(start).collect();
        for run in runs {
            let output = CommandOutput::wait(run);
            assert_eq!(output.code, Some(0), "{output:?}");
        }
        texts.extend(said);
    }
    let mut stored: Vec<String> = talk(&workspace)
        .iter()
        .filter_map(|said| said.strip_prefix("ann: @").map(|text| format!("@{text}")))
        .collect();
    stored.sort();
    texts.sort();
    assert_eq!(stored, texts);
}

#[test]
fn a_message_that_a_killed_process_had_stored_is_not_stored_again() {
    let (workspace, first) = busy();
    let sockets = std::fs::read_dir(workspace.root().join("data/run")).unwrap();
    let sockets: Vec<_> = sockets.map(|one| one.unwrap().path()).collect();
    let [socket] = &sockets[..] else { panic!("{sockets:?}") };
    workspace.write("go", "");
    CommandOutput::wait(first);
    // This test takes the place of the process that runs the session.
    let id: SessionId = workspace.session().parse().unwrap();
    let url = StoreUrl::Sqlite(workspace.root().join("data/sessions.db"));
    let store = SessionStore::open(&url).unwrap();
    let lock = store.lock_session(&id).unwrap().unwrap();
    let listener = UnixListener::bind(socket).unwrap();
    let second = workspace.start(&["run", "two", "--session", "talk"]);
    let (mut stream, _) = listener.accept().unwrap();
    let mut lines = BufReader::new(stream.try_clone().unwrap()).lines();
    let hello = lines.next().unwrap().unwrap();
    assert!(hello.contains("hello"), "{hello}");
    let welcome = HostMessage::Welcome {
        version: VERSION,
        session: id.as_str().into(),
        process: std::process::id(),
        tail: store.info(&id).unwrap().tail,
        running: Vec::new(),
    };
    writeln!(stream, "{}", welcome.to_line()).unwrap();
    let request = lines.next().unwrap().unwrap();
    assert!(request.contains("say") && request.contains("two"), "{request}");
    // It stores the message and ends without a word.
    drop((lock, listener));
    std::fs::remove_file(socket).unwrap();
    workspace.exits(0, &["run", "two", "--session", "talk"]);
    drop((lines, stream));
    let output = CommandOutput::wait(second);
    assert_eq!(output.code, Some(3), "{output:?}");
    assert!(output.stderr.contains("has ended during a turn; `tertulia run"), "{output:?}");
    assert_eq!(talk(&workspace).iter().filter(|said| *said == "ann: two").count(), 1);
}
