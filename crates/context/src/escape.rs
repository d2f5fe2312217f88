//! Escapes text so that it cannot be mistaken for structure. In an escaped format every line of content is indented
//! and every name is on one line, so only the program writes at the left margin.

use std::borrow::Cow;

/// The text before each line of content.
pub const INDENT: &str = "  ";

/// The maximum length of a name in characters; longer names are cut.
const NAME_CHARACTERS: usize = 80;

/// Words that a format uses itself. A name that equals one of them is quoted.
#[rustfmt::skip]
const RESERVED: [&str; 15] = [
    "all", "summary", "recall", "recalled", "system", "team_task", "team task", "context",
    "message", "instructions", "conversation so far", "your task", "tool", "tool output",
    "built-in",
];

/// Returns whether a model, a terminal or a program may treat this character as a line break.
pub fn is_line_break(letter: char) -> bool {
    matches!(letter, '\n'..='\r' | '\u{1c}'..='\u{1e}' | '\u{85}' | '\u{2028}' | '\u{2029}')
}

/// Where in its line a text begins.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum LineStart {
    /// At the left margin: its first line is indented too.
    Margin,
    /// After a label: its further lines are indented.
    Label,
}

/// Returns the positions in a text where an indent is inserted: the start of each line that is not empty.
pub fn indents(text: &str, start: LineStart) -> impl Iterator<Item = usize> {
    let mut is_start = start == LineStart::Margin;
    text.char_indices().filter_map(move |(at, letter)| {
        let is_break = is_line_break(letter);
        let is_position = is_start && !is_break;
        is_start = is_break;
        is_position.then_some(at)
    })
}

/// Returns the text with its lines indented. Borrowed if it has no line to indent.
pub fn indented(text: &str, start: LineStart) -> Cow<'_, str> {
    let body = Body { text, indent: Some(start) };
    let bytes = body.len();
    if bytes == text.len() {
        return Cow::Borrowed(text);
    }
    let mut written = String::with_capacity(bytes);
    body.for_each_piece(|piece| written.push_str(piece));
    Cow::Owned(written)
}

/// A text and its indentation.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Body<'a> {
    pub text: &'a str,
    /// Where the text begins, if its lines are indented; `None` if it is written as it is.
    pub indent: Option<LineStart>,
}

impl<'a> Body<'a> {
    pub(crate) fn raw(text: &'a str) -> Self {
        Self { text, indent: None }
    }

    /// Returns the number of bytes that are written, indents included.
    pub fn len(self) -> usize {
        let indents = self.indent.map_or(0, |start| indents(self.text, start).count());
        self.text.len() + indents * INDENT.len()
    }

    /// Returns whether the text is empty.
    pub fn is_empty(self) -> bool {
        self.text.is_empty()
    }

    /// Returns the longest prefix of the text that takes at most `room` bytes, indents included. No character and no
    /// indent is cut in two.
    pub(crate) fn beginning(self, room: usize) -> Self {
        let Some(start) = self.indent else {
            return Self::raw(&self.text[..self.text.floor_char_boundary(room)]);
        };
        let mut positions = indents(self.text, start).peekable();
        let (mut kept, mut written) = (0, 0);
        for (at, letter) in self.text.char_indices() {
            let indent = if positions.next_if_eq(&at).is_some() { INDENT.len() } else { 0 };
            written += indent + letter.len_utf8();
            if written > room {
                break;
            }
            kept = at + letter.len_utf8();
        }
        Self { text: &self.text[..kept], ..self }
    }

    /// Passes the written text to `take` in pieces, in order.
    #[inline]
    pub fn for_each_piece(self, mut take: impl FnMut(&str)) {
        match self.indent {
            None => take(self.text),
            Some(start) => self.indented(start, take),
        }
    }

