//! What was decided because of an entry.

use tertulia_session::EntryId;
use tertulia_team::Decision;

/// What was decided because of an entry, with the whole history of every turn among it.
pub fn story<'d>(
    entry: &EntryId,
    why: impl Fn(&EntryId) -> Vec<&'d Decision>,
) -> Vec<&'d Decision> {
    let mut told: Vec<&Decision> = Vec::new();
    for decision in why(entry) {
        let decisions = match decision {
            Decision::Turn { turn, .. } => why(turn),
            Decision::Note(_) | Decision::Asked { .. } => vec![decision],
        };
        for one in decisions {
            if !told.contains(&one) {
                told.push(one);
            }
        }
    }
    told
}
