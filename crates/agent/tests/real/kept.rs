//! Agents that keep their session: every request extends the one before, with a process that stays alive, and with a
//! new process that continues the session.

use serde_json::Value;
use tertulia_agent::{KeptAgents, Memory, MemorySupport, NativeHead, Permissions, memory_support};
use tertulia_dialect::stream::{Scope, StreamEvent};
use tertulia_fake_models::{Asked, Script, Step};

use crate::program::Program;
use crate::traces::processes_of;
use crate::trial::{Outcome, Trial};

/// The turns of a conversation with one program.
pub(crate) struct Conversation {
    pub(crate) trial: Trial,
    pub(crate) kept: KeptAgents,
    pub(crate) head: Option<NativeHead>,
}

impl Conversation {
    /// Creates a conversation with a model that answers with the text after `say:`.
    pub(crate) fn new(program: Program) -> Self {
        Self::with_steps(program, [])
    }

    pub(crate) fn with_steps(program: Program, steps: impl IntoIterator<Item = Step>) -> Self {
        let mut trial = Trial::new(program, steps);
        trial.system = Some("You are Max. Answer briefly.");
        Self { trial, kept: KeptAgents::new(), head: None }
    }

    pub(crate) fn memory(&self) -> Memory<'_> {
        let (kept, member) = (&self.kept, "max");
        match &self.head {
            None => Memory::Begin { kept, member },
            Some(head) => Memory::Continue { kept, member, head },
        }
    }

    /// Runs a turn, and remembers the state that it leaves.
    #[track_caller]
    pub(crate) fn say(&mut self, context: &str, message: &str) -> Outcome {
        let prompt = format!("{context}{message}");
        let outcome = self.trial.run_with((&prompt, context.len()), self.memory(), || false);
        assert_eq!(outcome.report.drift, None, "{:#?}", outcome.report);
        self.head.clone_from(&outcome.report.native);
        outcome
    }

    #[track_caller]
    pub(crate) fn say_well(&mut self, message: &str) -> Outcome {
        let outcome = self.say("", message);
        outcome.text();
        assert!(self.head.is_some(), "{:#?}", outcome.report);
        outcome
    }

    pub(crate) fn check(&self) -> Result<(), tertulia_agent::Drift> {
        let head = self.head.as_ref().expect("a turn before");
        self.kept.check("max", &self.trial.spec, self.trial.system, head)
    }
}

/// Returns the messages of a request, without marks for caches. A text that is the whole content may be written as a
/// list.
fn messages(asked: &Asked) -> Vec<Value> {
    let body: Value = serde_json::from_str(&asked.body).expect("a request in JSON");
    let list = body.get("messages").or(body.get("input")).expect("messages");
    let mut messages = list.as_array().expect("a list").clone();
    messages.iter_mut().for_each(normalise);
    messages
}

fn normalise(value: &mut Value) {
    match value {
        Value::Object(fields) => {
            fields.remove("cache_control");
            if let Some(Value::String(text)) = fields.get("content") {
                let content = serde_json::json!([{ "type": "text", "text": text }]);
                fields.insert("content".to_owned(), content);
            }
            fields.values_mut().for_each(normalise);
        }
        Value::Array(elements) => elements.iter_mut().for_each(normalise),
        _ => {}
    }
}

/// Fails unless each request begins with the messages of the one before, and has the same system text and tools.
#[track_caller]
pub(crate) fn check_extends(asked: &[Asked]) {
    for pair in asked.windows(2) {
        let [before, after] = pair else { continue };
        let (old, new) = (messages(before), messages(after));
        assert!(new.len() > old.len(), "{} and {} messages", old.len(), new.len());
        for (old, new) in old.iter().zip(&new) {
            assert_eq!(old, new, "a message has changed");
        }
        assert_eq!(before.system, after.system);
        assert_eq!(before.tools, after.tools);
    }
}

