//! Tests what the chat shows of a turn, from the events of a session.

use std::sync::Arc;
use std::time::Duration;

use tertulia_session::{Cause, Fields, NewEntry, QueueRule, Speaker, SpeakerType, Usage, Usd};
use tertulia_team::SCRIBE;
use tertulia_team::file::{MemberFile, TeamFile};
use tertulia_team::{Limits, Member, Note, PermissionNumber, PermissionRequest, Team, TeamMember};

use super::*;

struct Harness {
    presenter: Presenter,
    start: Instant,
    shown: Vec<String>,
}

impl Harness {
    fn new() -> Self {
        let file = TeamFile::new(vec![MemberFile::human("ann"), MemberFile::ai("max", SCRIBE)]);
        let mut max = TeamMember::scribe("max");
        max.member = Member { display_name: Some("Max".into()), ..Member::ai("max") };
        let members = vec![TeamMember::person("ann"), max];
        let team = Team::new(members, Limits::default(), None).unwrap();
        let presenter = Presenter::new(DisplayNames::new(&team, &file), 60);
        Self { presenter, start: Instant::now(), shown: Vec::new() }
    }

    fn on_chat_event(&mut self, event: ChatEvent) {
        let lines = self.presenter.on_chat_event(event, self.start + Duration::from_millis(1_500));
        self.shown.extend(lines.iter().map(Line::text));
    }

    fn stored(&mut self, kind: EntryKind) {
        self.on_chat_event(ChatEvent::Session(SessionEvent::Stored(Arc::new(
            NewEntry::new(kind).with_content_id(),
        ))));
    }

    fn turn(&mut self, turn_id: &str, state: TurnState, cause: Cause) {
        self.turn_of("max", turn_id, state, cause);
    }

    fn turn_of(&mut self, member: &str, turn_id: &str, state: TurnState, cause: Cause) {
        let turn = Box::new(Turn {
            member: member.into(),
            state,
            turn_id: Some(turn_id.into()),
            cause,
            cause_source: None,
            error_class: None,
            prompt_hash: None,
            prompt_recipe: None,
            native_session_id: None,
            memory: None,
            native_head: None,
            unknown: Fields::NONE,
        });
        if state == TurnState::Started {
            self.presenter.on_chat_event(
                ChatEvent::Session(SessionEvent::Stored(Arc::new(
                    NewEntry::new(EntryKind::Turn(turn)).with_content_id(),
                ))),
                self.start,
            );
        } else {
            self.stored(EntryKind::Turn(turn));
        }
    }

    fn says(&mut self, name: &str, kind: SpeakerType, text: &str) {
        self.stored(EntryKind::Message(Message::said(Speaker::new(name, name, kind), text)));
    }

    fn pending(&self) -> Vec<String> {
        self.presenter.pending(3).iter().map(Line::text).collect()
    }

    fn text(&mut self, pieces: &[&str]) {
        for piece in pieces {
            self.text_of("max", "e-1", piece);
        }
    }

    fn text_of(&mut self, member: &str, turn_id: &str, piece: &str) {
        self.on_chat_event(ChatEvent::Session(SessionEvent::Text {
            turn: turn_id.into(),
            member: member.into(),
            text: piece.to_owned(),
        }));
    }

    /// Starts a turn of Max and one of Eva.
    fn two_turns(&mut self) {
        self.turn_of("max", "e-1", TurnState::Started, Cause::Chosen { rule: QueueRule::InTurn });
        self.turn_of("eva", "e-2", TurnState::Started, Cause::Chosen { rule: QueueRule::InTurn });
    }

    fn done(&mut self, member: &str, turn_id: &str, text: &str) {
        self.says(member, SpeakerType::Ai, text);
        self.turn_of(member, turn_id, TurnState::Done, Cause::Answered { entry: "m2".into() });
    }
}

#[test]
fn the_time_of_a_turn_that_began_before_counts_from_its_start() {
    let mut harness = Harness::new();
    let started = Turn {
        member: "max".into(),
        state: TurnState::Started,
        turn_id: Some("e-1".into()),
        cause: Cause::Chosen { rule: QueueRule::InTurn },
        cause_source: None,
        error_class: None,
        prompt_hash: None,
        prompt_recipe: None,
        native_session_id: None,
        memory: None,
        native_head: None,
        unknown: Fields::NONE,
    };
    let entry = NewEntry::new(EntryKind::Turn(Box::new(started))).with_content_id();
    let ago = Duration::from_secs(65);
    // Later than the start of the machine, so that the start of the turn can be represented.
    harness.start = Instant::now() + ago;
    harness.on_chat_event(ChatEvent::Past { entry: Arc::new(entry), ago });
    let running = harness.presenter.running_turn.as_ref().unwrap();
    let now = harness.start + Duration::from_millis(1_500);
    assert_eq!(running.time(now), ago);
}

