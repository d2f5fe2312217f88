//! Conversations from a seed: members with a memory take turns, also at once, while people speak, redact and branch, turns
//! fail and programs crash. At every moment, what an agent got since it began its session is what a fresh prompt would
//! contain. A failure prints its seed; `TERTULIA_SEEDS` sets the number of conversations.

use tertulia_session::EntryId;

use super::super::{MemoryPlan, MemoryStep};
use super::delivery::times_in;
use super::play::{Begun, Outcome, Play};

const MEMBERS: [&str; 2] = ["max", "eva"];
const STEPS: usize = 40;

/// A small random number generator (SplitMix64).
struct Dice(u64);

impl Dice {
    fn below(&mut self, limit: usize) -> usize {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut mixed = self.0;
        mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        ((mixed ^ (mixed >> 31)) % limit as u64) as usize
    }

    fn outcome(&mut self) -> Outcome {
        match self.below(20) {
            0 => Outcome::FailedKnown,
            1 => Outcome::Failed,
            2 => Outcome::Cancelled,
            3 => Outcome::Drifted,
            4 => Outcome::Overflown,
            _ => Outcome::Answered,
        }
    }
}

/// How often something happened in all conversations.
#[derive(Debug, Default)]
struct Totals {
    compared: usize,
    /// Comparisons of sessions of three or more prompts.
    long: usize,
    at_once: usize,
    crashes: usize,
    redactions: usize,
    branches: usize,
}

struct Conversation {
    play: Play,
    dice: Dice,
    running: Vec<Begun>,
    totals: Totals,
}

impl Conversation {
    fn step(&mut self) {
        match self.dice.below(40) {
            0..12 => self.say(),
            12..22 => self.begin(),
            22..34 => self.end(),
            34 => {
                let count = self.play.said.len();
                if count > 0 {
                    self.totals.redactions += 1;
                    self.play.redact(self.dice.below(count));
                }
            }
            35 => self.branch(),
            36 => self.crash(),
            37 => self.play.set_task(Some("Find the gateway.")),
            38 => self.play.set_task(None),
            _ => self.play.set_limit(),
        }
        for name in MEMBERS {
            self.compare(name);
        }
    }

    fn say(&mut self) {
        let by = ["ann", "leo"][self.dice.below(2)];
        self.play.say(by, 1 + self.dice.below(4));
        self.play.commit();
    }

    fn begin(&mut self) {
        let name = MEMBERS[self.dice.below(MEMBERS.len())];
        let Some(answers) = self.newest().filter(|_| !self.runs(name)) else { return };
        self.totals.at_once += usize::from(!self.running.is_empty());
        let outcome = self.dice.outcome();
        self.running.push(self.play.begin(name, &answers, outcome));
    }

    fn end(&mut self) {
        if !self.running.is_empty() {
            let place = self.dice.below(self.running.len());
            self.play.end(&self.running.swap_remove(place));
        }
    }

    fn branch(&mut self) {
        while !self.running.is_empty() {
            self.end();
        }
        let entries = self.play.log.entries();
        let Some(newest) = entries.len().checked_sub(1) else { return };
        let from = entries[newest.saturating_sub(self.dice.below(8))].id.clone();
        self.totals.branches += 1;
        self.play.branch(&from);
    }

    /// The program is killed. The next one finds turns that nobody runs.
    fn crash(&mut self) {
        self.totals.crashes += 1;
        self.play.reopen();
        for mut begun in std::mem::take(&mut self.running) {
            begun.outcome = Outcome::Crashed;
            self.play.end(&begun);
        }
    }

    fn runs(&self, name: &str) -> bool {
        self.running.iter().any(|begun| begun.member == name)
    }

    fn newest(&self) -> Option<EntryId> {
        self.play.visible().last().map(|(_, said)| said.id.clone())
    }

    /// Compares what the agent of a member has, together with what it would get now, with a fresh prompt.
    fn compare(&mut self, name: &str) {
        let plan = self.play.plan(name);
        let MemoryStep::Continue(head) = &plan.step else { return };
        let newest = self.play.visible().last().map(|(_, said)| (said.id.clone(), said.by == name));
        let Some((newest, false)) = newest else { return };
        let member = self.play.team.member(name).unwrap();
        let begin = MemoryPlan::begin(&self.play.log, &self.play.team, member, None);
        let fresh = [self.play.look(name, &newest, &begin)];
        let delta = self.play.look(name, &newest, &plan);
        let native = &self.play.natives[&*head.session];
        let sent: Vec<String> = native.prompts.iter().cloned().chain([delta]).collect();
        for said in &self.play.said {
            let is_own = said.by == name && said.native.as_deref() == Some(&*head.session);
            let has = times_in(&sent, &said.token) + usize::from(is_own);
            let whole = times_in(&fresh, &said.token);
            assert_eq!(has, whole, "{}\nsent: {sent:#?}\nfresh: {fresh:#?}", said.token);
        }
        self.totals.compared += 1;
        self.totals.long += usize::from(sent.len() > 2);
    }
}

fn converse(seed: u64) -> Totals {
    let (play, dice) = (Play::new(1_000, 1 << 20), Dice(seed));
    let mut talk = Conversation { play, dice, running: Vec::new(), totals: Totals::default() };
    for _ in 0..STEPS {
        talk.step();
    }
    talk.totals
}

#[test]
#[expect(clippy::disallowed_methods, reason = "the number of seeds is a setting of the run")]
fn what_an_agent_got_is_what_a_fresh_prompt_contains() {
    let seeds = std::env::var("TERTULIA_SEEDS").ok().and_then(|count| count.parse().ok());
    let mut total = Totals::default();
    for seed in 0..seeds.unwrap_or(200_u64) {
        let played = std::panic::catch_unwind(|| converse(seed));
        let more = played.unwrap_or_else(|panic| {
            eprintln!("seed {seed}");
            std::panic::resume_unwind(panic)
        });
        total.compared += more.compared;
        total.long += more.long;
        total.at_once += more.at_once;
        total.crashes += more.crashes;
        total.redactions += more.redactions;
        total.branches += more.branches;
    }
    println!("{total:?}");
    let Totals { compared, long, at_once, crashes, redactions, branches } = total;
    let least = [compared, long, at_once, crashes, redactions, branches].into_iter().min();
    assert!(least > Some(20), "the conversations show too little");
}
