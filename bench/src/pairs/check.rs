//! Checks one pair: the session is written for an agent and read back, and both are compared.

use std::collections::HashSet;

use tertulia_dialect::native::write::{added_digests, digests, part_bytes};
use tertulia_dialect::native::{Layout, NativeFormat, NativeReader, Record, layout};
use tertulia_operations::handover::{
    HandoverError, HandoverOptions, Item, ItemStatus, Receipt, hand_over,
};
use tertulia_session::{Entry, EntryKind, Message, Part, Role, Timestamp, ToolResult};

use super::conversation::{Said, branch, results_at_calls};
use super::files::Session;
use super::request::violations;

/// More tokens than any session has: nothing is shortened.
const BUDGET: u64 = 1 << 40;
/// After the last record of every session: the year 2100.
const NOW: i64 = 4_102_444_800_000;

/// A text, call or result that is handed over.
#[derive(Clone, Debug)]
struct SourceItem {
    /// The number of its entry.
    entry: u64,
    /// Whether the receipt calls it kept.
    is_kept: bool,
    said: Said,
}

/// A session that was written as it must be.
#[derive(Clone, Debug)]
pub(super) struct Checked {
    pub(super) receipt: Receipt,
    pub(super) text: String,
}

/// Writes a session for an agent and returns it; `None` if the session has no messages. The error says what
/// is not as it must be.
pub(super) fn check(session: &Session, to: NativeFormat) -> Result<Option<Checked>, String> {
    let options = HandoverOptions {
        to,
        session: "pairs",
        title: Some("A pair"),
        folder: "/src",
        model: None,
        budget: Some(BUDGET),
        last: None,
        member: None,
        taken: &[],
        is_new: true,
        now: Timestamp::from_millis(NOW),
    };
    let handover = match hand_over(&session.entries, &options) {
        Err(HandoverError::Empty) => return Ok(None),
        handover => handover.map_err(|error| error.to_string())?,
    };
    let source = source_items(&session.entries, &handover.receipt)?;
    let entries = read_back(to, &handover.written.text)?;
    let messages = branch(&entries).map_err(|error| error.to_string())?;
    let changed = handover.receipt.items.iter().filter(|item| is_changed(item)).count();
    compare(source, &messages, changed)?;
    let found = violations(to, &handover.written.text, &messages)?;
    match found.first() {
        None => {
            let (receipt, text) = (handover.receipt, handover.written.text);
            Ok(Some(Checked { receipt, text }))
        }
        Some(first) => Err(format!("a vendor would refuse the request: {first}")),
    }
}

/// Returns what is handed over, after a check of the receipt's items and sums.
fn source_items(entries: &[Entry], receipt: &Receipt) -> Result<Vec<SourceItem>, String> {
    let mut items = receipt.items.iter();
    let mut source = Vec::new();
    let mut total = 0;
    for (number, entry) in (1..).zip(entries) {
        let mut next = || {
            let item = items.next().filter(|item| item.entry == number);
            item.ok_or_else(|| format!("the receipt has too few items of entry {number}"))
        };
        let EntryKind::Message(message) = &entry.kind else {
            total += next()?.bytes;
            continue;
        };
        for part in &message.parts {
            let (item, bytes) = (next()?, part_bytes(part));
            if item.bytes != bytes {
                return Err(format!(
                    "entry {number} has {bytes} bytes, the receipt {}",
                    item.bytes
                ));
            }
            total += bytes;
            let is_kept = item.status == ItemStatus::Kept;
            if is_kept || is_changed(item) {
                let said = Said::of(message, part);
                source.extend(said.map(|said| SourceItem { entry: number, is_kept, said }));
            }
        }
    }
    if let Some(item) = items.next() {
        return Err(format!("the receipt has an item too many, of entry {}", item.entry));
    }
    let sum: u64 = receipt.by_status().iter().map(|tally| tally.bytes).sum();
    match receipt.total().bytes {
        bytes if bytes == total && sum == total => Ok(source),
        bytes => Err(format!("the receipt has {bytes} bytes, by status {sum}, the source {total}")),
    }
}

/// Whether an item is there in another form.
fn is_changed(item: &Item) -> bool {
    matches!(item.status, ItemStatus::Reshaped { .. } | ItemStatus::Shortened { .. })
}

