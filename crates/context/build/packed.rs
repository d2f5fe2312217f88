//! Reads a packed vocabulary in the format of the `splintr-vocab` crates: a magic number, the number of tokens, then
//! for each token its number, its length and its bytes. Numbers are LEB128.

use std::error::Error;

use super::layout;

const MAGIC: &[u8] = b"SPLNTRV1";

/// Returns the bytes of each token, in the order of the token numbers.
pub(super) fn tokens(packed: &[u8]) -> Result<Vec<&[u8]>, Box<dyn Error>> {
    let rest = packed.strip_prefix(MAGIC).ok_or("the vocabulary has another magic number")?;
    let (count, mut rest) = rest.split_first_chunk().ok_or("the vocabulary ends too early")?;
    let count = u32::from_le_bytes(*count);
    if count >> layout::ID_BITS != 0 {
        return Err(format!("{count} tokens do not fit into {} bits", layout::ID_BITS).into());
    }
    let mut tokens = Vec::new();
    for id in 0..u64::from(count) {
        let number = number(&mut rest)?;
        if number != id {
            return Err(format!("token {number} is where token {id} is expected").into());
        }
        let length = usize::try_from(self::number(&mut rest)?)?;
        let (token, after) =
            rest.split_at_checked(length).ok_or_else(|| format!("token {id} is incomplete"))?;
        tokens.push(token);
        rest = after;
    }
    Ok(tokens)
}

/// Reads one LEB128 number: seven bits for each byte, the lowest first, until a byte below 128.
fn number(rest: &mut &[u8]) -> Result<u64, Box<dyn Error>> {
    let mut value = 0_u64;
    for shift in (0..u64::BITS).step_by(7) {
        let (byte, after) = rest.split_first().ok_or("the vocabulary ends in a number")?;
        *rest = after;
        value |= u64::from(byte & 0x7f) << shift;
        if *byte < 0x80 {
            return Ok(value);
        }
    }
    Err("a number of the vocabulary has more than 64 bits".into())
}