#[test]
fn an_answer_that_streamed_in_is_not_reported_again() {
    let mut harness = Harness::new();
    harness.turn("e-1", TurnState::Started, Cause::Chosen { rule: QueueRule::InTurn });
    harness.text(&["It **is", "** so.\nAnd", " more"]);
    assert_eq!(harness.shown, ["Max:", "It is so."]);
    assert_eq!(harness.pending(), ["And more"]);
    harness.stored(EntryKind::Usage(Usage {
        member: "max".into(),
        input_tokens: 1_234,
        cached_tokens: Some(1_000),
        output_tokens: 56,
        cost_usd: Usd::new(0.0125),
        ..Usage::default()
    }));
    harness.says("max", SpeakerType::Ai, "It **is** so.\nAnd more");
    harness.turn("e-1", TurnState::Done, Cause::Answered { entry: "m2".into() });
    let figures = "1,234 tokens in (1,000 cached), 56 out · $0.0125 · 1.5 s";
    assert_eq!(harness.shown, ["Max:", "It is so.", "And more", figures, ""]);
    assert_eq!(harness.presenter.running(), None);
}

#[test]
fn a_note_gets_its_own_line_and_the_answer_continues_under_its_name() {
    let mut harness = Harness::new();
    harness.turn("e-1", TurnState::Started, Cause::Chosen { rule: QueueRule::InTurn });
    let note = Note::UnknownSpender { member: "zoe".into() };
    harness.on_chat_event(ChatEvent::Session(SessionEvent::Note(note.clone())));
    assert_eq!(harness.shown, [note.to_string()], "before the name");
    harness.shown.clear();
    harness.text(&["one\nthe lon"]);
    harness.says("ann", SpeakerType::Human, "hello");
    assert_eq!(harness.pending(), ["Max:", "the lon"]);
    harness.text(&["gest word\n"]);
    harness.on_chat_event(ChatEvent::Lines(vec![Line::new("nobody waits", Look::Dim)]));
    harness.on_chat_event(ChatEvent::Refused("refused".to_owned()));
    harness.text(&["end"]);
    harness.turn("e-1", TurnState::Done, Cause::Answered { entry: "m2".into() });
    harness.on_chat_event(ChatEvent::Session(SessionEvent::Rested));
    let expected = [
        "Max:",
        "one",
        "ann: hello",
        "Max:",
        "the longest word",
        "nobody waits",
        "refused",
        "Max:",
        "end",
        "1.5 s",
        "",
    ];
    assert_eq!(harness.shown, expected);
}

#[test]
fn an_answer_that_differs_from_what_streamed_in_is_reported_whole() {
    let mut harness = Harness::new();
    harness.turn("e-1", TurnState::Started, Cause::Chosen { rule: QueueRule::InTurn });
    harness.text(&["wrong"]);
    harness.on_chat_event(ChatEvent::Session(SessionEvent::TextWithdrawn {
        turn: "e-1".into(),
        member: "max".into(),
    }));
    harness.says("max", SpeakerType::Ai, "right");
    harness.turn("e-1", TurnState::Done, Cause::Answered { entry: "m2".into() });
    let taken_back = "(the agent discarded this text and starts again)";
    assert_eq!(harness.shown, ["Max:", "wrong", taken_back, "right", "1.5 s", ""]);
}

#[test]
fn a_turn_that_was_stopped_ends_with_what_there_is_of_it() {
    let mut harness = Harness::new();
    harness.turn("e-1", TurnState::Started, Cause::Chosen { rule: QueueRule::InTurn });
    harness.text(&["half"]);
    harness.turn("e-1", TurnState::Cancelled, Cause::Cancelled { all: false });
    assert_eq!(harness.presenter.running(), Some(("Max", true)));
    let dropped = Cause::Dropped { entry: "m1".into(), by: Some("ann".into()) };
    harness.turn("e-9", TurnState::Cancelled, dropped);
    harness.on_chat_event(ChatEvent::Session(SessionEvent::Rested));
    assert_eq!(harness.shown, ["Max:", "half", "cancelled · 1.5 s", ""]);
    assert_eq!(harness.presenter.running(), None);
}

#[test]
fn an_answer_that_ends_first_is_shown_whole_and_the_other_continues() {
    let mut harness = Harness::new();
    harness.two_turns();
    harness.text_of("max", "e-1", "one\nhalf of ");
    harness.text_of("eva", "e-2", "from eva\nand ");
    assert_eq!(harness.shown, ["Max:", "one"]);
    assert_eq!(harness.pending(), ["half of "]);
    assert_eq!(harness.presenter.others(), 1);
    harness.text_of("eva", "e-2", "more");
    harness.done("eva", "e-2", "from eva\nand more");
    harness.text_of("max", "e-1", "a line\n");
    harness.done("max", "e-1", "one\nhalf of a line\n");
    let expected = [
        "Max:",
        "one",
        "eva:",
        "from eva",
        "and more",
        "1.5 s",
        "",
        "Max:",
        "half of a line",
        "1.5 s",
        "",
    ];
    assert_eq!(harness.shown, expected);
    assert_eq!(harness.presenter.running(), None);
}

