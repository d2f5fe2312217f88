//! Recomputes the hashes in the policy of a page.

/// Returns bytes as base64.
pub(super) fn base64(bytes: &[u8]) -> String {
    const DIGITS: &[u8; 64] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    let mut text = String::new();
    for chunk in bytes.chunks(3) {
        let number = (0..3).fold(0, |sum, at| sum << 8 | usize::from(*chunk.get(at).unwrap_or(&0)));
        for digit in 0..4 {
            let is_padding = digit > chunk.len();
            let value = number >> (18 - 6 * digit) & 63;
            text.push(if is_padding { '=' } else { char::from(DIGITS[value]) });
        }
    }
    text
}

/// Computes SHA-256 as FIPS 180-4 defines it.
pub(super) fn sha256(message: &[u8]) -> Vec<u8> {
    let primes = (2_u32..).filter(|n| (2..*n).all(|divisor| n % divisor > 0));
    let fraction = |root: f64| ((root - root.floor()) * 4_294_967_296.0) as u32;
    let constants: Vec<u32> =
        primes.clone().take(64).map(|prime| fraction(f64::from(prime).cbrt())).collect();
    let mut state: Vec<u32> =
        primes.take(8).map(|prime| fraction(f64::from(prime).sqrt())).collect();
    let mut padded = message.to_vec();
    padded.push(0x80);
    padded.resize(padded.len().next_multiple_of(64), 0);
    if message.len() % 64 >= 56 {
        padded.resize(padded.len() + 64, 0);
    }
    let end = padded.len() - 8;
    padded[end..].copy_from_slice(&(message.len() as u64 * 8).to_be_bytes());
    for block in padded.chunks(64) {
        let mut words: Vec<u32> = block
            .chunks(4)
            .map(|bytes| u32::from_be_bytes([bytes[0], bytes[1], bytes[2], bytes[3]]))
            .collect();
        for at in 16..64 {
            let (w15, w2) = (words[at - 15], words[at - 2]);
            let s0 = w15.rotate_right(7) ^ w15.rotate_right(18) ^ (w15 >> 3);
            let s1 = w2.rotate_right(17) ^ w2.rotate_right(19) ^ (w2 >> 10);
            let sum = words[at - 16].wrapping_add(s0).wrapping_add(words[at - 7]);
            words.push(sum.wrapping_add(s1));
        }
        let mut v = state.clone();
        for (word, constant) in words.iter().zip(&constants) {
            let s1 = v[4].rotate_right(6) ^ v[4].rotate_right(11) ^ v[4].rotate_right(25);
            let choice = (v[4] & v[5]) ^ (!v[4] & v[6]);
            let first = v[7].wrapping_add(s1).wrapping_add(choice);
            let first = first.wrapping_add(*constant).wrapping_add(*word);
            let s0 = v[0].rotate_right(2) ^ v[0].rotate_right(13) ^ v[0].rotate_right(22);
            let majority = (v[0] & v[1]) ^ (v[0] & v[2]) ^ (v[1] & v[2]);
            v.rotate_right(1);
            v[4] = v[4].wrapping_add(first);
            v[0] = first.wrapping_add(s0).wrapping_add(majority);
        }
        for (sum, one) in state.iter_mut().zip(v) {
            *sum = sum.wrapping_add(one);
        }
    }
    state.into_iter().flat_map(u32::to_be_bytes).collect()
}
