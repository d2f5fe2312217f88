//! `tertulia sessions branch`, `rename` and `delete`: commands that change an existing session.

use tertulia_chat::terminal::visible;
use tertulia_operations::names::{
    Latest, exact_session, find_session, find_stored_entry, is_latest, new_session_id,
    refuse_latest,
};
use tertulia_operations::session_record::{AppendedRecord, SessionRecord};
use tertulia_session::EntryId;
use tertulia_store::{Appended, NewSession, SessionId, SessionInfo, SessionStore};

use super::left::Left;
use super::{counted, tell, write_json};
use crate::Streams;
use crate::args::{BranchArgs, DeleteArgs, RenameArgs};
use crate::error::CliError;
use crate::store_place::StorePlace;
use crate::team_place::project_here;

pub(super) fn branch(
    args: &BranchArgs,
    place: &StorePlace,
    streams: &mut Streams<'_>,
) -> Result<(), CliError> {
    let store = place.need()?;
    let session = find_session(&store, &args.session, Latest::OfProject(&project_here()))?;
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
    let news = format!("{session} continues from {entry}");
    tell_appended(&session, &appended, args.json, &news, streams)
}

pub(super) fn rename(
    args: &RenameArgs,
    place: &StorePlace,
    streams: &mut Streams<'_>,
) -> Result<(), CliError> {
    refuse_latest(&args.title)?;
    let store = place.need()?;
    let session = find_session(&store, &args.session, Latest::OfProject(&project_here()))?;
    // Whoever has it open would stumble over an entry that it did not write.
    let Some(_hold) = store.hold(&session)? else {
        return Err(CliError::OpenElsewhere { id: session });
    };
    store.rename(&session, &args.title)?;
    let info = store.info(&session)?;
    if args.json {
        return write_json(streams, &SessionRecord::from(&info));
    }
    let title = info.title.filter(|_| info.has_own_title);
    tell(
        streams,
        &match title {
            Some(title) => format!("session {session} is now called \"{title}\""),
            None => format!("session {session} has no title now"),
        },
    );
    Ok(())
}

/// The id of the entry that says so, for programs; what happened, for people.
fn tell_appended(
    session: &SessionId,
    appended: &Appended,
    json: bool,
    news: &str,
    streams: &mut Streams<'_>,
) -> Result<(), CliError> {
    let last = appended.last_entry_id.as_ref().map_or("", EntryId::as_str);
    if json {
        return write_json(streams, &appended_record(session, last, appended.appended_count));
    }
    tell(streams, news);
    write_line(streams, last)
}

pub(super) fn delete(
    args: &DeleteArgs,
    place: &StorePlace,
    streams: &mut Streams<'_>,
) -> Result<(), CliError> {
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
            let Some(hold) = store.hold(&session)? else {
                return Err(CliError::OpenElsewhere { id: session });
            };
            if !args.yes && !is_agreed(&store.info(&session)?, streams)? {
                return Err(CliError::NotDeleted);
            }
            left.forget_session(&store, &session)?;
            (session, Some(hold))
        }
    };
    // Before the session, so that whoever is interrupted can do it again.
    left.remove_copies(&store)?;
    left.set_remains(store.delete(&session)?);
    if args.json {
        let mut record = left.to_json(place);
        record.insert("deleted".to_owned(), session.as_str().into());
        return write_json(streams, &record);
    }
    tell(streams, &format!("{session} is deleted"));
    left.tell(place, streams);
    Ok(())
}

fn session_to_delete(store: &SessionStore, args: &DeleteArgs) -> Result<SessionId, CliError> {
    match args.yes {
        // Nobody looks: a beginning that fits today may fit something else tomorrow.
        true => match exact_session(store, &args.session)? {
            Some(id) => Ok(id),
            None => Err(not_full_id(store, &args.session)?),
        },
        false => Ok(find_session(store, &args.session, Latest::OfProject(&project_here()))?),
    }
}

/// The session of exactly this id whose deletion was interrupted, if no other one has its id by now.
fn half_deleted(store: &SessionStore, given: &str) -> Result<Option<SessionId>, CliError> {
    let Ok(id) = given.parse::<SessionId>() else { return Ok(None) };
    Ok((!store.has(&id)? && store.is_half_deleted(&id)?).then_some(id))
}

/// What is said of a name that is not the ID; an error if it names nothing at all.
fn not_full_id(store: &SessionStore, given: &str) -> Result<CliError, CliError> {
    let id = find_session(store, given, Latest::OfProject(&project_here()))?;
    let id = (!is_latest(given)).then(|| id.to_string());
    Ok(CliError::NotFullId { given: given.to_owned(), id })
}

/// Asks the person.
fn is_agreed(info: &SessionInfo, streams: &mut Streams<'_>) -> Result<bool, CliError> {
    let title = info.title.as_deref().map(|title| format!(", \"{title}\"")).unwrap_or_default();
    let entries = counted(info.entries, "entry", "entries");
    let question = format!("Delete {} for good ({entries}{title})? [y/N] ", info.id);
    streams.agree(&question)
}

pub(super) fn appended_record<'a>(
    session: &'a SessionId,
    last: &'a str,
    count: usize,
) -> AppendedRecord<'a> {
    AppendedRecord {
        session_id: Some(session.as_str()),
        last_appended_entry_id: Some(last),
        appended_count: count,
    }
}

pub(super) fn write_line(streams: &mut Streams<'_>, line: &str) -> Result<(), CliError> {
    writeln!(streams.stdout, "{}", visible(line)).map_err(CliError::output)
}
