//! A model of a disk that may lose what was not synced: for every file the durable bytes, and the
//! changes that may or may not be there, completely or by sector. Names in a folder are durable
//! once the folder was synced. Pure; driven by the steps of a trace. Used by the roles `images` and
//! `cuts`.

mod file;

use std::collections::{BTreeMap, BTreeSet};

use super::trace::{Step, parent};
use crate::rng::Rng;
use file::{Change, File, State};

/// The files and folders of one state of a disk.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub(crate) struct Image {
    pub(crate) folders: BTreeSet<String>,
    pub(crate) files: BTreeMap<String, Vec<u8>>,
}

/// A folder tree on such a disk.
#[derive(Clone, Debug)]
pub(crate) struct Disk {
    files: Vec<File>,
    /// By path relative to the root, whose path is empty.
    folders: BTreeMap<String, Folder>,
}

/// The names in one folder.
#[derive(Clone, Debug, Default)]
struct Folder {
    /// As programs see them.
    names: Names,
    safe: Names,
    /// Their states after each change since the folder was synced.
    pending: Vec<Names>,
}

type Names = BTreeMap<String, Node>;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Node {
    /// A file, by its index.
    File(usize),
    Folder,
}

/// How much of the unsynced changes is lost.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Loss {
    /// All of them.
    All,
    /// None of them, as after a kill.
    Nothing,
    /// Everything after some change.
    Tail,
    /// Any subset, because a disk may reorder writes.
    Some,
    /// Any subset, and of those any sectors.
    Torn,
}

impl Loss {
    /// Returns the loss for the n-th image of one moment, so that every kind occurs.
    pub(crate) fn for_attempt(number: u64) -> Self {
        match number {
            0 => Self::All,
            1 => Self::Nothing,
            number => match number % 12 {
                2..=3 => Self::Tail,
                4..=7 => Self::Some,
                _ => Self::Torn,
            },
        }
    }
}

impl Default for Disk {
    fn default() -> Self {
        let folders = BTreeMap::from([(String::new(), Folder::default())]);
        Self { files: Vec::new(), folders }
    }
}

impl Disk {
    /// Creates a disk on which this image is durable.
    pub(crate) fn holding(image: &Image) -> Self {
        let mut disk = Self::default();
        for folder in &image.folders {
            disk.step(&Step::MakeFolder { folder: folder.clone() });
        }
        for (name, bytes) in &image.files {
            disk.step(&Step::Make { file: name.clone() });
            disk.with(name, |file| file.safe.clone_from(bytes));
        }
        disk.folders.values_mut().for_each(Folder::sync);
        disk
    }

    /// Applies a step.
    pub(crate) fn step(&mut self, step: &Step) {
        match step {
            Step::Write { file, offset, bytes } => {
                let change = Change::Write { offset: *offset, bytes: bytes.clone() };
                self.with(file, |file| file.change(change));
            }
            Step::Append { file, bytes } => self.with(file, |file| {
                let offset = file.length();
                file.change(Change::Write { offset, bytes: bytes.clone() });
            }),
            Step::Truncate { file, length } => {
                self.with(file, |file| file.change(Change::Length(*length)));
            }
            Step::Extend { file, length } => self.with(file, |file| {
                if file.length() < *length {
                    file.change(Change::Length(*length));
                }
            }),
            Step::Make { file } => {
                let number = self.files.len();
                if self.rename_in(file, |names, name| {
                    let is_new = !names.contains_key(name);
                    names.entry(name.to_owned()).or_insert(Node::File(number));
                    is_new
                }) {
                    self.files.push(File::default());
                }
            }
            Step::MakeFolder { folder } => {
                if self.rename_in(folder, |names, name| {
                    names.insert(name.to_owned(), Node::Folder).is_none()
                }) {
                    self.folders.insert(folder.clone(), Folder::default());
                }
            }
            Step::Remove { file } => {
                self.rename_in(file, |names, name| names.remove(name).is_some());
            }
            Step::Rename { from, to } => {
                self.rename_in(from, |names, name| {
                    let node = names.remove(name);
                    node.is_some_and(|node| {
                        names.insert(last_part(to).to_owned(), node);
                        true
                    })
                });
            }
            Step::Link { from, to } => {
                self.rename_in(from, |names, name| {
                    let node = names.get(name).copied();
                    node.is_some_and(|node| names.insert(last_part(to).to_owned(), node).is_none())
                });
            }
            // SQLite ignores an error of a folder sync. On the file systems in use the name of a
            // file is durable anyway, because the file itself is synced; that is not tested here.
            Step::Sync { file } | Step::SyncFailed { file } if self.folders.contains_key(file) => {
                self.folders.entry(file.clone()).and_modify(Folder::sync);
            }
            Step::Sync { file } => self.with(file, File::sync),
            Step::SyncFailed { file } => self.with(file, |file| file.turn(State::Doubtful)),
            Step::Said { .. } | Step::EndedWell => {}
        }
    }

    /// Changes the names in the parent folder. Returns whether something changed.
    fn rename_in(&mut self, path: &str, change: impl FnOnce(&mut Names, &str) -> bool) -> bool {
        let Some(folder) = self.folders.get_mut(parent(path)) else { return false };
        let is_changed = change(&mut folder.names, last_part(path));
        if is_changed {
            folder.pending.push(folder.names.clone());
        }
        is_changed
    }

    fn with(&mut self, path: &str, change: impl FnOnce(&mut File)) {
        let folder = self.folders.get(parent(path));
        let node = folder.and_then(|folder| folder.names.get(last_part(path)));
        if let Some(Node::File(number)) = node
            && let Some(file) = self.files.get_mut(*number)
        {
            change(file);
        }
    }

