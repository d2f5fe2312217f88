//! Determines whether a record is a session, a message or a part, for each of the three sources of records.

use std::borrow::Cow;

use tertulia_session::Timestamp;
use tertulia_session::json::{self, Kind, Object, RawValue};

use super::super::fields::{take_millis, take_text, take_word};

/// The fields that identify a record.
#[derive(Debug, Default)]
pub(super) struct Ids {
    pub id: Option<Box<str>>,
    /// The session to which a message or part belongs.
    pub session: Option<Box<str>>,
    /// The message to which a part belongs.
    pub message: Option<Box<str>>,
    /// The creation time of its row.
    pub created: Option<Timestamp>,
}

/// A record, independent of its source.
pub(super) enum Source<'a> {
    Session(Ids, Object<'a>),
    Message(Ids, Object<'a>),
    Part(Ids, Object<'a>),
    /// A row of another table.
    Table(&'a str),
    /// An unknown record, with the name of the field that is missing.
    Unknown(&'static str),
}

/// Determines the kind of a record and passes the record to `then`. A callback is needed because a column may have to
/// be decoded first.
pub(super) fn read<T>(mut object: Object<'_>, then: impl FnOnce(Source<'_>) -> T) -> T {
    let table = take_text(&mut object, "table");
    match (table, object.take("row").map(Object::try_from)) {
        (Some(table), Some(Ok(row))) => read_row(&table, row, then),
        (Some(_), _) => then(Source::Unknown("row")),
        (None, _) => then(of_value(object)),
    }
}

fn read_row<T>(table: &str, mut row: Object<'_>, then: impl FnOnce(Source<'_>) -> T) -> T {
    let ids = Ids {
        id: take_word(&mut row, "id"),
        session: take_word(&mut row, "session_id"),
        message: take_word(&mut row, "message_id"),
        created: take_millis(&mut row, "time_created"),
    };
    if table == "session" {
        return then(Source::Session(ids, row));
    }
    if !matches!(table, "message" | "part") {
        return then(Source::Table(table));
    }
    let Some(column) = row.take("data") else { return then(Source::Unknown("row.data")) };
    with_json(column, |data| match data {
        Some(data) if table == "message" => then(Source::Message(ids, data)),
        Some(data) => then(Source::Part(ids, data)),
        None => then(Source::Unknown("row.data")),
    })
}

/// Reads a piece of a document, or a file of the first storage.
fn of_value(mut object: Object<'_>) -> Source<'_> {
    let ids = Ids {
        id: take_word(&mut object, "id"),
        session: take_word(&mut object, "sessionID"),
        message: take_word(&mut object, "messageID"),
        created: None,
    };
    let has = |name: &str| object.names().any(|one| one == name);
    if has("role") {
        Source::Message(ids, object)
    } else if has("type") {
        Source::Part(ids, object)
    } else if ["projectID", "directory", "title"].into_iter().any(has) {
        Source::Session(ids, object)
    } else {
        Source::Unknown("type")
    }
}

/// Reads a column that contains an object as JSON or as a text of JSON.
fn with_json<T>(column: &RawValue, read: impl FnOnce(Option<Object<'_>>) -> T) -> T {
    let text = match Kind::from(column) {
        Kind::String => json::words(column),
        _ => Cow::Borrowed(column.get()),
    };
    read(json::parse(&text).ok().and_then(|raw| Object::try_from(raw).ok()))
}

/// Takes an object that is stored as JSON or as a text of JSON.
pub(super) fn take_json<T>(
    object: &mut Object<'_>,
    name: &str,
    read: impl FnOnce(Object<'_>) -> Option<T>,
) -> Option<T> {
    with_json(object.take_some(name)?, |value| read(value?))
}

/// Returns whether a line is a record of opencode: a row, or a file of the first storage.
pub(in super::super) fn is_record(object: &Object<'_>) -> bool {
    let has = |name: &str| object.names().any(|one| one == name);
    let all = |names: &[&str]| names.iter().all(|name| has(name));
    all(&["table", "row"])
        || all(&["id", "messageID", "type"])
        || all(&["id", "sessionID", "role", "time"])
        || all(&["id", "projectID", "directory", "time"])
}
