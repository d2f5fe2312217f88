//! A supervised turn leaves no process behind, whatever its processes do and whichever process is killed.

use std::process::Command;

use tertulia_agent::{
    AgentKind, AgentSpec, CancelToken, CommandOutput, Containment, Ended, Resource,
};

use crate::fake_agent::{self, FakeAgent, await_that, is_alive};

/// Both containments that use a supervisor.
const SUPERVISED: [Containment; 2] = [Containment::ControlGroup, Containment::Supervisor];

/// A process that clears its environment, starts sessions and loses its parents at once.
const HIDDEN: &str = "( setsid env -i OUT=\"$OUT\" sh -c '( setsid sh -c \"echo \\$\\$ >$OUT/hidden; \
                      exec sleep 300\" & )' & )\nwhile ! [ -s \"$OUT/hidden\" ]; do sleep 0.01; done\n";

fn text(fake_agent: &FakeAgent) -> AgentSpec {
    fake_agent.spec(AgentKind::Command(CommandOutput::Text))
}

#[test]
fn a_hidden_process_ends_with_its_turn_without_a_control_group() {
    let fake_agent = FakeAgent::new(&format!("{HIDDEN}echo done"));
    let report =
        fake_agent::run_contained(Containment::Supervisor, &text(&fake_agent), &CancelToken::new());
    assert_eq!(fake_agent::answer(&report), "done\n");
    assert_eq!((report.containment, report.orphans_killed), (Containment::Supervisor, 1));
    assert!(!is_alive(&fake_agent.note("hidden")));
}

#[test]
fn a_hidden_process_escapes_containment_by_descendants() {
    let fake_agent = FakeAgent::new(&format!("{HIDDEN}echo done"));
    fake_agent::run_contained(Containment::Descendants, &text(&fake_agent), &CancelToken::new());
    let pid = fake_agent.note("hidden");
    assert!(is_alive(&pid), "the control found no survivor");
    let pid = rustix::process::Pid::from_raw(pid.trim().parse().unwrap()).unwrap();
    rustix::process::kill_process(pid, rustix::process::Signal::KILL).unwrap();
}

#[test]
fn nothing_of_a_turn_works_after_our_process_was_killed() {
    const FOLDER: &str = "STAGE_FOLDER";
    const FORCED: &str = "STAGE_CONTAINMENT";
    let test = "supervisor::nothing_of_a_turn_works_after_our_process_was_killed";
    if let Ok(out) = std::env::var(FOLDER) {
        let fake_agent = FakeAgent::new(&format!("{HIDDEN}echo $$ >\"$OUT/main\"; sleep 300"));
        let mut spec = text(&fake_agent);
        spec.env.insert("OUT".into(), out.into());
        let number: usize = std::env::var(FORCED).unwrap().parse().unwrap();
        fake_agent::run_contained(SUPERVISED[number], &spec, &CancelToken::new());
        return;
    }
    for number in ["0", "1"] {
        let fake_agent = FakeAgent::new("");
        let mut inner = Command::new(std::env::current_exe().unwrap())
            .args(["--exact", test])
            .env(FOLDER, fake_agent.out("").as_os_str())
            .env(FORCED, number)
            .spawn()
            .unwrap();
        let pids = ["hidden", "main"].map(|name| fake_agent.await_note(name));
        inner.kill().unwrap();
        inner.wait().unwrap();
        // No other turn starts and no session is opened: the processes end without help.
        await_that(|| !pids.iter().any(|pid| is_alive(pid)));
    }
}

#[test]
fn an_agent_that_kills_its_supervisor_does_not_get_away() {
    let fake_agent = FakeAgent::new(
        "( setsid sh -c 'echo $$ >\"$OUT/child\"; exec sleep 300' & )\n\
         while ! [ -s \"$OUT/child\" ]; do sleep 0.01; done\n\
         echo $$ >\"$OUT/main\"; kill -9 $PPID; sleep 300",
    );
    let report =
        fake_agent::run_contained(Containment::Supervisor, &text(&fake_agent), &CancelToken::new());
    assert_eq!(fake_agent::failure(&report).0, "crash");
    for name in ["child", "main"] {
        assert!(!is_alive(&fake_agent.note(name)), "{name} lives on");
    }
}

#[test]
fn an_agent_that_stops_its_supervisor_is_ended_all_the_same() {
    let fake_agent = FakeAgent::new(
        "( setsid sh -c 'echo $$ >\"$OUT/child\"; exec sleep 300' & )\n\
         while ! [ -s \"$OUT/child\" ]; do sleep 0.01; done\n\
         kill -STOP $PPID; echo done",
    );
    let report =
        fake_agent::run_contained(Containment::Supervisor, &text(&fake_agent), &CancelToken::new());
    assert_eq!(fake_agent::answer(&report), "done\n");
    assert!(!is_alive(&fake_agent.note("child")));
}

