//! A `codex app-server` that stays between turns, played by a shell script.

use tertulia_agent::{
    AgentKind, CancelToken, Drift, Listener, Memory, PermissionAnswer, PermissionRequest,
    Permissions, TurnReport, TurnRequest, agents, run,
};
use tertulia_dialect::stream::StreamEvent;

use crate::fake_agent::{request, set_supervisor};
use crate::fake_kept::{FakeMember, answer_of};

/// Answers every request, and writes the transcript. Every received line is noted in `$OUT/received`. `turn` runs for
/// every turn.
const SERVER: &str = r#"#!/bin/sh
FILE="$HOME/.codex/sessions/2026/01/02/rollout-2026-01-02T03-04-05-t-1.jsonl"
mkdir -p "${FILE%/*}"
printf '%s\n' "start $*" >>"$OUT/starts"
printf '%s\n' "$$" >"$OUT/pid"
number=0
say() { printf '%s\n' "$1"; }
notice() { say '{"method":"'"$1"'","params":{"threadId":"t-1","turnId":"n-'"$number"'",'"$2"'}}'; }
record() { printf '%s\n' '{"ordinal":'"$number"',"type":"'"$1"'","payload":'"$2"'}' >>"$FILE"; }
hear() { IFS= read -r line || exit 0; printf '%s\n' "$line" >>"$OUT/received"; }
begin() {
  number=$(($(grep -c task_started "$FILE" 2>/dev/null) + 1))
  record event_msg '{"type":"task_started","turn_id":"n-'"$number"'"}'
  record response_item '{"type":"message","role":"user","content":[{"type":"input_text","text":"x"}]}'
  say '{"id":'"$id"',"result":{"turn":{"id":"n-'"$number"'"}}}'
}
answer() {
  record response_item '{"type":"message","role":"assistant","content":[{"type":"output_text","text":"x"}]}'
  notice item/completed '"item":{"type":"agentMessage","id":"m","text":"'"$1"'"}'
  notice turn/completed '"turn":{"id":"n-'"$number"'","status":"completed"}'
}
turn() { begin; answer "answer $number"; }
"#;

const LOOP: &str = r#"
while hear; do
  id=${line#*\"id\":}
  id=${id%%,*}
  case "$line" in
    *'"method":"turn/start"'*) turn ;;
    *'"method":"thread/'[sr]*) say '{"id":'"$id"',"result":{"thread":{"id":"t-1","path":"'"$FILE"'"},"model":"m"}}' ;;
    *'"method":"initialized"'*) ;;
    *) say '{"id":'"$id"',"result":{}}' ;;
  esac
done
"#;

/// Returns a member that plays Codex. The script may define other functions.
pub(crate) fn codex(script: &str) -> FakeMember {
    FakeMember::new(AgentKind::Cli(agents::CODEX), &format!("{SERVER}{script}{LOOP}"))
}

/// Returns the received lines with this method.
fn received(max: &FakeMember, method: &str) -> Vec<String> {
    let word = format!("\"method\":\"{method}\"");
    let note = max.agent.note("received");
    note.lines().filter(|line| line.contains(&word)).map(str::to_owned).collect()
}

#[test]
fn a_thread_gets_one_turn_after_the_other() {
    let mut max = codex("");
    for number in 1..=3 {
        assert_eq!(answer_of(&max.say("question")), format!("answer {number}"));
    }
    assert_eq!(max.starts(), 1);
    assert_eq!(received(&max, "thread/start").len(), 1);
    assert_eq!(received(&max, "turn/start").len(), 3);
    let head = max.head.unwrap();
    assert_eq!((&*head.session, head.messages), ("t-1", 6));
}

#[test]
fn a_thread_of_a_process_that_has_ended_is_resumed() {
    let mut max = codex("turn() { begin; answer \"answer $number\"; exit 0; }");
    for number in 1..=3 {
        assert_eq!(answer_of(&max.say("question")), format!("answer {number}"));
        assert_eq!(max.listener.fed, 1);
    }
    assert_eq!(max.starts(), 3);
    let resumed = received(&max, "thread/resume");
    assert_eq!(resumed.len(), 2);
    assert!(resumed[0].contains("\"threadId\":\"t-1\""), "{resumed:?}");
}

