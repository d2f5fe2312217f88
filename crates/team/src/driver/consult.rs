//! What a turn of an ask gets. An answer ends at the question, so nothing that another member says is in its prompt,
//! however the turns run. A reaction and a judgement also get the answers, the judge without the names of their authors.
//! Also ends the first round of an ask when its grace time is over.

use std::borrow::Cow;
use std::time::{Duration, Instant};

use tertulia_context::branch::Branch;
use tertulia_context::view::{Perspective, Piece, View, ViewItem};
use tertulia_context::{ContextKind, ContextMessage, written_name};
use tertulia_session::{AskRound, EntryId, EntryKind};

use super::event::EventSink;
use super::log::SessionLog;
use super::model::shorten;
use super::{Done, Driver};
use crate::effect::Event;

/// The text for a member that answers.
const ANSWER: &str = "\n\n(This question goes to several members. Each of them answers alone and does not see the \
                      other answers. Markers and mentions in the answer have no effect.)";
/// The text for a member that compares the answers.
const REACTION: &str = "\n\n(The answers of the members to this question are above. Compare them, with yours among \
                        them. ";
/// The text for a judge.
const JUDGEMENT: &str = "\n\n(The answers to this question are above; the names of their authors are hidden. Compare \
                         them. ";
/// The form of a comparison.
const FORM: &str = "Write one line for each point, in one of these forms, and nothing else:
AGREED A, B: a point on which these answers agree
ONLY A: an important point that only this answer makes
CONTRADICTED A / B: what A says / what B says)";

/// The text after an answer that is cut.
const CUT: &str = " […] (the rest of this answer does not fit)";

/// A turn of an ask.
#[derive(Clone, Debug)]
pub(super) struct Consult {
    pub(super) round: AskRound,
    question: EntryId,
    /// The answers that are compared, in the order of their labels.
    answers: Vec<Labelled>,
}

#[derive(Clone, Debug)]
struct Labelled {
    title: String,
    entry: EntryId,
}

impl Consult {
    /// Returns the index of the first entry that the prompt does not show: the first one after the step of the question.
    pub(super) fn end(&self, branch: Branch<'_>) -> usize {
        let entries = branch.whole().entries();
        // Without the question, the prompt shows nothing.
        let Some(question) = branch.whole().index_of(&self.question) else { return 0 };
        let later = entries.iter().skip(question + 1);
        // The step of the question may also set the team's task, or summarise what was said before it.
        let is_later =
            |kind: &EntryKind| matches!(kind, EntryKind::Turn(_) | EntryKind::Message(_));
        let length = later.clone().position(|entry| is_later(&entry.kind));
        question + 1 + length.unwrap_or(later.count())
    }

    /// Returns the last entry that the prompt shows.
    pub(super) fn until(&self, log: &SessionLog) -> Option<EntryId> {
        let last = self.end(log.branch()).checked_sub(1)?;
        log.entries().get(last).map(|entry| entry.id.clone())
    }

