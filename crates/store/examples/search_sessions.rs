//! Stores two sessions in a file and finds them again by a search.
//!
//! Run it with `cargo run -p tertulia-store --example search_sessions`. It writes to a new folder for temporary
//! files and removes it at the end. A store must be in a folder that only its user can write to.

#![allow(clippy::print_stdout, reason = "an example shows what it does")]

use std::error::Error;
use std::os::unix::fs::DirBuilderExt;
use std::path::Path;

use tertulia_session::{EntryKind, Message, NewEntry, Speaker, SpeakerType};
use tertulia_store::{Append, NewSession, SearchQuery, SessionId, SessionStore, StoreUrl};

fn main() -> Result<(), Box<dyn Error>> {
    let folder = std::env::temp_dir().join(format!("tertulia-example-{}", std::process::id()));
    std::fs::DirBuilder::new().mode(0o700).create(&folder)?;
    for line in run(&folder.join("sessions.db"))? {
        println!("{line}");
    }
    std::fs::remove_dir_all(&folder)?;
    Ok(())
}

/// Stores two sessions in this file, searches them, and returns a line for every hit.
pub(crate) fn run(file: &Path) -> Result<Vec<String>, Box<dyn Error>> {
    let store = SessionStore::open(&StoreUrl::Sqlite(file.to_owned()))?;
    let import = session(&store, &["The import waits for a lock.", "Let us add a timeout to it."])?;
    let login = session(&store, &["The login form shows which accounts are locked."])?;

    // Words match in all their forms: "waiting" finds "waits". The best hit comes first.
    let query = SearchQuery { text: "waiting for locks".to_owned(), ..SearchQuery::default() };
    let mut lines = Vec::new();
    for hit in store.search(&query)?.hits {
        let entry = store.entry(&hit.session, &hit.entry_id)?;
        let name = if hit.session == import { "import" } else { "login" };
        if let EntryKind::Message(message) = &entry.entry.kind {
            lines.push(format!("{name}, entry {}: {}", hit.seq, message.text()));
        }
    }

    // Every entry is part of a chain of hashes, so `verify` detects any byte that changed on disk.
    assert!(store.verify(&import)?.damage.is_none());
    for id in [import, login] {
        store.delete(&id)?;
    }
    Ok(lines)
}

/// Creates a session in which Ann says these texts.
fn session(store: &SessionStore, texts: &[&str]) -> Result<SessionId, Box<dyn Error>> {
    let id = store.create(&NewSession::default())?.id;
    let ann = Speaker::new("ann", "Ann", SpeakerType::Human);
    for text in texts {
        let message = EntryKind::Message(Message::said(ann.clone(), *text));
        // When this returns, the entry is on disk. Its id is computed from its content, so a retry does not store it
        // twice.
        store.append(&id, Append::new([NewEntry::new(message).with_content_id()]))?;
    }
    Ok(id)
}
