//! Finds the time of a reset in a message. [`super::UsageLimit::from_message`] calls it.

use super::search_text::SearchText;
use super::{LimitScope, ResetTime, fields, moment};

/// Fields that contain the reset of the limit itself. The first one that is present is used.
const EXACT_FIELDS: [&str; 9] = [
    "resets_at",
    "resetsat",
    "resets_in_seconds",
    "quotaresettimestamp",
    "quotaresetdelay",
    "anthropic-ratelimit-unified-reset",
    "x-ratelimit-reset",
    "retry-after-ms",
    "retry-after",
];

/// Fields about the limits of requests and tokens. APIs also send them with other failures.
const RATE_FIELDS: [&str; 5] = [
    "retrydelay",
    "x-ratelimit-reset-requests",
    "x-ratelimit-reset-tokens",
    "anthropic-ratelimit-requests-reset",
    "anthropic-ratelimit-tokens-reset",
];

/// Words that introduce a time, and words between them and the time.
const CUES: [&str; 8] = [
    "reset",
    "try again",
    "retry",
    "retrying",
    "regain access",
    "available again",
    "limit reached|",
    "please wait",
];
const JOINTS: [&str; 7] = ["will ", "in ", "after ", "at ", "on ", "by ", "for "];

pub(super) fn find(message: &SearchText, scope: LimitScope) -> Option<ResetTime> {
    let by_field = |names: &[&str]| names.iter().find_map(|name| fields::time(message, name));
    by_field(&EXACT_FIELDS).or_else(|| CUES.iter().find_map(|cue| after_cue(message, cue))).or_else(
        || match scope {
            LimitScope::Minute | LimitScope::Day => by_field(&RATE_FIELDS),
            _ => None,
        },
    )
}

fn after_cue(message: &SearchText, cue: &str) -> Option<ResetTime> {
    message.lower.match_indices(cue).find_map(|(at, _)| {
        let rest = message.from(at + cue.len());
        // The oldest form of Claude's messages has seconds since 1970 after a bar.
        if cue.ends_with('|') {
            let (number, _) = moment::decimal(rest)?;
            return fields::since_1970(number as u64);
        }
        let rest = rest.strip_prefix('s').unwrap_or(rest);
        let mut rest = rest.trim_start_matches([':', ' ', '\n']);
        while let Some(after) = JOINTS.iter().find_map(|joint| rest.strip_prefix(joint)) {
            rest = after.trim_start_matches([' ', '~']);
        }
        let wait = moment::duration(rest).map(ResetTime::After);
        wait.or_else(|| moment::moment(rest))
    })
}
