//! A backup as a file: a store with a manifest, which says which sessions the backup has and how each one
//! ends, so a file that lost some of them, or that was written to since, is told from a whole one. Reading a
//! backup changes nothing, neither in it nor beside it.

use std::fs::{DirBuilder, File, OpenOptions};
use std::io;
use std::os::unix::fs::{DirBuilderExt, OpenOptionsExt};
use std::path::{Path, PathBuf};

use rusqlite::{Connection, OpenFlags, OptionalExtension, params};
use tertulia_session::{ChainLink, RecordHash};

use super::SqliteStore;
use super::connection::{self, Purpose, cannot_open, not_a_store};
use super::read;
use super::schema::{self, Found, MANIFEST};
use super::sweep::{self, StepSize};
use crate::clock::chance;
use crate::model::{ProjectScope, Seq};
use crate::verify::Sealed;
use crate::{Result, SessionId, StoreError};

const VERSION: i64 = 1;

pub(crate) struct Backup {
    pub(crate) store: SqliteStore,
    pub(crate) manifest: Vec<Sealed>,
    /// Where a backup of an earlier version was copied to, to be brought to this one. It must outlive the store.
    pub(crate) copy: Option<TemporaryFolder>,
}

/// Makes a backup of a copy that nobody else sees yet: deletes what no reader of the store sees, and
/// writes the manifest.
pub(crate) fn seal(path: &Path) -> Result<()> {
    write_manifest(path).map_err(|error| cannot_open(path, &error))
}

fn write_manifest(path: &Path) -> rusqlite::Result<()> {
    let flags = OpenFlags::SQLITE_OPEN_NO_MUTEX | OpenFlags::SQLITE_OPEN_READ_WRITE;
    let connection = Connection::open_with_flags(path, flags)?;
    // One file and nothing beside it. What a crash leaves of it has only its temporary name.
    connection::run_pragma(&connection, "PRAGMA journal_mode = DELETE")?;
    connection::run_pragma(&connection, "PRAGMA journal_mode = MEMORY")?;
    connection.execute_batch("PRAGMA secure_delete = ON; BEGIN IMMEDIATE;")?;
    for key in sweep::hidden_keys(&connection)? {
        while sweep::delete_some(&connection, key, StepSize::USUAL)? {}
        sweep::forget(&connection, key)?;
    }
    let sql = "DROP TABLE IF EXISTS backup; DROP TABLE IF EXISTS backup_session";
    connection.execute_batch(sql)?;
    MANIFEST.iter().try_for_each(|sql| connection.execute_batch(sql))?;
    let mut sealed: Vec<Sealed> = read::heads(&connection, &ProjectScope::All)?
        .into_iter()
        .map(|(head, _)| Sealed { id: head.id, entries: head.seq, head: head.link })
        .collect();
    sealed.sort_by(|one, other| one.id.cmp(&other.id));
    let insert = "INSERT INTO backup_session (id, entries, head) VALUES (?1, ?2, ?3)";
    let mut statement = connection.prepare(insert)?;
    for one in &sealed {
        let head = one.head.as_bytes();
        statement.execute(params![one.id.as_str(), one.entries.cast_signed(), head])?;
    }
    drop(statement);
    let insert = "INSERT INTO backup (version, sessions, entries, digest) VALUES (?1, ?2, ?3, ?4)";
    let entries: Seq = sealed.iter().map(|one| one.entries).sum();
    let count = i64::try_from(sealed.len()).unwrap_or(i64::MAX);
    let digest = digest(&sealed);
    let values = params![VERSION, count, entries.cast_signed(), digest.as_bytes()];
    connection.execute(insert, values)?;
    connection.execute_batch("COMMIT")?;
    connection.close().map_err(|(_, error)| error)
}

/// A hash of all that the manifest says of sessions, in the order of their ids.
fn digest(sealed: &[Sealed]) -> RecordHash {
    let lines = sealed.iter().map(|one| format!("{} {} {}\n", one.id, one.entries, one.head));
    RecordHash::of_bytes(lines.collect::<String>().as_bytes())
}

/// Opens a backup for reading; refuses everything that is no whole backup by what it says of itself.
/// Whether its sessions are what the manifest says, the caller checks.
pub(crate) fn open(path: &Path) -> Result<Backup> {
    let path =
        path.canonicalize().map_err(|error| StoreError::bad_place(path, error.to_string()))?;
    if !connection::is_settled(&path) {
        let reason = "has a journal beside it: a program has it open, or was interrupted while it wrote \
                      to it; run `tertulia sessions verify --store sqlite:FILE` on it, then try again";
        return Err(StoreError::bad_place(&path, reason));
    }
    let probe = connection::open_frozen(&path)?;
    match schema::look(&probe, &path)? {
        Found::Current => open_current(&path, &path, None),
        Found::Earlier(version) => {
            schema::check(&probe, &path, version)?;
            drop(probe);
            let (folder, copy) = upgraded(&path)?;
            open_current(&copy, &path, Some(folder))
        }
        Found::Empty => {
            let reason = "is no backup: it is empty, or was cut short; name a file that \
                          `tertulia sessions backup` made";
            Err(StoreError::bad_place(&path, reason))
        }
    }
}

/// Opens a backup of this version. `shown` is its name for people, where `path` is that of a copy.
fn open_current(path: &Path, shown: &Path, copy: Option<TemporaryFolder>) -> Result<Backup> {
    let store = SqliteStore::open_frozen(path)?;
    let (about, manifest) = store.ask(read_manifest)?;
    let Some((version, count, entries, kept)) = about else {
        let reason = "has no manifest, so it may be a store or an old backup, and nothing says whether \
                      it is whole; run `tertulia sessions backup NEW --store sqlite:FILE` with it as \
                      FILE, and restore NEW";
        return Err(StoreError::bad_place(shown, reason));
    };
    if version != VERSION {
        let reason = format!("has a manifest of version {version}; use a later tertulia");
        return Err(StoreError::bad_place(shown, reason));
    }
    let sum: Seq = manifest.iter().map(|one| one.entries).sum();
    let is_whole = i64::try_from(manifest.len()) == Ok(count)
        && sum.cast_signed() == entries
        && digest(&manifest).as_bytes().as_slice() == kept;
    if !is_whole {
        let reason = "its manifest is not the one that was written".to_owned();
        return Err(not_a_store(shown, reason));
    }
    Ok(Backup { store, manifest, copy })
}

type Manifest = (Option<(i64, i64, i64, Vec<u8>)>, Vec<Sealed>);

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
        let head = ChainLink::from_bytes(read::bytes(row, 2)?);
        let entries = row.get::<_, i64>(1)?.unsigned_abs();
        let id = row.get::<_, String>(0)?.parse::<SessionId>().ok();
        Ok(id.map(|id| Sealed { id, entries, head }))
    })?;
    let sessions: Vec<Sealed> = sessions.filter_map(Result::transpose).collect::<Result<_, _>>()?;
    Ok((row, sessions))
}

/// A copy of a backup of an earlier version, brought to this one. The backup stays as it is.
fn upgraded(path: &Path) -> Result<(TemporaryFolder, PathBuf)> {
    let failed =
        |error: io::Error| StoreError::bad_place(path, format!("cannot be copied: {error}"));
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
        let name = format!("tertulia-restore-{:016x}", chance());
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
