//! `tertulia sessions redact`: removes an entry's text, or a text wherever it is, and reports what remains.

use std::io::Read;

use serde_json::{Value, json};
use tertulia_chat::terminal::visible;
use tertulia_operations::names::find_stored_entry;
use tertulia_operations::session_record::AppendedRecord;
use tertulia_session::{Entry, EntryId, EntryKind, PartKind};
use tertulia_store::{EntryLocation, Redacted, SessionId, SessionStore, StoredEntry};

use super::leftovers::Leftovers;
use super::{counted, print_note, write_json, write_line};
use crate::Streams;
use crate::args::RedactArgs;
use crate::commands::said_by;
use crate::error::{CliError, Result};
use crate::store_location::{StoreLocation, find_here};

const REDACTED_DIGITS_MIN: usize = 4;
/// Shorter texts match many entries by chance.
const SAME_CHARACTERS_MIN: usize = 6;
const LISTED_MAX: usize = 10;
const TEXT_BYTES_MAX: u64 = 1 << 20;

pub(super) fn run(
    args: &RedactArgs,
    location: &StoreLocation,
    streams: &mut Streams<'_>,
) -> Result {
    match (&args.text, &args.session, &args.entry) {
        (Some(text), ..) => {
            let text = wanted_text(text, args.yes, streams)?;
            Redact { args, location, store: location.open_required()?, streams }.by_text(&text)
        }
        (None, Some(session), Some(entry)) => {
            let (store, session) = location.find(session)?;
            Redact { args, location, store, streams }.one_entry(session, entry)
        }
        (None, ..) => Err(CliError::Usage("name a session and an entry, or use --text")),
    }
}

type Found = (SessionId, StoredEntry);

struct Redact<'a, 's> {
    args: &'a RedactArgs,
    location: &'a StoreLocation,
    store: SessionStore,
    streams: &'a mut Streams<'s>,
}

struct Done {
    session: Option<SessionId>,
    first: Redacted,
    leftovers: Leftovers,
    /// Entries with the same text that were not redacted.
    same: Vec<Found>,
}

impl Redact<'_, '_> {
    fn one_entry(&mut self, session: SessionId, entry: &str) -> Result {
        let entry = entry_to_redact(&self.store, &session, entry)?;
        // The text of a damaged entry cannot be searched for.
        let words = self.store.entry(&session, &entry).map(|stored| words_of(&stored.entry));
        let words = words.unwrap_or_default();
        let target = EntryLocation { session: session.clone(), entry: entry.clone() };
        let mut leftovers = Leftovers::default();
        // Done before the redaction, which removes the text. So an interrupted redaction can be repeated.
        leftovers.forget_lines(&words);
        leftovers.remove_copies(&self.store)?;
        let mut redacted = self.redact(&[target], &mut leftovers)?;
        let news = match redacted.appended.appended_count {
            0 => "was already redacted",
            _ => "is redacted; the store no longer contains its text",
        };
        self.news(&format!("{entry} of {session} {news}"));
        let others = redacted.purged.iter().filter(|location| location.entry != entry);
        let others: Vec<EntryLocation> = others.cloned().collect();
        if !others.is_empty() {
            self.news(&format!("entries derived from it were redacted too: {}", located(&others)));
        }
        let mut same = same_text(&self.store, &words)?;
        if !same.is_empty() && (self.args.yes || self.is_agreed(&same)?) {
            let more = self.redact(&locations_of(&same), &mut leftovers)?;
            self.news(&format!("the same text was redacted in {}", located(&more.purged)));
            redacted.purged.extend(more.purged);
            redacted.guessable.extend(more.guessable);
            same.clear();
        }
        self.finish(&Done { session: Some(session), first: redacted, leftovers, same })
    }

    fn by_text(&mut self, text: &str) -> Result {
        let session = self.args.session.as_deref();
        let session = session.map(|given| find_here(&self.store, given)).transpose()?;
        // Interrupted imports may have left the text where no search finds it.
        self.store.delete_left_behind()?;
        let found = self.store.entries_with_text(text, session.as_ref())?;
        if !self.args.yes && !found.is_empty() {
            self.list(&found);
            let entries = counted(found.len() as u64, "entry", "entries");
            if !self.streams.confirm(&format!("Redact {entries} permanently? [y/N] "))? {
                return Err(CliError::Failed("nothing was redacted".to_owned()));
            }
        }
        let mut leftovers = Leftovers::default();
        leftovers.forget_text(text);
        leftovers.remove_copies(&self.store)?;
        let first = self.redact(&locations_of(&found), &mut leftovers)?;
        if found.is_empty() {
            self.news("no entry contains this text");
        } else {
            let entries = counted(first.purged.len() as u64, "entry", "entries");
            let its = if first.purged.len() == 1 { "its" } else { "their" };
            self.news(&format!("{entries} redacted; the store no longer contains {its} text"));
        }
        if !self.args.json {
            // An ID is not an entry and cannot be redacted.
            for id in self.store.ids()?.iter().filter(|id| id.as_str().contains(text)) {
                self.news(&format!(
                    "the text is still in the ID of session {id}; to remove it, delete the session"
                ));
            }
        }
        let same = match &session {
            Some(_) => self.store.entries_with_text(text, None)?,
            None => Vec::new(),
        };
        self.finish(&Done { session, first, leftovers, same })
    }

