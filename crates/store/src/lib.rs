//! Where sessions are kept: SQLite by default, PostgreSQL for many machines, memory for tests and
//! embedding. One [`SessionStore`] for all of them, with the same promises:
//!
//! - an append is whole or not there, and on disk when it returns;
//! - it ends as stored, not stored or unknown, and trying again with the same ids is harmless;
//! - the exact bytes of every entry are kept and hashed into a chain, so a changed byte is found;
//! - a redaction hides its target from every reader and takes its bytes off the disk.
//!
//! ```
//! use tertulia_session::{EntryKind, Message, NewEntry, Speaker, SpeakerType};
//! use tertulia_store::{Append, NewSession, SearchQuery, SessionStore};
//!
//! let store = SessionStore::memory();
//! let session = store.create(&NewSession::default())?.id;
//! let ann = Speaker::new("ann", "Ann", SpeakerType::Human);
//! let message = Message::said(ann, "The import waits for the ledger lock.");
//! let entry = NewEntry::new(EntryKind::Message(message)).with_content_id();
//! store.append(&session, Append::new([entry.clone()]))?;
//!
//! let query = SearchQuery { text: "ledger".to_owned(), ..SearchQuery::default() };
//! let found = store.search(&query)?;
//! assert_eq!(found.hits[0].entry_id, entry.id);
//! assert!(store.verify(&session)?.damage.is_none());
//! # Ok::<(), tertulia_store::StoreError>(())
//! ```
//!
//! [`SessionStore::follow`] tells of what others append, [`Import`] takes in a session whole, and
//! [`SessionStore::hold`] keeps one for oneself. Features: `sqlite` (on by default) stores in a file and makes
//! backups; `postgres` stores on a server.

#![cfg_attr(
    not(feature = "sqlite"),
    expect(dead_code, reason = "some of what all databases share is used by SQLite alone")
)]
#![cfg_attr(
    not(any(feature = "sqlite", feature = "postgres")),
    expect(unused_imports, reason = "the memory has no index of words")
)]
#![expect(
    clippy::disallowed_methods,
    reason = "a room that does IO: files and the clock are its business"
)]

mod backend;
mod clock;
#[cfg(feature = "sqlite")]
mod copy;
mod entries;
mod error;
mod hold;
mod import;
mod memory;
mod model;
mod new_file;
mod plan;
#[cfg(feature = "postgres")]
mod postgres;
mod redacting;
mod row;
mod salting;
mod search;
mod session_id;
#[cfg(any(feature = "sqlite", feature = "postgres"))]
mod signal;
#[cfg(feature = "sqlite")]
mod sqlite;
mod store;
mod title;
mod url;
mod verify;

pub use clock::now_millis;
pub use entries::{Entries, Follow, Outline, OutlineEntry};
pub(crate) use error::Result;
pub use error::{Outcome, Problem, StoreError};
pub use hold::Hold;
pub use import::{Import, LeftBehind};
pub use model::{
    Append, Appended, Damage, Hit, ListFilter, Matching, NewRecord, NewSession, ProjectScope,
    Range, SearchQuery, SearchResult, Seq, SessionInfo, Snippet, StoredEntry, TermMatch,
    TokenCount, Verified,
};
pub use new_file::{NewFile, NewFileError, Readers};
pub use redacting::{EntryPlace, OldCopies, Redacted, Remains, has_sources, sources_meta};
pub use salting::fresh_salt;
pub use session_id::{InvalidSessionId, SessionId};
pub use store::SessionStore;
pub use title::InvalidTitle;
pub use url::{InvalidStoreUrl, StoreUrl};
