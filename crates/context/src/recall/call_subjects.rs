//! The subjects of calls, which also apply to passages of their arguments and results. For example, the content of a
//! file does not contain the file's name, but the call that reads it does. Called by the index; it does not depend
//! on scores.

use std::collections::BTreeMap;
use std::ops::Range;

use tertulia_session::ToolCall;
use tertulia_session::json::{self, Object};
use tertulia_session::search::terms::{hash_of, terms};

use super::postings::{NUMBERS_MAX, Postings};

pub(super) const NO_CALL: u32 = u32::MAX;

#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct CallSubjects {
    calls: BTreeMap<Location, Box<str>>,
    entries: Vec<CallSubject>,
    postings: Postings,
}

/// The location of a call or a result: the hash of the call's id, the position of its message, and its part. An id may
/// be repeated; a result belongs to the newest call before it.
type Location = (u64, usize, usize);

#[derive(Clone, Debug, PartialEq, Eq)]
struct CallSubject {
    location: Location,
    /// The passages, all of one message.
    spans: Range<u32>,
    is_file: bool,
}

/// The maximum length of an argument that is part of the subject. Longer ones are content.
const ARGUMENT_BYTES_MAX: usize = 300;

impl CallSubjects {
    pub(super) fn add_call(&mut self, call: &ToolCall, position: usize, part: usize) {
        let location = (hash_of(&call.tool_call_id), position, part);
        self.calls.insert(location, subject_of_call(call).into());
    }

    /// Adds the passages of a call or its result. Returns the number of the entry if the call is known.
    pub(super) fn add_spans(
        &mut self,
        call: &str,
        position: usize,
        part: usize,
        spans: Range<usize>,
    ) -> Option<u32> {
        let spans = u32::try_from(spans.start).ok()?..u32::try_from(spans.end).ok()?;
        self.add(CallSubject { location: (hash_of(call), position, part), spans, is_file: false })
    }

    fn add(&mut self, mut entry: CallSubject) -> Option<u32> {
        let number = self.entries.len();
        if entry.spans.is_empty() || number >= NUMBERS_MAX {
            return None;
        }
        let subject = self.call_before(entry.location)?;
        entry.is_file = subject.lines().any(names_file);
        let mut all = Vec::new();
        terms(subject, &mut |term, _| all.push(term));
        all.sort_unstable();
        all.dedup();
        for term in all {
            self.postings.add(term, number, 1);
        }
        self.entries.push(entry);
        u32::try_from(number).ok()
    }

    pub(super) fn count(&self, term: u64) -> usize {
        self.postings.of(term).len()
    }

    pub(super) fn spans_of(&self, term: u64) -> impl Iterator<Item = Range<usize>> {
        let entries =
            self.postings.of(term).iter().filter_map(|one| self.entries.get(one.number()));
        entries.map(|entry| entry.spans.start as usize..entry.spans.end as usize)
    }

    /// Returns the subject of the call of an entry.
    pub(super) fn subject_of(&self, entry: u32) -> Option<&str> {
        let location = self.entries.get(entry as usize)?.location;
        self.call_before(location)
    }

    /// Returns the subject of the newest call with this id up to this location.
    fn call_before(&self, location: Location) -> Option<&str> {
        let (_, subject) = self.calls.range((location.0, 0, 0)..=location).next_back()?;
        Some(subject)
    }

    pub(super) fn is_file(&self, entry: u32) -> bool {
        self.entries.get(entry as usize).is_some_and(|entry| entry.is_file)
    }

    /// Removes the calls at positions that are not kept. The passages get their new numbers. If the call of a
    /// result is removed, the result belongs to the previous call with this id, or to none.
    pub(super) fn retain(&mut self, keep: &impl Fn(usize) -> bool, new_spans: &[Option<u32>]) {
        self.calls.retain(|&(_, position, _), _| keep(position));
        self.postings = Postings::default();
        for mut entry in std::mem::take(&mut self.entries) {
            let begin = new_spans.get(entry.spans.start as usize).copied().flatten();
            if let Some(begin) = begin {
                entry.spans = begin..begin + (entry.spans.end - entry.spans.start);
                self.add(entry);
            }
        }
    }

    pub(super) fn spans(&self) -> impl Iterator<Item = (u32, Range<usize>)> {
        let spans =
            self.entries.iter().map(|entry| entry.spans.start as usize..entry.spans.end as usize);
        (0..).zip(spans)
    }
}

