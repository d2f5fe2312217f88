//! A supervised turn leaves nothing behind, whatever its processes do and whoever is killed.

use std::process::Command;

use tertulia_agent::{
    AgentKind, AgentSpec, CancelToken, CommandOutput, Containment, Ended, Resource,
};

use crate::stage::{self, Stage, await_that, is_alive};

/// Both that have a supervisor.
const SUPERVISED: [Containment; 2] = [Containment::ControlGroup, Containment::Supervisor];

/// A process that clears its environment, starts sessions and loses its parents at once.
const HIDDEN: &str = "( setsid env -i OUT=\"$OUT\" sh -c '( setsid sh -c \"echo \\$\\$ >$OUT/hidden; \
                      exec sleep 300\" & )' & )\nwhile ! [ -s \"$OUT/hidden\" ]; do sleep 0.01; done\n";

fn text(stage: &Stage) -> AgentSpec {
    stage.spec(AgentKind::Command(CommandOutput::Text))
}

#[test]
fn what_hides_on_purpose_ends_with_its_turn_also_without_a_control_group() {
    let stage = Stage::new(&format!("{HIDDEN}echo done"));
    let report = stage::play_held_by(Containment::Supervisor, &text(&stage), &CancelToken::new());
    assert_eq!(stage::answer(&report), "done\n");
    assert_eq!((report.containment, report.left_behind), (Containment::Supervisor, 1));
    assert!(!is_alive(&stage.note("hidden")));
}

#[test]
fn the_old_means_alone_lose_what_hides_on_purpose() {
    let stage = Stage::new(&format!("{HIDDEN}echo done"));
    stage::play_held_by(Containment::Descendants, &text(&stage), &CancelToken::new());
    let pid = stage.note("hidden");
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
        let stage = Stage::new(&format!("{HIDDEN}echo $$ >\"$OUT/main\"; sleep 300"));
        let mut spec = text(&stage);
        spec.env.insert("OUT".into(), out.into());
        let number: usize = std::env::var(FORCED).unwrap().parse().unwrap();
        stage::play_held_by(SUPERVISED[number], &spec, &CancelToken::new());
        return;
    }
    for number in ["0", "1"] {
        let stage = Stage::new("");
        let mut inner = Command::new(std::env::current_exe().unwrap())
            .args(["--exact", test])
            .env(FOLDER, stage.out("").as_os_str())
            .env(FORCED, number)
            .spawn()
            .unwrap();
        let pids = ["hidden", "main"].map(|name| stage.await_note(name));
        inner.kill().unwrap();
        inner.wait().unwrap();
        // Nobody starts another turn or opens a session: it goes by itself.
        await_that(|| !pids.iter().any(|pid| is_alive(pid)));
    }
}

#[test]
fn an_agent_that_kills_its_supervisor_does_not_get_away() {
    let stage = Stage::new(
        "( setsid sh -c 'echo $$ >\"$OUT/child\"; exec sleep 300' & )\n\
         while ! [ -s \"$OUT/child\" ]; do sleep 0.01; done\n\
         echo $$ >\"$OUT/main\"; kill -9 $PPID; sleep 300",
    );
    let report = stage::play_held_by(Containment::Supervisor, &text(&stage), &CancelToken::new());
    assert_eq!(stage::failure(&report).0, "crash");
    for name in ["child", "main"] {
        assert!(!is_alive(&stage.note(name)), "{name} lives on");
    }
}

#[test]
fn an_agent_that_stops_its_supervisor_is_ended_all_the_same() {
    let stage = Stage::new(
        "( setsid sh -c 'echo $$ >\"$OUT/child\"; exec sleep 300' & )\n\
         while ! [ -s \"$OUT/child\" ]; do sleep 0.01; done\n\
         kill -STOP $PPID; echo done",
    );
    let report = stage::play_held_by(Containment::Supervisor, &text(&stage), &CancelToken::new());
    assert_eq!(stage::answer(&report), "done\n");
    assert!(!is_alive(&stage.note("child")));
}

