//! What answers cost: sums over the usage entries of a store, by session, member, agent, model, project or day. Costs
//! that agents reported, costs that were computed from prices and answers without a known cost are kept apart.

use std::collections::{BTreeMap, BTreeSet};

use serde::Serialize;
use tertulia_session::{Timestamp, Usage, Usd};
use tertulia_store::{ProjectScope, SessionId, SessionStore, StoreError, StoredUsage};
use tertulia_team::{Amount, Prices};

/// What the answers are grouped by.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum CostBy {
    #[default]
    Day,
    Session,
    Member,
    Agent,
    Model,
    Project,
}

/// The answers to add up.
#[derive(Clone, Debug, Default)]
pub struct CostQuery {
    pub by: CostBy,
    pub since: Option<Timestamp>,
    pub session: Option<SessionId>,
    pub project: ProjectScope,
}

/// Sums by group. Days are in their order; of other groups, the most expensive one comes first.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CostReport {
    pub by: CostBy,
    /// Each group with its name; `None` if the entries do not name it.
    pub groups: Vec<(Option<String>, CostSum)>,
    pub total: CostSum,
    /// The sessions with damaged entries, which are not counted.
    pub damaged: BTreeSet<SessionId>,
}

/// The tokens and costs of several answers.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct CostSum {
    pub answers: u64,
    /// Input that was neither read from a cache nor written to one.
    pub fresh_input: u64,
    pub cached_input: u64,
    pub written_input: u64,
    pub output: u64,
    /// The costs that agents reported.
    pub reported: Amount,
    /// The costs that were computed from prices, and the dates of these.
    pub computed: Amount,
    pub prices_dates: BTreeSet<Box<str>>,
    /// The number of answers without a known cost, and their tokens.
    pub unknown_answers: u64,
    pub unknown_tokens: u64,
}

impl CostBy {
    /// All groupings with their words.
    pub const WORDS: [(Self, &str); 6] = [
        (Self::Day, "day"),
        (Self::Session, "session"),
        (Self::Member, "member"),
        (Self::Agent, "agent"),
        (Self::Model, "model"),
        (Self::Project, "project"),
    ];

    /// Returns the word.
    pub fn word(self) -> &'static str {
        Self::WORDS.iter().find(|(by, _)| *by == self).map_or("", |(_, word)| word)
    }

    /// Returns the grouping of a word.
    pub fn named(word: &str) -> Option<Self> {
        Self::WORDS.iter().find(|(_, known)| *known == word).map(|(by, _)| *by)
    }
}

impl CostReport {
    /// Adds up the usage entries of a store. `prices` are for entries without a cost; `day_of` returns the day of a
    /// time.
    pub fn read(
        store: &SessionStore,
        query: &CostQuery,
        prices: &Prices,
        day_of: impl Fn(&Timestamp) -> String,
    ) -> Result<Self, StoreError> {
        let found = store.usage(query.since.as_ref())?;
        let is_of_session =
            |one: &StoredUsage| query.session.as_ref().is_none_or(|id| *id == one.session);
        let mut groups: BTreeMap<Option<String>, CostSum> = BTreeMap::new();
        let mut total = CostSum::default();
        for mut one in found.entries {
            if !is_of_session(&one) || !query.project.matches(one.project.as_deref()) {
                continue;
            }
            prices.complete(&mut one.usage);
            total.add(&one.usage);
            let key = match query.by {
                CostBy::Day => Some(day_of(&one.time)),
                CostBy::Session => Some(one.session.to_string()),
                CostBy::Member => Some(one.usage.member.clone().into()),
                CostBy::Agent => one.usage.agent.clone().map(Into::into),
                CostBy::Model => one.usage.model.clone().map(Into::into),
                CostBy::Project => one.project,
            };
            groups.entry(key).or_default().add(&one.usage);
        }
        let mut groups: Vec<_> = groups.into_iter().collect();
        if query.by != CostBy::Day {
            groups.sort_by_key(|(_, sum)| {
                std::cmp::Reverse((sum.known(), sum.unknown_tokens, sum.answers))
            });
        }
        Ok(Self { by: query.by, groups, total, damaged: found.damaged })
    }

    /// Returns the report as JSON.
    pub fn to_json(&self) -> String {
        crate::to_json(&ReportRecord {
            by: self.by.word(),
            groups: self.groups.iter().map(GroupRecord::new).collect(),
            total: self.total.record(),
            damaged_sessions: self.damaged.iter().map(SessionId::as_str).collect(),
        })
    }
}

impl CostSum {
    fn add(&mut self, usage: &Usage) {
        let cached = usage.cached_tokens.unwrap_or(0);
        let written = usage.cache_write_tokens.unwrap_or(0);
        let fresh = usage.input_tokens.saturating_sub(cached).saturating_sub(written);
        self.answers += 1;
        self.fresh_input = self.fresh_input.saturating_add(fresh);
        self.cached_input = self.cached_input.saturating_add(cached);
        self.written_input = self.written_input.saturating_add(written);
        self.output = self.output.saturating_add(usage.output_tokens);
        match (&usage.cost_usd, &usage.prices_date) {
            (Some(cost), None) => self.reported = self.reported.plus(Amount::from_usd(cost)),
            (Some(cost), Some(date)) => {
                self.computed = self.computed.plus(Amount::from_usd(cost));
                self.prices_dates.insert(date.clone());
            }
            (None, _) => {
                let tokens = usage.input_tokens.saturating_add(usage.output_tokens);
                self.unknown_answers += 1;
                self.unknown_tokens = self.unknown_tokens.saturating_add(tokens);
            }
        }
    }

    /// Returns the known costs.
    pub fn known(&self) -> Amount {
        self.reported.plus(self.computed)
    }

    fn record(&self) -> SumRecord<'_> {
        SumRecord {
            answers: self.answers,
            fresh_input_tokens: self.fresh_input,
            cached_tokens: self.cached_input,
            cache_write_tokens: self.written_input,
            output_tokens: self.output,
            reported_usd: self.reported.to_usd(),
            computed_usd: self.computed.to_usd(),
            prices_dates: self.prices_dates.iter().map(|date| &**date).collect(),
            unknown_answers: self.unknown_answers,
            unknown_tokens: self.unknown_tokens,
        }
    }
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct ReportRecord<'a> {
    by: &'a str,
    groups: Vec<GroupRecord<'a>>,
    total: SumRecord<'a>,
    damaged_sessions: Vec<&'a str>,
}

#[derive(Serialize)]
struct GroupRecord<'a> {
    name: Option<&'a str>,
    #[serde(flatten)]
    sum: SumRecord<'a>,
}

impl<'a> GroupRecord<'a> {
    fn new((name, sum): &'a (Option<String>, CostSum)) -> Self {
        Self { name: name.as_deref(), sum: sum.record() }
    }
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct SumRecord<'a> {
    answers: u64,
    fresh_input_tokens: u64,
    cached_tokens: u64,
    cache_write_tokens: u64,
    output_tokens: u64,
    reported_usd: Option<Usd>,
    computed_usd: Option<Usd>,
    prices_dates: Vec<&'a str>,
    unknown_answers: u64,
    unknown_tokens: u64,
}
