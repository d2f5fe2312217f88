//! Where a cut may fall. An answer with tool calls and the results behind it stay together; so does
//! everything inside one message.

use std::ops::Range;

use tertulia_session::{PartKind, Role};

use super::Item;

/// Messages that stay together.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Unit {
    /// Where they are in their list.
    pub items: Range<usize>,
    /// Whether the newest request is among them.
    pub is_request: bool,
    pub is_pinned: bool,
    pub is_newest: bool,
}

impl Unit {
    /// Whether they have to be sent whatever is cut.
    pub fn is_must(&self) -> bool {
        self.is_request || self.is_pinned || self.is_newest
    }
}

/// The units of a list that [`repair`](super::repair()) mended, in order: together they are the list.
pub fn units(items: &[Item<'_>]) -> Vec<Unit> {
    let mut units: Vec<Unit> = Vec::with_capacity(items.len());
    let mut in_calls = false;
    for (place, item) in items.iter().enumerate() {
        let follows_call = in_calls && item.message.effective_role() == Role::Tool;
        match units.last_mut() {
            Some(unit) if follows_call => unit.items.end = place + 1,
            _ => {
                let items = place..place + 1;
                units.push(Unit { items, is_request: false, is_pinned: false, is_newest: false });
                let mut parts = item.message.parts.iter();
                in_calls = parts.any(|part| matches!(part.kind, PartKind::ToolCall(_)));
            }
        }
    }
    units
}
