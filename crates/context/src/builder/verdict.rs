//! What became of every entry: exactly one fate each, in the order of the log. Asked for by whoever
//! wants to know why a model did not see something.

use std::collections::{HashMap, HashSet};

use tertulia_session::{EntryId, EntryKind};

use super::build::Build;
use super::cover::Cut;
use super::elide::has_outputs;
use super::recalled::Recalled;
use super::repair::{Repair, RepairKind};
use super::{Item, LogIndex};
use crate::branch::Sign;
use crate::verdict::{DropReason, Fate, HideReason, Verdict};

pub(super) fn verdicts(
    build: &Build<'_, '_>,
    cut: &Cut,
    recalled: Option<&Recalled>,
) -> Vec<Verdict> {
    let court = Court::of(build, cut);
    let recalled: HashSet<LogIndex> =
        recalled.map(|recalled| recalled.entries.iter().copied().collect()).unwrap_or_default();
    let entries = build.log.iter().chain(&build.arrivals.entries);
    let entries = entries.enumerate().map(|(at, entry)| (LogIndex(at), entry));
    // An entry that was appended twice is one.
    let own = entries
        .filter(|(at, entry)| at.0 >= build.log.len() || build.index.find(&entry.id) == Some(*at));
    let judged = own.map(|(at, entry)| Verdict {
        entry: entry.id.clone(),
        fate: court.fate(at),
        recalled: recalled.contains(&at),
    });
    judged.collect()
}

struct Court<'c, 'a, 'b> {
    build: &'c Build<'a, 'b>,
    /// Whether what is sent of an entry is a stub.
    sent: HashMap<LogIndex, bool>,
    summary: Option<EntryId>,
    mended: HashMap<LogIndex, DropReason>,
    in_force: Vec<LogIndex>,
}

impl<'c, 'a, 'b> Court<'c, 'a, 'b> {
    fn of(build: &'c Build<'a, 'b>, cut: &Cut) -> Self {
        let mut sent = HashMap::new();
        let mended = &build.window.mended;
        let is_moved = |one: &&Repair<LogIndex>| matches!(one.kind, RepairKind::MovedResult { .. });
        let moved: HashSet<LogIndex> =
            mended.iter().filter(is_moved).map(|one| one.entry).collect();
        let is_sent = |item: &&Item<'_>| !is_made_up(build, item) || moved.contains(&item.entry);
        for item in build.window.items.iter().filter(is_sent) {
            let is_stub = build.marks.elided.contains(&item.entry) && has_outputs(&item.message);
            sent.insert(item.entry, is_stub);
        }
        let mut mended = HashMap::new();
        for one in &build.window.mended {
            match one.kind {
                RepairKind::Empty => mended.insert(one.entry, DropReason::Empty),
                RepairKind::OrphanResult { .. } | RepairKind::MisplacedPart => {
                    mended.insert(one.entry, DropReason::Orphan)
                }
                RepairKind::RepeatedCall { .. }
                | RepairKind::MovedResult { .. }
                | RepairKind::MissingResult { .. } => None,
            };
        }
        let summary = cut.summary.clone().or(build.summary.as_ref().map(|(id, _)| id.clone()));
        let in_force = [Sign::Prompt, Sign::Init]
            .map(|sign| build.index.seen_sign(build.log, sign, build.index.newest()));
        let in_force = in_force.into_iter().flatten().collect();
        Self { build, sent, summary, mended, in_force }
    }

    fn fate(&self, at: LogIndex) -> Fate {
        let hidden = |reason| Fate::Hidden { reason };
        let is_arrival = at.0 >= self.build.log.len();
        if !is_arrival && !self.build.index.is_on_branch(at) {
            return hidden(HideReason::OtherBranch);
        }
        if let Some(entry) = self.build.log.get(at.0) {
            let view = self.build.index.see(self.build.log, at);
            if view.is_none_or(|view| view.entry().is_none()) {
                return hidden(HideReason::Redacted);
            }
            match &entry.kind {
                EntryKind::Message(_) | EntryKind::BranchSummary(_) => {}
                EntryKind::CompactionSummary(_) if self.summary.as_ref() == Some(&entry.id) => {
                    return Fate::Kept;
                }
                EntryKind::CompactionSummary(_) => return self.covered(),
                EntryKind::SystemPromptOverride(_) | EntryKind::RuntimeInit(_) => {
                    return match self.in_force.contains(&at) {
                        true => Fate::Kept,
                        false => hidden(HideReason::Superseded),
                    };
                }
                _ => return hidden(HideReason::NoMessage),
            }
        }
        match self.sent.get(&at) {
            Some(true) => Fate::Elided,
            Some(false) => Fate::Kept,
            None if Some(at) < self.build.marks.summary_first_kept => self.covered(),
            None => {
                let reason = self.mended.get(&at).cloned().unwrap_or(DropReason::Cut);
                Fate::Dropped { reason }
            }
        }
    }

    fn covered(&self) -> Fate {
        match &self.summary {
            Some(by) => Fate::Summarized { by: by.clone() },
            None => Fate::Dropped { reason: DropReason::Cut },
        }
    }
}

/// A result that was made up for a call has the entry of the call, which may be gone for itself.
pub(super) fn is_made_up(build: &Build<'_, '_>, item: &Item<'_>) -> bool {
    let entry = super::build::entry_at(build.log, &build.arrivals, item.entry);
    let role = match &entry.kind {
        EntryKind::Message(message) => message.effective_role(),
        _ => return false,
    };
    item.is_mended && role != item.message.effective_role()
}
