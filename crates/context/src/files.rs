//! The present content of the files that agents work on, as far as the reads and edits in a log show it. A line is
//! known only if a read or an edit showed it and no later edit may have changed it. Called by builds; it does not
//! depend on their budgets.

mod blocks;
mod changes;
mod known;
mod newer;
mod reach;
mod shown;
#[cfg(test)]
mod tests;

use std::collections::{BTreeMap, HashMap};

use tertulia_session::{Message, PartKind, ToolCall};

pub(crate) use blocks::{ExcerptQuery, Excerpts, without_number};
use changes::{Change, changes};
use known::KnownFile;
use newer::Newer;
use reach::{Reach, reach};

/// The known content of files, updated with each message of a branch.
#[derive(Clone, Debug, Default)]
pub(crate) struct Files {
    files: BTreeMap<Box<str>, KnownFile>,
    /// The changes of calls that have no result yet.
    open: HashMap<Box<str>, Open>,
    /// The messages that showed lines of a file, and its path.
    reads: HashMap<usize, Box<str>>,
    /// The position of the last change of each file.
    edits: HashMap<Box<str>, usize>,
    newer: Newer,
}

#[derive(Clone, Debug)]
struct Open {
    position: usize,
    changes: Vec<Change>,
}

/// The content of a result.
struct ResultText<'r> {
    /// The position of its call.
    called: Option<usize>,
    call: &'r str,
    text: &'r str,
}

/// The maximum number of calls without results. If there are more, the oldest one is removed, and the files that it
/// may have changed are forgotten.
const OPEN_MAX: usize = 256;

/// The maximum number of known files; the least recently used one is removed.
const FILES_MAX: usize = 1_000;

impl Files {
    /// Adds the next message. Its position becomes the source of its lines.
    pub(crate) fn add(&mut self, position: usize, message: &Message) {
        for part in &message.parts {
            match &part.kind {
                PartKind::ToolCall(call) => {
                    self.newer.call(position, call);
                    self.call(position, call);
                }
                PartKind::ToolResult(result) => {
                    let called = self.newer.result(position, &result.tool_call_id);
                    let Some(open) = self.open.remove(&*result.tool_call_id) else { continue };
                    let text = result.text();
                    let failed = result.is_error || shown::states_error(&text);
                    // The change may have been made in spite of the error, in whole or in part.
                    let is_unsure =
                        failed && (open.changes.len() > 1 || shown::states_interruption(&text));
                    for change in open.changes {
                        match is_unsure {
                            true => self.forget_changed(&change),
                            false => {
                                let result_text =
                                    ResultText { called, call: &result.tool_call_id, text: &text };
                                self.apply(position, change, &result_text, failed);
                            }
                        }
                    }
                }
                _ => {}
            }
        }
    }

    fn call(&mut self, position: usize, call: &ToolCall) {
        let changes = changes(call);
        if changes.is_empty() {
            return;
        }
        // A command may have done its work even if its result is missing.
        for change in changes.iter().filter(|change| matches!(change, Change::Run { .. })) {
            self.forget_changed(change);
        }
        if self.open.len() >= OPEN_MAX && !self.open.contains_key(&call.tool_call_id) {
            let oldest = self.open.iter().min_by_key(|(_, open)| open.position);
            let oldest = oldest.map(|(id, _)| id.clone()).and_then(|id| self.open.remove(&id));
            oldest.iter().flat_map(|open| &open.changes).for_each(|one| self.forget_changed(one));
        }
        let before = self.open.insert(call.tool_call_id.clone(), Open { position, changes });
        before.iter().flat_map(|open| &open.changes).for_each(|one| self.forget_changed(one));
    }

