//! Tests of handing over a log: the chosen messages, the statuses of the rest, and the additions of a second
//! handover.

use std::sync::Arc;

use proptest::prelude::*;
use tertulia_session::{
    Cause, Message, NativeRecord, Part, PartKind, Parts, Role, Speaker, SpeakerType, ToolCall,
    ToolResult, Turn, TurnState,
};

use super::*;

/// A log without branches.
#[derive(Default)]
struct Log(Vec<Entry>);

impl Log {
    fn push(&mut self, kind: EntryKind) -> EntryId {
        let mut entry = NewEntry::new(kind);
        entry.parent_id = self.0.last().map(|last| last.id.clone());
        entry.timestamp = Some(Timestamp::from_millis(1_000 * self.0.len() as i64));
        let entry = entry.with_id(format!("n{}", self.0.len()).into());
        self.0.push(entry);
        self.0[self.0.len() - 1].id.clone()
    }

    fn say(&mut self, role: Role, parts: Vec<Part>) -> EntryId {
        let parts: Parts = parts.into_iter().collect();
        self.push(EntryKind::Message(Message::with_role(role, parts)))
    }

    fn talk(&mut self, turns: usize, words: &str) {
        for turn in 0..turns {
            self.say(Role::User, vec![Part::text(format!("Question {turn}: {words}"))]);
            self.say(Role::Assistant, vec![Part::text(format!("Answer {turn}: {words}"))]);
        }
    }

    fn tool(&mut self, number: usize, output: &str) {
        let id = format!("call-{number}");
        let arguments = Json::parse(r#"{"path":"src/main.rs"}"#).unwrap();
        let call = ToolCall {
            tool_call_id: id.as_str().into(),
            tool_name: "Read".into(),
            arguments,
            raw_args_text: None,
        };
        self.say(Role::Assistant, vec![Part::new(PartKind::ToolCall(Box::new(call)))]);
        self.say(Role::Tool, vec![result(&id, output)]);
    }
}

fn result(id: &str, output: &str) -> Part {
    let content = Json::text(output);
    let result = ToolResult { tool_call_id: id.into(), is_error: false, content };
    Part::new(PartKind::ToolResult(Box::new(result)))
}

fn options() -> HandoverOptions<'static> {
    HandoverOptions {
        to: NativeFormat::Claude,
        session: "login-page",
        title: None,
        folder: "/src",
        model: None,
        budget: None,
        last: None,
        member: None,
        is_new: false,
        taken: &[],
        now: Timestamp::from_millis(1_000_000_000),
    }
}

fn source_bytes(entries: &[Entry]) -> u64 {
    let size = |entry: &Entry| match &entry.kind {
        EntryKind::Message(message) => {
            let parts = message.parts.iter();
            parts.map(write::part_bytes).sum::<u64>()
        }
        _ => items::entry_bytes(entry),
    };
    entries.iter().map(size).sum()
}

fn reasons(receipt: &Receipt) -> Vec<String> {
    let lost = receipt.items.iter().filter(|item| item.status != ItemStatus::Kept);
    let line = |item: &Item| {
        let word = ItemStatus::WORDS[item.status.index()];
        format!("{} {}: {}", item.entry, word, item.status.reason().unwrap_or_default())
    };
    lost.map(line).collect()
}

#[test]
fn what_fits_is_kept_and_the_sums_are_those_of_the_source() {
    let mut log = Log::default();
    log.talk(3, "the login page");
    log.tool(1, "fn main() {}");
    log.say(Role::Assistant, vec![Part::text("Done.")]);
    let handover = hand_over(&log.0, &options()).unwrap();
    assert_eq!(reasons(&handover.receipt), Vec::<String>::new());
    assert_eq!(handover.receipt.total().bytes, source_bytes(&log.0));
    assert_eq!(handover.anchor.as_str(), "n8");
    assert_eq!(handover.continues, None);
}

#[test]
fn every_item_that_is_not_kept_has_a_reason() {
    let mut log = Log::default();
    let thinking = Part::new(PartKind::Thinking("Hm.".to_owned()));
    log.say(Role::User, vec![Part::text("Mend it."), Part::text(" ")]);
    log.say(Role::Assistant, vec![thinking, Part::text("Yes.")]);
    log.say(Role::Tool, vec![result("nobody", "lost")]);
    let unknown = Fields::NONE;
    let record = NativeRecord { agent: "claude".into(), record_type: None, unknown };
    log.push(EntryKind::NativeRecord(record));
    let handover = hand_over(&log.0, &options()).unwrap();
    assert_eq!(
        reasons(&handover.receipt),
        [
            "1 left out: it is blank",
            "2 left out: only the model that wrote this thinking can use it",
            "3 left out: there is no call for this result",
            "4 left out: only the agent that wrote this record uses it",
        ]
    );
    assert_eq!(handover.receipt.total().bytes, source_bytes(&log.0));
}

