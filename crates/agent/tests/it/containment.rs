//! No process of an agent outlives its turn, whatever the agent does.

use std::time::{Duration, Instant};

use tertulia_agent::{
    AgentKind, AgentSpec, CancelToken, CommandOutput, Containment, Ended, TurnReport, agents,
};

use crate::fake_agent::{self, CONTAINMENTS, FakeAgent, await_that, is_alive};

/// Children in a session of their own, forked twice, or ignoring signals. They keep the pipes open.
const ORPHANS: &str = r#"
setsid sh -c 'trap "" TERM HUP; echo $$ >"$OUT/session"; while :; do sleep 1; done' &
( ( setsid nohup sh -c 'echo $$ >"$OUT/orphan"; exec sleep 300' & ) & )
( sh -c 'echo $$ >"$OUT/plain"; exec sleep 300' & )
while ! [ -s "$OUT/session" ] || ! [ -s "$OUT/orphan" ] || ! [ -s "$OUT/plain" ]; do sleep 0.01; done
"#;
const NAMES: [&str; 3] = ["session", "orphan", "plain"];

fn text(fake_agent: &FakeAgent) -> AgentSpec {
    fake_agent.spec(AgentKind::Command(CommandOutput::Text))
}

fn assert_all_gone(fake_agent: &FakeAgent) {
    for name in NAMES {
        let pid = fake_agent.note(name);
        assert!(!is_alive(&pid), "{name} lives on as {pid}");
    }
}

/// Cancels the turn once the script has written this note.
fn play_until(
    note: &str,
    fake_agent: &FakeAgent,
    spec: &AgentSpec,
    containment: Containment,
) -> TurnReport {
    let cancel = CancelToken::new();
    std::thread::scope(|scope| {
        let turn = scope.spawn(|| fake_agent::run_contained(containment, spec, &cancel));
        fake_agent.await_note(note);
        cancel.cancel();
        turn.join().unwrap()
    })
}

#[test]
fn what_an_agent_leaves_behind_at_a_good_end_is_ended_and_counted() {
    for containment in CONTAINMENTS {
        let fake_agent = FakeAgent::new(&format!("{ORPHANS}\necho done"));
        let report =
            fake_agent::run_contained(containment, &text(&fake_agent), &CancelToken::new());
        assert_eq!(fake_agent::answer(&report), "done\n");
        assert_eq!(report.ended, Ended::ByItself);
        assert!(report.orphans_killed >= 3, "{report:?}");
        assert_all_gone(&fake_agent);
    }
}

#[test]
fn a_cancel_ends_the_whole_tree() {
    for containment in CONTAINMENTS {
        let fake_agent =
            FakeAgent::new(&format!("{ORPHANS}\necho part\necho >\"$OUT/ready\"\nsleep 300"));
        let report = play_until("ready", &fake_agent, &text(&fake_agent), containment);
        assert_eq!(report.ended, Ended::Cancelled);
        assert_eq!(fake_agent::failure(&report), ("cancelled", "it was cancelled"));
        assert_eq!(report.output.partial_text.as_deref(), Some("part\n"));
        assert_all_gone(&fake_agent);
    }
}

#[test]
fn processes_left_at_sigterm_are_counted() {
    let unresponsive =
        "trap \"\" TERM HUP; echo $$ >\"$OUT/unresponsive\"; while :; do sleep 0.05; done";
    let check = |containment, main: &str, ignores_termination: bool| {
        let trap = if ignores_termination { "trap '' TERM\n" } else { "" };
        let fake_agent = FakeAgent::new(&format!("{trap}setsid sh -c '{unresponsive}' &\n{main}"));
        let mut spec = text(&fake_agent);
        if !ignores_termination {
            spec.timeouts.grace = Duration::from_secs(10);
        }
        let report = play_until("unresponsive", &fake_agent, &spec, containment);
        // No orphans are counted for an agent that had to be killed itself. The child that ignores signals may have a
        // child of its own.
        let count = if ignores_termination { 0..=0 } else { 1..=2 };
        assert!(count.contains(&report.orphans_killed), "{report:?}");
        assert!(!is_alive(&fake_agent.note("unresponsive")));
    };
    // The cases run in parallel, because agents that handle SIGTERM get a long grace period.
    std::thread::scope(|scope| {
        for containment in CONTAINMENTS {
            scope.spawn(move || check(containment, "exec sleep 300", false));
            scope.spawn(move || check(containment, "while :; do sleep 0.05; done", true));
        }
    });
}

