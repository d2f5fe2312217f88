//! `tertulia sessions show`: what was said, as a transcript or as records, and what is said from now on.

use std::io::{self, Write};
use std::time::Duration;

use tertulia_chat::terminal::{excerpt, visible};
use tertulia_chat::{Figures, narrate};
use tertulia_operations::names::{
    Latest, elsewhere, find_session_or_latest, find_stored_entry, short,
};
use tertulia_operations::session_file::name_of;
use tertulia_session::record::EntryRecord;
use tertulia_session::{
    Entry, EntryId, EntryKind, Message, Part, PartKind, Recall, Setting, Timestamp, TurnActivity,
    TurnState, Usage, json,
};
use tertulia_store::{Range, Seq, SessionId, SessionStore, StoredEntry};
use tertulia_team::is_partial;

use super::{tell, write_json};
use crate::Streams;
use crate::args::ShowArgs;
use crate::clock::LocalTime;
use crate::commands::drawing::Paint;
use crate::error::{CliError, Result};
use crate::store_place::StorePlace;
use crate::team_place::project_here;

const WAIT: Duration = Duration::from_secs(60);
/// How many entries are read first for each one that is to be shown.
const GROWTH: usize = 4;
const NAME_COLUMNS: usize = 40;
const ID_COLUMNS: usize = 80;
/// How much is shown of what is no text: calls, results, thinking, settings.
const LINE_COLUMNS: usize = 88;

#[derive(Clone, Copy, PartialEq, Eq)]
enum View {
    Messages,
    /// What happened, without the bookkeeping.
    Talk,
    All,
}

pub(super) fn run(args: &ShowArgs, place: &StorePlace, streams: &mut Streams<'_>) -> Result {
    let store = place.need()?;
    let project = project_here();
    let latest = Latest::OfProject(&project);
    let session = find_session_or_latest(&store, args.session.as_deref(), latest)?;
    let entry = |given: &String| find_stored_entry(&store, &session, given);
    let from = args.from.as_ref().map(entry).transpose()?;
    let branch = args.branch.as_ref().map(entry).transpose()?;
    let info = store.info(&session)?;
    if let Some(line) = elsewhere(&store, &session, &project)? {
        tell(streams, &line);
    }
    if args.session.is_none() {
        let title = info.title.as_deref().map(|title| format!(" · {title}"));
        tell(streams, &format!("session {session}{}", title.unwrap_or_default()));
    }
    let paint = Paint::new(streams.stdout_has_colour);
    let local = LocalTime::new(streams.zone);
    let transcript = Transcript { paint, local, day: String::new() };
    let (store, session, view) = (&store, &session, View::of(args));
    let mut shown =
        Shown { args, store, session, from, branch, view, transcript, streams, count: 0 };
    let seen = shown.write_stored()?.max(info.entries);
    if shown.count == 0 && !args.json && !args.follow {
        tell(shown.streams, "nothing to show; --all also shows the bookkeeping");
    }
    if args.follow { shown.follow(seen) } else { Ok(()) }
}

impl View {
    fn of(args: &ShowArgs) -> Self {
        match (args.messages, args.all || args.json) {
            (true, _) => Self::Messages,
            (false, true) => Self::All,
            (false, false) => Self::Talk,
        }
    }

    fn shows(self, entry: &Entry) -> bool {
        match self {
            Self::All => true,
            Self::Messages => entry.message().is_some(),
            Self::Talk => !is_bookkeeping(entry),
        }
    }
}

/// What only says how a turn came about, what it cost, or how the session was set up.
fn is_bookkeeping(entry: &Entry) -> bool {
    match &entry.kind {
        EntryKind::SessionHeader(_)
        | EntryKind::Usage(_)
        | EntryKind::RuntimeInit(_)
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

struct Shown<'a, 's> {
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

impl Shown<'_, '_> {
    /// The newest entries of what is wanted, at most so many.
    fn range(&self, limit: Option<usize>) -> Range {
        match (&self.branch, &self.from, limit) {
            (Some(branch), _, limit) => Range::Branch { tail: Some(branch.clone()), limit },
            (None, Some(from), _) => Range::From(from.clone()),
            (None, None, Some(count)) => Range::Tail(count),
            (None, None, None) => Range::All,
        }
    }

    /// Writes what is stored; says how far it came.
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

    /// The newest entries that are shown, at most so many. Read in growing steps from the end.
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

    /// Writes what is appended from now on. Ends when the reader has enough, or the session is gone.
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

/// Writes entries for people: the day, the time, who, and what was said. Every text passes through
/// [`tertulia_chat::terminal`], so nothing that an agent wrote can steer the terminal. Remembers the day that was named
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

    /// What an entry that is no message says, on one line.
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
            EntryKind::Turn(turn) => format!("· turn of {}: {}", turn.member, turn.state.as_str()),
            EntryKind::Usage(usage) => usage_in_words(usage),
            EntryKind::TurnEvent(event) => match &event.activity {
                // That is no failure of the agent's.
                TurnActivity::Failed { class, .. } if **class == *"cancelled" => {
                    format!("· {}: ended, since its turn was cancelled", event.member)
                }
                activity => format!("· {}", narrate::note(&event.member, activity)),
            },
            EntryKind::SessionSetting(setting) => format!("· {}", setting.setting),
            kind => format!("· {}", kind.type_name()),
        };
        let line = excerpt(&short(&said), LINE_COLUMNS);
        match entry.kind {
            EntryKind::Purged(_) => self.paint.warning(&line),
            _ => line,
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

fn usage_in_words(usage: &Usage) -> String {
    let mut figures = Figures::default();
    figures.add(usage);
    let told = figures.told().unwrap_or_else(|| "no tokens reported".to_owned());
    format!("· usage of {}: {told}", usage.member)
}

/// When it happened, or where nobody said, when it was stored.
pub(super) fn moment(stored: &StoredEntry) -> &Timestamp {
    let said = || stored.entry.message()?.timestamp.as_ref();
    stored.entry.timestamp.as_ref().or_else(said).unwrap_or(&stored.stored_at)
}

/// A part that is no text.
pub(super) fn in_words(part: &Part) -> String {
    match &part.kind {
        PartKind::Text(text) => text.clone(),
        PartKind::Thinking(text) => format!("(thinks) {text}"),
        PartKind::ToolCall(call) => format!("→ {} {}", call.tool_name, call.arguments.as_str()),
        PartKind::ToolResult(result) => {
            let words = json::words(result.content.raw());
            if result.is_error { format!("← failed: {words}") } else { format!("← {words}") }
        }
        PartKind::Image(image) => format!("[picture {}]", image.mime_type),
        PartKind::FileRef(file) => format!("[file {}]", file.path),
        PartKind::Other(other) => format!("[{}]", other.kind),
    }
}
