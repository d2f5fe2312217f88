//! The transcript that Gemini CLI writes in addition to its stream: a log of records, of which only
//! the last answer's text is needed. Called by the `agent` crate with the file's text; the stream
//! repeats a text after a retry, and the transcript does not.
//!
//! A record is written again under its id when its tool calls arrive, and `$set.messages` replaces
//! everything before. Lines that cannot be parsed are skipped.

use std::collections::BTreeMap;

use super::fields::{Value, read_fields};

/// Returns the exact answer at the end of a text that was assembled from the stream, as far as the
/// transcript of this session contains it after the last tool. Returns `None` if the transcript has
/// no such text, or belongs to another session.
pub fn gemini_transcript_text<'a>(
    transcript: &str,
    session_id: &str,
    pieced: &'a str,
) -> Option<&'a str> {
    let mut records = Records::default();
    let mut is_ours = false;
    for line in transcript.lines() {
        let Ok([set, named, kind]) = read_fields(line, &["$set", "sessionId", "type"]) else {
            continue;
        };
        if let Some(named) = named.text() {
            if named != session_id {
                return None;
            }
            is_ours = true;
        }
        if set.is_some() {
            records.set(set);
        } else if kind.is_some() {
            records.add(line);
        }
    }
    if is_ours { records.end_of(pieced) } else { None }
}

#[derive(Debug, Default)]
struct Records {
    list: Vec<Record>,
    indexes: BTreeMap<Box<str>, usize>,
}

#[derive(Debug, Default)]
struct Record {
    /// The model's text; empty for a person, a tool or a notice.
    text: String,
    calls_tools: bool,
}

impl Records {
    /// Adds a record, or replaces the one with its id.
    fn add(&mut self, line: &str) {
        const NAMES: [&str; 4] = ["id", "type", "content", "toolCalls"];
        let Ok([id, kind, content, calls]) = read_fields(line, &NAMES) else { return };
        let record = match kind.is("gemini") {
            true => Record {
                text: words(content),
                calls_tools: calls.source().is_some_and(|calls| calls != "[]"),
            },
            false => Record::default(),
        };
        let Some(id) = id.word() else { return };
        match self.indexes.get(&id).and_then(|index| self.list.get_mut(*index)) {
            Some(known) => *known = record,
            None => {
                self.indexes.insert(id, self.list.len());
                self.list.push(record);
            }
        }
    }

    /// Applies `$set`: its `messages` replace all others.
    fn set(&mut self, set: Value<'_>) {
        let mut fresh = Self::default();
        let reading = set.at(&["messages"]).each(|record| {
            fresh.add(record.source().unwrap_or_default());
            Ok(())
        });
        if reading.is_ok() {
            *self = fresh;
        }
    }

    /// Returns the end of the text that matches the last records, going backwards. Several records
    /// may form the answer; one before them may belong to a summary or another turn, and does not
    /// match.
    fn end_of<'a>(&self, pieced: &'a str) -> Option<&'a str> {
        // The stream and the transcript may differ in trailing whitespace.
        let mut rest = pieced.trim_end();
        let from = self.list.iter().rposition(|record| record.calls_tools).map_or(0, |at| at + 1);
        let said = self.list.get(from..).unwrap_or_default();
        for record in said.iter().rev() {
            let is_last = rest.len() == pieced.trim_end().len();
            let text = if is_last { record.text.trim_end() } else { record.text.as_str() };
            match rest.strip_suffix(text) {
                Some(before) => rest = before,
                None => break,
            }
        }
        pieced.get(rest.len()..).filter(|exact| !exact.trim().is_empty())
    }
}

/// Returns the text of a record: a string, or the texts among its parts. An unreadable list has no
/// text.
fn words(content: Value<'_>) -> String {
    content.text().unwrap_or_else(|| {
        let mut words = String::new();
        let _ = content.each(|part| {
            words.push_str(&part.at(&["text"]).text_or_empty());
            Ok(())
        });
        words
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    const HEADER: &str = r#"{"sessionId":"s-1","projectHash":"x","kind":"main"}"#;

    fn check(lines: &[&str], pieced: &str, expected: Option<&str>) {
        let transcript = [&[HEADER], lines].concat().join("\n");
        assert_eq!(gemini_transcript_text(&transcript, "s-1", pieced), expected);
    }

    #[test]
    fn the_last_answer_is_what_was_said_after_the_last_tool() {
        let question = r#"{"id":"a","type":"user","content":[{"text":"hi"}]}"#;
        let plan = r#"{"id":"b","type":"gemini","content":"Running it."}"#;
        let call = r#"{"id":"b","type":"gemini","content":"Running it.","toolCalls":[{"id":"t"}]}"#;
        let result = r#"{"id":"c","type":"user","content":[{"functionResponse":{}}]}"#;
        let answer = r#"{"id":"d","type":"gemini","content":"Done \u00e9.","tokens":{"input":1}}"#;
        let noise = r#"{"$set":{"lastUpdated":"now"}}"#;
        let log = [question, plan, noise, call, result, answer, noise];
        check(&log, "DonDone é.", Some("Done é."));
        check(&log, "Running it.Done é.\n", Some("Done é.\n"));
        check(&log, "Something else.", None);
        check(&[question, plan], "Running it.", Some("Running it."));
        check(&[question, plan, call], "Running it.", None);
        check(&[question], "hi", None);
    }

    #[test]
    fn an_answer_may_have_several_records_and_others_before_them_do_not_fit() {
        let summary = r#"{"id":"a","type":"gemini","content":"Got it."}"#;
        let first = r#"{"id":"b","type":"gemini","content":"One, "}"#;
        let empty = r#"{"id":"c","type":"gemini","content":""}"#;
        let second = r#"{"id":"d","type":"gemini","content":"two. "}"#;
        check(&[summary, first, empty, second], "OnOne, two.", Some("One, two."));
    }

    #[test]
    fn a_set_of_messages_replaces_all_before_it() {
        let old = r#"{"id":"a","type":"gemini","content":"old"}"#;
        let set = r#"{"$set":{"messages":[{"id":"z","type":"user","content":"q"}]}}"#;
        let new = r#"{"id":"b","type":"gemini","content":[{"text":"n"},{"x":1},{"text":"ew"}]}"#;
        check(&[old, set, new], "oldnew", Some("new"));
        check(&[old, set], "old", None);
    }

    #[test]
    fn garbage_and_half_lines_are_passed_over() {
        let answer = r#"{"id":"d","type":"gemini","content":"ok"}"#;
        check(
            &["", "{", "[1]", "null", r#"{"type":7}"#, answer, r#"{"id":"e","type":"gem"#],
            "not ok",
            Some("ok"),
        );
    }

    #[test]
    fn another_session_s_transcript_gives_nothing() {
        let answer = r#"{"id":"d","type":"gemini","content":"ok"}"#;
        assert_eq!(gemini_transcript_text(&format!("{HEADER}\n{answer}"), "s-2", "ok"), None);
        assert_eq!(gemini_transcript_text(answer, "s-1", "ok"), None);
    }
}