#[test]
fn a_turn_that_was_cancelled_before_it_began_starts_nothing() {
    let fake_agent = FakeAgent::new("echo >\"$OUT/started\"; echo done");
    let cancel = CancelToken::new();
    cancel.cancel();
    let report = fake_agent::run_contained(Containment::Descendants, &text(&fake_agent), &cancel);
    assert_eq!((report.ended, report.containment), (Ended::Cancelled, Containment::None));
    assert!(!fake_agent.out("started").exists());
}

#[test]
fn an_agent_that_ignores_sigterm_is_killed() {
    for containment in CONTAINMENTS {
        let fake_agent = FakeAgent::new(
            "trap '' TERM INT HUP\necho $$ >\"$OUT/pid\"\necho >\"$OUT/ready\"\n\
             while :; do sleep 0.1; done",
        );
        let report = play_until("ready", &fake_agent, &text(&fake_agent), containment);
        assert_eq!(report.ended, Ended::Cancelled);
        assert!(!is_alive(&fake_agent.note("pid")));
    }
}

#[test]
fn an_agent_may_clean_up_after_sigterm() {
    for containment in CONTAINMENTS {
        let fake_agent = FakeAgent::new(
            "trap 'echo tidy >\"$OUT/tidy\"; exit 0' TERM\necho >\"$OUT/ready\"\n\
             while :; do sleep 0.05; done",
        );
        let mut spec = text(&fake_agent);
        spec.timeouts.grace = Duration::from_secs(20);
        let report = play_until("ready", &fake_agent, &spec, containment);
        assert_eq!(fake_agent.note("tidy"), "tidy\n");
        // The agent exited with 0 but did not answer.
        assert_eq!(fake_agent::failure(&report), ("cancelled", "it was cancelled"));
    }
}

#[test]
fn what_an_agent_answers_to_a_cancel_is_no_answer() {
    // Claude Code prints a result when it gets SIGTERM, because its tool ends first.
    let start = r#"{"type":"system","subtype":"init","session_id":"s-1","model":"m-1"}"#;
    let result = r#"{"type":"result","subtype":"success","is_error":false,"result":"Slept.","session_id":"s-1"}"#;
    for containment in CONTAINMENTS {
        let fake_agent = FakeAgent::new(&format!(
            "echo '{start}'\nanswer() {{ echo '{result}'; exit 0; }}\ntrap answer TERM\n\
             echo >\"$OUT/ready\"\nwhile :; do sleep 0.05; done",
        ));
        let mut spec = fake_agent.spec(AgentKind::Cli(agents::CLAUDE));
        spec.timeouts.grace = Duration::from_secs(20);
        let report = play_until("ready", &fake_agent, &spec, containment);
        assert_eq!(report.ended, Ended::Cancelled);
        assert_eq!(fake_agent::failure(&report), ("cancelled", "it was cancelled"));
        assert_eq!(report.output.final_text, None);
    }
}

#[test]
fn a_control_group_holds_what_clears_its_environment() {
    if tertulia_agent::containment() != Containment::ControlGroup {
        return tertulia_test_needs::skip(tertulia_test_needs::Need::ControlGroups);
    }
    let fake_agent = FakeAgent::new(
        "env -i OUT=\"$OUT\" setsid sh -c '( sh -c '\\''echo $$ >\"$OUT/bare\"; \
         exec sleep 300'\\'' & )'\nwhile ! [ -s \"$OUT/bare\" ]; do sleep 0.01; done\necho done",
    );
    let report = fake_agent::play(&text(&fake_agent), "go");
    assert_eq!(report.containment, Containment::ControlGroup);
    assert_eq!(report.orphans_killed, 1);
    assert!(!is_alive(&fake_agent.note("bare")));
}

