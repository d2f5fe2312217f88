//! The flags of suggested commands, which select the same team and store.

use crate::args::{StoreArg, TeamFileArg};

/// Returns the flags for the same team and store. Environment variables stay set, and a server's address may contain a
/// password, so neither is repeated.
pub(crate) fn team_and_store_flags(team: &TeamFileArg, store: &StoreArg) -> String {
    let mut flags = String::new();
    if let Some(team) = &team.team {
        flags.push_str(&format!(" --team {}", as_word(&team.display().to_string())));
    }
    flags + &store_flag(store)
}

/// The flags that select the same team and store, for an error that is printed later.
#[derive(Debug, Default)]
pub(crate) struct SuggestedFlags {
    pub(crate) team_and_store: String,
    pub(crate) store: String,
}

impl SuggestedFlags {
    /// Reads the flags from the arguments. Not every command takes a team.
    pub(crate) fn new(team: Option<&TeamFileArg>, store: &StoreArg) -> Self {
        let store_alone = store_flag(store);
        let both = team.map(|team| team_and_store_flags(team, store));
        Self { team_and_store: both.unwrap_or_else(|| store_alone.clone()), store: store_alone }
    }
}

pub(crate) fn store_flag(store: &StoreArg) -> String {
    let is_set = |store: &str| std::env::var("TERTULIA_STORE").is_ok_and(|set| set == store);
    if let Some(store) = store.store.as_deref()
        && store.starts_with("sqlite:")
        && !is_set(store)
    {
        return format!(" --store {}", as_word(store));
    }
    String::new()
}

/// Quotes a word for a shell, if necessary.
pub(crate) fn as_word(text: &str) -> String {
    let is_plain = |c: char| c.is_alphanumeric() || "-_./:=+,@%".contains(c);
    match !text.is_empty() && text.chars().all(is_plain) {
        true => text.to_owned(),
        false => format!("'{}'", text.replace('\'', r"'\''")),
    }
}
