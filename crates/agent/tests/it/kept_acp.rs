//! An agent of the Agent Client Protocol whose process has ended: when another process continues its session, and what
//! it must have replayed. A shell script plays the agent. Its session is a file of updates.

use std::time::Duration;

use tertulia_agent::{
    AgentKind, Drift, KeptAgents, KeptLimits, MemorySupport, NativeHead, memory_support,
};
use tertulia_dialect::stream::{Cost, Scope, StreamEvent};

use crate::fake_agent::await_that;
use crate::fake_kept::{FakeMember, answer_of};

/// Notes every start in `$OUT/starts`, every line in `$OUT/received`, and the session in `$OUT/session`. A test may
/// define `turn`, `greeting` and `load`.
const ACP: &str = r#"#!/bin/sh
printf '%s\n' "start $*" >>"$OUT/starts"
printf '%s\n' "$$" >"$OUT/pid"
number=0
say() { printf '%s\n' "$1"; }
reply() { say '{"jsonrpc":"2.0","id":'"$id"',"result":'"$1"'}'; }
update() { say '{"jsonrpc":"2.0","method":"session/update","params":{"sessionId":"s-1","update":'"$1"'}}'; }
chunk() { printf '{"sessionUpdate":"%s","content":{"type":"text","text":"%s"}}' "$1" "$2"; }
record() { printf '%s\n' "$1" >>"$OUT/session"; }
greeting() { reply '{"protocolVersion":1,"agentCapabilities":{"loadSession":true},"agentInfo":{"name":"fake"}}'; }
replay() { while IFS= read -r one; do update "$one"; done <"$OUT/session"; }
load() { replay; reply null; }
turn() {
  update "$(chunk agent_thought_chunk 'Well.')"
  update "$(chunk agent_message_chunk 'answer')"
  update "$(chunk agent_message_chunk " $number")"
  record "$(chunk agent_message_chunk "answer $number")"
  reply '{"stopReason":"end_turn"}'
}
"#;

