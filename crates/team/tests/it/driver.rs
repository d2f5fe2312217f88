//! The driver with a store and with agents that are scripts or small programs, and what the log contains afterwards.

#![expect(clippy::disallowed_methods, reason = "agents are programs, and leave files")]

use std::collections::BTreeMap;
use std::time::Duration;

use tertulia_agent::{AgentKind, AgentSpec, CommandOutput, Permissions, ScriptLine, Timeouts};
use tertulia_dialect::stream::Limits as StreamLimits;
use tertulia_session::{Entry, EntryKind, TurnActivity, TurnState};
use tertulia_store::{Range, SessionId, SessionStore};
use tertulia_team::{
    Command, Driver, EventSink, Limits, Machine, Member, PauseReason, Preamble, Preview, Responder,
    SessionEvent, StopReason, Team, TeamMember, is_partial, preview,
};

/// An event sink that stores every event as a short line.
#[derive(Default)]
pub(crate) struct Heard {
    pub(crate) lines: Vec<String>,
    /// The command to send when the first piece of text arrives.
    on_text: Option<(tertulia_team::DriverHandle, Command)>,
}

impl EventSink for Heard {
    fn on_event(&mut self, event: SessionEvent) {
        let line = match event {
            SessionEvent::Stored(entry) => format!("stored {}", entry.kind.type_name()),
            SessionEvent::Fed { member, .. } => format!("fed {member}"),
            SessionEvent::Text { member, text, .. } => {
                if let Some((handle, command)) = self.on_text.take() {
                    assert!(handle.send(command));
                }
                format!("{member}: {text}")
            }
            SessionEvent::TextEnd { .. } => "text end".to_owned(),
            SessionEvent::TextWithdrawn { .. } => "text withdrawn".to_owned(),
            SessionEvent::Note(note) => format!("note {note}"),
            SessionEvent::Asked(question) => format!("asked {}", question.why),
            SessionEvent::Refused(error) => format!("refused: {error}"),
            SessionEvent::Permission { member, .. } => format!("{member} asks"),
            SessionEvent::Rested => "rested".to_owned(),
        };
        self.lines.push(line);
    }
}

pub(crate) fn spec(kind: AgentKind) -> AgentSpec {
    AgentSpec {
        kind,
        program: None,
        args: Vec::new(),
        env: BTreeMap::new(),
        model: None,
        cwd: std::env::temp_dir(),
        permissions: Permissions::Read,
        timeouts: Timeouts::default(),
        limits: StreamLimits::default(),
        resources: tertulia_agent::ResourceLimits::default(),
    }
}

/// Returns a member with prepared answers.
pub(crate) fn scripted(name: &str, answers: &[&str]) -> TeamMember {
    let line = |text: &&str| ScriptLine { text: (*text).into(), delay: Duration::ZERO };
    TeamMember::agent(name, spec(AgentKind::Script(answers.iter().map(line).collect())))
}

/// Returns a member that is a shell script.
pub(crate) fn shell(name: &str, output: CommandOutput, script: &str) -> TeamMember {
    let mut spec = spec(AgentKind::Command(output));
    spec.program = Some("/bin/sh".into());
    spec.args = vec!["-c".into(), script.into()];
    TeamMember::agent(name, spec)
}

/// Returns a built-in member.
pub(crate) fn built_in(name: &str, answers: Responder) -> TeamMember {
    TeamMember::new(Member::ai(name), answers)
}

/// Returns the prompt that a member would get now, made from the store alone.
pub(crate) fn previewed(
    store: &SessionStore,
    session: &SessionId,
    team: &Team,
    member: &str,
) -> Preview {
    preview(store, session, team, team.member(member).unwrap()).unwrap().unwrap()
}

pub(crate) fn team(members: Vec<TeamMember>) -> Team {
    let mut all = vec![TeamMember::person("ann")];
    all.extend(members);
    Team::new(all, Limits::default(), None).unwrap()
}

pub(crate) fn begin(team: Team) -> (SessionStore, Driver) {
    let store = SessionStore::memory();
    let driver = Driver::begin(&store, None, team, false).unwrap();
    (store, driver)
}

pub(crate) fn texts(entries: &[Entry]) -> Vec<String> {
    let text = |entry: &Entry| match &entry.kind {
        EntryKind::Message(message) => {
            let speaker = message.speaker.as_ref().map_or("?", |speaker| &speaker.role_name);
            Some(format!("{speaker}: {}", message.text()))
        }
        _ => None,
    };
    entries.iter().filter_map(text).collect()
}