/// Returns the short arguments of a call, one on each line: paths, patterns, commands.
fn subject_of_call(call: &ToolCall) -> String {
    let mut subject = String::new();
    let object = Object::try_from(call.arguments.raw()).ok();
    for (_, value) in object.into_iter().flat_map(Object::into_fields) {
        if value.get().len() > ARGUMENT_BYTES_MAX {
            continue;
        }
        if let Ok(text) = json::text(value)
            && !text.contains('\n')
        {
            subject.push_str(&text);
            subject.push('\n');
        }
    }
    subject
}

/// Returns whether an argument is the path of a file: no spaces, and a name with an extension.
fn names_file(argument: &str) -> bool {
    const ENDING_BYTES_MAX: usize = 8;
    let name = argument.rsplit(['/', '\\']).next().unwrap_or_default();
    let ending = name.rsplit_once('.').filter(|(stem, _)| !stem.is_empty());
    !argument.contains(' ')
        && ending.is_some_and(|(_, ending)| (1..=ENDING_BYTES_MAX).contains(&ending.len()))
}

#[cfg(test)]
mod tests {
    use tertulia_session::json::Json;

    use super::*;

    fn call(id: &str, arguments: &str) -> ToolCall {
        let arguments = Json::parse(arguments).unwrap();
        ToolCall {
            tool_call_id: id.into(),
            tool_name: "read".into(),
            arguments,
            raw_args_text: None,
        }
    }

    fn found(entries: &CallSubjects, term: &str) -> Vec<(usize, usize)> {
        entries.spans_of(hash_of(term)).map(|spans| (spans.start, spans.end)).collect()
    }

    #[test]
    fn short_arguments_are_the_subject_and_long_ones_are_not() {
        let long = "x".repeat(ARGUMENT_BYTES_MAX);
        let arguments =
            format!(r#"{{"path":"src/a b.rs","limit":5,"old":"two\nlines","new":"{long}"}}"#);
        assert_eq!(subject_of_call(&call("1", &arguments)), "src/a b.rs\n");
        assert_eq!(subject_of_call(&call("1", "[1]")), "");
    }

    #[test]
    fn a_result_is_found_by_the_path_of_its_call() {
        let mut entries = CallSubjects::default();
        entries.add_call(&call("one", r#"{"path":"src/main.rs"}"#), 3, 0);
        assert_eq!(entries.add_spans("one", 3, 0, 0..1), Some(0));
        assert_eq!(entries.add_spans("one", 4, 0, 1..6), Some(1));
        assert_eq!(entries.add_spans("two", 5, 0, 6..7), None);
        assert_eq!(found(&entries, "main.rs"), [(0, 1), (1, 6)]);
        assert!(entries.is_file(1) && !entries.is_file(NO_CALL));
    }

    /// Returns two calls with the same id, each with a result.
    fn twice() -> CallSubjects {
        let mut entries = CallSubjects::default();
        entries.add_call(&call("id", r#"{"path":"a.rs"}"#), 1, 0);
        entries.add_spans("id", 2, 0, 0..1);
        entries.add_call(&call("id", r#"{"path":"b.rs"}"#), 5, 0);
        entries.add_spans("id", 6, 0, 1..2);
        entries
    }

    #[test]
    fn a_repeated_id_refers_to_the_newest_call_before_its_result() {
        let entries = twice();
        assert_eq!(
            (found(&entries, "a.rs"), found(&entries, "b.rs")),
            (vec![(0, 1)], vec![(1, 2)])
        );
    }

    #[test]
    fn a_result_without_its_call_belongs_to_the_call_before_or_to_none() {
        let mut entries = twice();
        entries.retain(&|position| position != 5, &[Some(0), Some(1)]);
        assert_eq!(
            (found(&entries, "a.rs"), found(&entries, "b.rs")),
            (vec![(0, 1), (1, 2)], vec![])
        );
        entries.retain(&|position| position != 1, &[Some(0), Some(1)]);
        assert_eq!(entries, CallSubjects::default());
    }

    #[test]
    fn a_file_has_a_name_with_an_extension() {
        for path in ["main.rs", "/a/b.c/d.toml", "C:\\x\\y.txt"] {
            assert!(names_file(path), "{path}");
        }
        for other in ["src", ".gitignore", "a.b/c", "go test ./a.go", "", "end."] {
            assert!(!names_file(other), "{other}");
        }
    }
}
