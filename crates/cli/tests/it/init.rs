//! `tertulia init`, `completions` and `man`.

use crate::workspace::Workspace;

fn with_agents() -> Workspace {
    let workspace = Workspace::empty();
    workspace.program("claude", "echo '9.8.7 (Claude Code)'");
    workspace.program("codex", "echo 'codex-cli 0.1.2'");
    workspace
}

#[test]
fn the_agents_of_this_machine_are_found_and_written() {
    let workspace = with_agents();
    let output = workspace.exits(0, &["init"]);
    assert_eq!(output.stdout, "");
    assert!(output.stderr.contains("claude: 9.8.7 at "), "{}", output.stderr);
    assert!(output.stderr.contains("gemini: not found"), "{}", output.stderr);
    assert!(output.stderr.contains("claude: author: designs"), "{}", output.stderr);
    assert!(output.stderr.contains("codex: reviewer: looks"), "{}", output.stderr);
    // It suggests a first task that uses both of them.
    let task =
        "`tertulia run '@claude suggest one small improvement to this project, then ask codex";
    assert!(output.stderr.contains(task), "{}", output.stderr);
    let file = std::fs::read_to_string(workspace.path("tertulia.toml")).unwrap();
    assert!(file.contains("agent = \"claude\"") && file.contains("agent = \"codex\""), "{file}");
    assert!(!file.contains("agent = \"gemini\""), "{file}");
    for role in ["role = \"author: ", "role = \"reviewer: "] {
        assert_eq!(file.matches(role).count(), 1, "{file}");
    }
    // The written file can be used without a trust question.
    let output = workspace.exits(0, &["run", "@scribe We decided to ship."]);
    assert!(output.stdout.starts_with("scribe:\n"), "{}", output.stdout);
}

#[test]
fn a_file_that_is_there_is_replaced_only_by_force() {
    let workspace = with_agents();
    workspace.write("tertulia.toml", "mine");
    let output = workspace.exits(1, &["init"]);
    assert!(output.stderr.contains("already exists; --force replaces it"), "{}", output.stderr);
    assert!(!output.stderr.contains("name another"), "{}", output.stderr);
    assert_eq!(std::fs::read_to_string(workspace.path("tertulia.toml")).unwrap(), "mine");
    workspace.exits(0, &["init", "--force"]);
    assert_ne!(std::fs::read_to_string(workspace.path("tertulia.toml")).unwrap(), "mine");
}

#[test]
fn a_file_can_be_printed_and_none_is_written() {
    let workspace = Workspace::empty();
    let output = workspace.exits(0, &["init", "--print"]);
    assert!(output.stdout.contains("name = \"scribe\""), "{}", output.stdout);
    assert!(!workspace.path("tertulia.toml").exists());
}

#[test]
fn shells_get_what_they_need() {
    let workspace = Workspace::empty();
    for shell in ["bash", "zsh", "fish", "powershell", "elvish"] {
        let output = workspace.exits(0, &["completions", shell]);
        assert!(output.stdout.contains("tertulia"), "{shell}");
    }
    workspace.exits(2, &["completions", "tcsh"]);
}

#[test]
fn the_manual_is_a_page_or_a_folder_of_pages() {
    let workspace = Workspace::empty();
    let output = workspace.exits(0, &["man"]);
    assert!(output.stdout.contains(".TH"), "{}", output.stdout);
    workspace.exits(0, &["man", "--out", "pages"]);
    for page in ["tertulia.1", "tertulia-run.1", "tertulia-sessions-list.1"] {
        assert!(workspace.path("pages").join(page).is_file(), "{page}");
    }
    let page = std::fs::read_to_string(workspace.path("pages/tertulia-run.1")).unwrap();
    assert!(page.contains("\n.SH EXAMPLES\n.nf\n  tertulia run "), "{page}");
    let synopsis = page.split_once(".SH SYNOPSIS\n").unwrap().1.split_once("\n.SH").unwrap().0;
    for option in [
        r"[\fB\-\-as\fR \fINAME\fR]",
        r"[\fB\-\-max\-turns\fR \fIN\fR]",
        r"[\fB\-\-json\fR]",
        r"[\fITEXT\fR]",
    ] {
        assert!(synopsis.contains(option), "{option} is not in {synopsis}");
    }
}
