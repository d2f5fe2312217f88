//! Version 1 of the record form, one entry of every type with all its fields, as it lies on disks.
//! This file is never changed to make a test pass: a change of the form is a new version.

use std::collections::BTreeSet;

use tertulia_session::record::EntryLines;
use tertulia_session::{BranchView, Entry};

use crate::entry_wire::write;

pub(crate) const GOLDEN: &str = include_str!("../fixtures/entries-v1.jsonl");

const TYPES: [&str; 15] = [
    "branch_summary",
    "compaction_summary",
    "context_cut",
    "custom",
    "message",
    "model_change",
    "purged",
    "redaction",
    "runtime_init",
    "session_header",
    "system_prompt_override",
    "team_task",
    "thinking_level_change",
    "turn",
    "usage",
];

pub(crate) fn entries() -> Vec<Entry> {
    let mut lines = EntryLines::new();
    GOLDEN.lines().filter_map(|line| lines.read(line).unwrap()).collect()
}

#[test]
fn version_1_is_written_as_it_was_read() {
    let written: String = entries().iter().map(|entry| write(entry) + "\n").collect();
    for (written, golden) in written.lines().zip(GOLDEN.lines()) {
        assert_eq!(written, golden);
    }
    assert_eq!(written, GOLDEN);
}

#[test]
fn every_type_is_among_the_golden_entries_and_unknown_ones_too() {
    let entries = entries();
    let found: BTreeSet<&str> = entries.iter().map(|entry| entry.kind.type_name()).collect();
    assert!(TYPES.iter().all(|name| found.contains(name)), "{found:?}");
    assert!(found.len() > TYPES.len(), "{found:?}");
}

#[test]
fn the_golden_log_can_be_followed() {
    let entries = entries();
    let (last, first) = (&entries[27].id, &entries[26].id);
    assert_eq!(BranchView::ending_in(&entries, last).unwrap().len(), 1);
    assert_eq!(BranchView::ending_in(&entries, first).unwrap().len(), 27);
}

#[test]
fn the_ids_that_follow_from_the_golden_entries_stay() {
    let ids: Vec<String> =
        entries().iter().map(|entry| entry.content_id().to_string()).take(8).collect();
    let golden = [
        "e-b2af7af0c977ec2729411f6601fbf839",
        "e-3b382eef2605644f675d26c84e9f1f52",
        "e-a927eb306145a26ec1030f5455cac5be",
        "e-b38f523dc5597a6160d1b3f002d19aba",
        "e-47958e30563ecc66f89370c5984b16f8",
        "e-2812c852b2f4b717e1fd55b02a946280",
        "e-bf38ed9b7e7576667d91f3c6208e59be",
        "e-63d6a2fa92ebf9352771b4e495c137f1",
    ];
    assert_eq!(ids, golden);
}