/// opencode keeps a call and its result in one record.
#[test]
fn a_call_and_its_result_in_one_message_are_both_kept() {
    let mut log = Log::default();
    log.say(Role::User, vec![Part::text("Look at it.")]);
    log.tool(1, "fn main() {}");
    let answer = log.0.pop().unwrap();
    let EntryKind::Message(call) = &mut log.0[1].kind else { panic!("{:?}", log.0[1]) };
    call.parts.extend(answer.message().unwrap().parts.iter().cloned());
    log.say(Role::Assistant, vec![Part::text("Done.")]);
    let handover = hand_over(&log.0, &options()).unwrap();
    assert_eq!(reasons(&handover.receipt), Vec::<String>::new());
    assert_eq!(handover.receipt.by_status()[0].items, 4);
    assert_eq!(handover.receipt.total().bytes, source_bytes(&log.0));
}

#[test]
fn a_call_with_a_new_id_and_its_result_are_both_reshaped() {
    for in_one_message in [false, true] {
        let mut log = Log::default();
        log.say(Role::User, vec![Part::text("Look at it.")]);
        log.tool(1, "fn main() {}");
        let id: Box<str> = "call/1".into();
        for entry in &mut log.0 {
            let EntryKind::Message(message) = &mut entry.kind else { continue };
            for part in &mut message.parts {
                match &mut part.kind {
                    PartKind::ToolCall(call) => call.tool_call_id.clone_from(&id),
                    PartKind::ToolResult(result) => result.tool_call_id.clone_from(&id),
                    _ => {}
                }
            }
        }
        if in_one_message {
            let answer = log.0.pop().unwrap();
            let EntryKind::Message(call) = &mut log.0[1].kind else { panic!("{:?}", log.0[1]) };
            call.parts.extend(answer.message().unwrap().parts.iter().cloned());
        }
        log.say(Role::Assistant, vec![Part::text("Done.")]);
        let handover = hand_over(&log.0, &options()).unwrap();
        let because = "because the agent does not accept the old one";
        let result = if in_one_message { 2 } else { 3 };
        assert_eq!(
            reasons(&handover.receipt),
            [
                format!("2 reshaped: the call has a new ID, {because}"),
                format!("{result} reshaped: its call has a new ID, {because}"),
            ]
        );
    }
}

#[test]
fn a_budget_shortens_and_every_byte_is_accounted_for() {
    let mut log = Log::default();
    for number in 0..40 {
        log.say(Role::User, vec![Part::text(format!("Please look at part {number}."))]);
        log.tool(number, &format!("line of part {number}\n").repeat(60));
        log.say(Role::Assistant, vec![Part::text(format!("Part {number} is done."))]);
    }
    let handover =
        hand_over(&log.0, &HandoverOptions { budget: Some(4_000), ..options() }).unwrap();
    let [kept, _, shortened, left_out] = handover.receipt.by_status();
    assert!(kept.items > 4 && shortened.items > 40, "{:?}", handover.receipt.by_status());
    assert_eq!(left_out.items, 0);
    assert_eq!(handover.receipt.total().bytes, source_bytes(&log.0));
    // The newest messages are kept.
    let last = handover.receipt.items.last().unwrap();
    assert_eq!((last.entry, &last.status), (160, &ItemStatus::Kept));
}

#[test]
fn only_the_newest_messages_are_handed_over_if_a_person_says_so() {
    let mut log = Log::default();
    log.talk(20, "the login page");
    let handover = hand_over(&log.0, &HandoverOptions { last: Some(4), ..options() }).unwrap();
    assert_eq!(handover.receipt.by_status()[0].items, 4, "{:?}", handover.receipt.by_status());
    assert_eq!(handover.receipt.total().items, 40);
}

