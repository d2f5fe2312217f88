//! A session as a Markdown document, for people: who said what on the current branch, and when. Texts stand
//! in it as they were written.

use tertulia_chat::terminal::excerpt;
use tertulia_operations::names::short;
use tertulia_operations::session_file::name_of;
use tertulia_session::{Entry, EntryKind, Message};
use tertulia_store::{Range, SessionId, SessionStore, StoredEntry};
use tertulia_team::is_partial;

use super::Target;
use crate::clock::LocalTime;
use crate::commands::sessions::transcript::{in_words, moment};
use crate::error::CliError;

/// How much is shown of what is no text: calls, results, thinking.
const LINE_COLUMNS: usize = 100;

/// Writes the document.
pub(super) fn write(
    store: &SessionStore,
    session: &SessionId,
    local: &LocalTime,
    target: &mut Target<'_>,
) -> Result<(), CliError> {
    let info = store.info(session)?;
    let title = info.title.as_deref().unwrap_or(session.as_str());
    target.write_line(&format!("# {}", one_line(title)))?;
    let began = local.minute(&info.created_at);
    target.write_line(&format!("\nSession `{session}`, created {began}."))?;
    for stored in store.entries(session, &Range::Branch { tail: info.tail, limit: None })? {
        write_entry(&stored?, local, target)?;
    }
    Ok(())
}

fn write_entry(
    stored: &StoredEntry,
    local: &LocalTime,
    target: &mut Target<'_>,
) -> Result<(), CliError> {
    let aside = match &stored.entry.kind {
        EntryKind::Message(message) => {
            return write_message(&stored.entry, message, &local.minute(moment(stored)), target);
        }
        EntryKind::TeamTask(task) => match &task.task {
            Some(task) => format!("*Task: {}*", one_line(task)),
            None => "*Task cleared*".to_owned(),
        },
        EntryKind::Purged(purged) => format!("*[redacted {}]*", purged.type_name),
        _ => return Ok(()),
    };
    target.write_line(&format!("\n{aside}"))
}

fn write_message(
    entry: &Entry,
    message: &Message,
    time: &str,
    target: &mut Target<'_>,
) -> Result<(), CliError> {
    let cut = if is_partial(entry) { " (cut off)" } else { "" };
    let (name, id) = (one_line(name_of(message)), short(entry.id.as_str()));
    target.write_line(&format!("\n## {name}{cut}\n\n<sub>{time} · {id}</sub>"))?;
    for part in &message.parts {
        let text = match part.as_text() {
            Some(text) => text.trim_end_matches('\n').to_owned(),
            None => format!("> {}", excerpt(&in_words(part), LINE_COLUMNS)),
        };
        target.write_line(&format!("\n{text}"))?;
    }
    Ok(())
}

fn one_line(text: &str) -> String {
    text.split_whitespace().collect::<Vec<_>>().join(" ")
}
