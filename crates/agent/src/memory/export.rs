//! Sessions that an agent prints as a JSON document `{info, messages}`, because it stores them in a database. The
//! messages are compared; the rest of the document changes by itself.

use serde_json::Value;

use super::{Drift, NativeHead};

/// Compares a document with the state in which the last turn left the session.
pub(crate) fn check(document: &[u8], head: &NativeHead) -> Result<(), Drift> {
    let messages = messages_of(document).ok_or_else(|| Drift::Unreadable {
        path: None,
        reason: "the agent did not print it as expected".into(),
    })?;
    let known = usize::try_from(head.messages).unwrap_or(usize::MAX);
    let Some(before) = messages.get(..known) else { return Err(Drift::Edited { path: None }) };
    if state_of(before).1 != head.hash {
        return Err(Drift::Edited { path: None });
    }
    match messages.get(known..).unwrap_or_default() {
        [] => Ok(()),
        more if has_compaction(more) => Err(Drift::Compacted),
        more => Err(Drift::Continued { messages: more.len() as u64 }),
    }
}

/// Records the state of a document in a head. Returns `None` if the document cannot be read, has no new message, or if
/// the known part has changed.
pub(crate) fn record(
    document: &[u8],
    before: Option<&NativeHead>,
    head: &mut NativeHead,
) -> Option<()> {
    let messages = messages_of(document)?;
    let known = before.map_or(0, |head| usize::try_from(head.messages).unwrap_or(usize::MAX));
    let new = messages.get(known..).filter(|new| !new.is_empty())?;
    if before.is_some_and(|head| state_of(messages.get(..known).unwrap_or_default()).1 != head.hash)
    {
        return None;
    }
    head.is_compacted |= has_compaction(new);
    let is_prompt =
        |message: &&Value| message.pointer("/info/role").and_then(Value::as_str) == Some("user");
    // A turn has one prompt. More of them are somebody else's.
    if new.iter().filter(is_prompt).count() > 1 && !head.is_compacted {
        return None;
    }
    head.messages = messages.len() as u64;
    (head.bytes, head.hash) = state_of(&messages);
    let last = messages.last().and_then(|message| message.pointer("/info/id"));
    head.last_record = last.and_then(Value::as_str).map(Into::into);
    Some(())
}

fn messages_of(document: &[u8]) -> Option<Vec<Value>> {
    let mut document: Value = serde_json::from_slice(document).ok()?;
    match document.get_mut("messages").map(Value::take) {
        Some(Value::Array(messages)) => Some(messages),
        _ => None,
    }
}

/// Returns the number of bytes of these messages, and their hash.
fn state_of(messages: &[Value]) -> (u64, Box<str>) {
    let text = serde_json::to_string(messages).unwrap_or_default();
    (text.len() as u64, blake3::hash(text.as_bytes()).to_hex().as_str().into())
}

fn has_compaction(messages: &[Value]) -> bool {
    let parts = messages.iter().filter_map(|message| message.get("parts")?.as_array()).flatten();
    let is_summary = |message: &Value| {
        message.pointer("/info/summary").and_then(Value::as_bool).unwrap_or(false)
    };
    messages.iter().any(is_summary)
        || parts
            .into_iter()
            .any(|part| part.get("type").and_then(Value::as_str) == Some("compaction"))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::memory::Settings;

    fn head() -> NativeHead {
        NativeHead {
            agent: "opencode".into(),
            session: "ses_1".into(),
            path: None,
            bytes: 0,
            hash: "".into(),
            messages: 0,
            last_record: None,
            is_compacted: false,
            program: "p".into(),
            settings: Settings::default(),
            process: None,
            totals: crate::Totals::default(),
        }
    }

    fn document(messages: &[&str]) -> Vec<u8> {
        format!(r#"{{"info":{{"id":"ses_1"}},"messages":[{}]}}"#, messages.join(",")).into_bytes()
    }

    const ASKED: &str =
        r#"{"info":{"id":"m-1","role":"user"},"parts":[{"type":"text","text":"Why?"}]}"#;
    const SAID: &str =
        r#"{"info":{"id":"m-2","role":"assistant"},"parts":[{"type":"text","text":"So."}]}"#;
    const COMPACTED: &str =
        r#"{"info":{"id":"m-3","role":"user"},"parts":[{"type":"compaction"}]}"#;

    /// Returns the head after a turn.
    fn recorded(messages: &[&str]) -> NativeHead {
        let mut head = head();
        record(&document(messages), None, &mut head).expect("a head");
        head
    }

    #[test]
    fn a_document_is_compared_message_by_message() {
        let head = recorded(&[ASKED, SAID]);
        assert_eq!((head.messages, head.last_record.as_deref()), (2, Some("m-2")));
        let check = |messages: &[&str]| check(&document(messages), &head);
        assert_eq!(check(&[ASKED, SAID]), Ok(()));
        assert_eq!(check(&[ASKED]), Err(Drift::Edited { path: None }));
        let other = SAID.replace("So.", "No.");
        assert_eq!(check(&[ASKED, &other]), Err(Drift::Edited { path: None }));
        assert_eq!(check(&[ASKED, SAID, ASKED]), Err(Drift::Continued { messages: 1 }));
        assert_eq!(check(&[ASKED, SAID, COMPACTED]), Err(Drift::Compacted));
        assert!(super::check(b"no JSON", &head).is_err_and(|drift| drift.word() == "unreadable"));
    }

    #[test]
    fn a_turn_adds_one_prompt() {
        let before = recorded(&[ASKED, SAID]);
        let after = |messages: &[&str]| {
            let mut head = head();
            record(&document(messages), Some(&before), &mut head).map(|()| head)
        };
        assert_eq!(after(&[ASKED, SAID, ASKED, SAID]).expect("a head").messages, 4);
        assert_eq!(after(&[ASKED, SAID]), None, "the prompt is missing");
        assert_eq!(after(&[ASKED, SAID, ASKED, ASKED, SAID]), None, "one is somebody else's");
        assert_eq!(after(&[ASKED, ASKED, ASKED, SAID]), None, "the history has changed");
        assert!(after(&[ASKED, SAID, ASKED, COMPACTED, SAID]).expect("a head").is_compacted);
    }
}
