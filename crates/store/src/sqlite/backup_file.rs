//! The file format of backups: a store with a manifest that lists the sessions and the chain hash of each. If
//! sessions were lost from a file, or something was written to it later, the file does not match its manifest.
//! Reading a backup changes nothing, neither in the file nor next to it.

use std::fs::{DirBuilder, File, OpenOptions};
use std::io;
use std::os::unix::fs::{DirBuilderExt, OpenOptionsExt};
use std::path::{Path, PathBuf};

use rusqlite::{Connection, OpenFlags, OptionalExtension, params};
use tertulia_session::{ChainLink, RecordHash};

use super::SqliteStore;
use super::connection::{self, Purpose, cannot_open, not_a_store};
use super::hidden_sessions::{self, StepSize};
use super::read;
use super::schema::{self, Found, MANIFEST_TABLES};
use crate::clock::random_u64;
use crate::model::{ProjectScope, Seq};
use crate::verify::ManifestEntry;
use crate::{Result, SessionId, StoreError};

const VERSION: i64 = 1;

pub(crate) struct Backup {
    pub(crate) store: SqliteStore,
    pub(crate) manifest: Vec<ManifestEntry>,
    /// The folder with the migrated copy of a backup of an earlier version. It must outlive the store.
    pub(crate) copy: Option<TemporaryFolder>,
}

/// Turns a hidden copy into a backup: deletes hidden sessions and writes the manifest.
pub(crate) fn finish(path: &Path) -> Result<()> {
    write_manifest(path).map_err(|error| cannot_open(path, &error))
}

fn write_manifest(path: &Path) -> rusqlite::Result<()> {
    let flags = OpenFlags::SQLITE_OPEN_NO_MUTEX | OpenFlags::SQLITE_OPEN_READ_WRITE;
    let connection = Connection::open_with_flags(path, flags)?;
    // Without the write-ahead journal, the backup is a single file. A crash leaves only a file with a temporary
    // name.
    connection::run_pragma(&connection, "PRAGMA journal_mode = DELETE")?;
    connection::run_pragma(&connection, "PRAGMA journal_mode = MEMORY")?;
    connection.execute_batch("PRAGMA secure_delete = ON; BEGIN IMMEDIATE;")?;
    for key in hidden_sessions::hidden_keys(&connection)? {
        while hidden_sessions::delete_some(&connection, key, StepSize::USUAL)? {}
        hidden_sessions::forget(&connection, key)?;
    }
    let sql = "DROP TABLE IF EXISTS backup; DROP TABLE IF EXISTS backup_session";
    connection.execute_batch(sql)?;
    MANIFEST_TABLES.iter().try_for_each(|sql| connection.execute_batch(sql))?;
    let mut sessions: Vec<ManifestEntry> = read::statuses(&connection, &ProjectScope::All)?
        .into_iter()
        .map(|(status, _)| ManifestEntry {
            id: status.id,
            entries: status.seq,
            chain_hash: status.link,
        })
        .collect();
    sessions.sort_by(|one, other| one.id.cmp(&other.id));
    let insert = "INSERT INTO backup_session (id, entries, head) VALUES (?1, ?2, ?3)";
    let mut statement = connection.prepare(insert)?;
    for one in &sessions {
        let chain_hash = one.chain_hash.as_bytes();
        statement.execute(params![one.id.as_str(), one.entries.cast_signed(), chain_hash])?;
    }
    drop(statement);
    let insert = "INSERT INTO backup (version, sessions, entries, digest) VALUES (?1, ?2, ?3, ?4)";
    let entries: Seq = sessions.iter().map(|one| one.entries).sum();
    let count = i64::try_from(sessions.len()).unwrap_or(i64::MAX);
    let digest = digest(&sessions);
    let values = params![VERSION, count, entries.cast_signed(), digest.as_bytes()];
    connection.execute(insert, values)?;
    connection.execute_batch("COMMIT")?;
    connection.close().map_err(|(_, error)| error)
}

/// Returns a hash of the sessions in a manifest, in the order of their ids.
fn digest(sessions: &[ManifestEntry]) -> RecordHash {
    let lines =
        sessions.iter().map(|one| format!("{} {} {}\n", one.id, one.entries, one.chain_hash));
    RecordHash::new(lines.collect::<String>().as_bytes())
}

