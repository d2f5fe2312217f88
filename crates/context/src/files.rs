//! The files that agents work on, as they are now: put together from what a log shows of reads and edits. A line is known
//! only if a read or an edit showed it and no later edit may have changed it. Called by builds; knows no
//! budgets of theirs.

mod blocks;
mod changes;
mod known;
mod reach;
mod shown;
#[cfg(test)]
mod tests;

use std::collections::{BTreeMap, HashMap};

use tertulia_session::{Message, PartKind, ToolCall};

pub(crate) use blocks::{Excerpts, Wanted};
use changes::{Change, changes};
use known::KnownFile;
use reach::{Reach, reach};

/// What is known of files. Takes in the messages of a branch as they come.
#[derive(Clone, Debug, Default)]
pub(crate) struct Files {
    files: BTreeMap<Box<str>, KnownFile>,
    /// What calls do whose results have not come yet.
    open: HashMap<Box<str>, Open>,
    /// The messages that showed lines of a file, and its path.
    reads: HashMap<usize, Box<str>>,
    /// When a file was changed last.
    edits: HashMap<Box<str>, usize>,
}

#[derive(Clone, Debug)]
struct Open {
    place: usize,
    changes: Vec<Change>,
}

/// So many calls may wait for their results; the oldest one goes, with the files that it may have changed.
const OPEN_MAX: usize = 256;

/// So many files are known at most; the one that was touched longest ago goes.
const FILES_MAX: usize = 1_000;

impl Files {
    /// Takes in the message that comes next. The place is told again as the source of its lines.
    pub(crate) fn add(&mut self, place: usize, message: &Message) {
        for part in &message.parts {
            match &part.kind {
                PartKind::ToolCall(call) => self.call(place, call),
                PartKind::ToolResult(result) => {
                    let Some(open) = self.open.remove(&*result.tool_call_id) else { continue };
                    let text = result.text();
                    let failed = result.is_error || shown::tells_error(&text);
                    // It may have been made all the same, or one half of it.
                    let is_unsure =
                        failed && (open.changes.len() > 1 || shown::tells_interruption(&text));
                    for change in open.changes {
                        match is_unsure {
                            true => self.forget_changed(&change),
                            false => self.apply(place, change, &text, failed),
                        }
                    }
                }
                _ => {}
            }
        }
    }

    fn call(&mut self, place: usize, call: &ToolCall) {
        let changes = changes(call);
        if changes.is_empty() {
            return;
        }
        // A command may have done its work even if its result never comes.
        for change in changes.iter().filter(|change| matches!(change, Change::Run { .. })) {
            self.forget_changed(change);
        }
        if self.open.len() >= OPEN_MAX && !self.open.contains_key(&call.tool_call_id) {
            let oldest = self.open.iter().min_by_key(|(_, open)| open.place);
            let oldest = oldest.map(|(id, _)| id.clone()).and_then(|id| self.open.remove(&id));
            oldest.iter().flat_map(|open| &open.changes).for_each(|one| self.forget_changed(one));
        }
        let before = self.open.insert(call.tool_call_id.clone(), Open { place, changes });
        before.iter().flat_map(|open| &open.changes).for_each(|one| self.forget_changed(one));
    }

    /// A call that failed changed nothing, but a command may have done half of its work.
    fn apply(&mut self, place: usize, change: Change, result: &str, failed: bool) {
        match change {
            Change::Run { .. } => self.forget_changed(&change),
            _ if failed => {}
            Change::Read { path, first, is_whole } => {
                let Some((first, lines)) = shown::shown_lines(result, first) else { return };
                let is_known = |other: &str, file: &KnownFile| {
                    *other != *path && may_be_same(other, &path) && file.knows(first, &lines)
                };
                self.reads.insert(place, path.clone());
                if !self.files.iter().any(|(other, file)| is_known(other, file)) {
                    self.forget_others(&path);
                    self.file(path, place).show(first, &lines, is_whole, place);
                }
            }
            Change::Write { path, content } => {
                self.edits.insert(path.clone(), place);
                self.forget_others(&path);
                self.file(path, place).write(&content, place);
            }
            Change::Edit { path, edits } => {
                self.edits.insert(path.clone(), place);
                self.forget_others(&path);
                let file = self.file(path, place);
                for edit in &edits {
                    file.edit(edit, place);
                }
                // Some tools show the lines around an edit.
                if let Some((first, lines)) = shown::numbered_lines(result) {
                    file.show(first, &lines, false, place);
                }
            }
            Change::Unknown { .. } => self.forget_changed(&change),
        }
        self.files.retain(|_, file| !file.runs.is_empty());
    }

    /// Forgets all that a change may change.
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

    /// Tells whether a message shows lines of a file that is known otherwise or was changed since.
    pub(crate) fn is_superseded(&self, place: usize) -> bool {
        self.reads.get(&place).is_some_and(|path| {
            self.files.contains_key(path) || self.edits.get(path).is_some_and(|edit| *edit > place)
        })
    }

    /// Returns the paths of the files of which something is known.
    pub(crate) fn paths(&self) -> impl Iterator<Item = &str> {
        self.files.keys().map(|path| &**path)
    }

    /// Returns how many bytes of files are known.
    pub(crate) fn bytes(&self) -> usize {
        self.files.values().map(KnownFile::bytes).sum()
    }

    fn file(&mut self, path: Box<str>, place: usize) -> &mut KnownFile {
        if self.files.len() >= FILES_MAX && !self.files.contains_key(&path) {
            let oldest = self.files.iter().min_by_key(|(_, file)| file.touched);
            if let Some(oldest) = oldest.map(|(path, _)| path.clone()) {
                self.files.remove(&oldest);
            }
        }
        let file = self.files.entry(path).or_default();
        file.touched = place;
        file
    }

    /// Forgets what is known under other paths that may name the same file.
    fn forget_others(&mut self, path: &str) {
        self.files.retain(|other, _| **other == *path || !may_be_same(other, path));
    }

    /// Tells whether a call that has no result yet may change this file.
    fn is_open(&self, path: &str) -> bool {
        self.open
            .values()
            .flat_map(|open| &open.changes)
            .any(|change| change.path().is_some_and(|open| open == path || may_be_same(open, path)))
    }
}

/// Tells whether two paths may name one file: one is the end of the other, or leads over a parent.
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
