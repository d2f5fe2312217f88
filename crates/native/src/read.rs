//! Reads one session, record by record, in the order of its files: first the main one, then those of sub-agents. The
//! memory does not grow with the length of a file that has one record per line.

mod lines;

use std::collections::VecDeque;
use std::fmt;
use std::fs::{self, File};
use std::io::Read;
use std::path::{Path, PathBuf};
use std::time::{Duration, SystemTime};

use tertulia_dialect::native::{
    Document, Layout, NativeReader, ProblemKind, ReadProblem, ReadSession, Record, layout,
    unfinished,
};
use tertulia_session::{Entry, Timestamp, json};

use crate::database::Database;
use crate::peek::beginning;
use crate::places::{collect, is_side_file};
use crate::tables::Rows;
use crate::tree::{self, TreeFile};
use crate::{Cause, Environment, FoundSession, NativeError, Place};
use lines::LineFile;

/// Changes the bytes of a record before it is read. `None` keeps them unchanged.
pub type Edit<'e> = dyn FnMut(&[u8]) -> Option<Vec<u8>> + 'e;

/// A document is complete if it did not change for this time, because an agent does not pause for so long within a
/// message.
const QUIET: Duration = Duration::from_secs(60);
/// Number of bytes that are read at once.
const CHUNK: usize = 1 << 20;

/// Reads a session.
pub struct SessionReader<'e> {
    reader: NativeReader,
    source: Source,
    /// The files of sub-agents that follow, with their names within the session.
    side_files: VecDeque<(String, PathBuf)>,
    bytes_max: u64,
    edit: Option<Box<Edit<'e>>>,
    /// A document that changed after this time may still be growing.
    quiet_since: Option<SystemTime>,
    hasher: blake3::Hasher,
    main: Main,
}

/// The progress of reading the main file.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
struct Main {
    records: u64,
    bytes: u64,
    /// The data of the session after the main file was read. Sub-agents do not change it.
    session: Option<ReadSession>,
}

enum Source {
    Lines {
        file: String,
        lines: LineFile,
    },
    Document(PathBuf),
    /// A document that was opened, and its text.
    Pieces {
        text: Vec<u8>,
        document: Document,
    },
    Tree(VecDeque<TreeFile>),
    Rows {
        path: PathBuf,
        rows: Box<Rows>,
        line: u64,
        file: String,
    },
    End,
}

impl fmt::Debug for SessionReader<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("SessionReader").field("main", &self.main).finish_non_exhaustive()
    }
}

impl<'e> SessionReader<'e> {
    /// Opens a session. `bytes_max` is the maximum size of a line, and of a document that is read as a whole.
    pub fn open(
        environment: &Environment,
        session: &FoundSession,
        bytes_max: u64,
    ) -> Result<Self, NativeError> {
        let mut side_files = VecDeque::new();
        let source = match &session.place {
            Place::Rows { database: path, id } => {
                let database = Database::open(path, environment.temporary())?;
                let rows = Rows::new(path, database, session.format, id)?;
                let rows = Box::new(rows);
                Source::Rows { path: path.clone(), rows, line: 0, file: String::new() }
            }
            Place::File(path) if tree::storage_of(path).is_some() => {
                let storage = tree::storage_of(path).unwrap_or(path);
                Source::Tree(tree::files(storage, path))
            }
            Place::File(path) => {
                side_files = find_side_files(path, &session.side_files);
                match layout(session.format, &beginning(path)?) {
                    Layout::Lines => Source::Lines {
                        file: String::new(),
                        lines: LineFile::open(path, bytes_max)?,
                    },
                    Layout::Document => Source::Document(path.clone()),
                }
            }
        };
        Ok(Self {
            reader: NativeReader::new(session.format),
            source,
            side_files,
            bytes_max,
            edit: None,
            quiet_since: None,
            hasher: blake3::Hasher::new(),
            main: Main::default(),
        })
    }

    /// Sets a function that changes every record before it is read.
    #[must_use]
    pub fn with_edit(mut self, edit: impl FnMut(&[u8]) -> Option<Vec<u8>> + 'e) -> Self {
        self.edit = Some(Box::new(edit));
        self
    }

    /// Skips a last answer that the agent is still writing, if the agent changes the records of such an answer later.
    pub fn skip_unfinished_answer(&mut self) {
        self.quiet_since = Some(SystemTime::UNIX_EPOCH);
        match &mut self.source {
            Source::Rows { rows, .. } => rows.skip_unfinished_answer(),
            Source::Tree(files) => files.retain(|file| !file.is_unfinished),
            Source::Lines { .. } | Source::Document(_) | Source::Pieces { .. } | Source::End => {}
        }
    }

    /// Leaves an incomplete last message for later, if the file changed in the minute before `now`.
    pub fn skip_unfinished_if_recent(&mut self, now: &Timestamp) {
        let now = u64::try_from(now.millis()).map(Duration::from_millis).unwrap_or_default();
        self.quiet_since = Some(SystemTime::UNIX_EPOCH + now.saturating_sub(QUIET));
    }

