//! The life of processes that stay between turns: when they start, what belongs to a turn, and when they end.

use std::thread;
use std::time::{Duration, SystemTime};

use tertulia_agent::{
    AgentKind, CancelToken, CommandOutput, Drift, Ended, Endpoint, KeptAgents, KeptLimits, Memory,
    MemorySupport, Timeout, Timeouts, TurnRequest, agents, memory_support, run,
};
use tertulia_dialect::stream::{Cost, ErrorClass, Scope, StreamEvent};

use crate::fake_agent::{
    FakeAgent, RecordingListener, await_that, is_alive, request, set_supervisor,
};
use crate::fake_kept::{FakeMember, answer_of};

#[test]
fn a_process_answers_one_turn_after_the_other() {
    let mut max = FakeMember::claude("");
    for number in 1..=3 {
        let report = max.say(&format!("question {number}"));
        assert_eq!(answer_of(&report), format!("answer {number}"));
        assert_eq!(report.output.usage.unwrap().output, Some(number));
        assert_eq!(report.output.cost, Some(Cost { usd: 1.0, scope: Scope::Turn }));
        assert_eq!(max.listener.fed, 1);
        let head = report.native.unwrap();
        assert_eq!((head.messages, head.totals.cost_usd), (2 * number, Some(number as f64)));
    }
    assert_eq!(max.starts(), 1);
    assert_eq!(max.agent.note("received").lines().count(), 3);
    assert_eq!(max.kept.idle_members(), [Box::from("max")]);
}

#[test]
fn a_process_that_ended_between_turns_is_continued_by_another() {
    let mut max =
        FakeMember::claude("turn() { begin; record; answer \"answer $number\"; exit 0; }");
    assert_eq!(answer_of(&max.say("one")), "answer 1");
    assert_eq!(answer_of(&max.say("two")), "answer 1");
    assert_eq!(max.starts(), 2);
    let starts = max.agent.note("starts");
    assert!(!starts.lines().next().unwrap().contains("--resume"), "{starts}");
    let resumed = "--resume 11111111-1111-4111-8111-111111111111";
    assert!(starts.lines().nth(1).unwrap().ends_with(resumed), "{starts}");
}

#[test]
fn a_process_that_ends_during_its_turn_fails_the_turn() {
    let script =
        r#"turn() { begin; record; [ -e "$OUT/go" ] && answer "there" && return; exit 3; }"#;
    let mut max = FakeMember::claude(script);
    let report = max.say("one");
    assert_eq!(report.output.error.as_ref().unwrap().class, ErrorClass::Crash);
    assert_eq!((report.drift, report.ended), (None, Ended::ByItself));
    assert!(max.head.is_some(), "the session has the prompt");
    std::fs::write(max.agent.out("go"), "").unwrap();
    assert_eq!(answer_of(&max.say("two")), "there");
}

#[test]
fn a_prompt_that_did_not_arrive_is_in_no_session() {
    let script = r#"turn() { begin; [ -e "$OUT/go" ] || exit 3; record; answer "there"; }"#;
    let mut max = FakeMember::claude(script);
    let report = max.say("one");
    assert!(report.output.error.is_some() && report.native.is_none(), "{report:#?}");
}

#[test]
fn an_agent_that_opens_no_session_gets_no_prompt() {
    let mut max = FakeMember::claude("echo 'no such option' >&2; exit 2");
    let report = max.say("one");
    let Some(drift @ Drift::NotBegun { reason }) = &report.drift else { panic!("{report:#?}") };
    assert!(reason.contains("no such option"), "{reason}");
    assert!(drift.to_string().starts_with("it could not keep a session: "), "{drift}");
    assert_eq!(max.listener.fed, 0);
    assert!(report.native.is_none());
}

#[test]
fn a_problem_that_a_new_session_would_have_too_is_the_result_of_the_turn() {
    let script = r#"[ -e "$OUT/out" ] && { echo "$MESSAGE" >&2; exit 1; }"#;
    for (message, class) in [
        ("Not logged in. Please run /login", ErrorClass::Auth),
        ("network error: connection refused", ErrorClass::Network),
        ("HTTP 429: quota", ErrorClass::Quota),
    ] {
        let mut max = FakeMember::claude(script);
        max.spec.env.insert("MESSAGE".into(), message.into());
        answer_of(&max.say("one"));
        max.kept.end("max");
        std::fs::write(max.agent.out("out"), "").unwrap();
        for _ in ["continues", "begins"] {
            let report = max.say("two");
            assert_eq!(report.drift, None, "{message}");
            assert_eq!(report.output.error.unwrap().class, class, "{message}");
        }
    }
}

