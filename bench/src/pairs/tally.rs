//! Counts the pairs and what became of their items, and prints a row for every format.

use std::collections::BTreeMap;
use std::fmt::Write as _;

use tertulia_dialect::native::NativeFormat;
use tertulia_operations::handover::Receipt;

use super::files::Session;
use crate::report::grouped;

/// What was checked.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Tally(BTreeMap<NativeFormat, Row>);

/// The pairs whose sessions have one format.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Row {
    pub(crate) sessions: usize,
    pub(crate) records: u64,
    pub(crate) bytes: u64,
    pub(crate) pairs: usize,
    /// Items of all pairs, in the order of `ItemStatus::WORDS`.
    pub(crate) items: [u64; 4],
    pub(crate) failures: usize,
}

impl Tally {
    pub(super) fn session(&mut self, session: &Session) {
        let row = self.0.entry(session.format).or_default();
        row.sessions += 1;
        row.records += session.records;
        row.bytes += session.bytes;
    }

    pub(super) fn pair(&mut self, from: NativeFormat, receipt: &Receipt) {
        let row = self.0.entry(from).or_default();
        row.pairs += 1;
        for (sum, tally) in row.items.iter_mut().zip(receipt.by_status()) {
            *sum += tally.items;
        }
    }

    pub(super) fn failure(&mut self, from: NativeFormat) {
        let row = self.0.entry(from).or_default();
        row.pairs += 1;
        row.failures += 1;
    }

    /// Returns the row of a format.
    #[cfg(test)]
    pub(crate) fn row(&self, format: NativeFormat) -> Row {
        self.0.get(&format).cloned().unwrap_or_default()
    }

    /// Returns the rows as a table.
    pub(super) fn table(&self) -> String {
        let heading = [
            "format",
            "sessions",
            "records",
            "MB",
            "pairs",
            "kept",
            "reshaped",
            "shortened",
            "left out",
            "failures",
        ];
        let mut lines = vec![heading.map(str::to_owned)];
        lines.extend(self.0.iter().map(|(format, row)| {
            let [kept, reshaped, shortened, left_out] = row.items.map(|items| items as usize);
            let count = |count: usize| grouped(count);
            [
                format.as_str().to_owned(),
                count(row.sessions),
                count(row.records as usize),
                format!("{:.1}", row.bytes as f64 / 1e6),
                count(row.pairs),
                count(kept),
                count(reshaped),
                count(shortened),
                count(left_out),
                count(row.failures),
            ]
        }));
        let mut text = String::new();
        for line in lines {
            for (cell, name) in line.iter().zip(heading) {
                let width = name.len().max(9);
                // Writing into a string cannot fail.
                let _ = write!(text, "{cell:>width$} ");
            }
            text.truncate(text.trim_end().len());
            text.push('\n');
        }
        text
    }
}
