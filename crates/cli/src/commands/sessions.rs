//! `tertulia sessions`: one module per command; this file calls them and contains their shared functions.

mod changes;
mod export;
mod import;
mod leftovers;
mod list;
mod redact;
mod search;
mod show;
mod verify;

use std::io;

use serde::Serialize;
use tertulia_chat::terminal::visible;
use tertulia_operations::names::short;
use tertulia_store::SessionStore;

use crate::Streams;
use crate::args::{SessionsArgs, SessionsCommand};
use crate::error::{CliError, Result};
use crate::store_location::StoreLocation;
pub(super) use import::{import_linked, import_newest};
pub(super) use tertulia_chat::terminal::counted;

pub(crate) fn run(args: &SessionsArgs, streams: &mut Streams<'_>) -> Result {
    let location = StoreLocation::read(&args.store)?;
    match &args.command {
        SessionsCommand::List(args) => list::list(args, &location, streams),
        SessionsCommand::Show(args) => show::run(args, &location, streams),
        SessionsCommand::Search(args) => search::search(args, &location, streams),
        SessionsCommand::Rename(args) => changes::rename(args, &location, streams),
        SessionsCommand::Branch(args) => changes::branch(args, &location, streams),
        SessionsCommand::Redact(args) => redact::run(args, &location, streams),
        SessionsCommand::Export(args) => export::run(args, &location, streams),
        SessionsCommand::Import(args) => import::run(args, &location, streams),
        SessionsCommand::Verify(args) => verify::run(args, &location, streams),
        SessionsCommand::Delete(args) => changes::delete(args, &location, streams),
        SessionsCommand::Backup(args) => changes::backup(args, &location, streams),
        SessionsCommand::Restore(args) => changes::restore(args, &location, streams),
    }
}

/// Writes one line of JSON; on a terminal, with control characters made visible.
pub(super) fn write_record(streams: &mut Streams<'_>, record: &impl Serialize) -> io::Result<()> {
    let written = match streams.stdout_is_terminal {
        true => serde_json::to_string(record)
            .map_err(Into::into)
            .and_then(|json| write!(streams.stdout, "{}", visible(&json))),
        false => serde_json::to_writer(&mut *streams.stdout, record).map_err(Into::into),
    };
    written.and_then(|()| writeln!(streams.stdout))
}

/// Like [`write_record`], with the error of a command.
pub(super) fn write_json(streams: &mut Streams<'_>, record: &impl Serialize) -> Result {
    write_record(streams, record).map_err(CliError::output)
}

/// Opens the store. If it does not exist, prints a note and returns `None`.
fn open_or_note(
    location: &StoreLocation,
    streams: &mut Streams<'_>,
) -> Result<Option<SessionStore>> {
    let store = location.open_existing()?;
    if store.is_none() {
        print_note(streams, "there are no sessions yet");
    }
    Ok(store)
}

/// Prints a note with short IDs.
pub(super) fn print_note(streams: &mut Streams<'_>, line: &str) {
    streams.note(&short(line));
}

pub(super) fn write_line(streams: &mut Streams<'_>, line: &str) -> Result {
    writeln!(streams.stdout, "{}", visible(line)).map_err(CliError::output)
}
