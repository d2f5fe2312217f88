//! Tests trust in the agent settings of a project: it applies to the content of all of them, for all kinds of
//! members.

use std::os::unix::fs::symlink;

use crate::workspace::Workspace;

/// A program that ends at once, even if it should use ACP.
const PROGRAM: &str = "echo started";

/// Returns a team of one program, for each kind of member.
fn teams() -> [String; 3] {
    let head = "[[member]]\nname = \"ann\"\nkind = \"human\"\n[[member]]\nname = \"max\"\n";
    [
        "agent = \"command\"\ncommand = [\"gemini\"]\n",
        "agent = \"acp\"\ncommand = [\"gemini\", \"--acp\"]\n",
        "agent = \"gemini\"\n",
    ]
    .map(|member| format!("{head}{member}"))
}

/// Returns a workspace with the person's own team file, which needs no trust.
fn own_room(team: &str) -> Workspace {
    let workspace = Workspace::empty();
    workspace.program("gemini", PROGRAM);
    let folder = workspace.root().join("home/.config/tertulia");
    std::fs::create_dir_all(&folder).unwrap();
    std::fs::write(folder.join("tertulia.toml"), team).unwrap();
    workspace
}

fn put(workspace: &Workspace, name: &str, text: &str) {
    let path = workspace.path(name);
    std::fs::create_dir_all(path.parent().unwrap()).unwrap();
    std::fs::write(path, text).unwrap();
}

/// Runs the team, which must be refused, and returns the message.
fn refused(workspace: &Workspace) -> String {
    let output = workspace.exits(2, &["run", "hello"]);
    assert!(!output.stdout.contains("started"), "{}", output.stdout);
    output.stderr
}

fn starts(workspace: &Workspace) {
    let output = workspace.tertulia(&["run", "hello"]);
    assert_ne!(output.code, Some(2), "{}", output.stderr);
}

fn trust(workspace: &Workspace) {
    let output = workspace.tertulia(&["run", "hello", "--trust"]);
    assert_ne!(output.code, Some(2), "{}", output.stderr);
}

#[test]
fn every_member_that_starts_a_program_is_asked_about_settings() {
    for team in teams() {
        let workspace = own_room(&team);
        starts(&workspace);
        put(&workspace, ".gemini/settings.json", "{}");
        let reported = refused(&workspace);
        assert!(reported.contains(".gemini/settings.json"), "{reported}");
        let output = workspace.tertulia(&["doctor"]);
        assert!(
            (output.stdout + &output.stderr).contains("settings for agents that are not trusted")
        );
        trust(&workspace);
        starts(&workspace);
    }
}

#[test]
fn all_settings_count_and_a_change_of_any_is_asked_about_and_shown() {
    let workspace = own_room(&teams()[0]);
    put(&workspace, ".claude/hooks/deep/run.sh", "echo one\n");
    put(&workspace, ".mcp.json", "{\"servers\": {}}");
    put(&workspace, ".env", "CODEX_HOME=/one-secret\n");
    let reported = refused(&workspace);
    for name in [".claude/hooks/deep/run.sh", ".mcp.json", ".env"] {
        assert!(reported.contains(&format!("  {name} (")), "{reported}");
    }
    trust(&workspace);
    starts(&workspace);
    for (name, text, shown) in [
        (".claude/hooks/deep/run.sh", "echo two\n", "  + .claude/hooks/deep/run.sh: echo two\n"),
        (".mcp.json", "{\"servers\": {\"x\": 1}}", "  + .mcp.json: {\"servers\": {\"x\": 1}}\n"),
        (".env", "CODEX_HOME=/two-secret\n", "  + .env: CODEX_HOME (hidden, "),
        (".codex/config.toml", "mcp = 1\n", "  + .codex/config.toml: mcp = 1\n"),
        ("opencode.json", "{}", "  + opencode.json: {}\n"),
    ] {
        put(&workspace, name, text);
        let reported = refused(&workspace);
        assert!(reported.contains("have changed since you trusted them"), "{reported}");
        assert!(reported.contains(shown), "{shown:?} is not in:\n{reported}");
        assert!(!reported.contains("-secret"), "{reported}");
        trust(&workspace);
        starts(&workspace);
    }
}

#[test]
fn settings_are_asked_about_for_the_team_file_of_the_project_too_and_at_once() {
    let workspace = Workspace::new(&teams()[0]);
    workspace.program("gemini", PROGRAM);
    put(&workspace, ".gemini/settings.json", "{}");
    let reported = refused(&workspace);
    assert!(
        reported.contains("max starts gemini") && reported.contains(".gemini/settings.json"),
        "{reported}"
    );
    trust(&workspace);
    starts(&workspace);
    // New settings in a later version of the project cause a question.
    put(&workspace, ".gemini/settings.json", "{\"hooks\": 1}");
    let reported = refused(&workspace);
    assert!(!reported.contains("tertulia.toml"), "{reported}");
}

#[test]
fn settings_above_the_working_folder_count_up_to_the_repository() {
    let workspace = own_room(&teams()[0]);
    std::fs::create_dir_all(workspace.path("repo/.git")).unwrap();
    std::fs::create_dir_all(workspace.path("repo/sub")).unwrap();
    put(&workspace, ".claude/settings.json", "{}");
    let run = || {
        let mut command = workspace.command(&["run", "hello"]);
        command.current_dir(workspace.path("repo/sub")).output().unwrap().status.code()
    };
    assert_ne!(run(), Some(2), "those above the repository are nobody's matter");
    put(&workspace, "repo/.claude/settings.json", "{}");
    assert_eq!(run(), Some(2));
}

