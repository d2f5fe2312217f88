//! Sessions of aider: its history in Markdown.

use tertulia_dialect::native::{NativeFormat, NativeReader, detect};

use crate::native_entry_lines::show;

const HISTORY: &str = include_str!("../fixtures/native/aider/history.md");

#[test]
fn a_history_is_read_with_a_branch_for_every_session() {
    let mut reader = NativeReader::new(NativeFormat::Aider);
    let mut entries = Vec::new();
    reader.read_document("", HISTORY.as_bytes(), &mut entries);
    let expected = r"
piece-1 <- - record: ?
piece-2 <- - record: started
piece-3 <- piece-2 record: notes
piece-3#1 <- piece-3 model: gpt-5
piece-4 <- piece-3#1 record: command
piece-5 <- piece-3#1 record: notes
piece-6 <- piece-3#1 user: Rename f
to g.
piece-7 <- piece-6 assistant: > not a note
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
piece-8 <- piece-7 record: notes
piece-8#1 <- piece-8 usage: gpt-5 3400 (1200) 45
piece-9 <- piece-8#1 user: Thanks
piece-10 <- piece-9 user: /ask And now?
piece-11 <- piece-10 assistant: Now it is done.
piece-12 <- - record: started
piece-13 <- piece-12 record: notes
piece-13#1 <- piece-13 model: gpt-5-mini
piece-14 <- piece-13#1 record: command";
    assert_eq!(format!("\n{}", show(&entries)), expected);
    let session = reader.finish();
    assert_eq!(session.agent_version.as_deref(), Some("0.86.0"));
    assert_eq!(session.model.as_deref(), Some("gpt-5-mini"));
    assert_eq!(session.started.map(|time| time.millis()), Some(1_769_860_800_000));
    assert_eq!(session.problems, []);
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