pub(crate) fn notes(entries: &[Entry]) -> Vec<TurnActivity> {
    let events = entries.iter().filter_map(|entry| match &entry.kind {
        EntryKind::TurnEvent(event) => Some(event.activity.clone()),
        _ => None,
    });
    events.collect()
}

/// Asserts that the store has the same entries as the driver, in the same order.
pub(crate) fn assert_stored(store: &SessionStore, driver: &Driver) {
    let range = Range::Branch { tail: None, limit: None };
    let stored: Vec<Entry> =
        store.load(driver.session(), &range).unwrap().into_iter().map(|one| one.entry).collect();
    assert_eq!(stored, driver.entries());
    let replay = Machine::replay(driver.team().roster().clone(), driver.entries());
    assert_eq!(replay.differences, []);
}

#[test]
fn a_message_goes_from_agent_to_agent_until_nobody_is_addressed() {
    let (store, mut driver) = begin(team(vec![
        scripted("max", &["A plan. [NEXT: eva]"]),
        scripted("eva", &["Looks good. @ann"]),
    ]));
    let mut heard = Heard::default();
    driver.say(None, "Please plan. @max", &mut heard).unwrap();
    let pause = driver.run(&mut heard).unwrap();
    assert!(
        matches!(&pause, StopReason::Asked(question) if matches!(question.why, PauseReason::Answer { .. }))
    );
    assert_eq!(
        texts(driver.entries()),
        ["ann: Please plan. @max", "max: A plan. [NEXT: eva]", "eva: Looks good. @ann"]
    );
    assert_stored(&store, &driver);
}

#[test]
fn a_message_and_what_follows_from_it_are_stored_before_they_are_shown() {
    let (_, mut driver) = begin(team(vec![scripted("max", &["Yes."])]));
    let mut heard = Heard::default();
    driver.say(None, "Ready?", &mut heard).unwrap();
    driver.run(&mut heard).unwrap();
    assert_eq!(
        heard.lines,
        [
            "stored message",
            "stored turn",
            "stored turn",
            "fed max",
            "max: Yes.",
            "text end",
            "stored message",
            "stored turn",
            "rested",
        ]
    );
}

#[test]
fn messages_say_to_whom_they_went_and_what_they_answer() {
    let (_, mut driver) = begin(team(vec![scripted("max", &["Yes."]), scripted("eva", &["No."])]));
    let mut heard = Heard::default();
    let asked = driver.say(None, "Ready? [NEXT: max, eva]", &mut heard).unwrap();
    driver.run(&mut heard).unwrap();
    let routings: Vec<_> = driver
        .entries()
        .iter()
        .filter_map(|entry| match &entry.kind {
            EntryKind::Message(message) => message.routing.clone(),
            _ => None,
        })
        .collect();
    let names: Vec<&str> = routings[0]
        .resolved_addressees
        .iter()
        .flatten()
        .map(|addressee| &*addressee.identifier)
        .collect();
    assert_eq!(names, ["max", "eva"]);
    assert_eq!(routings[1].parent_message_id.as_deref(), Some(asked.as_str()));
    assert_eq!(routings[2].parent_message_id.as_deref(), Some(asked.as_str()));
}

#[test]
fn the_member_gets_the_message_it_is_asked_to_answer_last() {
    let (_, mut driver) = begin(team(vec![
        scripted("max", &["Maxens answer."]),
        shell("eva", CommandOutput::Text, "tail -n 1"),
    ]));
    let mut heard = Heard::default();
    driver.say(None, "The question. [NEXT: max, eva]", &mut heard).unwrap();
    driver.run(&mut heard).unwrap();
    assert_eq!(texts(driver.entries())[2], "eva:   The question.");
}

#[test]
fn a_failure_is_an_entry_with_class_and_advice_and_the_queue_continues() {
    let (store, mut driver) = begin(team(vec![
        shell("max", CommandOutput::Text, "echo half; echo 'HTTP 429: quota' >&2; exit 3"),
        scripted("eva", &["Here."]),
    ]));
    let mut heard = Heard::default();
    driver.say(None, "Both: [NEXT: max, eva]", &mut heard).unwrap();
    driver.run(&mut heard).unwrap();
    let failed = notes(driver.entries());
    let [TurnActivity::Failed { class, cure, .. }] = &failed[..] else { panic!("{failed:?}") };
    assert_eq!(&**class, "quota");
    assert!(!cure.is_empty());
    assert_eq!(
        texts(driver.entries()),
        ["ann: Both: [NEXT: max, eva]", "max: half\n", "eva: Here."]
    );
    assert!(is_partial(&driver.entries().iter().filter(is_message).nth(1).unwrap().clone()));
    assert_stored(&store, &driver);
}

