//! A store, and agents that continue their own session files.

use std::fs::{self, OpenOptions};
use std::io::Write;
use std::path::{Path, PathBuf};

use tempfile::TempDir;
use tertulia_dialect::native::NativeFormat;
use tertulia_native::{Environment, Target, locate, target};
use tertulia_operations::handover::{Handover, HandoverError, HandoverOptions, hand_over, save};
use tertulia_operations::import::{ImportOptions, Imported, LinkIndex, import_session};
use tertulia_session::{Entry, EntryIndex, Role, Timestamp};
use tertulia_store::{Append, Range, SessionId, SessionStore};

/// One session in a store, and the home folder of the agents.
pub(crate) struct World {
    pub(crate) home: TempDir,
    pub(crate) environment: Environment,
    pub(crate) store: SessionStore,
    pub(crate) session: Option<SessionId>,
    index: LinkIndex,
    clock: i64,
    lines: u32,
    /// The records that agents have not written to their files yet.
    unwritten: Vec<(PathBuf, String)>,
}

/// The place where the records that an agent writes are cut.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Cut {
    /// After this share of the bytes, in 65,536ths.
    Share(u16),
    /// Before the line break of the first record.
    FirstBreak,
    /// Before the line break of the last record.
    LastBreak,
}

impl Cut {
    fn of(self, records: &str) -> usize {
        match self {
            Self::Share(share) => records.len() * usize::from(share) / 65_536,
            Self::FirstBreak => records.find('\n').unwrap(),
            Self::LastBreak => records.len() - 1,
        }
    }
}

impl World {
    pub(crate) fn new() -> Self {
        let home = tempfile::tempdir().unwrap();
        let environment = Environment::new(home.path(), home.path());
        Self {
            home,
            environment,
            store: SessionStore::memory(),
            session: None,
            index: LinkIndex::default(),
            clock: 1_769_860_800_000,
            lines: 0,
            unwritten: Vec::new(),
        }
    }

    pub(crate) fn now(&mut self) -> Timestamp {
        self.clock += 1_000;
        Timestamp::from_millis(self.clock)
    }

    /// Imports the session in a file.
    pub(crate) fn import(&mut self, path: &Path) -> Imported {
        let now = self.now();
        let found = locate(&self.environment, path, None).unwrap().remove(0);
        let mut options = ImportOptions {
            id: None,
            redacts_secrets: false,
            line_bytes_max: 1 << 20,
            is_dry_run: false,
            skip_unfinished_answer: false,
            now,
            project: &|_| None,
            progress: &mut |_| {},
        };
        let imported =
            import_session(&self.store, &self.environment, &mut self.index, &found, &mut options);
        let imported = imported.unwrap();
        self.session.get_or_insert_with(|| imported.session.clone());
        imported
    }

    pub(crate) fn entries(&self) -> Vec<Entry> {
        let session = self.session.as_ref().unwrap();
        self.store.load(session, &Range::All).unwrap().into_iter().map(|one| one.entry).collect()
    }

    /// Hands the session over. Returns the file, or `None` if the agent's session is already up to date.
    pub(crate) fn hand_over(&mut self, to: NativeFormat) -> Option<PathBuf> {
        let now = self.now();
        let session = self.session.clone().unwrap();
        let options = HandoverOptions {
            to,
            session: session.as_str(),
            title: Some("The login page"),
            folder: "/src/app",
            model: None,
            budget: None,
            last: None,
            member: None,
            is_new: false,
            taken: &[],
            now: now.clone(),
        };
        let handover = match hand_over(&self.entries(), &options) {
            Err(HandoverError::UpToDate(_)) => return None,
            handover => handover.unwrap(),
        };
        let saved = self.save(to, &handover, &now);
        let before = handover.continues.as_ref().map_or(0, |link| link.records);
        let figures = (before + handover.written.records, saved.bytes, saved.hash.as_str());
        let link = handover.link(to, saved.path.to_str(), figures, now);
        self.store.append(&session, Append::new([link])).unwrap();
        Some(saved.path)
    }

    fn save(&self, to: NativeFormat, handover: &Handover, now: &Timestamp) -> save::Saved {
        let text = &handover.written.text;
        if let Some(link) = &handover.continues {
            let path = link.path.as_deref().unwrap();
            return save::append(Path::new(path), link, text).unwrap();
        }
        let id = &handover.native_session_id;
        match target(&self.environment, to, id, ("/src/app", None), now).unwrap() {
            Target::File { path, .. } => save::create(&path, text.as_bytes()).unwrap(),
            Target::Command { program, .. } => panic!("{program} writes no file"),
        }
    }