#[test]
fn the_mark_finds_what_left_its_parents_before_anybody_looked() {
    let fake_agent = FakeAgent::new(
        "( setsid sh -c '( sh -c \"echo \\$\\$ >$OUT/orphan; exec sleep 300\" & )' & )\n\
         while ! [ -s \"$OUT/orphan\" ]; do sleep 0.01; done\necho done",
    );
    let report = fake_agent::run_contained(
        Containment::Descendants,
        &text(&fake_agent),
        &CancelToken::new(),
    );
    assert_eq!(fake_agent::answer(&report), "done\n");
    assert_eq!(report.containment, Containment::Descendants);
    assert!(!is_alive(&fake_agent.note("orphan")));
}

#[test]
fn fifty_grandchildren_go_with_their_turn() {
    for containment in CONTAINMENTS {
        let fake_agent = FakeAgent::new(
            "i=0\nwhile [ $i -lt 50 ]; do ( setsid sleep 300 & echo $! >>\"$OUT/pids\" ); \
             i=$((i+1)); done\necho done",
        );
        let report =
            fake_agent::run_contained(containment, &text(&fake_agent), &CancelToken::new());
        assert_eq!(report.orphans_killed, 50);
        let pids = fake_agent.note("pids");
        assert_eq!(pids.lines().count(), 50);
        assert_eq!(pids.lines().filter(|pid| is_alive(pid)).count(), 0);
    }
}

#[test]
fn two_turns_at_once_do_not_end_each_other() {
    for containment in CONTAINMENTS {
        let slow = FakeAgent::new(
            "( setsid sleep 300 & echo $! >\"$OUT/child\" )\n\
             while ! [ -e \"$OUT/go\" ]; do sleep 0.01; done\n\
             kill -0 \"$(cat \"$OUT/child\")\" && echo alive",
        );
        let quick = FakeAgent::new("( setsid sleep 300 & )\necho done");
        std::thread::scope(|scope| {
            let spec = text(&slow);
            let turn = scope
                .spawn(move || fake_agent::run_contained(containment, &spec, &CancelToken::new()));
            slow.await_note("child");
            let cancel = CancelToken::new();
            let report = fake_agent::run_contained(containment, &text(&quick), &cancel);
            assert_eq!((fake_agent::answer(&report), report.orphans_killed), ("done\n", 1));
            std::fs::write(slow.out("go"), "").unwrap();
            assert_eq!(fake_agent::answer(&turn.join().unwrap()), "alive\n");
        });
    }
}

#[test]
fn no_group_is_left_behind() {
    if !fake_agent::is_in_own_process(
        "containment::no_group_is_left_behind",
        &[("PATH", "/usr/local/bin:/usr/bin:/bin")],
    ) {
        return;
    }
    let own = format!("-{}-", std::process::id());
    let mounts = std::fs::read_to_string("/proc/self/mountinfo").unwrap();
    let points = mounts.lines().filter(|line| line.contains(" - cgroup2 "));
    let points: Vec<_> = points.filter_map(|line| line.split(' ').nth(4)).collect();
    let count = || {
        let entries = points.iter().flat_map(|point| std::fs::read_dir(point).unwrap());
        entries
            .filter(|it| it.as_ref().unwrap().file_name().to_string_lossy().contains(&own))
            .count()
    };
    let fake_agent = FakeAgent::new(&format!("{ORPHANS}\necho done"));
    for _ in 0..3 {
        fake_agent::play(&text(&fake_agent), "go");
        await_that(|| count() == 0);
    }
}

#[test]
fn what_a_killed_run_of_ours_left_behind_is_ended_by_the_next() {
    const FOLDER: &str = "STAGE_FOLDER";
    const FORCED: &str = "STAGE_CONTAINMENT";
    let test = "containment::what_a_killed_run_of_ours_left_behind_is_ended_by_the_next";
    if let Ok(out) = std::env::var(FOLDER) {
        let fake_agent = FakeAgent::new(
            "( setsid sh -c 'echo $$ >\"$OUT/stray\"; exec sleep 300' & ); sleep 300",
        );
        let mut spec = text(&fake_agent);
        spec.env.insert("OUT".into(), out.into());
        let number: usize = std::env::var(FORCED).unwrap().parse().unwrap();
        fake_agent::run_contained(CONTAINMENTS[number], &spec, &CancelToken::new());
        return;
    }
    for (number, containment) in CONTAINMENTS.into_iter().enumerate() {
        let fake_agent = FakeAgent::new("echo done");
        let mut inner = std::process::Command::new(std::env::current_exe().unwrap())
            .args(["--exact", test])
            .env(FOLDER, fake_agent.out("").as_os_str())
            .env(FORCED, number.to_string())
            .spawn()
            .unwrap();
        let stray = fake_agent.await_note("stray");
        inner.kill().unwrap();
        inner.wait().unwrap();
        fake_agent::run_contained(containment, &text(&fake_agent), &CancelToken::new());
        await_that(|| !is_alive(&stray));
    }
}