fn read_back(format: NativeFormat, text: &str) -> Result<Vec<Entry>, String> {
    let mut reader = NativeReader::new(format);
    let mut entries = Vec::new();
    match layout(format, text.as_bytes()) {
        Layout::Document => reader.read_document("", text.as_bytes(), &mut entries),
        Layout::Lines => {
            for (line, text) in (1..).zip(text.lines()) {
                let bytes = text.as_bytes();
                reader.read(Record { file: "", line, bytes, end: "\n" }, &mut entries);
            }
        }
    }
    match reader.take_problems().first() {
        None => Ok(entries),
        Some(problem) => Err(format!("what was written is not read: {problem:?}")),
    }
}

/// Compares what was kept with what was read back. Besides it, there are the items that were changed, and texts and
/// results that the writer adds.
fn compare(source: Vec<SourceItem>, messages: &[&Message], changed: usize) -> Result<(), String> {
    let calls = source.iter().filter(|item| item.is_kept).filter_map(|item| item.said.call_id());
    let calls: HashSet<String> = calls.map(str::to_owned).collect();
    let all = messages.iter().flat_map(|message| message.parts.iter().map(|part| (*message, part)));
    let found = all.filter_map(|(message, part)| Said::of(message, part)).collect();
    let mut kept =
        results_at_calls(source, |item| &item.said).into_iter().filter(|item| item.is_kept);
    let mut wanted = kept.next();
    let mut others = Vec::new();
    for said in results_at_calls(found, |said| said) {
        if wanted.as_ref().is_some_and(|wanted| wanted.said.is_same(&said, &calls)) {
            wanted = kept.next();
        } else if !is_added(&said) {
            others.push(said);
        }
    }
    if let Some(SourceItem { entry, said, .. }) = wanted {
        let near = others.iter().map(Said::to_string).next_back().unwrap_or_default();
        return Err(format!("entry {entry} is not there: {said}; the last other item is {near}"));
    }
    if others.len() > changed {
        let shown: Vec<String> = others.iter().take(3).map(Said::to_string).collect();
        let count = others.len();
        return Err(format!(
            "{count} items are there that were not handed over as they are, and only {changed} were changed: {}",
            shown.join(", ")
        ));
    }
    Ok(())
}

/// Whether the writer adds this by itself.
fn is_added(said: &Said) -> bool {
    let is_ours = |role, text: &str| {
        let message = Message::with_role(role, [Part::text(text)].into_iter().collect());
        digests(&message).iter().any(|digest| added_digests().contains(digest))
    };
    match said {
        Said::User(text) => is_ours(Role::User, text),
        Said::Answer(text) => is_ours(Role::Assistant, text),
        Said::Call { .. } => false,
        Said::Result { text, .. } => text == ToolResult::NOT_RECORDED,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn item(entry: u64, said: Said) -> SourceItem {
        SourceItem { entry, is_kept: true, said }
    }

    fn user(text: &str) -> Said {
        Said::User(text.to_owned())
    }

    fn message(text: &str) -> Message {
        Message::with_role(Role::User, [Part::text(text)].into_iter().collect())
    }

    #[test]
    fn an_item_that_is_missing_or_changed_is_named() {
        let [one, other] = ["one", "other"].map(message);
        let source = || vec![item(1, user("one")), item(4, user("two"))];
        let error = compare(source(), &[&one, &other], 0).unwrap_err();
        assert_eq!(
            error,
            r#"entry 4 is not there: user "two"; the last other item is user "other""#
        );
    }

    #[test]
    fn items_in_another_order_are_a_problem() {
        let [one, two] = ["one", "two"].map(message);
        let source = || vec![item(1, user("one")), item(2, user("two"))];
        assert_eq!(compare(source(), &[&one, &two], 0), Ok(()));
        let error = compare(source(), &[&two, &one], 0).unwrap_err();
        assert!(error.starts_with(r#"entry 2 is not there: user "two""#), "{error}");
    }

    #[test]
    fn nothing_is_there_besides_what_was_changed_or_added() {
        let [one, more] = ["one", "more"].map(message);
        let source = || vec![item(1, user("one"))];
        let added = message("(The assistant speaks first.)");
        assert_eq!(compare(source(), &[&added, &one], 0), Ok(()));
        assert_eq!(compare(source(), &[&one, &more], 1), Ok(()));
        let error = compare(source(), &[&one, &more], 0).unwrap_err();
        assert!(error.starts_with("1 items are there that were not handed over"), "{error}");
    }

    #[test]
    fn a_receipt_must_have_every_item_once() {
        let entry = tertulia_session::NewEntry::new(EntryKind::Message(message("one")));
        let entries = [entry.with_id("n1".into())];
        let error = source_items(&entries, &Receipt::default()).unwrap_err();
        assert_eq!(error, "the receipt has too few items of entry 1");
    }
}
