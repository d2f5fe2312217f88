//! Reading sessions of Copilot CLI.

use proptest::prelude::*;
use tertulia_dialect::native::{NativeFormat, ReadProblem, detect};

use crate::native_rules_show::{check_rules, mixed, read_lines, show};

const TURN: &str = include_str!("../fixtures/native/copilot/turn.jsonl");
const SIDE: &str = include_str!("../fixtures/native/copilot/side.jsonl");
const BRANCHES: &str = include_str!("../fixtures/native/copilot/branches.jsonl");

fn shown(text: &str) -> String {
    show(&read_lines(NativeFormat::Copilot, text).0)
}

#[test]
fn what_was_said_called_and_answered_is_a_conversation() {
    assert_eq!(
        shown(TURN),
        r#"
e1 ← - model_change gpt-5.5
e2 ← e1 native_record session.binary_asset
e3 ← e1 message user (user): "Which seeds are left?" | file /src/garden/bed.png | image image/png | "- beans"
e4 ← e3 native_record system.message
e5 ← e3 native_record assistant.turn_start
e6 ← e3 usage gpt-5.5 1200(800)+40 $0
e7 ← e6 message assistant (copilot): thinking "Two places." +reasoningOpaque | "I will look." | call c-1 bash {"command":"cat seeds.md"} | call c-2 view {"path":"shed.png"} | call c-3 apply_patch null "*** Begin Patch"
e8 ← e7 native_record tool.execution_start
e9 ← e7 message tool (nobody): result c-2 [{"type":"text","text":"A picture."},{"type":"image","mimeType":"image/png","data":"CCCC"}]
e10 ← e9 message tool (nobody): result c-1 "- beans\n- peas\n"
e11 ← e10 message tool (nobody): result c-3 error "No such file"
e12 ← e11 native_record assistant.turn_end
e13 ← e11 message assistant (copilot): "Beans and peas."
e13#1 ← e13 model_change claude-sonnet-5
e14 ← e13#1 native_record session.shutdown
"#
    );
}

#[test]
fn a_sub_agent_is_a_branch_and_a_compaction_keeps_what_was_said_since_it_began() {
    assert_eq!(
        shown(SIDE),
        r#"
e1 ← - native_record session.start
e2 ← - message user (user): "Ask somebody."
e3 ← e2 message assistant (copilot): call c-1 task {"prompt":"Look around"}
e4 ← e3 native_record subagent.started
e5 ← e4 native_record session.model_change
e6 ← e4 message user (nobody): "Look around"
e7 ← e6 message assistant (copilot): "Nothing here."
e8 ← e7 usage small 10(0)+2 $0
e9 ← e8 native_record subagent.completed
e10 ← e3 message tool (nobody): result c-1 "Nothing here."
e11 ← e10 message assistant (copilot): "They found nothing."
e12 ← e11 native_record user.message
e13 ← e11 native_record user.message
compact ← e11 native_record session.compaction_start
e15 ← e11 message user (user): "And now?"
e16 ← e15 compaction_summary from e15: Somebody looked.
e16#1 ← e16 usage gpt-5.5 950(0)+9 $0
e17 ← e16#1 native_record session.compaction_complete
e18 ← e16#1 message assistant (copilot): "Now we plant."
"#
    );
}

#[test]
fn a_rewound_conversation_goes_on_from_before() {
    assert_eq!(
        shown(BRANCHES),
        r#"
e1 ← - native_record session.start
e2 ← - message user (user): "One"
e3 ← e2 message assistant (copilot): "1"
e4 ← e3 message user (user): "Two"
e5 ← e4 message assistant (copilot): "2"
e6 ← e5 native_record session.snapshot_rewind
e7 ← e3 message user (user): "Two again"
e8 ← e7 message assistant (copilot): "2 again"
e9 ← e3 message user (user): "Three from one"
e10 ← e9 native_record session.context_cleared
e11 ← - message user (user): "Fresh"
e12 ← e11 message user (user): "Lost"
e13 ← e12 native_record poem.written
e14 ← e12 native_record assistant.message
e15 ← e12 native_record tool.execution_complete
"#
    );
}

#[test]
fn what_cannot_be_read_is_named_and_kept() {
    let (_, session) = read_lines(NativeFormat::Copilot, BRANCHES);
    let problems: Vec<String> = session.problems.iter().map(ReadProblem::to_string).collect();
    assert_eq!(
        problems,
        [
            "line 12: the parent \"nowhere\" does not come before the record; it gets the previous \
             record as its parent",
            "line 13: the record has the unknown type \"poem.written\"; kept as it is",
            "line 14: data.content is missing or has the wrong type; kept as it is",
            "line 15: data.toolCallId is missing or has the wrong type; kept as it is"
        ]
    );
}

#[test]
fn a_session_says_where_it_is_from() {
    let (_, session) = read_lines(NativeFormat::Copilot, TURN);
    assert_eq!(session.native_id.as_deref(), Some("5f0c1e2a-0000-4000-8000-000000000001"));
    assert_eq!(session.folder.as_deref(), Some("/src/garden"));
    assert_eq!(session.model.as_deref(), Some("claude-sonnet-5"));
    assert_eq!(session.agent_version.as_deref(), Some("1.0.102"));
    assert_eq!(session.leaf.unwrap().as_str(), "e13#1");
    assert_eq!(session.problems, []);
}

#[test]
fn its_files_are_recognised() {
    for text in [TURN, SIDE, BRANCHES] {
        assert_eq!(detect(text.as_bytes()), Some(NativeFormat::Copilot));
    }
}

#[test]
fn the_rules_of_all_formats_hold() {
    for text in [TURN, SIDE, BRANCHES] {
        check_rules(NativeFormat::Copilot, text);
    }
}

proptest! {
    #[test]
    fn lines_in_any_order_are_read(
        picks in prop::collection::vec((any::<prop::sample::Index>(), any::<prop::sample::Index>()), 1..20),
    ) {
        let lines: Vec<&str> = [TURN, SIDE, BRANCHES].iter().flat_map(|text| text.lines()).collect();
        check_rules(NativeFormat::Copilot, &mixed(&lines, &picks));
    }
}