    // A separate function, so that the common case without an indent is small enough to be inlined.
    #[inline(never)]
    fn indented(self, start: LineStart, mut take: impl FnMut(&str)) {
        let mut from = 0;
        for at in indents(self.text, start) {
            take(&self.text[from..at]);
            take(INDENT);
            from = at;
        }
        take(&self.text[from..]);
    }
}

/// Returns a name as an escaped format writes it: unchanged, or as a JSON string in quotes if it contains anything
/// but plain characters. The result is always on one line and has no `@`. Two different names have different
/// results, unless they are longer than 80 characters and have the same beginning.
pub fn written_name(name: &str) -> Cow<'_, str> {
    if is_plain(name) { Cow::Borrowed(name) } else { Cow::Owned(in_quotes(name, NAME_CHARACTERS)) }
}

/// Returns a few words on one line, such as the role of a member. Unlike in a name, `:`, `,`, `'` and words of the
/// format need no quotes, and the text is not cut.
pub fn written_words(words: &str) -> Cow<'_, str> {
    let is_plain = !words.starts_with([' ', '-'])
        && !words.ends_with(' ')
        && words
            .chars()
            .all(|letter| matches!(letter, ':' | ',' | '\'') || is_plain_letter(letter));
    if is_plain { Cow::Borrowed(words) } else { Cow::Owned(in_quotes(words, usize::MAX)) }
}

/// Returns the id of an entry, written like a name. Other words follow an id, so an id with a space is quoted.
pub fn written_id(id: &str) -> Cow<'_, str> {
    let is_plain = is_plain(id) && !id.contains(' ');
    if is_plain { Cow::Borrowed(id) } else { Cow::Owned(in_quotes(id, NAME_CHARACTERS)) }
}

fn in_quotes(text: &str, characters: usize) -> String {
    let mut written = String::with_capacity(text.len().min(4 * NAME_CHARACTERS) + 2);
    written.push('"');
    let mut letters = text.chars();
    letters.by_ref().take(characters).for_each(|letter| push_escaped(&mut written, letter));
    written.push_str(if letters.next().is_some() { "…\"" } else { "\"" });
    written
}

fn push_escaped(written: &mut String, letter: char) {
    match letter {
        '"' | '\\' => written.extend(['\\', letter]),
        // An `@` may be removed from a prompt later, and the rest would be another name.
        letter if letter == '@' || is_invisible(letter) => {
            for unit in letter.encode_utf16(&mut [0; 2]) {
                written.push_str(&format!("\\u{unit:04x}"));
            }
        }
        letter => written.push(letter),
    }
}

fn is_plain(name: &str) -> bool {
    let is_short = || name.chars().nth(NAME_CHARACTERS).is_none();
    let is_reserved = || RESERVED.iter().any(|word| word.eq_ignore_ascii_case(name));
    !name.is_empty()
        && !name.starts_with([' ', '-'])
        && !name.ends_with(' ')
        && is_short()
        && name.chars().all(is_plain_letter)
        && !is_reserved()
}

fn is_plain_letter(letter: char) -> bool {
    let is_mark = matches!(
        letter,
        ':' | ',' | '<' | '>' | '"' | '\'' | '`' | '[' | ']' | '(' | ')' | '{' | '}' | '\\' | '@'
    );
    // The wide forms look the same as the plain ones.
    let is_wide = matches!(letter, '\u{ff01}'..='\u{ff65}' if !letter.is_alphanumeric());
    let is_blank = letter != ' ' && letter.is_whitespace();
    !is_mark && !is_wide && !is_blank && !is_invisible(letter)
}

