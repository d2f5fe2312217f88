//! SHA-256 checksums, as `sha256sum` writes them and as wheels do.

use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use sha2::{Digest as _, Sha256};
use std::fmt::Write as _;

/// The text of a file SHA256SUMS; `sha256sum --check` reads it.
pub(super) fn sums<'a>(files: impl IntoIterator<Item = (&'a str, &'a [u8])>) -> String {
    let mut lines: Vec<String> = files
        .into_iter()
        .map(|(name, bytes)| format!("{}  {name}\n", hexadecimal(bytes)))
        .collect();
    lines.sort_by(|one, other| one[HEXADECIMAL..].cmp(&other[HEXADECIMAL..]));
    lines.concat()
}

/// The length of a checksum in hexadecimal.
const HEXADECIMAL: usize = 64;

fn hexadecimal(bytes: &[u8]) -> String {
    Sha256::digest(bytes).iter().fold(String::new(), |mut text, byte| {
        let _ = write!(text, "{byte:02x}");
        text
    })
}

/// The checksum in the form of a wheel's RECORD.
pub(super) fn record(bytes: &[u8]) -> String {
    format!("sha256={}", URL_SAFE_NO_PAD.encode(Sha256::digest(bytes)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn checksums_are_in_the_format_of_sha256sum_and_sorted_by_name() {
        let expected = "\
e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855  a.deb
ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad  b.whl
";
        let files: [(&str, &[u8]); 2] = [("b.whl", b"abc"), ("a.deb", b"")];
        assert_eq!(sums(files), expected);
    }

    #[test]
    fn a_record_has_no_padding() {
        assert_eq!(record(b""), "sha256=47DEQpj8HBSa-_TImW-5JCeuQeRkm5NMpJWZG3hSuFU");
    }
}
