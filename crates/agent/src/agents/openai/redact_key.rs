//! Removes the API key from everything that an endpoint sends, because some endpoints repeat it in error messages.
//! Called by [`super::Exchange`] before anything is parsed, so that no event, error or log can contain the key.

/// Minimum length of a key that is removed. A shorter one is a placeholder for a local server, and such a word may
/// occur in any answer.
const KEY_BYTES_MIN: usize = 16;
const INSTEAD: &[u8] = b"[key]";

pub(super) struct KeyRedactor {
    /// The key; empty if nothing is removed.
    key: Vec<u8>,
    /// End of the input so far that may be the start of the key.
    open: Vec<u8>,
}

impl KeyRedactor {
    pub(super) fn new(key: Option<&str>) -> Self {
        let key = key.filter(|key| key.len() >= KEY_BYTES_MIN).unwrap_or_default();
        Self { key: key.as_bytes().to_vec(), open: Vec::new() }
    }

    /// Returns the bytes without the key. Keeps a possible start of the key for the next call.
    pub(super) fn push(&mut self, bytes: Vec<u8>) -> Vec<u8> {
        if self.key.is_empty() {
            return bytes;
        }
        let mut whole = std::mem::take(&mut self.open);
        whole.extend(bytes);
        let mut clean = replaced(&whole, &self.key);
        let kept = self.beginning_at_end_of(&clean);
        self.open = clean.split_off(clean.len() - kept);
        clean
    }

    pub(super) fn finish(&mut self) -> Vec<u8> {
        std::mem::take(&mut self.open)
    }

    pub(super) fn text(&self, text: &str) -> String {
        String::from_utf8_lossy(&replaced(text.as_bytes(), &self.key)).into_owned()
    }

    /// Returns how many bytes at the end match the start of the key.
    fn beginning_at_end_of(&self, bytes: &[u8]) -> usize {
        let longest = bytes.len().min(self.key.len().saturating_sub(1));
        let is_beginning = |length: &usize| {
            let end = bytes.len() - length;
            bytes.get(end..) == self.key.get(..*length)
        };
        (1..=longest).rev().find(is_beginning).unwrap_or(0)
    }
}

fn replaced(bytes: &[u8], key: &[u8]) -> Vec<u8> {
    let mut clean = Vec::with_capacity(bytes.len());
    let mut rest = bytes;
    while let Some((first, others)) = rest.split_first() {
        rest = match rest.strip_prefix(key).filter(|_| !key.is_empty()) {
            Some(after) => {
                clean.extend_from_slice(INSTEAD);
                after
            }
            None => {
                clean.push(*first);
                others
            }
        };
    }
    clean
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    const KEY: &str = "sk-aab-aab-aab-aac";

    fn redacted(chunks: &[&str]) -> String {
        let mut redactor = KeyRedactor::new(Some(KEY));
        let mut clean = Vec::new();
        for chunk in chunks {
            clean.extend(redactor.push(chunk.as_bytes().to_vec()));
        }
        clean.extend(redactor.finish());
        String::from_utf8(clean).unwrap()
    }

    #[test]
    fn the_key_is_taken_out_wherever_the_chunks_are_cut() {
        assert_eq!(redacted(&["no sk-aab-aab-aab-aac!"]), "no [key]!");
        assert_eq!(redacted(&["no sk-aab", "-aab-aab-", "aac!"]), "no [key]!");
        assert_eq!(redacted(&["sk-aab-aab-aab-aab"]), "sk-aab-aab-aab-aab");
    }

    #[test]
    fn a_placeholder_stays() {
        let mut redactor = KeyRedactor::new(Some("ollama"));
        assert_eq!(redactor.push(b"ollama".to_vec()), b"ollama");
    }

    proptest! {
        #[test]
        fn chunks_do_not_matter(pieces in prop::collection::vec(
            prop::sample::select(vec!["sk-", "aab-", "aac", "s", KEY, "x", "é"]), 0..12)
        ) {
            let whole = pieces.concat();
            prop_assert_eq!(redacted(&pieces), whole.replace(KEY, "[key]"));
        }
    }
}
