//! `tertulia sessions redact`: takes the text of an entry, or a text wherever it is, out of the store and out of
//! the files beside it, and says what is left.

use std::io::Read;

use serde_json::{Value, json};
use tertulia_operations::names::{Latest, find_session, find_stored_entry};
use tertulia_session::{Entry, EntryId, EntryKind, PartKind};
use tertulia_store::{EntryPlace, Redacted, SessionId, SessionStore, StoredEntry};

use super::changes::{appended_record, write_line};
use super::left::Left;
use super::{counted, tell, write_json};
use crate::Streams;
use crate::args::RedactArgs;
use crate::error::CliError;
use crate::store_place::StorePlace;
use crate::team_place::project_here;

/// How many digits of an entry's ID `redact` requires.
const REDACTED_DIGITS_MIN: usize = 4;
/// A shorter text is in many entries by chance.
const SAME_CHARACTERS_MIN: usize = 6;
/// How many entries are listed.
const LISTED_MAX: usize = 10;
/// How long a text from standard input may be.
const TEXT_BYTES_MAX: u64 = 1 << 20;

pub(super) fn run(
    args: &RedactArgs,
    place: &StorePlace,
    streams: &mut Streams<'_>,
) -> Result<(), CliError> {
    match (&args.text, &args.session, &args.entry) {
        (Some(text), session, _) => {
            let text = wanted_text(text, args.yes, streams)?;
            by_text(&text, session.as_deref(), args, place, streams)
        }
        (None, Some(session), Some(entry)) => one_entry(session, entry, args, place, streams),
        (None, ..) => Err(CliError::Usage("name a session and an entry, or use --text")),
    }
}

/// What one command redacted.
struct Done {
    session: Option<SessionId>,
    first: Redacted,
    left: Left,
    /// Entries with the same text that were not redacted.
    same: Vec<(SessionId, StoredEntry)>,
}

fn one_entry(
    session: &str,
    entry: &str,
    args: &RedactArgs,
    place: &StorePlace,
    streams: &mut Streams<'_>,
) -> Result<(), CliError> {
    let store = place.need()?;
    let session = find_session(&store, session, Latest::OfProject(&project_here()))?;
    let entry = entry_to_redact(&store, &session, entry)?;
    // A damaged entry has no words that could be looked for.
    let words = store.entry(&session, &entry).map(|stored| words_of(&stored.entry));
    let words = words.unwrap_or_default();
    let target = EntryPlace { session: session.clone(), entry: entry.clone() };
    let mut left = Left::default();
    // First, so that whoever is interrupted can do it again: afterwards nobody knows the words any more.
    left.forget_lines(&words);
    left.remove_copies(&store)?;
    let mut redacted = store.redact_all(&[target], args.reason.as_deref())?;
    left.set_remains(redacted.remains.clone());
    if !args.json {
        let news = match redacted.appended.appended_count {
            0 => "was redacted before",
            _ => "is redacted, and its text purged from the store",
        };
        tell(streams, &format!("{entry} of {session} {news}"));
        tell_others(&redacted, &entry, streams);
    }
    let mut same = same_text(&store, &words)?;
    if !same.is_empty() && (args.yes || is_agreed(&same, args.json, streams)?) {
        let more = store.redact_all(&places(&same), args.reason.as_deref())?;
        left.set_remains(more.remains);
        if !args.json {
            tell(streams, &format!("the same text was redacted in {}", placed(&more.purged)));
        }
        redacted.purged.extend(more.purged);
        redacted.guessable.extend(more.guessable);
        same.clear();
    }
    let done = Done { session: Some(session), first: redacted, left, same };
    finish(&done, args, place, streams)
}

fn by_text(
    text: &str,
    session: Option<&str>,
    args: &RedactArgs,
    place: &StorePlace,
    streams: &mut Streams<'_>,
) -> Result<(), CliError> {
    let store = place.need()?;
    let project = project_here();
    let find = |given| find_session(&store, given, Latest::OfProject(&project));
    let session = session.map(find).transpose()?;
    // What killed imports left holds text that no search finds.
    store.delete_left_behind()?;
    let found = store.entries_with_text(text, session.as_ref())?;
    if !args.yes && !found.is_empty() {
        list(&found, streams);
        let entries = counted(found.len() as u64, "entry", "entries");
        if !streams.agree(&format!("Redact {entries} for good? [y/N] "))? {
            return Err(CliError::NotRedacted);
        }
    }
    let mut left = Left::default();
    left.forget_text(text);
    left.remove_copies(&store)?;
    let redacted = store.redact_all(&places(&found), args.reason.as_deref())?;
    left.set_remains(redacted.remains.clone());
    if !args.json {
        let entries = counted(redacted.purged.len() as u64, "entry", "entries");
        match found.is_empty() {
            true => tell(streams, "no entry holds this text"),
            false => {
                let its = if redacted.purged.len() == 1 { "its" } else { "their" };
                tell(streams, &format!("{entries} redacted, and {its} text purged from the store"))
            }
        }
        tell_ids(&store, text, streams)?;
    }
    let same = match &session {
        Some(_) => store.entries_with_text(text, None)?,
        None => Vec::new(),
    };
    finish(&Done { session, first: redacted, left, same }, args, place, streams)
}

