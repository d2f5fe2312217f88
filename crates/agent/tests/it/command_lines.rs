//! The exact command line of each agent. A script takes the place of the program and records its arguments, its
//! prompt and the content of its files.

use tertulia_agent::{
    AgentKind, AgentSpec, CancelToken, CommandOutput, Permissions, TurnRequest, agents, run,
};

use crate::fake_agent::{FakeAgent, RecordingListener, request};

/// Records what the script received.
const SCRIBE: &str = r#"
for arg in "$@"; do printf '%s\n' "$arg"; done >"$OUT/args"
cat >"$OUT/prompt"
env | sed 's/=.*//' | sort >"$OUT/names"
printf '%s\n' "$TMPDIR" >"$OUT/tmpdir"
while [ $# -gt 0 ]; do
  [ "$1" = --append-system-prompt-file ] && { cp "$2" "$OUT/system"; ls -ld "$(dirname "$2")" >"$OUT/mode"; }
  [ "$1" = -p ] && [ -n "$CODEX_HOME" ] && cp "$CODEX_HOME/$2.config.toml" "$OUT/profile"
  shift
done
"#;

fn note_args(fake_agent: &FakeAgent, spec: &AgentSpec, request: &TurnRequest<'_>) -> Vec<String> {
    run(spec, request, &CancelToken::new(), &mut RecordingListener::default());
    fake_agent.note("args").lines().map(str::to_owned).collect()
}

fn check(kind: &AgentKind, permissions: Permissions, model: Option<&str>, expected: &str) {
    let fake_agent = FakeAgent::new(SCRIBE);
    let mut spec = fake_agent.spec(kind.clone());
    spec.permissions = permissions;
    spec.model = model.map(Into::into);
    spec.env.insert("IS_SANDBOX".into(), "1".into());
    assert_eq!(note_args(&fake_agent, &spec, &request("go")).join(" "), expected);
}

#[test]
fn claude() {
    let base = "-p --output-format stream-json --verbose --include-partial-messages";
    let kind = AgentKind::Cli(agents::CLAUDE);
    let read =
        format!("{base} --disallowedTools Edit,Write,NotebookEdit --permission-mode default");
    check(&kind, Permissions::Read, None, &read);
    let edit = format!("{base} --model opus --permission-mode acceptEdits");
    check(&kind, Permissions::Edit, Some("opus"), &edit);
    let full = format!("{base} --permission-mode bypassPermissions");
    check(&kind, Permissions::Full, None, &full);
}

#[test]
fn codex() {
    let base = "exec --json --skip-git-repo-check --sandbox";
    let quiet = "-c features.unbounded_connection_retries=false";
    let kind = AgentKind::Cli(agents::CODEX);
    check(&kind, Permissions::Read, None, &format!("{base} read-only {quiet} -"));
    let edit = format!("{base} workspace-write {quiet} -m gpt-x -");
    check(&kind, Permissions::Edit, Some("gpt-x"), &edit);
    check(&kind, Permissions::Full, None, &format!("{base} danger-full-access {quiet} -"));
}

#[test]
fn gemini() {
    let base = "--skip-trust -o stream-json --approval-mode";
    let kind = AgentKind::Cli(agents::GEMINI);
    check(&kind, Permissions::Read, None, &format!("{base} default"));
    check(&kind, Permissions::Edit, Some("g-3"), &format!("{base} auto_edit -m g-3"));
    check(&kind, Permissions::Full, None, &format!("{base} yolo"));
}

#[test]
fn opencode() {
    let base = "run --format json --title tertulia";
    let kind = AgentKind::Cli(agents::OPENCODE);
    check(&kind, Permissions::Read, None, base);
    check(&kind, Permissions::Edit, Some("a/b"), &format!("{base} --model a/b"));
    check(&kind, Permissions::Full, None, &format!("{base} --auto"));
}

#[test]
fn copilot() {
    let base = "--output-format json --stream on --no-color --no-auto-update --no-ask-user";
    let kind = AgentKind::Cli(agents::COPILOT);
    let read = format!("{base} --deny-tool=shell --deny-tool=write");
    check(&kind, Permissions::Read, None, &read);
    let edit = format!("{base} --allow-tool=write --model gpt-x");
    check(&kind, Permissions::Edit, Some("gpt-x"), &edit);
    check(&kind, Permissions::Full, None, &format!("{base} --allow-all"));
}

#[test]
fn pi() {
    let base = "--mode json --print";
    let kind = AgentKind::Cli(agents::PI);
    check(&kind, Permissions::Read, None, &format!("{base} --tools read,grep,find,ls"));
    let edit = format!("{base} --model a/b --tools read,grep,find,ls,edit,write");
    check(&kind, Permissions::Edit, Some("a/b"), &edit);
    check(&kind, Permissions::Full, None, base);
}

#[test]
fn a_command_has_its_own_arguments_only() {
    check(&AgentKind::Command(CommandOutput::Text), Permissions::Full, Some("m"), "");
}

#[test]
fn claude_s_system_text_comes_in_a_file_that_nobody_else_reads_and_that_goes_with_the_turn() {
    let fake_agent = FakeAgent::new(SCRIBE);
    let spec = fake_agent.spec(AgentKind::Cli(agents::CLAUDE));
    let system = "You are Max.\n@notes.md \"é\"\n".repeat(10_000);
    let request = TurnRequest { system: Some(&system), ..request("read @a.txt, ann@b.org") };
    let args = note_args(&fake_agent, &spec, &request);
    let at = args.iter().position(|arg| arg == "--append-system-prompt-file").unwrap();
    assert_eq!(fake_agent.note("system"), system);
    assert_eq!(fake_agent.note("prompt"), r"read \@a.txt, ann@b.org");
    assert!(fake_agent.note("mode").starts_with("drwx------"), "{}", fake_agent.note("mode"));
    assert!(!std::path::Path::new(&args[at + 1]).exists());
}

#[test]
fn a_prompt_is_no_command_of_claude_s_or_gemini_s() {
    for kind in [AgentKind::Cli(agents::CLAUDE), AgentKind::Cli(agents::GEMINI)] {
        let fake_agent = FakeAgent::new(SCRIBE);
        note_args(&fake_agent, &fake_agent.spec(kind), &request("/compact @b"));
        assert_eq!(fake_agent.note("prompt"), r"\/compact \@b");
    }
    let fake_agent = FakeAgent::new(SCRIBE);
    note_args(
        &fake_agent,
        &fake_agent.spec(AgentKind::Cli(agents::CODEX)),
        &request("/compact @b"),
    );
    assert_eq!(fake_agent.note("prompt"), "/compact @b");
}

#[test]
fn codex_s_system_text_is_an_argument_while_it_is_short() {
    let fake_agent = FakeAgent::new(SCRIBE);
    let spec = fake_agent.spec(AgentKind::Cli(agents::CODEX));
    let request = TurnRequest { system: Some("You are \"Max\".\nBe\tbrief."), ..request("go") };
    let args = note_args(&fake_agent, &spec, &request);
    let expected = r#"developer_instructions="You are \"Max\".\nBe\tbrief.""#;
    assert_eq!(args.iter().filter(|arg| *arg == expected).count(), 1);
    assert_eq!(fake_agent.note("prompt"), "go");
}

#[test]
fn codex_s_long_system_text_is_a_profile_that_goes_with_the_turn() {
    let fake_agent = FakeAgent::new(SCRIBE);
    let mut spec = fake_agent.spec(AgentKind::Cli(agents::CODEX));
    let home = tempfile::tempdir().unwrap();
    spec.env.insert("CODEX_HOME".into(), home.path().to_str().unwrap().into());
    let system = "Be brief.\n".repeat(20_000);
    let request = TurnRequest { system: Some(&system), ..request("go") };
    let args = note_args(&fake_agent, &spec, &request);
    assert!(args.iter().all(|arg| arg.len() < 200));
    let setting = format!("developer_instructions=\"{}\"\n", system.replace('\n', "\\n"));
    assert_eq!(fake_agent.note("profile"), setting);
    assert_eq!(fake_agent.note("prompt"), "go");
    assert_eq!(std::fs::read_dir(home.path()).unwrap().count(), 0);
}

#[test]
fn codex_s_long_system_text_comes_before_the_prompt_where_no_profile_can_be_written() {
    let system = "Be brief.\n".repeat(20_000);
    let request = TurnRequest { system: Some(&system), ..request("go") };
    let home = tempfile::tempdir().unwrap();
    for (folder, arg) in
        [("/nowhere", None), (home.path().to_str().unwrap(), Some("--profile=mine"))]
    {
        let fake_agent = FakeAgent::new(SCRIBE);
        let mut spec = fake_agent.spec(AgentKind::Cli(agents::CODEX));
        spec.env.insert("CODEX_HOME".into(), folder.into());
        spec.args.extend(arg.map(Into::into));
        note_args(&fake_agent, &spec, &request);
        assert_eq!(fake_agent.note("prompt"), format!("{system}\n\ngo"));
    }
}

#[test]
fn gemini_s_system_text_comes_before_the_prompt_and_its_folder_is_removed_after_the_turn() {
    let fake_agent =
        FakeAgent::new(&format!("echo x >\"$TMPDIR/gemini-client-error-1.json\"\n{SCRIBE}"));
    let spec = fake_agent.spec(AgentKind::Cli(agents::GEMINI));
    let request = TurnRequest { system: Some("You are Eva."), ..request("hi") };
    note_args(&fake_agent, &spec, &request);
    assert_eq!(fake_agent.note("prompt"), "You are Eva.\n\nhi");
    let folder = fake_agent.note("tmpdir");
    assert!(folder.contains("tertulia-"), "{folder}");
    assert!(!std::path::Path::new(folder.trim()).exists());
}

#[test]
fn no_argument_is_a_message() {
    let flag = "--dangerously-skip-permissions";
    for kind in [
        AgentKind::Cli(agents::CLAUDE),
        AgentKind::Cli(agents::CODEX),
        AgentKind::Cli(agents::GEMINI),
    ] {
        let fake_agent = FakeAgent::new(SCRIBE);
        let args = note_args(&fake_agent, &fake_agent.spec(kind), &request(flag));
        assert!(!args.iter().any(|arg| arg.contains(flag)));
        assert_eq!(fake_agent.note("prompt"), flag);
    }
}