#[test]
fn the_exit_of_a_supervised_agent_is_reported() {
    for containment in SUPERVISED {
        for (script, word) in [("exit 3", "3"), ("kill -11 $$", "signal 11")] {
            let fake_agent = FakeAgent::new(script);
            let report =
                fake_agent::run_contained(containment, &text(&fake_agent), &CancelToken::new());
            let (class, message) = fake_agent::failure(&report);
            assert!(class == "crash" && message.contains(word), "{message}");
        }
    }
}

#[test]
fn more_processes_than_allowed_end_the_turn_and_the_setting_is_named() {
    for containment in SUPERVISED {
        let fake_agent = FakeAgent::new(
            "i=0; while [ $i -lt 30 ]; do sleep 300 & echo $! >>\"$OUT/pids\"; i=$((i+1)); done\n\
             sleep 300",
        );
        let mut spec = text(&fake_agent);
        spec.resources.processes = 20;
        let report = fake_agent::run_contained(containment, &spec, &CancelToken::new());
        let Ended::OverResources(overuse) = report.ended else { panic!("{report:?}") };
        assert_eq!((overuse.resource, overuse.limit), (Resource::Processes, 20));
        let (class, message) = fake_agent::failure(&report);
        assert_eq!(class, "limit");
        assert!(
            message.contains("`max_processes` allows only 20; if it needs more, raise the limit"),
            "{message}"
        );
        assert_eq!(fake_agent.note("pids").lines().filter(|pid| is_alive(pid)).count(), 0);
    }
}

#[test]
fn more_memory_than_allowed_ends_the_turn_and_the_setting_is_named() {
    for containment in SUPERVISED {
        let fake_agent = FakeAgent::new("x=$(head -c 100000000 /dev/zero | tr '\\0' x); sleep 300");
        let mut spec = text(&fake_agent);
        spec.resources.memory_bytes = 50 << 20;
        let report = fake_agent::run_contained(containment, &spec, &CancelToken::new());
        let Ended::OverResources(overuse) = report.ended else { panic!("{report:?}") };
        assert_eq!(overuse.resource, Resource::Memory);
        let (class, message) = fake_agent::failure(&report);
        assert_eq!(class, "limit");
        assert!(
            message.contains("`max_memory_mb` allows only 50; if it needs more, raise the limit"),
            "{message}"
        );
    }
}

#[test]
fn a_turn_within_its_limits_is_left_alone() {
    let fake_agent = FakeAgent::new("sleep 0.5; echo done");
    let mut spec = text(&fake_agent);
    (spec.resources.processes, spec.resources.memory_bytes) = (10, 50 << 20);
    let report = fake_agent::run_contained(Containment::Supervisor, &spec, &CancelToken::new());
    assert_eq!(fake_agent::answer(&report), "done\n");
}

#[test]
fn a_supervised_agent_has_its_three_pipes_and_no_other_file() {
    // The test's process, not the agent, passes on files 15 and 200. Only some shells support file numbers with two
    // or more digits.
    let Some(shell) = ["/bin/bash", "/usr/bin/bash"].iter().find(|path| FakeAgent::has(path))
    else {
        return;
    };
    const INNER: &str = "STAGE_FILES";
    let test = "supervisor::a_supervised_agent_has_its_three_pipes_and_no_other_file";
    if let Ok(out) = std::env::var(INNER) {
        assert!(std::fs::read_link("/proc/self/fd/200").is_ok(), "nothing was handed on");
        for containment in SUPERVISED {
            let fake_agent = FakeAgent::new("ls -l /proc/$$/fd >>\"$OUT/files\"");
            let mut spec = text(&fake_agent);
            spec.env.insert("OUT".into(), out.as_str().into());
            fake_agent::run_contained(containment, &spec, &CancelToken::new());
        }
        return;
    }
    let fake_agent = FakeAgent::new("");
    std::fs::write(fake_agent.out("secret-file"), "").unwrap();
    let line = r#"exec 15<"$0" 200<"$0"; exec "$@""#;
    let status = Command::new(shell)
        .args(["-c", line])
        .arg(fake_agent.out("secret-file"))
        .arg(std::env::current_exe().unwrap())
        .args(["--exact", test])
        .env(INNER, fake_agent.out("").as_os_str())
        .status()
        .unwrap();
    assert!(status.success());
    let files = fake_agent.note("files");
    assert!(files.contains("pipe:"), "{files}");
    // The agent has neither the passed file nor the socket to its supervisor.
    assert!(!files.contains("secret-file") && !files.contains("socket:"), "{files}");
}
