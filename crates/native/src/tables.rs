//! Reads the tables in which opencode and goose keep their sessions as records. Every row is one JSON object,
//! `{"table":"message","row":{"id":"msg_1",…}}`, with the columns as they are stored.

mod goose;

use std::collections::VecDeque;
use std::path::Path;

use rusqlite::types::ValueRef;
use rusqlite::{Connection, Row, ToSql};
use tertulia_dialect::native::NativeFormat;
use tertulia_session::Timestamp;
use tertulia_session::json::Json;

use crate::database::Database;
use crate::tree::is_unfinished_answer;
use crate::{Cause, FoundSession, NativeError, Place};

/// The first bytes of every SQLite database.
pub(crate) const MAGIC: &[u8] = b"SQLite format 3\0";

/// Columns that change although the conversation does not. They are left out, so that the record stays the same.
const VOLATILE: [&str; 4] = ["time_updated", "time_compacting", "cost", "updated_at"];
const VOLATILE_PREFIXES: [&str; 3] = ["tokens_", "summary_", "accumulated_"];
const VOLATILE_ENDING: &str = "_tokens";

/// The name that takes the place of a file name for usage of goose whose place between the messages is not known. These
/// rows have no ids, so their numbers must not change when messages are added.
const USAGE: &str = "usage";

/// The columns that must exist, by table.
type Needed = &'static [(&'static str, &'static [&'static str])];

const OPENCODE: Needed = &[
    ("session", &["id", "directory", "title", "parent_id", "time_created", "time_updated"]),
    ("message", &["id", "session_id", "time_created", "data"]),
    ("part", &["id", "message_id", "data"]),
];

const GOOSE: Needed = &[
    ("sessions", &["id", "working_dir", "created_at", "updated_at"]),
    ("messages", &["id", "session_id", "role", "content_json"]),
];

/// Determines which agent a database belongs to, and checks that it has the expected tables.
pub(crate) fn recognize(path: &Path, database: &Database) -> Result<NativeFormat, NativeError> {
    let about = |error: rusqlite::Error| NativeError::new(path, error);
    for (format, needed) in [(NativeFormat::Opencode, OPENCODE), (NativeFormat::Goose, GOOSE)] {
        let Some((first, _)) = needed.first() else { continue };
        if database.columns(first).map_err(about)?.is_empty() {
            continue;
        }
        for (table, columns) in needed {
            let found = database.columns(table).map_err(about)?;
            let missing = columns.iter().find(|name| !found.iter().any(|column| column == *name));
            if let Some(column) = missing {
                let reason = match found.is_empty() {
                    true => format!("it has no table {table}"),
                    false => format!("its table {table} has no column {column}"),
                };
                return Err(NativeError::new(path, Cause::ForeignSchema { format, reason }));
            }
        }
        return Ok(format);
    }
    Err(NativeError::new(path, Cause::ForeignDatabase))
}

/// Returns the sessions of a database, without those of sub-agents of other sessions.
pub(crate) fn sessions(
    path: &Path,
    database: &Database,
    format: NativeFormat,
) -> Result<Vec<FoundSession>, NativeError> {
    let about = |error: rusqlite::Error| NativeError::new(path, error);
    let title = match format {
        NativeFormat::Goose => {
            let columns = database.columns("sessions").map_err(about)?;
            let known = ["name", "description"].into_iter();
            known.filter(|name| columns.iter().any(|column| column == name)).collect::<Vec<_>>()
        }
        _ => vec!["title"],
    };
    let title = if title.is_empty() { "NULL".to_owned() } else { title.join(", ") };
    let title = if title.contains(',') { format!("coalesce({title})") } else { title };
    let columns = match format {
        NativeFormat::Goose => format!("id, working_dir, {title}, created_at, updated_at"),
        _ => format!("id, directory, {title}, time_created, time_updated"),
    };
    let mut query = format!("SELECT {columns} FROM {}", session_table(format));
    if let Some(parent) = parent_column(database, format).map_err(about)? {
        // A sub-agent whose session was deleted is a session of its own.
        let table = session_table(format);
        query =
            format!("{query} WHERE {parent} IS NULL OR {parent} NOT IN (SELECT id FROM {table})");
    }
    let read = |row: &Row<'_>| {
        let native_id = row.get::<_, String>(0)?;
        let place = Place::Rows { database: path.to_owned(), id: native_id.clone() };
        Ok(FoundSession {
            format,
            native_id,
            folder: row.get(1)?,
            title: row.get::<_, Option<String>>(2)?.filter(|title| !title.is_empty()),
            started: time(row.get_ref(3)?),
            updated: time(row.get_ref(4)?),
            size: None,
            side_files: Vec::new(),
            place,
        })
    };
    let mut statement = database.connection().prepare(&query).map_err(about)?;
    let found = statement.query_map([], read).map_err(about)?;
    found.collect::<rusqlite::Result<_>>().map_err(about)
}

