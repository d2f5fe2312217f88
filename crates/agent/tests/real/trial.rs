//! One turn of one program: a model server with a script, a home and a working folder, and all recorded events.

use std::path::Path;
use std::sync::atomic::{AtomicU32, Ordering};
use std::thread;
use std::time::Duration;

use tempfile::TempDir;
use tertulia_agent::{
    AgentSpec, CancelToken, Containment, Listener, Memory, Mentions, PermissionAnswer,
    PermissionRequest, TurnReport, TurnRequest,
};
use tertulia_dialect::stream::{ErrorClass, StreamEvent};
use tertulia_fake_models::{Asked, FakeModels, Script, Step};

use crate::program::Program;

/// Number of the next trial, so that each has its own turn id.
static TRIALS: AtomicU32 = AtomicU32::new(1);

/// Time between two checks of a condition.
const LOOK: Duration = Duration::from_millis(50);

/// A program that is ready for a turn.
pub(crate) struct Trial {
    pub(crate) models: FakeModels,
    pub(crate) spec: AgentSpec,
    pub(crate) system: Option<&'static str>,
    /// The containment to use instead of the strongest one.
    pub(crate) containment: Option<Containment>,
    /// Contains `home` and `work`.
    folder: TempDir,
}

/// The result of a trial.
pub(crate) struct Outcome {
    pub(crate) report: TurnReport,
    pub(crate) events: Vec<StreamEvent>,
    pub(crate) asked: Vec<Asked>,
}

impl Trial {
    /// Creates a trial of a program whose model plays these steps.
    pub(crate) fn new(program: Program, steps: impl IntoIterator<Item = Step>) -> Self {
        let models = FakeModels::start(Script::new(steps)).expect("a server on loopback");
        // The folder is not among the temporary files, because Codex would not accept it as its home.
        let home = std::env::var_os("HOME").expect("run by `cargo xtask agents`");
        let folder = tempfile::Builder::new().prefix("trial-").tempdir_in(home).expect("a folder");
        for name in ["home", "work"] {
            std::fs::create_dir(folder.path().join(name)).expect("a folder");
        }
        let (home, work) = (folder.path().join("home"), folder.path().join("work"));
        let spec = program.spec(&models.url(), &home, &work);
        Self { models, spec, system: None, containment: None, folder }
    }

    /// Returns the working folder of the program.
    pub(crate) fn work(&self) -> &Path {
        &self.spec.cwd
    }

    /// Returns a path that is in the environment of every process of this trial and of no other.
    pub(crate) fn home(&self) -> std::path::PathBuf {
        self.folder.path().join("home")
    }

    /// Runs the turn.
    pub(crate) fn run(&self, prompt: &str) -> Outcome {
        self.run_until(prompt, || false)
    }

    /// Runs the turn, and cancels it as soon as this condition is true.
    pub(crate) fn run_until(&self, prompt: &str, is_time: impl Fn() -> bool + Sync) -> Outcome {
        self.run_with((prompt, 0), Memory::Fresh, is_time)
    }

    /// Runs a turn of an agent that keeps its session. The number is the start of the message in the prompt.
    pub(crate) fn run_with(
        &self,
        (prompt, message_start): (&str, usize),
        memory: Memory<'_>,
        is_time: impl Fn() -> bool + Sync,
    ) -> Outcome {
        let turn = format!("real-{}", TRIALS.fetch_add(1, Ordering::Relaxed));
        let request = TurnRequest {
            turn: &turn,
            number: 0,
            prompt,
            mentions: Mentions::none(),
            system: self.system,
            body: None,
            memory,
            message_start,
        };
        let (cancel, over) = (CancelToken::new(), CancelToken::new());
        let mut heard = Heard::default();
        let report = thread::scope(|scope| {
            scope.spawn(|| {
                while !over.is_cancelled() {
                    if is_time() {
                        cancel.cancel();
                        return;
                    }
                    thread::sleep(LOOK);
                }
            });
            let (spec, heard) = (&self.spec, &mut heard);
            let report = match self.containment {
                Some(held) => {
                    tertulia_agent::run_in_containment(held, spec, &request, &cancel, heard)
                }
                None => tertulia_agent::run(spec, &request, &cancel, heard),
            };
            over.cancel();
            report
        });
        Outcome { report, events: heard.0, asked: self.models.asked() }
    }
}

impl Outcome {
    /// Returns the answer. Fails if the turn has failed.
    #[track_caller]
    pub(crate) fn text(&self) -> &str {
        let output = &self.report.output;
        assert_eq!(output.error, None, "{:#?}", self.report);
        &output.final_text.as_ref().expect("a final text").text
    }

    /// Returns the only main request. Fails if there are more or none.
    #[track_caller]
    pub(crate) fn only_request(&self) -> &Asked {
        let [asked] = &*self.asked else {
            panic!("{} requests: {:#?}", self.asked.len(), self.report)
        };
        asked
    }

    /// Returns the error class. Fails if the turn has succeeded.
    #[track_caller]
    pub(crate) fn class(&self) -> ErrorClass {
        let error = self.report.output.error.as_ref();
        error.unwrap_or_else(|| panic!("it succeeded: {:#?}", self.report)).class
    }

    /// Returns the pieces of text that were not withdrawn, in order.
    pub(crate) fn pieces(&self) -> Vec<&str> {
        let mut pieces = Vec::new();
        let mut first_of_this = 0;
        for event in &self.events {
            match event {
                StreamEvent::TextDelta { text } => pieces.push(text.as_str()),
                StreamEvent::TextEnd => first_of_this = pieces.len(),
                StreamEvent::TextWithdrawn => pieces.truncate(first_of_this),
                _ => {}
            }
        }
        pieces
    }
}

/// A listener that records events.
#[derive(Default)]
pub(crate) struct Heard(Vec<StreamEvent>);

impl Listener for Heard {
    fn event(&mut self, event: StreamEvent) {
        self.0.push(event);
    }

    fn permit(&mut self, _: &PermissionRequest) -> PermissionAnswer {
        PermissionAnswer::Deny
    }
}
