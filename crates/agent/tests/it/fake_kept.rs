//! Agents that keep their session, played by shell scripts: Claude Code with its transcript, and `codex app-server`.

use tertulia_agent::{
    AgentKind, AgentSpec, CancelToken, KeptAgents, Memory, NativeHead, TurnReport, TurnRequest,
    agents, run,
};

use crate::fake_agent::{
    FakeAgent, RecordingListener, executable, is_alive, request, set_supervisor,
};

/// The beginning of a script that plays Claude Code. `turn` runs for every message; without another definition it
/// answers. Every start is noted in `$OUT/starts`, every message in `$OUT/received`.
const CLAUDE: &str = r#"#!/bin/sh
SID=11111111-1111-4111-8111-111111111111
FILE="$HOME/.claude/projects/p/$SID.jsonl"
mkdir -p "$HOME/.claude/projects/p"
printf '%s\n' "start $*" >>"$OUT/starts"
printf '%s\n' "$$" >"$OUT/pid"
number=0
say() { printf '%s\n' "$1"; }
begin() {
  say '{"type":"command_lifecycle","command_uuid":"'"$uuid"'","state":"started","session_id":"'$SID'"}'
  say '{"type":"system","subtype":"init","session_id":"'$SID'","model":"m"}'
}
record() {
  printf '%s\n' '{"type":"user","uuid":"'"$uuid"'","parentUuid":null,"sessionId":"'$SID'","isSidechain":false,"message":{"role":"user","content":"x"}}' >>"$FILE"
}
answer() {
  printf '%s\n' '{"type":"assistant","uuid":"a-'"$uuid"'","parentUuid":"'"$uuid"'","sessionId":"'$SID'","isSidechain":false,"message":{"id":"m-'"$uuid"'","role":"assistant","content":[{"type":"text","text":"'"$1"'"}]}}' >>"$FILE"
  say '{"type":"assistant","session_id":"'$SID'","parent_tool_use_id":null,"message":{"content":[{"type":"text","text":"'"$1"'"}]}}'
  say '{"type":"result","subtype":"success","session_id":"'$SID'","is_error":false,"result":"'"$1"'","total_cost_usd":'"$number"',"usage":{"input_tokens":5,"output_tokens":'"$number"'}}'
}
turn() { begin; record; answer "answer $number"; }
"#;

const CLAUDE_LOOP: &str = r#"
while IFS= read -r line; do
  number=$((number + 1))
  uuid=${line#*\"uuid\":\"}
  uuid=${uuid%%\"*}
  printf '%s\n' "$line" >>"$OUT/received"
  turn
done
"#;

/// A member whose agent is a script.
pub(crate) struct FakeMember {
    pub(crate) agent: FakeAgent,
    pub(crate) spec: AgentSpec,
    pub(crate) kept: KeptAgents,
    pub(crate) head: Option<NativeHead>,
    pub(crate) listener: RecordingListener,
}

impl FakeMember {
    /// Creates a member that plays Claude Code. The script may define other functions.
    pub(crate) fn claude(script: &str) -> Self {
        Self::new(AgentKind::Cli(agents::CLAUDE), &format!("{CLAUDE}{script}{CLAUDE_LOOP}"))
    }

    /// Creates a member with this program.
    pub(crate) fn new(kind: AgentKind, script: &str) -> Self {
        let agent = FakeAgent::new(script);
        let program = agent.out("program");
        executable(&program, script);
        let mut spec = agent.spec(kind);
        spec.args.clear();
        spec.program = program.to_str().map(Into::into);
        let home = agent.out("home");
        std::fs::create_dir(&home).unwrap();
        spec.env.insert("HOME".into(), home.to_str().unwrap().into());
        let (kept, listener) = (KeptAgents::new(), RecordingListener::default());
        Self { agent, spec, kept, head: None, listener }
    }

    /// Runs a turn of this member, and remembers the state that it leaves.
    pub(crate) fn say(&mut self, prompt: &str) -> TurnReport {
        self.say_as("max", prompt)
    }

    pub(crate) fn say_as(&mut self, member: &str, prompt: &str) -> TurnReport {
        set_supervisor();
        let kept = self.kept.clone();
        let memory = match &self.head {
            None => Memory::Begin { kept: &kept, member },
            Some(head) => Memory::Continue { kept: &kept, member, head },
        };
        self.listener = RecordingListener::default();
        let request = TurnRequest { memory, ..request(prompt) };
        let report = run(&self.spec, &request, &CancelToken::new(), &mut self.listener);
        self.head.clone_from(&report.native);
        report
    }

    /// Returns the number of times the program was started.
    pub(crate) fn starts(&self) -> usize {
        self.agent.note("starts").lines().filter(|line| line.starts_with("start")).count()
    }

    /// Returns whether the process that started last runs.
    pub(crate) fn is_running(&self) -> bool {
        is_alive(&self.agent.note("pid"))
    }
}

/// Returns the answer of a turn. Fails if the turn has failed.
#[track_caller]
pub(crate) fn answer_of(report: &TurnReport) -> &str {
    assert_eq!(report.output.error, None, "{report:#?}");
    &report.output.final_text.as_ref().expect("an answer").text
}