fn finish(
    done: &Done,
    args: &RedactArgs,
    place: &StorePlace,
    streams: &mut Streams<'_>,
) -> Result<(), CliError> {
    let appended = &done.first.appended;
    let last = appended.last_entry_id.as_ref().map_or("", EntryId::as_str);
    if args.json {
        let mut record = done.left.to_json(place);
        if let Some(session) = &done.session {
            let appended = appended_record(session, last, appended.appended_count);
            if let Ok(Value::Object(appended)) = serde_json::to_value(&appended) {
                record.extend(appended);
            }
        }
        record.insert("purged".to_owned(), listed(&done.first.purged));
        record.insert("guessable".to_owned(), listed(&done.first.guessable));
        record.insert("sameText".to_owned(), listed(&places(&done.same)));
        return write_json(streams, &record);
    }
    if !done.first.guessable.is_empty() {
        let names = named(&done.first.guessable);
        tell(
            streams,
            &format!(
                "the hash or the id of {names} can still confirm a guess: stored without a salt"
            ),
        );
    }
    if !done.same.is_empty() {
        tell(streams, "the same text is also in other entries; to redact them:");
        for (session, stored) in done.same.iter().take(LISTED_MAX) {
            let _ = writeln!(
                streams.notes(),
                "  tertulia sessions redact {session} {}",
                tertulia_chat::terminal::visible(stored.entry.id.as_str())
            );
        }
        tell_more(done.same.len(), streams);
    }
    done.left.tell(place, streams);
    match last {
        "" => Ok(()),
        last => write_line(streams, last),
    }
}

fn listed(places: &[EntryPlace]) -> Value {
    let one = |place: &EntryPlace| json!({ "sessionId": place.session.as_str(), "entryId": place.entry.as_str() });
    places.iter().map(one).collect()
}

fn named(places: &[EntryPlace]) -> String {
    let names = places.iter().take(LISTED_MAX).map(|place| place.entry.as_str());
    let names: Vec<&str> = names.collect();
    match places.len().saturating_sub(LISTED_MAX) {
        0 => names.join(", "),
        more => format!("{} and {more} more", names.join(", ")),
    }
}

/// The entries with their sessions, which may be of other projects.
fn placed(places: &[EntryPlace]) -> String {
    let one = |place: &EntryPlace| format!("{} of {}", place.entry.as_str(), place.session);
    let mut names: Vec<String> = places.iter().take(LISTED_MAX).map(one).collect();
    if places.len() > LISTED_MAX {
        names.push(format!("{} more", places.len() - LISTED_MAX));
    }
    names.join(", ")
}

/// Names sessions whose ids hold the text: an id is no entry, and cannot be redacted.
fn tell_ids(store: &SessionStore, text: &str, streams: &mut Streams<'_>) -> Result<(), CliError> {
    for id in store.ids()?.iter().filter(|id| id.as_str().contains(text)) {
        let line = format!("still in the ID of session {id}; delete the session to remove it");
        tell(streams, &line);
    }
    Ok(())
}

/// What else was purged: summaries, and answers that were made from the entry.
fn tell_others(redacted: &Redacted, entry: &EntryId, streams: &mut Streams<'_>) {
    let others: Vec<EntryPlace> =
        redacted.purged.iter().filter(|place| place.entry != *entry).cloned().collect();
    if !others.is_empty() {
        tell(streams, &format!("so are entries that were made from it: {}", placed(&others)));
    }
}

