//! Takes the key out of whatever an endpoint sends: some say it back in their complaints. Called by
//! [`super::Exchange`] before anything is read, so that no event, error or log can hold it.

/// A shorter key is a placeholder, such as local servers are given; such a word may stand in any answer.
const KEY_BYTES_MIN: usize = 16;
const INSTEAD: &[u8] = b"[key]";

pub(super) struct Scrub {
    /// Empty where there is nothing to look for.
    key: Vec<u8>,
    /// The end of what came, where it may be the beginning of the key.
    open: Vec<u8>,
}

impl Scrub {
    pub(super) fn new(key: Option<&str>) -> Self {
        let key = key.filter(|key| key.len() >= KEY_BYTES_MIN).unwrap_or_default();
        Self { key: key.as_bytes().to_vec(), open: Vec::new() }
    }

    /// The bytes without the key; what may be its beginning waits for the next ones.
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

    /// How many of the last bytes are the first ones of the key.
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
            Some(behind) => {
                clean.extend_from_slice(INSTEAD);
                behind
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

    fn scrubbed(chunks: &[&str]) -> String {
        let mut scrub = Scrub::new(Some(KEY));
        let mut clean = Vec::new();
        for chunk in chunks {
            clean.extend(scrub.push(chunk.as_bytes().to_vec()));
        }
        clean.extend(scrub.finish());
        String::from_utf8(clean).unwrap()
    }

    #[test]
    fn the_key_is_taken_out_wherever_the_chunks_are_cut() {
        assert_eq!(scrubbed(&["no sk-aab-aab-aab-aac!"]), "no [key]!");
        assert_eq!(scrubbed(&["no sk-aab", "-aab-aab-", "aac!"]), "no [key]!");
        assert_eq!(scrubbed(&["sk-aab-aab-aab-aab"]), "sk-aab-aab-aab-aab");
    }

    #[test]
    fn a_placeholder_stays() {
        let mut scrub = Scrub::new(Some("ollama"));
        assert_eq!(scrub.push(b"ollama".to_vec()), b"ollama");
    }

    proptest! {
        #[test]
        fn chunks_do_not_matter(pieces in prop::collection::vec(
            prop::sample::select(vec!["sk-", "aab-", "aac", "s", KEY, "x", "é"]), 0..12)
        ) {
            let whole = pieces.concat();
            prop_assert_eq!(scrubbed(&pieces), whole.replace(KEY, "[key]"));
        }
    }
}
