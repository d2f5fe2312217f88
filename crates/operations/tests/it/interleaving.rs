//! In every order of agents' work, imports and handovers, nothing is lost and nothing is duplicated.

use std::collections::HashMap;

use proptest::prelude::*;
use tertulia_dialect::native::NativeFormat;

use super::agents::{World, said_in};

#[derive(Clone, Copy, Debug)]
enum Step {
    /// Claude Code answers a request in its own session.
    ClaudeWorks,
    CodexWorks,
    /// The new records of Claude Code's session are imported.
    ImportClaude,
    ImportCodex,
    /// Both sessions are imported, and the new messages are handed over.
    HandOverToCodex,
    HandOverToClaude,
}

fn steps() -> impl Strategy<Value = Vec<Step>> {
    let step = prop_oneof![
        3 => Just(Step::ClaudeWorks),
        3 => Just(Step::CodexWorks),
        1 => Just(Step::ImportClaude),
        1 => Just(Step::ImportCodex),
        2 => Just(Step::HandOverToCodex),
        2 => Just(Step::HandOverToClaude),
    ];
    prop::collection::vec(step, 1..24)
}

fn counted(texts: &[String]) -> HashMap<&str, usize> {
    let mut counts = HashMap::new();
    for text in texts {
        *counts.entry(text.as_str()).or_default() += 1;
    }
    counts
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 1_000, ..ProptestConfig::default() })]
    #[test]
    fn nothing_is_lost_and_nothing_is_there_twice(steps in steps()) {
        let mut world = World::new();
        let claude = world.home.path().join("0a1b2c3d-4e5f-4061-8071-2a3b4c5d6e7f.jsonl");
        world.work(NativeFormat::Claude, &claude, "request");
        world.import(&claude);
        let codex = world.hand_over(NativeFormat::Codex).unwrap();
        let mut said = 1;
        let end = [Step::HandOverToCodex, Step::HandOverToClaude, Step::HandOverToCodex];
        for step in steps.into_iter().chain(end) {
            match step {
                Step::ClaudeWorks | Step::CodexWorks => {
                    let (agent, path) = match step {
                        Step::ClaudeWorks => (NativeFormat::Claude, &claude),
                        _ => (NativeFormat::Codex, &codex),
                    };
                    world.work(agent, path, &format!("request {said}"));
                    said += 1;
                }
                Step::ImportClaude => {
                    world.import(&claude);
                }
                Step::ImportCodex => {
                    world.import(&codex);
                }
                Step::HandOverToCodex | Step::HandOverToClaude => {
                    world.import(&claude);
                    world.import(&codex);
                    let to = match step {
                        Step::HandOverToCodex => NativeFormat::Codex,
                        _ => NativeFormat::Claude,
                    };
                    world.hand_over(to);
                }
            }
        }
        for texts in [world.branch(), said_in(&claude), said_in(&codex)] {
            let counts = counted(&texts);
            prop_assert_eq!(counts.len(), 2 * said, "{:#?}", texts);
            prop_assert!(counts.values().all(|count| *count == 1), "{:#?}", texts);
        }
    }
}