    /// Returns a state that a power cut may leave now.
    pub(crate) fn cut(&self, loss: Loss, rng: &mut Rng) -> Image {
        let mut image = Image::default();
        self.cut_folder("", loss, rng, &mut image);
        image
    }

    fn cut_folder(&self, path: &str, loss: Loss, rng: &mut Rng, image: &mut Image) {
        let Some(folder) = self.folders.get(path) else { return };
        for (name, node) in folder.cut(loss, rng) {
            let inner = if path.is_empty() { name.clone() } else { format!("{path}/{name}") };
            match node {
                Node::File(number) => {
                    if let Some(file) = self.files.get(*number) {
                        image.files.insert(inner, file.cut(loss, rng));
                    }
                }
                Node::Folder => {
                    self.cut_folder(&inner, loss, rng, image);
                    image.folders.insert(inner);
                }
            }
        }
    }
}

fn last_part(path: &str) -> &str {
    path.rsplit_once('/').map_or(path, |(_, name)| name)
}

impl Folder {
    fn sync(&mut self) {
        self.safe = self.names.clone();
        self.pending.clear();
    }

    fn cut(&self, loss: Loss, rng: &mut Rng) -> &Names {
        match loss {
            Loss::All => &self.safe,
            Loss::Nothing => &self.names,
            Loss::Tail | Loss::Some | Loss::Torn => {
                // A file system keeps the order of changes to a folder.
                let kept = rng.below(self.pending.len() as u64 + 1);
                let last = usize::try_from(kept).unwrap_or(0).checked_sub(1);
                last.and_then(|last| self.pending.get(last)).unwrap_or(&self.safe)
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const LOSSES: [Loss; 5] = [Loss::All, Loss::Nothing, Loss::Tail, Loss::Some, Loss::Torn];

    fn a() -> String {
        "a".to_owned()
    }

    fn write(offset: usize, bytes: &[u8]) -> Step {
        Step::Write { file: a(), offset, bytes: bytes.to_vec() }
    }

    fn sync(name: &str) -> Step {
        Step::Sync { file: name.to_owned() }
    }

    /// Returns a disk with an empty file `a`, after these steps.
    fn disk(steps: &[Step]) -> Disk {
        let files = BTreeMap::from([(a(), Vec::new())]);
        let mut disk = Disk::holding(&Image { files, ..Image::default() });
        steps.iter().for_each(|step| disk.step(step));
        disk
    }

    fn cut(disk: &Disk, loss: Loss) -> Option<Vec<u8>> {
        disk.cut(loss, &mut Rng::new(1)).files.remove("a")
    }

    #[test]
    fn synced_data_is_in_every_image() {
        let disk = disk(&[write(0, b"safe"), sync("a"), write(4, b"?")]);
        for loss in LOSSES {
            assert!(cut(&disk, loss).unwrap().starts_with(b"safe"), "{loss:?}");
        }
        assert_eq!(cut(&disk, Loss::All).unwrap(), b"safe");
        assert_eq!(cut(&disk, Loss::Nothing).unwrap(), b"safe?");
    }

    #[test]
    fn a_sync_after_a_failed_one_saves_only_later_changes() {
        let failed = Step::SyncFailed { file: a() };
        let disk = disk(&[write(0, b"??"), failed, write(2, b"ok"), sync("a")]);
        assert_eq!(cut(&disk, Loss::All).unwrap(), b"\0\0ok");
        assert_eq!(cut(&disk, Loss::Nothing).unwrap(), b"??ok");
    }

    #[test]
    fn appends_go_after_the_end() {
        let append = Step::Append { file: a(), bytes: b"end".to_vec() };
        let room = Step::Extend { file: a(), length: 2 };
        assert_eq!(
            cut(&disk(&[write(0, b"at "), room, append]), Loss::Nothing).unwrap(),
            b"at end"
        );
    }

    #[test]
    fn a_name_is_durable_once_its_folder_was_synced() {
        let mut disk = Disk::default();
        disk.step(&Step::Make { file: a() });
        assert_eq!(cut(&disk, Loss::All), None);
        assert_eq!(cut(&disk, Loss::Nothing), Some(Vec::new()));
        disk.step(&sync(""));
        disk.step(&Step::Remove { file: a() });
        assert_eq!(cut(&disk, Loss::All), Some(Vec::new()));
        assert_eq!(cut(&disk, Loss::Nothing), None);
    }

    #[test]
    fn a_renamed_file_or_its_predecessor_exists() {
        let part = || "part".to_owned();
        let disk = disk(&[
            write(0, b"old"),
            sync("a"),
            Step::Make { file: part() },
            Step::Write { file: part(), offset: 0, bytes: b"new".to_vec() },
            sync("part"),
            Step::Rename { from: part(), to: a() },
        ]);
        for seed in 0..50 {
            for loss in LOSSES {
                let found = disk.cut(loss, &mut Rng::new(seed)).files.remove("a").unwrap();
                assert!(found == b"old" || found == b"new", "{found:?}");
            }
        }
        assert_eq!(cut(&disk, Loss::All).unwrap(), b"old");
        assert_eq!(cut(&disk, Loss::Nothing).unwrap(), b"new");
    }

    #[test]
    fn files_are_lost_with_their_folder() {
        let inner = || "n/b".to_owned();
        let made =
            [Step::MakeFolder { folder: "n".to_owned() }, Step::Make { file: inner() }, sync("n")];
        let mut disk = disk(&made);
        assert!(disk.cut(Loss::All, &mut Rng::new(1)).folders.is_empty());
        disk.step(&sync(""));
        let image = disk.cut(Loss::All, &mut Rng::new(1));
        assert!(image.folders.contains("n") && image.files.contains_key("n/b"));
    }
}