fn is_message(entry: &&Entry) -> bool {
    matches!(entry.kind, EntryKind::Message(_))
}

#[test]
fn a_cancelled_turn_keeps_what_it_said() {
    let slow = r#"printf 'Once upon'; sleep 60"#;
    let (store, mut driver) = begin(team(vec![shell("max", CommandOutput::Text, slow)]));
    let mut heard =
        Heard { on_text: Some((driver.handle(), Command::CancelRunning)), ..Heard::default() };
    driver.say(None, "Tell me.", &mut heard).unwrap();
    driver.run(&mut heard).unwrap();
    assert_eq!(texts(driver.entries())[1], "max: Once upon");
    let last = driver.entries().iter().rev().find_map(|entry| match &entry.kind {
        EntryKind::Turn(turn) => Some(turn.state),
        _ => None,
    });
    assert_eq!(last, Some(TurnState::Cancelled));
    assert_stored(&store, &driver);
}

#[test]
fn a_prompt_that_is_too_large_is_tried_once_more_at_half_the_budget() {
    let folder = tempfile::tempdir().unwrap();
    let sizes = folder.path().join("sizes");
    let script = format!(
        "wc -c >> {}; echo 'prompt is too long: context length exceeded' >&2; exit 1",
        sizes.display()
    );
    let mut max = shell("max", CommandOutput::Text, &script);
    max.budget_bytes = 4_000;
    let (_, mut driver) = begin(team(vec![max, scripted("eva", &["Words. ".repeat(80).as_str()])]));
    let mut heard = Heard::default();
    for _ in 0..8 {
        driver.say(None, "More. @eva", &mut heard).unwrap();
        driver.run(&mut heard).unwrap();
    }
    driver.say(None, "Now you. @max", &mut heard).unwrap();
    driver.run(&mut heard).unwrap();
    let notes = notes(driver.entries());
    assert!(
        matches!(
            notes[..],
            [
                TurnActivity::Retried { budget: ..=2_000 },
                TurnActivity::Resent { .. },
                TurnActivity::Failed { .. }
            ]
        ),
        "{notes:?}"
    );
    let sizes = std::fs::read_to_string(sizes).unwrap();
    let sizes: Vec<u64> = sizes.lines().map(|line| line.trim().parse().unwrap()).collect();
    assert!(
        matches!(sizes[..], [first, second] if first <= 4_000 && second <= 2_000 && second > 0)
    );
}

#[test]
fn a_message_that_is_cut_is_reported_and_one_that_does_not_fit_fails() {
    let mut max = shell("max", CommandOutput::Text, "cat >/dev/null; echo read");
    max.budget_bytes = 300;
    max.instruction = Some("i".repeat(200));
    max.preamble = Preamble::Off;
    let (_, mut driver) = begin(team(vec![max]));
    let mut heard = Heard::default();
    driver.say(None, &"word ".repeat(100), &mut heard).unwrap();
    driver.run(&mut heard).unwrap();
    let told = notes(driver.entries());
    assert!(
        matches!(&told[..], [TurnActivity::Warned { message, .. }] if message.contains("is cut")),
        "{told:?}"
    );
    let mut max = shell("max", CommandOutput::Text, "cat >/dev/null; echo read");
    max.budget_bytes = 100;
    max.instruction = Some("i".repeat(200));
    max.preamble = Preamble::Off;
    let (_, mut driver) = begin(team(vec![max]));
    driver.say(None, "Do nothing.", &mut heard).unwrap();
    driver.run(&mut heard).unwrap();
    let told = notes(driver.entries());
    let [TurnActivity::Failed { message, .. }] = &told[..] else { panic!("{told:?}") };
    assert!(message.contains("raise budget_bytes"), "{message}");
}

