//! A disk that may lose what was not synced: for every file the bytes that are safe, and the changes
//! that may be there or not, whole or in sectors. Names of files are safe once their folder was synced.
//! Pure; fed with the steps of a trace.

use std::collections::BTreeMap;

use super::trace::Step;
use crate::chance::Chance;

/// A disk writes a sector whole or not at all.
const SECTOR: usize = 512;

/// The files of one state of a disk.
pub(super) type Image = BTreeMap<String, Vec<u8>>;

/// The folder of a store on such a disk.
#[derive(Clone, Debug, Default)]
pub(super) struct Disk {
    files: Vec<File>,
    /// The names as programs see them.
    names: BTreeMap<String, usize>,
    /// The names that are safe.
    safe_names: BTreeMap<String, usize>,
    /// What the names were after each change since the folder was synced.
    pending_names: Vec<BTreeMap<String, usize>>,
}

#[derive(Clone, Debug, Default)]
struct File {
    /// The bytes before all changes.
    safe: Vec<u8>,
    changes: Vec<(Change, State)>,
}

/// What is known of a change.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum State {
    /// Not synced yet.
    Pending,
    /// The sync that should have saved it failed. The system takes it for written, so no later sync
    /// saves it: it may be there or not, until something else is written over it.
    Doubtful,
    /// On the disk. Kept apart from the safe bytes only while doubtful changes lie below it.
    Safe,
}

#[derive(Clone, Debug)]
enum Change {
    Write { offset: usize, bytes: Vec<u8> },
    Length(usize),
}

/// How much of what was not synced is there.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Loss {
    /// Nothing of it.
    All,
    /// All of it, as after a kill.
    Nothing,
    /// All up to some change.
    Tail,
    /// Any changes, in any order of the disk.
    Some,
    /// Any changes, and of those any sectors.
    Torn,
}

impl Disk {
    /// Takes a step.
    pub(super) fn step(&mut self, step: &Step) {
        match step {
            Step::Write { file, offset, bytes } => {
                let change = Change::Write { offset: *offset, bytes: bytes.clone() };
                self.with(file, |file| file.changes.push((change, State::Pending)));
            }
            Step::Truncate { file, length } => {
                let change = Change::Length(*length);
                self.with(file, |file| file.changes.push((change, State::Pending)));
            }
            Step::Make { file } => {
                if !self.names.contains_key(file) {
                    self.names.insert(file.clone(), self.files.len());
                    self.files.push(File::default());
                    self.pending_names.push(self.names.clone());
                }
            }
            Step::Remove { file } => {
                if self.names.remove(file).is_some() {
                    self.pending_names.push(self.names.clone());
                }
            }
            Step::Sync { file } => self.with(file, File::sync),
            Step::SyncFailed { file } => self.with(file, |file| file.turn(State::Doubtful)),
            Step::SyncFolder => {
                self.safe_names = self.names.clone();
                self.pending_names.clear();
            }
            Step::Said(_) => {}
        }
    }

    fn with(&mut self, file: &str, change: impl FnOnce(&mut File)) {
        let file = self.names.get(file).and_then(|index| self.files.get_mut(*index));
        if let Some(file) = file {
            change(file);
        }
    }

    /// A state that a power cut may leave now.
    pub(super) fn cut(&self, loss: Loss, chance: &mut Chance) -> Image {
        let names = match loss {
            Loss::All => &self.safe_names,
            Loss::Nothing => &self.names,
            Loss::Tail | Loss::Some | Loss::Torn => {
                // A file system keeps the order of changes to a folder.
                let kept = chance.below(self.pending_names.len() as u64 + 1);
                let last = usize::try_from(kept).unwrap_or(0).checked_sub(1);
                last.and_then(|last| self.pending_names.get(last)).unwrap_or(&self.safe_names)
            }
        };
        let files = names.iter().filter_map(|(name, index)| {
            let file = self.files.get(*index)?;
            Some((name.clone(), file.cut(loss, chance)))
        });
        files.collect()
    }
}

impl File {
    /// What was pending turns into this.
    fn turn(&mut self, state: State) {
        let pending = self.changes.iter_mut().filter(|(_, known)| *known == State::Pending);
        pending.for_each(|(_, known)| *known = state);
    }

    fn sync(&mut self) {
        self.turn(State::Safe);
        if self.changes.iter().all(|(_, state)| *state == State::Safe) {
            let safe = &mut self.safe;
            self.changes.drain(..).for_each(|(change, _)| change.apply(safe));
        }
    }

