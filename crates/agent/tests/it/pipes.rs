//! Prompts arrive completely, output may arrive in any pieces, and neither too much output nor an agent that ignores
//! signals does harm.

use std::time::Duration;

use tertulia_agent::{
    AgentKind, AgentSpec, CancelToken, CommandOutput, Ended, Timeout, agents, run,
};
use tertulia_dialect::stream::StreamEvent;

use crate::fake_agent::{
    FakeAgent, RecordingListener, answer, failure, is_in_own_process, play, request,
};

const PATH: (&str, &str) = ("PATH", "/usr/local/bin:/usr/bin:/bin");

fn text(script: &str) -> (FakeAgent, AgentSpec) {
    let fake_agent = FakeAgent::new(script);
    let spec = fake_agent.spec(AgentKind::Command(CommandOutput::Text));
    (fake_agent, spec)
}

#[test]
fn a_prompt_of_700_kb_arrives_byte_for_byte() {
    let line = "é – \u{2028} @a /b \\ \" $(x) `y` %s\r\n\t\u{1b}[0m\n";
    let prompt = line.repeat(700_000 / line.len() + 1);
    let (fake_agent, spec) = text("cat >\"$OUT/prompt\"; echo ok");
    assert_eq!(answer(&play(&spec, &prompt)), "ok\n");
    assert_eq!(fake_agent.note("prompt"), prompt);
}

#[test]
fn a_prompt_of_megabytes_arrives_completely() {
    let prompt = "0123456789abcdef".repeat(500_000);
    let (_stage, spec) = text("cat");
    assert_eq!(answer(&play(&spec, &prompt)), prompt);
}

#[test]
fn an_agent_that_never_reads_its_prompt_may_answer() {
    let prompt = "x".repeat(2_000_000);
    let (_stage, spec) = text("echo ok");
    assert_eq!(answer(&play(&spec, &prompt)), "ok\n");
    let (_stage, spec) = text("exec <&-; sleep 0.2; echo ok");
    assert_eq!(answer(&play(&spec, &prompt)), "ok\n");
    let (_stage, spec) = text("head -c 5; sleep 0.2");
    assert_eq!(answer(&play(&spec, &prompt)), "xxxxx");
}

#[test]
fn an_agent_that_never_reads_and_never_answers_is_ended() {
    let (_stage, mut spec) = text("sleep 300");
    spec.timeouts.first_byte = Duration::from_millis(300);
    let report = play(&spec, &"x".repeat(2_000_000));
    assert_eq!(report.ended, Ended::TimedOut(Timeout::FirstByte));
}

#[test]
fn characters_may_be_cut_between_two_pieces() {
    let (_stage, spec) =
        text(r"printf 'a\303'; sleep 0.2; printf '\251b\360\237'; sleep 0.2; printf '\230\200'");
    let mut listener = RecordingListener::default();
    let report = run(&spec, &request("go"), &CancelToken::new(), &mut listener);
    assert_eq!(answer(&report), "aéb😀");
    let pieces: String = listener
        .events
        .iter()
        .filter_map(|event| match event {
            StreamEvent::TextDelta { text } => Some(text.as_str()),
            _ => None,
        })
        .collect();
    assert_eq!(pieces, "aéb😀");
    assert_eq!((listener.fed, listener.final_text()), (1, Some("aéb😀")));
}

#[test]
fn a_flood_ends_at_the_limit_and_takes_no_memory() {
    if !is_in_own_process("pipes::a_flood_ends_at_the_limit_and_takes_no_memory", &[PATH]) {
        return;
    }
    let (_stage, mut spec) = text("head -c 1000000000 /dev/zero | tr '\\0' y");
    spec.limits.text_bytes_max = 8 * 1024 * 1024;
    let report = run(&spec, &request("go"), &CancelToken::new(), &mut EventsOnly);
    assert_eq!(report.ended, Ended::OverLimit);
    assert_eq!(failure(&report).0, "limit");
    assert!(report.output.partial_text.unwrap().len() <= 8 * 1024 * 1024);
    assert!(peak_memory_kb() < 128 * 1024, "{} kB", peak_memory_kb());
}

#[test]
fn a_flood_of_garbage_and_of_complaints_ends_too() {
    if !is_in_own_process("pipes::a_flood_of_garbage_and_of_complaints_ends_too", &[PATH]) {
        return;
    }
    let fake_agent = FakeAgent::new("yes 'not json' >&2 & yes '{\"type\":'");
    let mut spec = fake_agent.spec(AgentKind::Cli(agents::CODEX));
    spec.limits.text_bytes_max = 1024 * 1024;
    let mut listener = RecordingListener::default();
    let report = run(&spec, &request("go"), &CancelToken::new(), &mut listener);
    assert_eq!(report.ended, Ended::OverLimit);
    assert_eq!(failure(&report).0, "limit");
    assert!(report.output.lines.unparsed > 100_000);
    assert!(listener.events.len() <= 1000, "{}", listener.events.len());
    assert!(peak_memory_kb() < 128 * 1024, "{} kB", peak_memory_kb());
}

#[test]
fn a_slow_listener_slows_the_agent_down_and_loses_nothing() {
    struct Slow(usize);
    impl tertulia_agent::Listener for Slow {
        fn event(&mut self, event: StreamEvent) {
            if let StreamEvent::TextDelta { text } = event {
                self.0 += text.len();
                std::thread::sleep(Duration::from_millis(2));
            }
        }
        fn permit(
            &mut self,
            _request: &tertulia_agent::PermissionRequest,
        ) -> tertulia_agent::PermissionAnswer {
            tertulia_agent::PermissionAnswer::Deny
        }
    }
    let (_stage, spec) = text("head -c 5000000 /dev/zero | tr '\\0' y");
    let mut slow = Slow(0);
    let report = run(&spec, &request("go"), &CancelToken::new(), &mut slow);
    assert_eq!((answer(&report).len(), slow.0), (5_000_000, 5_000_000));
}

/// A listener that records nothing.
struct EventsOnly;

impl tertulia_agent::Listener for EventsOnly {
    fn event(&mut self, _event: StreamEvent) {}

    fn permit(
        &mut self,
        _request: &tertulia_agent::PermissionRequest,
    ) -> tertulia_agent::PermissionAnswer {
        tertulia_agent::PermissionAnswer::Deny
    }
}

fn peak_memory_kb() -> u64 {
    let status = std::fs::read_to_string("/proc/self/status").unwrap();
    let line = status.lines().find_map(|line| line.strip_prefix("VmHWM:")).unwrap();
    line.trim().trim_end_matches(" kB").parse().unwrap()
}
