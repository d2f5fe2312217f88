//! Finds what a redaction affects besides its target: answers that were made from it, other entries with the same
//! text, and copies in the files of the database. Reads all sessions page by page.

mod native;

use std::collections::HashSet;
use std::path::PathBuf;

use tertulia_session::json::{self, Json, Kind, Object};
use tertulia_session::record::EntryRecord;
use tertulia_session::{
    Cause, Entry, EntryId, EntryKind, Message, NewEntry, Redaction, Timestamp, TurnActivity,
};

use crate::clock::now_millis;
use crate::model::{Append, Appended, StoredEntry};
use crate::new_file::sync_folder;
use crate::salting::fresh_salt;
use crate::search::json_values;
use crate::{Problem, Result, SessionId, SessionStore, StoreError};

/// The field of a message's `meta` that names the entries from which the message was made.
const SOURCES: &str = "sources";
/// The built-in members whose answers quote entries, by their ids in the first versions.
const QUOTING: [&str; 2] = ["scribe", "librarian"];

/// The location of an entry: its session and id.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct EntryLocation {
    pub session: SessionId,
    pub entry: EntryId,
}

/// The result of a redaction.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Redacted {
    /// The append to the session of the first target; its last entry is that target's redaction.
    pub appended: Appended,
    /// The entries that it purged, including summaries and recalled texts.
    pub purged: Vec<EntryLocation>,
    /// The purged entries whose text can still be guessed and confirmed by their hash or id. They were stored
    /// without a salt, or under an id computed from their text.
    pub guessable: Vec<EntryLocation>,
    pub remains: Vec<Remains>,
}

/// A reason why the files of a database may still contain purged or deleted bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Remains {
    /// Another process reads the SQLite file, so its journal could not be emptied yet.
    Journal,
    /// The role has no permission to VACUUM the server's tables.
    NotVacuumed,
    /// The server's tables are large or in use, so free space in their files may contain the bytes.
    FreeSpace,
    /// An open transaction on the server may still see the old rows.
    OldRows,
    /// The role has no permission to make the server write its pages to disk now.
    NotFlushed,
}

impl Remains {
    /// Returns the name for programs.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Journal => "journal",
            Self::NotVacuumed => "not_vacuumed",
            Self::FreeSpace => "free_space",
            Self::OldRows => "old_rows",
            Self::NotFlushed => "not_flushed",
        }
    }

    /// Describes what remains, and how long it remains.
    pub fn describe(self) -> &'static str {
        match self {
            Self::Journal => {
                "the journal next to the store: another process is reading it; the next write empties it"
            }
            Self::NotVacuumed => {
                "old rows in the server's files: this role may not VACUUM the tables in schema \
                 tertulia; ask their owner to do it"
            }
            Self::FreeSpace => {
                "free space in the server's files, until it is reused: the tables in schema tertulia \
                 are large or in use; VACUUM FULL cleans them"
            }
            Self::OldRows => {
                "old rows in the server's files: another transaction is open; VACUUM the tables in \
                 schema tertulia when it has ended"
            }
            Self::NotFlushed => "pages on the server's disk, until its next checkpoint",
        }
    }
}

/// The copies that migrations had left, after an attempt to remove them.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct OldCopies {
    pub removed: Vec<PathBuf>,
    /// The copies that still exist, because the store failed its check or the file cannot be removed.
    pub kept: Vec<PathBuf>,
}

