//! A cache of token counts by content, so that no text is counted again while its count is remembered. The cache has
//! a maximum size. It contains hashes, never the texts. Used wherever messages are counted repeatedly.

use std::collections::HashMap;
use std::hash::{DefaultHasher, Hash, Hasher};

use super::{TokenCount, Tokenizer};

/// The token counts of texts, by content and tokenizer.
///
/// The cache has two generations. A count that is used moves into the young generation. When that is full, it
/// becomes the old generation, and the counts of the previous old one are forgotten.
#[derive(Clone, Debug)]
pub struct TokenCache {
    young: HashMap<Key, TokenCount>,
    old: HashMap<Key, TokenCount>,
    generation_max: usize,
    misses: u64,
}

/// 128 bits of hash, and the length. Texts that somebody made to collide in one half of the hash differ in the
/// other.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
struct Key {
    halves: [u64; 2],
    bytes: usize,
}

/// The default size, which needs about 5 MB.
const DEFAULT_COUNTS_MAX: usize = 65_536;

impl TokenCache {
    /// Creates a cache of at most this many counts, and at least two.
    pub fn new(counts_max: usize) -> Self {
        Self {
            young: HashMap::new(),
            old: HashMap::new(),
            generation_max: (counts_max / 2).max(1),
            misses: 0,
        }
    }

    /// Returns the count of this text, and remembers it.
    pub fn count(&mut self, tokenizer: &Tokenizer, text: &str) -> TokenCount {
        let key = Key::new(tokenizer, text);
        if let Some(count) = self.young.get(&key) {
            return *count;
        }
        let count = self.old.get(&key).copied().unwrap_or_else(|| {
            self.misses += 1;
            tokenizer.count(text)
        });
        self.remember(key, count);
        count
    }

    /// Adds a count that was made elsewhere, such as one stored with an entry.
    pub fn insert(&mut self, tokenizer: &Tokenizer, text: &str, count: TokenCount) {
        self.remember(Key::new(tokenizer, text), count);
    }

    /// Returns the number of cache misses.
    pub fn misses(&self) -> u64 {
        self.misses
    }

    fn remember(&mut self, key: Key, count: TokenCount) {
        if self.young.len() >= self.generation_max {
            self.old = std::mem::take(&mut self.young);
        }
        self.young.insert(key, count);
    }
}

impl Default for TokenCache {
    fn default() -> Self {
        Self::new(DEFAULT_COUNTS_MAX)
    }
}

impl Key {
    fn new(tokenizer: &Tokenizer, text: &str) -> Self {
        let half = |seed: u64| {
            let mut hasher = DefaultHasher::new();
            (seed, tokenizer.id(), text).hash(&mut hasher);
            hasher.finish()
        };
        Self { halves: [half(0), half(1)], bytes: text.len() }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn len(cache: &TokenCache) -> usize {
        let only_old = cache.old.keys().filter(|key| !cache.young.contains_key(key)).count();
        cache.young.len() + only_old
    }

    #[test]
    fn a_text_is_counted_once() {
        let mut cache = TokenCache::default();
        for _ in 0..3 {
            assert_eq!(cache.count(&Tokenizer::Bytes, "abcd"), TokenCount::estimated(1));
        }
        assert_eq!((cache.misses(), len(&cache)), (1, 1));
    }

    #[test]
    fn each_tokenizer_has_its_own_counts() {
        let mut cache = TokenCache::default();
        let bytes = cache.count(&Tokenizer::Bytes, "漢字");
        let claude = cache.count(&Tokenizer::Claude, "漢字");
        assert_ne!(bytes, claude);
        assert_eq!(cache.misses(), 2);
    }

    #[test]
    fn it_never_holds_more_than_it_may() {
        let mut cache = TokenCache::new(10);
        for number in 0..1_000 {
            cache.count(&Tokenizer::Bytes, &number.to_string());
            assert!(len(&cache) <= 10);
        }
        assert_eq!(cache.misses(), 1_000);
    }

    #[test]
    fn what_is_asked_for_again_stays() {
        let mut cache = TokenCache::new(10);
        for number in 0..1_000 {
            cache.count(&Tokenizer::Bytes, "often");
            cache.count(&Tokenizer::Bytes, &number.to_string());
        }
        assert_eq!(cache.misses(), 1_001);
    }

    #[test]
    fn a_count_from_elsewhere_is_taken_over() {
        let mut cache = TokenCache::default();
        assert_eq!(len(&cache), 0);
        cache.insert(&Tokenizer::O200k, "a text", TokenCount::exact(2));
        assert_eq!(cache.count(&Tokenizer::O200k, "a text"), TokenCount::exact(2));
        assert_eq!(cache.misses(), 0);
    }
}