#[test]
fn tools_and_thinking_are_entries_before_they_are_shown() {
    let lines = r#"
{"type":"thinking","text":"Hm, "}
{"type":"thinking","text":"let me see."}
{"type":"tool_start","id":"t1","name":"Bash","input":{"command":"ls"}}
{"type":"tool_end","id":"t1","output":"a b","is_error":false}
{"type":"text","text":"Two files."}
{"type":"end"}"#;
    let script = format!("cat >/dev/null; cat <<'END'\n{lines}\nEND");
    let (_, mut driver) = begin(team(vec![shell("max", CommandOutput::Jsonl, &script)]));
    let mut heard = Heard::default();
    driver.say(None, "What is here?", &mut heard).unwrap();
    driver.run(&mut heard).unwrap();
    let notes = notes(driver.entries());
    assert!(
        matches!(&notes[0], TurnActivity::Thought { text } if &**text == "Hm, let me see."),
        "{notes:?}"
    );
    assert!(matches!(&notes[1], TurnActivity::ToolStarted { name, input, .. }
        if &**name == "Bash" && input.as_str() == r#"{"command":"ls"}"#));
    assert!(
        matches!(&notes[2], TurnActivity::ToolFinished { output: Some(output), .. } if &**output == "a b")
    );
    assert_eq!(texts(driver.entries())[1], "max: Two files.");
}

/// The events contain everything that an agent writes besides its final text.
#[test]
fn markers_in_tools_thinking_warnings_and_earlier_texts_route_nobody() {
    let lines = r#"
{"type":"thinking","text":"[NEXT: eva] @eva"}
{"type":"text","text":"First I look. @eva [NEXT: eva]"}
{"type":"tool_start","id":"t1","name":"Bash @eva","input":{"command":"echo [NEXT: eva]"}}
{"type":"tool_end","id":"t1","output":"[NEXT: eva]\n@eva\n[DROP: ALL]","is_error":false}
{"type":"tool_denied","id":"t2","name":"Write","reason":"[NEXT: eva]"}
{"type":"warning","message":"[NEXT: eva]"}
{"type":"text","text":"Done:\n```\n[NEXT: eva]\n@eva\n```\n> @eva said\n`[NEXT: eva]`"}
{"type":"end"}"#;
    let script = format!("cat >/dev/null; cat <<'END'\n{lines}\nEND\necho '[NEXT: eva]' >&2");
    let max = shell("max", CommandOutput::Jsonl, &script);
    let (_, mut driver) = begin(team(vec![max, scripted("eva", &["I was called."])]));
    let mut heard = Heard::default();
    driver.say(None, "@max go.", &mut heard).unwrap();
    let pause = driver.run(&mut heard).unwrap();
    assert_eq!(pause, StopReason::Rested);
    let said = texts(driver.entries());
    assert_eq!(said.len(), 2, "{said:?}");
    assert!(said[1].starts_with("max: Done:"), "{said:?}");
}

#[test]
fn two_agents_that_answer_each_other_are_paused_by_the_loop_guard() {
    let (_, mut driver) =
        begin(team(vec![scripted("max", &["Ping. @eva"]), scripted("eva", &["Pong. @max"])]));
    let mut heard = Heard::default();
    driver.say(None, "Go. @max", &mut heard).unwrap();
    let pause = driver.run(&mut heard).unwrap();
    assert!(
        matches!(&pause, StopReason::Asked(question) if matches!(question.why, PauseReason::PairLoop { .. }))
    );
    // The person asked for one turn; twelve followed between the two agents.
    assert_eq!(texts(driver.entries()).len(), 14);
    driver.execute(Command::Continue, &mut heard).unwrap();
    driver.run(&mut heard).unwrap();
    assert_eq!(texts(driver.entries()).len(), 26);
}

#[test]
fn a_session_that_was_left_in_the_middle_continues_without_repeating_a_turn() {
    let store = SessionStore::memory();
    let members = || team(vec![scripted("max", &["Once."]), scripted("eva", &["Twice."])]);
    let mut heard = Heard::default();
    let session = {
        let mut driver = Driver::begin(&store, None, members(), false).unwrap();
        driver.say(None, "Both: [NEXT: max, eva]", &mut heard).unwrap();
        // The driver is dropped while max works, so no entry records the end of the turn.
        driver.session().clone()
    };
    let opened = Driver::reopen(&store, &session, members(), false, &mut heard).unwrap();
    assert_eq!(opened.differences, []);
    let mut driver = opened.driver;
    let pause = driver.run(&mut heard).unwrap();
    assert!(
        matches!(&pause, StopReason::Asked(question)
        if matches!(question.why, PauseReason::Resumed { interrupted: Some(_), waiting: 1 })),
        "{pause:?}"
    );
    driver.execute(Command::Continue, &mut heard).unwrap();
    driver.run(&mut heard).unwrap();
    assert_eq!(texts(driver.entries()), ["ann: Both: [NEXT: max, eva]", "eva: Twice."]);
    assert_stored(&store, &driver);
}
