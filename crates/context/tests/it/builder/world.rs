//! Runs a story: appends its lines, builds with one index that is kept, appends the new entries, and passes every
//! build to a check.

use std::collections::HashSet;

use proptest::test_runner::TestCaseError;
use tertulia_context::builder::{
    ContextBuildInput, ContextBuildResult, ContextBuilder, ContextError, ContextIndex, RepairKind,
    Source,
};
use tertulia_session::{
    CutStrategy, Entry, EntryId, EntryIndex, EntryKind, Message, PartKind, Role,
};

use super::arbitrary::{Step, Story};
use super::notation::{append, message};

/// One build of a story.
pub(super) struct Turn<'t> {
    pub(super) story: &'t Story,
    pub(super) builder: &'t ContextBuilder,
    pub(super) log: &'t [Entry],
    pub(super) input: ContextBuildInput<'t>,
    pub(super) result: &'t Result<ContextBuildResult<'t>, ContextError>,
    /// The messages of the last build without the volatile zone. `None` if the log changed elsewhere than at its
    /// end, or if a result arrived for a call that was sent without one.
    pub(super) before: Option<&'t [(Source, Message)]>,
}

/// The messages that were sent, with their sources.
type Sent = Vec<(Source, Message)>;

pub(super) type Checked = Result<(), TestCaseError>;

/// Runs a story and checks every build.
pub(super) fn play(story: &Story, mut check: impl FnMut(&Turn<'_>) -> Checked) -> Checked {
    let builder = story.setting.builder();
    let (mut log, mut index) = (Vec::new(), ContextIndex::new());
    let mut before: Option<(Sent, HashSet<EntryId>)> = None;
    for step in &story.steps {
        let (input, overflow_hint) = match step {
            Step::Append(lines) => {
                for line in lines {
                    let is_turning = add(&mut log, line, story.is_legacy);
                    before = before.filter(|_| !is_turning);
                }
                continue;
            }
            Step::Build { input, overflow_hint } => (input, *overflow_hint),
        };
        let place = log.len().to_string();
        let messages: Vec<Message> =
            input.iter().map(|line| message(&line.replace('$', &place))).collect();
        let given = log.clone();
        let input = ContextBuildInput {
            system_prompt: story.setting.system_prompt,
            session_entries: &given,
            input_messages: &messages,
            runtime_hints: story.setting.hints.as_ref(),
            overflow_hint,
            explain: true,
            ..ContextBuildInput::default()
        };
        let result = builder.build_with(&mut index, &input);
        let moved = result.as_ref().map(moved_results).unwrap_or_default();
        before = before.filter(|(_, known)| moved.is_subset(known));
        let turn = Turn {
            story,
            builder: &builder,
            log: &given,
            input,
            result: &result,
            before: before.as_ref().map(|(sent, _)| &**sent),
        };
        check(&turn)?;
        if let Ok(result) = &result {
            log.extend(result.entries_to_append.iter().cloned());
            before = Some((lasting(result), moved));
        }
    }
    Ok(())
}

/// Returns the entries whose results were moved to calls further up.
fn moved_results(result: &ContextBuildResult<'_>) -> HashSet<EntryId> {
    let is_moved = |kind: &RepairKind| matches!(kind, RepairKind::MovedResult { .. });
    let moved = result.repairs.iter().filter(|repair| is_moved(&repair.kind));
    moved.map(|repair| repair.entry.clone()).collect()
}

/// Returns the messages without those of the volatile zone.
pub(super) fn lasting(result: &ContextBuildResult<'_>) -> Sent {
    let sent = result.model_messages.iter();
    let lasting = sent.filter(|one| !matches!(one.source, Source::Recall | Source::RuntimeHints));
    lasting.map(|one| (one.source.clone(), one.message.clone().into_owned())).collect()
}

/// Appends a line. Returns whether it changes more than the end of the branch.
pub(super) fn add(log: &mut Vec<Entry>, line: &str, is_legacy: bool) -> bool {
    let turned = turned(log, line);
    let made = turned.as_ref().map(Option::as_deref);
    let Some(line) = made.unwrap_or(Some(line)) else { return false };
    append(log, line);
    let names_parents = log.iter().rev().skip(1).any(|entry| entry.parent_id.is_some());
    if is_legacy && !names_parents && !line.starts_with('@') {
        log.last_mut().unwrap().parent_id = None;
    }
    turned.is_some() || line.starts_with("prompt") || line.starts_with("init")
}

/// Returns a line in which positions that are counted from the end are replaced by positions from the start;
/// `Some(None)` if there are no such positions.
fn turned(log: &[Entry], line: &str) -> Option<Option<String>> {
    let (word, rest) = line.split_once(' ')?;
    let mut rest = rest.split(' ');
    let mut back = || rest.next().unwrap().parse::<usize>().unwrap();
    let from_end = |back: usize| log.len().checked_sub(1 + back);
    Some(match word {
        "BACK" => from_end(back()).map(|place| format!("@{place} u q$q")),
        "REDACT" => from_end(back()).map(|place| format!("redact {place}")),
        "ELIDE" => from_end(back()).map(|place| format!("elide {place}")),
        "SUM" | "DROP" => {
            let back = back();
            old_cut(log, word, back, rest.next() == Some("kept"))
        }
        _ => return None,
    })
}

/// Returns a cut that another program could have written. It is not before the existing cut.
fn old_cut(log: &[Entry], word: &str, back: usize, says_kept: bool) -> Option<String> {
    let branch = Branch::new(log);
    let place = branch.entries.len().checked_sub(1 + back)?.max(branch.first_kept());
    let first = branch.place(log, place)?;
    let required = branch.required();
    let kept = required.iter().filter(|one| **one < place).filter_map(|at| branch.place(log, *at));
    let kept: Vec<String> = kept.map(|place| place.to_string()).collect();
    let kept = if says_kept { format!("kept={}", kept.join(",")) } else { String::new() };
    let text = if word == "SUM" { "old s$s*40" } else { "" };
    Some(format!("{} first={first} {kept} {text}", word.to_lowercase()))
}

/// The branch of a log, read in the simplest way: the visible entries, oldest first.
pub(super) struct Branch<'a> {
    pub(super) entries: Vec<(&'a EntryId, Option<&'a Entry>)>,
}

