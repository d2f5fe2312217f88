//! Whether an agent that writes `@name` addresses somebody or only speaks of them. It addresses at the start of a line
//! or a sentence, behind a comma, in a list of names that does, behind a single word such as "Hi", and at the end of
//! the message. "as @eva said" addresses nobody. People are not asked: what they type is short, and they mean it.

use std::ops::Range;

use super::{is_closing, without_item};

pub(super) struct Spot {
    /// From what opens before it to the end of the name.
    pub(super) place: Range<usize>,
    pub(super) candidate: usize,
}

/// A longer beginning of a line is looked at no further.
const LEAD_BYTES_MAX: usize = 64;
/// Longer texts between two names are no "and".
const BETWEEN_BYTES_MAX: usize = 24;
const JOINTS: [&str; 11] = ["and", "or", "und", "oder", "et", "ou", "y", "o", "e", "plus", "then"];

pub(super) fn spoken_of(text: &str, spots: &[Spot]) -> Vec<usize> {
    let words_end = text.trim_end_matches(|c: char| c.is_whitespace() || is_sign(c)).len();
    let (mut line, mut seen) = (0, 0);
    let mut addressed: Vec<bool> = Vec::with_capacity(spots.len());
    let mut joined: Vec<bool> = Vec::with_capacity(spots.len());
    for (index, Spot { place, .. }) in spots.iter().enumerate() {
        let passed = text.get(seen..place.start).unwrap_or_default();
        line = passed.rfind('\n').map_or(line, |newline| seen + newline + 1);
        seen = place.start.max(seen);
        let last = index.checked_sub(1).and_then(|last| spots.get(last));
        let is_joined = last.is_some_and(|last| is_joint(text, last.place.end..place.start));
        let follows = is_joined && addressed.last().copied().unwrap_or_default();
        joined.push(is_joined);
        addressed.push(follows || place.end >= words_end || is_vocative(text, line, place));
    }
    // "Over to @max and @eva": the end of the list says what all of it is.
    for index in (1..spots.len()).rev() {
        let is_addressed = addressed.get(index).copied().unwrap_or_default();
        if let (Some(before), Some(true)) = (addressed.get_mut(index - 1), joined.get(index)) {
            *before |= is_addressed;
        }
    }
    let spoken_of = spots.iter().zip(addressed).filter(|(_, addressed)| !addressed);
    spoken_of.map(|(spot, _)| spot.candidate).collect()
}

/// Whether a name is called out: at the start of a line or a sentence, behind a comma, or behind one word.
fn is_vocative(text: &str, line: usize, place: &Range<usize>) -> bool {
    let before = text.get(..place.start).unwrap_or_default();
    let lead = text.get(line..place.start).unwrap_or_default();
    if lead.len() <= LEAD_BYTES_MAX {
        let lead = without_item(lead).unwrap_or(lead).trim().trim_start_matches('#');
        // A check box, or markers.
        if lead.is_empty() || lead.starts_with('[') && lead.ends_with(']') {
            return true;
        }
        let behind = text.get(place.end..).unwrap_or_default().trim_start_matches(is_closing);
        let is_greeting = lead.chars().all(char::is_alphabetic);
        if is_greeting && behind.starts_with([',', ':', '!', '?', '—', '–', '，', '：']) {
            return true;
        }
    }
    let before = before.trim_end();
    let is_dash = before.strip_suffix('-').is_some_and(|rest| rest.ends_with([' ', '\t']));
    is_dash || before.trim_end_matches(is_closing).ends_with(is_stop)
}

fn is_joint(text: &str, between: Range<usize>) -> bool {
    let Some(between) = text.get(between).filter(|text| text.len() <= BETWEEN_BYTES_MAX) else {
        return false;
    };
    let is_between = |c: char| c.is_whitespace() || is_sign(c) || matches!(c, '&' | '+' | '/');
    let mut words = between.split(is_between).filter(|word| !word.is_empty());
    !between.contains('\n') && words.all(|word| JOINTS.contains(&word))
}

fn is_stop(c: char) -> bool {
    matches!(c, '.' | ',' | ':' | ';' | '!' | '?' | '…' | '—' | '–')
        || matches!(c, '，' | '。' | '、' | '；' | '：' | '！' | '？')
}

fn is_sign(c: char) -> bool {
    is_stop(c) || is_closing(c)
}
