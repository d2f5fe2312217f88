//! The outcome of every entry: exactly one for each, in the order of the log. With it, callers can show why a model
//! did not see something.

use std::collections::{HashMap, HashSet};

use tertulia_session::{EntryId, EntryKind};

use super::apply_cut::Cut;
use super::build::Build;
use super::elide::has_outputs;
use super::recalled::Recalled;
use super::repair::{Repair, RepairKind};
use super::{Item, LogIndex};
use crate::branch::Landmark;
use crate::verdict::{DropReason, HideReason, Outcome, Verdict};

pub(super) fn verdicts(
    build: &Build<'_, '_>,
    cut: &Cut,
    recalled: Option<&Recalled>,
) -> Vec<Verdict> {
    let outcomes = Outcomes::of(build, cut);
    let recalled: HashSet<LogIndex> =
        recalled.map(|recalled| recalled.entries.iter().copied().collect()).unwrap_or_default();
    let entries = build.log.iter().chain(&build.new_messages.entries);
    let entries = entries.enumerate().map(|(at, entry)| (LogIndex(at), entry));
    // An entry that was appended twice counts once.
    let own = entries
        .filter(|(at, entry)| at.0 >= build.log.len() || build.index.find(&entry.id) == Some(*at));
    let verdicts = own.map(|(at, entry)| Verdict {
        entry: entry.id.clone(),
        outcome: outcomes.outcome(at),
        recalled: recalled.contains(&at),
    });
    verdicts.collect()
}

struct Outcomes<'c, 'a, 'b> {
    build: &'c Build<'a, 'b>,
    /// Whether an entry is sent as a stub.
    sent: HashMap<LogIndex, bool>,
    summary: Option<EntryId>,
    dropped: HashMap<LogIndex, DropReason>,
    in_force: Vec<LogIndex>,
}

impl<'c, 'a, 'b> Outcomes<'c, 'a, 'b> {
    fn of(build: &'c Build<'a, 'b>, cut: &Cut) -> Self {
        let mut sent = HashMap::new();
        let repairs = &build.window.repairs;
        let is_moved = |one: &&Repair<LogIndex>| matches!(one.kind, RepairKind::MovedResult { .. });
        let moved: HashSet<LogIndex> =
            repairs.iter().filter(is_moved).map(|one| one.entry).collect();
        let is_sent =
            |item: &&Item<'_>| !is_inserted_result(build, item) || moved.contains(&item.entry);
        for item in build.window.items.iter().filter(is_sent) {
            let is_stub =
                build.cut_state.elided.contains_key(&item.entry) && has_outputs(&item.message);
            sent.insert(item.entry, is_stub);
        }
        let mut dropped = HashMap::new();
        for one in &build.window.repairs {
            match one.kind {
                RepairKind::Empty => dropped.insert(one.entry, DropReason::Empty),
                RepairKind::OrphanResult { .. } | RepairKind::MisplacedPart => {
                    dropped.insert(one.entry, DropReason::Orphan)
                }
                RepairKind::RepeatedCall { .. }
                | RepairKind::MovedResult { .. }
                | RepairKind::MissingResult { .. } => None,
            };
        }
        let summary = cut.summary.clone().or(build.summary.as_ref().map(|(id, _)| id.clone()));
        let in_force = [Landmark::SystemPrompt, Landmark::RuntimeInit].map(|landmark| {
            build.index.visible_landmark(build.log, landmark, build.index.newest())
        });
        let in_force = in_force.into_iter().flatten().collect();
        Self { build, sent, summary, dropped, in_force }
    }

