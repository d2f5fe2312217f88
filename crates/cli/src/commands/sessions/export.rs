//! `tertulia sessions export`: writes a session as a log, or its messages in another format.

use std::io::Write;
use std::path::Path;
use std::time::Duration;

use tertulia_chat::terminal::visible;
use tertulia_context::record::SnapshotRecord;
use tertulia_operations::export_file::ExportFile;
use tertulia_operations::readable::{About, Document, Language, Survey, When};
use tertulia_operations::session_file::{AgentChatterRecord, Branch};
use tertulia_session::json::Json;
use tertulia_session::record::EntryRecord;
use tertulia_store::{Problem, Range, SessionId, SessionStore, StoreError};

use super::show::moment;
use super::{counted, print_note};
use crate::Streams;
use crate::args::{ExportArgs, FileFormat};
use crate::clock::LocalTime;
use crate::error::{CliError, Result};
use crate::store_location::StoreLocation;

const DAMAGES_NAMED: u64 = 20;

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
    let format = args.format();
    match format {
        FileFormat::Jsonl => damaged = export.write_log()?,
        FileFormat::Markdown => export.write_document(Language::Markdown, args.full)?,
        FileFormat::Html => export.write_document(Language::Html, args.full)?,
        FileFormat::Snapshot | FileFormat::AgentChatter => export.write_messages(format)?,
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

    /// Writes a document for people: the messages of the current branch with speakers and times. Reads the branch
    /// twice, because the document begins with facts about the whole branch.
    fn write_document(&mut self, language: Language, is_full: bool) -> Result {
        let (info, session) = (self.store.info(self.session)?, self.session);
        let branch = Range::Branch { tail: info.tail, limit: None };
        let mut survey = Survey::default();
        for stored in self.store.entries(session, &branch)? {
            let stored = stored?;
            survey.add(&stored.entry, moment(&stored));
        }
        // Messages that were imported are older than the session.
        let created = survey.first().filter(|first| first.millis() < info.created_at.millis());
        let created = self.local.minute(created.unwrap_or(&info.created_at));
        let about = About {
            title: info.title.as_deref().unwrap_or(session.as_str()),
            session: session.as_str(),
            created,
            ended: survey.last().map(|moment| self.local.minute(moment)),
            survey,
            is_full,
        };
        let mut document = Document::new(language, about);
        self.target.write(&document.begin())?;
        for stored in self.store.entries(session, &branch)? {
            let stored = stored?;
            let time = moment(&stored);
            let (local, iso) = (self.local.minute(time), time.to_iso());
            let when = When { local: &local, iso: &iso };
            self.target.write(&document.entry(&stored.entry, when))?;
        }
        self.target.write(&document.end())
    }
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

    /// Writes a text as it is, except for control characters on a terminal.
    fn write(&mut self, text: &str) -> Result {
        match self {
            Self::Stream(out) => out.write_all(text.as_bytes()).map_err(CliError::output),
            Self::Terminal(out) => {
                let shown =
                    text.split_inclusive('\n').try_for_each(|line| match line.strip_suffix('\n') {
                        Some(line) => writeln!(out, "{}", visible(line)),
                        None => write!(out, "{}", visible(line)),
                    });
                shown.map_err(CliError::output)
            }
            Self::File(file) => Ok(file.write(text)?),
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
