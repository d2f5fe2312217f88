//! The flags of a suggested command: those that lead to the same team and the same store.

use crate::args::{StoreArg, TeamFileArg};

/// The flags for the same team and store. Environment variables stay set, and the address of a server may hold a
/// password, so neither is repeated.
pub(crate) fn same_place(team: &TeamFileArg, store: &StoreArg) -> String {
    let mut flags = String::new();
    if let Some(team) = &team.team {
        flags.push_str(&format!(" --team {}", as_word(&team.display().to_string())));
    }
    flags + &same_store(store)
}

/// The flags that select the same team and store, for an error that is printed later.
#[derive(Debug, Default)]
pub(crate) struct SamePlace {
    pub(crate) team_and_store: String,
    pub(crate) store: String,
}

impl SamePlace {
    /// What was typed. Not every command takes a team.
    pub(crate) fn of(team: Option<&TeamFileArg>, store: &StoreArg) -> Self {
        let store_alone = same_store(store);
        let both = team.map(|team| same_place(team, store));
        Self { team_and_store: both.unwrap_or_else(|| store_alone.clone()), store: store_alone }
    }
}

pub(crate) fn same_store(store: &StoreArg) -> String {
    let is_set = |store: &str| std::env::var("TERTULIA_STORE").is_ok_and(|set| set == store);
    if let Some(store) = store.store.as_deref()
        && store.starts_with("sqlite:")
        && !is_set(store)
    {
        return format!(" --store {}", as_word(store));
    }
    String::new()
}

/// A word that a shell takes as one.
pub(crate) fn as_word(text: &str) -> String {
    let is_plain = |c: char| c.is_alphanumeric() || "-_./:=+,@%".contains(c);
    match !text.is_empty() && text.chars().all(is_plain) {
        true => text.to_owned(),
        false => format!("'{}'", text.replace('\'', r"'\''")),
    }
}
