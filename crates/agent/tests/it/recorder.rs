//! A listener that records events, and a spec with default values.

use std::collections::BTreeMap;
use std::time::Duration;

use tertulia_agent::{
    AgentKind, AgentSpec, CancelToken, Listener, Mentions, PermissionAnswer, PermissionRequest,
    Permissions, Timeouts, TurnReport, TurnRequest, run,
};
use tertulia_dialect::stream::{ErrorClass, Limits, StreamEvent};

/// A listener that records events.
pub(crate) struct Recorder {
    pub(crate) is_fed: bool,
    pub(crate) events: Vec<StreamEvent>,
    pub(crate) asked: Vec<PermissionRequest>,
    /// The person's answer to a permission request, and the time that the person needs.
    pub(crate) answer: PermissionAnswer,
    pub(crate) delay: Duration,
    /// Token to cancel as soon as a piece of text arrives.
    pub(crate) cancel_on_text: Option<CancelToken>,
}

impl Default for Recorder {
    fn default() -> Self {
        Self {
            is_fed: false,
            events: Vec::new(),
            asked: Vec::new(),
            answer: PermissionAnswer::Deny,
            delay: Duration::ZERO,
            cancel_on_text: None,
        }
    }
}

impl Listener for Recorder {
    fn fed(&mut self) {
        self.is_fed = true;
    }

    fn event(&mut self, event: StreamEvent) {
        if let (StreamEvent::TextDelta { .. }, Some(cancel)) = (&event, &self.cancel_on_text) {
            cancel.cancel();
        }
        self.events.push(event);
    }

    fn permit(&mut self, request: &PermissionRequest) -> PermissionAnswer {
        self.asked.push(request.clone());
        std::thread::sleep(self.delay);
        self.answer.clone()
    }
}

impl Recorder {
    /// Runs a turn with a fixed prompt.
    pub(crate) fn run(&mut self, spec: &AgentSpec, cancel: &CancelToken) -> TurnReport {
        let request = TurnRequest {
            turn: "turn-1",
            number: 0,
            prompt: "What is it?",
            mentions: Mentions::none(),
            system: Some("Be brief."),
            body: None,
            memory: tertulia_agent::Memory::Fresh,
            message_start: 0,
        };
        run(spec, &request, cancel, self)
    }

    /// Returns the pieces of text, joined.
    pub(crate) fn text(&self) -> String {
        let pieces = self.events.iter().filter_map(|event| match event {
            StreamEvent::TextDelta { text } => Some(text.as_str()),
            _ => None,
        });
        pieces.collect()
    }
}

/// Returns a spec with long timeouts, which must not expire in tests.
pub(crate) fn spec(kind: AgentKind) -> AgentSpec {
    AgentSpec {
        kind,
        program: None,
        args: Vec::new(),
        env: BTreeMap::new(),
        model: Some("m-1".into()),
        cwd: std::env::temp_dir(),
        permissions: Permissions::Read,
        timeouts: Timeouts {
            first_byte: Duration::from_secs(60),
            silence: Duration::from_secs(60),
            total: Duration::from_secs(90),
            after_final: Duration::from_secs(60),
            grace: Duration::from_millis(300),
        },
        limits: Limits::default(),
        resources: tertulia_agent::ResourceLimits::default(),
    }
}

/// Returns the text of a turn. Fails if the turn has failed.
#[track_caller]
pub(crate) fn text_of(report: &TurnReport) -> &str {
    assert_eq!(report.output.error, None);
    &report.output.final_text.as_ref().unwrap().text
}

/// Returns the class and the message of a failed turn. Fails if the turn has succeeded.
#[track_caller]
pub(crate) fn error_of(report: &TurnReport) -> (ErrorClass, &str) {
    let error = report.output.error.as_ref().expect("a turn that failed");
    (error.class, &error.message)
}
