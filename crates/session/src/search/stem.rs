//! Stems of English words, and common words. A stem is a prefix of its word, so nothing is copied; words of other
//! languages stay unchanged. Called for terms.

/// The minimum number of letters of a stem.
const STEM_MIN: usize = 3;

/// Returns the prefix that a word shares with its other forms: `failing`, `failed`, `fails` and
/// `fail` have one stem.
pub(super) fn stem(word: &str) -> &str {
    if !word.bytes().all(|byte| byte.is_ascii_alphabetic()) {
        return word;
    }
    let singular = singular(word);
    let bare = ["ing", "ed", "ly"].into_iter().find_map(|ending| without(singular, ending));
    let bare = bare.map_or(singular, undoubled);
    ["e", "y", "i"].into_iter().find_map(|ending| without(bare, ending)).unwrap_or(bare)
}

fn singular(word: &str) -> &str {
    if let Some(bare) = without(word, "ies") {
        return bare;
    }
    let hissing = ["sses", "shes", "ches", "xes", "zes"];
    if hissing.into_iter().any(|ending| ends_with(word, ending)) {
        return word.get(..word.len() - 2).unwrap_or(word);
    }
    let is_other = ["ss", "us", "is"].into_iter().any(|ending| ends_with(word, ending));
    without(word, "s").filter(|_| !is_other).unwrap_or(word)
}

/// Returns a word without a doubled last letter: `stopp` of `stopped` becomes `stop`; `fall` and `pass` stay.
fn undoubled(word: &str) -> &str {
    match word.as_bytes() {
        [.., one, other] if one == other && !b"aeioulszAEIOULSZ".contains(one) => {
            word.get(..word.len() - 1).unwrap_or(word)
        }
        _ => word,
    }
}

fn without<'w>(word: &'w str, ending: &str) -> Option<&'w str> {
    let bare = word.get(..word.len().checked_sub(ending.len())?)?;
    (bare.len() >= STEM_MIN && ends_with(word, ending)).then_some(bare)
}

fn ends_with(word: &str, ending: &str) -> bool {
    let start = word.len().checked_sub(ending.len());
    start.and_then(|start| word.get(start..)).is_some_and(|end| end.eq_ignore_ascii_case(ending))
}

/// Returns the stems of words that begin with this prefix, as far as they are shorter than it. For example, `faili`
/// may become `failing`, whose stem is `fail`. All other words with this prefix have stems that begin with it.
pub fn stems_before(beginning: &str) -> impl Iterator<Item = &str> {
    let is_english = beginning.bytes().all(|byte| byte.is_ascii_alphabetic());
    // Removing a doubled letter can make the stem one letter shorter, as in `added`.
    let lengths = if is_english { STEM_MIN - 1..beginning.len() } else { 0..0 };
    lengths.filter_map(|length| {
        let (stem, rest) = beginning.split_at_checked(length)?;
        begins_ending(stem, rest).then_some(stem)
    })
}

/// Returns whether a text is the start of an ending that [`stem`] removes after this stem.
fn begins_ending(stem: &str, text: &str) -> bool {
    let last = stem.get(stem.len() - 1..).unwrap_or_default();
    ["", "e", "y", "i"].into_iter().any(|vowel| {
        let doubled = if vowel.is_empty() { last } else { vowel };
        [("", ""), ("", "ing"), ("", "ed"), ("", "ly")]
            .into_iter()
            .chain(["ing", "ed", "ly"].map(|ending| (doubled, ending)))
            .any(|(double, ending)| {
                ["s", "es", "ies"].into_iter().any(|plural| {
                    let whole = [vowel, double, ending, plural].concat();
                    let start = whole.get(..text.len());
                    start.is_some_and(|start| start.eq_ignore_ascii_case(text))
                })
            })
    })
}

/// Returns whether a word is so common that a search for it is useless. Called for every word of every text, so the
/// words are compared as numbers.
pub(super) fn is_common(word: &str) -> bool {
    let mut letters = [0; COMMON_BYTES_MAX];
    let Some(start) = letters.get_mut(..word.len()) else { return false };
    start.copy_from_slice(word.as_bytes());
    letters.make_ascii_lowercase();
    COMMON_NUMBERS.binary_search(&u64::from_be_bytes(letters)).is_ok()
}

