//! Sessions belong to projects: lists, searches and `latest` show those of the project where the command runs.

use crate::workspace::{CommandOutput, Workspace};

/// Runs a command in a folder beside the workspace's own, which is another project.
fn there(workspace: &Workspace, arguments: &[&str]) -> CommandOutput {
    let other = workspace.root().join("other");
    std::fs::create_dir_all(&other).unwrap();
    let output = workspace.command(arguments).current_dir(other).output().unwrap();
    CommandOutput {
        code: output.status.code(),
        stdout: String::from_utf8(output.stdout).unwrap(),
        stderr: String::from_utf8(output.stderr).unwrap(),
    }
}

/// Returns a workspace with a session in each of two projects.
fn two_projects() -> Workspace {
    let workspace = Workspace::empty();
    workspace.exits(0, &["run", "--new", "mine", "@scribe The price of Initech is 48213."]);
    let output =
        there(&workspace, &["run", "--new", "theirs", "@scribe The price of Globex is 59371."]);
    assert_eq!(output.code, Some(0), "{}", output.stderr);
    workspace
}

#[test]
fn a_list_shows_the_sessions_of_this_project_and_says_that_there_are_more() {
    let workspace = two_projects();
    let output = workspace.exits(0, &["sessions", "list"]);
    assert!(
        output.stdout.contains("mine") && !output.stdout.contains("theirs"),
        "{}",
        output.stdout
    );
    assert!(
        output.stderr.contains("1 more in other projects; --all shows them"),
        "{}",
        output.stderr
    );
    let output = workspace.exits(0, &["sessions", "list", "--all"]);
    assert!(
        output.stdout.contains("mine") && output.stdout.contains("theirs"),
        "{}",
        output.stdout
    );
    assert!(
        output.stdout.contains("project") && output.stdout.contains("/other"),
        "{}",
        output.stdout
    );
    assert_eq!(output.stderr, "");
    let json = workspace.exits(0, &["sessions", "list", "--json"]).json();
    assert_eq!(json.len(), 1);
    let work = workspace.path("").canonicalize().unwrap();
    assert_eq!(json[0]["project"].as_str(), work.to_str());
}

#[test]
fn a_search_finds_what_was_said_in_this_project() {
    let workspace = two_projects();
    let output = workspace.exits(0, &["sessions", "search", "price"]);
    assert!(
        output.stdout.contains("Initech") && !output.stdout.contains("Globex"),
        "{}",
        output.stdout
    );
    assert!(output.stderr.contains("matches in other projects; --all"), "{}", output.stderr);
    let output = workspace.exits(0, &["sessions", "search", "price", "--all"]);
    assert!(
        output.stdout.contains("Initech") && output.stdout.contains("Globex"),
        "{}",
        output.stdout
    );
    let output = workspace.exits(0, &["sessions", "search", "Globex", "--session", "theirs"]);
    assert!(output.stdout.contains("Globex"), "{}", output.stdout);
}

#[test]
fn latest_is_of_this_project_and_a_name_is_found_everywhere() {
    let workspace = two_projects();
    for given in
        [&["sessions", "show"][..], &["sessions", "show", "-"], &["sessions", "show", "latest"]]
    {
        let output = workspace.exits(0, given);
        assert!(
            output.stdout.contains("Initech") && !output.stdout.contains("Globex"),
            "{}",
            output.stdout
        );
    }
    let output = workspace.exits(0, &["sessions", "show", "theirs"]);
    assert!(output.stdout.contains("Globex"), "{}", output.stdout);
    assert!(output.stderr.contains("theirs belongs to another project: /"), "{}", output.stderr);
    workspace.exits(0, &["sessions", "delete", "mine", "--yes"]);
    let output = workspace.exits(1, &["sessions", "show", "latest"]);
    assert!(output.stderr.contains("sessions list --all"), "{}", output.stderr);
}

#[test]
fn the_words_of_one_project_never_enter_the_prompt_of_another() {
    let workspace = two_projects();
    let team = "[[member]]\nname = \"ann\"\nkind = \"human\"\n[[member]]\nname = \"librarian\"\n\
                agent = \"librarian\"\n[[member]]\nname = \"max\"\nagent = \"command\"\n\
                command = [\"sh\", \"-c\", \"cat >> prompts; echo '@librarian price of Globex?'\"]\n";
    workspace.write("tertulia.toml", team);
    workspace.tertulia(&["run", "@max go on", "--trust", "--new", "talk", "--max-turns", "4"]);
    let prompts = std::fs::read_to_string(workspace.path("prompts")).unwrap();
    assert!(prompts.contains("go on") && !prompts.contains("59371"), "{prompts}");
    let said = workspace.exits(0, &["sessions", "show", "talk"]).stdout;
    assert!(said.contains("48213") || said.contains("No past session of this project"), "{said}");
    assert!(!said.contains("59371"), "{said}");
}

#[test]
fn what_is_imported_belongs_to_the_project_where_it_is_imported() {
    let workspace = Workspace::empty();
    let log = crate::harness::said("m1", "user", "hello?");
    workspace.tertulia_with(&["sessions", "import", "-", "--as", "old"], log.as_bytes());
    assert!(workspace.exits(0, &["sessions", "list"]).stdout.contains("old"));
    let output = there(&workspace, &["sessions", "list"]);
    assert!(!output.stdout.contains("old"), "{}", output.stdout);
    assert!(output.stderr.contains("no sessions of this project yet"), "{}", output.stderr);
}