    fn cut(&self, loss: Loss, chance: &mut Chance) -> Vec<u8> {
        let mut bytes = self.safe.clone();
        let kept = usize::try_from(chance.below(self.changes.len() as u64 + 1)).unwrap_or(0);
        let share = chance.below(101);
        for (index, (change, state)) in self.changes.iter().enumerate() {
            match loss {
                _ if *state == State::Safe => change.apply(&mut bytes),
                Loss::All => {}
                Loss::Nothing => change.apply(&mut bytes),
                Loss::Tail if index < kept => change.apply(&mut bytes),
                Loss::Tail => {}
                Loss::Some | Loss::Torn if !chance.percent(share) => {}
                Loss::Torn if chance.percent(50) => change.tear(&mut bytes, chance),
                Loss::Some | Loss::Torn => change.apply(&mut bytes),
            }
        }
        bytes
    }
}

impl Change {
    fn apply(&self, bytes: &mut Vec<u8>) {
        match self {
            Self::Write { offset, bytes: new } => put(bytes, *offset, new),
            Self::Length(length) => bytes.resize(*length, 0),
        }
    }

    /// Some sectors of it, by their place in the file.
    fn tear(&self, bytes: &mut Vec<u8>, chance: &mut Chance) {
        let Self::Write { offset, bytes: new } = self else { return self.apply(bytes) };
        let (mut at, mut rest) = (*offset, new.as_slice());
        while !rest.is_empty() {
            let (sector, after) = rest.split_at(rest.len().min(SECTOR - at % SECTOR));
            if chance.percent(50) {
                put(bytes, at, sector);
            }
            at += sector.len();
            rest = after;
        }
    }
}

fn put(bytes: &mut Vec<u8>, offset: usize, new: &[u8]) {
    let end = offset + new.len();
    if bytes.len() < end {
        bytes.resize(end, 0);
    }
    if let Some(place) = bytes.get_mut(offset..end) {
        place.copy_from_slice(new);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn write(offset: usize, bytes: &[u8]) -> Step {
        Step::Write { file: "a".to_owned(), offset, bytes: bytes.to_vec() }
    }

    fn disk(steps: &[Step]) -> Disk {
        let mut disk = Disk::default();
        let made = [Step::Make { file: "a".to_owned() }, Step::SyncFolder];
        made.iter().chain(steps).for_each(|step| disk.step(step));
        disk
    }

    fn cut(disk: &Disk, loss: Loss) -> Option<Vec<u8>> {
        disk.cut(loss, &mut Chance::new(1)).remove("a")
    }

    #[test]
    fn what_was_synced_is_in_every_image() {
        let sync = Step::Sync { file: "a".to_owned() };
        let disk = disk(&[write(0, b"safe"), sync, write(4, b"?")]);
        for loss in [Loss::All, Loss::Nothing, Loss::Tail, Loss::Some, Loss::Torn] {
            assert!(cut(&disk, loss).unwrap().starts_with(b"safe"), "{loss:?}");
        }
        assert_eq!(cut(&disk, Loss::All).unwrap(), b"safe");
        assert_eq!(cut(&disk, Loss::Nothing).unwrap(), b"safe?");
    }

    #[test]
    fn a_sync_after_one_that_failed_saves_only_what_came_between() {
        let file = || "a".to_owned();
        let failed = Step::SyncFailed { file: file() };
        let disk = disk(&[write(0, b"??"), failed, write(2, b"ok"), Step::Sync { file: file() }]);
        assert_eq!(cut(&disk, Loss::All).unwrap(), b"\0\0ok");
        assert_eq!(cut(&disk, Loss::Nothing).unwrap(), b"??ok");
    }

    #[test]
    fn a_torn_write_is_torn_between_sectors() {
        let disk = disk(&[write(100, &[7; 2000])]);
        let mut seen_torn = false;
        for seed in 0..50 {
            let image = disk.cut(Loss::Torn, &mut Chance::new(seed)).remove("a").unwrap();
            for sector in image.chunks(SECTOR) {
                let written = sector.iter().filter(|byte| **byte == 7).count();
                assert!([0, 412, 512, 52].contains(&written), "{written}");
            }
            let written = image.iter().filter(|byte| **byte == 7).count();
            seen_torn |= written > 0 && written < 2000;
        }
        assert!(seen_torn);
    }

    #[test]
    fn a_name_is_safe_once_its_folder_was_synced() {
        let mut disk = Disk::default();
        disk.step(&Step::Make { file: "a".to_owned() });
        assert_eq!(cut(&disk, Loss::All), None);
        assert_eq!(cut(&disk, Loss::Nothing), Some(Vec::new()));
        disk.step(&Step::SyncFolder);
        disk.step(&Step::Remove { file: "a".to_owned() });
        assert_eq!(cut(&disk, Loss::All), Some(Vec::new()));
        assert_eq!(cut(&disk, Loss::Nothing), None);
    }
}