#[test]
fn a_link_to_settings_that_were_trusted_elsewhere_is_refused() {
    let workspace = own_room(&teams()[0]);
    std::fs::create_dir_all(workspace.root().join("good/.claude")).unwrap();
    std::fs::write(workspace.root().join("good/.claude/settings.json"), "{}").unwrap();
    symlink(workspace.root().join("good/.claude"), workspace.path(".claude")).unwrap();
    let reported = workspace.exits(2, &["run", "hello", "--trust"]).stderr;
    assert!(
        reported.contains(".claude links to a file outside")
            && reported.contains("replace the link"),
        "{reported}"
    );
    std::fs::remove_file(workspace.path(".claude")).unwrap();
    put(&workspace, ".gemini/settings.json", "{}");
    symlink("/etc/passwd", workspace.path(".gemini/more")).unwrap();
    let reported = workspace.exits(2, &["run", "hello", "--trust"]).stderr;
    assert!(reported.contains(".gemini/more links to a file outside"), "{reported}");
    // A link that stays inside the settings leads to trusted content, too.
    std::fs::remove_file(workspace.path(".gemini/more")).unwrap();
    symlink("../.gemini/settings.json", workspace.path(".gemini/more")).unwrap();
    trust(&workspace);
    starts(&workspace);
}

#[test]
fn too_many_settings_and_such_that_are_no_files_are_refused() {
    let workspace = own_room(&teams()[0]);
    std::fs::create_dir(workspace.path(".claude")).unwrap();
    for number in 0..5001 {
        std::fs::write(workspace.path(&format!(".claude/{number}")), "").unwrap();
    }
    let reported = workspace.exits(2, &["run", "hello", "--trust"]).stderr;
    assert!(reported.contains("more settings than can be trusted"), "{reported}");
    std::fs::remove_dir_all(workspace.path(".claude")).unwrap();
    std::fs::create_dir(workspace.path(".claude")).unwrap();
    let pipe = workspace.path(".claude/pipe");
    let made = std::process::Command::new("mkfifo").arg(&pipe).status().unwrap();
    assert!(made.success());
    let reported = workspace.exits(2, &["run", "hello", "--trust"]).stderr;
    assert!(
        reported.contains(".claude/pipe, but it is not") && reported.contains("not a regular file"),
        "{reported}"
    );
}

#[test]
fn only_the_person_can_read_the_key_that_compares_hidden_values() {
    use std::os::unix::fs::PermissionsExt;
    let workspace = own_room(&teams()[0]);
    put(&workspace, ".env", "PIN=1234\n");
    trust(&workspace);
    let key = workspace.root().join("data/trust-key");
    let about = std::fs::metadata(&key).unwrap();
    assert_eq!((about.permissions().mode() & 0o777, about.len()), (0o600, 32));
}

#[test]
fn a_librarian_that_searches_all_projects_is_a_reason_for_trust() {
    let team = "[[member]]\nname = \"ann\"\nkind = \"human\"\n[[member]]\nname = \"lib\"\n\
                agent = \"librarian\"\n";
    Workspace::new(team).exits(0, &["run", "hello @lib"]);
    let reported =
        Workspace::new(&format!("{team}scope = \"all\"\n")).exits(2, &["run", "hello @lib"]).stderr;
    assert!(reported.contains("lib searches the sessions of all projects"), "{reported}");
}

#[test]
fn settings_that_a_member_changes_stop_the_next_program() {
    let workspace = Workspace::new(
        "[[member]]\nname = \"ann\"\nkind = \"human\"\n\
         [[member]]\nname = \"max\"\nagent = \"command\"\ncommand = [\"./max.sh\"]\n\
         [[member]]\nname = \"eva\"\nagent = \"command\"\ncommand = [\"./eva.sh\"]\n",
    );
    let script = "#!/bin/sh\ncat >/dev/null; mkdir -p .claude; echo '{}' >.claude/settings.json\n\
                  echo 'Done. @eva please look.'\n";
    crate::workspace::executable(&workspace.path("max.sh"), script);
    crate::workspace::executable(
        &workspace.path("eva.sh"),
        "#!/bin/sh\ntouch started; echo Fine.\n",
    );
    let output = workspace.tertulia(&["run", "@max change them", "--trust"]);
    assert_eq!(output.code, Some(1), "{}", output.stderr);
    assert!(output.stderr.contains("have changed since you trusted them"), "{}", output.stderr);
    assert!(!workspace.path("started").exists());
    assert!(refused(&workspace).contains(".claude/settings.json"));
}

#[test]
fn a_link_to_what_is_not_read_is_refused() {
    let workspace = own_room(&teams()[0]);
    put(&workspace, ".claude/worktrees/x.json", "{}");
    symlink(".claude/worktrees/x.json", workspace.path(".mcp.json")).unwrap();
    assert!(refused(&workspace).contains(".mcp.json"));
}

#[test]
fn hooks_of_other_agents_and_variables_of_other_files_count() {
    for name in [".github/hooks/pre.json", ".env.local", "bunfig.toml"] {
        let workspace = own_room(&teams()[0]);
        starts(&workspace);
        put(&workspace, name, "preload = 1\n");
        assert!(refused(&workspace).contains(name));
    }
}
