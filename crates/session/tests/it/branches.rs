//! The entries of a branch, and the errors for a log that cannot be followed.

use tertulia_session::{EntryError, EntryId, EntryIndex};

use crate::entry_wire::{at, log, said, show, view, walked};

#[track_caller]
fn check(notation: &str, shown: &str) {
    assert_eq!(show(view(&log(notation))), shown);
}

#[test]
fn an_empty_log_is_an_empty_view() {
    check("", "");
    assert!(view(&[]).unwrap().is_empty());
}

#[test]
fn the_view_is_the_way_from_the_newest_entry_to_its_root() {
    check("a b<a c<b d<b e<d", "a b d e");
    check("a b<a c<b d<a", "a d");
}

#[test]
fn a_log_that_names_no_parents_is_one_chain() {
    check("a b c", "a b c");
}

#[test]
fn what_is_appended_to_such_a_log_does_not_cut_it_off() {
    check("a b c d<c", "a b c d");
    check("a b c d<b", "a b d");
}

#[test]
fn once_a_parent_was_named_an_entry_without_one_starts_a_branch() {
    check("a b<a c", "c");
    check("a b<a c d<c", "c d");
    check("a b c<b d e<c", "a b c e");
}

#[test]
fn an_entry_that_is_repeated_is_taken_once() {
    check("a b<a c<b b<a", "a b c");
    check("a b a", "a b");
    check("a b a c", "a b c");
}

#[test]
fn one_id_for_two_contents_is_an_error() {
    let log = [at("a", said("x")), at("b", said("x")), at("a", said("y"))];
    let error = view(&log).unwrap_err();
    assert_eq!((error.entry().unwrap().as_str(), error.field()), ("a", Some("id")));
    assert_eq!(
        error.to_string(),
        "Entry a: two entries with different content have this id, at positions 0 and 2 of the \
         log; give each its own id"
    );
}

#[test]
fn a_parent_that_is_not_there_is_an_error_on_its_branch_only() {
    check(
        "a b<x c<b",
        "Entry b: parentId names x, which is not in the log; add the missing entries, or leave \
         parentId out to start a branch",
    );
    check("a b<x c<a", "a c");
}

#[test]
fn a_circle_of_parents_is_an_error() {
    let circle = |entry: &str, parent: &str| {
        format!(
            "Entry {entry}: parentId names {parent}, which comes later in the log; name an earlier entry"
        )
    };
    check("a<a", &circle("a", "a"));
    check("a<b b<a", &circle("a", "b"));
    check("a<c b<a c<b d<c", &circle("a", "c"));
    check("r a<b b<c c<a d<b", &circle("a", "b"));
}

#[test]
fn parents_may_come_later_in_the_log() {
    check("r c<b b<a a<r d<c", "r a b c d");
}

#[test]
fn a_walk_goes_only_as_far_as_it_is_asked_to() {
    let log = log("b<a c<b d<c e<d");
    let index = EntryIndex::over(&log).unwrap();
    let newest = |count| {
        let walk = index.walk(&log).unwrap();
        walk.take(count)
            .map(|entry| entry.map(|entry| entry.id().to_string()))
            .collect::<Result<Vec<_>, _>>()
    };
    assert_eq!(newest(0).unwrap(), [""; 0]);
    assert_eq!(newest(2).unwrap(), ["e", "d"]);
    assert_eq!(newest(4).unwrap(), ["e", "d", "c", "b"]);
    assert!(matches!(newest(5), Err(EntryError::MissingParent { .. })));
}

#[test]
fn a_walk_ends_after_its_error() {
    let log = log("b<a c<b");
    let index = EntryIndex::over(&log).unwrap();
    let mut walk = index.walk(&log).unwrap();
    assert!(walk.next().unwrap().is_ok() && walk.next().unwrap().is_ok());
    assert!(walk.next().unwrap().is_err());
    assert!(walk.next().is_none() && walk.next().is_none());
}

#[test]
fn a_long_log_is_followed_to_its_root_and_costs_no_stack() {
    let words: Vec<String> = (0..100_000).map(|position| format!("e{position}")).collect();
    let chain = log(&words.join(" "));
    let view_of_chain = view(&chain).unwrap();
    assert_eq!((view_of_chain.len(), view_of_chain[0].id().as_str()), (100_000, "e0"));
    let backwards: Vec<_> = (0..100_000)
        .map(|position| at(&format!("e{position}<e{}", (position + 1) % 99_999), said("x")))
        .collect();
    assert!(matches!(view(&backwards), Err(EntryError::ParentCycle { .. })));
}

#[test]
fn an_index_catches_up_with_its_log() {
    let log = log("a b<a c<b d<a");
    let mut index = EntryIndex::default();
    for end in 0..=log.len() {
        index.catch_up(&log[..end]).unwrap();
        let walk = index.walk(&log[..end]).unwrap();
        assert_eq!(show(walked(walk)), show(view(&log[..end])));
    }
    assert_eq!(index.len(), 4);
    assert_eq!(index.position(&EntryId::from("c")), Some(2));
    let behind = index.walk(&log[..3]).unwrap_err();
    assert_eq!(behind, EntryError::OutOfStep { indexed: 4, given: 3 });
}

#[test]
fn after_an_error_the_index_knows_what_came_before_it() {
    let log = [at("a", said("x")), at("b<a", said("x")), at("a", said("y"))];
    let mut index = EntryIndex::default();
    assert_eq!(index.catch_up(&log), index.clone().catch_up(&log));
    assert_eq!(index.len(), 2);
    assert_eq!(show(walked(index.walk(&log[..2]).unwrap())), "a b");
}
