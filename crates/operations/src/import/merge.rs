//! Merges the entries of a reader into a log: decides which are new, and determines their ids and parents.

use std::borrow::Cow;
use std::collections::{HashMap, HashSet};
use std::path::Path;

use tertulia_dialect::native::write::digests;
use tertulia_native::{FoundSession, SessionReader};
use tertulia_session::json::Json;
use tertulia_session::{
    Entry, EntryId, EntryKind, Fields, NativeDirection, NativeSession, NewEntry,
};
use tertulia_store::StoreError;

use super::add::Added;
use super::known::{Found, KnownLog, SECRETS, hash_of};
use super::{further_id, native_id};
use crate::handover::add_digests;

/// A merge in progress.
pub(super) struct Merge<'a> {
    session: &'a FoundSession,
    known: Option<KnownLog>,
    added: Added<'a>,
    /// The parent of root entries.
    first: EntryId,
    name: Option<String>,
    /// The entry of the log for an id of the reader, if it is not the entry of the same id.
    places: HashMap<EntryId, EntryId>,
    /// Hashes of the ids of records that were written from the log. They have no entries of their own.
    written: HashSet<u64>,
    /// Hashes of the ids, as the reader gives them, of entries that a known log got in this import.
    new: HashSet<u64>,
    /// For every digest of what was written, how often it has not been found yet.
    left_to_find: HashMap<u32, u32>,
    /// The last entry of the records that were known before. The id is that of the reader.
    boundary: Option<EntryId>,
    changed: u64,
}

impl<'a> Merge<'a> {
    pub(super) fn new(
        session: &'a FoundSession,
        known: Option<KnownLog>,
        added: Added<'a>,
    ) -> Self {
        let first = known.as_ref().map_or_else(|| EntryId::from(""), |log| log.first.clone());
        let name = known.as_ref().and_then(KnownLog::name_in_front);
        let (places, written, new) = (HashMap::new(), HashSet::new(), HashSet::new());
        let left_to_find = known.as_ref().map(KnownLog::left_to_find).unwrap_or_default();
        let (boundary, changed) = (None, 0);
        Self {
            session,
            known,
            added,
            first,
            name,
            places,
            written,
            new,
            left_to_find,
            boundary,
            changed,
        }
    }

    /// Adds the header if the log is new.
    pub(super) fn begin(&mut self) -> Result<(), StoreError> {
        if self.known.is_none() {
            self.first = self.added.header(self.session)?;
        }
        Ok(())
    }

    /// Merges the entries that the reader returned last. Returns whether any of them is new, or there are none.
    pub(super) fn take(
        &mut self,
        reader: &SessionReader<'_>,
        entries: &mut Vec<Entry>,
    ) -> Result<bool, StoreError> {
        let is_in_prefix = self.known.as_ref().is_some_and(|log| {
            log.has_prefix && reader.is_in_main_file() && reader.records() <= log.link.records
        });
        let mut is_any_new = entries.is_empty();
        let mut record: Vec<Entry> = Vec::new();
        for entry in entries.drain(..) {
            let is_next =
                record.first().is_some_and(|first| entry.id != further_id(&first.id, record.len()));
            if is_next {
                is_any_new |= self.record(std::mem::take(&mut record), is_in_prefix)?;
            }
            record.push(entry);
        }
        if !record.is_empty() {
            is_any_new |= self.record(record, is_in_prefix)?;
        }
        if is_in_prefix {
            self.boundary.clone_from(&reader.session().leaf);
        }
        Ok(is_any_new)
    }

