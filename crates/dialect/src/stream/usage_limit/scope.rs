//! Determines which limit a message reports. [`super::UsageLimit::from_message`] calls it.

use jiff::civil;

use super::search_text::SearchText;
use super::{Day, LimitScope, ResetTime, WallTime, fields};

/// A recognised limit.
pub(super) struct Found {
    pub(super) scope: LimitScope,
    /// The usual reset of such limits. It applies unless the message contains a longer waiting time.
    pub(super) usual_reset: Option<ResetTime>,
    /// Whether the same message is also used for a limit that ends within minutes.
    pub(super) may_be_short: bool,
}

impl From<LimitScope> for Found {
    fn from(scope: LimitScope) -> Self {
        Self { scope, usual_reset: None, may_be_short: scope == LimitScope::Unknown }
    }
}

/// Phrases about overloaded services, and about other services that agents use in tools.
const OTHERS: [&str; 5] = [
    "model_capacity_exhausted",
    "no capacity available",
    "api rate limit exceeded",
    "secondary rate limit",
    "pull rate limit",
];

/// Phrases in lower case without quotes. The first match is used. A phrase after `^` must begin a sentence.
/// tests/it/usage_limits.rs names the source of each phrase.
#[rustfmt::skip]
const PHRASES: [(LimitScope, &[&str]); 9] = [
    (LimitScope::Model, &[
        "^youve hit your opus limit", "^youve hit your sonnet limit", "^youve hit your fable limit",
        "^opus weekly limit reached", "^youve hit your usage limit for ",
        "exhausted your daily quota on this model",
    ]),
    (LimitScope::FiveHour, &[
        "^youve hit your session limit", "^session limit reached", "your session limit resets",
        "^5-hour limit reached", "^5 hour usage limit reached", "limitname:5 hour",
        "^usage limit reached for 5 hour", "reached your session usage limit",
    ]),
    (LimitScope::Workspace, &[
        "^youve hit your orgs monthly usage limit", "reached your specified api usage limits",
        "reached your specified workspace api usage limits", "enforced_spend_limit_reached",
        "^your workspace is out of credits", "^you hit your spend cap set",
        "^your workspace has reached its monthly spending limit",
        "used all available credits or reached its monthly spending limit",
        "organization_spend_limit_exceeded", "project_spend_limit_exceeded",
    ]),
    (LimitScope::Week, &[
        "^youve hit your weekly limit", "^weekly limit reached", "^weekly usage limit reached",
        "^youve reached your weekly rate limit", "exceeded your weekly rate limit",
        "code:user_weekly_rate_limited", "limitname:weekly",
    ]),
    (LimitScope::Month, &[
        "^youve hit your monthly spend limit", "^you have reached your monthly spending limit",
        "^monthly usage limit reached", "^you have exceeded your premium request allowance",
        "^you have no quota", "402 you have no quota", "limitname:monthly",
    ]),
    (LimitScope::Day, &["free-models-per-day", "openrouter_free_tier_daily"]),
    (LimitScope::Credits, &[
        "insufficient_quota", "^credit balance is too low", "^your credit balance is too low",
        "credit_balance_exhausted", "billing_hard_limit_reached", "type:billing_error",
        "requires more credits", "code:402", "^quota exceeded. check your plan and billing",
        "^youre out of extra usage", "^youre out of usage credits",
        "^youve hit your usage credit limit", "^extra usage is required", "type:creditserror",
        "exceeded your current quota, please check your plan and billing",
    ]),
    (LimitScope::Unknown, &[
        "^youve hit your usage limit", "^you have hit your chatgpt usage limit",
        "^youve hit your limit ·", "type:usage_limit_reached", "^the usage limit has been reached",
        "^claude usage limit reached", "^claude ai usage limit reached",
        "would exceed your accounts rate limit",
        "rate limit that restricts the number of copilot model requests",
        "exceeded your copilot token usage", "^individual quota reached", "^free usage exceeded",
        "type:freeusagelimiterror", "type:gousagelimiterror",
    ]),
    (LimitScope::Minute, &[
        "type:rate_limit_error", "code:rate_limit_exceeded", "code:rate_limited",
        "request rejected (429)", "exceeded retry limit, last status:429", "free-models-per-min",
        "rate-limited upstream", "status:resource_exhausted", "^resource has been exhausted",
        "^resource exhausted. please try again later", "^tokens per minute limit exceeded",
        "^api error:rate limit reached", "^sorry, your request was rate-limited",
        "^rate limit reached for requests", "request a quota increase through ai studio",
    ]),
];

pub(super) fn find(message: &SearchText) -> Option<Found> {
    if OTHERS.iter().any(|phrase| message.contains(phrase)) {
        return None;
    }
    of_google(message)
        .or_else(|| of_codex_windows(message).map(Found::from))
        .or_else(|| of_anthropic_claim(message).map(Found::from))
        .or_else(|| of_openai(message).map(Found::from))
        .or_else(|| by_phrase(message).map(Found::from))
}

