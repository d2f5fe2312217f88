//! `tertulia sessions branch`, `rename` and `delete`, which change a session; `backup` and `restore`, which copy all.

use tertulia_operations::export_file::ExportError;
use tertulia_operations::names::{
    exact_session, find_stored_entry, is_latest, new_session_id, refuse_latest,
};
use tertulia_operations::session_record::{AppendedRecord, SessionRecord};
use tertulia_store::{NewSession, SessionId, SessionInfo, SessionLock, SessionStore, StoreError};

use super::leftovers::Leftovers;
use super::{counted, print_note, write_json, write_line};
use crate::Streams;
use crate::args::{BackupArgs, BranchArgs, DeleteArgs, RenameArgs, RestoreArgs};
use crate::error::{CliError, Result};
use crate::store_location::{StoreLocation, find_here};

pub(super) fn branch(
    args: &BranchArgs,
    location: &StoreLocation,
    streams: &mut Streams<'_>,
) -> Result {
    let (store, session) = location.find(&args.session)?;
    let entry = find_stored_entry(&store, &session, &args.entry)?;
    if let Some(into) = &args.into {
        let id = new_session_id(into)?;
        let made = store.fork(&session, &entry, &NewSession { id: Some(id) })?;
        if args.json {
            return write_json(streams, &SessionRecord::from(&made));
        }
        let entries = counted(made.entries, "entry", "entries");
        print_note(streams, &format!("{} is a copy up to {entry}, with {entries}", made.id));
        return write_line(streams, made.id.as_str());
    }
    let appended = store.branch(&session, &entry)?;
    let record = AppendedRecord::new(Some(&session), &appended);
    let last = record.last_appended_entry_id.unwrap_or_default();
    if args.json {
        let last_appended_entry_id = Some(last);
        return write_json(streams, &AppendedRecord { last_appended_entry_id, ..record });
    }
    print_note(streams, &format!("new entries of {session} now follow {entry}"));
    write_line(streams, last)
}

pub(super) fn rename(
    args: &RenameArgs,
    location: &StoreLocation,
    streams: &mut Streams<'_>,
) -> Result {
    refuse_latest(&args.title)?;
    let (store, session) = location.find(&args.session)?;
    // A process that has the session open does not expect entries of others.
    let _hold = hold(&store, &session)?;
    store.rename(&session, &args.title)?;
    let info = store.info(&session)?;
    if args.json {
        return write_json(streams, &SessionRecord::from(&info));
    }
    let news = match info.title.filter(|_| info.has_own_title) {
        Some(title) => format!("is now called \"{title}\""),
        None => "has no title now".to_owned(),
    };
    print_note(streams, &format!("session {session} {news}"));
    Ok(())
}

fn hold(store: &SessionStore, session: &SessionId) -> Result<SessionLock> {
    store.lock_session(session)?.ok_or_else(|| CliError::OpenElsewhere { id: session.clone() })
}

pub(super) fn delete(
    args: &DeleteArgs,
    location: &StoreLocation,
    streams: &mut Streams<'_>,
) -> Result {
    if !args.yes && !streams.stdin_is_terminal {
        return Err(CliError::Usage("not a terminal; use --yes to confirm"));
    }
    let store = location.open_required()?;
    let mut leftovers = Leftovers::default();
    let (session, _hold) = match half_deleted(&store, &args.session)? {
        // The interrupted deletion was already confirmed.
        Some(session) => (session, None),
        None => {
            let session = session_to_delete(&store, args)?;
            // A process that has it open would lose its input.
            let hold = hold(&store, &session)?;
            if !args.yes && !is_agreed(&store.info(&session)?, streams)? {
                return Err(CliError::Failed("nothing was deleted".to_owned()));
            }
            leftovers.forget_session(&store, &session)?;
            (session, Some(hold))
        }
    };
    // The copies are removed before the session, so that an interrupted deletion can be repeated.
    leftovers.remove_copies(&store)?;
    leftovers.remains = store.delete(&session)?;
    if args.json {
        let mut record = leftovers.to_json(location);
        record.insert("deleted".to_owned(), session.as_str().into());
        return write_json(streams, &record);
    }
    print_note(streams, &format!("{session} is deleted"));
    leftovers.print(location, streams);
    Ok(())
}

fn session_to_delete(store: &SessionStore, args: &DeleteArgs) -> Result<SessionId> {
    let given = &args.session;
    if !args.yes {
        return find_here(store, given);
    }
    // Without a question, a prefix is too risky: later it may match another session.
    if let Some(id) = exact_session(store, given)? {
        return Ok(id);
    }
    let id = find_here(store, given)?;
    let id = (!is_latest(given)).then(|| id.to_string());
    Err(CliError::NotFullId { given: given.clone(), id })
}

/// Returns the session with this ID whose deletion was interrupted, if no other session has the ID now.
fn half_deleted(store: &SessionStore, given: &str) -> Result<Option<SessionId>> {
    let Ok(id) = given.parse::<SessionId>() else { return Ok(None) };
    Ok((!store.has(&id)? && store.is_half_deleted(&id)?).then_some(id))
}

fn is_agreed(info: &SessionInfo, streams: &mut Streams<'_>) -> Result<bool> {
    let title = info.title.as_deref().map(|title| format!(", \"{title}\"")).unwrap_or_default();
    let entries = counted(info.entries, "entry", "entries");
    let question = format!("Delete {} permanently ({entries}{title})? [y/N] ", info.id);
    streams.confirm(&question)
}

pub(super) fn backup(
    args: &BackupArgs,
    location: &StoreLocation,
    streams: &mut Streams<'_>,
) -> Result {
    // Elsewhere `-` is standard output; a backup is a database and needs a file.
    if args.file.as_os_str() == "-" {
        return Err(CliError::Usage(
            "a backup cannot be written to standard output; name a new file",
        ));
    }
    let sessions = location.open_required()?.backup(&args.file)?;
    let done = format!("copied to {} and checked", args.file.display());
    tell_copied(sessions, &done, args.json, streams)
}

pub(super) fn restore(
    args: &RestoreArgs,
    location: &StoreLocation,
    streams: &mut Streams<'_>,
) -> Result {
    // The backup is checked first, so that a wrong path creates no store.
    let about = std::fs::metadata(&args.file);
    let about = about.map_err(|source| CliError::ReadFile { path: args.file.clone(), source })?;
    if !about.is_file() {
        return Err(ExportError::NotAFile { path: args.file.clone() }.into());
    }
    let restored = location.open()?.restore(&args.file);
    let sessions = restored.map_err(|error| match error {
        StoreError::SessionExists(session) => CliError::Failed(format!(
            "nothing was copied, because the store already has session {session}; delete it first, \
             or restore into another --store"
        )),
        other => other.into(),
    })?;
    tell_copied(sessions, &format!("copied from {}", args.file.display()), args.json, streams)
}

fn tell_copied(sessions: u64, done: &str, json: bool, streams: &mut Streams<'_>) -> Result {
    if json {
        return write_json(streams, &serde_json::json!({ "sessions": sessions }));
    }
    print_note(streams, &format!("{} {done}", counted(sessions, "session", "sessions")));
    Ok(())
}