    /// Returns whether the record that was read last is in the main file.
    pub fn is_in_main_file(&self) -> bool {
        self.main.session.is_none()
    }

    /// Returns whether the session has files besides the main one.
    pub fn has_side_files(&self) -> bool {
        !self.side_files.is_empty() || matches!(self.source, Source::Tree(_))
    }

    /// Returns whether the session is read as a whole.
    pub fn is_document(&self) -> bool {
        matches!(self.source, Source::Document(_) | Source::Pieces { .. })
    }

    /// Adds the entries of the next record. Returns the number of bytes that were read; `None` at the end.
    pub fn next(&mut self, entries: &mut Vec<Entry>) -> Result<Option<u64>, NativeError> {
        loop {
            let read = match &mut self.source {
                Source::End => None,
                Source::Lines { .. } => self.next_line(entries)?,
                Source::Document(path) => {
                    let path = path.clone();
                    self.source = self.open_document(&path)?;
                    self.next_piece(entries)
                }
                Source::Pieces { .. } => self.next_piece(entries),
                Source::Tree(_) => self.next_tree_file(entries)?,
                Source::Rows { .. } => self.next_row(entries)?,
            };
            if read.is_some() || !self.next_file()? {
                return Ok(read);
            }
        }
    }

    /// Returns how many records of the main file were read.
    pub fn records(&self) -> u64 {
        self.main.records
    }

    /// Returns how many bytes of the main file were read, up to the end of the last whole record.
    pub fn bytes(&self) -> u64 {
        self.main.bytes
    }

    /// Returns the BLAKE3 hash of these bytes in hex.
    pub fn hash(&self) -> String {
        self.hasher.finalize().to_hex().to_string()
    }

    /// Returns the data of the session that were read so far.
    pub fn session(&self) -> &ReadSession {
        self.main.session.as_ref().unwrap_or_else(|| self.reader.session())
    }

    /// Returns the problems that were found since the last call.
    pub fn take_problems(&mut self) -> Vec<ReadProblem> {
        self.reader.take_problems()
    }

    fn next_line(&mut self, entries: &mut Vec<Entry>) -> Result<Option<u64>, NativeError> {
        let Source::Lines { file, lines } = &mut self.source else { return Ok(None) };
        let Some(line) = lines.next()? else { return Ok(None) };
        let text = lines.bytes(&line);
        let edited = self.edit.as_mut().and_then(|edit| edit(text));
        let bytes = edited.as_deref().unwrap_or(text);
        let before = self.reader.session().records;
        let record = Record { file, line: line.number, bytes, end: line.end };
        self.reader.read(record, entries);
        // An incomplete record is not counted. It is read again when it is complete.
        if self.reader.session().records > before && file.is_empty() {
            self.hasher.update(text);
            self.hasher.update(line.end.as_bytes());
            self.main.records += 1;
            self.main.bytes += (text.len() + line.end.len()) as u64;
        }
        Ok(Some((text.len() + line.end.len()) as u64))
    }

    fn next_row(&mut self, entries: &mut Vec<Entry>) -> Result<Option<u64>, NativeError> {
        let Source::Rows { path, rows, line, file } = &mut self.source else { return Ok(None) };
        let next = rows.next().map_err(|error| NativeError::new(path, error))?;
        let Some((of, record)) = next else { return Ok(None) };
        if of != file {
            if file.is_empty() {
                self.main.session = Some(self.reader.session().clone());
            }
            *file = of.to_owned();
            *line = 0;
        }
        *line += 1;
        let edited = self.edit.as_mut().and_then(|edit| edit(record.as_bytes()));
        let bytes = edited.as_deref().unwrap_or(record.as_bytes());
        self.reader.read(Record { file, line: *line, bytes, end: "\n" }, entries);
        if file.is_empty() {
            self.hasher.update(record.as_bytes());
            self.hasher.update(b"\n");
            self.main.records += 1;
            self.main.bytes += record.len() as u64 + 1;
        }
        Ok(Some(record.len() as u64 + 1))
    }

    fn next_tree_file(&mut self, entries: &mut Vec<Entry>) -> Result<Option<u64>, NativeError> {
        let Source::Tree(files) = &mut self.source else { return Ok(None) };
        let Some(TreeFile { name, path, is_side, .. }) = files.pop_front() else {
            return Ok(None);
        };
        if is_side && self.main.session.is_none() {
            self.main.session = Some(self.reader.session().clone());
        }
        let text = match read_whole(&path, self.bytes_max) {
            // The agent removed it meanwhile.
            Err(error) if error.is_missing() => return Ok(Some(0)),
            text => text?.0,
        };
        if json::parse(std::str::from_utf8(&text).unwrap_or_default()).is_err() {
            // opencode writes it at this moment.
            let kind = ProblemKind::Truncated;
            self.reader.report(ReadProblem { file: name.into(), line: 1, kind });
            return Ok(Some(text.len() as u64));
        }
        let edited = self.edit.as_mut().and_then(|edit| edit(&text));
        self.reader.read_document(&name, edited.as_deref().unwrap_or(&text), entries);
        if !is_side {
            self.hasher.update(&text);
            self.main.records += 1;
            self.main.bytes += text.len() as u64;
        }
        Ok(Some(text.len() as u64))
    }

