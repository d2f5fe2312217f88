//! An estimate by script: one pass over the characters, with a price for each class of characters and for the start
//! of each run. [`super::Tokenizer`] calls it; it uses no vocabulary.

/// Prices in hundredths of a token, fitted for Claude 4.5 and 4.6. The ASCII prices are fitted to the reported usage
/// of ten Claude Code sessions, those of other scripts to translated program texts. `docs/tokens.md` describes the
/// method and its error.
///
/// The first character of a run costs the price of the run and its own price.
mod ascii_price {
    /// A word of ASCII letters.
    pub(super) const WORD: u64 = 87;
    pub(super) const LETTER: u64 = 5;
    /// The additional price of each letter after the eighth, because long words are split.
    pub(super) const TAIL: u64 = 15;
    /// A capital after a small letter, as in `camelCase`.
    pub(super) const HUMP: u64 = 145;
    /// A capital after a capital, as in `CAMEL`.
    pub(super) const CAPITAL: u64 = 30;
    pub(super) const DIGIT_RUN: u64 = 106;
    pub(super) const DIGIT: u64 = 15;
    pub(super) const PUNCTUATION_RUN: u64 = 93;
    pub(super) const PUNCTUATION: u64 = 17;
    pub(super) const LINE_BREAKS: u64 = 35;
    /// Spaces beyond the one between two words.
    pub(super) const SPACES: u64 = 102;
}

/// Prices of all other characters, as in [`ascii_price`].
mod other_price {
    pub(super) const HAN: u64 = 135;
    pub(super) const KANA: u64 = 95;
    pub(super) const HANGUL: u64 = 147;
    /// A Latin letter beyond ASCII; it splits its word.
    pub(super) const ACCENTED: u64 = 331;
    pub(super) const CYRILLIC: u64 = 64;
    pub(super) const GREEK: u64 = 145;
    /// A Hebrew or Arabic letter.
    pub(super) const SEMITIC: u64 = 122;
    /// A letter or sign of a script of India or of the countries south-east of it.
    pub(super) const BRAHMIC: u64 = 180;
    /// A letter of any other script.
    pub(super) const OTHER_LETTER: u64 = 149;
    /// Typographic marks, arrows, box drawing, CJK punctuation.
    pub(super) const MARK: u64 = 110;
    /// Anything else, such as emoji.
    pub(super) const SYMBOL: u64 = 272;
}

const HUNDREDTHS: u64 = 100;

/// The number of letters of a word before its tail begins.
const WORD_LETTERS: u32 = 8;

/// The kind of the previous character, which affects the cost of the next one.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Before {
    SmallLetter,
    Capital,
    Accented,
    Digit,
    Punctuation,
    LineBreak,
    Space,
    /// Spaces whose price was already added.
    Spaces,
    Other,
}

/// Returns the tokens of this text, rounded up.
///
/// No character has a negative price, so a longer text never costs less. A text and a line begin in the same state,
/// so that the prices of the lines add up to that of the text.
pub(super) fn estimate(text: &str) -> u64 {
    if text.is_empty() {
        return 0;
    }
    let mut scan = Scan { before: Before::LineBreak, letters: 0 };
    let hundredths: u64 = text.chars().map(|character| scan.price(character)).sum();
    hundredths.div_ceil(HUNDREDTHS).max(1)
}

struct Scan {
    before: Before,
    /// The letters of the word so far, counted from its last inner capital.
    letters: u32,
}

impl Scan {
    fn price(&mut self, character: char) -> u64 {
        match character {
            'a'..='z' => self.letter(Before::SmallLetter),
            'A'..='Z' => self.letter(Before::Capital),
            '0'..='9' => self.run(Before::Digit, ascii_price::DIGIT_RUN, ascii_price::DIGIT),
            '\n' | '\r' => self.run(Before::LineBreak, ascii_price::LINE_BREAKS, 0),
            ' ' | '\t' => self.space(character),
            '\0'..='\x7f' => self.run(
                Before::Punctuation,
                ascii_price::PUNCTUATION_RUN,
                ascii_price::PUNCTUATION,
            ),
            _ => self.beyond_ascii(character),
        }
    }

    fn letter(&mut self, case: Before) -> u64 {
        let beginning = match (self.before, case) {
            (Before::SmallLetter, Before::Capital) => ascii_price::HUMP,
            (Before::Capital, Before::Capital) => ascii_price::CAPITAL,
            (Before::SmallLetter | Before::Capital | Before::Accented, _) => 0,
            _ => ascii_price::WORD,
        };
        let goes_on = matches!(
            (self.before, case),
            (Before::SmallLetter | Before::Accented, Before::SmallLetter) | (Before::Capital, _)
        );
        self.letters = if goes_on { self.letters.saturating_add(1) } else { 1 };
        self.before = case;
        let tail = if self.letters > WORD_LETTERS { ascii_price::TAIL } else { 0 };
        beginning + ascii_price::LETTER + tail
    }

