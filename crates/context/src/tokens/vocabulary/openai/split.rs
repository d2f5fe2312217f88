//! Splits a text into pieces as OpenAI's patterns do. Each piece is then merged on its own. Only [`super`] calls
//! this code.
//!
//! Each function returns the end of the piece that begins at a position. It matches what the pattern in its
//! documentation matches: the first alternative that matches, and as much of it as possible. Each character is read
//! only a few times.

use super::layout::BLOCK;
use super::layout::class::{BEFORE, BLANK, BREAK, LETTER, LOWER, NUMBER, SIGN, UPPER};

/// For each block of characters, the number of its list of classes.
static BLOCKS: &[u8] = include_bytes!(concat!(env!("OUT_DIR"), "/classes.blocks"));

/// The lists of classes that occur, one after the other.
static CLASSES: &[[u8; BLOCK]] = include_bytes!(concat!(env!("OUT_DIR"), "/classes")).as_chunks().0;

/// The classes of the one-byte characters; empty for all other bytes.
static ASCII: [u8; 256] = ascii();

const fn ascii() -> [u8; 256] {
    let mut classes = [0; 256];
    let mut byte = 0;
    while byte < BLOCK {
        classes[byte] = CLASSES[BLOCKS[0] as usize][byte];
        byte += 1;
    }
    classes
}

/// Numbers are cut after this many digits.
const DIGITS_MAX: usize = 3;

/// Returns the end of the piece of o200k that begins here.
///
/// ```text
/// [^\r\n\p{L}\p{N}]?[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}]*[\p{Ll}\p{Lm}\p{Lo}\p{M}]+(?i:'s|'t|'re|'ve|'m|'ll|'d)?
/// |[^\r\n\p{L}\p{N}]?[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}]+[\p{Ll}\p{Lm}\p{Lo}\p{M}]*(?i:'s|'t|'re|'ve|'m|'ll|'d)?
/// |\p{N}{1,3}| ?[^\s\p{L}\p{N}]+[\r\n/]*|\s*[\r\n]+|\s+(?!\S)|\s+
/// ```
pub(super) fn o200k(text: &[u8], from: usize) -> usize {
    let (class, second) = class_at(text, from);
    if class & LETTER != 0 {
        return with_ending(text, word(text, from).end);
    }
    if class & BEFORE != 0 {
        let word = word(text, second);
        // A mark may also be the start of a word, if capitals follow it.
        if class & LOWER != 0 && !word.has_lower {
            return with_ending(text, second);
        }
        if word.end > second {
            return with_ending(text, word.end);
        }
    }
    other(text, from, class, second, b'/')
}

/// Returns the end of the piece of cl100k that begins here.
///
/// ```text
/// (?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+
/// |\p{N}{1,3}| ?[^\s\p{L}\p{N}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+
/// ```
pub(super) fn cl100k(text: &[u8], from: usize) -> usize {
    let (class, second) = class_at(text, from);
    if class & LETTER != 0 {
        return letters(text, second, LETTER);
    }
    let ending = with_ending(text, from);
    if ending > from {
        return ending;
    }
    if class & BEFORE != 0 {
        let end = letters(text, second, LETTER);
        if end > second {
            return end;
        }
    }
    other(text, from, class, second, b'\n')
}

/// Splits by the rules that both patterns share. `behind_signs` is a byte that may follow signs, as line breaks may.
fn other(text: &[u8], from: usize, class: u8, second: usize, behind_signs: u8) -> usize {
    if class & NUMBER != 0 {
        return number(text, second);
    }
    let signs = if text.get(from) == Some(&b' ') { second } else { from };
    let end = run(text, signs, SIGN);
    if end > signs {
        let behind = text.get(end..).unwrap_or_default().iter();
        let is_behind = |byte: &&u8| matches!(**byte, b'\r' | b'\n') || **byte == behind_signs;
        return end + behind.take_while(is_behind).count();
    }
    spaces(text, from, second)
}

struct Word {
    end: usize,
    /// Whether the word may contain a lower-case letter.
    has_lower: bool,
}

/// Returns the word that begins here; an empty one if there is none.
///
/// A word consists of capitals and then lower-case letters, at least one if possible. Letters such as 漢 count as
/// both, so one of them may be the last letter.
#[inline]
fn word(text: &[u8], from: usize) -> Word {
    let (mut at, mut either_end) = (from, from);
    loop {
        let (class, next) = class_at(text, at);
        if class & UPPER == 0 {
            if class & LOWER != 0 {
                return Word { end: letters(text, next, LOWER), has_lower: true };
            }
            break;
        }
        at = next;
        if class & LOWER != 0 {
            either_end = next;
        }
    }
    let has_lower = either_end > from;
    Word { end: if has_lower { either_end } else { at }, has_lower }
}

