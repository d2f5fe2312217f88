//! `tertulia sessions branch`, `redact` and `delete`: what changes a session that is there.

use tertulia_session::EntryId;
use tertulia_store::{Appended, NewSession, SessionId, SessionInfo, StoreError};

use super::{counted, tell, write_json};
use crate::Streams;
use crate::args::{BranchArgs, DeleteArgs, RedactArgs, RenameArgs};
use crate::error::CliError;
use crate::names::{Latest, exact_session, find_session, find_stored_entry, unknown_session};
use crate::session_record::{AppendedRecord, SessionRecord};
use crate::store_place::StorePlace;
use crate::terminal::visible;

pub(super) fn branch(
    args: &BranchArgs,
    place: &StorePlace,
    streams: &mut Streams<'_>,
) -> Result<(), CliError> {
    let store = place.need()?;
    let session = find_session(&store, &args.session, Latest::OfStore)?;
    let entry = find_stored_entry(&store, &session, &args.entry)?;
    if let Some(into) = &args.into {
        let id = SessionId::parse(into).map_err(StoreError::from)?;
        let made = store.fork(&session, &entry, &NewSession { id: Some(id) })?;
        if args.json {
            return write_json(streams, &SessionRecord::of(&made));
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
    let store = place.need()?;
    let session = find_session(&store, &args.session, Latest::OfStore)?;
    // Whoever has it open would stumble over an entry that it did not write.
    let Some(_hold) = store.hold(&session)? else {
        return Err(CliError::OpenElsewhere { id: session });
    };
    store.rename(&session, &args.title)?;
    let info = store.info(&session)?;
    if args.json {
        return write_json(streams, &SessionRecord::of(&info));
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

pub(super) fn redact(
    args: &RedactArgs,
    place: &StorePlace,
    streams: &mut Streams<'_>,
) -> Result<(), CliError> {
    let store = place.need()?;
    let session = find_session(&store, &args.session, Latest::OfStore)?;
    let entry = find_stored_entry(&store, &session, &args.entry)?;
    let appended = store.redact(&session, &entry, args.reason.as_deref())?;
    let news = match appended.appended_count {
        0 => "was redacted before",
        _ => "is redacted, and its text purged from the store",
    };
    let news = format!("{entry} of {session} {news}");
    tell_appended(&session, &appended, args.json, &news, streams)
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
    let session = match args.yes {
        // Nobody looks: a beginning that fits today may fit something else tomorrow.
        true => match exact_session(&store, &args.session)? {
            Some(id) => id,
            None => return Err(unknown_session(&store, &args.session)?),
        },
        false => find_session(&store, &args.session, Latest::OfStore)?,
    };
    // Whoever is in it would lose what they type.
    let Some(_hold) = store.hold(&session)? else {
        return Err(CliError::OpenElsewhere { id: session });
    };
    if !args.yes && !is_agreed(&store.info(&session)?, streams)? {
        return Err(CliError::NotDeleted);
    }
    store.delete(&session)?;
    if args.json {
        return write_json(streams, &serde_json::json!({ "deleted": session.as_str() }));
    }
    tell(streams, &format!("{session} is deleted"));
    Ok(())
}

/// Asks the person.
fn is_agreed(info: &SessionInfo, streams: &mut Streams<'_>) -> Result<bool, CliError> {
    let title = info.title.as_deref().map(|title| format!(", \"{title}\"")).unwrap_or_default();
    let entries = counted(info.entries, "entry", "entries");
    let question = format!("Delete {} for good ({entries}{title})? [y/N] ", info.id);
    streams.agree(&question)
}

fn appended_record<'a>(session: &'a SessionId, last: &'a str, count: usize) -> AppendedRecord<'a> {
    AppendedRecord {
        session_id: Some(session.as_str()),
        last_appended_entry_id: Some(last),
        appended_count: count,
    }
}

fn write_line(streams: &mut Streams<'_>, line: &str) -> Result<(), CliError> {
    writeln!(streams.stdout, "{}", visible(line)).map_err(CliError::output)
}
