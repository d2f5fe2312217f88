//! Decides what is cut when a context is too large. The planner gets only sizes, no messages, so tests can run it on
//! any sizes.

use std::ops::Range;

use super::ContextConfig;
use super::item::{Unit, WindowIndex};
use super::window::Units;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Size {
    pub(super) tokens: u64,
    pub(super) stub: Option<u64>,
    /// Whether a newer message supersedes it.
    pub(super) is_superseded: bool,
}

pub(super) struct Limits<'c> {
    /// The tokens that are sent besides the history: system message, tools, hints.
    pub(super) fixed: u64,
    pub(super) summary: u64,
    pub(super) trigger: u64,
    pub(super) target_permille: u64,
    pub(super) config: &'c ContextConfig,
    pub(super) overflow_hint: bool,
    /// Whether something must be cut although everything fits.
    pub(super) must_cut: bool,
    pub(super) may_elide: bool,
    pub(super) cover: Cover,
}

/// What to do with the messages before a cut.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Cover {
    /// They are summarised, in at most this many tokens.
    Summarize { cap: u64 },
    /// They are left out.
    Drop,
    /// They must stay.
    Never,
}

#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Plan {
    pub(super) elide: Vec<WindowIndex>,
    /// The first unit that stays. The units before it are cut, except those that must be sent.
    pub(super) cut: Option<usize>,
    /// The number of tokens that are left for a summary.
    pub(super) summary_cap: u64,
    /// The tokens that are sent after the cut, without the summary.
    pub(super) left: u64,
}

impl Plan {
    pub(super) fn is_idle(&self) -> bool {
        self.cut.is_none() && self.elide.is_empty()
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum NoPlan {
    /// The messages that must be sent are too large.
    Floor { floor: u64 },
    /// Nothing is left that could be cut.
    Stuck,
}

/// The minimum number of tokens for a useful summary.
const SUMMARY_TOKENS_MIN: u64 = 32;

pub(super) fn plan(sizes: &[Size], units: &Units, limits: &Limits<'_>) -> Result<Plan, NoPlan> {
    let Units { list: units, kept_before } = units;
    let (sizes, kept_before) = (sizes.to_vec(), *kept_before);
    Planner { units, kept_before, limits, sizes, elide: Vec::new() }.run()
}

struct Planner<'p> {
    units: &'p [Unit],
    kept_before: usize,
    limits: &'p Limits<'p>,
    sizes: Vec<Size>,
    elide: Vec<WindowIndex>,
}

impl Planner<'_> {
    fn run(mut self) -> Result<Plan, NoPlan> {
        let total = self.total();
        let is_over = total > self.limits.trigger || self.limits.must_cut;
        let is_long = self.is_too_long();
        if !(is_over || is_long || self.limits.overflow_hint) {
            return Ok(Plan::default());
        }
        let floor = self.floor();
        if floor > self.limits.config.max_input_tokens {
            return Err(NoPlan::Floor { floor });
        }
        let target = self.target(total);
        if self.limits.may_elide && (is_over || self.limits.overflow_hint) {
            // The newer output contains everything that is still valid of a superseded one, so superseded outputs
            // are elided first.
            self.elide_within(0..self.sizes.len(), total, target, |size| size.is_superseded);
            self.elide_within(0..self.protected(), self.total(), target, |_| true);
            if is_over && !is_long && !self.limits.overflow_hint && self.total() <= target {
                return Ok(Plan { elide: self.elide, ..Plan::default() });
            }
        }
        self.cut(target)
    }

    /// Cuts all units before a position, except those that must be sent.
    fn cut(mut self, target: u64) -> Result<Plan, NoPlan> {
        let cut = match self.limits.cover {
            Cover::Never => None,
            Cover::Drop | Cover::Summarize { .. } => self.find_cut(target),
        };
        // The summary is not included, because its limit depends on the result.
        let after = |planner: &Self| match cut {
            Some(cut) => planner.limits.fixed + planner.kept(cut),
            None => planner.limits.fixed + planner.limits.summary + planner.kept(0),
        };
        let wanted = match (cut, self.limits.cover) {
            (Some(_), Cover::Summarize { cap }) => cap.min(SUMMARY_TOKENS_MIN),
            (Some(_), _) => self.limits.summary,
            (None, _) => 0,
        };
        if self.limits.may_elide && after(&self) + wanted > self.limits.trigger {
            // Nothing else can be cut, so the newest outputs become stubs too.
            let units = cut.map_or(self.units, |cut| &self.units[cut..]);
            let first = units.first().map_or(self.sizes.len(), |unit| unit.items.start);
            let all = first..self.sizes.len();
            self.elide_within(all, after(&self) + wanted, self.limits.trigger, |_| true);
        }
        let limit = self.limits.config.max_input_tokens;
        let left = after(&self);
        let is_idle = cut.is_none() && self.elide.is_empty();
        if left > limit || (is_idle && self.limits.overflow_hint) {
            return Err(NoPlan::Stuck);
        }
        let fits = left + wanted <= limit;
        let summary_cap = match (cut, self.limits.cover) {
            (Some(_), Cover::Summarize { cap }) if fits => {
                cap.min(self.limits.trigger.saturating_sub(left).max(wanted))
            }
            // The content of an older summary would be lost.
            (Some(_), _) if !fits && self.limits.summary > 0 => return Err(NoPlan::Stuck),
            _ => 0,
        };
        self.forget_elided_before(cut);
        Ok(Plan { elide: self.elide, cut, summary_cap, left })
    }