#[test]
fn the_exit_of_a_supervised_agent_is_told() {
    for containment in SUPERVISED {
        for (script, word) in [("exit 3", "3"), ("kill -11 $$", "signal 11")] {
            let stage = Stage::new(script);
            let report = stage::play_held_by(containment, &text(&stage), &CancelToken::new());
            let (class, message) = stage::failure(&report);
            assert!(class == "crash" && message.contains(word), "{message}");
        }
    }
}

#[test]
fn more_processes_than_allowed_end_the_turn_and_the_setting_is_named() {
    for containment in SUPERVISED {
        let stage = Stage::new(
            "i=0; while [ $i -lt 30 ]; do sleep 300 & echo $! >>\"$OUT/pids\"; i=$((i+1)); done\n\
             sleep 300",
        );
        let mut spec = text(&stage);
        spec.resources.processes = 20;
        let report = stage::play_held_by(containment, &spec, &CancelToken::new());
        let Ended::OverResources(overuse) = report.ended else { panic!("{report:?}") };
        assert_eq!((overuse.resource, overuse.limit), (Resource::Processes, 20));
        let (class, message) = stage::failure(&report);
        assert_eq!(class, "limit");
        assert!(message.contains("`max_processes` allows 20; raise it"), "{message}");
        assert_eq!(stage.note("pids").lines().filter(|pid| is_alive(pid)).count(), 0);
    }
}

#[test]
fn more_memory_than_allowed_ends_the_turn_and_the_setting_is_named() {
    for containment in SUPERVISED {
        let stage = Stage::new("x=$(head -c 100000000 /dev/zero | tr '\\0' x); sleep 300");
        let mut spec = text(&stage);
        spec.resources.memory_bytes = 50 << 20;
        let report = stage::play_held_by(containment, &spec, &CancelToken::new());
        let Ended::OverResources(overuse) = report.ended else { panic!("{report:?}") };
        assert_eq!(overuse.resource, Resource::Memory);
        let (class, message) = stage::failure(&report);
        assert_eq!(class, "limit");
        assert!(message.contains("`max_memory_mb` allows 50; raise it"), "{message}");
    }
}

#[test]
fn a_turn_within_its_limits_is_left_alone() {
    let stage = Stage::new("sleep 0.5; echo done");
    let mut spec = text(&stage);
    (spec.resources.processes, spec.resources.memory_bytes) = (10, 50 << 20);
    let report = stage::play_held_by(Containment::Supervisor, &spec, &CancelToken::new());
    assert_eq!(stage::answer(&report), "done\n");
}

#[test]
fn a_supervised_agent_has_its_three_pipes_and_no_other_file() {
    // The test's process, not the agent, hands on files 15 and 200; a shell of two digits is needed for that.
    let Some(shell) = ["/bin/bash", "/usr/bin/bash"].iter().find(|path| Stage::has(path)) else {
        return;
    };
    const INNER: &str = "STAGE_FILES";
    let test = "supervisor::a_supervised_agent_has_its_three_pipes_and_no_other_file";
    if let Ok(out) = std::env::var(INNER) {
        assert!(std::fs::read_link("/proc/self/fd/200").is_ok(), "nothing was handed on");
        for containment in SUPERVISED {
            let stage = Stage::new("ls -l /proc/$$/fd >>\"$OUT/files\"");
            let mut spec = text(&stage);
            spec.env.insert("OUT".into(), out.as_str().into());
            stage::play_held_by(containment, &spec, &CancelToken::new());
        }
        return;
    }
    let stage = Stage::new("");
    std::fs::write(stage.out("secret-file"), "").unwrap();
    let line = r#"exec 15<"$0" 200<"$0"; exec "$@""#;
    let status = Command::new(shell)
        .args(["-c", line])
        .arg(stage.out("secret-file"))
        .arg(std::env::current_exe().unwrap())
        .args(["--exact", test])
        .env(INNER, stage.out("").as_os_str())
        .status()
        .unwrap();
    assert!(status.success());
    let files = stage.note("files");
    assert!(files.contains("pipe:"), "{files}");
    // Not the file that was handed on, and not the socket to its supervisor.
    assert!(!files.contains("secret-file") && !files.contains("socket:"), "{files}");
}
