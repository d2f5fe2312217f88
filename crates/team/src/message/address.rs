//! Decides whether an agent that writes `@name` addresses a member or only mentions it. A name addresses the member
//! at the start of a line or a sentence, after a comma, after a single word such as "Hi", and at the end of the
//! message. So do all names of a list if one of these rules applies to the list. "as @eva said" addresses nobody. For
//! people every mention counts, because their messages are short.

use std::ops::Range;

use super::{is_closing, without_item};

pub(super) struct Spot {
    /// The range from the opening characters before the name to its end.
    pub(super) range: Range<usize>,
    pub(super) candidate: usize,
}

/// Maximum length of the text before a name on its line. Longer texts are not examined.
const LEAD_BYTES_MAX: usize = 64;
/// Maximum length of the text between two names of one list.
const BETWEEN_BYTES_MAX: usize = 24;
const JOINTS: [&str; 11] = ["and", "or", "und", "oder", "et", "ou", "y", "o", "e", "plus", "then"];

pub(super) fn spoken_of(text: &str, spots: &[Spot]) -> Vec<usize> {
    let words_end = text.trim_end_matches(|c: char| c.is_whitespace() || is_sign(c)).len();
    let (mut line, mut seen) = (0, 0);
    let mut addressed: Vec<bool> = Vec::with_capacity(spots.len());
    let mut joined: Vec<bool> = Vec::with_capacity(spots.len());
    for (index, Spot { range, .. }) in spots.iter().enumerate() {
        let passed = text.get(seen..range.start).unwrap_or_default();
        line = passed.rfind('\n').map_or(line, |newline| seen + newline + 1);
        seen = range.start.max(seen);
        let last = index.checked_sub(1).and_then(|last| spots.get(last));
        let is_joined = last.is_some_and(|last| is_joint(text, last.range.end..range.start));
        let follows = is_joined && addressed.last().copied().unwrap_or_default();
        joined.push(is_joined);
        addressed.push(follows || range.end >= words_end || is_vocative(text, line, range));
    }
    // In "Over to @max and @eva", the end of the list decides for all its names.
    for index in (1..spots.len()).rev() {
        let is_addressed = addressed.get(index).copied().unwrap_or_default();
        if let (Some(before), Some(true)) = (addressed.get_mut(index - 1), joined.get(index)) {
            *before |= is_addressed;
        }
    }
    let spoken_of = spots.iter().zip(addressed).filter(|(_, addressed)| !addressed);
    spoken_of.map(|(spot, _)| spot.candidate).collect()
}

/// Returns whether a name is a vocative: at the start of a line or a sentence, after a comma, or after one word.
fn is_vocative(text: &str, line: usize, range: &Range<usize>) -> bool {
    let before = text.get(..range.start).unwrap_or_default();
    let lead = text.get(line..range.start).unwrap_or_default();
    if lead.len() <= LEAD_BYTES_MAX {
        let lead = without_item(lead).unwrap_or(lead).trim().trim_start_matches('#');
        // The line starts with a check box or with markers.
        if lead.is_empty() || lead.starts_with('[') && lead.ends_with(']') {
            return true;
        }
        let behind = text.get(range.end..).unwrap_or_default().trim_start_matches(is_closing);
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
