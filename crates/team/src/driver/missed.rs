//! The part of a prompt's content that depends on what the agent already has in its own session.

use tertulia_context::branch::Branch;
use tertulia_context::view::Delivered;
use tertulia_context::{Outcome, Verdict};
use tertulia_session::EntryKind;

use super::asked::{About, Asked};
use super::log::SessionLog;
use super::native::{Has, MemoryPlan};
use super::prompt::{Prompts, TurnPrompt};
use super::summary;
use crate::team::{Team, TeamMember};

/// Replaces the team's task after it was removed.
const NO_TASK: &str = "(The team has no task any more.)";
/// The maximum number of bytes for a summary of new messages that do not fit.
const SUMMARY_BYTES: u64 = 6_000;
/// The maximum part of the budget for such a summary.
const SUMMARY_SHARE: u64 = 4;

impl Has {
    /// Returns the numbers of the delivered messages.
    pub(super) fn numbers(&self, branch: Branch<'_>) -> Delivered {
        let until = branch.messages_before(self.delivered + 1);
        Delivered {
            // If the message is not read, neither are the ones before it.
            first: self.first.as_ref().and_then(|id| branch.number_of(id)).unwrap_or_default(),
            until: branch.first_text_message_from(until),
            ended: self.ended,
            apart: self.apart.clone(),
            summary: self.summary,
        }
    }

    /// Returns the team's task and the index of its entry, if it is new. A text of the program has no index.
    pub(super) fn new_task<'l>(&self, branch: Branch<'l>) -> Option<(Option<usize>, &'l str)> {
        let entries = branch.entries().iter().enumerate().skip(self.delivered + 1);
        let mut tasks = entries.filter_map(|(index, entry)| match &entry.kind {
            EntryKind::TeamTask(task) => Some((index, task.task.as_deref())),
            _ => None,
        });
        let (index, task) = tasks.next_back()?;
        Some(task.map_or((None, NO_TASK), |task| (Some(index), task)))
    }
}

impl MemoryPlan {
    /// Records the oldest message that a new session of the agent contains word for word.
    pub(super) fn note_first(&mut self, prompt: &TurnPrompt) {
        if let Some(record) = self.record.as_mut().filter(|record| record.session.is_some()) {
            let mut kept = prompt.verdicts.iter().filter(|verdict| is_kept(verdict));
            record.first = kept.next().map(|verdict| verdict.entry.clone());
        }
    }
}

impl Prompts {
    /// Stages a summary of the new messages that do not fit into the prompt of an agent that continues its session.
    /// They would be lost otherwise, because later prompts do not contain them.
    pub(super) fn summarize_missed(
        &mut self,
        team: &Team,
        log: &mut SessionLog,
        member: &TeamMember,
        (asked, memory): (&Asked<'_>, &mut MemoryPlan),
        budget: u64,
    ) {
        let (answers, consult) = (asked.answers, asked.consult);
        let Some(has) = &mut memory.has else { return };
        let mut make = |has: &Has, budget| {
            let about = About { answers, has: Some(has), consult };
            self.make(team, log.branch(), member, about, (budget, false)).0
        };
        if !make(has, budget).is_cut {
            return;
        }
        let reserve = SUMMARY_BYTES.min(budget / SUMMARY_SHARE);
        let prompt = make(has, budget - reserve);
        let branch = log.branch();
        let branch = consult.map_or(branch, |consult| consult.branch(branch));
        let delivered = has.numbers(branch);
        let mut context = prompt.verdicts.iter().filter(|verdict| verdict.entry != *answers);
        let kept = context.find(|verdict| is_kept(verdict));
        let kept = kept.and_then(|verdict| branch.number_of(&verdict.entry));
        let until = kept.unwrap_or_else(|| branch.text_message_count());
        let is_missed = |number: &usize| {
            branch.text_message(*number).is_some_and(|(index, entry, message)| {
                let is_own = message
                    .speaker
                    .as_deref()
                    .is_some_and(|speaker| *speaker.role_id == *member.member.name);
                entry.id != *answers && !(is_own && delivered.has_own(index))
            })
        };
        let missed: Vec<usize> = (delivered.until..until).filter(is_missed).collect();
        let name = &*member.member.name;
        let Some(summary) = summary::missed(branch, name, &missed, reserve) else { return };
        has.summary = Some((log.entries().len(), until));
        log.stage(EntryKind::CompactionSummary(Box::new(summary)));
    }
}

fn is_kept(verdict: &Verdict) -> bool {
    !verdict.recalled && !matches!(verdict.outcome, Outcome::Dropped { .. })
}
