//! The results of the asks that ended in a run: prints them, and makes an incomplete one an error.

use serde::Serialize;
use tertulia_session::{AskRound, Entry, EntryId};
use tertulia_team::{
    AskComparison, AskCost, AskFinding, AskFollower, AskMissing, AskResult, LineKind,
};

use crate::error::{CliError, Result};

/// Returns the results of the asks that have ended with an entry from this index on.
pub(super) fn ended(entries: &[Entry], first: usize) -> Vec<AskResult> {
    let mut follower = AskFollower::default();
    let mut ended: Vec<EntryId> = Vec::new();
    for (index, entry) in entries.iter().enumerate() {
        let result = follower.on_entry(entry).filter(|_| index >= first);
        if let Some(question) = result.map(|result| result.question)
            && !ended.contains(&question)
        {
            ended.push(question);
        }
    }
    // The usage of a stopped agent may follow the end.
    ended.iter().filter_map(|question| follower.result(question)).collect()
}

/// Returns an error if a result is incomplete.
pub(super) fn check(results: &[AskResult]) -> Result {
    let Some(result) = results.iter().find(|result| !result.is_complete()) else { return Ok(()) };
    let answers = result.answers.len() as u64;
    let why = match result.quorum.filter(|quorum| answers < u64::from(*quorum)) {
        Some(quorum) => format!("only {answers} answered, and the quorum is {quorum}"),
        None if answers == 0 => "nobody answered".to_owned(),
        None if answers == 1 => "only one member answered".to_owned(),
        None => "nobody could compare the answers".to_owned(),
    };
    Err(CliError::Failed(why))
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct AskRecord<'a> {
    question: &'a EntryId,
    is_complete: bool,
    #[serde(skip_serializing_if = "Option::is_none")]
    quorum: Option<u32>,
    answers: Vec<AnswerRecord<'a>>,
    comparison: ComparisonRecord<'a>,
    findings: Vec<FindingRecord<'a>>,
    unread: Vec<UnreadRecord<'a>>,
    missing: Vec<MissingRecord<'a>>,
    costs: Vec<CostRecord<'a>>,
    total: CostRecord<'a>,
}

#[derive(Serialize)]
struct AnswerRecord<'a> {
    member: &'a str,
    label: &'a str,
    entry: &'a EntryId,
}

#[derive(Serialize)]
#[serde(tag = "how", rename_all = "camelCase")]
enum ComparisonRecord<'a> {
    NotAsked,
    TooFew,
    Missing,
    Judged { judge: &'a str, entry: &'a EntryId },
    Reactions { entries: Vec<&'a EntryId> },
}

#[derive(Serialize)]
struct FindingRecord<'a> {
    kind: &'static str,
    text: &'a str,
    answers: Vec<SideRecord<'a>>,
    by: Vec<&'a str>,
}

#[derive(Serialize)]
struct SideRecord<'a> {
    member: &'a str,
    entry: &'a EntryId,
    #[serde(skip_serializing_if = "Option::is_none")]
    text: Option<&'a str>,
}

#[derive(Serialize)]
struct UnreadRecord<'a> {
    member: &'a str,
    entry: &'a EntryId,
    text: &'a str,
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct MissingRecord<'a> {
    member: &'a str,
    round: &'static str,
    #[serde(skip_serializing_if = "Option::is_none")]
    turn: Option<&'a EntryId>,
    #[serde(skip_serializing_if = "Option::is_none")]
    error_class: Option<&'a str>,
    why: &'a str,
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct CostRecord<'a> {
    #[serde(skip_serializing_if = "str::is_empty")]
    member: &'a str,
    input_tokens: u64,
    output_tokens: u64,
    cost_usd: tertulia_session::Usd,
    has_unknown_cost: bool,
}

impl<'a> AskRecord<'a> {
    /// `total` is the sum of the costs.
    pub(super) fn new(result: &'a AskResult, total: &'a AskCost) -> Self {
        Self {
            question: &result.question,
            is_complete: result.is_complete(),
            quorum: result.quorum,
            answers: (result.answers.iter())
                .map(|one| AnswerRecord {
                    member: &one.member,
                    label: &one.label,
                    entry: &one.entry,
                })
                .collect(),
            comparison: comparison(&result.comparison),
            findings: result.findings.iter().map(finding).collect(),
            unread: (result.unread.iter())
                .map(|one| UnreadRecord { member: &one.member, entry: &one.entry, text: &one.text })
                .collect(),
            missing: result.missing.iter().map(missing).collect(),
            costs: result.costs.iter().map(cost).collect(),
            total: cost(total),
        }
    }
}

fn comparison(comparison: &AskComparison) -> ComparisonRecord<'_> {
    match comparison {
        AskComparison::NotAsked => ComparisonRecord::NotAsked,
        AskComparison::TooFew => ComparisonRecord::TooFew,
        AskComparison::Missing => ComparisonRecord::Missing,
        AskComparison::Judged { judge, entry } => ComparisonRecord::Judged { judge, entry },
        AskComparison::Reactions(all) => {
            ComparisonRecord::Reactions { entries: all.iter().map(|(_, entry)| entry).collect() }
        }
    }
}

fn finding(finding: &AskFinding) -> FindingRecord<'_> {
    let kind = match finding.kind {
        LineKind::Agreed => "agreed",
        LineKind::Only => "only",
        LineKind::Contradicted => "contradicted",
    };
    let sides = finding.sides.iter().map(|side| SideRecord {
        member: &side.member,
        entry: &side.entry,
        text: side.text.as_deref(),
    });
    let by = finding.by.iter().map(|name| &**name).collect();
    FindingRecord { kind, text: &finding.text, answers: sides.collect(), by }
}

fn missing(missing: &AskMissing) -> MissingRecord<'_> {
    MissingRecord {
        member: &missing.member,
        round: AskRound::as_str(missing.round),
        turn: missing.turn.as_ref(),
        error_class: missing.class.as_deref(),
        why: &missing.why,
    }
}

fn cost(cost: &AskCost) -> CostRecord<'_> {
    CostRecord {
        member: &cost.member,
        input_tokens: cost.input_tokens,
        output_tokens: cost.output_tokens,
        cost_usd: cost.cost.to_usd(),
        has_unknown_cost: cost.has_unknown,
    }
}
