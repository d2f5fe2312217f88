//! The rows of a session of goose in the order of the conversation, with the usage after the answer that it belongs to.
//! goose does not record which answer a row of `usage_ledger` belongs to, only when the model had answered.

use rusqlite::types::ValueRef;

use crate::database::Database;

/// Larger times are in milliseconds; others are in seconds.
const SECONDS_MAX: i64 = 99_999_999_999;

/// The table with the usage of every call of a model.
pub(super) const USAGE: &str = "usage_ledger";

/// A row of a table.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct RowPlace {
    pub(super) table: &'static str,
    pub(super) number: i64,
}

/// A message or a usage, as far as its place is concerned.
#[derive(Clone, Copy, Debug)]
struct Timed {
    row: RowPlace,
    created: i64,
    is_answer: bool,
}

/// Returns the messages of a session, as goose orders them, and the usage between them.
pub(super) fn rows(database: &Database, session: &str) -> rusqlite::Result<Vec<RowPlace>> {
    let has_time = has_column(database, "messages", "created_timestamp")?;
    let created = if has_time { "created_timestamp" } else { "0" };
    let query = format!(
        "SELECT id, {created} AS created, role = 'assistant' FROM messages
         WHERE session_id = ?1 ORDER BY created, id"
    );
    let messages = read(database, &query, session, "messages")?;
    let usage = match has_time && has_times(database)? {
        true => {
            let query = format!(
                "SELECT rowid, created_timestamp AS created, 0 FROM {USAGE}
                 WHERE session_id = ?1 ORDER BY created, rowid"
            );
            read(database, &query, session, USAGE)?
        }
        false => Vec::new(),
    };
    Ok(merged(&messages, usage))
}

/// Returns whether the usage of a session can be placed between its messages.
pub(super) fn has_times(database: &Database) -> rusqlite::Result<bool> {
    Ok(has_column(database, USAGE, "session_id")?
        && has_column(database, USAGE, "created_timestamp")?)
}

fn has_column(database: &Database, table: &str, name: &str) -> rusqlite::Result<bool> {
    Ok(database.columns(table)?.iter().any(|column| column == name))
}

fn read(
    database: &Database,
    query: &str,
    session: &str,
    table: &'static str,
) -> rusqlite::Result<Vec<Timed>> {
    let mut statement = database.connection().prepare(query)?;
    let rows = statement.query_map([session], |row| {
        let created = match row.get_ref(1)? {
            ValueRef::Integer(time) if time > SECONDS_MAX => time / 1000,
            ValueRef::Integer(time) => time,
            _ => 0,
        };
        let row_place = RowPlace { table, number: row.get(0)? };
        Ok(Timed {
            row: row_place,
            created,
            is_answer: row.get::<_, Option<bool>>(2)? == Some(true),
        })
    })?;
    rows.collect()
}

/// Puts every usage after the last answer that had begun by then.
fn merged(messages: &[Timed], usage: Vec<Timed>) -> Vec<RowPlace> {
    let mut rows = Vec::with_capacity(messages.len() + usage.len());
    let mut usage = usage.into_iter().peekable();
    let mut answers = messages.iter().filter(|message| message.is_answer).skip(1);
    for message in messages {
        rows.push(message.row);
        if message.is_answer {
            let next = answers.next().map(|answer| answer.created);
            let is_its = |one: &Timed| next.is_none_or(|next| one.created < next);
            while let Some(one) = usage.next_if(is_its) {
                rows.push(one.row);
            }
        }
    }
    rows.extend(usage.map(|one| one.row));
    rows
}
