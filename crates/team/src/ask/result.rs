//! The result of an ask: who answered, what the comparison of the answers found, who gave no answer, and the cost. Pure.

use std::collections::{BTreeMap, HashMap};

use tertulia_session::{AskRound, Cause, EntryId, Usage};

use super::COMPARED_MIN;
use super::lines::{ComparedLine, LineKind, read_lines};
use super::state::{AskState, AskTurn};
use crate::guard::Dollars;

/// The result of an ask.
#[derive(Clone, Debug, PartialEq)]
pub struct AskResult {
    pub question: EntryId,
    /// The answers, in the order in which the members were asked.
    pub answers: Vec<AskAnswer>,
    /// The turns without an answer, of all rounds.
    pub missing: Vec<AskMissing>,
    pub comparison: AskComparison,
    /// What the comparison found: agreed points first, contradicted ones last.
    pub findings: Vec<AskFinding>,
    /// The comparisons in which no line could be read.
    pub unread: Vec<AskUnread>,
    /// The number of answers that the person wanted, if they gave one.
    pub quorum: Option<u32>,
    /// The tokens and costs of each member that worked.
    pub costs: Vec<AskCost>,
    /// The usage of all answers.
    pub usages: Vec<Usage>,
}

/// An answer of the first round.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct AskAnswer {
    pub member: Box<str>,
    /// The label under which the comparison saw it; empty if it came later.
    pub label: Box<str>,
    pub entry: EntryId,
}

/// A turn without an answer.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct AskMissing {
    pub member: Box<str>,
    /// The turn; `None` if the member was not asked.
    pub turn: Option<EntryId>,
    pub round: AskRound,
    /// The class of the error, if the turn failed.
    pub class: Option<Box<str>>,
    /// The reason, as a sentence.
    pub why: Box<str>,
}

/// How the answers were compared.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum AskComparison {
    /// Nobody was asked to compare them.
    NotAsked,
    /// Fewer than two members answered, so there was nothing to compare.
    TooFew,
    /// The judge wrote this entry.
    Judged { judge: Box<str>, entry: EntryId },
    /// These members wrote these entries.
    Reactions(Vec<(Box<str>, EntryId)>),
    /// Nobody who was asked has compared them.
    Missing,
}

/// A point of the comparison.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct AskFinding {
    pub kind: LineKind,
    pub text: Box<str>,
    pub sides: Vec<FindingSide>,
    /// The members who say so; empty for a judge.
    pub by: Vec<Box<str>>,
}

/// An answer that a point is about.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FindingSide {
    pub member: Box<str>,
    pub entry: EntryId,
    /// What this answer says, if the comparison says it for each.
    pub text: Option<Box<str>>,
}

/// A comparison in which no line could be read.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct AskUnread {
    pub member: Box<str>,
    pub entry: EntryId,
    pub text: Box<str>,
}

/// The tokens and the cost of a member in an ask.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct AskCost {
    pub member: Box<str>,
    pub input_tokens: u64,
    pub output_tokens: u64,
    /// The known costs.
    pub cost: Dollars,
    /// Whether the cost of some answer is not known.
    pub has_unknown: bool,
}

impl AskResult {
    /// Returns whether enough members answered, and the answers were compared if that was wanted.
    pub fn is_complete(&self) -> bool {
        let wanted = self.quorum.map_or(COMPARED_MIN, |quorum| quorum as usize);
        let is_compared =
            !matches!(self.comparison, AskComparison::TooFew | AskComparison::Missing);
        self.answers.len() >= wanted && is_compared
    }

    /// Returns the sum of the costs of all members; its name is empty.
    pub fn total(&self) -> AskCost {
        let mut total = AskCost::default();
        for cost in &self.costs {
            total.add(cost);
        }
        total
    }