    fn outcome(&self, at: LogIndex) -> Outcome {
        let hidden = |reason| Outcome::Hidden { reason };
        let is_new_message = at.0 >= self.build.log.len();
        if !is_new_message && !self.build.index.is_on_branch(at) {
            return hidden(HideReason::OtherBranch);
        }
        if let Some(entry) = self.build.log.get(at.0) {
            let view = self.build.index.view_entry(self.build.log, at);
            if view.is_none_or(|view| view.entry().is_none()) {
                return hidden(HideReason::Redacted);
            }
            match &entry.kind {
                EntryKind::Message(_) | EntryKind::BranchSummary(_) => {}
                EntryKind::Recall(_) if !self.sent.contains_key(&at) => {
                    return hidden(HideReason::Superseded);
                }
                EntryKind::Recall(_) => {}
                EntryKind::CompactionSummary(_) if self.summary.as_ref() == Some(&entry.id) => {
                    return Outcome::Kept;
                }
                EntryKind::CompactionSummary(_) => return self.covered(),
                EntryKind::SystemPromptOverride(_) | EntryKind::RuntimeInit(_) => {
                    return match self.in_force.contains(&at) {
                        true => Outcome::Kept,
                        false => hidden(HideReason::Superseded),
                    };
                }
                _ => return hidden(HideReason::NoMessage),
            }
        }
        match self.sent.get(&at) {
            Some(true) => Outcome::Elided,
            Some(false) => Outcome::Kept,
            None if self.is_covered(at) => self.covered(),
            None => {
                let reason = self.dropped.get(&at).cloned().unwrap_or(DropReason::Cut);
                Outcome::Dropped { reason }
            }
        }
    }

    /// Returns whether an entry is on the branch before the first entry that the newest summary kept.
    fn is_covered(&self, at: LogIndex) -> bool {
        let build = self.build;
        let first_kept = build.cut_state.summary_first_kept;
        first_kept.is_some_and(|first| {
            at < first && (first.0 >= build.log.len() || build.index.is_on_branch(first))
        })
    }

    fn covered(&self) -> Outcome {
        match &self.summary {
            Some(by) => Outcome::Summarized { by: by.clone() },
            None => Outcome::Dropped { reason: DropReason::Cut },
        }
    }
}

/// Returns whether an item is a result that was made up for a call. It has the entry of the call, but the call
/// itself may be left out.
pub(super) fn is_inserted_result(build: &Build<'_, '_>, item: &Item<'_>) -> bool {
    let entry = super::build::entry_at(build.log, &build.new_messages, item.entry);
    let role = match &entry.kind {
        EntryKind::Message(message) => message.effective_role(),
        _ => return false,
    };
    item.is_repaired && role != item.message.effective_role()
}

#[cfg(test)]
mod tests {
    use tertulia_session::record::read_entry_line;

    use super::super::{ContextBuildInput, ContextBuilder, ContextConfig};
    use super::*;

    #[test]
    fn a_summary_that_kept_from_another_branch_covers_nothing() {
        let log = [
            r#"{"id":"m0","type":"message","payload":{"role":"user","content":"a"}}"#,
            r#"{"id":"m1","parentId":"m0","type":"message","payload":{"role":"user","content":"b"}}"#,
            r#"{"id":"x","parentId":"m0","type":"message","payload":{"role":"user","content":"c"}}"#,
            r#"{"id":"S","parentId":"m1","type":"compaction_summary","payload":{"summary":"s","firstKeptEntryId":"x"}}"#,
            r#"{"id":"m2","parentId":"S","type":"message","payload":{"role":"user","content":"d"}}"#,
            r#"{"id":"C","parentId":"m2","type":"context_cut","payload":{"strategy":"drop","firstKeptEntryId":"m2","keptIds":[],"tokensBefore":9,"tokensAfter":3,"reason":"r"}}"#,
        ];
        let log: Vec<_> = log.iter().map(|line| read_entry_line(1, line).unwrap()).collect();
        let builder = ContextBuilder::new(ContextConfig::new(1_000)).unwrap();
        let input =
            ContextBuildInput { session_entries: &log, explain: true, ..Default::default() };
        let built = builder.build_context(&input).unwrap();
        let outcome = |id: &str| {
            let verdict = built.verdicts.iter().find(|one| one.entry.as_str() == id);
            verdict.map(|one| one.outcome.clone())
        };
        assert_eq!(outcome("m1"), Some(Outcome::Dropped { reason: DropReason::Cut }));
        assert_eq!(outcome("x"), Some(Outcome::Hidden { reason: HideReason::OtherBranch }));
        assert_eq!(outcome("m2"), Some(Outcome::Kept));
    }
}