    /// Applies a change. A failed call changed nothing, but a failed command may have done a part of its work.
    fn apply(
        &mut self,
        position: usize,
        change: Change,
        result_text: &ResultText<'_>,
        failed: bool,
    ) {
        let (result, called) =
            (result_text.text, result_text.called.map(|called| (called, position)));
        match change {
            Change::Run { .. } => self.forget_changed(&change),
            _ if failed => {}
            Change::Read { path, first, is_whole } => {
                let Some((first, lines)) = shown::shown_lines(result, first) else { return };
                let is_known = |other: &str, file: &KnownFile| {
                    *other != *path && may_be_same(other, &path) && file.contains(first, &lines)
                };
                self.reads.insert(position, path.clone());
                if let Some(called) = called {
                    let shown = first..first.saturating_add(lines.len());
                    self.newer.read(called, result_text.call, &path, shown);
                }
                if !self.files.iter().any(|(other, file)| is_known(other, file)) {
                    self.forget_others(&path);
                    self.file(path, position).show(first, &lines, is_whole, position);
                }
            }
            Change::Write { path, content } => {
                self.edited(&path, position, called);
                self.forget_others(&path);
                self.file(path, position).write(&content, position);
            }
            Change::Edit { path, edits } => {
                self.edited(&path, position, called);
                self.forget_others(&path);
                let file = self.file(path, position);
                for edit in &edits {
                    file.edit(edit, position);
                }
                // Some tools show the lines around an edit.
                if let Some((first, lines)) = shown::numbered_lines(result) {
                    file.show(first, &lines, false, position);
                }
            }
            Change::Unknown { .. } => self.forget_changed(&change),
        }
        self.files.retain(|_, file| !file.runs.is_empty());
    }

    fn edited(&mut self, path: &str, position: usize, called: Option<(usize, usize)>) {
        self.edits.insert(path.into(), position);
        if let Some(called) = called {
            self.newer.changed(called, path);
        }
    }

    /// Forgets everything that a change may affect.
    fn forget_changed(&mut self, change: &Change) {
        match change {
            Change::Read { .. } => {}
            Change::Run { command } => match reach(command) {
                Reach::Nothing => {}
                Reach::Named => self.files.retain(|path, _| !command.contains(file_name(path))),
                Reach::All => self.files.clear(),
            },
            Change::Write { path, .. } | Change::Edit { path, .. } | Change::Unknown { path } => {
                self.files.retain(|other, _| !may_be_same(other, path));
            }
        }
    }

    /// Returns whether a message showed lines of a file whose content is known from another message, or which was
    /// changed since.
    pub(crate) fn is_superseded(&self, position: usize) -> bool {
        self.reads.get(&position).is_some_and(|path| {
            self.files.contains_key(path)
                || self.edits.get(path).is_some_and(|edit| *edit > position)
        })
    }

    /// Returns the position of the newest message before `end` that supersedes the result of a call: the call was made
    /// again, the lines that it read were read again, or the file was changed.
    pub(crate) fn newer(&self, position: usize, call: &str, end: usize) -> Option<usize> {
        self.newer.newer(position, call, end)
    }

    /// Returns the paths of files with known lines.
    pub(crate) fn paths(&self) -> impl Iterator<Item = &str> {
        self.files.keys().map(|path| &**path)
    }

    /// Returns how many bytes of files are known.
    pub(crate) fn bytes(&self) -> usize {
        self.files.values().map(KnownFile::bytes).sum()
    }

    fn file(&mut self, path: Box<str>, position: usize) -> &mut KnownFile {
        if self.files.len() >= FILES_MAX && !self.files.contains_key(&path) {
            let oldest = self.files.iter().min_by_key(|(_, file)| file.touched);
            if let Some(oldest) = oldest.map(|(path, _)| path.clone()) {
                self.files.remove(&oldest);
            }
        }
        let file = self.files.entry(path).or_default();
        file.touched = position;
        file
    }

    /// Removes the content that is known under other paths that may name the same file.
    fn forget_others(&mut self, path: &str) {
        self.files.retain(|other, _| **other == *path || !may_be_same(other, path));
    }

    /// Returns whether a call that has no result yet may change this file.
    fn is_open(&self, path: &str) -> bool {
        self.open
            .values()
            .flat_map(|open| &open.changes)
            .any(|change| change.path().is_some_and(|open| open == path || may_be_same(open, path)))
    }
}

/// Returns whether two paths may name the same file: one is a suffix of the other, or contains a parent folder.
fn may_be_same(one: &str, other: &str) -> bool {
    let names = |path: &str| -> Vec<String> {
        let names = path.split(['/', '\\']).filter(|name| !["", "."].contains(name));
        names.map(str::to_lowercase).collect()
    };
    let (one, other) = (names(one), names(other));
    let leads_up = one.iter().chain(&other).any(|name| ["..", "~"].contains(&&**name));
    match leads_up {
        true => one.last() == other.last(),
        false => one.ends_with(&other) || other.ends_with(&one),
    }
}

fn file_name(path: &str) -> &str {
    path.rsplit(['/', '\\']).next().unwrap_or(path)
}
