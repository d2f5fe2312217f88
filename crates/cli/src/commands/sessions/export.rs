//! `tertulia sessions export`: a session as a log, or its messages in a form that other programs read.

mod markdown;
mod target;

use std::time::Duration;

use tertulia_context::record::SnapshotRecord;
use tertulia_operations::names::{Latest, find_session};
use tertulia_operations::session_file::{AgentChatterRecord, Branch};
use tertulia_session::json::Json;
use tertulia_session::record::EntryRecord;
use tertulia_store::{Problem, Range, SessionId, SessionStore, StoreError};

use super::{counted, tell};
use crate::Streams;
use crate::args::{ExportArgs, FileFormat};
use crate::clock::LocalTime;
use crate::error::CliError;
use crate::store_place::StorePlace;
use crate::team_place::project_here;
use target::Target;

/// How many damaged entries are named one by one.
const DAMAGES_NAMED: u64 = 20;

pub(super) fn run(
    args: &ExportArgs,
    place: &StorePlace,
    streams: &mut Streams<'_>,
) -> Result<(), CliError> {
    let store = place.need()?;
    let session = find_session(&store, &args.session, Latest::OfProject(&project_here()))?;
    if args.output.as_ref().is_some_and(|path| place.holds(path)) {
        return Err(CliError::Usage("the target is the store itself; name another file"));
    }
    let local = LocalTime::new(streams.zone);
    let mut target = Target::open(args, streams)?;
    let mut notes = Vec::new();
    let damaged = match args.format {
        FileFormat::Jsonl => write_log(&store, &session, &mut target, &mut notes)?,
        FileFormat::Markdown => {
            markdown::write(&store, &session, &local, &mut target)?;
            0
        }
        FileFormat::Snapshot | FileFormat::AgentChatter => {
            write_messages(&store, &session, args.format, &mut target, &mut notes)?;
            0
        }
    };
    target.finish()?;
    for note in &notes {
        tell(streams, note);
    }
    if damaged > 0 {
        let left_out = counted(damaged, "damaged entry was", "damaged entries were");
        return Err(CliError::Damaged(format!("{left_out} left out of the export")));
    }
    Ok(())
}

/// Writes all entries, page by page. One that is damaged is named and left out, so that the others can be
/// saved; says how many are.
fn write_log(
    store: &SessionStore,
    session: &SessionId,
    target: &mut Target<'_>,
    notes: &mut Vec<String>,
) -> Result<u64, CliError> {
    let last = store.info(session)?.entries;
    let mut follow = store.follow(session, 0)?;
    let mut damaged = 0;
    while follow.seen() < last {
        match follow.next(Duration::ZERO) {
            Ok(page) if page.is_empty() => break,
            Ok(page) => {
                for stored in page.iter().filter(|stored| stored.seq <= last) {
                    target.write_line(&EntryRecord::new(&stored.entry).to_json())?;
                }
            }
            Err(StoreError::SessionReadFailed {
                problem: Problem::Damaged { place, entry, reason },
                ..
            }) if place > follow.seen() => {
                damaged += 1;
                if damaged <= DAMAGES_NAMED {
                    let named = entry.map(|id| format!(" ({id})")).unwrap_or_default();
                    notes.push(format!("entry {place}{named} is damaged: {reason}"));
                }
                follow = store.follow(session, place)?;
            }
            Err(error) => return Err(error.into()),
        }
    }
    Ok(damaged)
}

fn write_messages(
    store: &SessionStore,
    session: &SessionId,
    format: FileFormat,
    target: &mut Target<'_>,
    notes: &mut Vec<String>,
) -> Result<(), CliError> {
    let info = store.info(session)?;
    let mut branch = Branch::default();
    let mut on_branch = 0;
    for stored in store.entries(session, &Range::Branch { tail: info.tail.clone(), limit: None })? {
        branch.add(stored?.entry);
        on_branch += 1;
    }
    note_left_out(&branch, info.entries.saturating_sub(on_branch), notes);
    let json = if format == FileFormat::AgentChatter {
        serde_json::to_string(&AgentChatterRecord::new(&info, branch))
    } else {
        let moment = Json::parse(&info.updated_at.millis().to_string()).ok();
        serde_json::to_string(&SnapshotRecord(&branch.into_snapshot(moment)))
    };
    target.write_line(&json.map_err(|error| CliError::output(error.into()))?)
}

fn note_left_out(branch: &Branch, elsewhere: u64, notes: &mut Vec<String>) {
    let rows = [
        (branch.parts_left_out, "part that is no text", "parts that are no text"),
        (branch.wordless, "message without words", "messages without words"),
        (branch.hidden, "redacted entry", "redacted entries"),
        (branch.silent, "entry that is no message", "entries that are no messages"),
        (elsewhere, "entry of another branch", "entries of other branches"),
    ];
    let left_out: Vec<String> = rows
        .into_iter()
        .filter(|(count, ..)| *count > 0)
        .map(|(count, one, many)| counted(count, one, many))
        .collect();
    if !left_out.is_empty() {
        notes.push(format!("left out, since this form cannot hold it: {}", left_out.join(", ")));
    }
}
