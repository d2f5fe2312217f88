//! Hundreds of changes of the file of a session, each of which has to be noticed before anything is sent. The agents
//! are scripts; `tests/real/kept_drift.rs` has the same for the real agents. `TERTULIA_DRIFTS` sets the number of
//! changes.

use crate::fake_kept::{FakeMember, answer_of};
use crate::injected::{CHANGES, Lines};
use crate::kept_codex::codex;

fn every_injected_change_is_noticed(mut max: FakeMember, is_message: fn(&str) -> bool) {
    let wanted = std::env::var("TERTULIA_DRIFTS").ok().and_then(|count| count.parse().ok());
    for prompt in ["one", "two", "three"] {
        answer_of(&max.say(prompt));
    }
    let head = max.head.clone().unwrap();
    let path = head.path.clone().unwrap();
    let check = |max: &FakeMember| max.kept.check("max", &max.spec, None, &head);
    let received = max.agent.note("received");
    let text = std::fs::read_to_string(&path).unwrap();
    let messages: Vec<&str> = text.lines().filter(|line| is_message(line)).collect();
    for number in 0..wanted.unwrap_or(CHANGES) {
        let original = std::fs::read(&path).unwrap();
        let (kind, changed) = Lines::read(&original, head.bytes, &messages).changed(number);
        assert_ne!(changed, original, "change {number} ({kind}) changes nothing");
        std::fs::write(&path, changed).unwrap();
        assert!(check(&max).is_err(), "change {number} ({kind}) was missed");
        // The turn itself checks again, and ends the process.
        if number % 25 == 24 {
            let report = max.say("four");
            assert!(report.drift.is_some(), "change {number} ({kind}) was missed: {report:#?}");
            max.head = Some(head.clone());
        }
        std::fs::write(&path, original).unwrap();
        assert_eq!(check(&max), Ok(()), "after change {number} ({kind})");
    }
    assert_eq!(max.agent.note("received"), received, "nothing was sent");
}

#[test]
fn every_injected_change_of_a_session_of_claude_is_noticed() {
    let is_message = |line: &str| line.contains(r#""role":"#);
    every_injected_change_is_noticed(FakeMember::claude(""), is_message);
}

#[test]
fn every_injected_change_of_a_session_of_codex_is_noticed() {
    let is_message = |line: &str| line.contains("response_item");
    every_injected_change_is_noticed(codex(""), is_message);
}
