//! Properties of all texts: quoted and fenced markers have no effect, an agent cannot become a person, and the log
//! gives the same decisions again.

use crate::test_driver::TestDriver;
use proptest::prelude::*;
use tertulia_session::{Cause, EntryKind};
use tertulia_team::Effect;

/// Generates texts from pieces of markers, code and quotes, and from arbitrary characters.
fn any_text() -> impl Strategy<Value = String> {
    let pieces = [
        "[NEXT: ",
        "[next:",
        "[DROP: ",
        "[FROM: ",
        "[TEAM_TASK: ",
        "[TEAM_TASK]",
        "]",
        "[",
        ":",
        "!P1",
        "!P3",
        ", ",
        "@",
        " @",
        "max",
        "eva",
        "leo",
        "ann",
        "ALL",
        "`",
        "```",
        "~~~",
        "\n",
        "\n\n",
        "> ",
        " ",
        "    ",
        "［",
        "】",
        "：",
        "\u{200b}",
        "\u{202e}",
        "е",
        "Ν",
        "\r\n",
        "\u{e000}",
        "0",
    ];
    let piece = prop_oneof![
        8 => prop::sample::select(pieces.to_vec()).prop_map(str::to_owned),
        1 => any::<String>(),
    ];
    prop::collection::vec(piece, 0..40).prop_map(|pieces| pieces.concat())
}

fn after_answer(text: &str) -> TestDriver {
    let mut driver = TestDriver::new();
    driver.person("[NEXT: max, leo!P3]");
    driver.answer(text);
    driver
}

/// Returns whether the turn ended, the next one started, and nothing else happened.
fn routes_nothing(driver: &TestDriver) -> bool {
    let appended = driver.effects.iter().filter(|effect| matches!(effect, Effect::Append { .. }));
    appended.count() == 2 && driver.started() == ["max", "leo"]
}

proptest! {
    #[test]
    fn whatever_is_quoted_routes_nothing(text in any_text()) {
        let quoted: Vec<String> = text.split('\n').map(|line| format!("> {line}")).collect();
        prop_assert!(routes_nothing(&after_answer(&quoted.join("\n"))));
    }

    #[test]
    fn whatever_is_fenced_routes_nothing(text in any_text()) {
        let longest = text.split(|c| c != '`').map(str::len).max().unwrap_or_default();
        let fence = "`".repeat(longest.max(2) + 1);
        let answer = format!("Look:\n{fence}\n{text}\n{fence}\n");
        prop_assert!(routes_nothing(&after_answer(&answer)));
    }

    #[test]
    fn whatever_an_agent_says_it_stays_who_it_is(text in any_text()) {
        let driver = after_answer(&text);
        for effect in &driver.effects {
            let sets_task = matches!(effect, Effect::SetTeamTask { .. });
            prop_assert!(!sets_task);
            if let Effect::Append { kind: EntryKind::Turn(turn), .. } = effect
                && let Cause::Asked { by, .. } | Cause::Dropped { by, .. } = &turn.cause
            {
                prop_assert_eq!(by.as_deref(), Some("max"));
            }
        }
        driver.replays();
    }

    #[test]
    fn whatever_a_person_says_replays(texts in prop::collection::vec(any_text(), 1..5)) {
        let mut driver = TestDriver::new();
        for text in &texts {
            driver.person(text);
            if driver.running.is_some() {
                driver.answer(text);
            }
        }
        driver.replays();
    }
}
