//! Prewritten answers.

use std::time::Duration;

use tertulia_agent::{
    AgentKind, CancelToken, Containment, Ended, Listener, PermissionAnswer, PermissionRequest,
    ScriptLine, TurnRequest, run,
};
use tertulia_dialect::stream::StreamEvent;

use crate::fake_agent::{FakeAgent, RecordingListener, answer, failure, play, request};

fn line(text: &str, delay: Duration) -> ScriptLine {
    ScriptLine { text: text.into(), delay }
}

#[test]
fn each_turn_has_its_answer_and_the_last_one_stays() {
    let fake_agent = FakeAgent::new("");
    let lines = ["one", "two"].map(|text| line(text, Duration::ZERO));
    let spec = fake_agent.spec(AgentKind::Script(lines.to_vec()));
    for (number, expected) in [(0, "one"), (1, "two"), (2, "two"), (99, "two")] {
        let request = TurnRequest { number, ..request("go") };
        let mut listener = RecordingListener::default();
        let report = run(&spec, &request, &CancelToken::new(), &mut listener);
        assert_eq!(answer(&report), expected);
        assert_eq!((report.containment, report.ended), (Containment::None, Ended::ByItself));
        assert!(matches!(
            &listener.events[..],
            [
                StreamEvent::Started { .. },
                StreamEvent::TextDelta { text },
                StreamEvent::TextEnd,
                StreamEvent::FinalText { .. }
            ] if text == expected
        ));
    }
}

/// A listener that cancels a turn as soon as it has started.
struct CancelsAtStart(CancelToken);

impl Listener for CancelsAtStart {
    fn event(&mut self, event: StreamEvent) {
        assert!(matches!(event, StreamEvent::Started { .. }), "{event:?}");
        self.0.cancel();
    }

    fn permit(&mut self, _request: &PermissionRequest) -> PermissionAnswer {
        PermissionAnswer::Deny
    }
}

#[test]
fn a_delay_ends_when_the_turn_is_cancelled() {
    let fake_agent = FakeAgent::new("");
    let spec = fake_agent.spec(AgentKind::Script(vec![line("late", Duration::from_secs(3600))]));
    let cancel = CancelToken::new();
    let report = run(&spec, &request("go"), &cancel.clone(), &mut CancelsAtStart(cancel));
    assert_eq!(report.ended, Ended::Cancelled);
    assert_eq!(failure(&report), ("cancelled", "it was cancelled"));
}

#[test]
fn a_script_without_answers_is_a_matter_of_setup() {
    let fake_agent = FakeAgent::new("");
    let report = play(&fake_agent.spec(AgentKind::Script(Vec::new())), "go");
    assert_eq!(failure(&report), ("setup", "the script has no answers; write one"));
    let empty = vec![line(" \n", Duration::ZERO)];
    assert_eq!(failure(&play(&fake_agent.spec(AgentKind::Script(empty)), "go")).0, "empty");
}
