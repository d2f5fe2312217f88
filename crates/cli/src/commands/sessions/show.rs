//! `tertulia sessions show`: prints a session as a transcript or as records, and follows it.

use std::io::{self, Write};
use std::time::Duration;

use tertulia_chat::terminal::{excerpt, visible};
use tertulia_chat::{Figures, narrate};
use tertulia_dialect::native::NativeFormat;
use tertulia_operations::names::{
    Latest, elsewhere, find_session_or_latest, find_stored_entry, short,
};
use tertulia_operations::session_file::name_of;
use tertulia_session::record::EntryRecord;
use tertulia_session::{
    Entry, EntryId, EntryKind, Message, NativeDirection, NativeSession, Part, PartKind, Recall,
    Setting, Timestamp, TurnActivity, TurnState, Usage, json,
};
use tertulia_store::{Range, Seq, SessionId, SessionStore, StoredEntry};
use tertulia_team::is_partial;

use super::{counted, print_note, write_json};
use crate::Streams;
use crate::args::ShowArgs;
use crate::clock::LocalTime;
use crate::commands::drawing::Paint;
use crate::error::{CliError, Result};
use crate::load_team::project_here;
use crate::store_location::StoreLocation;

const WAIT: Duration = Duration::from_secs(60);
/// Number of entries read at first for each one to show.
const GROWTH: usize = 4;
const NAME_COLUMNS: usize = 40;
const ID_COLUMNS: usize = 80;
/// Maximum width of non-text content: calls, results, thinking, settings.
const LINE_COLUMNS: usize = 88;

#[derive(Clone, Copy, PartialEq, Eq)]
enum View {
    Messages,
    /// All entries except those that only record states of turns, costs and settings.
    Conversation,
    All,
}

pub(super) fn run(args: &ShowArgs, location: &StoreLocation, streams: &mut Streams<'_>) -> Result {
    let store = location.open_required()?;
    let project = project_here();
    let latest = Latest::OfProject(&project);
    let session = find_session_or_latest(&store, args.session.as_deref(), latest)?;
    let entry = |given: &String| find_stored_entry(&store, &session, given);
    let from = args.from.as_ref().map(entry).transpose()?;
    let branch = args.branch.as_ref().map(entry).transpose()?;
    let info = store.info(&session)?;
    if let Some(line) = elsewhere(&store, &session, &project)? {
        print_note(streams, &line);
    }
    if args.session.is_none() {
        let title = info.title.as_deref().map(|title| format!(" · {title}"));
        print_note(streams, &format!("session {session}{}", title.unwrap_or_default()));
    }
    let paint = Paint::new(streams.stdout_has_colour);
    let local = LocalTime::new(streams.zone);
    let transcript = Transcript { paint, local, day: String::new() };
    let (store, session, view) = (&store, &session, View::new(args));
    let mut shown =
        EntryPrinter { args, store, session, from, branch, view, transcript, streams, count: 0 };
    let seen = shown.write_stored()?.max(info.entries);
    if shown.count == 0 && !args.json && !args.follow {
        print_note(
            shown.streams,
            "no messages to show; --all also shows states of turns, costs and settings",
        );
    }
    if args.follow { shown.follow(seen) } else { Ok(()) }
}

impl View {
    fn new(args: &ShowArgs) -> Self {
        match (args.messages, args.all || args.json) {
            (true, _) => Self::Messages,
            (false, true) => Self::All,
            (false, false) => Self::Conversation,
        }
    }

    fn shows(self, entry: &Entry) -> bool {
        match self {
            Self::All => true,
            Self::Messages => entry.message().is_some(),
            Self::Conversation => !is_bookkeeping(entry),
        }
    }
}

/// Returns whether an entry only records a turn's state, its cost, or the session's setup.
fn is_bookkeeping(entry: &Entry) -> bool {
    match &entry.kind {
        EntryKind::SessionHeader(_)
        | EntryKind::Usage(_)
        | EntryKind::RuntimeInit(_)
        | EntryKind::NativeRecord(_)
        | EntryKind::NativeSession(_)
        | EntryKind::Custom(_) => true,
        EntryKind::Turn(turn) => {
            matches!(turn.state, TurnState::Queued | TurnState::Started | TurnState::Done)
        }
        EntryKind::TurnEvent(event) => matches!(
            event.activity,
            TurnActivity::Began { .. } | TurnActivity::Thought { .. } | TurnActivity::Resent { .. }
        ),
        EntryKind::SessionSetting(setting) => !matches!(setting.setting, Setting::Title { .. }),
        _ => false,
    }
}

struct EntryPrinter<'a, 's> {
    args: &'a ShowArgs,
    store: &'a SessionStore,
    session: &'a SessionId,
    from: Option<EntryId>,
    branch: Option<EntryId>,
    view: View,
    transcript: Transcript,
    streams: &'a mut Streams<'s>,
    count: usize,
}