    fn open_document(&mut self, path: &Path) -> Result<Source, NativeError> {
        let (mut text, changed) = read_whole(path, self.bytes_max)?;
        let is_growing = match (self.quiet_since, changed) {
            (Some(since), Some(changed)) => changed > since,
            _ => false,
        };
        let left_out =
            if is_growing { unfinished(self.reader.session().format, &text) } else { None };
        if let Some(start) = left_out {
            text.truncate(start);
            let line = 1 + memchr::memchr_iter(b'\n', &text).count() as u64;
            let kind = ProblemKind::Unfinished;
            self.reader.report(ReadProblem { file: "".into(), line, kind });
        }
        self.hasher.update(&text);
        self.main.bytes = text.len() as u64;
        let edited = self.edit.as_mut().and_then(|edit| edit(&text));
        let text = edited.unwrap_or(text);
        let document = self.reader.open_document(&text);
        Ok(Source::Pieces { text, document })
    }

    fn next_piece(&mut self, entries: &mut Vec<Entry>) -> Option<u64> {
        let Source::Pieces { text, document } = &mut self.source else { return None };
        let read = self.reader.read_piece("", text, document, entries);
        self.main.records = self.reader.session().records;
        read
    }

    /// Opens the next file of a sub-agent. Returns whether there is one.
    fn next_file(&mut self) -> Result<bool, NativeError> {
        if self.main.session.is_none() {
            self.main.session = Some(self.reader.session().clone());
        }
        let Some((file, path)) = self.side_files.pop_front() else {
            self.source = Source::End;
            return Ok(false);
        };
        self.source = match LineFile::open(&path, self.bytes_max) {
            Ok(lines) => Source::Lines { file, lines },
            // The agent removed the file meanwhile.
            Err(error) if error.is_missing() => Source::Lines { file, lines: LineFile::empty() },
            Err(error) => return Err(error),
        };
        Ok(true)
    }
}

/// Returns the BLAKE3 hash of the first bytes of a file in hex; `None` if it is shorter.
pub fn prefix_hash(path: &Path, bytes: u64) -> Result<Option<String>, NativeError> {
    let about = |error: std::io::Error| NativeError::new(path, error);
    let mut file = Read::take(open(path)?, bytes);
    let mut hasher = blake3::Hasher::new();
    let mut buffer = vec![0; CHUNK];
    let mut left = bytes;
    loop {
        let count = file.read(&mut buffer).map_err(about)?;
        let Some(read) = buffer.get(..count).filter(|read| !read.is_empty()) else { break };
        hasher.update(read);
        left = left.saturating_sub(count as u64);
    }
    Ok((left == 0).then(|| hasher.finalize().to_hex().to_string()))
}

/// Returns the content of a file, and when it was changed.
fn read_whole(path: &Path, bytes_max: u64) -> Result<(Vec<u8>, Option<SystemTime>), NativeError> {
    let about = |cause: Cause| NativeError { path: path.to_owned(), cause };
    let mut file = open(path)?;
    let status = file.metadata().map_err(|error| about(error.into()))?;
    if status.len() > bytes_max {
        return Err(about(Cause::DocumentTooLong { bytes: status.len() }));
    }
    let mut text = Vec::new();
    let limited = &mut Read::take(&mut file, bytes_max);
    limited.read_to_end(&mut text).map_err(|error| about(error.into()))?;
    Ok((text, status.modified().ok()))
}

/// Opens a file. Rejects other kinds of files, such as a pipe, because reading them might never end.
pub(crate) fn open(path: &Path) -> Result<File, NativeError> {
    let status = fs::metadata(path).map_err(|error| NativeError::new(path, error))?;
    if !status.is_file() {
        return Err(NativeError::new(path, Cause::NotAFile));
    }
    File::open(path).map_err(|error| NativeError::new(path, error))
}

/// Returns the files of the sub-agents of a session, each kind in the order of their names.
fn find_side_files(path: &Path, beside: &[PathBuf]) -> VecDeque<(String, PathBuf)> {
    let folder = path.with_extension("").join("subagents");
    let mut files = Vec::new();
    if fs::metadata(&folder).is_ok_and(|found| found.is_dir()) {
        collect(&folder, 2, &is_side_file, &mut files);
    }
    files.sort();
    let name = |path: PathBuf| {
        let inside = path.strip_prefix(&folder).unwrap_or(&path);
        (format!("subagents/{}", inside.to_string_lossy()), path)
    };
    let file_name = |path: &PathBuf| {
        let name = path.file_name().unwrap_or_default();
        (name.to_string_lossy().into_owned(), path.clone())
    };
    beside.iter().map(file_name).chain(files.into_iter().map(name)).collect()
}
