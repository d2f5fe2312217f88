//! Reads the size of a picture from its first bytes. A PNG, JPEG, GIF or WebP picture is recognised by its first
//! bytes, not by the declared type. Nothing after the size is read.

use super::Dimensions;

/// The maximum number of bytes of a JPEG that are searched. Colour profiles and previews may precede the size.
const SEARCH_BYTES_MAX: usize = 1_048_576;

/// The number of bytes that are read of every kind but JPEG.
const HEADER_BYTES: usize = 30;

/// Reads the size. Returns `None` for other formats, invalid pictures and sizes of 0.
pub(super) fn read(mut bytes: impl Iterator<Item = u8>) -> Option<Dimensions> {
    let begin: Vec<u8> = bytes.by_ref().take(2).collect();
    if begin == [0xFF, 0xD8] {
        return jpeg(&mut bytes.take(SEARCH_BYTES_MAX));
    }
    let header: Vec<u8> = begin.into_iter().chain(bytes.take(HEADER_BYTES - 2)).collect();
    match header.as_slice() {
        [0x89, b'P', b'N', b'G', b'\r', b'\n', 0x1A, b'\n', ..] => png(&header),
        [b'G', b'I', b'F', b'8', b'7' | b'9', b'a', ..] => {
            size(little(&header, 6, 2)?, little(&header, 8, 2)?)
        }
        [b'R', b'I', b'F', b'F', _, _, _, _, b'W', b'E', b'B', b'P', ..] => webp(&header),
        _ => None,
    }
}

fn png(header: &[u8]) -> Option<Dimensions> {
    let big = |at: usize| Some(u32::from_be_bytes(header.get(at..at + 4)?.try_into().ok()?));
    size(big(16)?, big(20)?)
}

fn webp(header: &[u8]) -> Option<Dimensions> {
    match header.get(12..16)? {
        b"VP8 " if header.get(23..26)? == [0x9D, 0x01, 0x2A] => {
            size(little(header, 26, 2)? & 0x3FFF, little(header, 28, 2)? & 0x3FFF)
        }
        b"VP8L" if *header.get(20)? == 0x2F => {
            let bits = little(header, 21, 4)?;
            size((bits & 0x3FFF) + 1, ((bits >> 14) & 0x3FFF) + 1)
        }
        b"VP8X" => size(little(header, 24, 3)? + 1, little(header, 27, 3)? + 1),
        _ => None,
    }
}

/// Skips segments up to the one that begins a frame, and reads the size there.
fn jpeg(bytes: &mut impl Iterator<Item = u8>) -> Option<Dimensions> {
    loop {
        match marker(bytes)? {
            0xC4 | 0xC8 | 0xCC => skip_segment(bytes)?,
            0xC0..=0xCF => {
                // Two bytes of length and one of precision precede the size.
                bytes.nth(2)?;
                let height = big_u16(bytes)?;
                return size(big_u16(bytes)?, height);
            }
            0x01 | 0xD0..=0xD8 => {}
            // The data or the end of the picture begins here, and no frame came before it.
            0xD9 | 0xDA => return None,
            _ => skip_segment(bytes)?,
        }
    }
}

/// Returns the next marker: the byte after one or more bytes 0xFF.
fn marker(bytes: &mut impl Iterator<Item = u8>) -> Option<u8> {
    if bytes.next()? != 0xFF {
        return None;
    }
    bytes.find(|byte| *byte != 0xFF)
}

fn skip_segment(bytes: &mut impl Iterator<Item = u8>) -> Option<()> {
    // The length counts its own two bytes.
    match big_u16(bytes)?.checked_sub(2)? {
        0 => Some(()),
        rest => bytes.nth(rest as usize - 1).map(|_| ()),
    }
}

fn big_u16(bytes: &mut impl Iterator<Item = u8>) -> Option<u32> {
    Some(u32::from(bytes.next()?) << 8 | u32::from(bytes.next()?))
}

/// Returns a number of this many bytes, the lowest byte first.
fn little(header: &[u8], at: usize, length: usize) -> Option<u32> {
    let bytes = header.get(at..at + length)?;
    Some(bytes.iter().rev().fold(0, |number, byte| number << 8 | u32::from(*byte)))
}

fn size(width: u32, height: u32) -> Option<Dimensions> {
    (width > 0 && height > 0).then_some(Dimensions { width, height })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(bytes: &[u8], expected: Option<(u32, u32)>) {
        let expected = expected.map(|(width, height)| Dimensions { width, height });
        assert_eq!(read(bytes.iter().copied()), expected);
    }

    fn joined(pieces: &[&[u8]]) -> Vec<u8> {
        pieces.concat()
    }

    const PNG: &[u8] = b"\x89PNG\r\n\x1a\n\0\0\0\rIHDR\0\0\x02\x80\0\0\x01\xe0";
    const FRAME: &[u8] = b"\xff\xc2\0\x11\x08\x01\xe0\x02\x80";

    #[test]
    fn every_kind_tells_its_size() {
        check(PNG, Some((640, 480)));
        check(b"GIF89a\x80\x02\xe0\x01", Some((640, 480)));
        let lossy = b"RIFF\0\0\0\0WEBPVP8 \0\0\0\0\0\0\0\x9d\x01\x2a\x80\x02\xe0\x01";
        check(lossy, Some((640, 480)));
        let bits: u32 = 639 | 479 << 14;
        let lossless = joined(&[b"RIFF\0\0\0\0WEBPVP8L\0\0\0\0\x2f", &bits.to_le_bytes(), b"\0\0"]);
        check(&lossless, Some((640, 480)));
        let extended = b"RIFF\0\0\0\0WEBPVP8X\x0a\0\0\0\0\0\0\0\x7f\x02\0\xdf\x01\0";
        check(extended, Some((640, 480)));
    }

    #[test]
    fn a_jpeg_is_searched_behind_its_profiles_and_tables() {
        let exif = joined(&[b"\xff\xe1\xff\xff", &[7; 65_533]]);
        let table = b"\xff\xc4\0\x04ab";
        check(&joined(&[b"\xff\xd8", &exif, table, b"\xff\xff", FRAME]), Some((640, 480)));
        check(&joined(&[b"\xff\xd8", b"\xff\xe0\0\x02", FRAME]), Some((640, 480)));
    }

    #[test]
    fn a_jpeg_without_a_frame_has_no_size() {
        check(b"\xff\xd8\xff\xda", None);
        check(b"\xff\xd8\xff\xe0\0\x01", None);
        check(b"\xff\xd8hello", None);
        let endless = joined(&[b"\xff\xd8", &b"\xff\xe1\xff\xff".repeat(400_000)]);
        check(&endless, None);
    }

    #[test]
    fn what_is_cut_short_or_empty_has_no_size() {
        for end in 0..PNG.len() {
            check(&PNG[..end], None);
        }
        check(b"GIF89a\0\0\xe0\x01", None);
        check(b"BM not a picture that we know, but long", None);
    }
}