    /// Makes an agent answer a new request in its session.
    pub(crate) fn work(&mut self, agent: NativeFormat, path: &Path, said: &str) {
        self.finish(path);
        let records = self.records(agent, path, said);
        append(path, &records);
    }

    /// Makes an agent write a new request and its answer up to this place. ASCII only.
    pub(crate) fn begin(&mut self, agent: NativeFormat, path: &Path, said: &str, cut: Cut) {
        self.finish(path);
        let records = self.records(agent, path, said);
        let (begun, rest) = records.split_at(cut.of(&records));
        append(path, begun);
        self.unwritten.push((path.to_owned(), rest.to_owned()));
    }

    /// Makes the agent of this file write the rest of its records.
    pub(crate) fn finish(&mut self, path: &Path) {
        for (_, rest) in self.unwritten.extract_if(.., |(of, _)| of == path) {
            append(path, &rest);
        }
    }

    fn records(&mut self, agent: NativeFormat, path: &Path, said: &str) -> String {
        match agent {
            NativeFormat::Claude => self.claude(path, said),
            NativeFormat::Codex => self.codex(said),
            other => panic!("{other:?} is not played"),
        }
    }

    fn claude(&mut self, path: &Path, said: &str) -> String {
        let text = fs::read_to_string(path).unwrap_or_default();
        let uuid =
            |line: &str| Some(line.split(r#""uuid":""#).nth(1)?.split('"').next()?.to_owned());
        let last = text.lines().rev().find_map(uuid);
        let id = path.file_stem().unwrap().to_str().unwrap().to_owned();
        let mut parent = last.map_or("null".to_owned(), |last| format!("\"{last}\""));
        let mut records = String::new();
        for (role, content) in [
            ("user", format!("\"{said}\"")),
            ("assistant", format!(r#"[{{"type":"text","text":"answer to {said}"}}]"#)),
        ] {
            self.lines += 1;
            let uuid = format!("00000000-0000-4000-8000-{:012}", self.lines);
            let time = self.now().to_iso();
            records += &format!(
                concat!(
                    r#"{{"parentUuid":{},"isSidechain":false,"userType":"external","cwd":"/src/app","#,
                    r#""sessionId":"{}","version":"2.1.325","type":"{}","message":{{"role":"{}","#,
                    r#""content":{}}},"uuid":"{}","timestamp":"{}"}}"#,
                    "\n"
                ),
                parent, id, role, role, content, uuid, time
            );
            parent = format!("\"{uuid}\"");
        }
        records
    }

    fn codex(&mut self, said: &str) -> String {
        let mut records = String::new();
        for (role, kind, text) in [
            ("user", "input_text", said.to_owned()),
            ("assistant", "output_text", format!("answer to {said}")),
        ] {
            let time = self.now().to_iso();
            records += &format!(
                concat!(
                    r#"{{"timestamp":"{}","type":"response_item","payload":{{"type":"message","#,
                    r#""role":"{}","content":[{{"type":"{}","text":"{}"}}]}}}}"#,
                    "\n"
                ),
                time, role, kind, text
            );
        }
        records
    }

    /// Returns the texts of the current branch, in order.
    pub(crate) fn branch(&self) -> Vec<String> {
        let entries = self.entries();
        let index = EntryIndex::over(&entries).unwrap();
        let mut said: Vec<String> = index
            .walk(&entries)
            .unwrap()
            .filter_map(|view| {
                let message = view.unwrap().entry()?.message()?;
                let is_said = matches!(message.effective_role(), Role::User | Role::Assistant);
                is_said.then(|| message.text().into_owned())
            })
            .collect();
        said.reverse();
        said
    }
}

fn append(path: &Path, records: &str) {
    let mut file = OpenOptions::new().append(true).create(true).open(path).unwrap();
    file.write_all(records.as_bytes()).unwrap();
}

/// Returns the texts of a session file, in order, by importing it into a new session.
pub(crate) fn said_in(path: &Path) -> Vec<String> {
    let mut world = World::new();
    world.import(path);
    world.branch()
}
