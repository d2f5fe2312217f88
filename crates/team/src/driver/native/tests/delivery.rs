//! Every message of others is delivered exactly once to each session of an agent, and redacted text is in none that is
//! continued.

use proptest::prelude::*;
use proptest::sample::select;
use tertulia_session::AskRound;

use super::super::MemoryStep;
use super::play::{Native, Outcome, Play, Said};

#[derive(Clone, Copy, Debug)]
enum Act {
    Say { by: usize, words: usize },
    Turn { member: usize, back: usize, outcome: Outcome },
    Ask { member: usize, back: usize, round: AskRound, outcome: Outcome },
    Redact(usize),
    Branch(usize),
    Task(bool),
    Reopen,
    Setting,
}

fn act() -> impl Strategy<Value = Act> {
    let outcome = prop_oneof![
        8 => Just(Outcome::Answered),
        1 => Just(Outcome::FailedKnown),
        1 => Just(Outcome::Failed),
        1 => Just(Outcome::Cancelled),
        1 => Just(Outcome::Crashed),
        1 => Just(Outcome::Drifted),
        1 => Just(Outcome::Overflown),
    ];
    let words = prop_oneof![9 => 1..12_usize, 1 => 40..400_usize];
    let rounds = [AskRound::Answer, AskRound::Answer, AskRound::Reaction, AskRound::Judgement];
    let asked = (0..2_usize, 0..8_usize, select(rounds.to_vec()), outcome.clone());
    prop_oneof![
        4 => asked.prop_map(|(member, back, round, outcome)| {
            Act::Ask { member, back, round, outcome }
        }),
        8 => (0..3_usize, words).prop_map(|(by, words)| Act::Say { by, words }),
        8 => (0..2_usize, 0..6_usize, outcome)
            .prop_map(|(member, back, outcome)| Act::Turn { member, back, outcome }),
        1 => (0..20_usize).prop_map(Act::Redact),
        1 => (0..8_usize).prop_map(Act::Branch),
        1 => any::<bool>().prop_map(Act::Task),
        1 => Just(Act::Reopen),
        1 => Just(Act::Setting),
    ]
}

fn perform(play: &mut Play, act: Act) {
    match act {
        Act::Say { by, words } => {
            play.say(["ann", "leo", "eva"][by], words);
            play.commit();
        }
        Act::Turn { member, back, outcome } => {
            let visible = play.visible();
            let Some(newest) = visible.len().checked_sub(1) else { return };
            // Most turns answer the newest message.
            let number = newest.saturating_sub(back.saturating_sub(3));
            let answers = visible[number].1.id.clone();
            play.turn(["max", "eva"][member], &answers, outcome);
        }
        Act::Ask { member, back, round, outcome } => {
            let visible = play.visible();
            let Some(newest) = visible.len().checked_sub(1) else { return };
            let question = visible[newest.saturating_sub(back)].1.id.clone();
            play.ask(["max", "eva"][member], &question, round, outcome);
        }
        Act::Redact(number) => {
            let count = play.said.len();
            if count > 0 {
                play.redact(number % count);
            }
        }
        Act::Branch(back) => {
            let entries = play.log.entries();
            if let Some(at) = entries.len().checked_sub(1 + back) {
                let from = entries[at].id.clone();
                play.branch(&from);
            }
        }
        Act::Task(has_task) => play.set_task(has_task.then_some("Find the gateway.")),
        Act::Reopen => play.reopen(),
        Act::Setting => play.set_limit(),
    }
    for name in ["max", "eva"] {
        check(play, name);
    }
}

/// Checks the session of a member's agent that the next turn would continue.
fn check(play: &Play, name: &str) {
    let plan = play.plan(name);
    let MemoryStep::Continue(head) = &plan.step else { return };
    let native = &play.natives[&*head.session];
    let has = plan.has.as_ref().unwrap();
    let leaked = play.redacted.iter().find(|token| times(native, token) > 0);
    assert_eq!(leaked, None, "it was redacted\n{native:#?}");
    let visible = play.visible();
    let first = has.numbers(play.log.branch()).first;
    let is_since = |said: &Said| play.log.branch().number_of(&said.id) >= Some(first);
    for (index, said) in visible.into_iter().filter(|(_, said)| is_since(said)) {
        let count = times(native, &said.token);
        if said.by == name && said.native.as_deref() == Some(&*head.session) {
            assert_eq!(count, 0, "{} is its own answer\n{native:#?}", said.token);
        } else if index <= has.delivered {
            let has_summary = native.prompts.iter().any(|prompt| prompt.contains("[summary of "));
            let is_right = count == 1 || (count == 0 && has_summary);
            assert!(is_right, "{} is in it {count} times\n{native:#?}", said.token);
        } else {
            assert_eq!(count, 0, "{} is not delivered yet\n{native:#?}", said.token);
        }
    }
}

/// Returns how often a text is in the prompts of a session, apart from repeated and recalled messages and summaries.
fn times(native: &Native, token: &str) -> usize {
    times_in(&native.prompts, token)
}

/// Same as [`times`], for these prompts.
pub(super) fn times_in(prompts: &[String], token: &str) -> usize {
    let mut count = 0;
    for prompt in prompts {
        let new = match prompt.split_once(", repeated]\n") {
            Some((context, _)) => context,
            None => prompt,
        };
        let mut is_extra = false;
        for line in new.lines() {
            if !line.starts_with(' ') {
                is_extra = line.starts_with("- [summary of ") || line.starts_with("- [recalled ");
            }
            count += if is_extra { 0 } else { line.matches(token).count() };
        }
    }
    count
}

proptest! {
    #[test]
    fn every_message_of_others_is_delivered_exactly_once(
        acts in proptest::collection::vec(act(), 1..50),
    ) {
        let mut play = Play::new(1_000, 1 << 20);
        for act in acts {
            perform(&mut play, act);
        }
        let mut prompts = play.natives.values().flat_map(|native| &native.prompts);
        prop_assert!(!prompts.any(|prompt| prompt.contains("[summary of ")));
    }

    #[test]
    fn what_does_not_fit_is_delivered_as_a_summary(
        acts in proptest::collection::vec(act(), 1..50),
        window in 0..6_usize,
        budget in 3_000..8_000_u64,
    ) {
        let mut play = Play::new(window, budget);
        for act in acts {
            perform(&mut play, act);
        }
    }
}
