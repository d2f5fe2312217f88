//! Queries about the ancestors of an entry. Each takes logarithmic time, so that no log can make them slow. They use
//! only positions.
//!
//! Every entry stores its parent, and one jump to a more distant ancestor with the latest redaction in between. The
//! jumps are those of skew-binary lists (E. Myers, "An applicative random-access stack", 1983).

/// The ancestors of the added entries.
#[derive(Debug)]
pub(super) struct Ancestry {
    nodes: Vec<Option<Node>>,
}

#[derive(Clone, Copy, Debug)]
struct Node {
    /// The position of the parent; for a root, its own position.
    parent: usize,
    /// The position that the jump leads to; for a root, its own position.
    jump: usize,
    depth: usize,
    own: Since,
    /// The latest redactions of this entry and its ancestors before `jump`.
    span: Since,
}

/// The redaction since which something is hidden; `None` is earlier than all redactions.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Since {
    /// The value for any entry.
    pub(super) entry: Option<usize>,
    /// The value for compaction summaries only.
    pub(super) summary: Option<usize>,
}

impl Ancestry {
    /// Creates room for this many entries.
    pub(super) fn new(count: usize) -> Self {
        Self { nodes: vec![None; count] }
    }

    pub(super) fn has(&self, position: usize) -> bool {
        self.node(position).is_some()
    }

    /// Adds an entry; its parent must have been added, unless it is a root.
    pub(super) fn add(&mut self, position: usize, parent: Option<usize>, own: Since) {
        let root = Node { parent: position, jump: position, depth: 0, own, span: Since::default() };
        let node = parent.and_then(|parent| self.child(parent, own)).unwrap_or(root);
        if let Some(slot) = self.nodes.get_mut(position) {
            *slot = Some(node);
        }
    }

    /// Returns the nearest entry that was hidden after `moment`, among this one and its ancestors.
    pub(super) fn nearest(
        &self,
        from: usize,
        moment: usize,
        of: fn(&Since) -> Option<usize>,
    ) -> Option<usize> {
        let mut at = from;
        loop {
            let node = self.node(at)?;
            if of(&node.own) > Some(moment) {
                return Some(at);
            }
            let next = if of(&node.span) > Some(moment) { node.parent } else { node.jump };
            if next == at {
                return None;
            }
            at = next;
        }
    }

    /// Returns whether the first entry is an ancestor of the second one, or the same entry.
    pub(super) fn is_ancestor(&self, ancestor: usize, of: usize) -> bool {
        let Some(depth) = self.node(ancestor).map(|node| node.depth) else {
            return false;
        };
        let mut at = of;
        while let Some(node) = self.node(at).filter(|node| node.depth > depth) {
            let is_beyond = self.node(node.jump).is_none_or(|jump| jump.depth < depth);
            at = if is_beyond { node.parent } else { node.jump };
        }
        at == ancestor
    }

    /// Returns the redaction since which this entry is hidden.
    pub(super) fn since(&self, position: usize) -> Option<usize> {
        self.node(position)?.own.entry
    }

    fn child(&self, parent: usize, own: Since) -> Option<Node> {
        let above = self.node(parent)?;
        let further = self.node(above.jump)?;
        let furthest = self.node(further.jump)?;
        let depth = above.depth + 1;
        if above.depth - further.depth == further.depth - furthest.depth {
            let span = own.latest(above.span).latest(further.span);
            return Some(Node { parent, jump: further.jump, depth, own, span });
        }
        Some(Node { parent, jump: parent, depth, own, span: own })
    }

    fn node(&self, position: usize) -> Option<Node> {
        self.nodes.get(position).copied().flatten()
    }
}

impl Since {
    fn latest(self, other: Self) -> Self {
        Self { entry: self.entry.max(other.entry), summary: self.summary.max(other.summary) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Returns a comb: every third entry is a leaf, the others form one long chain; some are hidden.
    fn comb() -> (Ancestry, Vec<Option<usize>>, Vec<Option<usize>>) {
        let mut ancestry = Ancestry::new(600);
        let (mut parents, mut hidden, mut last) = (Vec::new(), Vec::new(), None);
        for position in 0..600 {
            let since = (position % 7 == 3).then_some(position * 37 % 1000);
            ancestry.add(position, last, Since { entry: since, summary: None });
            parents.push(last);
            hidden.push(since);
            if position % 3 != 2 {
                last = Some(position);
            }
        }
        (ancestry, parents, hidden)
    }

    #[test]
    fn the_nearest_hidden_ancestor_is_the_one_that_a_plain_walk_finds() {
        let (ancestry, parents, hidden) = comb();
        for from in 0..600 {
            for moment in [0, 100, 500, 900, 998] {
                let mut chain = std::iter::successors(Some(from), |position| parents[*position]);
                let plain = chain.find(|position| hidden[*position] > Some(moment));
                assert_eq!(ancestry.nearest(from, moment, |since| since.entry), plain);
            }
            assert_eq!(ancestry.nearest(from, 0, |since| since.summary), None);
        }
    }

    #[test]
    fn ancestors_are_those_that_a_plain_walk_meets() {
        let (ancestry, parents, _) = comb();
        for from in (0..600).step_by(11) {
            let chain: Vec<usize> =
                std::iter::successors(Some(from), |position| parents[*position]).collect();
            for other in 0..600 {
                assert_eq!(ancestry.is_ancestor(other, from), chain.contains(&other));
            }
        }
    }
}
