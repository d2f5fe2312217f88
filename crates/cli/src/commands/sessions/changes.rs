//! `tertulia sessions branch`, `rename` and `delete`, which change a session; `backup` and `restore`, which copy all.

use tertulia_operations::export_file::ExportError;
use tertulia_operations::names::{
    exact_session, find_stored_entry, is_latest, new_session_id, refuse_latest,
};
use tertulia_operations::session_record::{AppendedRecord, SessionRecord};
use tertulia_store::{Hold, NewSession, SessionId, SessionInfo, SessionStore, StoreError};

use super::left::Left;
use super::{counted, tell, write_json, write_line};
use crate::Streams;
use crate::args::{BackupArgs, BranchArgs, DeleteArgs, RenameArgs, RestoreArgs};
use crate::error::{CliError, Result};
use crate::store_place::{StorePlace, find_here};

pub(super) fn branch(args: &BranchArgs, place: &StorePlace, streams: &mut Streams<'_>) -> Result {
    let (store, session) = place.find(&args.session)?;
    let entry = find_stored_entry(&store, &session, &args.entry)?;
    if let Some(into) = &args.into {
        let id = new_session_id(into)?;
        let made = store.fork(&session, &entry, &NewSession { id: Some(id) })?;
        if args.json {
            return write_json(streams, &SessionRecord::from(&made));
        }
        let entries = counted(made.entries, "entry", "entries");
        tell(streams, &format!("{} holds a copy up to {entry}: {entries}", made.id));
        return write_line(streams, made.id.as_str());
    }
    let appended = store.branch(&session, &entry)?;
    let record = AppendedRecord::new(Some(&session), &appended);
    let last = record.last_appended_entry_id.unwrap_or_default();
    if args.json {
        let last_appended_entry_id = Some(last);
        return write_json(streams, &AppendedRecord { last_appended_entry_id, ..record });
    }
    tell(streams, &format!("{session} continues from {entry}"));
    write_line(streams, last)
}

pub(super) fn rename(args: &RenameArgs, place: &StorePlace, streams: &mut Streams<'_>) -> Result {
    refuse_latest(&args.title)?;
    let (store, session) = place.find(&args.session)?;
    // Whoever has it open would stumble over an entry that it did not write.
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
    tell(streams, &format!("session {session} {news}"));
    Ok(())
}

fn hold(store: &SessionStore, session: &SessionId) -> Result<Hold> {
    store.hold(session)?.ok_or_else(|| CliError::OpenElsewhere { id: session.clone() })
}

pub(super) fn delete(args: &DeleteArgs, place: &StorePlace, streams: &mut Streams<'_>) -> Result {
    if !args.yes && !streams.stdin_is_terminal {
        return Err(CliError::Usage("not a terminal; use --yes to confirm"));
    }
    let store = place.need()?;
    let mut left = Left::default();
    let (session, _hold) = match half_deleted(&store, &args.session)? {
        // It was agreed to when the deletion that was interrupted began.
        Some(session) => (session, None),
        None => {
            let session = session_to_delete(&store, args)?;
            // Whoever is in it would lose what they type.
            let hold = hold(&store, &session)?;
            if !args.yes && !is_agreed(&store.info(&session)?, streams)? {
                return Err(CliError::Failed("nothing was deleted".to_owned()));
            }
            left.forget_session(&store, &session)?;
            (session, Some(hold))
        }
    };
    // Before the session, so that whoever is interrupted can do it again.
    left.remove_copies(&store)?;
    left.remains = store.delete(&session)?;
    if args.json {
        let mut record = left.to_json(place);
        record.insert("deleted".to_owned(), session.as_str().into());
        return write_json(streams, &record);
    }
    tell(streams, &format!("{session} is deleted"));
    left.tell(place, streams);
    Ok(())
}

fn session_to_delete(store: &SessionStore, args: &DeleteArgs) -> Result<SessionId> {
    let given = &args.session;
    if !args.yes {
        return find_here(store, given);
    }
    // Nobody looks: a beginning that fits today may fit something else tomorrow.
    if let Some(id) = exact_session(store, given)? {
        return Ok(id);
    }
    let id = find_here(store, given)?;
    let id = (!is_latest(given)).then(|| id.to_string());
    Err(CliError::NotFullId { given: given.clone(), id })
}

/// The session of exactly this id whose deletion was interrupted, if no other one has its id by now.
fn half_deleted(store: &SessionStore, given: &str) -> Result<Option<SessionId>> {
    let Ok(id) = given.parse::<SessionId>() else { return Ok(None) };
    Ok((!store.has(&id)? && store.is_half_deleted(&id)?).then_some(id))
}

fn is_agreed(info: &SessionInfo, streams: &mut Streams<'_>) -> Result<bool> {
    let title = info.title.as_deref().map(|title| format!(", \"{title}\"")).unwrap_or_default();
    let entries = counted(info.entries, "entry", "entries");
    let question = format!("Delete {} for good ({entries}{title})? [y/N] ", info.id);
    streams.agree(&question)
}

pub(super) fn backup(args: &BackupArgs, place: &StorePlace, streams: &mut Streams<'_>) -> Result {
    // Elsewhere `-` is standard output; a backup is a database and needs a file.
    if args.file.as_os_str() == "-" {
        return Err(CliError::Usage(
            "a backup cannot be written to standard output; name a new file",
        ));
    }
    let sessions = place.need()?.backup(&args.file)?;
    let done = format!("copied to {} and checked", args.file.display());
    tell_copied(sessions, &done, args.json, streams)
}

pub(super) fn restore(args: &RestoreArgs, place: &StorePlace, streams: &mut Streams<'_>) -> Result {
    // The backup is looked at first, so that a wrong name makes no store.
    let about = std::fs::metadata(&args.file);
    let about = about.map_err(|source| CliError::ReadFile { path: args.file.clone(), source })?;
    if !about.is_file() {
        return Err(ExportError::NotAFile { path: args.file.clone() }.into());
    }
    let restored = place.open()?.restore(&args.file);
    let sessions = restored.map_err(|error| match error {
        StoreError::SessionExists(session) => CliError::Failed(format!(
            "session {session} is in the store already; delete it first, or restore into another \
             --store; nothing was copied"
        )),
        other => other.into(),
    })?;
    tell_copied(sessions, &format!("copied from {}", args.file.display()), args.json, streams)
}

fn tell_copied(sessions: u64, done: &str, json: bool, streams: &mut Streams<'_>) -> Result {
    if json {
        return write_json(streams, &serde_json::json!({ "sessions": sessions }));
    }
    tell(streams, &format!("{} {done}", counted(sessions, "session", "sessions")));
    Ok(())
}
