//! One file on a disk that may lose what was not synced. Pure; [`super::Disk`] holds the files.

use super::Loss;
use crate::rng::Rng;

/// A disk writes a sector completely or not at all.
const SECTOR: usize = 512;

#[derive(Clone, Debug, Default)]
pub(super) struct File {
    /// The bytes before all changes.
    pub(super) safe: Vec<u8>,
    changes: Vec<(Change, State)>,
}

/// The durability of a change.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum State {
    /// Not synced yet.
    Pending,
    /// The sync that should have saved it failed. The system considers it written, so no later sync
    /// saves it: it may be there or not, until it is overwritten.
    Doubtful,
    /// Durable. Kept separate from the durable bytes only while doubtful changes precede it.
    Safe,
}

#[derive(Clone, Debug)]
pub(super) enum Change {
    Write { offset: usize, bytes: Vec<u8> },
    Length(usize),
}

impl File {
    pub(super) fn change(&mut self, change: Change) {
        self.changes.push((change, State::Pending));
    }

    /// Returns the length as programs see it.
    pub(super) fn length(&self) -> usize {
        self.changes.iter().fold(self.safe.len(), |length, (change, _)| match change {
            Change::Write { offset, bytes } => length.max(offset + bytes.len()),
            Change::Length(length) => *length,
        })
    }

    /// Sets the state of all pending changes.
    pub(super) fn turn(&mut self, state: State) {
        let pending = self.changes.iter_mut().filter(|(_, known)| *known == State::Pending);
        pending.for_each(|(_, known)| *known = state);
    }

    pub(super) fn sync(&mut self) {
        self.turn(State::Safe);
        if self.changes.iter().all(|(_, state)| *state == State::Safe) {
            let safe = &mut self.safe;
            self.changes.drain(..).for_each(|(change, _)| change.apply(safe));
        }
    }

    pub(super) fn cut(&self, loss: Loss, rng: &mut Rng) -> Vec<u8> {
        let mut bytes = self.safe.clone();
        let kept = usize::try_from(rng.below(self.changes.len() as u64 + 1)).unwrap_or(0);
        let share = rng.below(101);
        for (index, (change, state)) in self.changes.iter().enumerate() {
            match loss {
                _ if *state == State::Safe => change.apply(&mut bytes),
                Loss::All => {}
                Loss::Nothing => change.apply(&mut bytes),
                Loss::Tail if index < kept => change.apply(&mut bytes),
                Loss::Tail => {}
                Loss::Some | Loss::Torn if !rng.percent(share) => {}
                Loss::Torn if rng.percent(50) => change.tear(&mut bytes, rng),
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

    /// Applies some of its sectors, by their position in the file.
    fn tear(&self, bytes: &mut Vec<u8>, rng: &mut Rng) {
        let Self::Write { offset, bytes: new } = self else { return self.apply(bytes) };
        let (mut at, mut rest) = (*offset, new.as_slice());
        while !rest.is_empty() {
            let (sector, after) = rest.split_at(rest.len().min(SECTOR - at % SECTOR));
            if rng.percent(50) {
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

    #[test]
    fn a_torn_write_is_torn_between_sectors() {
        let mut file = File::default();
        file.change(Change::Write { offset: 100, bytes: vec![7; 2000] });
        let mut seen_torn = false;
        for seed in 0..50 {
            let image = file.cut(Loss::Torn, &mut Rng::new(seed));
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
    fn the_length_is_that_of_the_last_change() {
        let mut file = File::default();
        file.change(Change::Write { offset: 10, bytes: vec![1; 5] });
        assert_eq!(file.length(), 15);
        file.change(Change::Length(3));
        assert_eq!(file.length(), 3);
    }
}
