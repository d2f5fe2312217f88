//! What is shown of a turn, from the events of the table.

use std::sync::Arc;
use std::time::Duration;

use tertulia_session::{Cause, Fields, NewEntry, QueueRule, Speaker, SpeakerType, Usage, Usd};
use tertulia_team::SCRIBE;
use tertulia_team::file::{MemberFile, TeamFile};
use tertulia_team::{Limits, Member, Note, Team, TeamMember};

use super::*;

struct Stage {
    teller: Teller,
    start: Instant,
    shown: Vec<String>,
}

impl Stage {
    fn new() -> Self {
        let file = TeamFile::new(vec![MemberFile::human("ann"), MemberFile::ai("max", SCRIBE)]);
        let mut max = TeamMember::scribe("max");
        max.member = Member { display_name: Some("Max".into()), ..Member::ai("max") };
        let members = vec![TeamMember::person("ann"), max];
        let team = Team::new(members, Limits::default(), None).unwrap();
        let teller = Teller::new(Shown::new(&team, &file), 60);
        Self { teller, start: Instant::now(), shown: Vec::new() }
    }

    fn hear(&mut self, heard: ChatEvent) {
        let lines = self.teller.hear(heard, self.start + Duration::from_millis(1_500));
        self.shown.extend(lines.iter().map(Line::text));
    }

    fn stored(&mut self, kind: EntryKind) {
        self.hear(ChatEvent::Session(SessionEvent::Stored(Arc::new(
            NewEntry::new(kind).with_content_id(),
        ))));
    }

    fn turn(&mut self, turn_id: &str, state: TurnState, cause: Cause) {
        let turn = Box::new(Turn {
            member: "max".into(),
            state,
            turn_id: Some(turn_id.into()),
            cause,
            cause_source: None,
            error_class: None,
            prompt_hash: None,
            prompt_recipe: None,
            native_session_id: None,
            unknown: Fields::NONE,
        });
        if state == TurnState::Started {
            self.teller.hear(
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
        self.teller.pending(3).iter().map(Line::text).collect()
    }

    fn text(&mut self, pieces: &[&str]) {
        for piece in pieces {
            self.hear(ChatEvent::Session(SessionEvent::Text {
                turn: "e-1".into(),
                member: "max".into(),
                text: (*piece).to_owned(),
            }));
        }
    }
}

#[test]
fn an_answer_that_streamed_in_is_not_told_again() {
    let mut stage = Stage::new();
    stage.turn("e-1", TurnState::Started, Cause::Chosen { rule: QueueRule::InTurn });
    stage.text(&["It **is", "** so.\nAnd", " more"]);
    assert_eq!(stage.shown, ["Max:", "It is so."]);
    assert_eq!(stage.pending(), ["And more"]);
    stage.stored(EntryKind::Usage(Usage {
        member: "max".into(),
        model: None,
        input_tokens: 1_234,
        cached_tokens: Some(1_000),
        output_tokens: 56,
        cost_usd: Usd::new(0.0125),
        unknown: Fields::NONE,
    }));
    stage.says("max", SpeakerType::Ai, "It **is** so.\nAnd more");
    stage.turn("e-1", TurnState::Done, Cause::Answered { entry: "m2".into() });
    let figures = "1,234 tokens in (1,000 cached), 56 out · $0.0125 · 1.5 s";
    assert_eq!(stage.shown, ["Max:", "It is so.", "And more", figures, ""]);
    assert_eq!(stage.teller.running(), None);
}

#[test]
fn what_comes_between_stands_alone_and_the_answer_goes_on_under_its_name() {
    let mut stage = Stage::new();
    stage.turn("e-1", TurnState::Started, Cause::Chosen { rule: QueueRule::InTurn });
    let note = Note::UnknownSpender { member: "zoe".into() };
    stage.hear(ChatEvent::Session(SessionEvent::Note(note.clone())));
    assert_eq!(stage.shown, [note.to_string()], "before the name");
    stage.shown.clear();
    stage.text(&["one\nthe lon"]);
    stage.says("ann", SpeakerType::Human, "hello");
    assert_eq!(stage.pending(), ["Max:", "the lon"]);
    stage.text(&["gest word\n"]);
    stage.hear(ChatEvent::Lines(vec![Line::new("nobody waits", Look::Dim)]));
    stage.hear(ChatEvent::Refused("refused".to_owned()));
    stage.text(&["end"]);
    stage.turn("e-1", TurnState::Done, Cause::Answered { entry: "m2".into() });
    stage.hear(ChatEvent::Session(SessionEvent::Rested));
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
    assert_eq!(stage.shown, expected);
}

#[test]
fn an_answer_that_differs_from_what_streamed_in_is_told_whole() {
    let mut stage = Stage::new();
    stage.turn("e-1", TurnState::Started, Cause::Chosen { rule: QueueRule::InTurn });
    stage.text(&["wrong"]);
    stage.hear(ChatEvent::Session(SessionEvent::TextWithdrawn {
        turn: "e-1".into(),
        member: "max".into(),
    }));
    stage.says("max", SpeakerType::Ai, "right");
    stage.turn("e-1", TurnState::Done, Cause::Answered { entry: "m2".into() });
    let taken_back = "(the agent took this back and begins again)";
    assert_eq!(stage.shown, ["Max:", "wrong", taken_back, "right", "1.5 s", ""]);
}

#[test]
fn a_turn_that_was_stopped_ends_with_what_there_is_of_it() {
    let mut stage = Stage::new();
    stage.turn("e-1", TurnState::Started, Cause::Chosen { rule: QueueRule::InTurn });
    stage.text(&["half"]);
    stage.turn("e-1", TurnState::Cancelled, Cause::Cancelled { all: false });
    assert_eq!(stage.teller.running(), Some(("Max", true)));
    let dropped = Cause::Dropped { entry: "m1".into(), by: Some("ann".into()) };
    stage.turn("e-9", TurnState::Cancelled, dropped);
    stage.hear(ChatEvent::Session(SessionEvent::Rested));
    assert_eq!(stage.shown, ["Max:", "half", "cancelled · 1.5 s", ""]);
    assert_eq!(stage.teller.running(), None);
}

#[test]
fn people_are_shown_with_their_words_and_members_with_their_display_names() {
    let mut stage = Stage::new();
    stage.says("ann", SpeakerType::Human, "hello\x1b[2J");
    stage.says("max", SpeakerType::Ai, "said before");
    assert_eq!(stage.shown, ["ann: hello␛[2J", "Max:", "said before"]);
}

#[test]
fn a_session_that_is_gone_on_with_shows_its_newest_messages() {
    let mut stage = Stage::new();
    let said = |text: &str| {
        let speaker = Speaker::new("ann", "ann", SpeakerType::Human);
        NewEntry::new(EntryKind::Message(Message::said(speaker, text))).with_content_id()
    };
    let entries = ["one", "two", "three"].map(said);
    let lines: Vec<String> = stage.teller.recap(&entries, 2).iter().map(Line::text).collect();
    assert_eq!(
        lines,
        ["(earlier messages that are not shown: 1)", "ann: two", "", "ann: three", ""]
    );
}
