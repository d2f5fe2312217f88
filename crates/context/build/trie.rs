//! The trie of a vocabulary as a double array. Only [`super`] calls this code.

use std::error::Error;

use super::layout::{IN_USE, MARK_BITS, NO_TOKEN, ROOT_BASE};

/// The base of a node without children. None of the nodes of this base is in use.
const LEAF_BASE: u32 = 0;

/// The number of nodes in a block. The children of one node are in one block, because the highest byte is 255.
const BLOCK: usize = 256;

/// The number of free nodes that are tried for the first child before a new block begins.
const TRIES_MAX: usize = 256;

/// Sorted tokens with a common prefix, with their numbers.
type Sorted<'a> = [(&'a [u8], u32)];

/// Returns the nodes of the trie.
pub(super) fn nodes(tokens: &[&[u8]]) -> Result<Vec<u64>, Box<dyn Error>> {
    let mut sorted: Vec<(&[u8], u32)> = tokens.iter().copied().zip(0..).collect();
    sorted.sort_unstable();
    let mut array = Array::new();
    array.place(&sorted, 0, ROOT_BASE);
    if array.nodes.len() >> (u32::BITS - MARK_BITS) != 0 {
        return Err("the trie is too large".into());
    }
    Ok(array.nodes)
}

struct Array {
    nodes: Vec<u64>,
    /// The bases that are in use.
    bases: Vec<bool>,
    /// For each free node, the next and the previous free node. Node 0 is never free: it begins and ends this list.
    next: Vec<usize>,
    previous: Vec<usize>,
}

impl Array {
    /// Creates an array with the nodes that leaves point to and those of the root's children. All of them are taken.
    fn new() -> Self {
        let nodes = ROOT_BASE as usize + BLOCK;
        let mut bases = vec![false; nodes];
        bases[LEAF_BASE as usize] = true;
        bases[ROOT_BASE as usize] = true;
        Self { nodes: vec![0; nodes], bases, next: vec![0; nodes], previous: vec![0; nodes] }
    }

    /// Places the children of the node with this base. The tokens are longer than `depth` and have the same first
    /// `depth` bytes.
    fn place(&mut self, tokens: &Sorted<'_>, depth: usize, base: u32) {
        let mut inner = Vec::new();
        for child in tokens.chunk_by(|one, other| one.0[depth] == other.0[depth]) {
            let byte = child[0].0[depth];
            let node = (base ^ u32::from(byte)) as usize;
            let (token, deeper) = match child[0] {
                (bytes, id) if bytes.len() == depth + 1 => (id, &child[1..]),
                _ => (NO_TOKEN, child),
            };
            self.nodes[node] = IN_USE | u64::from(byte) | u64::from(token) << 32;
            if !deeper.is_empty() {
                inner.push((node, deeper));
            }
        }
        for (node, deeper) in inner {
            let child_base = self.take_base(deeper, depth + 1);
            self.nodes[node] |= u64::from(child_base) << MARK_BITS;
            self.place(deeper, depth + 1, child_base);
        }
    }

    /// Finds a base for which all nodes of the children are free, and takes the base and these nodes.
    fn take_base(&mut self, tokens: &Sorted<'_>, depth: usize) -> u32 {
        let mut bytes: Vec<u8> = tokens.iter().map(|token| token.0[depth]).collect();
        bytes.dedup();
        let base = self.find_base(&bytes).unwrap_or_else(|| self.begin_block());
        self.bases[base] = true;
        for byte in bytes {
            let node = base ^ usize::from(byte);
            self.nodes[node] = IN_USE;
            let (next, previous) = (self.next[node], self.previous[node]);
            self.next[previous] = next;
            self.previous[next] = previous;
        }
        base as u32
    }

    fn find_base(&self, bytes: &[u8]) -> Option<usize> {
        let mut node = self.next[0];
        for _ in 0..TRIES_MAX {
            if node == 0 {
                return None;
            }
            let base = node ^ usize::from(bytes[0]);
            let is_free = |byte: &u8| self.nodes[base ^ usize::from(*byte)] == 0;
            if !self.bases[base] && bytes.iter().all(is_free) {
                return Some(base);
            }
            node = self.next[node];
        }
        None
    }

    /// Appends a block of free nodes and returns the base that leads to it.
    fn begin_block(&mut self) -> usize {
        let first = self.nodes.len();
        let end = first + BLOCK;
        self.nodes.resize(end, 0);
        self.bases.resize(end, false);
        let last_free = self.previous[0];
        self.next.extend(first + 1..=end);
        self.previous.extend((first..end).map(|node| node.wrapping_sub(1)));
        self.next[last_free] = first;
        self.previous[first] = last_free;
        self.next[end - 1] = 0;
        self.previous[0] = end - 1;
        first
    }
}