#[test]
fn a_thread_that_is_not_opened_gets_no_prompt() {
    let check = |message: &str, drift: Drift| {
        let refuse = r#"hear() { IFS= read -r line || exit 0; printf '%s\n' "$line" >>"$OUT/received"; case "$line" in *thread/resume*) say '{"id":2,"error":{"message":"MESSAGE"}}'; IFS= read -r line; exit 0 ;; esac; }"#;
        let mut max = codex(&refuse.replace("MESSAGE", message));
        assert_eq!(answer_of(&max.say("question")), "answer 1");
        max.kept.end("max");
        assert_eq!(max.say("question").drift, Some(drift));
        assert_eq!(received(&max, "turn/start").len(), 1);
    };
    check("no rollout found", Drift::Refused { reason: "no rollout found".into() });
    check("thread t-1 already has an active writer", Drift::Busy);
}

#[test]
fn a_turn_that_began_without_its_prompt_is_in_no_session() {
    let dies = |written: &str| {
        let turn = r#"
turn() {
  [ -e "$OUT/go" ] && begin && answer "answer $number" && return
  record event_msg '{"type":"task_started","turn_id":"n-1"}'
  record response_item '{"type":"message","role":"user","content":[{"type":"input_text","text":"<environment_context>x</environment_context>"}]}'
  record turn_context '{"turn_id":"n-1","model":"m"}'
  WRITTEN
  say '{"id":'"$id"',"result":{"turn":{"id":"n-1"}}}'
  exit 3
}"#;
        let mut max = codex(&turn.replace("WRITTEN", written));
        let report = max.say("question");
        assert!(report.output.error.is_some() && report.drift.is_none(), "{report:#?}");
        max
    };
    assert!(dies("").head.is_none(), "the prompt is missing");
    let prompt = r#"record response_item '{"type":"message","role":"user","content":[{"type":"input_text","text":"x"}]}'"#;
    let mut max = dies(prompt);
    assert!(max.head.is_some(), "the session has the prompt");
    std::fs::write(max.agent.out("go"), "").unwrap();
    assert_eq!(answer_of(&max.say("more")), "answer 2");
}

#[test]
fn what_others_said_is_an_item_of_its_own() {
    set_supervisor();
    let max = codex("");
    let memory = Memory::Begin { kept: &max.kept, member: "max" };
    let prompt = "Eva: no.\nWhy? @notes.md";
    let request = TurnRequest { memory, message_start: 9, ..request(prompt) };
    let report = run(&max.spec, &request, &CancelToken::new(), &mut Judge::default());
    answer_of(&report);
    let injected = received(&max, "thread/inject_items");
    assert!(injected[0].contains(r#""text":"Eva: no.\n"}"#), "{injected:?}");
    let turn = received(&max, "turn/start");
    assert!(turn[0].contains(r#""text":"Why? @notes.md"}"#), "{turn:?}");
}

/// Answers requests for permission, and records them.
#[derive(Default)]
struct Judge {
    answer: Option<Box<str>>,
    asked: Vec<Box<str>>,
}

impl Listener for Judge {
    fn event(&mut self, _event: StreamEvent) {}

    fn permit(&mut self, request: &PermissionRequest) -> PermissionAnswer {
        self.asked.push(request.title.clone());
        self.answer.clone().map_or(PermissionAnswer::Deny, PermissionAnswer::Choose)
    }
}

const ASKS: &str = r#"
turn() {
  begin
  say '{"id":"r-1","method":"item/commandExecution/requestApproval","params":{"threadId":"t-1","turnId":"n-'"$number"'","itemId":"c","command":"rm -r build"}}'
  hear
  answer "asked"
}"#;

#[track_caller]
fn check_approval(permissions: Permissions, answer: Option<&str>, sent: &str, asked: &[&str]) {
    set_supervisor();
    let mut max = codex(ASKS);
    max.spec.permissions = permissions;
    let memory = Memory::Begin { kept: &max.kept, member: "max" };
    let mut judge = Judge { answer: answer.map(Into::into), asked: Vec::new() };
    let request = TurnRequest { memory, ..request("go") };
    let report: TurnReport = run(&max.spec, &request, &CancelToken::new(), &mut judge);
    assert_eq!(answer_of(&report), "asked");
    assert_eq!(judge.asked.iter().map(|title| &**title).collect::<Vec<_>>(), asked);
    let note = max.agent.note("received");
    assert_eq!(note.lines().last(), Some(sent), "{permissions:?}");
}

#[test]
fn a_request_for_approval_is_answered_by_the_member_s_permissions() {
    let accept = r#"{"id":"r-1","result":{"decision":"accept"}}"#;
    let decline = r#"{"id":"r-1","result":{"decision":"decline"}}"#;
    check_approval(Permissions::Full, None, accept, &[]);
    check_approval(Permissions::Edit, Some("accept"), accept, &["rm -r build"]);
    check_approval(Permissions::Read, None, decline, &["rm -r build"]);
}