    pub(super) fn new(
        question: &EntryId,
        state: &AskState,
        texts: &HashMap<EntryId, String>,
        usages: &[Usage],
    ) -> Self {
        let compared: Vec<(&AskTurn, &EntryId)> = [AskRound::Judgement, AskRound::Reaction]
            .iter()
            .flat_map(|one| state.answers(*one))
            .collect();
        let newest = compared.last().map(|(turn, _)| &turn.turn);
        let answers = labelled(state, newest);
        let comparison = comparison(state, &answers, &compared);
        let mut found = Findings::default();
        for (turn, entry) in &compared {
            let text = texts.get(*entry).map(String::as_str).unwrap_or_default();
            let mut seen = labelled(state, Some(&turn.turn));
            seen.retain(|one| !one.label.is_empty());
            found.read(turn, entry, text, &seen);
        }
        Self {
            question: question.clone(),
            missing: missing(state),
            comparison,
            findings: found.merged(),
            unread: found.unread,
            quorum: state.ask.as_ref().and_then(|ask| ask.quorum),
            costs: costs(usages),
            usages: usages.to_vec(),
            answers,
        }
    }
}

impl AskCost {
    fn add(&mut self, other: &Self) {
        self.input_tokens = self.input_tokens.saturating_add(other.input_tokens);
        self.output_tokens = self.output_tokens.saturating_add(other.output_tokens);
        self.cost = self.cost.plus(other.cost);
        self.has_unknown |= other.has_unknown;
    }
}

/// Returns the answers in the order in which the members were asked, with the labels that this comparison uses. An answer
/// that came later has none.
fn labelled(state: &AskState, comparison: Option<&EntryId>) -> Vec<AskAnswer> {
    let labelled = state.labelled(comparison);
    let answer = |(turn, entry): (&AskTurn, &EntryId)| {
        let own = labelled.iter().find(|(_, _, one)| *one == entry);
        let label = own.map_or("", |(label, ..)| label).into();
        AskAnswer { member: turn.member.clone(), label, entry: entry.clone() }
    };
    state.answers(AskRound::Answer).map(answer).collect()
}

fn comparison(
    state: &AskState,
    answers: &[AskAnswer],
    compared: &[(&AskTurn, &EntryId)],
) -> AskComparison {
    let Some(ask) = state.ask.as_ref().filter(|ask| ask.judge.is_some() || ask.reactions) else {
        return AskComparison::NotAsked;
    };
    match (compared, &ask.judge) {
        ([], _) if answers.len() < COMPARED_MIN => AskComparison::TooFew,
        ([], _) => AskComparison::Missing,
        ([.., (turn, entry)], Some(_)) => {
            AskComparison::Judged { judge: turn.member.clone(), entry: (*entry).clone() }
        }
        (all, None) => {
            let said =
                |(turn, entry): &(&AskTurn, &EntryId)| (turn.member.clone(), (*entry).clone());
            AskComparison::Reactions(all.iter().map(said).collect())
        }
    }
}

/// Returns the turns that have ended without an answer, and the members that were not asked.
fn missing(state: &AskState) -> Vec<AskMissing> {
    let ended = state.current().filter(|turn| turn.answer().is_none()).map(|turn| AskMissing {
        member: turn.member.clone(),
        turn: Some(turn.turn.clone()),
        round: turn.round,
        class: class(turn.end.as_ref()),
        why: match &turn.end {
            Some(cause) => cause.sentence(&turn.member).into(),
            None => "its turn has not ended".into(),
        },
    });
    let asked = state.ask.iter().flat_map(|ask| &ask.members);
    let not_asked = asked.filter(|name| state.turns.iter().all(|turn| turn.member != **name));
    let not_asked = not_asked.map(|name| AskMissing {
        member: name.clone(),
        turn: None,
        round: AskRound::Answer,
        class: None,
        why: "it was not asked".into(),
    });
    ended.chain(not_asked).collect()
}

fn class(end: Option<&Cause>) -> Option<Box<str>> {
    match end? {
        Cause::Failed { class, .. } => Some(class.clone()),
        Cause::Overspent { .. } => Some("spending".into()),
        _ => None,
    }
}

fn costs(usages: &[Usage]) -> Vec<AskCost> {
    let mut costs: Vec<AskCost> = Vec::new();
    for usage in usages {
        let one = AskCost {
            member: usage.member.clone(),
            input_tokens: usage.input_tokens,
            output_tokens: usage.output_tokens,
            cost: usage
                .cost_usd
                .as_ref()
                .map_or_else(Dollars::default, |cost| Dollars::from_usd(cost.amount())),
            has_unknown: usage.cost_usd.is_none(),
        };
        match costs.iter_mut().find(|cost| cost.member == one.member) {
            Some(cost) => cost.add(&one),
            None => costs.push(one),
        }
    }
    costs
}

