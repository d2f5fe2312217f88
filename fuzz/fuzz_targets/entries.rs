//! Reads any lines as the log of a session: they must be refused with a reason, or give a branch without redacted
//! text.
#![no_main]

use std::collections::HashSet;

use libfuzzer_sys::fuzz_target;
use tertulia_session::record::{EntryRecord, read_entry, read_entry_line};
use tertulia_session::{EntryIndex, json};

fuzz_target!(|text: &str| {
    let mut log = Vec::new();
    for (number, line) in text.split('\n').enumerate() {
        match read_entry_line(number + 1, line) {
            Ok(entry) => log.push(entry),
            Err(error) => assert!(!error.to_string().is_empty()),
        }
    }
    for entry in &log {
        let written = EntryRecord::new(entry).to_json();
        assert!(!written.contains('\n'), "an entry is one line");
        let raw = json::parse(&written).expect("a record is JSON");
        assert_eq!(read_entry(raw).as_ref(), Ok(entry), "a round trip loses nothing");
    }
    let whole = EntryIndex::over(&log);
    let mut index = EntryIndex::default();
    for end in 0..=log.len() {
        if index.catch_up(&log[..end]).is_err() {
            assert!(whole.is_err(), "an early error is also an error at the end");
            return;
        }
    }
    let Ok(Ok(view)) = whole.as_ref().map(|index| index.walk(&log)) else { return };
    let Ok(view) = view.collect::<Result<Vec<_>, _>>() else { return };
    let ids: HashSet<_> = view.iter().map(|entry| entry.id()).collect();
    assert_eq!(ids.len(), view.len(), "every entry once");
    for entry in view.iter().filter(|entry| entry.hidden_by().is_some()) {
        assert!(entry.entry().is_none() && entry.kind().is_none());
    }
});