    /// Returns the branch up to the question.
    pub(super) fn branch<'l>(&self, branch: Branch<'l>) -> Branch<'l> {
        branch.before(self.end(branch))
    }

    /// Returns the text that says what to do with the question.
    fn task(&self) -> String {
        match self.round {
            AskRound::Answer => ANSWER.to_owned(),
            AskRound::Reaction => format!("{REACTION}{FORM}"),
            AskRound::Judgement => format!("{JUDGEMENT}{FORM}"),
        }
    }

    /// Returns the answers as items of a view. Together they take at most half of the budget, and each gets the same share,
    /// so that no answer is left out.
    fn items<'l>(
        &'l self,
        branch: Branch<'l>,
        perspective: &'l Perspective<'_>,
        budget: u64,
    ) -> impl Iterator<Item = ViewItem<'l>> {
        let branch = branch.whole();
        let share = budget / 2 / (self.answers.len() as u64).max(1);
        let share = usize::try_from(share).unwrap_or(usize::MAX);
        self.answers.iter().filter_map(move |answer| {
            let (index, entry, message) = branch.text_message(branch.number_of(&answer.entry)?)?;
            let mut item = perspective.item(index, entry, message);
            shorten(&mut item, share, CUT);
            item.line.from = Cow::Borrowed("");
            item.line.kind = ContextKind::Titled { title: &answer.title };
            Some(item)
        })
    }

    /// Completes a view that ends at the question.
    pub(super) fn complete<'l>(
        &'l self,
        view: &mut View<'l>,
        branch: Branch<'l>,
        perspective: &'l Perspective<'_>,
        budget: u64,
    ) {
        view.items.extend(self.items(branch, perspective, budget));
        if let Some(question) = &mut view.current {
            add(question, &self.task());
        }
    }

    /// Returns what follows the conversation in a request with model messages: the answers, and the question with the
    /// task.
    pub(super) fn closing<'l>(
        &'l self,
        branch: Branch<'l>,
        perspective: &'l Perspective<'_>,
        budget: u64,
    ) -> Vec<ViewItem<'l>> {
        let whole = branch.whole();
        let question = whole.number_of(&self.question).and_then(|at| whole.text_message(at));
        let Some((index, entry, message)) = question else { return Vec::new() };
        let mut question = perspective.item(index, entry, message);
        if let ContextKind::Speech { by, .. } = question.line.kind {
            // The addressees are those whose answers are compared.
            question.line.kind = ContextKind::Speech { to: &[], by };
        }
        if self.round == AskRound::Answer {
            // The question is the last message anyway.
            let line = ContextMessage {
                kind: ContextKind::Titled { title: "ask" },
                ..ContextMessage::default()
            };
            (question.line, question.pieces) = (line, Some(Vec::new()));
            add(&mut question, ANSWER.trim_start());
        } else {
            add(&mut question, &self.task());
        }
        self.items(branch, perspective, budget).chain([question]).collect()
    }
}

/// Adds a text of the program to an item.
fn add(item: &mut ViewItem<'_>, words: &str) {
    item.line.content.to_mut().push_str(words);
    if let Some(pieces) = &mut item.pieces {
        pieces.push((Piece::Words(words.into()), words.len()));
    }
}

impl Driver {
    /// Returns what this turn gets if it belongs to an ask.
    pub(super) fn consult(&self, turn: &EntryId) -> Option<Consult> {
        let state = &self.machine.state;
        let item = &state.turns.get(turn)?.item;
        let round = item.round?;
        let ask = state.asks.get(&item.parent);
        let labelled =
            ask.filter(|_| round != AskRound::Answer).map(|ask| ask.labelled(Some(turn)));
        let title = |label: &str, member: &str| match round {
            AskRound::Reaction => format!("answer {label} by {}", written_name(member)),
            _ => format!("answer {label}"),
        };
        let answers = labelled.into_iter().flatten().map(|(label, turn, entry)| Labelled {
            title: title(&label, &turn.member),
            entry: entry.clone(),
        });
        Some(Consult { round, question: item.parent.clone(), answers: answers.collect() })
    }

    /// Returns how long to wait for input before the next grace time is over; `None` if none runs.
    pub(super) fn until_grace(&mut self) -> Option<Duration> {
        let now = Instant::now();
        let graces: Vec<(EntryId, u32)> = self.machine.graces().collect();
        self.graces.retain(|question, _| graces.iter().any(|(one, _)| one == question));
        for (question, seconds) in graces {
            let end = now + Duration::from_secs(seconds.into());
            self.graces.entry(question).or_insert(end);
        }
        self.graces.values().min().map(|end| end.saturating_duration_since(now))
    }

    /// Ends the first rounds whose grace time is over.
    pub(super) fn end_graces(&mut self, sink: &mut dyn EventSink) -> Done {
        self.until_grace();
        let now = Instant::now();
        let over = self.graces.iter().filter(|(_, end)| **end <= now);
        let over: Vec<EntryId> = over.map(|(question, _)| question.clone()).collect();
        for question in over {
            self.graces.remove(&question);
            self.step(&Event::GraceEnded { question }, sink)?;
        }
        Ok(())
    }
}

#[cfg(test)]
impl Consult {
    /// Returns a turn of an ask without answers to compare.
    pub(super) fn of(round: AskRound, question: &EntryId) -> Self {
        Self { round, question: question.clone(), answers: Vec::new() }
    }
}