macro_rules! for_each_kept_program {
    ($($claim:ident),* $(,)?) => {
        mod claude {
            $(#[test] fn $claim() { super::$claim(crate::program::Program::Claude) })*
        }
        mod codex {
            $(#[test] fn $claim() { super::$claim(crate::program::Program::Codex) })*
        }
    };
}
pub(crate) use for_each_kept_program;

macro_rules! for_each_resumed_program {
    ($($claim:ident),* $(,)?) => {
        mod opencode {
            $(#[test] fn $claim() { super::$claim(crate::program::Program::OpenCode) })*
        }
        mod copilot {
            $(#[test] fn $claim() { super::$claim(crate::program::Program::Copilot) })*
        }
        mod pi {
            $(#[test] fn $claim() { super::$claim(crate::program::Program::Pi) })*
        }
    };
}
pub(crate) use for_each_resumed_program;

mod all {
    use super::{each_request_extends_the_one_before, the_usage_is_that_of_the_turn};

    super::for_each_kept_program![
        each_request_extends_the_one_before,
        the_usage_is_that_of_the_turn,
    ];
    super::for_each_resumed_program![
        each_request_extends_the_one_before,
        the_usage_is_that_of_the_turn,
    ];
}

for_each_kept_program![
    the_process_stays_and_ends_with_its_owner,
    a_process_that_was_ended_is_continued_by_another,
    a_tool_belongs_to_its_turn,
    a_cancelled_turn_ends_its_process_and_the_next_one_continues,
    what_others_said_precedes_the_message,
];

fn each_request_extends_the_one_before(program: Program) {
    let mut talk = Conversation::new(program);
    // A process that stays answers in milliseconds.
    let turns = if memory_support(&talk.trial.spec) == MemorySupport::Kept { 40 } else { 4 };
    for number in 1..=turns {
        let outcome = talk.say_well(&format!("This is question {number}. say: answer {number}"));
        assert_eq!(outcome.text(), format!("answer {number}"));
    }
    let asked = talk.trial.models.asked();
    assert_eq!(asked.len(), turns, "one request for each turn");
    check_extends(&asked);
    assert_eq!(talk.check(), Ok(()));
}

fn the_usage_is_that_of_the_turn(program: Program) {
    let mut talk = Conversation::new(program);
    let mut outputs = Vec::new();
    for words in ["one", "one two three four five six seven eight nine", "one"] {
        let outcome = talk.say_well(&format!("Question. say: {words}"));
        let Some(usage) = outcome.report.output.usage else { return };
        assert_eq!(usage.scope, Scope::Turn, "{usage:?}");
        outputs.push(usage.output.expect("counted output"));
        if let Some(cost) = outcome.report.output.cost {
            assert_eq!(cost.scope, Scope::Turn);
        }
    }
    assert!(outputs[1] > outputs[0], "{outputs:?}");
    assert_eq!(outputs[0], outputs[2], "the third turn is as short as the first");
}

fn the_process_stays_and_ends_with_its_owner(program: Program) {
    let mut talk = Conversation::new(program);
    assert_eq!(memory_support(&talk.trial.spec), MemorySupport::Kept);
    talk.say_well("say: one");
    assert_eq!(talk.kept.idle_members(), [Box::from("max")]);
    let first = processes_of(&talk.trial.home(), "no such word");
    assert!(!first.is_empty());
    talk.say_well("say: two");
    let second = processes_of(&talk.trial.home(), "no such word");
    // Helpers of the program may come and go.
    assert!(second.contains(&first[0]), "another process answers: {first:#?} {second:#?}");
    let Conversation { trial, kept, .. } = talk;
    drop(kept);
    let left = processes_of(&trial.home(), "no such word");
    assert!(left.is_empty(), "left behind: {left:#?}");
}

fn a_process_that_was_ended_is_continued_by_another(program: Program) {
    let mut talk = Conversation::new(program);
    talk.say_well("First. say: one");
    talk.kept.end("max");
    assert!(processes_of(&talk.trial.home(), "no such word").is_empty());
    assert_eq!(talk.check(), Ok(()));
    talk.say_well("Second. say: two");
    talk.kept.end_all();
    talk.say_well("Third. say: three");
    check_extends(&talk.trial.models.asked());
}

fn a_tool_belongs_to_its_turn(program: Program) {
    let steps = [
        Step::text("Ready."),
        Step::Shell("echo from-a-tool".into()),
        Step::text("Done."),
        Step::text("Bye."),
    ];
    let mut talk = Conversation::with_steps(program, steps);
    talk.trial.spec.permissions = Permissions::Full;
    talk.say_well("Hello.");
    let outcome = talk.say_well("Run it.");
    assert_eq!(outcome.text(), "Done.");
    let finished = |event: &&StreamEvent| matches!(event, StreamEvent::ToolFinished { .. });
    assert_eq!(outcome.events.iter().filter(finished).count(), 1, "{:#?}", outcome.events);
    let outcome = talk.say_well("Thank you.");
    assert_eq!(outcome.text(), "Bye.");
    assert_eq!(outcome.events.iter().filter(finished).count(), 0, "{:#?}", outcome.events);
    check_extends(&talk.trial.models.asked());
}

fn a_cancelled_turn_ends_its_process_and_the_next_one_continues(program: Program) {
    let mut talk = Conversation::new(program);
    talk.say_well("say: one");
    let stall = Script::new([]).when("stall", [Step::Stall("The beginning".into())]);
    for model in ["claude-opus-5-5", "gpt-6.1-sol"] {
        talk.trial.models.script_for(model, stall.clone());
    }
    let is_asked = || talk.trial.models.asked().len() > 1;
    let outcome = talk.trial.run_with(("Please stall.", 0), talk.memory(), is_asked);
    assert!(outcome.report.output.error.is_some(), "{:#?}", outcome.report);
    assert_eq!(talk.kept.idle_members(), [] as [Box<str>; 0]);
    let left = processes_of(&talk.trial.home(), "no such word");
    assert!(left.is_empty(), "left behind: {left:#?}");
    talk.head.clone_from(&outcome.report.native);
    assert!(talk.head.is_some(), "its session has the prompt: {:#?}", outcome.report);
    let outcome = talk.say_well("Go on. say: two");
    assert_eq!(outcome.text(), "two");
    let last = outcome.asked.last().expect("a request");
    assert_eq!(last.body.matches("Please stall.").count(), 1);
}

fn what_others_said_precedes_the_message(program: Program) {
    let mut talk = Conversation::new(program);
    talk.say_well("say: one");
    let outcome = talk.say("Eva said: the roof is red.\n\n", "What is red? say: two");
    assert_eq!(outcome.text(), "two");
    let asked = outcome.asked.last().expect("a request");
    assert_eq!(asked.body.matches("Eva said: the roof is red.").count(), 1);
    if program == Program::Codex {
        assert_eq!(asked.last_message, "What is red? say: two", "it is an item of its own");
    }
    check_extends(&outcome.asked);
}