/// Returns the limit that an HTTP status alone indicates.
pub(super) fn of_status(status: u64) -> Option<Found> {
    match status {
        402 => Some(LimitScope::Credits.into()),
        429 => Some(LimitScope::Minute.into()),
        _ => None,
    }
}

fn by_phrase(message: &SearchText) -> Option<LimitScope> {
    let is_said = |phrase: &&str| match phrase.strip_prefix('^') {
        Some(phrase) => message.begins_a_sentence_with(phrase),
        None => message.contains(phrase),
    };
    PHRASES.iter().find(|(_, phrases)| phrases.iter().any(is_said)).map(|it| it.0)
}

/// Returns the scope of a window. Claude uses these names in its events and in headers of its API.
pub(super) fn of_claude_window(name: &str) -> LimitScope {
    match name {
        "five_hour" => LimitScope::FiveHour,
        "seven_day" => LimitScope::Week,
        // Names such as `seven_day_opus`.
        _ if name.starts_with("seven_day_") => LimitScope::Model,
        "overage" => LimitScope::Credits,
        _ => LimitScope::Unknown,
    }
}

/// Returns the scope of the window that is used up, from headers of Anthropic's API for plans.
fn of_anthropic_claim(message: &SearchText) -> Option<LimitScope> {
    let status = fields::value(message, "anthropic-ratelimit-unified-status")?;
    let claim = fields::value(message, "anthropic-ratelimit-unified-representative-claim")?;
    let end = claim.find(|c: char| !c.is_ascii_lowercase() && c != '_').unwrap_or(claim.len());
    status.starts_with("rejected").then(|| of_claude_window(claim.get(..end).unwrap_or(claim)))
}

/// Recognises a limit of Google. It names the quota in the details (`GenerateRequestsPerDayPerProjectPerModel`), or
/// the metric and the limit in the message.
fn of_google(message: &SearchText) -> Option<Found> {
    if message.contains("exhausted your capacity on this model") {
        return Some(Found { may_be_short: true, ..LimitScope::Model.into() });
    }
    const SERVICES: [&str; 3] = [
        "generativelanguage.googleapis.com",
        "cloudcode-pa.googleapis.com",
        "aiplatform.googleapis.com",
    ];
    let is_quota = message.contains("quota exceeded for") || message.contains("quotaid:");
    let is_model_service = message.contains("quotaid:generate")
        || SERVICES.iter().any(|service| message.contains(service));
    if !is_quota || !is_model_service {
        return None;
    }
    if message.contains("perday") {
        let scope = if message.contains("permodel") { LimitScope::Model } else { LimitScope::Day };
        // According to the documentation, quotas per day reset at midnight Pacific time. A short delay in the same
        // message is that of a quota per minute.
        let midnight = ResetTime::Wall(WallTime {
            day: Day::Next,
            time: civil::Time::midnight(),
            zone: Some("America/Los_Angeles".into()),
        });
        return Some(Found { usual_reset: Some(midnight), ..scope.into() });
    }
    Some(match () {
        () if message.contains("per day") => LimitScope::Day.into(),
        () if message.contains("perminute") || message.contains("per minute") => {
            LimitScope::Minute.into()
        }
        () => LimitScope::Unknown.into(),
    })
}

/// Recognises a limit of OpenAI or of a service that copies its API. They name the unit: `tokens per min (TPM)`,
/// `requests per day (RPD)`.
fn of_openai(message: &SearchText) -> Option<LimitScope> {
    let is_rate = message.begins_a_sentence_with("rate limit reached for ")
        || message.contains("429 rate limit reached for ")
        || message.begins_a_sentence_with("request too large for ");
    let [by_day, by_minute] = [["(rpd)", "(tpd)"], ["(rpm)", "(tpm)"]]
        .map(|units| units.iter().any(|unit| message.contains(unit)));
    match (is_rate, by_day, by_minute || message.contains(" per min")) {
        (true, true, _) => Some(LimitScope::Day),
        (true, false, true) => Some(LimitScope::Minute),
        _ => None,
    }
}

/// Recognises a limit in headers that Codex receives, as other programs report them. There are two windows, each with
/// its length and the used share.
fn of_codex_windows(message: &SearchText) -> Option<LimitScope> {
    if !message.contains("type:usage_limit_reached") {
        return None;
    }
    ["x-codex-secondary", "x-codex-primary"].iter().find_map(|window| {
        let used = fields::number(message, &format!("{window}-used-percent"))?;
        let minutes = fields::number(message, &format!("{window}-window-minutes"))?;
        (used >= 100.0).then_some(())?;
        match minutes {
            300.0 => Some(LimitScope::FiveHour),
            10_080.0 => Some(LimitScope::Week),
            _ => None,
        }
    })
}