    /// Merges the entries of one record. Returns whether it is new.
    fn record(&mut self, entries: Vec<Entry>, is_in_prefix: bool) -> Result<bool, StoreError> {
        let Some(first) = entries.first() else { return Ok(false) };
        let native = first.id.clone();
        let own = self.named(&native);
        let Some(log) = &self.known else {
            self.add(entries, &own)?;
            return Ok(true);
        };
        let found = log.compare(&own, first);
        let is_written =
            found == Found::New && (is_in_prefix || self.is_written_from_log(&entries));
        let Some(log) = &self.known else { return Ok(false) };
        let found = match found {
            Found::New if is_written => {
                self.written.extend(entries.iter().map(|entry| hash_of(entry.id.as_str())));
                return Ok(false);
            }
            _ if is_in_prefix && !log.has_versions() => Found::Same,
            found => found,
        };
        match found {
            Found::Same => {
                self.at(&entries, &own);
                self.pass_new(&entries);
                Ok(false)
            }
            Found::New => {
                self.add(entries, &own)?;
                Ok(true)
            }
            Found::Changed => self.version(entries, &own),
        }
    }

    /// Returns whether a record was written from the log and has no other content. Each written record counts once.
    /// An agent that keeps its sessions in a database gives the records other ids.
    fn is_written_from_log(&mut self, entries: &[Entry]) -> bool {
        if self.left_to_find.is_empty() {
            return false;
        }
        let said = entries.iter().filter_map(Entry::message);
        let digests: Vec<u32> = said.flat_map(digests).collect();
        let is_written = !digests.is_empty()
            && digests.iter().all(|one| self.left_to_find.get(one).is_some_and(|left| *left > 0));
        if is_written {
            for one in digests {
                self.left_to_find.entry(one).and_modify(|left| *left -= 1);
            }
        }
        is_written
    }

    /// Merges a record whose id is in the log with another text: as the version that has this text, or as a new
    /// version.
    fn version(&mut self, entries: Vec<Entry>, own: &EntryId) -> Result<bool, StoreError> {
        for number in 2_u32.. {
            let version = EntryId::from(format!("{own}~{number}"));
            let (Some(log), Some(first)) = (&self.known, entries.first()) else { break };
            match log.compare(&version, first) {
                Found::Same => {
                    self.at(&entries, &version);
                    break;
                }
                Found::Changed => {}
                Found::New => {
                    self.changed += 1;
                    self.at(&entries, &version);
                    self.add(entries, &version)?;
                    return Ok(true);
                }
            }
        }
        Ok(false)
    }

    /// Records the entries of a record under their new ids, if these differ from their own ids.
    fn at(&mut self, entries: &[Entry], place: &EntryId) {
        let is_elsewhere = entries.first().is_some_and(|first| first.id != *place);
        if is_elsewhere && self.name.is_none() || place.as_str().contains('~') {
            for (entry, number) in entries.iter().zip(0..) {
                self.places.insert(entry.id.clone(), numbered(place, number));
            }
        }
    }

    /// Lets what follows a known record without a message follow the new one before it. The agent put the new one
    /// there, for example a part of an answer before its usage, and the log has the record on another branch.
    fn pass_new(&mut self, entries: &[Entry]) {
        let (Some(first), Some(last)) = (entries.first(), entries.last()) else { return };
        let Some(parent) = &first.parent_id else { return };
        let says = entries.iter().any(|entry| entry.message().is_some());
        if !says && self.new.contains(&hash_of(parent.as_str())) {
            self.places.insert(last.id.clone(), self.place(parent));
            self.new.insert(hash_of(last.id.as_str()));
        }
    }

    /// Adds the entries of a record under this id.
    fn add(&mut self, entries: Vec<Entry>, id: &EntryId) -> Result<(), StoreError> {
        for (mut entry, number) in entries.into_iter().zip(0..) {
            if self.known.is_some() {
                self.new.insert(hash_of(entry.id.as_str()));
            }
            entry.parent_id = Some(match number {
                0 => self.parent(entry.parent_id.as_ref()),
                number => numbered(id, number - 1),
            });
            entry.id = numbered(id, number);
            self.rename_references(&mut entry.kind);
            self.added.push(entry)?;
        }
        Ok(())
    }

