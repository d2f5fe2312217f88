//! Usage limits. Recognises from the message of a failed turn that the plan, the quota or the credits of an agent or
//! API are used up, and when they reset. The code that creates a [`super::TurnError`] calls it. It depends on
//! messages and field names, not on any agent's stream.
//!
//! Pure. The texts of vendors are matched by phrases, because most agents report limits as text. Structured data
//! inside a text (JSON, HTTP headers) is found by the names of its fields, even if it is quoted several times. An
//! unknown text is not a limit.

mod fields;
mod moment;
mod reset;
mod resolve;
mod scope;
mod search_text;

use std::time::Duration;

use jiff::civil;
use tertulia_session::Timestamp;

use search_text::SearchText;

tertulia_session::word_enum! {
    /// The scope of a usage limit.
    #[non_exhaustive]
    pub enum LimitScope: "the scope of a usage limit, such as five_hour or week" {
        /// Too many requests or tokens in a short time. A later retry of the same agent solves this, so another agent
        /// is not needed.
        Minute = "minute",
        /// The allowance of a session of about five hours.
        FiveHour = "five_hour",
        Day = "day",
        Week = "week",
        Month = "month",
        /// The allowance of one model, for any time. Other models of the same plan may still work.
        Model = "model",
        /// A limit of spending or usage that was set for a workspace, project or organization.
        Workspace = "workspace",
        /// The credits are used up, or the plan includes none. Waiting does not help.
        Credits = "credits",
        /// The message does not name the limit.
        Unknown = "unknown",
    }
}

/// A limit that an agent or API reported.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct UsageLimit {
    pub scope: LimitScope,
    /// `None` if the message does not say when the limit resets.
    pub resets: Option<ResetTime>,
}

/// The time of a reset as it was reported, which does not depend on a clock. [`resolve`](Self::resolve) turns it into
/// a point in time.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ResetTime {
    At(Timestamp),
    /// The time from the report to the reset.
    After(Duration),
    Wall(WallTime),
}

/// A time of day, as a clock shows it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct WallTime {
    pub day: Day,
    pub time: civil::Time,
    /// Name of the time zone, such as `Europe/Berlin`; `None` for the local zone.
    pub zone: Option<Box<str>>,
}

/// The day of a [`WallTime`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Day {
    /// Today, or tomorrow if the time has passed.
    Next,
    Tomorrow,
    /// The next day with this name, today included if the time has not passed.
    Weekday(civil::Weekday),
    /// The next such day in a year.
    MonthDay {
        month: i8,
        day: i8,
    },
    Date(civil::Date),
}

/// Maximum time until the reset of a short rate limit. A limit that resets within this time is one, even if the
/// message calls it something else.
const SHORT_WAIT_MAX: Duration = Duration::from_secs(5 * 60);

impl UsageLimit {
    /// Recognises a limit in the message of a failed turn. The message may be JSON or contain JSON. Only its first 8
    /// KiB are searched.
    pub fn from_message(message: &str) -> Option<Self> {
        Self::from_response(None, message)
    }

    /// Recognises a limit in the response of an API: its headers, as `name: value` lines, and its
    /// body. If the text is unknown, the HTTP status decides.
    pub fn from_response(status: Option<u64>, response: &str) -> Option<Self> {
        let message = SearchText::new(super::error_class::beginning(response));
        let found = scope::find(&message).or_else(|| scope::of_status(status?))?;
        let reported = reset::find(&message, found.scope);
        let wait = match &reported {
            Some(ResetTime::After(wait)) => Some(*wait),
            _ => None,
        };
        let is_short = wait.is_some_and(|wait| wait <= SHORT_WAIT_MAX);
        let scope = match found.scope {
            _ if found.may_be_short && is_short => LimitScope::Minute,
            LimitScope::Minute if wait.is_some() && !is_short => LimitScope::Unknown,
            scope => scope,
        };
        let resets = match found.usual_reset {
            Some(usual) if reported.is_none() || is_short => Some(usual),
            _ => reported,
        };
        Some(Self { scope, resets })
    }

    /// Returns whether an HTTP header of this name, in lower case, says something about a limit.
    pub fn is_header(name: &str) -> bool {
        matches!(name, "retry-after" | "retry-after-ms")
            || ["x-ratelimit-", "anthropic-ratelimit-"].iter().any(|start| name.starts_with(start))
    }

    /// Returns the limit of Claude's `rate_limit_event`, by its `rateLimitType` and its `resetsAt`
    /// in seconds since 1970.
    pub(super) fn from_claude(kind: Option<&str>, resets_at: Option<u64>) -> Self {
        let scope = kind.map_or(LimitScope::Unknown, scope::of_claude_window);
        Self { scope, resets: resets_at.and_then(fields::since_1970) }
    }
}