const LOOP: &str = r#"
while IFS= read -r line; do
  printf '%s\n' "$line" >>"$OUT/received"
  id=${line#*\"id\":}
  id=${id%%,*}
  case "$line" in
    *'"method":"initialize"'*) greeting ;;
    *'"method":"session/new"'*) : >"$OUT/session"; reply '{"sessionId":"s-1"}' ;;
    *'"method":"session/load"'*) load ;;
    *'"method":"session/prompt"'*)
      text=${line#*\"text\":\"}
      text=${text%\"\}]\}\}}
      record "$(chunk user_message_chunk "$text")"
      number=$(grep -c user_message "$OUT/session")
      turn ;;
  esac
done
"#;

fn member(script: &str) -> FakeMember {
    FakeMember::new(AgentKind::Acp, &format!("{ACP}{script}{LOOP}"))
}

/// Returns the methods that the agent received after its last start.
fn last_methods(max: &FakeMember) -> Vec<String> {
    let note = max.agent.note("received");
    let lines: Vec<&str> = note.lines().collect();
    let start = lines.iter().rposition(|line| line.contains("\"initialize\"")).unwrap();
    let methods = lines[start..].iter().filter_map(|line| line.split("\"method\":\"").nth(1));
    methods.filter_map(|rest| rest.split('"').next()).map(str::to_owned).collect()
}

/// Returns the text that arrived in the last turn.
fn text_of(max: &FakeMember) -> String {
    let texts = max.listener.events.iter().filter_map(|event| match event {
        StreamEvent::TextDelta { text } => Some(text.as_str()),
        _ => None,
    });
    texts.collect()
}

const TOOL: &str = r#"
turn() {
  update '{"sessionUpdate":"tool_call","toolCallId":"c-1","title":"ls","kind":"execute","status":"pending"}'
  update '{"sessionUpdate":"tool_call_update","toolCallId":"c-1","status":"in_progress","rawInput":{"command":"ls", "all":true}}'
  update '{"sessionUpdate":"tool_call_update","toolCallId":"c-1","status":"completed","rawOutput":"a.txt"}'
  record '{"sessionUpdate":"tool_call","toolCallId":"c-1","title":"ls","status":"completed","rawInput":{"all":true,"command":"ls"},"rawOutput":"a.txt"}'
  update "$(chunk agent_message_chunk "answer $number")"
  record "$(chunk agent_message_chunk "answer $number")"
  update '{"sessionUpdate":"usage_update","cost":{"amount":'"$number"',"currency":"USD"}}'
  reply '{"stopReason":"end_turn"}'
}
"#;

#[test]
fn another_process_loads_the_session_and_its_replay_is_no_output() {
    for script in ["", TOOL] {
        let mut max = member(script);
        assert_eq!(memory_support(&max.spec), MemorySupport::Loaded);
        for number in 1..=4 {
            let report = max.say(&format!("question \"{number}\"\nand \\more"));
            assert_eq!(answer_of(&report), format!("answer {number}"));
            assert_eq!(text_of(&max), format!("answer {number}"));
            assert_eq!(report.output.lines.violations, 0, "{report:#?}");
            // The third turn runs in the process of the second one.
            if number != 2 {
                max.kept.end("max");
            }
        }
        assert_eq!(max.starts(), 3);
        let methods = last_methods(&max);
        assert_eq!(methods, ["initialize", "session/load", "session/prompt"]);
    }
}

#[test]
fn the_cost_of_a_turn_does_not_contain_that_of_earlier_processes() {
    let mut max = member(TOOL);
    for _ in 1..=3 {
        let report = max.say("go");
        assert_eq!(report.output.cost, Some(Cost { usd: 1.0, scope: Scope::Turn }));
        max.kept.end("max");
    }
}

#[test]
fn a_session_of_a_process_that_was_idle_for_too_long_is_loaded() {
    let mut max = member("");
    let limits = KeptLimits { idle: Duration::from_millis(1), ..KeptLimits::default() };
    max.kept = KeptAgents::with_limits(limits);
    answer_of(&max.say("one"));
    await_that(|| max.kept.idle_members().is_empty() && !max.is_running());
    assert_eq!(answer_of(&max.say("two")), "answer 2");
    // Another program has no idle processes at all, and reads the state from the log.
    max.kept = KeptAgents::new();
    let state = max.head.as_ref().unwrap().to_json();
    max.head = Some(NativeHead::from_json(&state).unwrap());
    assert_eq!(answer_of(&max.say("three")), "answer 3");
}

/// Changes the session after two turns, ends the process, and returns why the session is not continued.
fn drift_after(change: impl Fn(&str) -> String) -> Drift {
    let mut max = member(TOOL);
    answer_of(&max.say("one"));
    answer_of(&max.say("two"));
    max.kept.end("max");
    let session = max.agent.out("session");
    let before = std::fs::read_to_string(&session).unwrap();
    let after = change(&before);
    assert_ne!(before, after);
    std::fs::write(&session, after).unwrap();
    let report = max.say("three");
    assert_eq!(last_methods(&max), ["initialize", "session/load"], "no prompt was sent");
    assert_eq!((max.listener.fed, text_of(&max)), (0, String::new()));
    assert_eq!(max.kept.idle_members(), [] as [Box<str>; 0]);
    report.drift.expect("a drift")
}

/// Returns the text without the line of this number.
fn without(text: &str, number: usize) -> String {
    let kept = text.lines().enumerate().filter(|(place, _)| *place != number);
    kept.map(|(_, line)| format!("{line}\n")).collect()
}

#[test]
fn a_replay_that_is_not_what_was_said_is_not_continued() {
    for (from, to) in [
        ("one", "won"),
        ("two", "two "),
        ("answer 1", "Answer 1"),
        ("answer 2", "answer 22"),
        ("a.txt", "b.txt"),
        ("\"all\":true", "\"all\":false"),
        ("c-1", "c-2"),
        ("completed", "failed"),
        ("user_message", "agent_message"),
        ("\"type\":\"text\",\"text\":\"answer 2\"", "\"type\":\"image\",\"data\":\"\""),
    ] {
        let drift = drift_after(|text| text.replacen(from, to, 1));
        assert_eq!(drift.word(), "unreadable", "{from}: {drift}");
        assert!(drift.to_string().contains("is not what was said"), "{drift}");
    }
    for number in 0..6 {
        let drift = drift_after(|text| without(text, number));
        assert_eq!(drift.word(), "unreadable", "without line {number}: {drift}");
    }
    assert_eq!(drift_after(|_| String::new()).word(), "unreadable");
    let doubled = drift_after(|text| format!("{}\n{text}", text.lines().next().unwrap()));
    assert_eq!(doubled.word(), "unreadable");
}

#[test]
fn messages_of_somebody_else_are_not_continued() {
    let line = |kind: &str| {
        format!(
            r#"{{"sessionUpdate":"{kind}_message_chunk","content":{{"type":"text","text":"x"}}}}"#
        )
    };
    let asked = drift_after(|text| format!("{text}{}\n", line("user")));
    assert_eq!(asked, Drift::Continued { messages: 1 });
    let both = [line("user"), line("agent")].join("\n");
    let answered = drift_after(|text| format!("{text}{both}\n"));
    assert_eq!(answered, Drift::Continued { messages: 2 });
    // An answer that goes on cannot be told from one that was changed.
    let longer = drift_after(|text| format!("{text}{}\n", line("agent")));
    assert_eq!(longer.word(), "unreadable");
}

#[test]
fn an_agent_that_cannot_load_sessions_begins_anew() {
    for name in
        ["", r#","agentInfo":{"name":"gemini-cli"},"agentCapabilities":{"loadSession":true}"#]
    {
        let greeting = format!("greeting() {{ reply '{{\"protocolVersion\":1{name}}}'; }}\n");
        let mut max = member(&greeting);
        answer_of(&max.say("one"));
        max.kept.end("max");
        let head = max.head.clone().unwrap();
        assert_eq!(max.kept.check("max", &max.spec, None, &head), Err(Drift::ProcessEnded));
        assert_eq!(max.say("two").drift, Some(Drift::ProcessEnded));
        assert_eq!(max.starts(), 1);
    }
}

#[test]
fn an_agent_that_has_lost_the_ability_to_load_begins_anew() {
    let script = r#"
greeting() {
  [ -e "$OUT/session" ] && can=false || can=true
  reply '{"protocolVersion":1,"agentCapabilities":{"loadSession":'"$can"'}}'
}
"#;
    let mut max = member(script);
    answer_of(&max.say("one"));
    max.kept.end("max");
    assert_eq!(max.say("two").drift, Some(Drift::ProcessEnded));
    assert_eq!(last_methods(&max), ["initialize"]);
}

#[test]
fn a_session_that_is_replayed_too_late_is_not_continued() {
    let mut max = member("load() { reply null; replay; }\n");
    answer_of(&max.say("one"));
    max.kept.end("max");
    assert_eq!(max.say("two").drift.unwrap().word(), "unreadable");
    assert_eq!(text_of(&max), "");
}

#[test]
fn a_session_that_the_agent_does_not_find_is_refused() {
    let script = r#"load() { say '{"jsonrpc":"2.0","id":'"$id"',"error":{"code":-32002,"message":"no session s-1"}}'; }
"#;
    let mut max = member(script);
    answer_of(&max.say("one"));
    max.kept.end("max");
    let reason = "no session s-1".into();
    assert_eq!(max.say("two").drift, Some(Drift::Refused { reason }));
}
