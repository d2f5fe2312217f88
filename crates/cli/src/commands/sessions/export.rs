//! `tertulia sessions export`: writes a session as a log, or its messages in another format.

use std::io::Write;
use std::path::Path;
use std::time::Duration;

use tertulia_chat::terminal::{excerpt, visible};
use tertulia_context::record::SnapshotRecord;
use tertulia_operations::export_file::ExportFile;
use tertulia_operations::names::short;
use tertulia_operations::session_file::{AgentChatterRecord, Branch, name_of};
use tertulia_session::json::Json;
use tertulia_session::record::EntryRecord;
use tertulia_session::{Entry, EntryKind, Message};
use tertulia_store::{Problem, Range, SessionId, SessionStore, StoreError, StoredEntry};
use tertulia_team::is_partial;

use super::show::{in_words, moment};
use super::{counted, print_note};
use crate::Streams;
use crate::args::{ExportArgs, FileFormat};
use crate::clock::LocalTime;
use crate::error::{CliError, Result};
use crate::store_location::StoreLocation;

const DAMAGES_NAMED: u64 = 20;
/// Maximum width of non-text parts in a document: calls, results, thinking.
const LINE_COLUMNS: usize = 100;

pub(super) fn run(
    args: &ExportArgs,
    location: &StoreLocation,
    streams: &mut Streams<'_>,
) -> Result {
    let (store, session) = location.find(&args.session)?;
    if args.output.as_ref().is_some_and(|path| location.holds(path)) {
        return Err(CliError::Usage("the target is the store itself; name another file"));
    }
    let local = LocalTime::new(streams.zone);
    let (target, notes) = (Target::open(args, streams)?, Vec::new());
    let mut export = Export { store: &store, session: &session, local, target, notes };
    let mut damaged = 0;
    match args.format {
        FileFormat::Jsonl => damaged = export.write_log()?,
        FileFormat::Markdown => export.write_document()?,
        FileFormat::Snapshot | FileFormat::AgentChatter => export.write_messages(args.format)?,
    }
    let Export { target, notes, .. } = export;
    target.finish()?;
    for note in &notes {
        print_note(streams, note);
    }
    if damaged > 0 {
        let left_out = counted(damaged, "damaged entry was", "damaged entries were");
        return Err(CliError::Failed(format!("{left_out} left out of the export")));
    }
    Ok(())
}

struct Export<'a> {
    store: &'a SessionStore,
    session: &'a SessionId,
    local: LocalTime,
    target: Target<'a>,
    /// Notes to print at the end.
    notes: Vec<String>,
}

