//! Redacts the secrets in a session that was imported before somebody asked for it. A stored entry cannot be rewritten, so
//! the whole entry is redacted.

use std::collections::HashSet;

use tertulia_dialect::native::NativeOrigin;
use tertulia_session::record::EntryRecord;
use tertulia_session::{Entry, EntryId, EntryKind};
use tertulia_store::{EntryLocation, Range, SessionId, SessionStore, StoreError};

use super::redact_secrets;
const REASON: &str = "it held a secret (--redact-secrets)";

/// Secrets in stored entries.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct StoredSecrets {
    pub secrets: u64,
    /// The entries that held them. Everything that these entries said is redacted.
    pub entries: u64,
}

/// Redacts every entry of a session that holds a secret. A dry run only counts.
pub(super) fn redact_stored(
    store: &SessionStore,
    id: &SessionId,
    is_dry_run: bool,
) -> Result<StoredSecrets, StoreError> {
    let mut found = StoredSecrets::default();
    let mut records: HashSet<EntryId> = HashSet::new();
    let mut targets = Vec::new();
    for stored in store.entries(id, &Range::All)? {
        let entry = stored?.entry;
        // The entries of one record are redacted together.
        let first = entry.id.as_str().rsplit_once('#').map(|(first, _)| EntryId::from(first));
        if first.is_some_and(|first| records.contains(&first)) {
            continue;
        }
        let secrets = secrets_in(&entry);
        if secrets > 0 {
            found.secrets += secrets;
            records.insert(entry.id.clone());
            targets.push(EntryLocation { session: id.clone(), entry: entry.id });
        }
    }
    found.entries = targets.len() as u64;
    if !is_dry_run && !targets.is_empty() {
        found.entries = store.redact_all(&targets, Some(REASON))?.purged.len() as u64;
    }
    Ok(found)
}

/// Returns the number of secrets in the record that an entry keeps, or else in the entry itself.
fn secrets_in(entry: &Entry) -> u64 {
    let mut secrets = 0;
    match (&entry.kind, NativeOrigin::of(entry)) {
        (EntryKind::SessionHeader(_) | EntryKind::NativeSession(_) | EntryKind::Purged(_), _) => {}
        (_, Some(origin)) => drop(redact_secrets(&origin.bytes, &mut secrets)),
        (_, None) => {
            drop(redact_secrets(EntryRecord::new(entry).to_json().as_bytes(), &mut secrets))
        }
    }
    secrets
}