/// Opens a backup for reading, and refuses files that are obviously not complete backups. The caller must check the
/// sessions against the manifest.
pub(crate) fn open(path: &Path) -> Result<Backup> {
    let path =
        path.canonicalize().map_err(|error| StoreError::unusable_path(path, error.to_string()))?;
    if !connection::is_readable_without_journal(&path) {
        let reason = "has a journal next to it: a program has it open, or was interrupted while writing \
                          to it; run `tertulia sessions verify --store sqlite:FILE` on it, then try again";
        return Err(StoreError::unusable_path(&path, reason));
    }
    let probe = connection::open_immutable(&path)?;
    match schema::look(&probe, &path)? {
        Found::Current => open_current(&path, &path, None),
        Found::Earlier(version) => {
            schema::check(&probe, &path, version)?;
            drop(probe);
            let (folder, copy) = upgrade(&path)?;
            open_current(&copy, &path, Some(folder))
        }
        Found::Empty => {
            let reason = "is not a backup: it is empty, or was cut short; name a file that \
                          `tertulia sessions backup` made";
            Err(StoreError::unusable_path(&path, reason))
        }
    }
}

/// Opens a backup of this version. If `path` is a copy of the backup, `shown` is the path of the original for
/// messages.
fn open_current(path: &Path, shown: &Path, copy: Option<TemporaryFolder>) -> Result<Backup> {
    let store = SqliteStore::open_immutable(path)?;
    let (about, manifest) = store.query(read_manifest)?;
    let Some((version, count, entries, kept)) = about else {
        let reason = "has no manifest, so it may be an incomplete backup, or a store; run \
            `tertulia sessions backup NEW --store sqlite:FILE` with it as FILE, and restore NEW";
        return Err(StoreError::unusable_path(shown, reason));
    };
    if version != VERSION {
        let reason =
            format!("has a manifest of version {version}; use a newer version of Tertulia");
        return Err(StoreError::unusable_path(shown, reason));
    }
    let sum: Seq = manifest.iter().map(|one| one.entries).sum();
    let is_whole = i64::try_from(manifest.len()) == Ok(count)
        && sum.cast_signed() == entries
        && digest(&manifest).as_bytes().as_slice() == kept;
    if !is_whole {
        let reason = "its manifest was changed".to_owned();
        return Err(not_a_store(shown, reason));
    }
    Ok(Backup { store, manifest, copy })
}

type Manifest = (Option<(i64, i64, i64, Vec<u8>)>, Vec<ManifestEntry>);

fn read_manifest(connection: &Connection) -> rusqlite::Result<Manifest> {
    let has = "SELECT count(*) = 2 FROM sqlite_schema WHERE name IN ('backup', 'backup_session')";
    if !connection.query_row(has, [], |row| row.get::<_, bool>(0))? {
        return Ok((None, Vec::new()));
    }
    let sql = "SELECT version, sessions, entries, digest FROM backup";
    let row = connection
        .query_row(sql, [], |row| Ok((row.get(0)?, row.get(1)?, row.get(2)?, row.get(3)?)));
    let row = row.optional()?;
    let sql = "SELECT id, entries, head FROM backup_session ORDER BY id";
    let mut statement = connection.prepare(sql)?;
    let sessions = statement.query_map([], |row| {
        let chain_hash = ChainLink::from_bytes(read::bytes(row, 2)?);
        let entries = row.get::<_, i64>(1)?.unsigned_abs();
        let id = row.get::<_, String>(0)?.parse::<SessionId>().ok();
        Ok(id.map(|id| ManifestEntry { id, entries, chain_hash }))
    })?;
    let sessions: Vec<ManifestEntry> =
        sessions.filter_map(Result::transpose).collect::<Result<_, _>>()?;
    Ok((row, sessions))
}

/// Copies a backup of an earlier version and migrates the copy. The backup stays unchanged.
fn upgrade(path: &Path) -> Result<(TemporaryFolder, PathBuf)> {
    let failed =
        |error: io::Error| StoreError::unusable_path(path, format!("cannot be copied: {error}"));
    let folder = TemporaryFolder::new().map_err(failed)?;
    let copy = folder.0.join("backup.db");
    let mut from = File::open(path).map_err(failed)?;
    let to = OpenOptions::new().write(true).create_new(true).mode(0o600).open(&copy);
    io::copy(&mut from, &mut to.map_err(failed)?).map_err(failed)?;
    let mut connection = connection::open(&copy, Purpose::Writing)?;
    schema::migrate(&mut connection, &copy)?;
    Ok((folder, copy))
}

pub(crate) struct TemporaryFolder(PathBuf);

impl TemporaryFolder {
    fn new() -> io::Result<Self> {
        let name = format!("tertulia-restore-{:016x}", random_u64());
        let folder = std::env::temp_dir().canonicalize()?.join(name);
        DirBuilder::new().mode(0o700).create(&folder)?;
        Ok(Self(folder))
    }
}

impl Drop for TemporaryFolder {
    fn drop(&mut self) {
        let _ = std::fs::remove_dir_all(&self.0);
    }
}