/// A word of this length fits into a number.
const COMMON_BYTES_MAX: usize = size_of::<u64>();

/// The words in [`COMMON`] as numbers, which have the same order.
const COMMON_NUMBERS: [u64; COMMON.len()] = {
    let mut numbers = [0; COMMON.len()];
    let mut at = 0;
    while at < COMMON.len() {
        let (word, mut byte) = (COMMON[at].as_bytes(), 0);
        while byte < COMMON_BYTES_MAX {
            let letter = if byte < word.len() { word[byte] } else { 0 };
            numbers[at] = numbers[at] << 8 | letter as u64;
            byte += 1;
        }
        at += 1;
    }
    numbers
};

/// In ascending order.
const COMMON: [&str; 140] = [
    "a", "about", "after", "again", "all", "also", "am", "an", "and", "any", "are", "as", "at",
    "be", "because", "been", "before", "being", "but", "by", "can", "could", "did", "do", "does",
    "doing", "don", "done", "for", "from", "get", "go", "got", "had", "has", "have", "he", "her",
    "here", "hers", "him", "his", "how", "i", "if", "in", "into", "is", "it", "its", "just",
    "know", "let", "like", "ll", "make", "many", "may", "me", "might", "more", "most", "much",
    "must", "my", "no", "nor", "not", "now", "of", "off", "ok", "okay", "on", "once", "one",
    "only", "or", "other", "our", "out", "over", "re", "really", "s", "said", "same", "say", "she",
    "should", "so", "some", "such", "t", "tell", "than", "that", "the", "their", "them", "then",
    "there", "these", "they", "thing", "things", "think", "this", "those", "through", "to", "too",
    "uh", "um", "under", "up", "us", "ve", "very", "want", "was", "way", "we", "well", "were",
    "what", "when", "where", "which", "while", "who", "whom", "why", "will", "with", "would",
    "yeah", "yes", "you", "your",
];

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(forms: &str, expected: &str) {
        for form in forms.split(' ') {
            assert_eq!(stem(form), expected, "{form}");
        }
    }

    #[test]
    fn the_forms_of_a_word_have_one_stem() {
        check("fail fails failed failing", "fail");
        check("stop stops stopped stopping", "stop");
        check("story stories", "stor");
        check("decide decides decided deciding", "decid");
        check("box boxes", "box");
        check("class classes", "class");
        check("quick quickly", "quick");
    }

    #[test]
    fn the_stems_of_a_beginning_are_those_of_the_words_that_go_on() {
        let found = |beginning| stems_before(beginning).collect::<Vec<_>>();
        assert_eq!(found("faili"), ["fail"]);
        assert_eq!(found("stopp"), ["stop"]);
        assert_eq!(found("configuration"), [""; 0]);
        assert_eq!(found("größen"), [""; 0]);
        let words = "failing failings stopped stories decided classes boxes quickly really money \
                     happily studies bees buildings added agreed Running yyyying";
        for word in words.split_whitespace() {
            for end in 1..=word.len() {
                let beginning = &word[..end];
                let stem = stem(word);
                let is_known = stem.starts_with(beginning) || found(beginning).contains(&stem);
                assert!(is_known, "{beginning} of {word}, whose stem is {stem}");
            }
        }
    }

    #[test]
    fn short_words_and_other_scripts_stay() {
        for word in ["is", "us", "bus", "red", "sing", "größe", "ошибки", "sha256"] {
            assert_eq!(stem(word), word);
        }
    }

    #[test]
    fn common_words_are_recognised_in_any_case() {
        assert!(COMMON.is_sorted() && COMMON_NUMBERS.is_sorted());
        assert!(COMMON.iter().all(|word| word.len() <= COMMON_BYTES_MAX));
        assert!(COMMON.iter().all(|word| is_common(word)));
        assert!(is_common("The") && is_common("would") && is_common("a"));
        assert!(!is_common("theory") && !is_common("") && !is_common("für"));
    }
}