/// Runs `part` in a separate process for each containment. The process calls [`tertulia_agent::end_all_now`].
fn leaving(test: &str, part: impl Fn(Containment)) {
    const FORCED: &str = "STAGE_CONTAINMENT";
    let path = ("PATH", "/usr/local/bin:/usr/bin:/bin");
    for number in ["0", "1", "2"] {
        if fake_agent::is_in_own_process(test, &[path, (FORCED, number)]) {
            let number: usize = std::env::var(FORCED).unwrap().parse().unwrap();
            return part(CONTAINMENTS[number]);
        }
    }
}

#[test]
fn ending_the_process_ends_all_turns() {
    /// The grace period that agents normally get.
    const GRACE: Duration = Duration::from_secs(60);
    let test = "containment::ending_the_process_ends_all_turns";
    leaving(test, |containment| {
        let script = format!(
            "trap '' TERM INT HUP\n{ORPHANS}\necho $$ >\"$OUT/main\"\nwhile :; do sleep 0.05; done"
        );
        let stages = [FakeAgent::new(&script), FakeAgent::new(&script)];
        std::thread::scope(|scope| {
            let turns = stages.each_ref().map(|fake_agent| {
                let mut spec = text(fake_agent);
                spec.timeouts.grace = GRACE;
                scope.spawn(move || {
                    fake_agent::run_contained(containment, &spec, &CancelToken::new())
                })
            });
            let mains = stages.each_ref().map(|fake_agent| fake_agent.await_note("main"));
            let since = Instant::now();
            tertulia_agent::end_all_now();
            let time = since.elapsed();
            // Killed processes need a moment to disappear on a busy machine; others would never disappear.
            let pids = stages.iter().flat_map(|fake_agent| NAMES.map(|name| fake_agent.note(name)));
            for pid in pids.chain(mains) {
                await_that(|| !is_alive(&pid));
            }
            assert!(time < GRACE, "the agents were given time: {time:?}");
            for turn in turns {
                assert_eq!(fake_agent::failure(&turn.join().unwrap()).0, "crash");
            }
        });
        let report = fake_agent::run_contained(containment, &text(&stages[0]), &CancelToken::new());
        assert_eq!(fake_agent::failure(&report).0, "cancelled");
        assert_eq!(report.containment, Containment::None);
        // A second call does nothing.
        tertulia_agent::end_all_now();
    });
}

#[test]
fn ending_the_process_while_turns_start_leaves_nothing() {
    let test = "containment::ending_the_process_while_turns_start_leaves_nothing";
    leaving(test, |containment| {
        let fake_agent = FakeAgent::new("( setsid sleep 300 & )\nsleep 300");
        let out = fake_agent.spec(AgentKind::Acp).env["OUT"].clone();
        let living = || {
            let processes = std::fs::read_dir("/proc").unwrap().flatten();
            let pids = processes.filter_map(|entry| entry.file_name().into_string().ok());
            let is_ours = |pid: &String| {
                let environment = std::fs::read(format!("/proc/{pid}/environ"));
                environment.is_ok_and(|it| String::from_utf8_lossy(&it).contains(&*out))
            };
            pids.filter(is_ours).filter(|pid| is_alive(pid)).count()
        };
        std::thread::scope(|scope| {
            for _ in 0..8 {
                let spec = text(&fake_agent);
                scope.spawn(move || {
                    fake_agent::run_contained(containment, &spec, &CancelToken::new())
                });
            }
            await_that(|| living() > 0);
            tertulia_agent::end_all_now();
            await_that(|| living() == 0);
        });
        assert_eq!(living(), 0);
    });
}
