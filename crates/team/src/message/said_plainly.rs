//! How prose is written: where sentences end, what begins a list item, what stands around a word. Shared by
//! the rules for markers and mentions; pure text.

/// Whether a text ends a sentence, whatever closes behind its last sign.
pub(super) fn ends_sentence(text: &str) -> bool {
    let text = text.trim_end().trim_end_matches(is_closing);
    text.ends_with(['.', '!', '?', '…', '。', '！', '？'])
}

/// The line behind the mark of a list item; `None` if it is none.
pub(super) fn without_item(line: &str) -> Option<&str> {
    let line = line.trim_start();
    let behind = match line.strip_prefix(['-', '*', '+', '•']) {
        Some(behind) => behind,
        None => {
            let digits = line.trim_start_matches(|c: char| c.is_ascii_digit());
            let is_number = (1..=9).contains(&(line.len() - digits.len()));
            digits.strip_prefix(['.', ')']).filter(|_| is_number)?
        }
    };
    (behind.is_empty() || behind.starts_with([' ', '\t'])).then_some(behind)
}

/// What may stand right before a word: emphasis, an opening bracket, the sign of an escape.
pub(super) fn is_opening(c: char) -> bool {
    matches!(c, '*' | '_' | '(' | '[' | '{' | '\\' | '（' | '【' | '「' | '¿' | '¡')
}

/// What may stand right behind a word: emphasis, a closing bracket.
pub(super) fn is_closing(c: char) -> bool {
    matches!(c, '*' | '_' | ')' | ']' | '}' | '）' | '】' | '」' | '"' | '\'' | '”' | '’' | '»')
}

/// A quotation mark that opens.
pub(super) fn is_quote(c: char) -> bool {
    matches!(c, '"' | '\'' | '“' | '‘' | '„' | '«' | '»')
}