fn same_text(
    store: &SessionStore,
    words: &[String],
) -> Result<Vec<(SessionId, StoredEntry)>, CliError> {
    let mut same: Vec<(SessionId, StoredEntry)> = Vec::new();
    for text in words.iter().filter(|text| text.chars().count() >= SAME_CHARACTERS_MIN) {
        for (session, stored) in store.entries_with_text(text, None)? {
            let is_known =
                |(of, one): &(SessionId, StoredEntry)| *of == session && one.seq == stored.seq;
            if !same.iter().any(is_known) {
                same.push((session, stored));
            }
        }
    }
    Ok(same)
}

fn places(found: &[(SessionId, StoredEntry)]) -> Vec<EntryPlace> {
    let place = |(session, stored): &(SessionId, StoredEntry)| EntryPlace {
        session: session.clone(),
        entry: stored.entry.id.clone(),
    };
    found.iter().map(place).collect()
}

/// What an entry says, piece by piece.
fn words_of(entry: &Entry) -> Vec<String> {
    let text = |text: &str| vec![text.trim().to_owned()];
    match &entry.kind {
        EntryKind::Message(message) => {
            let parts = message.parts.iter().filter_map(|part| match &part.kind {
                PartKind::Text(said) | PartKind::Thinking(said) => Some(said.trim().to_owned()),
                PartKind::ToolResult(result) => {
                    serde_json::from_str::<String>(result.content.as_str()).ok()
                }
                _ => None,
            });
            parts.filter(|text| !text.is_empty()).collect()
        }
        EntryKind::TeamTask(task) => task.task.as_deref().map(text).unwrap_or_default(),
        EntryKind::SystemPromptOverride(other) => text(&other.system_prompt),
        _ => Vec::new(),
    }
}

/// Asks whether entries with the same text are to be redacted too; `false` where nobody can be asked.
fn is_agreed(
    same: &[(SessionId, StoredEntry)],
    json: bool,
    streams: &mut Streams<'_>,
) -> Result<bool, CliError> {
    if json || !streams.stdin_is_terminal {
        return Ok(false);
    }
    list(same, streams);
    let entries = counted(same.len() as u64, "other entry", "other entries");
    streams.agree(&format!("The same text is in {entries}. Redact it there too? [y/N] "))
}

/// Where entries are and who said them, without their text.
fn list(found: &[(SessionId, StoredEntry)], streams: &mut Streams<'_>) {
    for (session, stored) in found.iter().take(LISTED_MAX) {
        let who = match &stored.entry.kind {
            EntryKind::Message(message) => message.speaker.as_ref().map(|one| &*one.role_id),
            _ => None,
        };
        let who = who.map(|who| format!(" by {who}")).unwrap_or_default();
        let kind = stored.entry.kind.type_name();
        tell(streams, &format!("{session} {}: {kind}{who}", stored.entry.id));
    }
    tell_more(found.len(), streams);
}

fn tell_more(count: usize, streams: &mut Streams<'_>) {
    if count > LISTED_MAX {
        tell(streams, &format!("and {} more", count - LISTED_MAX));
    }
}

/// The text that was given, or read.
fn wanted_text(given: &str, yes: bool, streams: &mut Streams<'_>) -> Result<String, CliError> {
    if !yes && !streams.stdin_is_terminal {
        return Err(CliError::Usage("not a terminal; use --yes to confirm"));
    }
    let mut text = given.to_owned();
    if given == "-" {
        text.clear();
        if streams.stdin_is_terminal {
            let _ = write!(streams.stderr, "Text: ");
            let _ = streams.stderr.flush();
            streams.stdin.read_line(&mut text).map_err(CliError::Input)?;
        } else {
            let mut limited = Read::take(&mut *streams.stdin, TEXT_BYTES_MAX);
            limited.read_to_string(&mut text).map_err(CliError::Input)?;
        }
    }
    let text = text.strip_suffix('\n').unwrap_or(&text);
    let text = text.strip_suffix('\r').unwrap_or(text);
    match text.trim().is_empty() {
        true => Err(CliError::Usage("the text to redact is empty")),
        false => Ok(text.to_owned()),
    }
}

/// The entry that is meant. What is purged never comes back, so a digit or two that fit by chance do not do.
fn entry_to_redact(
    store: &SessionStore,
    session: &SessionId,
    given: &str,
) -> Result<EntryId, CliError> {
    let entry = find_stored_entry(store, session, given)?;
    let digits = given.strip_prefix("e-").unwrap_or(given).chars().count();
    match entry.as_str() == given || digits >= REDACTED_DIGITS_MIN {
        true => Ok(entry),
        false => Err(CliError::TooFewDigits { given: given.to_owned(), digits }),
    }
}
