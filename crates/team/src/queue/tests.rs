//! Tests of each rule of the queue, and that every turn starts in the end.

use super::*;
use proptest::prelude::*;

const P1: Intent = Intent::Interrupt;
const P2: Intent = Intent::Reply;
const P3: Intent = Intent::Extend;

fn item(turn: &str, index: usize, parent: &str, intent: Intent) -> Item {
    let parent = EntryId::from(parent);
    Item { turn: turn.into(), index: MemberIndex(index), parent, intent, by: None, round: None }
}

fn queue(items: &[(&str, usize, &str, Intent)]) -> Queue {
    let mut queue = Queue::default();
    for (turn, index, parent, intent) in items {
        queue.items.push(item(turn, *index, parent, *intent));
    }
    queue
}

/// Starts all waiting turns and returns their order.
fn order(mut queue: Queue, last_said: &str) -> String {
    let limits = Limits::default();
    let last_said = EntryId::from(last_said);
    let mut order = Vec::new();
    while let Some((item, _)) = queue.choose(&limits, Some(&last_said), |_| true) {
        let turn = item.turn.clone();
        queue.start(&turn);
        order.push(turn.to_string());
    }
    order.join(" ")
}

#[test]
fn p1_goes_first_and_the_oldest_p1_before_the_others() {
    let waiting = [("a", 0, "m", P2), ("b", 1, "x", P1), ("c", 2, "m", P1), ("d", 3, "y", P1)];
    assert_eq!(order(queue(&waiting), "m"), "b c d a");
}

#[test]
fn answers_to_the_last_message_go_before_others_and_p2_before_p3() {
    let waiting = [
        ("a", 0, "old", P2),
        ("b", 1, "m", P3),
        ("c", 2, "m", P2),
        ("d", 3, "old", P3),
        ("e", 4, "m", P2),
    ];
    assert_eq!(order(queue(&waiting), "m"), "c e b a d");
    assert_eq!(order(queue(&waiting), "none"), "a c e b d");
}

#[test]
fn a_foreign_p3_passes_after_five_local_ones() {
    let mut waiting = queue(&[("foreign", 0, "old", P3)]);
    for turn in ["a", "b", "c", "d", "e", "f", "g"] {
        waiting.items.push(item(turn, 1, "m", P2));
    }
    assert_eq!(order(waiting, "m"), "a b c d e foreign f g");
}

#[test]
fn a_p1_in_between_gives_the_local_ones_no_new_run() {
    let limits = Limits::default();
    let m = EntryId::from("m");
    let mut waiting = queue(&[("foreign", 0, "old", P3)]);
    let mut order = Vec::new();
    for round in 0..12 {
        waiting.items.push(item(&format!("local{round}"), 1, "m", P2));
        waiting.items.push(item(&format!("urgent{round}"), 2, "m", P1));
        for _ in 0..2 {
            let turn = waiting.choose(&limits, Some(&m), |_| true).unwrap().0.turn.clone();
            waiting.start(&turn);
            order.push(turn.to_string());
        }
    }
    let index = order.iter().position(|turn| turn == "foreign").unwrap();
    assert_eq!(order[..index].iter().filter(|turn| turn.starts_with("local")).count(), 5);
}

#[test]
fn a_full_queue_refuses_and_a_crowded_branch_puts_back() {
    let limits = Limits { queue: 3, branch: 2, ..Limits::default() };
    let waiting = queue(&[("a", 0, "m", P2), ("b", 1, "m", P2)]);
    let admit = |queue: &Queue, index, intent| {
        queue.admit(&limits, &"m".into(), MemberIndex(index), intent)
    };
    assert_eq!(admit(&waiting, 2, P2), Admission::As(P3));
    assert_eq!(admit(&waiting, 2, P1), Admission::As(P3));
    let full = queue(&[("a", 0, "m", P2), ("b", 1, "m", P2), ("c", 2, "x", P2)]);
    assert_eq!(admit(&full, 3, P1), Admission::Overflow);
}

#[test]
fn the_same_again_and_the_same_member_at_the_tail_are_refused_but_never_a_p1() {
    let limits = Limits::default();
    let waiting = queue(&[("a", 0, "m", P2), ("b", 1, "m", P2)]);
    let admit = |parent: &str, index, intent| {
        waiting.admit(&limits, &parent.into(), MemberIndex(index), intent)
    };
    assert_eq!(admit("m", 0, P2), Admission::Duplicate("a".into()));
    assert_eq!(admit("n", 1, P2), Admission::Adjacent("b".into()));
    assert_eq!(admit("n", 1, P3), Admission::Adjacent("b".into()));
    assert_eq!(admit("n", 1, P1), Admission::As(P1));
    assert_eq!(admit("n", 0, P2), Admission::As(P2));
    let urgent = queue(&[("a", 0, "m", P1)]);
    assert_eq!(urgent.admit(&limits, &"n".into(), MemberIndex(0), P1), Admission::As(P1));
    let patient = queue(&[("a", 0, "m", P3)]);
    assert_eq!(patient.admit(&limits, &"n".into(), MemberIndex(0), P2), Admission::As(P2));
}

proptest! {
    /// A turn with k turns before it starts after at most (k + 1) × (local + 1) starts of turns that are not P1,
    /// whatever turns are added later.
    #[test]
    fn nobody_starves(
        pushes in prop::collection::vec((0_usize..4, 0_usize..3, 0_u8..3), 1..300),
        local in 0_u32..6,
    ) {
        let limits = Limits { local, ..Limits::default() };
        let parents = ["m0", "m1", "m2"];
        let mut queue = Queue::default();
        let mut bounds = std::collections::BTreeMap::new();
        let mut starts = 0;
        for (step, (index, parent, intent)) in pushes.into_iter().enumerate() {
            let intent = [P1, P2, P3][usize::from(intent)];
            let before = queue.items.iter().filter(|item| item.intent != P1).count();
            queue.items.push(item(&step.to_string(), index, parents[parent], intent));
            bounds.insert(EntryId::from(step.to_string()), starts + (before + 1) * (local as usize + 1));
            // In the first half, two turns are queued for every one that starts; then no more are queued.
            if step % 2 == 1 {
                let last_said = EntryId::from(parents[step % 3]);
                let chosen = queue.choose(&limits, Some(&last_said), |_| true).map(|(item, _)| item.turn.clone());
                let item = queue.start(&chosen.unwrap()).unwrap();
                starts += usize::from(item.intent != P1);
                prop_assert!(item.intent == P1 || starts <= bounds[&item.turn]);
            }
            for item in queue.items.iter().filter(|item| item.intent != P1) {
                prop_assert!(starts < bounds[&item.turn], "{} starves", item.turn);
            }
        }
    }
}
