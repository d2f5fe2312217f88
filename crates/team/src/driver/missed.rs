//! The part of a prompt's content that depends on what the agent already has in its own session.

use tertulia_context::branch::Branch;
use tertulia_context::view::Delivered;
use tertulia_context::{Outcome, PromptStatus, Verdict};
use tertulia_session::{EntryId, EntryKind, FreshStart};

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
        let after =
            |index: usize| branch.first_text_message_from(branch.messages_before(index + 1));
        Delivered {
            first: match &self.first {
                // If the message is not read, neither are the ones before it.
                Some(first) => branch.number_of(first).unwrap_or_default(),
                None => after(self.begun_prompt),
            },
            until: after(self.delivered),
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
    /// Records the oldest message since which a new session of the agent contains all others word for word. There is none
    /// if only the message to answer fits, and newer messages do not.
    pub(super) fn note_first(
        &mut self,
        prompt: &TurnPrompt,
        branch: Branch<'_>,
        answers: &EntryId,
    ) {
        let Some(record) = self.record.as_mut().filter(|record| record.session.is_some()) else {
            return;
        };
        let answered = branch.number_of(answers);
        let is_newer =
            |verdict: &&Verdict| !is_kept(verdict) && branch.number_of(&verdict.entry) > answered;
        let mut said = prompt.verdicts.iter().filter(|verdict| !verdict.recalled);
        let mut kept = said.clone().filter(|verdict| is_kept(verdict));
        let first =
            kept.next().filter(|first| first.entry != *answers || !said.any(|one| is_newer(&one)));
        record.first = first.map(|verdict| verdict.entry.clone());
    }
}

impl Prompts {
    /// Makes sure that an agent that continues its session gets all new messages, because later prompts do not contain
    /// them: stages a summary of those that do not fit. If there is no room for it, the agent begins a new session.
    pub(super) fn deliver_missed(
        &mut self,
        team: &Team,
        log: &mut SessionLog,
        member: &TeamMember,
        (asked, memory): (&Asked<'_>, &mut MemoryPlan),
        budget: u64,
    ) {
        let of = (team, member, asked);
        if !self.is_cut(of, log, memory, budget) {
            return;
        }
        self.summarize_missed(team, log, member, (asked, memory), budget);
        if self.is_cut(of, log, memory, budget) {
            *memory = MemoryPlan::begin(log, team, member, Some(FreshStart::Overflow));
        }
    }

    /// Returns whether new messages do not fit into the prompt of an agent that continues its session.
    fn is_cut(
        &mut self,
        (team, member, asked): (&Team, &TeamMember, &Asked<'_>),
        log: &SessionLog,
        memory: &MemoryPlan,
        budget: u64,
    ) -> bool {
        memory.has.as_ref().is_some_and(|has| {
            let about = About { answers: asked.answers, has: Some(has), consult: asked.consult };
            self.make(team, log.branch(), member, about, (budget, false)).0.is_cut
        })
    }

    fn summarize_missed(
        &mut self,
        team: &Team,
        log: &mut SessionLog,
        member: &TeamMember,
        (asked, memory): (&Asked<'_>, &mut MemoryPlan),
        budget: u64,
    ) {
        let (answers, consult) = (asked.answers, asked.consult);
        let Some(has) = &mut memory.has else { return };
        let reserve = SUMMARY_BYTES.min(budget / SUMMARY_SHARE);
        let about = About { answers, has: Some(&*has), consult };
        let less = (budget - reserve, false);
        let (prompt, _) = self.make(team, log.branch(), member, about, less);
        if !matches!(prompt.status, PromptStatus::Fits | PromptStatus::ContextTrimmed) {
            return;
        }
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
