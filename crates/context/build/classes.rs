//! The classes of all characters, from the Unicode tables of the regex crates. Only [`super`] calls this code.

use std::error::Error;

use regex_syntax::hir::{Class, HirKind};

use super::layout::BLOCK;
use super::layout::class::{BEFORE, BLANK, BREAK, LETTER, LOWER, NUMBER, SIGN, UPPER};

const CHARACTERS: usize = 0x11_0000;

const SETS: [(u8, &str); 8] = [
    (UPPER, r"[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}]"),
    (LOWER, r"[\p{Ll}\p{Lm}\p{Lo}\p{M}]"),
    (LETTER, r"\p{L}"),
    (NUMBER, r"\p{N}"),
    (BLANK, r"\s"),
    (BREAK, r"[\r\n]"),
    (SIGN, r"[^\s\p{L}\p{N}]"),
    (BEFORE, r"[^\r\n\p{L}\p{N}]"),
];

/// Returns two tables: for each block of characters the number of its list of classes, and these lists one after the
/// other.
pub(super) fn tables() -> Result<(Vec<u8>, Vec<u8>), Box<dyn Error>> {
    let mut classes = vec![0; CHARACTERS];
    for (bit, pattern) in SETS {
        let HirKind::Class(Class::Unicode(set)) = regex_syntax::parse(pattern)?.into_kind() else {
            return Err(format!("{pattern} is no set of characters").into());
        };
        for range in set.ranges() {
            for class in &mut classes[range.start() as usize..=range.end() as usize] {
                *class |= bit;
            }
        }
    }
    let mut different: Vec<&[u8]> = Vec::new();
    let mut blocks = Vec::new();
    for block in classes.chunks(BLOCK) {
        let known = different.iter().position(|other| *other == block);
        let number = known.unwrap_or_else(|| {
            different.push(block);
            different.len() - 1
        });
        blocks.push(u8::try_from(number)?);
    }
    Ok((blocks, different.concat()))
}
