//! All pairs over the fixtures of this repository, and what is printed and counted.

use std::path::PathBuf;

use tertulia_session::{EntryKind, Message, NewEntry, Part, Role};

use super::files::Session;
use super::*;

/// The sessions that the tests of `dialect` read.
fn fixtures() -> PathBuf {
    PathBuf::from(concat!(env!("CARGO_MANIFEST_DIR"), "/../crates/dialect/tests/fixtures/native"))
}

#[test]
fn every_fixture_is_written_for_every_agent_and_read_back() {
    let report = check_folder(&fixtures(), None).unwrap();
    assert_eq!(report.problems, []);
    for format in NativeFormat::ALL {
        let row = report.tally.row(format);
        assert_eq!(row.failures, 0, "{format:?}");
        // The last chat of the history of aider has no messages, and there are no files of Gemini CLI and pi.
        let is_empty =
            matches!(format, NativeFormat::Aider | NativeFormat::Gemini | NativeFormat::Pi);
        assert_eq!(row.items[0] == 0, is_empty, "{format:?}: {row:?}");
    }
}

fn session(texts: &[(Role, &str)]) -> Session {
    let mut entries: Vec<tertulia_session::Entry> = Vec::new();
    for (number, (role, text)) in texts.iter().enumerate() {
        let parts = [Part::text(*text)].into_iter().collect();
        let mut entry = NewEntry::new(EntryKind::Message(Message::with_role(*role, parts)));
        entry.parent_id = entries.last().map(|last| last.id.clone());
        entries.push(entry.with_id(format!("n{number}").into()));
    }
    let file = "a.jsonl".to_owned();
    Session { file, format: NativeFormat::Claude, bytes: 1_000_000, records: 2, entries }
}

#[test]
fn a_row_counts_sessions_pairs_and_items() {
    let session = session(&[(Role::User, "How deep?"), (Role::Assistant, "Twelve metres.")]);
    let mut tally = Tally::default();
    tally.session(&session);
    let checked = check(&session, NativeFormat::Pi).unwrap().unwrap();
    tally.pair(session.format, &checked.receipt);
    tally.failure(session.format);
    let expected = concat!(
        "   format  sessions   records        MB     pairs      kept  reshaped shortened  left out  failures\n",
        "   claude         1         2       1.0         2         2         0         0         0         1\n",
    );
    assert_eq!(tally.table(), expected);
}

#[test]
fn a_folder_with_other_files_has_no_sessions() {
    let folder = tempfile::tempdir().unwrap();
    std::fs::write(folder.path().join("notes.txt"), "Nothing to see.\n").unwrap();
    let report = check_folder(folder.path(), None).unwrap();
    assert_eq!((report.other_files, report.problems, report.tally), (1, vec![], Tally::default()));
}
