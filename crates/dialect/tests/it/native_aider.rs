//! Sessions of aider: its history in Markdown.

use tertulia_dialect::native::{NativeFormat, NativeReader, detect, unfinished};
use tertulia_session::Entry;

use crate::native_entry_lines::show;

const HISTORY: &str = include_str!("../fixtures/native/aider/history.md");

#[test]
fn a_history_is_read_with_a_branch_for_every_session() {
    let mut reader = NativeReader::new(NativeFormat::Aider);
    let mut entries = Vec::new();
    reader.read_document("", HISTORY.as_bytes(), &mut entries);
    let expected = r"
piece-1 <- - record: started
piece-2 <- piece-1 record: notes
piece-3 <- piece-1 record: notes
piece-3#1 <- piece-3 model: gpt-5
piece-4 <- piece-3#1 record: notes
piece-5 <- piece-3#1 record: command
piece-6 <- piece-3#1 record: notes
piece-7 <- piece-3#1 user: Rename f
to g.
piece-8 <- piece-7 assistant: > not a note
# Renaming

a.py
```python
<<<<<<< SEARCH
def f():
=======
#### keep
def g():
>>>>>>> REPLACE
```
piece-9 <- piece-8 record: notes
piece-9#1 <- piece-9 usage: gpt-5 3400 (1200) 45
piece-10 <- piece-9#1 record: notes
piece-11 <- piece-9#1 user: Thanks
piece-12 <- piece-11 user: /ask And now?
piece-13 <- piece-12 assistant: Now it is done.
piece-14 <- - record: started
piece-15 <- piece-14 record: notes
piece-15#1 <- piece-15 model: gpt-5-mini
piece-16 <- piece-15#1 record: command";
    assert_eq!(format!("\n{}", show(&entries)), expected);
    let session = reader.finish();
    assert_eq!(session.agent_version.as_deref(), Some("0.86.0"));
    assert_eq!(session.model.as_deref(), Some("gpt-5-mini"));
    assert_eq!(session.started.map(|time| time.millis()), Some(1_769_860_800_000));
    assert_eq!(session.problems, []);
}

fn entries_of(history: &[u8]) -> Vec<Entry> {
    let mut entries = Vec::new();
    NativeReader::new(NativeFormat::Aider).read_document("", history, &mut entries);
    entries
}

#[test]
fn the_finished_records_of_a_beginning_are_the_first_records_of_the_whole() {
    let history = HISTORY.replace("Thanks", "Žluťoučký kůň");
    let whole = entries_of(history.as_bytes());
    let mut most = 0;
    for cut in 0..=history.len() {
        let part = &history.as_bytes()[..cut];
        let finished = unfinished(NativeFormat::Aider, part).unwrap_or(cut);
        let entries = entries_of(&part[..finished]);
        assert_eq!(entries, whole[..entries.len()], "{cut}");
        assert!(entries.len() >= most, "{cut}");
        most = entries.len();
    }
    assert_eq!(most, whole.len() - 1, "the last input has no answer yet");
}

#[test]
fn the_mark_of_one_session_does_not_change_how_another_one_is_read() {
    let unmarked = HISTORY.replace("  \n", "\n");
    let alone = entries_of(unmarked.as_bytes()).len();
    let both = entries_of(format!("{unmarked}\n{HISTORY}").as_bytes());
    assert_eq!(both.len() - alone, entries_of(HISTORY.as_bytes()).len());
}

#[test]
fn a_history_is_recognised_by_its_first_line() {
    assert_eq!(detect(HISTORY.as_bytes()), Some(NativeFormat::Aider));
    assert_eq!(detect(b"# A readme\n\nabout aider chat started at noon"), None);
}

#[test]
fn lines_without_the_two_spaces_count_if_no_line_has_them() {
    let history = HISTORY.replace("  \n", "\n");
    let mut reader = NativeReader::new(NativeFormat::Aider);
    let mut entries = Vec::new();
    reader.read_document("", history.as_bytes(), &mut entries);
    assert!(show(&entries).contains("user: Rename f\nto g.\n"));
}
