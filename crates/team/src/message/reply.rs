//! Recognises a plain yes or no, which is a person's answer to "continue?". The whole message must be one of these
//! words. A longer message is an ordinary one.

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Reply {
    Yes,
    No,
}

const BYTES_MAX: usize = 64;

#[rustfmt::skip]
const YES: [&str; 42] = [
    "y", "yes", "yes please", "yeah", "yep", "ok", "okay", "sure", "go", "go on", "go ahead",
    "continue", "please continue", "yes continue", "resume", "proceed", "carry on", "keep going",
    "ja", "ja bitte", "weiter", "mach weiter", "macht weiter", "oui", "continuez", "vas-y", "sí",
    "si", "sigue", "adelante", "sim", "continua", "avanti", "да", "продолжай", "продолжайте", "是",
    "好", "好的", "继续", "はい", "続けて",
];

#[rustfmt::skip]
const NO: [&str; 46] = [
    "n", "no", "no thanks", "no thank you", "no stop", "nope", "nah", "stop", "stop it",
    "stop here", "stop now", "stop them", "please stop", "cancel", "cancel all", "abort", "halt",
    "enough", "that's enough", "don't", "do not", "drop all", "quit", "nein", "nein danke", "stopp",
    "abbrechen", "aufhören", "genug", "non", "non merci", "arrête", "arrêtez", "no gracias", "para",
    "basta", "não", "pare", "нет", "стоп", "хватит", "不", "不要", "停", "いいえ", "やめて",
];

/// Parses a reply, ignoring case and punctuation.
pub(super) fn read(text: &str) -> Option<Reply> {
    let text = text.trim();
    if text.len() > BYTES_MAX {
        return None;
    }
    let is_word = |c: char| c.is_alphanumeric() || matches!(c, '\'' | '’' | '-');
    let words = text.split(|c: char| !is_word(c)).filter(|word| !word.is_empty());
    let words: Vec<String> = words.map(|word| word.replace('’', "'").to_lowercase()).collect();
    let said = words.join(" ");
    if NO.contains(&said.as_str()) {
        return Some(Reply::No);
    }
    YES.contains(&said.as_str()).then_some(Reply::Yes)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_plain_word_is_an_answer_whatever_its_case_and_punctuation() {
        for text in
            ["no", "No.", "NO!!", " n ", "Stop!", "stop it", "Nein, danke.", "don’t", "不要。"]
        {
            assert_eq!(read(text), Some(Reply::No), "{text}");
        }
        for text in ["yes", "Y", "OK.", "go on", "Go  on!", "Continue", "yes, please", "继续"] {
            assert_eq!(read(text), Some(Reply::Yes), "{text}");
        }
    }

    #[test]
    fn more_than_a_plain_word_is_a_message() {
        for text in [
            "",
            "…",
            "no, use a queue",
            "stop, this is nonsense",
            "yes but slower",
            "ok let us see",
            "nobody",
            "note",
            "go home",
        ] {
            assert_eq!(read(text), None, "{text}");
        }
        assert_eq!(read(&"no ".repeat(1000)), None);
    }

    #[test]
    fn every_word_of_the_lists_is_read() {
        for word in YES {
            assert_eq!(read(word), Some(Reply::Yes), "{word}");
        }
        for word in NO {
            assert_eq!(read(word), Some(Reply::No), "{word}");
        }
    }
}
