//! Decodes the beginning of a base64 text byte by byte, only as far as needed. Accepts both alphabets, skips line
//! breaks, and ends at the first character that is not base64.

/// Returns the decoded bytes of this base64 text. A prefix such as `data:image/png;base64,` may precede it.
pub(super) fn bytes(text: &str) -> impl Iterator<Item = u8> {
    let (mut bits, mut held) = (0_u32, 0_u32);
    let mut sextets = payload(text).bytes().filter(|byte| !byte.is_ascii_whitespace());
    std::iter::from_fn(move || {
        while held < 8 {
            bits = (bits << 6) | sextet(sextets.next()?)?;
            held += 6;
        }
        held -= 8;
        let byte = (bits >> held) & 0xFF;
        bits &= (1 << held) - 1;
        u8::try_from(byte).ok()
    })
}

fn payload(text: &str) -> &str {
    match text.strip_prefix("data:") {
        Some(address) => address.split_once(',').map_or("", |(_, payload)| payload),
        None => text,
    }
}

fn sextet(byte: u8) -> Option<u32> {
    let value = match byte {
        b'A'..=b'Z' => byte - b'A',
        b'a'..=b'z' => byte - b'a' + 26,
        b'0'..=b'9' => byte - b'0' + 52,
        b'+' | b'-' => 62,
        b'/' | b'_' => 63,
        _ => return None,
    };
    Some(u32::from(value))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(text: &str, expected: &[u8]) {
        assert_eq!(bytes(text).collect::<Vec<_>>(), expected, "{text:?}");
    }

    #[test]
    fn base64_becomes_bytes() {
        check("", b"");
        check("SGk=", b"Hi");
        check("SGkh", b"Hi!");
        check("SG\r\nkh", b"Hi!");
        check("data:text/plain;base64,SGkh", b"Hi!");
        check("-_-_", &[0xFB, 0xFF, 0xBF]);
    }

    #[test]
    fn it_ends_where_the_text_is_no_base64_any_more() {
        check("SGkh!!!!SGkh", b"Hi!");
        check("é", b"");
        check("data:image/png", b"");
    }
}
