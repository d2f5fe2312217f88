//! `tertulia run` in a session that another process runs.

use std::process::Child;

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
    for words in [&["run", "two"][..], &["run", "--continue"]] {
        let arguments = [words, &["--session", "talk", "--store", &store, "--trust"]].concat();
        // With another data folder, it looks for the socket in another place.
        let mut command = workspace.command(&arguments);
        command.env("TERTULIA_HOME", workspace.root().join("other"));
        let output = command.output().unwrap();
        let stderr = String::from_utf8(output.stderr).unwrap();
        assert_eq!(output.status.code(), Some(1), "{stderr}");
        let reported = "nothing was stored, because another process uses or has changed this \
            session; close it there, or try again";
        assert!(stderr.contains(reported), "{stderr}");
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