/// Returns the position after `(?i:'s|'t|'re|'ve|'m|'ll|'d)?`.
#[inline]
fn with_ending(text: &[u8], from: usize) -> usize {
    if text.get(from) != Some(&b'\'') {
        return from;
    }
    match text.get(from + 1..).unwrap_or_default() {
        [b's' | b'S' | b't' | b'T' | b'm' | b'M' | b'd' | b'D', ..] => from + 2,
        [b'r' | b'R' | b'v' | b'V', b'e' | b'E', ..] | [b'l' | b'L', b'l' | b'L', ..] => from + 3,
        // The long s (U+017F) counts as an s.
        [0xc5, 0xbf, ..] => from + 3,
        _ => from,
    }
}

/// Returns the end of a number whose second digit would be here.
fn number(text: &[u8], mut at: usize) -> usize {
    for _ in 1..DIGITS_MAX {
        let (class, next) = class_at(text, at);
        if class & NUMBER == 0 {
            break;
        }
        at = next;
    }
    at
}

/// Returns the position after the last line break, or after all spaces but the last, which belongs to the next
/// piece.
fn spaces(text: &[u8], from: usize, second: usize) -> usize {
    let (mut at, mut last, mut break_end) = (from, from, from);
    loop {
        let (class, next) = class_at(text, at);
        if class & BLANK == 0 {
            break;
        }
        last = at;
        at = next;
        if class & BREAK != 0 {
            break_end = next;
        }
    }
    if break_end > from {
        break_end
    } else if at == text.len() {
        at
    } else {
        // At least one character is taken, so that a text is always cut to its end.
        last.max(second)
    }
}

/// Returns the end of the characters of these classes.
fn run(text: &[u8], from: usize, classes: u8) -> usize {
    let mut at = from;
    loop {
        while let Some(byte) = text.get(at)
            && ASCII[usize::from(*byte)] & classes != 0
        {
            at += 1;
        }
        if text.get(at).is_none_or(u8::is_ascii) {
            return at;
        }
        let (class, next) = class_at(text, at);
        if class & classes == 0 {
            return at;
        }
        at = next;
    }
}

/// Returns the end of the letters of a word, if they are of this class. Most words end within the next eight bytes,
/// which are checked together.
#[inline]
fn letters(text: &[u8], from: usize, class: u8) -> usize {
    const EACH: u64 = u64::MAX / 0xff;
    const HIGH: u64 = 0x80 * EACH;
    let Some(bytes) = text.get(from..).and_then(<[u8]>::first_chunk) else {
        return run(text, from, class);
    };
    let bytes = u64::from_le_bytes(*bytes);
    // This bit turns capitals into lower-case letters.
    let small = if class == LETTER { bytes | (0x20 * EACH) } else { bytes };
    let from_a = (small & !HIGH) + (0x80 - u64::from(b'a')) * EACH;
    let behind_z = (small & !HIGH) + (0x7f - u64::from(b'z')) * EACH;
    let others = (!from_a | behind_z | bytes) & HIGH;
    let end = from + (others.trailing_zeros() / 8) as usize;
    // The byte at the end may begin a longer character of the class.
    if others != 0 && text.get(end).is_some_and(u8::is_ascii) { end } else { run(text, end, class) }
}

/// Returns the classes of the character here (none at the end of the text) and the position of the next one.
#[inline]
fn class_at(text: &[u8], at: usize) -> (u8, usize) {
    match text.get(at) {
        None => (0, at),
        Some(byte) if byte.is_ascii() => (ASCII[usize::from(*byte)], at + 1),
        Some(_) => long_class_at(text, at),
    }
}

fn long_class_at(text: &[u8], at: usize) -> (u8, usize) {
    let bits = |byte: &u8, kept: u32| u32::from(*byte) & ((1 << kept) - 1);
    let (character, bytes) = match text.get(at..).unwrap_or_default() {
        [a @ 0xc0..0xe0, b, ..] => (bits(a, 5) << 6 | bits(b, 6), 2),
        [a @ 0xe0..0xf0, b, c, ..] => (bits(a, 4) << 12 | bits(b, 6) << 6 | bits(c, 6), 3),
        [a @ 0xf0..=0xff, b, c, d, ..] => {
            (bits(a, 3) << 18 | bits(b, 6) << 12 | bits(c, 6) << 6 | bits(d, 6), 4)
        }
        // A valid text has no such byte here.
        _ => (0, 1),
    };
    let character = character as usize;
    let block = BLOCKS.get(character / BLOCK).copied().unwrap_or_default();
    let classes = CLASSES.get(usize::from(block));
    (classes.map_or(SIGN | BEFORE, |classes| classes[character % BLOCK]), at + bytes)
}
