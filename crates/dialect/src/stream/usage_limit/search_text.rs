//! A message in the form in which it is searched. [`super::UsageLimit::from_message`] creates it.

/// A message without quotes and similar marks, so that a text is the same inside and outside JSON.
#[derive(Debug)]
pub(super) struct SearchText {
    /// The message without quotes, backslashes, repeated spaces and spaces after a colon.
    pub(super) text: String,
    /// The same text in lower case, with the same offsets.
    pub(super) lower: String,
}

impl SearchText {
    pub(super) fn new(message: &str) -> Self {
        let text = without_marks(message);
        let lower = text.to_ascii_lowercase();
        Self { text, lower }
    }

    pub(super) fn contains(&self, phrase: &str) -> bool {
        memchr::memmem::find(self.lower.as_bytes(), phrase.as_bytes()).is_some()
    }

    /// Returns whether a sentence or the value of a field begins with this phrase. In prose about a limit, the phrase
    /// is usually inside a sentence.
    pub(super) fn begins_a_sentence_with(&self, phrase: &str) -> bool {
        self.lower.match_indices(phrase).any(|(at, _)| {
            let before = self.lower.get(..at).unwrap_or_default().trim_end_matches(' ');
            before.chars().next_back().is_none_or(|last| {
                !last.is_alphanumeric() && !matches!(last, ',' | ';' | '-' | '—' | '–' | '“' | '«')
            })
        })
    }

    /// Returns the text after an offset, in its original case.
    pub(super) fn from(&self, at: usize) -> &str {
        self.text.get(at..).unwrap_or_default()
    }
}

fn without_marks(message: &str) -> String {
    let mut text = String::with_capacity(message.len());
    let mut characters = message.chars().peekable();
    while let Some(character) = characters.next() {
        let kept = match character {
            // This is a line feed or a tab in a quoted text.
            '\\' if characters.next_if(|next| matches!(next, 'n' | 'r' | 't')).is_some() => '\n',
            '\\' | '"' | '\'' | '`' | '‘' | '’' => continue,
            // `Intl` writes a narrow space before `PM`.
            '\t' | '\r' | '\u{a0}' | '\u{202f}' => ' ',
            other => other,
        };
        if kept != ' ' || !text.ends_with([' ', '\n', ':']) {
            text.push(kept);
        }
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_text_and_the_same_text_in_json_are_searched_alike() {
        for message in [
            "{\"error\": {\"code\":  \"x\"}}",
            r#"{\"error\":{\"code\":\"x\"}}"#,
            r#"{\\\"error\\\": {\\\"code\\\": \\\"x\\\"}}"#,
        ] {
            assert_eq!(SearchText::new(message).text, "{error:{code:x}}");
        }
        assert_eq!(SearchText::new("You’ve hit\\n  it\u{202f}now").text, "Youve hit\nit now");
    }

    #[test]
    fn a_phrase_begins_a_sentence_after_a_mark_and_not_after_a_word() {
        for message in ["Limit reached", "x: limit reached", "No. Limit reached", "[limit reached]"]
        {
            assert!(SearchText::new(message).begins_a_sentence_with("limit reached"), "{message}");
        }
        for message in
            ["the limit reached", "if \"limit reached\"", "so, limit reached", "no limit"]
        {
            assert!(!SearchText::new(message).begins_a_sentence_with("limit reached"), "{message}");
        }
    }
}