#[test]
fn a_session_of_claude_that_is_not_the_requested_one_fails_at_once() {
    let script = r#"
if [ -e "$OUT/other" ]; then
  SID=22222222-2222-4222-8222-222222222222
  FILE="$HOME/.claude/projects/p/$SID.jsonl"
fi"#;
    let mut max = FakeMember::claude(script);
    answer_of(&max.say("one"));
    max.kept.end("max");
    std::fs::write(max.agent.out("other"), "").unwrap();
    let report = max.say("two");
    let error = report.output.error.unwrap();
    assert_eq!((error.class, report.native), (ErrorClass::Setup, None), "{}", error.message);
    assert!(error.message.contains("22222222-2222-4222-8222-222222222222"), "{}", error.message);
    assert!(!max.is_running());
}

#[test]
fn all_idle_processes_end_at_the_same_time() {
    // Each process exits only when all of them have noticed that they get no more turns.
    let mut max = FakeMember::claude("");
    let program = max.agent.out("program");
    let script = std::fs::read_to_string(&program).unwrap()
        + r#"
: >"$OUT/over.$$"
set -- "$OUT"/over.*
while [ $# -lt 3 ]; do sleep 0.05; set -- "$OUT"/over.*; done
: >"$OUT/exited.$$"
"#;
    crate::fake_agent::executable(&program, &script);
    for member in ["a", "b", "c"] {
        max.head = None;
        answer_of(&max.say_as(member, "go"));
    }
    max.kept.end_all();
    let files = std::fs::read_dir(max.agent.out("")).unwrap();
    let names = files.map(|file| file.unwrap().file_name().into_string().unwrap());
    assert_eq!(names.filter(|name| name.starts_with("exited")).count(), 3);
}

#[test]
fn a_process_whose_turn_runs_is_not_kept_after_all_were_ended() {
    let script = r#"turn() { begin; record; printf 'on\n' >"$OUT/on"; while [ ! -e "$OUT/go" ]; do sleep 0.05; done; answer "there"; }"#;
    let mut max = FakeMember::claude(script);
    let (out, kept) = (max.agent.out(""), max.kept.clone());
    thread::scope(|scope| {
        let turn = scope.spawn(|| answer_of(&max.say("one")).to_owned());
        await_that(|| out.join("on").exists());
        kept.end_all();
        std::fs::write(out.join("go"), "").unwrap();
        assert_eq!(turn.join().unwrap(), "there");
    });
    assert_eq!(kept.idle_members(), [] as [Box<str>; 0]);
    assert!(max.head.is_some() && !max.is_running());
    assert_eq!(answer_of(&max.say("two")), "there");
    assert_eq!(kept.idle_members(), [Box::from("max")]);
}

#[test]
fn output_between_turns_belongs_to_no_turn() {
    let noise = r#"
turn() {
  begin; record; answer "answer $number"
  say 'noise that is no JSON'
  say '{"type":"system","subtype":"init","session_id":"'$SID'","model":"m"}'
  say '{"type":"result","subtype":"success","session_id":"'$SID'","is_error":false,"result":"unasked"}'
  printf '%s\n' "noised" >>"$OUT/noise"
}"#;
    let mut max = FakeMember::claude(noise);
    for number in 1..=3 {
        assert_eq!(answer_of(&max.say("more")), format!("answer {number}"));
        let noise = max.agent.out("noise");
        await_that(|| {
            std::fs::read_to_string(&noise).is_ok_and(|note| note.lines().count() == number)
        });
        let has_answer = |event: &&StreamEvent| matches!(event, StreamEvent::FinalText { .. });
        assert_eq!(max.listener.events.iter().filter(has_answer).count(), 1);
    }
    assert_eq!(max.starts(), 1);
}

#[test]
fn the_clocks_run_for_each_turn() {
    let script = r#"turn() { begin; record; [ "$number" = 1 ] && answer "there" && return; exec sleep 600; }"#;
    let mut max = FakeMember::claude(script);
    assert_eq!(answer_of(&max.say("one")), "there");
    max.spec.timeouts = Timeouts { silence: Duration::from_millis(300), ..max.spec.timeouts };
    let report = max.say("two");
    assert_eq!(report.ended, Ended::TimedOut(Timeout::Silence));
    assert_eq!(max.kept.idle_members(), [] as [Box<str>; 0], "its process was ended");
    assert!(!max.is_running());
}

#[test]
fn a_cancelled_turn_ends_its_process() {
    let mut max =
        FakeMember::claude("turn() { begin; record; printf 'on\\n' >\"$OUT/on\"; sleep 600; }");
    set_supervisor();
    let (cancel, kept) = (CancelToken::new(), max.kept.clone());
    let memory = Memory::Begin { kept: &kept, member: "max" };
    let request = TurnRequest { memory, ..request("go") };
    let report = thread::scope(|scope| {
        scope.spawn(|| {
            max.agent.await_note("on");
            assert_eq!(kept.idle_members(), [] as [Box<str>; 0]);
            cancel.cancel();
        });
        run(&max.spec, &request, &cancel, &mut RecordingListener::default())
    });
    assert_eq!(report.ended, Ended::Cancelled);
    max.head = report.native;
    assert!(max.head.is_some(), "its session has the prompt");
    assert!(!max.is_running());
}

#[test]
fn only_so_many_processes_wait_and_the_last_used_ones_stay() {
    let mut max = FakeMember::claude("");
    let limits = KeptLimits { processes_max: 2, ..KeptLimits::default() };
    max.kept = KeptAgents::with_limits(limits);
    for member in ["a", "b", "c"] {
        max.head = None;
        answer_of(&max.say_as(member, "go"));
    }
    assert_eq!(max.kept.idle_members(), ["b", "c"].map(Box::from));
}

#[test]
fn an_idle_process_ends_in_time_and_its_session_stays() {
    let mut max = FakeMember::claude("");
    let limits = KeptLimits { idle: Duration::from_millis(1), ..KeptLimits::default() };
    max.kept = KeptAgents::with_limits(limits);
    answer_of(&max.say("one"));
    await_that(|| max.kept.idle_members().is_empty() && !max.is_running());
    assert_eq!(answer_of(&max.say("two")), "answer 1");
    assert_eq!(max.starts(), 2);
}

#[test]
fn all_processes_end_with_their_owner() {
    let mut max = FakeMember::claude("");
    answer_of(&max.say("one"));
    assert!(max.is_running());
    let other = max.kept.clone();
    max.kept = KeptAgents::new();
    assert!(max.is_running(), "somebody still owns it");
    drop(other);
    assert!(!max.is_running());
}

#[test]
fn what_a_tool_left_behind_ends_with_the_process() {
    let leave =
        "turn() { sleep 300 & printf '%s\\n' $! >\"$OUT/child\"; begin; record; answer there; }";
    let mut max = FakeMember::claude(leave);
    answer_of(&max.say("one"));
    assert!(is_alive(&max.agent.note("child")));
    max.kept.end("max");
    assert!(!is_alive(&max.agent.note("child")));
}

#[test]
fn an_idle_process_ends_when_our_process_is_killed() {
    const FOLDER: &str = "STAGE_FOLDER";
    let test = "kept::an_idle_process_ends_when_our_process_is_killed";
    if let Ok(out) = std::env::var(FOLDER) {
        let mut max = FakeMember::claude("turn() { begin; record; answer there; }");
        max.spec.env.insert("OUT".into(), out.clone().into());
        answer_of(&max.say("one"));
        std::fs::write(std::path::Path::new(&out).join("idle"), "idle\n").unwrap();
        loop {
            thread::park();
        }
    }
    let fake_agent = FakeAgent::new("");
    let mut inner = std::process::Command::new(std::env::current_exe().unwrap())
        .args(["--exact", test])
        .env(FOLDER, fake_agent.out("").as_os_str())
        .spawn()
        .unwrap();
    fake_agent.await_note("idle");
    let pid = fake_agent.note("pid");
    assert!(is_alive(&pid));
    inner.kill().unwrap();
    inner.wait().unwrap();
    await_that(|| !is_alive(&pid));
}

#[test]
fn a_member_takes_one_turn_at_a_time() {
    let mut max = FakeMember::claude(
        r#"turn() { begin; record; printf 'on\n' >"$OUT/on"; while [ ! -e "$OUT/go" ]; do sleep 0.05; done; answer "there"; }"#,
    );
    std::fs::write(max.agent.out("go"), "").unwrap();
    answer_of(&max.say("one"));
    std::fs::remove_file(max.agent.out("go")).unwrap();
    std::fs::remove_file(max.agent.out("on")).unwrap();
    let (head, kept) = (max.head.clone().unwrap(), max.kept.clone());
    let memory = Memory::Continue { kept: &kept, member: "max", head: &head };
    let request = TurnRequest { memory, ..request("go") };
    thread::scope(|scope| {
        let cancel = CancelToken::new();
        let spec = &max.spec;
        let first =
            scope.spawn(move || run(spec, &request, &cancel, &mut RecordingListener::default()));
        max.agent.await_note("on");
        assert_eq!(kept.check("max", &max.spec, None, &head), Err(Drift::Busy));
        let second =
            run(&max.spec, &request, &CancelToken::new(), &mut RecordingListener::default());
        assert_eq!(second.drift, Some(Drift::Busy));
        std::fs::write(max.agent.out("go"), "").unwrap();
        assert_eq!(answer_of(&first.join().unwrap()), "there");
    });
}

#[test]
fn a_session_that_another_process_uses_is_busy() {
    let mut max = FakeMember::claude("");
    answer_of(&max.say("one"));
    let head = max.head.clone().unwrap();
    let sessions = max.agent.out("home").join(".claude/sessions");
    std::fs::create_dir_all(&sessions).unwrap();
    let note = |pid: u32, session: &str| {
        let text = format!(r#"{{"pid":{pid},"sessionId":"{session}"}}"#);
        std::fs::write(sessions.join("1.json"), text).unwrap();
        max.kept.check("max", &max.spec, None, &head)
    };
    assert_eq!(note(std::process::id(), &head.session), Ok(()), "our process may be the one");
    max.kept.end_all();
    assert_eq!(note(std::process::id(), &head.session), Err(Drift::Busy));
    assert_eq!(note(std::process::id(), "another"), Ok(()));
    assert_eq!(note(i32::MAX as u32, &head.session), Ok(()), "that process has ended");
    if !cfg!(target_os = "linux") {
        return;
    }
    assert_eq!(note(std::process::id(), &head.session), Err(Drift::Busy));
    let file = std::fs::File::options().write(true).open(sessions.join("1.json")).unwrap();
    file.set_modified(SystemTime::now() - Duration::from_secs(86_400)).unwrap();
    let checked = max.kept.check("max", &max.spec, None, &head);
    assert_eq!(checked, Ok(()), "another process has got the id of that one");
}

#[test]
fn a_process_with_other_settings_is_replaced() {
    let mut max = FakeMember::claude("");
    answer_of(&max.say("one"));
    max.spec.permissions = tertulia_agent::Permissions::Edit;
    answer_of(&max.say("two"));
    assert_eq!(max.starts(), 2);
    let starts = max.agent.note("starts");
    assert!(starts.lines().nth(1).unwrap().contains("acceptEdits"), "{starts}");
}

#[test]
fn a_new_program_is_another_version() {
    let mut max = FakeMember::claude("");
    answer_of(&max.say("one"));
    let program = max.agent.out("program");
    let script = std::fs::read_to_string(&program).unwrap();
    max.kept.end_all();
    crate::fake_agent::executable(&program, &format!("{script}# newer\n"));
    let head = max.head.as_ref().unwrap();
    assert_eq!(max.kept.check("max", &max.spec, None, head), Err(Drift::OtherVersion));
}

#[test]
fn an_agent_that_cannot_continue_says_why() {
    let endpoint = Endpoint { base_url: "http://127.0.0.1:9".into(), key_variable: None };
    for kind in [
        AgentKind::Cli(agents::GEMINI),
        AgentKind::Command(CommandOutput::Text),
        AgentKind::OpenAi(endpoint),
        AgentKind::Script(Vec::new()),
    ] {
        let mut max = FakeMember::new(kind, "#!/bin/sh\nexit 0\n");
        let MemorySupport::Unsupported { reason } = memory_support(&max.spec) else { panic!() };
        let report = max.say("go");
        assert_eq!(report.drift, Some(Drift::Unsupported { reason: reason.clone() }));
        assert!(report.output.error.unwrap().message.contains(&*reason));
    }
}
