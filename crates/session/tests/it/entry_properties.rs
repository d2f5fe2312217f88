//! Properties of every entry, every tree of entries and every JSON value.

use std::collections::HashSet;

use proptest::prelude::*;
use proptest::strategy::ValueTree;
use tertulia_session::json;
use tertulia_session::record::{read_entry, read_entry_line};
use tertulia_session::{Cause, Entry, EntryId, EntryIndex, EntryKind, Fields, NewEntry};

use crate::arbitrary::entries::{custom_of_version_1, entry, nearly_entry, tree, turn};
use crate::arbitrary::{at_least, json};
use crate::entry_wire::{read, redaction, show, summary, view, walked, write};
use crate::schema;

proptest! {
    #![proptest_config(at_least(1000))]

    #[test]
    fn what_was_written_reads_as_the_same_entry(entry in entry()) {
        let written = write(&entry);
        let again = read(&written).unwrap();
        prop_assert_eq!(&again, &entry, "{}", written);
        prop_assert_eq!(again.content_id(), entry.content_id());
    }

    #[test]
    fn an_entry_is_one_line_that_keeps_to_the_schema(entry in entry()) {
        let written = write(&entry);
        prop_assert!(!written.contains(['\n', '\r']), "{}", written);
        // A number beyond the range of floats and a lone surrogate are valid JSON, but this library cannot represent
        // them.
        if let Ok(value) = serde_json::from_str(&written) {
            prop_assert_eq!(schema::complaint(&value), None, "{}", written);
        }
    }

    #[test]
    fn other_content_has_another_id(one in entry(), other in entry()) {
        let same = write(&Entry { id: one.id.clone(), ..other.clone() }) == write(&one);
        prop_assert_eq!(one.content_id() == other.content_id(), same);
    }

    #[test]
    fn what_could_be_read_is_written_so_that_it_reads_the_same(text in nearly_entry()) {
        if let Ok(entry) = read(&text) {
            let written = write(&entry);
            let again = read(&written).unwrap();
            prop_assert_eq!(&again, &entry, "{}", written);
            prop_assert_eq!(write(&again), written);
        }
    }

    #[test]
    fn a_cause_in_the_words_of_version_1_is_the_same_cause(mut turn in turn()) {
        // Version 1 wrote the id of the turn into every cause except the two that begin a turn. It had no other
        // causes.
        let begins = matches!(turn.cause, Cause::Asked { .. } | Cause::Repeated { .. });
        turn.turn_id = (!begins).then(|| turn.turn_id.unwrap_or("e-1".into()));
        let is_newer = matches!(
            turn.cause,
            Cause::Other(_)
                | Cause::Failed { .. }
                | Cause::Overspent { .. }
                | Cause::FellBack { .. }
                | Cause::AwaitsReset { .. }
                | Cause::Consulted { .. }
                | Cause::GraceEnded { .. }
                | Cause::Limited { .. }
        );
        if is_newer {
            turn.cause = Cause::failed("crash");
        }
        (turn.memory, turn.native_head) = (None, None);
        turn.unknown = Fields::NONE;
        let kind = EntryKind::Turn(Box::new(turn.with_cause_of_version_1()));
        let entry = NewEntry::new(kind).with_id("a".into());
        let written = write(&entry);
        prop_assert!(!written.contains("turnId"), "{}", written);
        prop_assert_eq!(read(&written).unwrap(), entry);
    }

    #[test]
    fn what_version_1_kept_in_a_custom_entry_is_written_byte_for_byte(payload in custom_of_version_1()) {
        let payload = json::Json::parse(&payload).unwrap();
        let text = format!(r#"{{"id":"a","type":"custom","payload":{}}}"#, payload.as_str());
        let entry = read(&text).unwrap();
        prop_assert_eq!(entry.kind.type_name(), "custom");
        prop_assert_eq!(&write(&entry), &text);
        prop_assert_eq!(read(&text).unwrap(), entry);
    }

    #[test]
    fn an_entry_or_one_sentence_comes_of_any_json(text in prop_oneof![json(), nearly_entry()]) {
        if let Err(error) = read_entry(json::parse(&text).unwrap()) {
            let sentence = error.to_string();
            prop_assert!(sentence.starts_with("Entry "), "{}", sentence);
        }
    }

    #[test]
    fn an_entry_or_an_error_comes_of_any_text(text in any::<String>()) {
        let _ = read_entry_line(1, &text);
    }

    #[test]
    fn what_keeps_to_the_schema_can_be_read(text in nearly_entry()) {
        if let Ok(value) = serde_json::from_str(&text) && schema::complaint(&value).is_none() {
            prop_assert_eq!(read(&text).err(), None);
        }
    }

    #[test]
    fn the_view_from_any_entry_is_the_path_to_its_root((log, parents) in tree()) {
        for tail in 0..log.len() {
            let path = path_to(Some(tail), &parents);
            let view = view(&log[..=tail]).unwrap();
            let seen: Vec<&EntryId> = view.iter().map(|entry| entry.id()).collect();
            let expected: Vec<&EntryId> = path.iter().map(|position| &log[*position].id).collect();
            prop_assert_eq!(&seen, &expected);
            prop_assert_eq!(seen.iter().collect::<HashSet<_>>().len(), seen.len());
        }
    }

    #[test]
    fn an_index_that_grew_sees_what_a_new_one_sees((log, _) in tree(), cuts in any::<[u8; 3]>()) {
        let mut index = EntryIndex::default();
        for cut in cuts {
            index.catch_up(&log[..index.len().max(usize::from(cut) % (log.len() + 1))]).unwrap();
        }
        index.catch_up(&log).unwrap();
        let grown = show(walked(index.walk(&log).unwrap()));
        prop_assert_eq!(grown, show(view(&log)));
    }

    #[test]
    fn no_summary_outlives_the_redaction_of_what_it_covers(
        (mut log, parents) in tree(),
        picks in proptest::collection::vec((0..4_u8, any::<[prop::sample::Index; 2]>()), 42),
    ) {
        let (mut ranges, mut redacted) = (Vec::new(), Vec::new());
        for (position, (what, [one, other])) in (2..log.len()).zip(picks) {
            let path = path_to(parents[position], &parents);
            if what == 0 {
                let target = one.index(log.len());
                redacted.push((position, target));
                log[position].kind = redaction(&format!("e{target}"));
            } else if what == 1 && !path.is_empty() {
                let (one, other) = (one.index(path.len()), other.index(path.len()));
                let range = &path[one.min(other)..=one.max(other)];
                log[position].kind = summary(&format!("e{}..e{}", range[0], range[range.len() - 1]), "e0");
                ranges.push((position, range.to_vec()));
            }
        }
        // A summary may have been void, and so invisible, before it was redacted.
        let is_summary = |target: &usize| ranges.iter().any(|(position, _)| position == target);
        let index = EntryIndex::over(&log).unwrap();
        for (position, range) in &ranges {
            let is_hidden = index.view_entry(&log, *position).unwrap().hidden_by().is_some();
            let hits = |(at, target): &(usize, usize)| {
                let is_first = !redacted.iter().any(|(first, same)| same == target && first < at);
                at > position && is_first && range.contains(target) && !is_summary(target)
            };
            if redacted.iter().any(hits) {
                prop_assert!(is_hidden);
            }
            if is_hidden && redacted.iter().all(|(_, target)| target != position) {
                let before = path_to(Some(*position), &parents);
                let cause = |(at, target): &(usize, usize)| at > position && before.contains(target);
                prop_assert!(redacted.iter().any(cause));
            }
        }
    }

    #[test]
    fn no_log_of_any_entries_panics_and_no_redacted_entry_is_open(
        entries in proptest::collection::vec((entry(), 0..4_u8, option(), 0..6_u8), 0..8),
    ) {
        // There are only a few ids, so that entries repeat and refer to each other in every way.
        let log: Vec<Entry> = entries.into_iter().map(|(mut entry, id, parent, target)| {
            entry.id = EntryId::from(id.to_string());
            entry.parent_id = parent.map(|parent| EntryId::from(parent.to_string()));
            if target < 4 {
                entry.kind = redaction(&target.to_string());
            }
            entry
        }).collect();
        let mut index = EntryIndex::default();
        let _ = index.catch_up(&log);
        let log = &log[..index.len()];
        if let Ok(walk) = index.walk(log) {
            let targets: Vec<&str> = log.iter().filter_map(target_of).collect();
            for entry in walk.flatten() {
                let hidden = targets.contains(&entry.id().as_str());
                // The content of a purged entry is never visible, whether its redaction is in the log or not.
                let purged = matches!(log[entry.position()].kind, EntryKind::Purged(_));
                let kind = &log[entry.position()].kind;
                let may_be_void = matches!(
                    kind,
                    EntryKind::CompactionSummary(_)
                        | EntryKind::BranchSummary(_)
                        | EntryKind::Recall(_)
                );
                prop_assert!(entry.hidden_by().is_some() || !(hidden || purged));
                prop_assert!(hidden || purged || may_be_void || entry.hidden_by().is_none());
                prop_assert_eq!(entry.entry().is_none(), entry.hidden_by().is_some());
            }
        }
    }
}

/// Returns the positions from the root to this one.
fn path_to(position: Option<usize>, parents: &[Option<usize>]) -> Vec<usize> {
    let mut path: Vec<usize> =
        std::iter::successors(position, |position| parents[*position]).collect();
    path.reverse();
    path
}

fn option() -> impl Strategy<Value = Option<u8>> {
    proptest::option::of(0..5_u8)
}

fn target_of(entry: &Entry) -> Option<&str> {
    match &entry.kind {
        EntryKind::Redaction(redaction) => Some(redaction.target_id.as_str()),
        _ => None,
    }
}

#[test]
fn the_generator_of_version_1_gives_typed_entries_too() {
    let mut runner = proptest::test_runner::TestRunner::deterministic();
    let strategy = custom_of_version_1();
    let made = |runner: &mut _| strategy.new_tree(runner).unwrap().current();
    let is_typed = |payload: String| {
        let text = format!(r#"{{"id":"a","type":"custom","payload":{payload}}}"#);
        !matches!(read(&text).unwrap().kind, EntryKind::Custom(_))
    };
    let typed = (0..200).filter(|_| is_typed(made(&mut runner))).count();
    assert!((20..=190).contains(&typed), "{typed} of 200 are typed");
}

#[test]
fn the_generator_of_near_entries_gives_entries_too() {
    let mut runner = proptest::test_runner::TestRunner::deterministic();
    let strategy = nearly_entry();
    let made = |runner: &mut _| strategy.new_tree(runner).unwrap().current();
    let entries = (0..200).filter(|_| read(&made(&mut runner)).is_ok()).count();
    assert!((20..=190).contains(&entries), "{entries} of 200 are entries");
}
