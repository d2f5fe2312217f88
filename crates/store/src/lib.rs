//! Stores sessions: in SQLite by default, in PostgreSQL for several machines, in memory for tests and embedding.
//! [`SessionStore`] is the common API, with the same guarantees for all of them:
//!
//! - an append is atomic, and durable when it returns;
//! - a failed append reports whether it was not stored or may have been stored, and a retry with the same ids is
//!   harmless;
//! - the exact bytes of every entry are kept and hashed into a chain, so that every change is detected;
//! - a redaction hides its target from every reader and erases its bytes from disk.
//!
//! ```
//! use tertulia_session::{EntryKind, Message, NewEntry, Speaker, SpeakerType};
//! use tertulia_store::{Append, NewSession, SearchQuery, SessionStore};
//!
//! let store = SessionStore::memory();
//! let session = store.create(&NewSession::default())?.id;
//! let ann = Speaker::new("ann", "Ann", SpeakerType::Human);
//! let message = Message::said(ann, "The import waits for the account lock.");
//! let entry = NewEntry::new(EntryKind::Message(message)).with_content_id();
//! store.append(&session, Append::new([entry.clone()]))?;
//!
//! let query = SearchQuery { text: "account".to_owned(), ..SearchQuery::default() };
//! let found = store.search(&query)?;
//! assert_eq!(found.hits[0].entry_id, entry.id);
//! assert!(store.verify(&session)?.damage.is_none());
//! # Ok::<(), tertulia_store::StoreError>(())
//! ```
//!
//! [`SessionStore::follow`] returns new entries as others append them, [`Import`] adds a complete session, and
//! [`SessionStore::lock_session`] locks a session for one program.
//!
//! Features: `sqlite` (default) stores sessions in a file and makes backups; `postgres` stores them
//! on a server.

#![cfg_attr(
    not(feature = "sqlite"),
    expect(dead_code, reason = "some of the shared code is used by SQLite alone")
)]
#![cfg_attr(
    not(any(feature = "sqlite", feature = "postgres")),
    expect(unused_imports, reason = "the memory store has no search index of its own")
)]
#![expect(clippy::disallowed_methods, reason = "this crate does IO: it needs files and the clock")]

mod backend;
#[cfg(feature = "sqlite")]
mod backup;
mod clock;
mod entries;
mod error;
mod import;
#[cfg_attr(
    not(feature = "postgres"),
    expect(dead_code, reason = "only PostgreSQL stores have leases")
)]
mod lease;
mod lock;
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
mod usage;
mod verify;

pub use clock::now_millis;
pub use entries::{Entries, Follow, Outline, OutlineEntry};
pub(crate) use error::Result;
pub use error::{Outcome, Problem, StoreError};
pub use import::{Import, LeftBehind};
pub use lease::{Fence, Holder};
pub use lock::SessionLock;
pub use model::{
    Append, Appended, Damage, Hit, ListFilter, Matching, NewRecord, NewSession, ProjectScope,
    Range, SearchQuery, SearchResult, Seq, SessionInfo, Snippet, StoredEntry, StoredUsage,
    TermMatch, TokenCount, UsageEntries, Verified,
};
pub use new_file::{NewFile, NewFileError, Readers};
pub use redacting::{EntryLocation, OldCopies, Redacted, Remains, has_sources, sources_meta};
pub use salting::fresh_salt;
pub use session_id::{InvalidSessionId, SessionId};
pub use store::SessionStore;
pub use title::InvalidTitle;
pub use url::{InvalidStoreUrl, StoreUrl};