#[test]
fn the_second_handover_adds_only_what_is_new() {
    let mut log = Log::default();
    log.talk(2, "the login page");
    let first = hand_over(&log.0, &options()).unwrap();
    let saved = (4, 100, "hash");
    log.0.push(first.link(NativeFormat::Claude, Some("/x.jsonl"), saved, options().now));
    let again = hand_over(&log.0, &options()).unwrap_err();
    assert!(matches!(&again, HandoverError::UpToDate(link) if &*link.hash == "hash"), "{again}");

    let id = log.say(Role::User, vec![Part::text("And the colours?")]);
    let second = hand_over(&log.0, &options()).unwrap();
    assert_eq!(second.native_session_id, first.native_session_id);
    assert_eq!(second.anchor, id);
    assert_eq!(second.messages, 1);
    assert_eq!(second.receipt.total().bytes, source_bytes(&log.0));
    assert_eq!(reasons(&second.receipt), Vec::<String>::new(), "what it has is kept");

    let new = hand_over(&log.0, &HandoverOptions { is_new: true, ..options() }).unwrap();
    assert_ne!(new.native_session_id, first.native_session_id);
    assert_eq!(new.receipt.total().bytes, source_bytes(&log.0));
}

#[test]
fn the_second_receipt_says_what_became_of_everything() {
    let mut log = Log::default();
    let thinking = Part::new(PartKind::Thinking("Hm.".to_owned()));
    log.say(Role::User, vec![Part::text("Mend it.")]);
    let fork = log.say(Role::Assistant, vec![thinking, Part::text("Yes.")]);
    let other = NewEntry::new(EntryKind::Message(Message::with_role(
        Role::User,
        [Part::text("Elsewhere")].into_iter().collect(),
    )));
    log.0.push(other.with_parent("n0".into()).with_id("branch".into()));
    let next = Message::with_role(Role::User, [Part::text("On.")].into_iter().collect());
    let next = NewEntry::new(EntryKind::Message(next));
    log.0.push(next.with_parent(fork).with_id("n3".into()));
    let first = hand_over(&log.0, &options()).unwrap();
    let link = first.link(NativeFormat::Claude, Some("/x"), (4, 100, "hash"), options().now);
    log.0.push(link);
    log.talk(2, "the login page");
    let second = hand_over(&log.0, &HandoverOptions { last: Some(1), ..options() }).unwrap();
    assert_eq!(
        reasons(&second.receipt),
        [
            "2 left out: only the model that wrote this thinking can use it",
            "3 left out: it is on another branch",
            "6 left out: it is older than what --last allows",
            "7 left out: it is older than what --last allows",
            "8 left out: it is older than what --last allows",
        ]
    );
    assert_eq!(second.receipt.total().bytes, source_bytes(&log.0));
}

#[test]
fn a_result_that_arrives_after_its_call_was_handed_over_names_the_call() {
    let mut log = Log::default();
    log.say(Role::User, vec![Part::text("Look.")]);
    log.tool(1, "fn main() {}");
    let late = log.0.pop().unwrap();
    let first = hand_over(&log.0, &options()).unwrap();
    let link = first.link(NativeFormat::Claude, Some("/x"), (4, 100, "hash"), options().now);
    log.0.push(link);
    log.0.push(late);
    log.tool(2, "fn other() {}");
    let second = hand_over(&log.0, &options()).unwrap();
    assert_eq!(second.messages, 3);
    assert_eq!(
        reasons(&second.receipt),
        [
            "2 reshaped: the call had no result; Tertulia added one that says so",
            "4 reshaped: its call was handed over earlier; a text names the call",
        ]
    );
    let text = "[The tool call Read (call-1) has its result now:]\\nfn main() {}";
    assert!(second.written.text.contains(text), "{}", second.written.text);
    assert_eq!(second.written.text.matches("tool_use_id").count(), 1, "only of the new call");
    assert_eq!(second.receipt.total().bytes, source_bytes(&log.0));
    let link = second.link(NativeFormat::Claude, Some("/x"), (8, 200, "hash"), options().now);
    log.0.push(link);
    assert!(matches!(hand_over(&log.0, &options()), Err(HandoverError::UpToDate(_))));
}

