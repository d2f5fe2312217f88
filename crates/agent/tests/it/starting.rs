//! An agent that cannot be started causes an error with its reason and advice.

use std::os::unix::fs::PermissionsExt;

use tertulia_agent::{
    AgentKind, AgentSpec, CommandOutput, Containment, Ended, Permissions, agents,
};

use crate::fake_agent::{FakeAgent, answer, executable, failure, play};

fn text(fake_agent: &FakeAgent) -> AgentSpec {
    fake_agent.spec(AgentKind::Command(CommandOutput::Text))
}

fn check(spec: &AgentSpec, words: &[&str]) {
    let report = play(spec, "go");
    let (class, message) = failure(&report);
    assert_eq!(class, "setup", "{message}");
    for word in words {
        assert!(message.contains(word), "{message}");
    }
    assert_eq!(report.containment, Containment::None);
    assert_eq!((report.ended, report.orphans_killed), (Ended::ByItself, 0));
}

#[test]
fn a_program_that_is_not_there() {
    let fake_agent = FakeAgent::new("");
    let mut spec = fake_agent.spec(AgentKind::Cli(agents::CLAUDE));
    spec.program = None;
    spec.env.insert("PATH".into(), "/nowhere/bin:/nowhere/sbin".into());
    check(&spec, &["\"claude\"", "/nowhere/bin:/nowhere/sbin", "install Claude Code (npm"]);
    spec.program = Some("./nobody".into());
    check(&spec, &["work/nobody does not exist", "correct `command`"]);
}

#[test]
fn a_file_that_is_not_executable() {
    let fake_agent = FakeAgent::new("");
    let mut spec = text(&fake_agent);
    let path = spec.cwd.join("bot");
    std::fs::write(&path, "#!/bin/sh\necho hi\n").unwrap();
    spec.program = Some("./bot".into());
    check(&spec, &["bot is not executable", "chmod +x"]);
    std::fs::set_permissions(&path, std::fs::Permissions::from_mode(0o755)).unwrap();
    spec.program = Some(spec.cwd.to_str().unwrap().into());
    check(&spec, &["is not executable"]);
}

#[test]
fn a_script_whose_interpreter_is_missing() {
    let fake_agent = FakeAgent::new("");
    let mut spec = text(&fake_agent);
    let path = spec.cwd.join("bot");
    executable(&path, "#!/nowhere/interpreter\n");
    spec.program = Some("./bot".into());
    let report = play(&spec, "go");
    assert_eq!(failure(&report).0, "setup", "{report:?}");
}

#[test]
fn a_folder_that_is_not_there() {
    let fake_agent = FakeAgent::new("echo hi");
    let mut spec = text(&fake_agent);
    spec.cwd.push("missing");
    check(&spec, &["work/missing does not exist", "correct `cwd`"]);
}

#[test]
fn the_folder_is_where_the_agent_works() {
    let fake_agent = FakeAgent::new("pwd; echo \"$PWD\"");
    let spec = text(&fake_agent);
    let folder = spec.cwd.canonicalize().unwrap();
    let report = play(&spec, "go");
    assert_eq!(answer(&report), format!("{0}\n{0}\n", folder.display()));
}

#[test]
fn a_command_without_a_program() {
    let fake_agent = FakeAgent::new("");
    let mut spec = text(&fake_agent);
    spec.program = None;
    check(&spec, &["no program is named", "set `command`"]);
}

#[test]
fn an_argument_beyond_the_limit_is_refused_and_one_at_the_limit_arrives() {
    let fake_agent = FakeAgent::new("printf %s \"$1\" >\"$OUT/arg\"; echo ok");
    let mut spec = text(&fake_agent);
    spec.args.push("x".repeat(131_072).into());
    check(&spec, &["argument 1 of", "131072 bytes", "131071"]);
    let arg = "x".repeat(131_071);
    spec.args.pop();
    spec.args.push(arg.as_str().into());
    assert_eq!(answer(&play(&spec, "go")), "ok\n");
    assert_eq!(fake_agent.note("arg"), arg);
}

#[test]
fn a_zero_byte_in_an_argument_is_refused() {
    let fake_agent = FakeAgent::new("");
    let mut spec = text(&fake_agent);
    spec.args.push("a\0b".into());
    check(&spec, &["NUL byte"]);
}

#[test]
fn a_model_that_looks_like_a_flag_is_refused() {
    let fake_agent = FakeAgent::new("");
    for kind in [
        AgentKind::Cli(agents::CLAUDE),
        AgentKind::Cli(agents::CODEX),
        AgentKind::Cli(agents::GEMINI),
    ] {
        let mut spec = fake_agent.spec(kind);
        spec.model = Some("--dangerously-skip-permissions".into());
        check(&spec, &["is not the name of a model"]);
    }
}

#[test]
fn claude_with_full_permissions_as_root_says_what_to_do() {
    let fake_agent = FakeAgent::new("exit 1");
    let mut spec = fake_agent.spec(AgentKind::Cli(agents::CLAUDE));
    spec.permissions = Permissions::Full;
    if rustix::process::geteuid().is_root() {
        check(&spec, &["as root", "IS_SANDBOX", "permissions = \"edit\""]);
        spec.env.insert("IS_SANDBOX".into(), "1".into());
    }
    assert_eq!(failure(&play(&spec, "go")).0, "crash");
}