    fn redact(&self, locations: &[EntryLocation], leftovers: &mut Leftovers) -> Result<Redacted> {
        let redacted = self.store.redact_all(locations, self.args.reason.as_deref())?;
        leftovers.remains.clone_from(&redacted.remains);
        Ok(redacted)
    }

    /// Prints a note, unless `--json` prints a record at the end.
    fn news(&mut self, line: &str) {
        if !self.args.json {
            print_note(self.streams, line);
        }
    }

    fn finish(&mut self, done: &Done) -> Result {
        let appended = AppendedRecord::new(done.session.as_ref(), &done.first.appended);
        let last = appended.last_appended_entry_id.unwrap_or_default();
        if self.args.json {
            let mut record = done.leftovers.to_json(self.location);
            let last_appended_entry_id = Some(last);
            let appended = AppendedRecord { last_appended_entry_id, ..appended };
            if done.session.is_some()
                && let Ok(Value::Object(appended)) = serde_json::to_value(&appended)
            {
                record.extend(appended);
            }
            record.insert("purged".to_owned(), listed(&done.first.purged));
            record.insert("guessable".to_owned(), listed(&done.first.guessable));
            record.insert("sameText".to_owned(), listed(&locations_of(&done.same)));
            return write_json(self.streams, &record);
        }
        if !done.first.guessable.is_empty() {
            let names = named(&done.first.guessable);
            let line = "can still be used to check a guess of the text, because they were stored \
                without a salt";
            self.news(&format!("the hash or the id of {names} {line}"));
        }
        if !done.same.is_empty() {
            self.news("the same text is also in other entries; to redact them:");
            for (session, stored) in done.same.iter().take(LISTED_MAX) {
                let id = visible(stored.entry.id.as_str());
                let _ = writeln!(self.streams.notes(), "  tertulia sessions redact {session} {id}");
            }
            self.tell_more(done.same.len());
        }
        done.leftovers.print(self.location, self.streams);
        if last.is_empty() { Ok(()) } else { write_line(self.streams, last) }
    }

    /// Asks whether to redact entries with the same text too; `false` without a terminal.
    fn is_agreed(&mut self, same: &[Found]) -> Result<bool> {
        if self.args.json || !self.streams.stdin_is_terminal {
            return Ok(false);
        }
        self.list(same);
        let entries = counted(same.len() as u64, "other entry", "other entries");
        let question = format!("The same text is in {entries}. Redact it there too? [y/N] ");
        self.streams.confirm(&question)
    }

    /// Lists entries with their speakers, but without their text.
    fn list(&mut self, found: &[Found]) {
        for (session, stored) in found.iter().take(LISTED_MAX) {
            let who = said_by(&stored.entry).map(|who| format!(" by {who}")).unwrap_or_default();
            let kind = stored.entry.kind.type_name();
            print_note(self.streams, &format!("{session} {}: {kind}{who}", stored.entry.id));
        }
        self.tell_more(found.len());
    }

    fn tell_more(&mut self, count: usize) {
        if count > LISTED_MAX {
            print_note(self.streams, &format!("and {} more", count - LISTED_MAX));
        }
    }
}

fn listed(locations: &[EntryLocation]) -> Value {
    let one = |location: &EntryLocation| json!({ "sessionId": location.session.as_str(), "entryId": location.entry.as_str() });
    locations.iter().map(one).collect()
}

fn named(locations: &[EntryLocation]) -> String {
    let names = locations.iter().take(LISTED_MAX).map(|location| location.entry.as_str());
    let names = names.collect::<Vec<_>>().join(", ");
    match locations.len().saturating_sub(LISTED_MAX) {
        0 => names,
        more => format!("{names} and {more} more"),
    }
}

/// Formats entries with their sessions, which may belong to other projects.
fn located(locations: &[EntryLocation]) -> String {
    let one =
        |location: &EntryLocation| format!("{} of {}", location.entry.as_str(), location.session);
    let mut names: Vec<String> = locations.iter().take(LISTED_MAX).map(one).collect();
    if locations.len() > LISTED_MAX {
        names.push(format!("{} more", locations.len() - LISTED_MAX));
    }
    names.join(", ")
}

fn same_text(store: &SessionStore, words: &[String]) -> Result<Vec<Found>> {
    let mut same: Vec<Found> = Vec::new();
    for text in words.iter().filter(|text| text.chars().count() >= SAME_CHARACTERS_MIN) {
        for (session, stored) in store.entries_with_text(text, None)? {
            let is_known = |(of, one): &Found| *of == session && one.seq == stored.seq;
            if !same.iter().any(is_known) {
                same.push((session, stored));
            }
        }
    }
    Ok(same)
}

fn locations_of(found: &[Found]) -> Vec<EntryLocation> {
    let location = |(session, stored): &Found| {
        let (session, entry) = (session.clone(), stored.entry.id.clone());
        EntryLocation { session, entry }
    };
    found.iter().map(location).collect()
}

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

fn wanted_text(given: &str, yes: bool, streams: &mut Streams<'_>) -> Result<String> {
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

/// Finds the entry. Redaction cannot be undone, so a very short prefix is refused.
fn entry_to_redact(store: &SessionStore, session: &SessionId, given: &str) -> Result<EntryId> {
    let entry = find_stored_entry(store, session, given)?;
    let digits = given.strip_prefix("e-").unwrap_or(given).chars().count();
    match entry.as_str() == given || digits >= REDACTED_DIGITS_MIN {
        true => Ok(entry),
        false => Err(CliError::Failed(format!(
            "redact needs at least four digits of the entry's ID; {given} has {digits}"
        ))),
    }
}
