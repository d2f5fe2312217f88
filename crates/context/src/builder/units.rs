//! Where a cut may fall. An answer with tool calls and the results behind it stay together; so does
//! everything inside one message.

use std::ops::Range;

use tertulia_session::{PartKind, Role};

use super::Item;

/// The units of a list that [`repair`](super::repair()) mended, in order: together they are the list.
pub fn units(items: &[Item<'_>]) -> Vec<Range<usize>> {
    let mut units: Vec<Range<usize>> = Vec::new();
    let mut in_calls = false;
    for (place, item) in items.iter().enumerate() {
        let follows_call = in_calls && item.message.effective_role() == Role::Tool;
        match units.last_mut() {
            Some(unit) if follows_call => unit.end = place + 1,
            _ => {
                units.push(place..place + 1);
                let mut parts = item.message.parts.iter();
                in_calls = parts.any(|part| matches!(part.kind, PartKind::ToolCall(_)));
            }
        }
    }
    units
}