impl Export<'_> {
    /// Writes all entries, page by page. Skips damaged entries with a note, so that the others can be saved; returns
    /// their number.
    fn write_log(&mut self) -> Result<u64> {
        let Self { store, session, target, notes, .. } = self;
        let last = store.info(session)?.entries;
        let mut follow = store.follow(session, 0)?;
        let mut damaged = 0;
        while follow.seen() < last {
            match follow.next(Duration::ZERO) {
                Ok(page) if page.is_empty() => break,
                Ok(page) => {
                    for stored in page.iter().filter(|stored| stored.seq <= last) {
                        target.write_line(&EntryRecord::new(&stored.entry).to_json())?;
                    }
                }
                Err(StoreError::SessionReadFailed {
                    problem: Problem::Damaged { seq, entry, reason },
                    ..
                }) if seq > follow.seen() => {
                    damaged += 1;
                    if damaged <= DAMAGES_NAMED {
                        let named = entry.map(|id| format!(" ({id})")).unwrap_or_default();
                        notes.push(format!("entry {seq}{named} is damaged: {reason}"));
                    }
                    follow = store.follow(session, seq)?;
                }
                Err(error) => return Err(error.into()),
            }
        }
        Ok(damaged)
    }

    fn write_messages(&mut self, format: FileFormat) -> Result {
        let Self { store, session, target, notes, .. } = self;
        let info = store.info(session)?;
        let mut branch = Branch::default();
        let mut on_branch = 0;
        for stored in
            store.entries(session, &Range::Branch { tail: info.tail.clone(), limit: None })?
        {
            branch.add(stored?.entry);
            on_branch += 1;
        }
        note_left_out(&branch, info.entries.saturating_sub(on_branch), notes);
        let json = if format == FileFormat::AgentChatter {
            serde_json::to_string(&AgentChatterRecord::new(&info, branch))
        } else {
            let moment = Json::parse(&info.updated_at.millis().to_string()).ok();
            serde_json::to_string(&SnapshotRecord(&branch.into_snapshot(moment)))
        };
        target.write_line(&json.map_err(|error| CliError::output(error.into()))?)
    }

    /// Writes a Markdown document: who said what on the current branch, and when, as it was written.
    fn write_document(&mut self) -> Result {
        let (info, session) = (self.store.info(self.session)?, self.session);
        let title = info.title.as_deref().unwrap_or(session.as_str());
        self.target.write_line(&format!("# {}", one_line(title)))?;
        let began = self.local.minute(&info.created_at);
        self.target.write_line(&format!("\nSession `{session}`, created {began}."))?;
        let branch = Range::Branch { tail: info.tail, limit: None };
        for stored in self.store.entries(session, &branch)? {
            self.write_entry(&stored?)?;
        }
        Ok(())
    }

    fn write_entry(&mut self, stored: &StoredEntry) -> Result {
        let aside = match &stored.entry.kind {
            EntryKind::Message(message) => {
                let time = self.local.minute(moment(stored));
                return self.write_message(&stored.entry, message, &time);
            }
            EntryKind::TeamTask(task) => match &task.task {
                Some(task) => format!("*Task: {}*", one_line(task)),
                None => "*Task cleared*".to_owned(),
            },
            EntryKind::Purged(purged) => format!("*[redacted {}]*", purged.type_name),
            _ => return Ok(()),
        };
        self.target.write_line(&format!("\n{aside}"))
    }

    fn write_message(&mut self, entry: &Entry, message: &Message, time: &str) -> Result {
        let cut = if is_partial(entry) { " (cut off)" } else { "" };
        let (name, id) = (one_line(name_of(message)), short(entry.id.as_str()));
        self.target.write_line(&format!("\n## {name}{cut}\n\n<sub>{time} · {id}</sub>"))?;
        for part in &message.parts {
            let text = match part.as_text() {
                Some(text) => text.trim_end_matches('\n').to_owned(),
                None => format!("> {}", excerpt(&in_words(part), LINE_COLUMNS)),
            };
            self.target.write_line(&format!("\n{text}"))?;
        }
        Ok(())
    }
}

fn one_line(text: &str) -> String {
    text.split_whitespace().collect::<Vec<_>>().join(" ")
}

fn note_left_out(branch: &Branch, elsewhere: u64, notes: &mut Vec<String>) {
    let rows = [
        (branch.parts_left_out, "non-text part", "non-text parts"),
        (branch.wordless, "message without text", "messages without text"),
        (branch.hidden, "redacted entry", "redacted entries"),
        (branch.silent, "entry that is not a message", "entries that are not messages"),
        (elsewhere, "entry of another branch", "entries of other branches"),
    ];
    let left_out = rows.into_iter().filter(|(count, ..)| *count > 0);
    let left_out = left_out.map(|(count, one, many)| counted(count, one, many));
    let left_out: Vec<String> = left_out.collect();
    if !left_out.is_empty() {
        notes.push(format!(
            "omitted, because this format cannot represent it: {}",
            left_out.join(", ")
        ));
    }
}

/// The target of an export. If it is dropped before the end, it leaves no file.
enum Target<'a> {
    Stream(&'a mut dyn Write),
    /// A terminal, where control characters are made visible.
    Terminal(&'a mut dyn Write),
    File(ExportFile),
}

impl<'a> Target<'a> {
    fn open(args: &ExportArgs, streams: &'a mut Streams<'_>) -> Result<Self> {
        match args.output.as_deref().filter(|path| *path != Path::new("-")) {
            Some(path) => Ok(Self::File(ExportFile::open(path, args.force)?)),
            None if streams.stdout_is_terminal => Ok(Self::Terminal(&mut *streams.stdout)),
            None => Ok(Self::Stream(&mut *streams.stdout)),
        }
    }

    fn write_line(&mut self, line: &str) -> Result {
        match self {
            Self::Stream(out) => writeln!(out, "{line}").map_err(CliError::output),
            Self::Terminal(out) => writeln!(out, "{}", visible(line)).map_err(CliError::output),
            Self::File(file) => Ok(file.write_line(line)?),
        }
    }

    fn finish(self) -> Result {
        if let Self::File(file) = self {
            file.finish()?;
        }
        Ok(())
    }
}