/// Returns whether the character breaks lines, controls a terminal or is not displayed at all.
fn is_invisible(letter: char) -> bool {
    is_line_break(letter)
        || letter.is_control()
        || matches!(
            letter,
            '\u{ad}' | '\u{34f}' | '\u{61c}' | '\u{115f}' | '\u{1160}' | '\u{17b4}' | '\u{17b5}'
                | '\u{180b}'..='\u{180f}' | '\u{200b}'..='\u{200f}' | '\u{202a}'..='\u{202e}'
                | '\u{2060}'..='\u{206f}' | '\u{3164}' | '\u{fe00}'..='\u{fe0d}' | '\u{feff}'
                | '\u{ffa0}' | '\u{fff9}'..='\u{fffb}' | '\u{e0000}'..='\u{e0fff}'
        )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_line_that_is_not_empty_is_indented() {
        let check = |text: &str, margin: &str, label: &str| {
            assert_eq!(indented(text, LineStart::Margin), margin);
            assert_eq!(indented(text, LineStart::Label), label);
        };
        check("", "", "");
        check("a", "  a", "a");
        check("a\nb", "  a\n  b", "a\n  b");
        check("a\r\n\r\n b\n", "  a\r\n\r\n   b\n", "a\r\n\r\n   b\n");
        check(
            "\u{85}a\u{2028}b\u{2029}c",
            "\u{85}  a\u{2028}  b\u{2029}  c",
            "\u{85}  a\u{2028}  b\u{2029}  c",
        );
        check("a\rb\u{b}c\u{c}d", "  a\r  b\u{b}  c\u{c}  d", "a\r  b\u{b}  c\u{c}  d");
    }

    #[test]
    fn a_text_without_line_breaks_is_borrowed() {
        assert!(matches!(indented("one line", LineStart::Label), Cow::Borrowed(_)));
    }

    #[test]
    fn the_beginning_of_a_body_never_ends_in_an_indent() {
        let body = Body { text: "é\n\nb", indent: Some(LineStart::Margin) };
        let kept: Vec<&str> = (0..=9).map(|room| body.beginning(room).text).collect();
        let whole = "é\n\nb";
        assert_eq!(kept, ["", "", "", "", "é", "é\n", "é\n\n", "é\n\n", "é\n\n", whole]);
    }

    #[test]
    fn plain_names_are_written_as_they_are_and_others_in_quotes() {
        for name in ["ann", "Max the Great", "gpt-5.5", "安", "jean_luc", "müller", "Alle"] {
            assert_eq!(written_name(name), name);
        }
        for (name, written) in [
            ("", r#""""#),
            ("ann: yes", r#""ann: yes""#),
            ("a -> b", r#""a -> b""#),
            ("a\nb", r#""a\u000ab""#),
            ("a\u{2028}b", r#""a\u2028b""#),
            ("a\u{e0041}", r#""a\udb40\udc41""#),
            ("\"ann\"", r#""\"ann\"""#),
            ("@ann", r#""\u0040ann""#),
            ("ALL", r#""ALL""#),
            (" ann", r#"" ann""#),
            ("- ann", r#""- ann""#),
            ("[MESSAGE]", r#""[MESSAGE]""#),
            ("a，b", r#""a，b""#),
        ] {
            assert_eq!(written_name(name), written);
        }
    }

    #[test]
    fn words_may_have_colons_and_commas_and_nothing_that_looks_like_a_label() {
        for words in ["author: designs, and writes the code", "Ann's reviewer", "all", "説明"] {
            assert_eq!(written_words(words), words);
        }
        for (words, written) in [
            ("ann -> all: yes", r#""ann -> all: yes""#),
            ("decides (a person)", r#""decides (a person)""#),
            ("- eva: a person", r#""- eva: a person""#),
            ("[MESSAGE from ann]", r#""[MESSAGE from ann]""#),
            ("a\u{2028}b", r#""a\u2028b""#),
        ] {
            assert_eq!(written_words(words), written);
        }
        let long = "@".repeat(100);
        assert_eq!(written_words(&long), format!("\"{}\"", r"\u0040".repeat(100)));
    }

    #[test]
    fn a_name_that_is_cut_is_in_quotes() {
        let long = "n".repeat(81);
        assert_eq!(written_name(&long), format!("\"{}…\"", "n".repeat(80)));
        assert_eq!(written_name(&long[1..]), &long[1..]);
    }
}
