//! Collects the records of a session that is written as JSON lines.

use super::Written;
use crate::fragment::Node;

/// The lines so far.
#[derive(Debug, Default)]
pub(super) struct Lines {
    text: String,
    records: u64,
    last_record_id: Option<Box<str>>,
}

impl Lines {
    /// Adds a record without an id.
    pub(super) fn push(&mut self, record: &Node<'_>) {
        self.text.push_str(&record.to_text());
        self.text.push('\n');
        self.records += 1;
    }

    /// Adds a record with an id, so that later records may follow it.
    pub(super) fn push_with_id(&mut self, id: String, record: &Node<'_>) {
        self.push(record);
        self.last_record_id = Some(id.into());
    }

    /// Returns the id of the last record with one.
    pub(super) fn last_record_id(&self) -> Option<&str> {
        self.last_record_id.as_deref()
    }

    pub(super) fn finish(self) -> Written {
        let Self { text, records, last_record_id } = self;
        Written { text, is_document: false, records, last_record_id, items: Vec::new() }
    }
}