/// Reads milliseconds, or a date and time as SQLite writes it, in UTC.
fn time(value: ValueRef<'_>) -> Option<Timestamp> {
    match value {
        ValueRef::Integer(millis) => Some(Timestamp::from_millis(millis)),
        ValueRef::Text(text) => {
            let text = std::str::from_utf8(text).ok()?.trim().replace(' ', "T");
            let has_offset = text.ends_with('Z') || text.get(10..)?.contains(['+', '-']);
            let text = if has_offset { text } else { text + "Z" };
            text.parse::<Timestamp>().ok()
        }
        _ => None,
    }
}

/// The records of one session of a database, in order.
#[derive(Debug)]
pub(crate) struct Rows {
    database: Database,
    format: NativeFormat,
    /// The sessions to read: the main one, then those of sub-agents. Each has a name that takes the place of a file
    /// name.
    sessions: VecDeque<(String, String)>,
    file: String,
    waiting: VecDeque<Waiting>,
    records: VecDeque<String>,
    /// Whether an incomplete last answer is skipped.
    skips_unfinished_answer: bool,
}

/// Rows that were not read yet.
#[derive(Debug)]
enum Waiting {
    /// A message of opencode and its parts.
    Message(String),
    Row(goose::RowPlace),
}

impl Rows {
    pub(crate) fn new(
        path: &Path,
        database: Database,
        format: NativeFormat,
        id: &str,
    ) -> Result<Self, NativeError> {
        let mut sessions = VecDeque::from([(String::new(), id.to_owned())]);
        if format == NativeFormat::Goose {
            sessions.push_back((USAGE.to_owned(), id.to_owned()));
        }
        let about = |error: rusqlite::Error| NativeError::new(path, error);
        if let Some(parent) = parent_column(&database, format).map_err(about)? {
            let children = children(database.connection(), session_table(format), parent, id);
            let children = children.map_err(about)?;
            sessions.extend(children.into_iter().map(|id| (format!("session/{id}"), id)));
        }
        let (waiting, records) = (VecDeque::new(), VecDeque::new());
        let rows = Self {
            database,
            format,
            sessions,
            file: String::new(),
            waiting,
            records,
            skips_unfinished_answer: false,
        };
        let table = session_table(format);
        let query = format!("SELECT count(*) FROM {table} WHERE id = ?1");
        let found = rows.database.connection().query_row(&query, [id], |row| row.get::<_, i64>(0));
        match found.map_err(about)? {
            0 => Err(NativeError::new(path, Cause::NoSuchSession { id: id.to_owned() })),
            _ => Ok(rows),
        }
    }

    /// Skips an incomplete last answer.
    pub(crate) fn skip_unfinished_answer(&mut self) {
        self.skips_unfinished_answer = true;
    }

    /// Returns the next record and its file; `None` at the end.
    pub(crate) fn next(&mut self) -> rusqlite::Result<Option<(&str, String)>> {
        while self.records.is_empty() {
            if let Some(next) = self.waiting.pop_front() {
                self.read_waiting(&next)?;
            } else if let Some((file, id)) = self.sessions.pop_front() {
                self.file = file;
                self.read_session(&id)?;
            } else {
                return Ok(None);
            }
        }
        Ok(self.records.pop_front().map(|record| (&*self.file, record)))
    }

    fn read_session(&mut self, id: &str) -> rusqlite::Result<()> {
        if self.file == USAGE {
            return self.read_usage(id);
        }
        self.read_rows(session_table(self.format), "id = ?1", id)?;
        if self.format == NativeFormat::Goose {
            let rows = goose::rows(&self.database, id)?;
            self.waiting = rows.into_iter().map(Waiting::Row).collect();
            return Ok(());
        }
        let query = "SELECT id FROM message WHERE session_id = ?1 ORDER BY time_created, id";
        let mut statement = self.database.connection().prepare(query)?;
        let ids = statement.query_map([id], |row| {
            let id = row.get_ref(0)?;
            Ok(Waiting::Message(String::from_utf8_lossy(id.as_bytes()?).into_owned()))
        })?;
        self.waiting = ids.collect::<rusqlite::Result<_>>()?;
        Ok(())
    }

    /// Reads the usage whose place between the messages is not known.
    fn read_usage(&mut self, id: &str) -> rusqlite::Result<()> {
        let query = "SELECT name FROM sqlite_schema WHERE type = 'table' AND name LIKE 'usage%'
             AND name IN (SELECT m.name FROM sqlite_schema m, pragma_table_info(m.name) p
                 WHERE p.name = 'session_id')";
        let mut statement = self.database.connection().prepare(query)?;
        let tables = statement.query_map([], |row| row.get::<_, String>(0))?;
        let tables: Vec<String> = tables.collect::<rusqlite::Result<_>>()?;
        drop(statement);
        let has_times = goose::has_times(&self.database)?;
        let is_left = |name: &&String| is_plain(name) && !(has_times && *name == goose::USAGE);
        for table in tables.iter().filter(is_left) {
            self.read_rows(table, "session_id = ?1 ORDER BY rowid", id)?;
        }
        Ok(())
    }

