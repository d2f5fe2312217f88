//! Reads the tables in which opencode and goose keep their sessions as records. Every row is one JSON object,
//! `{"table":"message","row":{"id":"msg_1",…}}`, with the columns as they are stored.

use std::collections::VecDeque;
use std::path::Path;

use rusqlite::types::ValueRef;
use rusqlite::{Connection, Row};
use tertulia_dialect::native::NativeFormat;
use tertulia_session::Timestamp;
use tertulia_session::json::{self, Json, Object};

use crate::database::Database;
use crate::{Cause, FoundSession, NativeError, Place};

/// The first bytes of every SQLite database.
pub(crate) const MAGIC: &[u8] = b"SQLite format 3\0";

/// Columns that change although the conversation does not. They are left out, so that the record stays the same.
const VOLATILE: [&str; 4] = ["time_updated", "time_compacting", "cost", "updated_at"];
const VOLATILE_PREFIXES: [&str; 3] = ["tokens_", "summary_", "accumulated_"];

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

/// Returns the sessions of a database, without those of sub-agents.
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
    let query = match format {
        NativeFormat::Goose => {
            format!("SELECT id, working_dir, {title}, created_at, updated_at FROM sessions")
        }
        _ => format!(
            "SELECT id, directory, {title}, time_created, time_updated FROM session WHERE parent_id IS NULL"
        ),
    };
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
    messages: VecDeque<String>,
    records: VecDeque<String>,
    /// Whether an incomplete last answer is skipped.
    is_settled_only: bool,
    has_usage: bool,
}

impl Rows {
    pub(crate) fn new(
        path: &Path,
        database: Database,
        format: NativeFormat,
        id: &str,
    ) -> Result<Self, NativeError> {
        let mut sessions = VecDeque::from([(String::new(), id.to_owned())]);
        if format == NativeFormat::Opencode {
            let children = children(database.connection(), id);
            let children = children.map_err(|error| NativeError::new(path, error))?;
            sessions.extend(children.into_iter().map(|id| (format!("session/{id}"), id)));
        }
        let (messages, records) = (VecDeque::new(), VecDeque::new());
        let rows = Self {
            database,
            format,
            sessions,
            file: String::new(),
            messages,
            records,
            is_settled_only: false,
            has_usage: format == NativeFormat::Goose,
        };
        let table = rows.session_table();
        let query = format!("SELECT count(*) FROM {table} WHERE id = ?1");
        let found = rows.database.connection().query_row(&query, [id], |row| row.get::<_, i64>(0));
        match found.map_err(|error| NativeError::new(path, error))? {
            0 => Err(NativeError::new(path, Cause::NoSuchSession { id: id.to_owned() })),
            _ => Ok(rows),
        }
    }

    /// Skips an incomplete last answer.
    pub(crate) fn settled_only(&mut self) {
        self.is_settled_only = true;
    }

    /// Returns the next record and its file; `None` at the end.
    pub(crate) fn next(&mut self) -> rusqlite::Result<Option<(&str, String)>> {
        while self.records.is_empty() {
            if let Some(message) = self.messages.pop_front() {
                self.read_message(&message)?;
            } else if let Some((file, id)) = self.sessions.pop_front() {
                self.file = file;
                self.read_session(&id)?;
                if self.has_usage {
                    self.sessions.push_back(("usage".to_owned(), id));
                }
            } else {
                return Ok(None);
            }
        }
        Ok(self.records.pop_front().map(|record| (&*self.file, record)))
    }

    fn session_table(&self) -> &'static str {
        if self.format == NativeFormat::Goose { "sessions" } else { "session" }
    }

    fn read_session(&mut self, id: &str) -> rusqlite::Result<()> {
        if self.file == "usage" {
            // These rows have no ids. They are treated as a separate file, so that their numbers do not change when
            // messages are added.
            self.has_usage = false;
            return self.read_usage(id);
        }
        let table = self.session_table();
        self.read_rows(table, "id = ?1", id)?;
        let query = match self.format {
            NativeFormat::Goose => "SELECT id FROM messages WHERE session_id = ?1 ORDER BY id",
            _ => "SELECT id FROM message WHERE session_id = ?1 ORDER BY time_created, id",
        };
        let mut statement = self.database.connection().prepare(query)?;
        let ids = statement.query_map([id], |row| {
            Ok(match row.get_ref(0)? {
                ValueRef::Integer(number) => number.to_string(),
                other => String::from_utf8_lossy(other.as_bytes()?).into_owned(),
            })
        })?;
        self.messages = ids.collect::<rusqlite::Result<_>>()?;
        Ok(())
    }

    fn read_usage(&mut self, id: &str) -> rusqlite::Result<()> {
        let query = "SELECT name FROM sqlite_schema WHERE type = 'table' AND name LIKE 'usage%'
             AND name IN (SELECT m.name FROM sqlite_schema m, pragma_table_info(m.name) p
                 WHERE p.name = 'session_id')";
        let mut statement = self.database.connection().prepare(query)?;
        let tables = statement.query_map([], |row| row.get::<_, String>(0))?;
        let tables: Vec<String> = tables.collect::<rusqlite::Result<_>>()?;
        drop(statement);
        for table in tables.iter().filter(|name| is_plain(name)) {
            self.read_rows(table, "session_id = ?1 ORDER BY rowid", id)?;
        }
        Ok(())
    }

    /// Returns whether the last message of a session is an answer that the agent is still writing.
    fn is_unfinished(&self, id: &str) -> rusqlite::Result<bool> {
        let query = "SELECT data FROM message WHERE id = ?1";
        let data =
            self.database.connection().query_row(query, [id], |row| row.get::<_, String>(0))?;
        let fields = json::parse(&data).ok().and_then(|raw| Object::try_from(raw).ok());
        Ok(fields.is_some_and(|mut fields| {
            let is_answer =
                fields.take_text("role").is_ok_and(|role| role.as_deref() == Some("assistant"));
            let time = fields.take_some("time").and_then(|raw| Object::try_from(raw).ok());
            let is_complete = time.is_some_and(|mut time| time.take_some("completed").is_some());
            is_answer && !is_complete && fields.take_some("error").is_none()
        }))
    }

    fn read_message(&mut self, id: &str) -> rusqlite::Result<()> {
        let is_last = self.messages.is_empty() && self.format == NativeFormat::Opencode;
        if is_last && self.is_settled_only && self.is_unfinished(id)? {
            return Ok(());
        }
        match self.format {
            NativeFormat::Goose => self.read_rows("messages", "id = CAST(?1 AS INTEGER)", id),
            _ => {
                self.read_rows("message", "id = ?1", id)?;
                self.read_rows("part", "message_id = ?1 ORDER BY id", id)
            }
        }
    }

    /// Adds the rows of a table that a condition selects.
    fn read_rows(&mut self, table: &str, condition: &str, id: &str) -> rusqlite::Result<()> {
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

/// Returns the sessions that a session started, and those that they started, parents first.
fn children(connection: &Connection, id: &str) -> rusqlite::Result<Vec<String>> {
    let query = "WITH RECURSIVE below(id) AS (
             SELECT id FROM session WHERE parent_id = ?1
             UNION SELECT session.id FROM session JOIN below ON session.parent_id = below.id)
         SELECT id FROM below WHERE id <> ?1";
    let mut statement = connection.prepare(query)?;
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
    for (index, name) in names.iter().enumerate() {
        let is_volatile = VOLATILE.contains(&&**name)
            || VOLATILE_PREFIXES.iter().any(|prefix| name.starts_with(prefix));
        if is_volatile {
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
