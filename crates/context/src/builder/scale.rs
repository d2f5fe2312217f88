//! The ratio of real tokens to counted tokens. Providers report how large a request really was, and the newest
//! report corrects all counts. The stages that compare counts with limits use this ratio.

use tertulia_session::{EntryKind, Role};

use super::build::Build;
use super::{Item, LogIndex};
use crate::branch::{Landmark, reported_usage};
use crate::tokens::{CALIBRATION_PERMILLE_MAX, CALIBRATION_PERMILLE_MIN, find_model};

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Scale(u64);

/// Reports for smaller requests are ignored, because a large part of such a request is not counted here.
const MEANINGFUL_TOKENS: u64 = 500;

impl Scale {
    pub(super) const ONE: Self = Self(1_000);

    pub(super) fn of_permille(permille: u64) -> Self {
        Self(permille.clamp(CALIBRATION_PERMILLE_MIN, CALIBRATION_PERMILLE_MAX))
    }

    pub(super) fn permille(self) -> u64 {
        self.0
    }

    /// Returns the value that a cut records; `None` if nothing was corrected.
    pub(super) fn recorded(self) -> Option<u64> {
        (self != Self::ONE).then_some(self.0)
    }

    /// Returns the tokens as the provider would count them, rounded up.
    pub(super) fn of_tokens(self, tokens: u64) -> u64 {
        if self == Self::ONE {
            return tokens;
        }
        u64::try_from((u128::from(tokens) * u128::from(self.0)).div_ceil(1_000)).unwrap_or(u64::MAX)
    }

    /// Returns the scale from the newest report since the newest cut; without one, the scale that the cut recorded.
    pub(super) fn of(build: &Build<'_, '_>) -> Self {
        let since = build.cut_state.newest;
        let reported = newest_report(build).filter(|(at, _)| Some(*at) > since);
        let fresh = reported.and_then(|(at, tokens)| {
            let counted = counted_before(build, at)?;
            let permille = |counted: u64| {
                let permille = u128::from(tokens) * 1_000 / u128::from(counted);
                u64::try_from(permille).unwrap_or(u64::MAX)
            };
            // The number of tokens of that request's hints and recalled text is no longer known. It was between 0
            // and the allowed maximum. Within this range, the ratio closest to 1 is used.
            let unknown = build.builder.config.recall_cap() + build.sums.hints;
            Some(1_000.clamp(permille(counted + unknown), permille(counted)))
        });
        let permille = fresh.or(build.cut_state.scale_permille).unwrap_or(1_000);
        Self::of_permille(permille)
    }
}

/// Returns the tokens of the newest report for this builder's member and model, and its position.
fn newest_report(build: &Build<'_, '_>) -> Option<(LogIndex, u64)> {
    // In a team, the usage of a turn is reported before its answer, and includes whatever else the agent did. So it
    // is not used.
    if build.input.perspective.is_some() {
        return None;
    }
    let index = &*build.index;
    let member = build.builder.member.as_deref();
    // A report without a member is accepted.
    let is_own =
        |who: Option<&str>| member.is_none_or(|member| who.is_none_or(|who| who == member));
    let mut reports = index.landmarks(Landmark::Usage, index.newest());
    reports.find_map(|at| match index.view_entry(build.log, at)?.kind()? {
        EntryKind::Message(message) => {
            let speaker = message.speaker.as_deref().map(|speaker| &*speaker.role_id);
            is_own(speaker).then_some((at, reported_usage(message)?))
        }
        EntryKind::Usage(usage) => {
            let model = usage.model.as_deref().and_then(find_model);
            let is_alike =
                model.is_none_or(|model| model.tokenizer == build.builder.counter.tokenizer);
            (is_own(Some(&usage.member)) && is_alike).then_some((at, usage.input_tokens))
        }
        _ => None,
    })
}

/// Returns the tokens of the request that a report is about, as counted here.
fn counted_before(build: &Build<'_, '_>, report: LogIndex) -> Option<u64> {
    let items = &build.window.items;
    let is_answer =
        |item: &Item<'_>| item.entry <= report && item.message.effective_role() == Role::Assistant;
    let answer = items.iter().rposition(is_answer)?;
    let history: u64 = build.tokens[..answer].iter().sum();
    let sums = &build.sums;
    let counted = sums.frozen + sums.tools + sums.reply + sums.summary + history;
    (counted >= MEANINGFUL_TOKENS).then_some(counted)
}