impl<'a> Branch<'a> {
    pub(super) fn new(log: &'a [Entry]) -> Self {
        let index = EntryIndex::over(log).unwrap();
        let view = index.walk(log).unwrap().map(Result::unwrap);
        let mut entries: Vec<_> = view.map(|view| (view.id(), view.entry())).collect();
        entries.reverse();
        Self { entries }
    }

    pub(super) fn position(&self, id: &EntryId) -> Option<usize> {
        self.entries.iter().position(|(other, _)| *other == id)
    }

    fn place(&self, log: &[Entry], at: usize) -> Option<usize> {
        let (id, _) = self.entries.get(at)?;
        log.iter().position(|entry| entry.id == **id)
    }

    pub(super) fn message(&self, at: usize) -> Option<&'a Message> {
        match &self.entries[at].1?.kind {
            EntryKind::Message(message) => Some(message),
            _ => None,
        }
    }

    /// Returns the newest summary, and the position of the first entry that it keeps.
    pub(super) fn newest_summary(&self) -> Option<(&'a Entry, usize)> {
        self.entries.iter().rev().find_map(|(_, entry)| match &(*entry)?.kind {
            EntryKind::CompactionSummary(summary) => {
                Some((entry.unwrap(), self.position(&summary.first_kept_entry_id)?))
            }
            _ => None,
        })
    }

    /// Returns the position of the first entry that the newest summary or drop keeps.
    pub(super) fn first_kept(&self) -> usize {
        let first = self.entries.iter().rev().find_map(|(_, entry)| match &(*entry)?.kind {
            EntryKind::CompactionSummary(summary) => self.position(&summary.first_kept_entry_id),
            EntryKind::ContextCut(cut) if cut.strategy == CutStrategy::Drop => {
                self.position(cut.first_kept_entry_id.as_ref()?)
            }
            _ => None,
        });
        first.unwrap_or(0)
    }

    pub(super) fn is_pinned(&self, at: usize) -> bool {
        let entry = self.entries[at].1;
        entry.is_some_and(|entry| entry.meta.is_some()) && self.message(at).is_some()
    }

    /// Returns the newest message of a user that is not empty.
    pub(super) fn newest_request(&self) -> Option<usize> {
        (0..self.entries.len()).rev().find(|at| self.message(*at).is_some_and(asks))
    }

    /// Returns the pinned entries with their units, and the newest request.
    pub(super) fn required(&self) -> Vec<usize> {
        let mut required: Vec<usize> = self.newest_request().into_iter().collect();
        for at in (0..self.entries.len()).filter(|at| self.is_pinned(*at)) {
            required.push(at);
            let role = |at: usize| self.message(at).map(Message::effective_role);
            let caller = (0..at).rev().find(|at| role(*at) == Some(Role::Assistant));
            let start = if role(at) == Some(Role::Tool) { caller.unwrap_or(at) } else { at };
            let later = (start..self.entries.len()).skip(1);
            let results = later.take_while(|at| role(*at).is_none_or(|role| role == Role::Tool));
            required.push(start);
            required.extend(results.filter(|at| self.message(*at).is_some()));
        }
        required.sort_unstable();
        required.dedup();
        required
    }
}

/// Returns whether a message is a request of a user.
pub(super) fn asks(message: &Message) -> bool {
    message.effective_role() == Role::User
        && message.parts.iter().any(|part| match &part.kind {
            PartKind::Text(text) => !text.trim().is_empty(),
            PartKind::Image(_) | PartKind::FileRef(_) | PartKind::Other(_) => true,
            PartKind::Thinking(_) | PartKind::ToolCall(_) | PartKind::ToolResult(_) => false,
        })
}
