//! A message that begins with `@name` where nobody has that name and no file does: it is answered by
//! somebody else, and whoever wrote it is told. Called by `run` and the chat.

use std::path::Path;

use tertulia_session::{EntryId, EntryKind};
use tertulia_team::{Driver, PersonMessage};

use crate::terminal::excerpt;

/// How much of the name is said again.
const NAME_COLUMNS: usize = 40;

/// The name at the beginning that is nobody's, not even nearly, and no file's of this folder.
pub fn stranger<'m>(message: &'m PersonMessage, folder: &Path) -> Option<&'m str> {
    let name = message.unknown_name()?;
    // `@Makefile` is what the reader is to look at.
    folder.join(name).symlink_metadata().is_err().then_some(name)
}

/// What is to be told of a message that was said.
pub fn nobody_called(
    driver: &Driver,
    said: &EntryId,
    message: &PersonMessage,
    folder: &Path,
) -> Option<String> {
    let name = stranger(message, folder)?;
    let told = format!("nobody in the team is called {}", excerpt(name, NAME_COLUMNS));
    let names = addressees(driver, said).join(", ");
    Some(if names.is_empty() { told } else { format!("{told}; it goes to {names}") })
}

fn addressees<'d>(driver: &'d Driver, said: &EntryId) -> Vec<&'d str> {
    let entry = driver.entries().iter().rev().find(|entry| entry.id == *said);
    let Some(EntryKind::Message(message)) = entry.map(|entry| &entry.kind) else {
        return Vec::new();
    };
    let routing = message.routing.as_deref().and_then(|to| to.resolved_addressees.as_deref());
    let shown = |name: &'d str| driver.team().member(name).map_or(name, |one| one.shown_name());
    routing.unwrap_or_default().iter().map(|one| shown(&one.identifier)).collect()
}
