//! An agent sees only the listed variables of our environment.

use tertulia_agent::{AgentKind, CancelToken, CommandOutput, agents, run};

use crate::fake_agent::{FakeAgent, RecordingListener, is_in_own_process, request};

const OURS: [(&str, &str); 16] = [
    ("PATH", "/usr/local/bin:/usr/bin:/bin"),
    ("HOME", "/nowhere"),
    ("LANG", "C.UTF-8"),
    ("LC_TIME", "C"),
    ("PGPASSWORD", "planted"),
    ("AWS_SECRET_ACCESS_KEY", "planted"),
    ("GITHUB_TOKEN", "planted"),
    ("LD_LIBRARY_PATH", "/nowhere"),
    ("NODE_OPTIONS", "--no-warnings"),
    ("TERTULIA_STORE", "planted"),
    ("CLAUDECODE", "1"),
    ("CLAUDE_CODE_SSE_PORT", "1"),
    ("ANTHROPIC_API_KEY", "invented"),
    ("CODEX_API_KEY", "invented"),
    ("GEMINI_API_KEY", "invented"),
    ("XDG_CONFIG_HOME", "/nowhere"),
];

fn check(kind: AgentKind, expected: &str) {
    let fake_agent =
        FakeAgent::new("env | sed -n 's/^\\([A-Za-z_]*\\)=.*/\\1/p' | sort >\"$OUT/names\"");
    run(
        &fake_agent.spec(kind),
        &request("go"),
        &CancelToken::new(),
        &mut RecordingListener::default(),
    );
    // A shell sets these variables itself.
    let own = ["_", "SHLVL", "OLDPWD"];
    let names = fake_agent.note("names");
    let names: Vec<_> = names.lines().filter(|name| !own.contains(name)).collect();
    assert_eq!(names.join(" "), expected);
}

#[test]
fn a_secret_of_ours_reaches_no_agent_and_each_sees_its_own_key() {
    let test = "environment::a_secret_of_ours_reaches_no_agent_and_each_sees_its_own_key";
    if !is_in_own_process(test, &OURS) {
        return;
    }
    check(
        AgentKind::Command(CommandOutput::Text),
        "HOME LANG LC_TIME OUT PATH PWD TERTULIA_TURN XDG_CONFIG_HOME",
    );
    check(
        AgentKind::Cli(agents::CLAUDE),
        "ANTHROPIC_API_KEY CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC HOME LANG LC_TIME OUT PATH PWD \
         TERTULIA_TURN XDG_CONFIG_HOME",
    );
    check(
        AgentKind::Cli(agents::CODEX),
        "CODEX_API_KEY HOME LANG LC_TIME OUT PATH PWD TERTULIA_TURN XDG_CONFIG_HOME",
    );
    check(
        AgentKind::Cli(agents::GEMINI),
        "GEMINI_API_KEY GEMINI_CLI_NO_RELAUNCH HOME LANG LC_TIME OUT PATH PWD TERTULIA_TURN TMPDIR \
         XDG_CONFIG_HOME",
    );
}

#[test]
fn the_team_file_adds_and_overrides() {
    let fake_agent = FakeAgent::new(
        "printf '%s %s' \"$CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC\" \"$MINE\" >\"$OUT/values\"",
    );
    let mut spec = fake_agent.spec(AgentKind::Cli(agents::CLAUDE));
    spec.env.insert("CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC".into(), "0".into());
    spec.env.insert("MINE".into(), "a b\n$(x)".into());
    run(&spec, &request("go"), &CancelToken::new(), &mut RecordingListener::default());
    assert_eq!(fake_agent.note("values"), "0 a b\n$(x)");
}

#[test]
fn no_file_that_we_opened_reaches_an_agent() {
    let fake_agent = FakeAgent::new("ls -l /proc/$$/fd >\"$OUT/files\"");
    std::fs::write(fake_agent.out("secret-file"), "").unwrap();
    let open = || std::fs::File::open(fake_agent.out("secret-file")).unwrap();
    let _open: Vec<_> = (0..20).map(|_| open()).collect();
    let spec = fake_agent.spec(AgentKind::Command(CommandOutput::Text));
    run(&spec, &request("go"), &CancelToken::new(), &mut RecordingListener::default());
    let files = fake_agent.note("files");
    assert!(files.contains("pipe:"), "{files}");
    assert!(!files.contains("secret-file"), "{files}");
}
