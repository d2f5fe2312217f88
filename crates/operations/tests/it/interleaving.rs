//! In every order of agents' work, imports and handovers, nothing is lost and nothing is duplicated.

use std::collections::HashMap;
use std::path::{Path, PathBuf};

use proptest::prelude::*;
use tertulia_dialect::native::NativeFormat;

use super::agents::{Cut, World, said_in};

#[derive(Clone, Copy, Debug)]
enum Step {
    /// Claude Code answers a request in its own session.
    ClaudeWorks,
    CodexWorks,
    /// Claude Code writes a part of its records, and they are imported.
    ClaudeBegins(Cut),
    CodexBegins(Cut),
    /// Both agents write the rest.
    AgentsFinish,
    /// The new records of Claude Code's session are imported.
    ImportClaude,
    ImportCodex,
    /// Both sessions are imported, and the new messages are handed over.
    HandOverToCodex,
    HandOverToClaude,
}

fn steps() -> impl Strategy<Value = Vec<Step>> {
    let cut = || {
        prop_oneof![
            3 => any::<u16>().prop_map(Cut::Share),
            1 => Just(Cut::FirstBreak),
            1 => Just(Cut::LastBreak),
        ]
    };
    let step = prop_oneof![
        2 => Just(Step::ClaudeWorks),
        2 => Just(Step::CodexWorks),
        2 => cut().prop_map(Step::ClaudeBegins),
        2 => cut().prop_map(Step::CodexBegins),
        1 => Just(Step::AgentsFinish),
        1 => Just(Step::ImportClaude),
        1 => Just(Step::ImportCodex),
        2 => Just(Step::HandOverToCodex),
        2 => Just(Step::HandOverToClaude),
    ];
    prop::collection::vec(step, 1..24)
}

/// One session that both agents continue.
struct Exchange {
    world: World,
    claude: PathBuf,
    codex: PathBuf,
    /// The number of requests.
    said: usize,
}

impl Exchange {
    fn new() -> Self {
        let mut world = World::new();
        let claude = world.home.path().join("0a1b2c3d-4e5f-4061-8071-2a3b4c5d6e7f.jsonl");
        world.work(NativeFormat::Claude, &claude, "request");
        world.import(&claude);
        let codex = world.hand_over(NativeFormat::Codex).unwrap();
        Self { world, claude, codex, said: 1 }
    }

    fn path(&self, agent: NativeFormat) -> PathBuf {
        if agent == NativeFormat::Claude { self.claude.clone() } else { self.codex.clone() }
    }

    fn work(&mut self, agent: NativeFormat, cut: Option<Cut>) {
        let (path, said) = (self.path(agent), format!("request {}", self.said));
        self.said += 1;
        match cut {
            None => self.world.work(agent, &path, &said),
            Some(cut) => {
                self.world.begin(agent, &path, &said, cut);
                self.world.import(&path);
            }
        }
    }

    fn hand_over(&mut self, to: NativeFormat) {
        // A session that its agent is writing is not changed.
        self.world.finish(&self.path(to));
        self.world.import(&self.claude);
        self.world.import(&self.codex);
        self.world.hand_over(to);
    }

    fn step(&mut self, step: Step) {
        match step {
            Step::ClaudeWorks => self.work(NativeFormat::Claude, None),
            Step::CodexWorks => self.work(NativeFormat::Codex, None),
            Step::ClaudeBegins(cut) => self.work(NativeFormat::Claude, Some(cut)),
            Step::CodexBegins(cut) => self.work(NativeFormat::Codex, Some(cut)),
            Step::AgentsFinish => {
                self.world.finish(&self.claude);
                self.world.finish(&self.codex);
            }
            Step::ImportClaude => drop(self.world.import(&self.claude)),
            Step::ImportCodex => drop(self.world.import(&self.codex)),
            Step::HandOverToCodex => self.hand_over(NativeFormat::Codex),
            Step::HandOverToClaude => self.hand_over(NativeFormat::Claude),
        }
    }
}

/// Returns what was said in a file, without the answers that the writer adds to requests that wait for theirs.
fn said_by_people_and_agents(path: &Path) -> Vec<String> {
    let mut said = said_in(path);
    said.retain(|text| text != "(This request was not answered yet.)");
    said
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
        let mut exchange = Exchange::new();
        let handovers =
            [Step::HandOverToCodex, Step::HandOverToClaude, Step::HandOverToCodex];
        let end = std::iter::once(Step::AgentsFinish).chain(handovers);
        steps.into_iter().chain(end).for_each(|step| exchange.step(step));
        let Exchange { world, claude, codex, said } = exchange;
        let files = [&claude, &codex].map(|path| said_by_people_and_agents(path));
        for texts in files.into_iter().chain([world.branch()]) {
            let counts = counted(&texts);
            prop_assert_eq!(counts.len(), 2 * said, "{:#?}", texts);
            prop_assert!(counts.values().all(|count| *count == 1), "{:#?}", texts);
        }
    }
}
