//! Imports a session in one of our own formats, entry by entry. It becomes visible when it is complete. An error
//! leaves nothing behind.

use std::path::{Path, PathBuf};

use tertulia_operations::lines::{Line, Lines, LogError};
use tertulia_operations::names::{is_latest, new_session_id};
use tertulia_operations::session_file::{Document, DocumentError, Form};
use tertulia_operations::session_record::SessionRecord;
use tertulia_store::{Import, NewSession, Problem, SessionId, SessionStore, StoreError};

use super::{Kind, counted, print_note, write_json};
use crate::Streams;
use crate::args::ImportArgs;
use crate::commands::files::{Source, name};
use crate::error::{CliError, Result};
use crate::load_team::project_here;
use crate::progress::Progress;
use crate::store_location::StoreLocation;

pub(super) fn run(
    args: &ImportArgs,
    file: &Path,
    location: &StoreLocation,
    streams: &mut Streams<'_>,
) -> Result {
    let id = args.id.as_deref().map(new_session_id).transpose()?;
    let is_watched = streams.stderr_is_terminal;
    let mut source = Source::open(file, streams.stdin)?;
    let store = location.open()?;
    if let Some(taken) = id.as_ref().filter(|id| store.has(id).unwrap_or_default()) {
        return Err(StoreError::SessionExists(taken.clone()).into());
    }
    let path = name(file);
    let form = match args.format.kind() {
        Kind::Own(form) => Some(form),
        Kind::Any | Kind::Native(_) => None,
    };
    let mut import = Import::begin(&store).map_err(|error| about_file(error.into(), &path))?;
    // The session belongs to the project where it is imported.
    import.set_project(Some(project_here()));
    let reading = Reading {
        path: path.clone(),
        lines: Lines::new(&mut *source.reader, args.limits.max_line_bytes),
        bytes_max: args.limits.max_line_bytes,
        progress: Progress::bytes(is_watched, "Importing", source.bytes),
        import,
    };
    let stored = reading.read(form, id, &store);
    let info = stored.map_err(|error| about_file(error, &path))?;
    drop(source);
    // The session is stored; an error here only delays the next search.
    let mut progress = Progress::entries(is_watched, "Indexing");
    if let Err(error) = store.catch_up(|entries| progress.add(entries)) {
        print_note(streams, &format!("the search index is not up to date: {error}"));
    }
    drop(progress);
    if args.json {
        return write_json(streams, &SessionRecord::from(&info));
    }
    let entries = counted(info.entries, "entry", "entries");
    print_note(
        streams,
        &format!("imported {entries} from {} as session {}", path.display(), info.id),
    );
    writeln!(streams.stdout, "{}", info.id).map_err(CliError::output)
}

/// Reports an error with an entry, or a full disk, as an error with the file: the new session has no ID yet.
fn about_file(error: CliError, path: &Path) -> CliError {
    match error {
        CliError::Store(StoreError::SessionWriteFailed { problem, .. })
            if matches!(
                problem,
                Problem::MissingParent { .. }
                    | Problem::MissingTarget { .. }
                    | Problem::OtherContent(_)
                    | Problem::BadEntry { .. }
                    | Problem::DiskFull
            ) =>
        {
            let error = format!("{problem}; nothing was imported").into();
            CliError::Content { path: path.into(), error }
        }
        other => other,
    }
}

struct Reading<'r> {
    path: PathBuf,
    lines: Lines<'r>,
    bytes_max: u64,
    progress: Progress,
    import: Import,
}

impl Reading<'_> {
    fn read(
        mut self,
        form: Option<Form>,
        id: Option<SessionId>,
        store: &SessionStore,
    ) -> Result<tertulia_store::SessionInfo> {
        let (number, first) = self.first_line()?;
        let form = match form {
            Some(form) => Some(form),
            None => Form::detect(&first).transpose().map_err(|error| self.no_session(error))?,
        };
        let id = if form == Some(Form::Log) {
            self.read_log(Line { number, text: Ok(&first) })?;
            id
        } else {
            let text = self.whole_text(number, first)?;
            let document = Document::read(&text, form).map_err(|error| self.no_session(error))?;
            drop(text);
            for entry in document.entries {
                self.import.push(entry)?;
            }
            let is_free =
                |id: &SessionId| !is_latest(id.as_str()) && matches!(store.has(id), Ok(false));
            let free = document.id.filter(is_free);
            id.or(free)
        };
        Ok(self.import.finish(&NewSession { id })?)
    }

    fn no_session(&self, error: DocumentError) -> CliError {
        CliError::Content { path: self.path.clone(), error: error.into() }
    }

    fn unfit(&self, problem: String) -> CliError {
        CliError::UnfitFile { path: self.path.clone(), problem }
    }

    fn first_line(&mut self) -> Result<(u64, String)> {
        let first = self.next_line()?.map(|(number, text)| (number, text.to_owned()));
        first.ok_or_else(|| self.unfit("is empty; there is nothing to import".to_owned()))
    }

    fn next_line(&mut self) -> Result<Option<(u64, &str)>> {
        let Self { path, lines, progress, .. } = self;
        let Some(line) = lines.next_line().map_err(|error| CliError::log(&*path, error))? else {
            return Ok(None);
        };
        let text = line.text.map_err(|error| CliError::log(&*path, error))?;
        progress.add(text.len() as u64 + 1);
        Ok(Some((line.number, text)))
    }

    fn read_log(&mut self, first: Line<'_>) -> Result {
        let Self { path, lines, progress, import, .. } = self;
        let failed = |error: LogError| CliError::log(&*path, error);
        import.push(first.entry().map_err(failed)?)?;
        while let Some(line) = lines.next_line().map_err(|error| failed(error.into()))? {
            progress.add(line.bytes() + 1);
            import.push(line.entry().map_err(failed)?)?;
        }
        Ok(())
    }

    /// Returns all lines as one text. Skipped blank lines are restored, so that errors name the right line.
    fn whole_text(&mut self, mut number: u64, first: String) -> Result<String> {
        let mut text = "\n".repeat(usize::try_from(number - 1).unwrap_or_default().min(1 << 16));
        text.push_str(&first);
        drop(first);
        let bytes_max = self.bytes_max;
        while let Some((next, line)) = self.next_line()? {
            if (text.len() + line.len()) as u64 >= bytes_max {
                return Err(self.unfit(format!(
                    "is not a log of entries, and is too long for other formats ({bytes_max} bytes \
                     at most); raise --max-line-bytes"
                )));
            }
            while number < next && (text.len() as u64) < bytes_max {
                text.push('\n');
                number += 1;
            }
            text.push_str(line);
        }
        Ok(text)
    }
}

#[cfg(test)]
mod tests {
    use tertulia_store::Outcome;

    use super::*;

    #[test]
    fn a_full_disk_is_reported_for_the_file_and_not_for_a_session_that_nobody_named() {
        let session = "importing:65cf0ede:986c".parse::<SessionId>().ok();
        let (outcome, problem) = (Outcome::NotStored, Problem::DiskFull);
        let error = StoreError::SessionWriteFailed { session, outcome, problem };
        assert_eq!(
            about_file(error.into(), Path::new("log.jsonl")).to_string(),
            "log.jsonl: the disk is full; free some space and try again; nothing was imported"
        );
    }
}
