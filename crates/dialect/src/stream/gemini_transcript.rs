//! Reads the last answer from the transcript that Gemini CLI writes in addition to its stream. The stream repeats a
//! text after a retry, and the transcript does not. The `agent` crate passes the text of the file. Lines that cannot
//! be parsed are skipped.

use std::collections::HashMap;

use tertulia_session::{Entry, PartKind, Role};

use crate::native::{NativeFormat, NativeReader, Record};

/// Returns the exact answer at the end of a text that was assembled from the stream. It consists of the text that the
/// transcript of this session contains after the last tool. Returns `None` if the transcript has no such text, or
/// belongs to another session.
pub fn gemini_transcript_text<'a>(
    transcript: &str,
    session_id: &str,
    pieced: &'a str,
) -> Option<&'a str> {
    let mut reader = NativeReader::new(NativeFormat::Gemini);
    let mut entries = Vec::new();
    for (number, line) in (1..).zip(transcript.lines()) {
        let record = Record { file: "", line: number, bytes: line.as_bytes(), end: "\n" };
        reader.read(record, &mut entries);
    }
    let session = reader.finish();
    if session.native_id.as_deref() != Some(session_id) {
        return None;
    }
    let by_id: HashMap<&str, &Entry> =
        entries.iter().map(|entry| (entry.id.as_str(), entry)).collect();
    let mut at = session.leaf.as_ref();
    // Every parent is an earlier entry, so the loop ends.
    let branch = std::iter::from_fn(|| {
        let entry = by_id.get(at?.as_str())?;
        at = entry.parent_id.as_ref();
        Some(*entry)
    });
    end_of(branch, pieced)
}

/// Returns the end of the text that matches the last messages of the model, going backwards. Several messages may
/// form the answer. An earlier message may belong to a summary or another turn; it does not match.
fn end_of<'a, 'e>(branch: impl Iterator<Item = &'e Entry>, pieced: &'a str) -> Option<&'a str> {
    // The stream and the transcript may differ in trailing whitespace.
    let mut rest = pieced.trim_end();
    let mut is_last = true;
    let answers = branch.filter_map(Entry::message);
    for answer in answers.filter(|message| message.role == Some(Role::Assistant)) {
        if answer.parts.iter().any(|part| matches!(part.kind, PartKind::ToolCall(_))) {
            break;
        }
        let text: String = answer.parts.iter().filter_map(|part| part.as_text()).collect();
        let text = if is_last { text.trim_end() } else { text.as_str() };
        let Some(before) = rest.strip_suffix(text) else { break };
        rest = before;
        is_last &= text.is_empty();
    }
    pieced.get(rest.len()..).filter(|exact| !exact.trim().is_empty())
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
        let short = format!("{}\n{answer}", r#"{"sessionId":"s-1","kind":"main"}"#);
        assert_eq!(gemini_transcript_text(&short, "s-1", "ok"), Some("ok"));
    }
}