/// The findings of several comparisons.
#[derive(Default)]
struct Findings {
    all: Vec<AskFinding>,
    unread: Vec<AskUnread>,
}

impl Findings {
    fn read(&mut self, turn: &AskTurn, entry: &EntryId, text: &str, answers: &[AskAnswer]) {
        let names: Vec<Vec<String>> = answers
            .iter()
            .map(|one| {
                // A judge knows only the labels.
                let name = (turn.round == AskRound::Reaction).then(|| one.member.to_string());
                [one.label.to_string()].into_iter().chain(name).collect()
            })
            .collect();
        let lines = read_lines(text, &names);
        if lines.is_empty() {
            let (member, entry) = (turn.member.clone(), entry.clone());
            return self.unread.push(AskUnread { member, entry, text: text.into() });
        }
        let by = (turn.round == AskRound::Reaction).then(|| turn.member.clone());
        let found = lines.into_iter().filter_map(|line| finding(line, answers));
        self.all.extend(found.map(|one| AskFinding { by: by.iter().cloned().collect(), ..one }));
    }

    /// Joins points with the same words. If members judge the same point differently, it is contradicted, and each view
    /// stays visible.
    fn merged(&self) -> Vec<AskFinding> {
        let mut groups: BTreeMap<String, Vec<usize>> = BTreeMap::new();
        let mut merged: Vec<AskFinding> = Vec::new();
        for finding in &self.all {
            let same = groups.entry(key(finding)).or_default();
            let twin = same.iter().filter_map(|at| merged.get(*at));
            let twin =
                twin.zip(same.iter()).find(|(one, _)| is_same(one, finding)).map(|(_, at)| *at);
            match twin.and_then(|at| merged.get_mut(at)) {
                Some(one) => one.by.extend(
                    finding
                        .by
                        .iter()
                        .filter(|by| !one.by.contains(by))
                        .cloned()
                        .collect::<Vec<_>>(),
                ),
                None => {
                    same.push(merged.len());
                    merged.push(finding.clone());
                }
            }
        }
        for same in groups.into_values() {
            let kinds = same.iter().filter_map(|at| merged.get(*at)).map(|one| one.kind);
            let is_disputed = kinds.clone().any(|kind| Some(kind) != kinds.clone().next());
            for at in same.into_iter().filter(|_| is_disputed) {
                if let Some(one) = merged.get_mut(at) {
                    one.kind = LineKind::Contradicted;
                }
            }
        }
        merged.sort_by_key(|one| one.kind);
        merged
    }
}

/// Returns the words of a finding without case, punctuation and spaces.
fn key(finding: &AskFinding) -> String {
    let sides = finding.sides.iter().filter_map(|side| side.text.as_deref());
    let texts = [&*finding.text].into_iter().chain(sides).collect::<Vec<_>>().join(" ");
    let words = texts.split(|c: char| !c.is_alphanumeric()).filter(|word| !word.is_empty());
    words.map(str::to_lowercase).collect::<Vec<_>>().join(" ")
}

fn is_same(one: &AskFinding, other: &AskFinding) -> bool {
    let on = |finding: &AskFinding| {
        let mut on: Vec<EntryId> = finding.sides.iter().map(|side| side.entry.clone()).collect();
        on.sort();
        on
    };
    one.kind == other.kind && on(one) == on(other)
}

/// Returns what a line says, with its answers in the order in which the members were asked.
fn finding(mut line: ComparedLine, answers: &[AskAnswer]) -> Option<AskFinding> {
    line.sides.sort_by_key(|side| side.answer);
    let sides: Vec<FindingSide> = line
        .sides
        .into_iter()
        .filter_map(|side| {
            let answer = answers.get(side.answer)?;
            let (member, entry) = (answer.member.clone(), answer.entry.clone());
            Some(FindingSide { member, entry, text: side.text })
        })
        .collect();
    (!sides.is_empty()).then(|| AskFinding {
        kind: line.kind,
        text: line.text,
        sides,
        by: Vec::new(),
    })
}