    /// Returns whether the last message of a session is an answer that the agent is still writing.
    fn is_unfinished(&self, id: &str) -> rusqlite::Result<bool> {
        let query = "SELECT data FROM message WHERE id = ?1";
        let data =
            self.database.connection().query_row(query, [id], |row| row.get::<_, String>(0))?;
        Ok(is_unfinished_answer(&data))
    }

    fn read_waiting(&mut self, next: &Waiting) -> rusqlite::Result<()> {
        match next {
            Waiting::Row(row) => self.read_rows(row.table, "rowid = ?1", row.number),
            Waiting::Message(id) => {
                let is_last = self.waiting.is_empty();
                if is_last && self.skips_unfinished_answer && self.is_unfinished(id)? {
                    return Ok(());
                }
                self.read_rows("message", "id = ?1", id)?;
                self.read_rows("part", "message_id = ?1 ORDER BY id", id)
            }
        }
    }

    /// Adds the rows of a table that a condition selects.
    fn read_rows(&mut self, table: &str, condition: &str, id: impl ToSql) -> rusqlite::Result<()> {
        let query = format!("SELECT * FROM {table} WHERE {condition}");
        let mut statement = self.database.connection().prepare_cached(&query)?;
        let names: Vec<String> = statement.column_names().map(str::to_owned).collect();
        let mut rows = statement.query([id])?;
        while let Some(row) = rows.next()? {
            self.records.push_back(record(table, &names, row)?);
        }
        Ok(())
    }
}

fn session_table(format: NativeFormat) -> &'static str {
    if format == NativeFormat::Goose { "sessions" } else { "session" }
}

/// Returns the column that names the session of which a session is a sub-agent. Older databases of goose have none.
fn parent_column(
    database: &Database,
    format: NativeFormat,
) -> rusqlite::Result<Option<&'static str>> {
    if format == NativeFormat::Opencode {
        return Ok(Some("parent_id"));
    }
    const PARENT: &str = "parent_session_id";
    let columns = database.columns(session_table(format))?;
    Ok(columns.iter().any(|column| column == PARENT).then_some(PARENT))
}

/// Returns the sessions that a session started, and those that they started, parents first.
fn children(
    connection: &Connection,
    table: &str,
    parent: &str,
    id: &str,
) -> rusqlite::Result<Vec<String>> {
    let query = format!(
        "WITH RECURSIVE below(id) AS (
             SELECT id FROM {table} WHERE {parent} = ?1
             UNION SELECT one.id FROM {table} one JOIN below ON one.{parent} = below.id)
         SELECT id FROM below WHERE id <> ?1"
    );
    let mut statement = connection.prepare(&query)?;
    let ids = statement.query_map([id], |row| row.get(0))?;
    ids.collect()
}

/// Returns whether the name of a table needs no quotes.
fn is_plain(name: &str) -> bool {
    name.bytes().all(|byte| byte.is_ascii_alphanumeric() || byte == b'_')
}

/// Writes a row as JSON.
fn record(table: &str, names: &[String], row: &Row<'_>) -> rusqlite::Result<String> {
    let mut text = format!(r#"{{"table":{},"row":{{"#, Json::text(table).as_str());
    let mut is_first = true;
    let is_session = table == session_table(NativeFormat::Opencode)
        || table == session_table(NativeFormat::Goose);
    for (index, name) in names.iter().enumerate() {
        let is_volatile = VOLATILE.contains(&&**name)
            || VOLATILE_PREFIXES.iter().any(|prefix| name.starts_with(prefix))
            || name.ends_with(VOLATILE_ENDING);
        if is_session && is_volatile {
            continue;
        }
        if !std::mem::take(&mut is_first) {
            text.push(',');
        }
        text.push_str(Json::text(name).as_str());
        text.push(':');
        match row.get_ref(index)? {
            ValueRef::Null => text.push_str("null"),
            ValueRef::Integer(number) => text.push_str(&number.to_string()),
            // JSON cannot represent infinity, so it becomes a text.
            ValueRef::Real(number) if number.is_finite() => text.push_str(&number.to_string()),
            ValueRef::Real(number) => text.push_str(Json::text(&number.to_string()).as_str()),
            ValueRef::Text(bytes) | ValueRef::Blob(bytes) => {
                text.push_str(Json::text(&String::from_utf8_lossy(bytes)).as_str());
            }
        }
    }
    text.push_str("}}");
    Ok(text)
}