#[test]
fn an_agent_whose_session_was_imported_continues_that_session() {
    let mut log = Log::default();
    log.talk(1, "the login page");
    for entry in &mut log.0 {
        entry.meta = Json::parse(r#"{"native":{"agent":"claude","record":"{}","line":1}}"#).ok();
    }
    let imported = NativeSession {
        agent: "claude".into(),
        native_session_id: "0a1b".into(),
        direction: NativeDirection::Imported,
        path: None,
        records: 2,
        bytes: 10,
        hash: "hash".into(),
        last_record_id: Some("u-2".into()),
        receipt: None,
        unknown: Fields::NONE,
    };
    log.push(EntryKind::NativeSession(Box::new(imported)));
    log.talk(1, "what the other agent did");
    let handover = hand_over(&log.0, &options()).unwrap();
    assert_eq!(handover.native_session_id, "0a1b");
    assert_eq!((handover.messages, handover.receipt.by_status()[0].items), (2, 4));
    assert_eq!(handover.receipt.total().items, 4);
    let codex = HandoverOptions { to: NativeFormat::Codex, ..options() };
    assert_eq!(hand_over(&log.0, &codex).unwrap().continues, None);
}

#[test]
fn in_a_session_of_a_team_speakers_are_named() {
    let mut log = Log::default();
    let max = Arc::new(Speaker::new("max", "Max", SpeakerType::Ai));
    let eva = Arc::new(Speaker::new("eva", "Eva", SpeakerType::Ai));
    let ann = Arc::new(Speaker::new("ann", "Ann", SpeakerType::Human));
    let asked = log.push(EntryKind::Message(Message::said(ann, "Which colour?")));
    let turn = Turn {
        member: "eva".into(),
        state: TurnState::Done,
        turn_id: None,
        cause: Cause::Answered { entry: asked },
        cause_source: None,
        error_class: None,
        prompt_hash: None,
        prompt_recipe: None,
        native_session_id: None,
        memory: None,
        native_head: None,
        unknown: Fields::NONE,
    };
    log.push(EntryKind::Message(Message::said(max, "Blue. [NEXT: eva]")));
    log.push(EntryKind::Turn(Box::new(turn)));
    log.push(EntryKind::Message(Message::said(eva, "Blue passes.")));
    let handover =
        hand_over(&log.0, &HandoverOptions { member: Some("eva"), ..options() }).unwrap();
    assert_eq!(
        reasons(&handover.receipt),
        [
            "1 reshaped: labelled with its speaker",
            "2 reshaped: labelled with its speaker",
            "3 left out: the activities of an agent during a turn are not part of a conversation",
        ]
    );
    let nobody = hand_over(&log.0, &HandoverOptions { member: Some("tom"), ..options() });
    assert_eq!(
        nobody.unwrap_err().to_string(),
        "no member called tom has spoken in this session; set --member to one of: ann, max, eva"
    );
}

#[test]
fn what_cannot_be_handed_over_is_said() {
    let empty = hand_over(&[], &options()).unwrap_err();
    assert_eq!(empty.to_string(), "the session has no messages; there is nothing to hand over");
    let mut log = Log::default();
    log.talk(1, "x");
    let goose = hand_over(&log.0, &HandoverOptions { to: NativeFormat::Goose, ..options() });
    assert!(goose.unwrap_err().to_string().starts_with("sessions of goose can be read"));
}

fn any_part() -> impl Strategy<Value = Part> {
    prop_oneof![
        "[a-z ]{0,40}".prop_map(Part::text),
        "[a-z ]{1,20}".prop_map(|text| Part::new(PartKind::Thinking(text))),
        ("[ab]", "[a-z]{0,300}").prop_map(|(id, output)| result(&id, &output)),
        "[ab]".prop_map(|id| {
            let call = ToolCall {
                tool_call_id: id.as_str().into(),
                tool_name: "ls".into(),
                arguments: Json::parse("{}").unwrap(),
                raw_args_text: None,
            };
            Part::new(PartKind::ToolCall(Box::new(call)))
        }),
    ]
}

proptest! {
    /// Every part of every message is in the receipt exactly once, for any log and any budget.
    #[test]
    fn every_part_is_accounted_for_once(
        messages in prop::collection::vec(
            (0..4_usize, prop::collection::vec(any_part(), 1..4)), 1..40),
        budget in prop::option::of(300..4_000_u64),
    ) {
        let mut log = Log::default();
        for (role, parts) in messages {
            log.say(Role::ALL[role], parts);
        }
        match hand_over(&log.0, &HandoverOptions { budget, ..options() }) {
            Ok(handover) => {
                let receipt = &handover.receipt;
                prop_assert_eq!(receipt.total().bytes, source_bytes(&log.0));
                let parts: usize = log.0.iter().map(|e| e.message().map_or(0, |m| m.parts.len())).sum();
                prop_assert_eq!(receipt.items.len(), parts);
                let stored = Receipt::read(Json::parse(&receipt.to_json()).unwrap().raw()).unwrap();
                prop_assert_eq!(&stored, receipt);
            }
            Err(HandoverError::Empty | HandoverError::Write(WriteError::Empty)
                | HandoverError::Context(_)) => {}
            Err(other) => prop_assert!(false, "{other}"),
        }
    }
}
