//! A machine with sessions of Claude Code, and a store. The tests write sessions in a short notation.

use std::fs;
use std::path::{Path, PathBuf};

use tempfile::TempDir;
use tertulia_dialect::native::NativeFormat;
use tertulia_native::{Environment, FoundSession, Place, locate};
use tertulia_operations::import::{
    ImportError, ImportOptions, Imported, LinkIndex, import_session,
};
use tertulia_session::{Entry, EntryIndex, EntryKind, Timestamp};
use tertulia_store::{Range, SessionId, SessionStore};

/// 2026-01-31T12:00:00Z
pub(crate) const NOW: i64 = 1_769_860_800_000;

pub(crate) struct Machine {
    folder: TempDir,
    pub(crate) store: SessionStore,
    index: LinkIndex,
    pub(crate) redacts_secrets: bool,
    pub(crate) id: Option<SessionId>,
    pub(crate) is_dry_run: bool,
}

impl Machine {
    pub(crate) fn new() -> Self {
        Self {
            folder: tempfile::tempdir().unwrap(),
            store: SessionStore::memory(),
            index: LinkIndex::default(),
            redacts_secrets: false,
            id: None,
            is_dry_run: false,
        }
    }

    pub(crate) fn path(&self, name: &str) -> PathBuf {
        self.folder.path().join(name)
    }

    /// Writes a file in the folder of the machine.
    pub(crate) fn write(&self, name: &str, content: &str) -> PathBuf {
        let path = self.path(name);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(&path, content).unwrap();
        path
    }

    /// Writes a session of Claude Code from the notation of [`lines`].
    pub(crate) fn claude(&self, name: &str, notation: &str) -> PathBuf {
        self.write(name, &lines(notation))
    }

    pub(crate) fn environment(&self) -> Environment {
        Environment::new(self.folder.path(), self.folder.path())
    }

    pub(crate) fn found(&self, path: &Path) -> FoundSession {
        locate(&self.environment(), path, None).unwrap().remove(0)
    }

    /// Describes a file as a session of Claude Code, whatever it holds.
    pub(crate) fn of_claude(&self, path: &Path) -> FoundSession {
        FoundSession {
            format: FORMAT,
            native_id: "s-1".to_owned(),
            folder: None,
            title: None,
            started: None,
            updated: None,
            size: None,
            side_files: Vec::new(),
            place: Place::File(path.to_owned()),
        }
    }

    pub(crate) fn try_import(&mut self, path: &Path) -> Result<Imported, ImportError> {
        let session = self.found(path);
        self.try_import_found(&session)
    }

    pub(crate) fn try_import_found(
        &mut self,
        session: &FoundSession,
    ) -> Result<Imported, ImportError> {
        let environment = self.environment();
        let mut options = ImportOptions {
            id: self.id.clone(),
            redacts_secrets: self.redacts_secrets,
            line_bytes_max: 1 << 20,
            is_dry_run: self.is_dry_run,
            skip_unfinished_answer: false,
            now: Timestamp::from_millis(NOW),
            project: &|folder| folder.map(str::to_owned),
            progress: &mut |_| {},
        };
        import_session(&self.store, &environment, &mut self.index, session, &mut options)
    }

    #[track_caller]
    pub(crate) fn import(&mut self, path: &Path) -> Imported {
        self.try_import(path).unwrap()
    }

    /// Imports a file without an index, as a new process would.
    pub(crate) fn import_afresh(&mut self, path: &Path) -> Imported {
        self.index = LinkIndex::default();
        self.import(path)
    }

    pub(crate) fn log(&self, id: &str) -> Vec<Entry> {
        let id = id.parse::<SessionId>().unwrap();
        let entries = self.store.load(&id, &Range::All).unwrap();
        entries.into_iter().map(|stored| stored.entry).collect()
    }

    /// Returns the messages of the current branch as `id:text`, separated by spaces.
    pub(crate) fn said(&self, id: &str) -> String {
        let log = self.log(id);
        let index = EntryIndex::over(&log).unwrap();
        let mut said: Vec<String> = Vec::new();
        for view in index.walk(&log).unwrap() {
            let Some(entry) = view.unwrap().entry() else { continue };
            if let Some(message) = entry.message() {
                said.push(format!("{}:{}", entry.id, message.text()));
            }
        }
        said.reverse();
        said.join(" ")
    }

    /// Returns the number of entries that match a condition.
    pub(crate) fn count(&self, id: &str, is_it: impl Fn(&EntryKind) -> bool) -> usize {
        self.log(id).iter().filter(|entry| is_it(&entry.kind)).count()
    }
}

/// The id of the imported session.
pub(crate) const SESSION: &str = "claude-s-1";

/// Returns lines of Claude Code. Each word of the notation is a message: `u1=Hello` of the user, `a1<u1=Hi` of the
/// agent. `<` names the parent, if it is not the previous message. `_` is a space.
pub(crate) fn lines(notation: &str) -> String {
    let mut text = String::new();
    let mut before: Option<String> = None;
    for word in notation.split_whitespace() {
        let (name, said) = word.split_once('=').unwrap();
        let (id, parent) = match name.split_once('<') {
            Some((id, parent)) => (id, Some(parent.to_owned())),
            None => (name, before.clone()),
        };
        let parent = parent.map_or("null".to_owned(), |parent| format!("{parent:?}"));
        let role = if id.starts_with('a') { "assistant" } else { "user" };
        let said = said.replace('_', " ");
        // All records of one answer have the same message id.
        let message_id = match role {
            "user" => String::new(),
            _ => format!(r#""id":"msg_{id}","type":"message","#),
        };
        let content = match role {
            "user" => format!("{said:?}"),
            _ => format!(r#"[{{"type":"text","text":{said:?}}}]"#),
        };
        text.push_str(&format!(
            r#"{{"parentUuid":{parent},"isSidechain":false,"userType":"external","cwd":"/src","sessionId":"s-1","version":"2.1.0","type":"{role}","message":{{{message_id}"role":"{role}","content":{content}}},"uuid":"{id}","timestamp":"2026-01-31T10:00:00.000Z"}}"#
        ));
        text.push('\n');
        before = Some(id.to_owned());
    }
    text
}

/// The format of these sessions.
pub(crate) const FORMAT: NativeFormat = NativeFormat::Claude;
