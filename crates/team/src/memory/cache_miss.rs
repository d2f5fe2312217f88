//! Why a provider did not find the earlier part of a conversation in its cache.

use std::time::Duration;

use tertulia_session::{CacheMiss, FreshStart};

/// What is known about a turn of a member that has had a turn before.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Answered<'a> {
    pub(crate) input_tokens: u64,
    pub(crate) cached_tokens: Option<u64>,
    /// The models of this turn and of the one before.
    pub(crate) models: [Option<&'a str>; 2],
    /// Time since the answer before; `None` if it is not known.
    pub(crate) pause: Option<Duration>,
    /// Whether the agent continued its own session.
    pub(crate) continues: bool,
    /// Why the agent began a new session.
    pub(crate) fresh_start: Option<&'a FreshStart>,
}

/// Returns the cause; `None` if the cache contained at least half of the input, or if that is not known.
pub(crate) fn cache_miss(turn: &Answered<'_>) -> Option<CacheMiss> {
    let cached = turn.cached_tokens?;
    if turn.input_tokens == 0 || cached.saturating_mul(2) >= turn.input_tokens {
        return None;
    }
    let [now, before] = turn.models;
    let is_other_model = now.zip(before).is_some_and(|(now, before)| now != before);
    Some(match turn.fresh_start {
        _ if is_other_model => CacheMiss::Model,
        Some(FreshStart::SettingsChanged { what }) => settings(what),
        Some(FreshStart::Drifted { class, .. }) if **class == *"compacted" => {
            CacheMiss::VendorCompaction
        }
        Some(_) => CacheMiss::History,
        None if !turn.continues => CacheMiss::History,
        None if turn.pause.is_some_and(|pause| pause > lifetime(now)) => CacheMiss::Expiry,
        None => CacheMiss::Unknown,
    })
}

/// Returns the cause for changed settings. The model comes first, because each model has its own cache; then what
/// precedes the conversation, in the order of a request.
fn settings(changed: &str) -> CacheMiss {
    let has = |names: &[&str]| changed.split(", ").any(|name| names.contains(&name));
    if has(&["agent", "model"]) {
        CacheMiss::Model
    } else if has(&["program", "arguments", "variables", "permissions"]) {
        CacheMiss::Tools
    } else {
        CacheMiss::System
    }
}

/// Returns how long the provider of a model keeps its cache after the last use, as far as it promises that.
fn lifetime(model: Option<&str>) -> Duration {
    const MINUTE: u64 = 60;
    let model = model.unwrap_or_default();
    Duration::from_secs(match model {
        _ if model.contains("gpt") || model.contains("codex") => 10 * MINUTE,
        _ if model.contains("gemini") => 60 * MINUTE,
        _ => 5 * MINUTE,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    const TURN: Answered<'_> = Answered {
        input_tokens: 1_000,
        cached_tokens: Some(10),
        models: [Some("claude-1"), Some("claude-1")],
        pause: Some(Duration::from_secs(10)),
        continues: true,
        fresh_start: None,
    };

    #[test]
    fn every_miss_has_its_cause() {
        let long = Some(Duration::from_secs(301));
        let table = [
            (Answered { cached_tokens: Some(500), ..TURN }, None),
            (Answered { cached_tokens: None, ..TURN }, None),
            (Answered { input_tokens: 0, cached_tokens: Some(0), ..TURN }, None),
            (TURN, Some(CacheMiss::Unknown)),
            (Answered { pause: None, ..TURN }, Some(CacheMiss::Unknown)),
            (Answered { pause: long, ..TURN }, Some(CacheMiss::Expiry)),
            (
                Answered { pause: long, models: [Some("gpt-6"), Some("gpt-6")], ..TURN },
                Some(CacheMiss::Unknown),
            ),
            (
                Answered { models: [Some("claude-2"), Some("claude-1")], ..TURN },
                Some(CacheMiss::Model),
            ),
            (Answered { models: [Some("claude-2"), None], ..TURN }, Some(CacheMiss::Unknown)),
            (Answered { continues: false, ..TURN }, Some(CacheMiss::History)),
        ];
        for (turn, expected) in table {
            assert_eq!(cache_miss(&turn), expected, "{turn:?}");
        }
    }

    #[test]
    fn the_reason_of_a_new_session_is_the_cause() {
        let drift = |class: &str| FreshStart::Drifted { class: class.into(), message: "x".into() };
        let changed = |what: &str| FreshStart::SettingsChanged { what: what.into() };
        let table = [
            (FreshStart::Redacted { entry: "e".into() }, CacheMiss::History),
            (drift("edited"), CacheMiss::History),
            (drift("compacted"), CacheMiss::VendorCompaction),
            (changed("instructions"), CacheMiss::System),
            (changed("folder, instructions"), CacheMiss::System),
            (changed("instructions, permissions"), CacheMiss::Tools),
            (changed("instructions, model"), CacheMiss::Model),
        ];
        for (reason, expected) in &table {
            let turn = Answered { continues: false, fresh_start: Some(reason), ..TURN };
            assert_eq!(cache_miss(&turn), Some(*expected), "{turn:?}");
        }
    }
}