    /// Returns the oldest unit from which on everything fits; `None` if nothing would be cut.
    fn find_cut(&self, target: u64) -> Option<usize> {
        let summary = match self.limits.cover {
            Cover::Summarize { cap } => cap,
            Cover::Drop | Cover::Never => self.limits.summary,
        };
        let room = target.saturating_sub(self.limits.fixed + summary);
        let required = || self.units.iter().filter(|unit| unit.is_required());
        let mut tokens: u64 = required().map(|unit| self.unit(unit)).sum();
        let mut messages: u64 = required().map(|unit| unit.items.len() as u64).sum();
        let max_messages = self.target_messages();
        let mut cut = self.units.len();
        while cut > self.kept_before {
            let unit = &self.units[cut - 1];
            if !unit.is_required() {
                tokens += self.unit(unit);
                messages += unit.items.len() as u64;
                if tokens > room || messages > max_messages {
                    break;
                }
            }
            cut -= 1;
        }
        let goes = |cut: usize| self.units[..cut].iter().any(|unit| !unit.is_required());
        if !goes(cut) && (self.limits.overflow_hint || self.total() > self.limits.trigger) {
            // By the planner's sizes nothing must be cut, but the model rejected the request or the total is too
            // large: cut at least one unit.
            cut = self.units.iter().position(|unit| !unit.is_required())? + 1;
            cut = cut.max(self.kept_before);
        }
        goes(cut).then_some(cut)
    }

    fn target(&self, total: u64) -> u64 {
        let Limits { fixed, trigger, overflow_hint, .. } = *self.limits;
        let room = if overflow_hint { trigger.min(total) } else { trigger };
        fixed + permille_of(room.saturating_sub(fixed), self.limits.target_permille)
    }

    fn target_messages(&self) -> u64 {
        let permille = self.limits.target_permille;
        self.limits.config.max_history_messages.map_or(u64::MAX, |max| {
            // The number of messages causes a further cut only if there are too many.
            if self.is_too_long() { permille_of(max, permille).max(1) } else { max }
        })
    }

    fn is_too_long(&self) -> bool {
        let max = self.limits.config.max_history_messages;
        max.is_some_and(|max| self.sizes.len() as u64 > max)
    }

    /// Replaces the outputs of the selected messages by stubs, oldest first, until at most the target is left.
    fn elide_within(
        &mut self,
        items: Range<usize>,
        mut left: u64,
        target: u64,
        is_meant: impl Fn(&Size) -> bool,
    ) {
        let pinned = self.pinned();
        for at in items {
            if left <= target {
                break;
            }
            if !pinned[at] && is_meant(&self.sizes[at]) {
                left -= self.elide_one(at);
            }
        }
    }

    /// Makes a stub if it is smaller, and returns how many tokens that saves.
    fn elide_one(&mut self, at: usize) -> u64 {
        let size = &mut self.sizes[at];
        let Some(stub) = size.stub.take().filter(|stub| *stub < size.tokens) else { return 0 };
        let saved = size.tokens - stub;
        size.tokens = stub;
        self.elide.push(WindowIndex(at));
        saved
    }

    /// Removes the stubs of messages that are cut anyway.
    fn forget_elided_before(&mut self, cut: Option<usize>) {
        let Some(cut) = cut else { return };
        let units = self.units;
        let stays = |at: &WindowIndex| {
            let unit = units.partition_point(|unit| unit.items.end <= at.0);
            unit >= cut || units.get(unit).is_some_and(Unit::is_required)
        };
        self.elide.retain(stays);
        self.elide.sort_unstable();
    }

    /// Returns the first message of the newest part, whose outputs become stubs last.
    fn protected(&self) -> usize {
        let target = self.target(self.total()).saturating_sub(self.limits.fixed);
        let room = permille_of(target, self.limits.config.protect_permille);
        let mut tokens = 0;
        let mut first = self.sizes.len();
        for unit in self.units.iter().rev() {
            tokens += self.unit(unit);
            // The model has not read the newest unit yet.
            if tokens > room && !unit.is_newest {
                break;
            }
            first = unit.items.start;
        }
        first
    }

    fn pinned(&self) -> Vec<bool> {
        let mut pinned = vec![false; self.sizes.len()];
        for unit in self.units.iter().filter(|unit| unit.is_pinned) {
            pinned[unit.items.clone()].fill(true);
        }
        pinned
    }

    fn floor(&self) -> u64 {
        let least = |unit: &Unit| -> u64 {
            let may_elide = self.limits.may_elide && !unit.is_pinned;
            let sizes = self.sizes[unit.items.clone()].iter();
            let sizes = sizes.map(|size| match size.stub {
                Some(stub) if may_elide => stub.min(size.tokens),
                _ => size.tokens,
            });
            sizes.sum()
        };
        let required = self.units.iter().filter(|unit| unit.is_required());
        self.limits.fixed + required.map(least).sum::<u64>()
    }

    fn total(&self) -> u64 {
        let history: u64 = self.sizes.iter().map(|size| size.tokens).sum();
        self.limits.fixed + self.limits.summary + history
    }

    /// Returns the tokens of the history that are left after a cut here.
    fn kept(&self, cut: usize) -> u64 {
        let units = self.units.iter().enumerate();
        let kept = units.filter(|(at, unit)| *at >= cut || unit.is_required());
        kept.map(|(_, unit)| self.unit(unit)).sum()
    }

    fn unit(&self, unit: &Unit) -> u64 {
        self.sizes[unit.items.clone()].iter().map(|size| size.tokens).sum()
    }
}

/// Returns this many thousandths of the tokens, rounded down.
pub(super) fn permille_of(tokens: u64, permille: u64) -> u64 {
    u64::try_from(u128::from(tokens) * u128::from(permille) / 1_000).unwrap_or(u64::MAX)
}
