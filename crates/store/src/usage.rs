//! The usage entries of all sessions, for sums of costs. They are found by an index, so that no other entry is read.

use std::collections::HashSet;

use tertulia_session::{EntryKind, Timestamp};

use crate::backend::UsageRow;
use crate::model::{StoredUsage, UsageEntries};
use crate::{Result, SessionStore};

impl SessionStore {
    /// Returns the usage entries of all sessions since a time, oldest first. A fork of a session contains the same
    /// entries as the original; they are returned once, for the session that was created first.
    pub fn usage(&self, since: Option<&Timestamp>) -> Result<UsageEntries> {
        let since = since.map_or(i64::MIN, Timestamp::millis);
        let (mut found, mut known) = (UsageEntries::default(), HashSet::new());
        self.backend.usage(since, &mut |UsageRow { session, project, row }| {
            if !known.insert(row.record.hash) {
                return;
            }
            let time = Timestamp::from_millis(row.time());
            match row.decode().map(|stored| stored.entry) {
                Ok(entry) => {
                    if let EntryKind::Usage(usage) = entry.kind {
                        let entry_id = entry.id;
                        found.entries.push(StoredUsage { session, project, entry_id, time, usage });
                    }
                }
                Err(_) => drop(found.damaged.insert(session)),
            }
        })?;
        Ok(found)
    }
}
