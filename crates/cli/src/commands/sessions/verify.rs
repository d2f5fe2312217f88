//! `tertulia sessions verify`: checks stored sessions against their hashes.

use tertulia_chat::terminal::visible;
use tertulia_operations::session_record::VerifiedRecord;
use tertulia_store::{ListFilter, SessionId, SessionStore, Verified};

use super::{counted, open_or_note, write_json, write_line};
use crate::Streams;
use crate::args::VerifyArgs;
use crate::commands::drawing::Paint;
use crate::error::{CliError, Result};
use crate::progress::Progress;
use crate::store_location::StoreLocation;

pub(super) fn run(
    args: &VerifyArgs,
    location: &StoreLocation,
    streams: &mut Streams<'_>,
) -> Result {
    if let Some(given) = &args.session {
        let (store, session) = location.find(given)?;
        let damaged = u64::from(!check(&store, &session, args, streams)?);
        return outcome(damaged, 0);
    }
    let Some(store) = open_or_note(location, streams)? else { return Ok(()) };
    let problems = store.check()?;
    for problem in &problems {
        if args.json {
            write_json(streams, &serde_json::json!({ "problem": problem }))?;
        } else {
            write_line(streams, &format!("{}: {problem}", store.location()))?;
        }
    }
    let mut progress = Progress::entries(streams.stderr_is_terminal, "Checking");
    let mut damaged = 0;
    for info in store.list(&ListFilter::default())? {
        damaged += u64::from(!check(&store, &info.id, args, streams)?);
        progress.add(info.entries);
    }
    outcome(damaged, problems.len())
}

/// Checks one session and prints the result; returns whether it is valid.
fn check(
    store: &SessionStore,
    session: &SessionId,
    args: &VerifyArgs,
    streams: &mut Streams<'_>,
) -> Result<bool> {
    let verified = store.verify(session)?;
    if args.json {
        write_json(streams, &VerifiedRecord::new(session, &verified))?;
    } else {
        let paint = Paint::new(streams.stdout_has_colour);
        let line = line(session, &verified, &paint);
        writeln!(streams.stdout, "{line}").map_err(CliError::output)?;
    }
    Ok(verified.damage.is_none())
}

fn line(session: &SessionId, verified: &Verified, paint: &Paint) -> String {
    let entries = counted(verified.entries, "entry", "entries");
    let purged = match verified.purged {
        0 => String::new(),
        count => format!(", {count} redacted"),
    };
    match &verified.damage {
        None => {
            let ok = paint.good("ok");
            format!("{session}  {ok}  {entries}{purged}  hash {}", verified.chain_hash)
        }
        Some(damage) => {
            let named = damage.entry.as_ref().map(|id| format!(" ({id})")).unwrap_or_default();
            let found = format!("entry {}{named}: {}", damage.seq, damage.reason);
            let found = paint.bad(&visible(&found));
            format!(
                "{session}  {found}; {entries} before it are valid  hash {}",
                verified.chain_hash
            )
        }
    }
}

fn outcome(damaged: u64, problems: usize) -> Result {
    let sessions = counted(damaged, "session is damaged", "sessions are damaged");
    let many = "problems in the database";
    let things = counted(problems as u64, "problem in the database", many);
    let found = match (damaged, problems) {
        (0, 0) => return Ok(()),
        (_, 0) => sessions,
        (0, _) => things,
        _ => format!("{sessions}, {things}"),
    };
    let advice = "restore a backup, or export the entries that can still be read";
    Err(CliError::Failed(format!("{found}; {advice}")))
}