    fn run(&mut self, class: Before, beginning: u64, each: u64) -> u64 {
        let begins = std::mem::replace(&mut self.before, class) != class;
        if begins { beginning + each } else { each }
    }

    /// One space between two words belongs to the second word; indentation, tabs and longer runs are tokens of their
    /// own.
    fn space(&mut self, character: char) -> u64 {
        let (before, price) = match (self.before, character) {
            (Before::Spaces, _) => (Before::Spaces, 0),
            (Before::Space | Before::LineBreak, _) | (_, '\t') => {
                (Before::Spaces, ascii_price::SPACES)
            }
            _ => (Before::Space, 0),
        };
        self.before = before;
        price
    }

    fn beyond_ascii(&mut self, character: char) -> u64 {
        let price = match u32::from(character) {
            0xD7 | 0xF7 => other_price::MARK,
            0xC0..=0x24F | 0x1E00..=0x1EFF => {
                self.before = Before::Accented;
                return other_price::ACCENTED;
            }
            0x400..=0x52F => other_price::CYRILLIC,
            0x370..=0x3FF | 0x1F00..=0x1FFF => other_price::GREEK,
            0x590..=0x8FF | 0xFB1D..=0xFDFF | 0xFE70..=0xFEFF => other_price::SEMITIC,
            0x900..=0x109F => other_price::BRAHMIC,
            0x1100..=0x11FF | 0x3130..=0x318F | 0xAC00..=0xD7AF => other_price::HANGUL,
            0x3040..=0x30FF | 0x31F0..=0x31FF | 0xFF66..=0xFF9F => other_price::KANA,
            0x3400..=0x4DBF | 0x4E00..=0x9FFF | 0xF900..=0xFAFF | 0x20000..=0x3FFFF => {
                other_price::HAN
            }
            0x250..=0x1CFF | 0x1D00..=0x1DFF | 0x2C00..=0x2DFF | 0xA000..=0xABFF => {
                other_price::OTHER_LETTER
            }
            0x80..=0xBF | 0x2000..=0x25FF | 0x3000..=0x303F | 0xFF00..=0xFF65 => other_price::MARK,
            _ => other_price::SYMBOL,
        };
        self.before = Before::Other;
        price
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Checks the price of a text, which shows the classes of its characters.
    fn check(text: &str, hundredths: u64) {
        let mut scan = Scan { before: Before::LineBreak, letters: 0 };
        assert_eq!(text.chars().map(|one| scan.price(one)).sum::<u64>(), hundredths, "{text:?}");
    }

    #[test]
    fn words_are_paid_once_and_then_by_the_letter() {
        check("word", 87 + 4 * 5);
        check("two words", 2 * 87 + 8 * 5);
        check("internationally", 87 + 15 * 5 + 7 * 15);
    }

    #[test]
    fn humps_and_capitals_cost_more() {
        check("getName", 87 + 7 * 5 + 145);
        check("HTTP", 87 + 4 * 5 + 3 * 30);
    }

    #[test]
    fn runs_of_digits_and_marks_are_paid_at_their_beginning() {
        check("1234", 106 + 4 * 15);
        check("});", 93 + 3 * 17);
    }

    #[test]
    fn one_space_between_words_is_free_and_indentation_is_not() {
        check("a b", 2 * (87 + 5));
        check("a  b", 2 * (87 + 5) + 102);
        check("a\n    b", 2 * (87 + 5) + 35 + 102);
        check("a\tb", 2 * (87 + 5) + 102);
    }

    #[test]
    fn each_script_has_its_price() {
        for (text, hundredths) in [
            ("漢", 135),
            ("か", 95),
            ("한", 147),
            ("é", 331),
            ("ж", 64),
            ("λ", 145),
            ("ש", 122),
            ("ถ", 180),
            ("ქ", 149),
            ("→", 110),
            ("😀", 272),
        ] {
            check(text, hundredths);
        }
    }

    #[test]
    fn an_accent_does_not_begin_a_new_word() {
        check("caféteria", 87 + 8 * 5 + 331);
    }

    #[test]
    fn every_text_costs_at_least_a_token() {
        for text in ["\n", "\r\n\n", "."] {
            assert!(estimate(text) >= 1, "{text:?}");
        }
        assert_eq!(estimate(""), 0);
    }
}