#[test]
fn when_the_live_answer_ends_the_next_one_is_shown_so_far_and_continues_live() {
    let mut harness = Harness::new();
    harness.two_turns();
    harness.text_of("eva", "e-2", "first\nsec");
    harness.done("max", "e-1", "done");
    assert_eq!(harness.shown, ["Max:", "done", "1.5 s", "", "eva:", "first"]);
    assert_eq!(harness.presenter.running(), Some(("eva", false)));
    harness.text_of("eva", "e-2", "ond\n");
    assert_eq!(harness.shown.last().unwrap(), "second");
}

#[test]
fn one_permission_request_is_shown_after_the_other() {
    let request = |title: &str| PermissionRequest {
        title: title.into(),
        tool: None,
        input: None,
        choices: Vec::new(),
    };
    let mut harness = Harness::new();
    harness.two_turns();
    for (member, title) in [("eva", "read a file"), ("max", "write a file")] {
        harness.on_chat_event(ChatEvent::Session(SessionEvent::Permission {
            number: PermissionNumber::default(),
            member: member.into(),
            request: request(title),
        }));
    }
    let shows =
        |harness: &Harness, title: &str| harness.shown.iter().any(|line| line.contains(title));
    assert!(shows(&harness, "read a file") && !shows(&harness, "write a file"));
    assert_eq!(&*harness.presenter.permission().unwrap().member, "eva");
    let lines = harness.presenter.permission_answered();
    assert!(lines[0].text().contains("write a file"));
    // A turn that ends takes its request with it.
    harness.done("max", "e-1", "done");
    assert!(harness.presenter.permission().is_none());
}

#[test]
fn people_are_shown_with_their_words_and_members_with_their_display_names() {
    let mut harness = Harness::new();
    harness.says("ann", SpeakerType::Human, "hello\x1b[2J");
    harness.says("max", SpeakerType::Ai, "said before");
    assert_eq!(harness.shown, ["ann: hello␛[2J", "Max:", "said before"]);
}

#[test]
fn a_session_that_is_resumed_shows_its_newest_messages() {
    let mut harness = Harness::new();
    let said = |text: &str| {
        let speaker = Speaker::new("ann", "ann", SpeakerType::Human);
        NewEntry::new(EntryKind::Message(Message::said(speaker, text))).with_content_id()
    };
    let entries = ["one", "two", "three"].map(said);
    let lines: Vec<String> = harness.presenter.recap(&entries, 2).iter().map(Line::text).collect();
    assert_eq!(lines, ["(1 earlier message not shown)", "ann: two", "", "ann: three", ""]);
}

fn request() -> PermissionRequest {
    PermissionRequest { title: "rm".into(), tool: None, input: None, choices: Vec::new() }
}

fn answered(choice: Option<&str>) -> EntryKind {
    let choice = choice.map(Box::from);
    let activity = TurnActivity::PermissionAnswered { title: "rm".into(), choice };
    EntryKind::TurnEvent(TurnEvent::new("t".into(), "max", activity))
}

#[test]
fn an_answer_of_somebody_else_closes_the_request_and_is_shown() {
    let mut harness = Harness::new();
    let (number, member) = (PermissionNumber::default(), "max".into());
    let asked = SessionEvent::Permission { number, member, request: request() };
    harness.on_chat_event(ChatEvent::Session(asked.clone()));
    harness.stored(answered(Some("Allow")));
    assert!(harness.presenter.permission().is_none());
    assert_eq!(harness.shown.last().unwrap(), "(somebody else answered: \"Allow\")");
    // One's own answer was shown when it was typed.
    harness.on_chat_event(ChatEvent::Session(asked.clone()));
    let shown = harness.shown.len();
    harness.presenter.answer_permission(Some("Allow"));
    harness.stored(answered(Some("Allow")));
    assert_eq!(harness.shown.len(), shown);
    // Another answer was faster.
    harness.on_chat_event(ChatEvent::Session(asked));
    harness.presenter.answer_permission(Some("Allow"));
    harness.stored(answered(None));
    assert_eq!(harness.shown.last().unwrap(), "(somebody else answered: no)");
}

#[test]
fn without_the_process_that_runs_the_session_nothing_is_running_or_asked() {
    let mut harness = Harness::new();
    harness.turn("t", TurnState::Started, Cause::Chosen { rule: QueueRule::InTurn });
    let (number, member) = (PermissionNumber::default(), "max".into());
    let asked = SessionEvent::Permission { number, member, request: request() };
    harness.on_chat_event(ChatEvent::Session(asked));
    harness.on_chat_event(ChatEvent::HostLost);
    assert!(harness.presenter.running().is_none() && harness.presenter.waits_for().is_none());
}
