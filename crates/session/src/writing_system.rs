//! Splits a text into runs by writing system: words with spaces between them, and scripts without
//! spaces. Recall and the search of stores use the same split, so that they find the same texts.

/// A section of a text that contains terms.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Run<'t> {
    /// The rest of the text. It begins with a word that ends at whitespace or punctuation. The caller passes the
    /// length of the word to [`Runs::skip`].
    Spaced(&'t str),
    /// Characters of a script without spaces, which are found by their [`pairs`].
    Unspaced(&'t str),
}

/// The runs of a text, in order.
#[derive(Clone, Debug)]
pub struct Runs<'t>(&'t str);

impl<'t> Runs<'t> {
    /// Creates the runs of this text.
    pub fn new(text: &'t str) -> Self {
        Self(text)
    }

    /// Returns the next run; a spaced one is returned again until it is skipped.
    pub fn next_run(&mut self) -> Option<Run<'t>> {
        let at = self.0.find(char::is_alphanumeric)?;
        self.skip(at);
        if !self.0.starts_with(is_unspaced) {
            return Some(Run::Spaced(self.0));
        }
        let is_end = |one: char| !is_unspaced(one) || !one.is_alphanumeric();
        let run = self.0.find(is_end).and_then(|end| self.0.get(..end)).unwrap_or(self.0);
        self.skip(run.len());
        Some(Run::Unspaced(run))
    }

    /// Returns how many bytes are left after the runs that were returned.
    pub fn bytes_left(&self) -> usize {
        self.0.len()
    }

    /// Skips this many bytes.
    pub fn skip(&mut self, bytes: usize) {
        self.0 = self.0.get(bytes..).unwrap_or_default();
    }
}

/// Returns the pairs of characters of an unspaced run, and its last character alone.
pub fn pairs(run: &str) -> impl Iterator<Item = (char, Option<char>)> {
    run.chars().zip(run.chars().skip(1).map(Some).chain([None]))
}

/// Returns whether a character belongs to a script without spaces between words, or with spaces used so freely that
/// pairs of characters find more: Thai to Khmer, Kana, Han, Hangul.
pub fn is_unspaced(one: char) -> bool {
    matches!(u32::from(one),
        0xE00..=0xEFF | 0x1000..=0x109F | 0x1100..=0x11FF | 0x1780..=0x17FF
        | 0x3040..=0x31FF | 0x3400..=0x4DBF | 0x4E00..=0x9FFF | 0xA960..=0xA97F
        | 0xAC00..=0xD7FF | 0xF900..=0xFAFF | 0xFF66..=0xFFDC | 0x20000..=0x3FFFF)
}

/// Returns whether a character is part of a word that ends at whitespace or punctuation.
pub fn is_word(one: char) -> bool {
    one.is_alphanumeric() && !is_unspaced(one)
}

/// Returns the lower case of a character, always as one character.
pub fn fold(one: char) -> char {
    if one.is_ascii() {
        return one.to_ascii_lowercase();
    }
    match one.to_lowercase().next().unwrap_or(one) {
        // At the end of a word, Greek uses another form of the same letter.
        'ς' => 'σ',
        lower => lower,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_text_is_words_and_runs_without_spaces() {
        let mut runs = Runs::new("..a1 東京x。京");
        let mut found = Vec::new();
        while let Some(run) = runs.next_run() {
            match run {
                Run::Unspaced(run) => found.push(run),
                Run::Spaced(rest) => {
                    let end = rest.find(|one| !is_word(one)).unwrap_or(rest.len());
                    found.push(&rest[..end]);
                    runs.skip(end);
                }
            }
        }
        assert_eq!(found, ["a1", "東京", "x", "京"]);
    }

    #[test]
    fn a_run_is_its_pairs_and_its_end() {
        let found: Vec<_> = pairs("東京都").collect();
        assert_eq!(found, [('東', Some('京')), ('京', Some('都')), ('都', None)]);
    }
}
