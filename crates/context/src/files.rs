//! The files that agents work on, as they are now: put together from what a log shows of reads and edits. A line is known
//! only if a read or an edit showed it and no later edit may have changed it. Called by builds; knows no
//! budgets of theirs.

mod blocks;
mod changes;
mod known;

use std::collections::{BTreeMap, HashMap};

use tertulia_session::{Message, PartKind};

pub(crate) use blocks::{Excerpts, Wanted};
use changes::{Change, Reach, changes};
use known::KnownFile;

/// What is known of files. Takes in the messages of a branch as they come.
#[derive(Clone, Debug, Default)]
pub(crate) struct Files {
    files: BTreeMap<Box<str>, KnownFile>,
    /// What calls do whose results have not come yet.
    open: HashMap<Box<str>, Vec<Change>>,
}

/// So many calls may wait for their results.
const OPEN_MAX: usize = 256;

/// So many files are known at most; the one that was touched longest ago goes.
const FILES_MAX: usize = 1_000;

impl Files {
    /// Takes in the message that comes next. The place is told again as the source of its lines.
    pub(crate) fn add(&mut self, place: usize, message: &Message) {
        for part in &message.parts {
            match &part.kind {
                PartKind::ToolCall(call) => {
                    let changes = changes(call);
                    if !changes.is_empty() && self.open.len() < OPEN_MAX {
                        self.open.insert(call.tool_call_id.clone(), changes);
                    }
                }
                PartKind::ToolResult(result) => {
                    let Some(changes) = self.open.remove(&*result.tool_call_id) else { continue };
                    let text = result.text();
                    let failed = result.is_error || changes::tells_error(&text);
                    for change in changes {
                        self.apply(place, change, &text, failed);
                    }
                }
                _ => {}
            }
        }
    }

    /// A call that failed changed nothing, but a command may have done half of its work.
    fn apply(&mut self, place: usize, change: Change, result: &str, failed: bool) {
        match change {
            Change::Run { command } => match changes::reach(&command) {
                Reach::Nothing => {}
                Reach::Named => self.files.retain(|path, _| !command.contains(file_name(path))),
                Reach::All => self.files.clear(),
            },
            _ if failed => {}
            Change::Read { path, first, is_whole } => {
                let Some((first, lines)) = changes::shown_lines(result, first) else { return };
                self.file(path, place).show(first, &lines, is_whole, place);
            }
            Change::Write { path, content } => {
                self.forget_others(&path);
                self.file(path, place).write(&content, place);
            }
            Change::Edit { path, edits } => {
                self.forget_others(&path);
                let file = self.file(path, place);
                for edit in &edits {
                    file.edit(edit, place);
                }
                // Some tools show the lines around an edit.
                if let Some((first, lines)) = changes::numbered_lines(result) {
                    file.show(first, &lines, false, place);
                }
            }
            Change::Unknown { path } => {
                self.forget_others(&path);
                self.files.remove(&path);
            }
        }
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
            .flatten()
            .any(|change| change.path().is_some_and(|open| open == path || may_be_same(open, path)))
    }
}

/// Tells whether one of two paths may be the end of the other.
fn may_be_same(one: &str, other: &str) -> bool {
    let is_end = |long: &str, short: &str| {
        long.strip_suffix(short).is_some_and(|rest| rest.ends_with(['/', '\\']))
    };
    let (one, other) = (one.trim_start_matches("./"), other.trim_start_matches("./"));
    one == other || is_end(one, other) || is_end(other, one)
}

fn file_name(path: &str) -> &str {
    path.rsplit(['/', '\\']).next().unwrap_or(path)
}
