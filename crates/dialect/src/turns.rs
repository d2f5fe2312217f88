//! Turns that alternate: what one side says in a row is one turn. Used where a vendor knows two sides,
//! the user and the model.

/// Who speaks.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Side {
    User,
    Assistant,
}

/// The turns of a request, each with its blocks.
#[derive(Debug)]
pub(crate) struct Turns<T>(Vec<(Side, Vec<T>)>);

impl<T> Turns<T> {
    /// Returns an empty list with this capacity.
    pub(crate) fn with_capacity(turns: usize) -> Self {
        Self(Vec::with_capacity(turns))
    }

    /// Adds blocks to the last turn if it is of this side, else as a turn.
    pub(crate) fn append(&mut self, side: Side, blocks: Vec<T>) {
        match self.0.last_mut() {
            _ if blocks.is_empty() => {}
            Some((last, turn)) if *last == side => turn.extend(blocks),
            _ => self.0.push((side, blocks)),
        }
    }

    /// Whether blocks of this side would join a turn that holds more than results.
    pub(crate) fn would_merge(&self, side: Side, is_result: impl Fn(&T) -> bool) -> bool {
        let last = self.0.last().filter(|(last, _)| *last == side);
        last.is_some_and(|(_, blocks)| !blocks.iter().all(is_result))
    }

    /// Adds a turn in front.
    pub(crate) fn insert_first(&mut self, side: Side, block: T) {
        self.0.insert(0, (side, vec![block]));
    }

    pub(crate) fn first_side(&self) -> Option<Side> {
        self.0.first().map(|(side, _)| *side)
    }

    pub(crate) fn last_side(&self) -> Option<Side> {
        self.0.last().map(|(side, _)| *side)
    }

    pub(crate) fn last_block_mut(&mut self) -> Option<&mut T> {
        self.0.last_mut()?.1.last_mut()
    }

    /// All blocks, in order.
    pub(crate) fn blocks_mut(&mut self) -> impl DoubleEndedIterator<Item = &mut T> {
        self.0.iter_mut().flat_map(|(_, blocks)| blocks)
    }

    /// Changes the blocks of every turn; a turn without blocks is none.
    pub(crate) fn update(&mut self, mut each: impl FnMut(&mut Vec<T>)) {
        self.0.iter_mut().for_each(|(_, blocks)| each(blocks));
        if self.0.iter().any(|(_, blocks)| blocks.is_empty()) {
            for (side, blocks) in std::mem::take(&mut self.0) {
                self.append(side, blocks);
            }
        }
    }

    pub(crate) fn into_iter(self) -> impl Iterator<Item = (Side, Vec<T>)> {
        self.0.into_iter()
    }
}