/// Returns the `meta` value that names the entries from which a message was made. A source without a session is in
/// the same session as the message.
pub fn sources_meta(sources: &[(Option<SessionId>, EntryId)]) -> Option<Json> {
    let field = |name: &str, text: &str| format!(r#""{name}":{}"#, Json::text(text).as_str());
    let one = |(session, entry): &(Option<SessionId>, EntryId)| {
        let session = session.as_ref().map(|id| field("sessionId", id.as_str()) + ",");
        format!("{{{}{}}}", session.unwrap_or_default(), field("entryId", entry.as_str()))
    };
    let list: Vec<String> = sources.iter().map(one).collect();
    let text = format!(r#"{{"{SOURCES}":[{}]}}"#, list.join(","));
    (!list.is_empty()).then(|| Json::parse(&text).ok())?
}

/// Returns whether an entry is an answer of a built-in member that was made from other entries.
pub fn has_sources(entry: &Entry) -> bool {
    // Any session id works here, because only the existence of an origin matters.
    "any".parse::<SessionId>().is_ok_and(|session| Origin::from_entry(&session, entry).is_some())
}

/// The origin of a message's content.
enum Origin {
    Named(Vec<EntryLocation>),
    /// An answer of an older version, which cites entries in its text.
    Cited(String),
}

impl Origin {
    fn from_entry(session: &SessionId, entry: &Entry) -> Option<Self> {
        let EntryKind::Message(message) = &entry.kind else { return None };
        if let Some(sources) = named_sources(session, message) {
            return Some(Self::Named(sources));
        }
        let speaker = message.speaker.as_deref()?;
        QUOTING.contains(&&*speaker.role_id).then(|| Self::Cited(message.text().into_owned()))
    }

    fn holds(&self, session: &SessionId, target: &EntryLocation) -> bool {
        let is_here = *session == target.session;
        match self {
            Self::Named(sources) => sources.contains(target),
            Self::Cited(text) => {
                is_here && cites(text, target.entry.as_str())
                    || text.contains(&format!("({} {})", target.session, target.entry))
            }
        }
    }
}

/// Returns whether a line starts with a list mark and an id, or a prefix of one, in brackets.
fn cites(text: &str, id: &str) -> bool {
    text.lines().any(|line| {
        let cited = line.trim_start_matches("- ").strip_prefix('[');
        let cited = cited.and_then(|rest| rest.split_once(']')).map(|(cited, _)| cited);
        // The shortest form has `e-` and six digits.
        cited.is_some_and(|cited| cited == id || (cited.len() >= 8 && id.starts_with(cited)))
    })
}

fn named_sources(session: &SessionId, message: &Message) -> Option<Vec<EntryLocation>> {
    let meta = message.meta.as_ref()?;
    let mut fields = Object::try_from(meta.raw()).ok()?;
    let list = json::elements(fields.take(SOURCES)?).ok()?;
    let read = |raw| {
        let mut source = Object::try_from(raw).ok()?;
        let entry = EntryId::from(source.need_text("entryId").ok()?);
        let named = source.take_text("sessionId").ok()?;
        let session = match named {
            Some(named) => named.parse::<SessionId>().ok()?,
            None => session.clone(),
        };
        Some(EntryLocation { session, entry })
    };
    Some(list.into_iter().filter_map(read).collect())
}

/// Returns whether an entry contains a text in its messages, tool calls, results, names or notes,
/// as a string or as a number. Ids, hashes and prompt records do not count.
pub(crate) fn holds_text(entry: &Entry, text: &str) -> bool {
    if entry.is_purged() || text.is_empty() {
        return false;
    }
    let mut bare = entry.clone();
    (bare.salt, bare.parent_id, bare.timestamp) = (None, None, None);
    bare.id = EntryId::from("");
    let kept = native::take_record(&mut bare.meta);
    if kept.is_some_and(|record| native::holds_text(&record, text)) {
        return true;
    }
    match &mut bare.kind {
        EntryKind::Usage(_) | EntryKind::ContextCut(_) => return false,
        // The record of a prompt contains only headers, names and the system text.
        EntryKind::Turn(turn) => {
            (turn.prompt_hash, turn.native_session_id, turn.turn_id) = (None, None, None);
            // The sources are ids and names; only their unknown fields may contain text of users.
            let is_known = |source: &Json| source.kind() != Kind::Object;
            if !matches!(&turn.cause, Cause::Other(source) if !is_known(source)) {
                turn.cause = Cause::PassedOver;
            }
            turn.cause_source = turn.cause_source.take().filter(|source| !is_known(source));
        }
        EntryKind::TurnEvent(event) => {
            event.turn_id = EntryId::from("");
            if let TurnActivity::Resent { prompt_hash, .. } = &mut event.activity {
                *prompt_hash = "".into();
            }
        }
        EntryKind::CompactionSummary(summary) => summary.covered_hash = None,
        EntryKind::Recall(recall) => recall.source_ids.clear(),
        EntryKind::NativeSession(session) => {
            (session.native_session_id, session.hash) = ("".into(), "".into());
            session.last_record_id = None;
        }
        _ => {}
    }
    let record = EntryRecord::new(&bare).to_json();
    let mut strings = String::new();
    json_values(&record, &mut strings);
    strings.contains(text) || has_number(&record, text)
}

/// Returns whether a text is a number that occurs in a JSON text outside of strings.
fn has_number(record: &str, number: &str) -> bool {
    if !number.bytes().all(|byte| byte.is_ascii_digit() || byte == b'.') {
        return false;
    }
    let is_part = |c: char| c.is_ascii_digit() || c == '.';
    record.match_indices(number).any(|(at, _)| {
        let before = record.get(..at).and_then(|before| before.chars().next_back());
        let behind = record.get(at + number.len()..).and_then(|behind| behind.chars().next());
        matches!(before, Some(':' | ',' | '[' | '-')) && !behind.is_some_and(is_part)
    })
}

/// Returns whether the hash or the id of an entry can confirm a guess of its text.
fn is_guessable(entry: &Entry) -> bool {
    let unsalted = Entry { salt: None, ..entry.clone() };
    entry.salt.is_none() || unsalted.content_id() == entry.id
}

impl SessionStore {
    /// Returns all entries that contain a text, oldest first, in one session or in all. Unreadable
    /// entries are skipped.
    pub fn entries_with_text(
        &self,
        text: &str,
        session: Option<&SessionId>,
    ) -> Result<Vec<(SessionId, StoredEntry)>> {
        let mut found = Vec::new();
        self.scan(session, |session, stored| {
            if holds_text(&stored.entry, text) {
                found.push((session.clone(), stored));
            }
        })?;
        Ok(found)
    }

    /// Returns the answers of built-in members, in all sessions, that were made from these entries
    /// or from each other.
    pub fn derived_from(&self, targets: &[EntryLocation]) -> Result<Vec<EntryLocation>> {
        let mut answers: Vec<(EntryLocation, Origin)> = Vec::new();
        self.scan(None, |session, stored| {
            if let Some(origin) = Origin::from_entry(session, &stored.entry) {
                let location = EntryLocation { session: session.clone(), entry: stored.entry.id };
                answers.push((location, origin));
            }
        })?;
        let mut reached: Vec<EntryLocation> = targets.to_vec();
        let mut known: HashSet<EntryLocation> = targets.iter().cloned().collect();
        let mut at = 0;
        while let Some(target) = reached.get(at).cloned() {
            at += 1;
            for (location, origin) in &answers {
                if origin.holds(&location.session, &target) && known.insert(location.clone()) {
                    reached.push(location.clone());
                }
            }
        }
        Ok(reached.split_off(targets.len()))
    }

    fn scan(
        &self,
        session: Option<&SessionId>,
        mut look: impl FnMut(&SessionId, StoredEntry),
    ) -> Result<()> {
        let sessions = match session {
            Some(session) => vec![session.clone()],
            None => self.ids()?,
        };
        for session in &sessions {
            let scanned = self.each_row(session, |row| {
                row.decode().into_iter().for_each(|stored| look(session, stored));
            });
            match scanned {
                // The session was deleted meanwhile.
                Err(StoreError::SessionNotFound(_)) if sessions.len() > 1 => {}
                scanned => scanned?,
            }
        }
        Ok(())
    }

    /// Hides entries, and the answers made from them, from every reader. Purges their bytes, and the bytes of
    /// summaries and recalled texts that may contain their text, also from the files of the database.
    pub fn redact_all(&self, targets: &[EntryLocation], reason: Option<&str>) -> Result<Redacted> {
        let derived = self.derived_from(targets)?;
        let same_record = self.entries_of_same_records(targets.iter().chain(&derived))?;
        let entries_with_repeated_text =
            self.entries_with_repeated_text(targets.iter().chain(&derived))?;
        let all =
            targets.iter().chain(&derived).chain(&same_record).chain(&entries_with_repeated_text);
        let mut sessions: Vec<(&SessionId, Vec<&EntryId>)> = Vec::new();
        for EntryLocation { session, entry } in all {
            match sessions.iter_mut().find(|(known, _)| *known == session) {
                Some((_, entries)) => entries.push(entry),
                None => sessions.push((session, vec![entry])),
            }
        }
        let (mut first, mut purged, mut guessable) = (None, Vec::new(), Vec::new());
        for (session, mut here) in sessions {
            // The first target comes last, so that its redaction is the last entry.
            here.reverse();
            let before = self.readable(session)?;
            let appended = self.append_redactions(session, &here, reason)?;
            let after: HashSet<EntryId> =
                self.readable(session)?.into_iter().map(|(id, _)| id).collect();
            for (entry, is_guessable) in before {
                if !after.contains(&entry) {
                    let location = EntryLocation { session: session.clone(), entry };
                    guessable.extend(is_guessable.then(|| location.clone()));
                    purged.push(location);
                }
            }
            first.get_or_insert(appended);
        }
        let nothing = Appended { last_entry_id: None, appended_count: 0, newest: 0 };
        let remains = self.backend.scrub()?;
        Ok(Redacted { appended: first.unwrap_or(nothing), purged, guessable, remains })
    }

    /// Hides an entry from every reader, and purges its bytes and those of summaries, recalled
    /// texts and built-in members' answers that may contain its text. Use
    /// [`redact_all`](Self::redact_all) for a full report.
    pub fn redact(
        &self,
        id: &SessionId,
        target: &EntryId,
        reason: Option<&str>,
    ) -> Result<Appended> {
        let location = EntryLocation { session: id.clone(), entry: target.clone() };
        Ok(self.redact_all(&[location], reason)?.appended)
    }

    /// Appends redactions of the entries that still have their bytes, in this order.
    pub(crate) fn append_redactions(
        &self,
        id: &SessionId,
        targets: &[&EntryId],
        reason: Option<&str>,
    ) -> Result<Appended> {
        let (mut new, mut before) = (Vec::new(), None);
        for target in targets {
            match self.entry(id, target).map(|stored| stored.entry.kind) {
                Ok(EntryKind::Purged(purged)) => {
                    before = Some(purged.by);
                    continue;
                }
                // A damaged entry can be redacted too.
                Err(StoreError::SessionReadFailed { problem: Problem::Damaged { .. }, .. }) => {}
                found => drop(found?),
            }
            let redaction = Redaction { reason: reason.map(Into::into), ..Redaction::new(target) };
            let entry = NewEntry::new(EntryKind::Redaction(redaction)).salted(fresh_salt());
            new.push(entry.at(Timestamp::from_millis(now_millis())));
        }
        if new.is_empty() {
            let newest = self.backend.status(id)?.seq;
            return Ok(Appended { last_entry_id: before, appended_count: 0, newest });
        }
        self.append_to_tail(id, |tail| {
            let mut parent_id = tail.cloned();
            let chained = new.iter().map(|entry| {
                let entry = NewEntry { parent_id: parent_id.clone(), ..entry.clone() };
                let entry = entry.with_content_id();
                parent_id = Some(entry.id.clone());
                entry
            });
            Append::new(chained.collect::<Vec<_>>())
        })
    }

    /// Removes the copies that migrations left next to the store, because they contain everything that was redacted
    /// or deleted since. The whole store is checked first. Returns the removed and the remaining copies.
    pub fn remove_old_copies(&self) -> Result<OldCopies> {
        let mut found = OldCopies::default();
        let copies = self.backend.old_copies();
        if copies.is_empty() {
            return Ok(found);
        }
        let is_whole = crate::verify::check_all(self).is_ok();
        for copy in copies {
            let remove = || std::fs::remove_file(&copy).and_then(|()| sync_folder(&copy));
            match is_whole && remove().is_ok() {
                true => found.removed.push(copy),
                false => found.kept.push(copy),
            }
        }
        Ok(found)
    }

    /// Returns the entries of a session that still have their bytes, and whether each is guessable.
    fn readable(&self, session: &SessionId) -> Result<Vec<(EntryId, bool)>> {
        let mut readable = Vec::new();
        self.scan(Some(session), |_, stored| {
            if !stored.entry.is_purged() {
                readable.push((stored.entry.id.clone(), is_guessable(&stored.entry)));
            }
        })?;
        Ok(readable)
    }
}

#[cfg(test)]
mod tests {
    use tertulia_session::record::read_entry_line;

    use super::*;

    fn entry(line: &str) -> Entry {
        read_entry_line(1, line).unwrap()
    }

    #[test]
    fn a_text_is_found_wherever_somebody_wrote_it() {
        let with = |payload: &str| {
            entry(&format!(
                r#"{{"id":"482913","salt":"48291300000000000000000000000000","type":"message","payload":{payload}}}"#
            ))
        };
        let said = |text: &str| {
            format!(
                r#"{{"role":"user","parts":[{{"kind":"text","payload":{{"text":"{text}"}}}}]}}"#
            )
        };
        assert!(holds_text(&with(&said("PIN 482913.")), "482913"));
        assert!(holds_text(&with(&said("a\\nb")), "a\nb"));
        assert!(!holds_text(&with(&said("nothing")), "482913"), "an id or a salt is no text");
        let call = r#"{"role":"assistant","parts":[{"kind":"tool_call","payload":{"toolCallId":"1","toolName":"t","arguments":{"pin":482913}}}]}"#;
        assert!(holds_text(&with(call), "482913"));
        assert!(!holds_text(&with(call), "8291"), "a part of a number is none");
        let named = r#"{"parts":[],"speaker":{"roleId":"max","roleName":"Max Secret"}}"#;
        assert!(holds_text(&with(named), "Secret"));
        assert!(holds_text(
            &entry(r#"{"id":"a","type":"custom","payload":{"x":["hush"]}}"#),
            "hush"
        ));
        assert!(!holds_text(&with(named), ""));
        for word in ["payload", "roleId", "message", "text", "user"] {
            assert!(!holds_text(&with(&said("nothing")), word), "{word} is a word of the record");
        }
        assert!(holds_text(&with(&said("the payload")), "payload"));
    }

    #[test]
    fn a_recalled_text_is_found_by_its_words_and_not_by_its_sources() {
        let recall = entry(
            r#"{"id":"a","type":"recall","payload":{"text":"PIN 482913","sourceIds":["e-77"],"replaces":true}}"#,
        );
        assert!(holds_text(&recall, "482913"));
        assert!(!holds_text(&recall, "e-77"));
    }

    #[test]
    fn an_older_answer_cites_in_brackets() {
        let text = "## Decisions\n- [e-c11206] use it\n- [entry-12] and that\n";
        assert!(cites(text, "e-c1120684d5812e8fd90c17bac31d5403"));
        assert!(cites(text, "entry-12"));
        assert!(!cites(text, "e-c1120"));
        assert!(!cites("as [e-c11206] says", "e-c1120684d5812e8fd90c17bac31d5403"));
    }

    #[test]
    fn sources_are_read_as_they_are_written() {
        let here = "here".parse::<SessionId>().unwrap();
        let there = "there".parse::<SessionId>().unwrap();
        let sources = [(None, EntryId::from("a\"")), (Some(there.clone()), EntryId::from("b"))];
        let message = Message { meta: sources_meta(&sources), ..Message::default() };
        let expected = [
            EntryLocation { session: here.clone(), entry: "a\"".into() },
            EntryLocation { session: there, entry: "b".into() },
        ];
        assert_eq!(named_sources(&here, &message).unwrap(), expected);
        assert_eq!(sources_meta(&[]), None);
    }
}