impl EntryPrinter<'_, '_> {
    /// Returns the range of the newest entries to read.
    fn range(&self, limit: Option<usize>) -> Range {
        match (&self.branch, &self.from, limit) {
            (Some(branch), _, limit) => Range::Branch { tail: Some(branch.clone()), limit },
            (None, Some(from), _) => Range::From(from.clone()),
            (None, None, Some(count)) => Range::Tail(count),
            (None, None, None) => Range::All,
        }
    }

    /// Writes the stored entries; returns the last position.
    fn write_stored(&mut self) -> Result<Seq> {
        let mut seen = 0;
        if let (Some(count), true) = (self.args.tail, self.view != View::All) {
            for stored in self.newest(count)? {
                seen = seen.max(stored.seq);
                self.write(&stored)?;
            }
            return Ok(seen);
        }
        for stored in self.store.entries(self.session, &self.range(self.args.tail))? {
            let stored = stored?;
            seen = seen.max(stored.seq);
            self.write(&stored)?;
        }
        Ok(seen)
    }

    /// Returns the newest entries to show. Reads from the end in growing steps.
    fn newest(&self, count: usize) -> Result<Vec<StoredEntry>> {
        let mut limit = count.saturating_mul(GROWTH);
        loop {
            let read = self.store.load(self.session, &self.range(Some(limit)))?;
            let is_whole = read.len() < limit;
            let shown = read.into_iter().rev().filter(|stored| self.view.shows(&stored.entry));
            let mut newest: Vec<StoredEntry> = shown.take(count).collect();
            if is_whole || newest.len() == count {
                newest.reverse();
                return Ok(newest);
            }
            limit = limit.saturating_mul(GROWTH);
        }
    }

    /// Writes new entries as they arrive. Ends when the reader closes the pipe, or the session is deleted.
    fn follow(&mut self, seen: Seq) -> Result {
        let mut follow = self.store.follow(self.session, seen)?;
        loop {
            self.streams.stdout.flush().map_err(CliError::output)?;
            for stored in follow.next(WAIT)? {
                self.write(&stored)?;
            }
        }
    }

    fn write(&mut self, stored: &StoredEntry) -> Result {
        if !self.view.shows(&stored.entry) {
            return Ok(());
        }
        self.count += 1;
        if self.args.json {
            return write_json(self.streams, &EntryRecord::new(&stored.entry));
        }
        self.transcript.write(self.streams.stdout, stored).map_err(CliError::output)
    }
}

/// Writes entries for people: the day, the time, the speaker and the text. Every text passes through
/// [`tertulia_chat::terminal`], so no text of an agent can control the terminal. Remembers the day that was written
/// last.
struct Transcript {
    paint: Paint,
    local: LocalTime,
    day: String,
}

impl Transcript {
    fn write(&mut self, out: &mut dyn Write, stored: &StoredEntry) -> io::Result<()> {
        let entry = &stored.entry;
        let (day, time) = self.local.day_and_time(moment(stored));
        if day != self.day {
            writeln!(out, "{}", self.paint.faint(&format!("── {day} ──")))?;
            self.day = day;
        }
        let time = self.paint.faint(&time);
        let id = self.paint.faint(&excerpt(&short(entry.id.as_str()), ID_COLUMNS));
        let Some(message) = entry.message() else {
            return writeln!(out, "{time} {}  {id}", self.said(entry));
        };
        let name = self.paint.strong(&excerpt(name_of(message), NAME_COLUMNS));
        let cut = if is_partial(entry) { " (cut off)" } else { "" };
        writeln!(out, "{time} {name}{cut}  {id}")?;
        self.write_parts(out, message)
    }

    fn write_parts(&self, out: &mut dyn Write, message: &Message) -> io::Result<()> {
        for part in &message.parts {
            if let Some(text) = part.as_text() {
                for line in visible(text).trim_end_matches('\n').split('\n') {
                    writeln!(out, "  {line}")?;
                }
            } else {
                writeln!(out, "  {}", self.paint.faint(&excerpt(&in_words(part), LINE_COLUMNS)))?;
            }
        }
        Ok(())
    }