    /// Returns the parent of a new entry in the log. `native` is the id of the parent in the reader.
    fn parent(&self, native: Option<&EntryId>) -> EntryId {
        let Some(native) = native else { return self.first.clone() };
        let place = self.place(native);
        let Some(log) = &self.known else { return place };
        if self.boundary.as_ref() == Some(native) || place == log.link.anchor {
            return log.continuation();
        }
        place
    }

    /// Returns the entry of the log for an id of the reader.
    fn place(&self, native: &EntryId) -> EntryId {
        if let Some(place) = self.places.get(native) {
            return place.clone();
        }
        match &self.known {
            Some(log) if self.written.contains(&hash_of(native.as_str())) => {
                log.link.anchor.clone()
            }
            _ => self.named(native),
        }
    }

    fn named(&self, native: &EntryId) -> EntryId {
        match &self.name {
            Some(name) => format!("{name}{native}").into(),
            None => native.clone(),
        }
    }

    /// Replaces the ids in a summary by those of the log.
    fn rename_references(&self, kind: &mut EntryKind) {
        let EntryKind::CompactionSummary(summary) = kind else { return };
        let kept = summary.kept_ids.iter_mut().flatten();
        let covered = summary.covered_from_id.iter_mut().chain(&mut summary.covered_to_id);
        for id in kept.chain(covered).chain([&mut summary.first_kept_entry_id]) {
            *id = self.place(id);
        }
    }

    /// Returns the link that records how far the session was imported.
    pub(super) fn link(&self, reader: &SessionReader<'_>, redacts_secrets: bool) -> NewEntry {
        let facts = reader.session();
        let mut unknown = Fields::NONE;
        if redacts_secrets && let Ok(yes) = Json::parse("true") {
            unknown.push(SECRETS, yes);
        }
        if let Some(log) = &self.known {
            add_digests(&mut unknown, &log.link.written);
        }
        let payload = NativeSession {
            agent: self.session.format.as_str().into(),
            native_session_id: native_id(self.session, facts.native_id.as_deref()).into(),
            direction: NativeDirection::Imported,
            path: Some(self.path().into()),
            records: reader.records(),
            bytes: reader.bytes(),
            hash: reader.hash().into(),
            last_record_id: facts.leaf_record.clone(),
            receipt: None,
            unknown,
        };
        // The link becomes the newest entry of the log, so it must be on the branch of messages that others wrote
        // meanwhile.
        let anchor = match (&facts.leaf, &self.known) {
            (Some(leaf), _) => self.parent(Some(leaf)),
            (None, Some(log)) => log.continuation(),
            (None, None) => self.first.clone(),
        };
        let anchor = match &self.known {
            Some(log) if anchor == *log.tail() => log.said_tail().clone(),
            _ => anchor,
        };
        NewEntry::new(EntryKind::NativeSession(Box::new(payload))).with_parent(anchor)
    }

    /// Returns whether the newest link does not describe the session as it is now: its agent rewrote or moved the file.
    pub(super) fn is_link_stale(&self, reader: &SessionReader<'_>, redacts_secrets: bool) -> bool {
        let Some(log) = &self.known else { return false };
        if redacts_secrets && !log.redacts_secrets {
            return true;
        }
        if log.link.path.as_deref() == Some(&*self.path()) {
            return (log.link.bytes, &*log.link.hash) != (reader.bytes(), &*reader.hash());
        }
        // Otherwise this may be a copy. The link names the file that the agent uses.
        log.link.path.as_deref().is_none_or(|path| !Path::new(path).exists())
    }

    fn path(&self) -> Cow<'_, str> {
        self.session.place.path().to_string_lossy()
    }

    /// Returns whether a message was added.
    pub(super) fn has_messages(&self) -> bool {
        self.added.has_messages()
    }

    /// Returns how many records were changed, and what was added.
    pub(super) fn into_added(self) -> (u64, Added<'a>) {
        (self.changed, self.added)
    }
}

fn numbered(first: &EntryId, number: usize) -> EntryId {
    if number == 0 { first.clone() } else { further_id(first, number) }
}
