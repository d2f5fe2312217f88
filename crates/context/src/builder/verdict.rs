//! What became of every entry: exactly one fate each, in the order of the log. Asked for by whoever
//! wants to know why a model did not see something.

use std::collections::{HashMap, HashSet};

use tertulia_session::{EntryId, EntryKind};

use super::ContextError;
use super::build::Build;
use super::cover::Cut;
use super::elide::has_outputs;
use super::index::Sign;
use super::recalled::Recalled;
use super::repair::{Item, Mended, RepairKind};
use crate::verdict::{DropReason, Fate, HideReason, Verdict};

/// The verdicts on the entries of the log and on those that arrived.
pub(super) fn verdicts(
    build: &Build<'_, '_>,
    cut: &Cut,
    recalled: Option<&Recalled>,
) -> Result<Vec<Verdict>, ContextError> {
    let court = Court::of(build, cut)?;
    let recalled: HashSet<usize> =
        recalled.map(|recalled| recalled.places.iter().copied().collect()).unwrap_or_default();
    let entries = build.log.iter().chain(&build.arrivals.entries).enumerate();
    // An entry that was appended twice is one.
    let own = entries.filter(|(place, entry)| {
        *place >= build.log.len() || build.index.entries.place(&entry.id) == Some(*place)
    });
    let judged = own.map(|(place, entry)| Verdict {
        entry: entry.id.clone(),
        fate: court.fate(place),
        recalled: recalled.contains(&place),
    });
    Ok(judged.collect())
}

/// What the judging of one entry needs to know.
struct Court<'c, 'a, 'b> {
    build: &'c Build<'a, 'b>,
    /// Whether what is sent of an entry is a stub.
    sent: HashMap<usize, bool>,
    /// Entries on the branch, and whether each is before what the newest summary kept.
    branch: HashMap<usize, bool>,
    summary: Option<EntryId>,
    mended: HashMap<usize, DropReason>,
    in_force: Vec<usize>,
}

impl<'c, 'a, 'b> Court<'c, 'a, 'b> {
    fn of(build: &'c Build<'a, 'b>, cut: &Cut) -> Result<Self, ContextError> {
        let mut sent = HashMap::new();
        let mended = &build.window.mended;
        let is_moved = |one: &&Mended| matches!(one.kind, RepairKind::MovedResult { .. });
        let moved: HashSet<usize> = mended.iter().filter(is_moved).map(|one| one.place).collect();
        let is_sent = |item: &&Item<'_>| !is_made_up(build, item) || moved.contains(&item.place);
        for item in build.window.items.iter().filter(is_sent) {
            let is_stub = build.marks.elided.contains(&item.place) && has_outputs(&item.message);
            sent.insert(item.place, is_stub);
        }
        let mut mended = HashMap::new();
        for one in &build.window.mended {
            match one.kind {
                RepairKind::Empty => mended.insert(one.place, DropReason::Empty),
                RepairKind::OrphanResult { .. } | RepairKind::MisplacedPart => {
                    mended.insert(one.place, DropReason::Orphan)
                }
                RepairKind::RepeatedCall { .. }
                | RepairKind::MovedResult { .. }
                | RepairKind::MissingResult { .. } => None,
            };
        }
        let summary = cut.summary.clone().or(build.summary.as_ref().map(|(id, _)| id.clone()));
        let in_force = [Sign::Prompt, Sign::Init]
            .map(|sign| build.index.seen_sign(build.log, build.index.entries.newest_place(), sign));
        let in_force = in_force.into_iter().flatten().collect();
        Ok(Self { build, sent, branch: branch(build)?, summary, mended, in_force })
    }

    fn fate(&self, place: usize) -> Fate {
        let hidden = |reason| Fate::Hidden { reason };
        let Some(is_covered) = self.branch.get(&place).copied() else {
            return hidden(HideReason::OtherBranch);
        };
        if let Some(entry) = self.build.log.get(place) {
            let view = self.build.index.entries.see(self.build.log, place);
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
                    return match self.in_force.contains(&place) {
                        true => Fate::Kept,
                        false => hidden(HideReason::Superseded),
                    };
                }
                _ => return hidden(HideReason::NoMessage),
            }
        }
        match self.sent.get(&place) {
            Some(true) => Fate::Elided,
            Some(false) => Fate::Kept,
            None if is_covered => self.covered(),
            None => {
                let reason = self.mended.get(&place).cloned().unwrap_or(DropReason::Cut);
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

/// A result that was made up for a call has the place of the call, which may be gone for itself.
pub(super) fn is_made_up(build: &Build<'_, '_>, item: &Item<'_>) -> bool {
    let entry = super::build::entry_at(build.log, &build.arrivals, item.place);
    let role = match &entry.kind {
        EntryKind::Message(message) => message.effective_role(),
        _ => return false,
    };
    item.is_mended && role != item.message.effective_role()
}

/// The entries of the branch, and whether the newest summary stands for them.
fn branch(build: &Build<'_, '_>) -> Result<HashMap<usize, bool>, ContextError> {
    let first_kept = build.marks.summary_first_kept;
    let mut branch = HashMap::new();
    let mut is_covered = false;
    for place in (build.log.len()..build.log.len() + build.arrivals.entries.len()).rev() {
        branch.insert(place, is_covered);
        is_covered |= first_kept == Some(place);
    }
    for view in build.index.entries.walk(build.log)? {
        let view = view?;
        branch.insert(view.place(), is_covered);
        is_covered |= first_kept == Some(view.place());
    }
    Ok(branch)
}