    /// Describes an entry that is not a message, on one line.
    fn said(&self, entry: &Entry) -> String {
        let said = match &entry.kind {
            EntryKind::Purged(purged) => {
                format!("[redacted {} by {}]", purged.type_name, purged.by)
            }
            EntryKind::Redaction(redaction) => match &redaction.reason {
                Some(reason) => format!("· redaction of {}: {reason}", redaction.target_id),
                None => format!("· redaction of {}", redaction.target_id),
            },
            EntryKind::TeamTask(task) => format!("· {}", narrate::team_task(task.task.as_deref())),
            EntryKind::CompactionSummary(summary) => format!("· summary: {}", summary.summary),
            EntryKind::BranchSummary(branch) => {
                let from = entry.parent_id.as_ref().map_or("", |parent| parent.as_str());
                let (session, left) = (&branch.source_session_id, &branch.source_entry_id);
                format!("· branch from {from} (left {session} at {left})")
            }
            EntryKind::Recall(recall) => recall_in_words(recall),
            EntryKind::SystemPromptOverride(prompt) => {
                format!("· system prompt: {}", prompt.system_prompt)
            }
            EntryKind::ModelChange(change) => format!("· model: {}", change.model),
            EntryKind::Turn(turn) => match narrate::fresh_start(&turn.member, turn) {
                Some(fresh) => format!("· turn of {}: started; {fresh}", turn.member),
                None => format!("· turn of {}: {}", turn.member, turn.state.as_str()),
            },
            EntryKind::Usage(usage) => usage_in_words(usage),
            EntryKind::TurnEvent(event) => match &event.activity {
                // The agent did not fail.
                TurnActivity::Failed { class, .. } if **class == *"cancelled" => {
                    format!("· {}: ended because its turn was cancelled", event.member)
                }
                activity => format!("· {}", narrate::note(&event.member, activity)),
            },
            EntryKind::SessionSetting(setting) => format!("· {}", setting.setting),
            EntryKind::NativeRecord(record) => {
                let name = record.record_type.as_deref().unwrap_or("without a type");
                format!("· record of {}: {name}", agent_name(&record.agent))
            }
            EntryKind::NativeSession(session) => native_session_in_words(session),
            kind => format!("· {}", kind.type_name()),
        };
        let line = excerpt(&short(&said), LINE_COLUMNS);
        match entry.kind {
            EntryKind::Purged(_) => self.paint.warning(&line),
            _ => line,
        }
    }
}

/// Writes the entries of a session after a given one, as [`run`] does. Returns the number of the last entry.
pub(super) fn write_after(
    store: &SessionStore,
    session: &SessionId,
    after: Seq,
    is_json: bool,
    streams: &mut Streams<'_>,
) -> Result<Seq> {
    let paint = Paint::new(streams.stdout_has_colour);
    let local = LocalTime::new(streams.zone);
    let mut transcript = Transcript { paint, local, day: String::new() };
    let mut follow = store.follow(session, after)?;
    loop {
        let new = follow.next(Duration::ZERO)?;
        if new.is_empty() {
            streams.stdout.flush().map_err(CliError::output)?;
            return Ok(follow.seen());
        }
        for stored in new.iter().filter(|stored| View::Conversation.shows(&stored.entry)) {
            match is_json {
                true => write_json(streams, &EntryRecord::new(&stored.entry))?,
                false => transcript.write(streams.stdout, stored).map_err(CliError::output)?,
            }
        }
    }
}

fn recall_in_words(recall: &Recall) -> String {
    let member = recall.member.as_deref().map(|member| format!(" for {member}"));
    let what = match recall.text.lines().count() {
        0 => "nothing".to_owned(),
        1 => "files as they are now (1 line)".to_owned(),
        lines => format!("files as they are now ({lines} lines)"),
    };
    format!("· recalled{}: {what}", member.unwrap_or_default())
}

/// Returns the name of an agent for people, or the word of the entry if it is of another version.
fn agent_name(word: &str) -> &str {
    word.parse::<NativeFormat>().map_or(word, |format| format.agent_name())
}

fn native_session_in_words(session: &NativeSession) -> String {
    let agent = agent_name(&session.agent);
    let done = match session.direction {
        NativeDirection::Imported => format!("imported from {agent}"),
        NativeDirection::Written => format!("written for {agent}"),
    };
    let records = counted(session.records, "record", "records");
    format!("· {done}: session {}, {records}", session.native_session_id)
}

fn usage_in_words(usage: &Usage) -> String {
    let mut figures = Figures::default();
    figures.add(usage);
    let reported = figures.describe().unwrap_or_else(|| "no tokens reported".to_owned());
    format!("· usage of {}: {reported}", usage.member)
}

/// Returns the time of an entry, or if it is unknown, the time at which it was stored.
pub(super) fn moment(stored: &StoredEntry) -> &Timestamp {
    let said = || stored.entry.message()?.timestamp.as_ref();
    stored.entry.timestamp.as_ref().or_else(said).unwrap_or(&stored.stored_at)
}

/// Describes a non-text part.
pub(super) fn in_words(part: &Part) -> String {
    match &part.kind {
        PartKind::Text(text) => text.clone(),
        PartKind::Thinking(text) => format!("(thinks) {text}"),
        PartKind::ToolCall(call) => format!("→ {} {}", call.tool_name, call.arguments.as_str()),
        PartKind::ToolResult(result) => {
            let words = json::words(result.content.raw());
            if result.is_error { format!("← failed: {words}") } else { format!("← {words}") }
        }
        PartKind::Image(image) => format!("[image {}]", image.mime_type),
        PartKind::FileRef(file) => format!("[file {}]", file.path),
        PartKind::Other(other) => format!("[{}]", other.kind),
    }
}
