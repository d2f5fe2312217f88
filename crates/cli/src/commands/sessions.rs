//! `tertulia sessions`: one file per command. This one hands over, and holds what they share.

mod changes;
mod export;
mod import;
mod left;
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
use crate::store_place::StorePlace;
pub(super) use tertulia_chat::terminal::counted;

pub(crate) fn run(args: &SessionsArgs, streams: &mut Streams<'_>) -> Result {
    let place = StorePlace::read(&args.store)?;
    match &args.command {
        SessionsCommand::List(args) => list::list(args, &place, streams),
        SessionsCommand::Show(args) => show::run(args, &place, streams),
        SessionsCommand::Search(args) => search::search(args, &place, streams),
        SessionsCommand::Rename(args) => changes::rename(args, &place, streams),
        SessionsCommand::Branch(args) => changes::branch(args, &place, streams),
        SessionsCommand::Redact(args) => redact::run(args, &place, streams),
        SessionsCommand::Export(args) => export::run(args, &place, streams),
        SessionsCommand::Import(args) => import::run(args, &place, streams),
        SessionsCommand::Verify(args) => verify::run(args, &place, streams),
        SessionsCommand::Delete(args) => changes::delete(args, &place, streams),
        SessionsCommand::Backup(args) => changes::backup(args, &place, streams),
        SessionsCommand::Restore(args) => changes::restore(args, &place, streams),
    }
}

/// Writes one line of JSON: straight to the output, but on a terminal with what JSON leaves in texts made visible.
pub(super) fn write_record(streams: &mut Streams<'_>, record: &impl Serialize) -> io::Result<()> {
    let written = match streams.stdout_is_terminal {
        true => serde_json::to_string(record)
            .map_err(Into::into)
            .and_then(|json| write!(streams.stdout, "{}", visible(&json))),
        false => serde_json::to_writer(&mut *streams.stdout, record).map_err(Into::into),
    };
    written.and_then(|()| writeln!(streams.stdout))
}

/// The same for whoever only passes a failure on.
pub(super) fn write_json(streams: &mut Streams<'_>, record: &impl Serialize) -> Result {
    write_record(streams, record).map_err(CliError::output)
}

/// The store, for whoever lists what is there: that there is none yet is an answer.
fn open_or_tell(place: &StorePlace, streams: &mut Streams<'_>) -> Result<Option<SessionStore>> {
    let store = place.open_existing()?;
    if store.is_none() {
        tell(streams, "there are no sessions yet");
    }
    Ok(store)
}

/// Says something to the person, with ids cut short.
pub(super) fn tell(streams: &mut Streams<'_>, line: &str) {
    streams.note(&short(line));
}

pub(super) fn write_line(streams: &mut Streams<'_>, line: &str) -> Result {
    writeln!(streams.stdout, "{}", visible(line)).map_err(CliError::output)
}
