//! Splits a JSON document into the elements of its main list, without parsing them. For an incomplete document,
//! returns the complete elements. For formats that keep a session as one JSON value.

use std::ops::Range;

use memchr::memchr2;

use super::split::Piece;

/// A JSON document: a list, or an object that contains a list.
#[derive(Debug, Default)]
pub(super) struct Document<'a> {
    /// The other fields of the object: the name without its quotes, and the text of the value.
    pub fields: Vec<(&'a str, &'a str)>,
    /// The ranges of the elements in the text.
    pub elements: Vec<Range<usize>>,
    /// Whether the list was found.
    pub has_list: bool,
    /// Whether the end of the object or list was found.
    pub has_end: bool,
    /// Whether there is no text after the end.
    pub is_whole: bool,
}

impl<'a> Document<'a> {
    /// Splits a list, or the list in the field `list` of an object. Field names are compared without decoding
    /// escapes.
    pub(super) fn new(text: &'a str, list: &str) -> Self {
        let mut document = Self::default();
        let mut scanner = Scanner { text, at: 0 };
        document.has_end = document.read(&mut scanner, list).is_some();
        scanner.skip_space();
        document.is_whole = document.has_end && scanner.peek().is_none();
        document
    }

    /// Returns the text of the value of a field.
    pub(super) fn field(&self, name: &str) -> Option<&'a str> {
        self.fields.iter().rev().find(|(key, _)| *key == name).map(|(_, value)| *value)
    }

    /// Returns a piece for every element. Each includes the text between it and the element before it, so it stays the
    /// same when an element is added. A text that cannot be split becomes a record too, so that the problem is reported.
    pub(super) fn into_pieces(self, text: &str) -> Vec<Piece> {
        let (Some(first), Some(last)) = (self.elements.first(), self.elements.last()) else {
            return match self.has_list && self.is_whole {
                true => vec![Piece::without_record(0..text.len())],
                false => vec![Piece::record(0..text.len(), 0..text.len())],
            };
        };
        let (first, last) = (first.start, last.end);
        let mut pieces = Vec::with_capacity(self.elements.len() + 2);
        if first > 0 {
            pieces.push(Piece::without_record(0..first));
        }
        let starts = std::iter::once(first).chain(self.elements.iter().map(|one| one.end));
        let elements = starts.zip(&self.elements);
        pieces.extend(elements.map(|(start, one)| Piece::record(start..one.end, one.clone())));
        if last < text.len() {
            let rest = last..text.len();
            pieces.push(match self.is_whole {
                true => Piece::without_record(rest),
                false => Piece::record(rest.clone(), rest),
            });
        }
        pieces
    }

    fn read(&mut self, scanner: &mut Scanner<'a>, list: &str) -> Option<()> {
        scanner.skip_space();
        match scanner.peek()? {
            b'[' => self.read_list(scanner),
            b'{' => self.read_object(scanner, list),
            _ => None,
        }
    }

    fn read_object(&mut self, scanner: &mut Scanner<'a>, list: &str) -> Option<()> {
        scanner.at += 1;
        loop {
            scanner.skip_space();
            match scanner.peek()? {
                b'}' => break,
                b',' => scanner.at += 1,
                b'"' => {
                    let name = scanner.value()?;
                    let name = scanner.text.get(name.start + 1..name.end - 1)?;
                    scanner.skip_space();
                    scanner.take(b':')?;
                    scanner.skip_space();
                    if name == list && !self.has_list && scanner.peek() == Some(b'[') {
                        self.read_list(scanner)?;
                    } else {
                        let value = scanner.value()?;
                        self.fields.push((name, scanner.text.get(value)?));
                    }
                }
                _ => return None,
            }
        }
        scanner.at += 1;
        Some(())
    }

    fn read_list(&mut self, scanner: &mut Scanner<'a>) -> Option<()> {
        self.has_list = true;
        scanner.at += 1;
        loop {
            scanner.skip_space();
            match scanner.peek()? {
                b']' => break,
                b',' => scanner.at += 1,
                _ => self.elements.push(scanner.value()?),
            }
        }
        scanner.at += 1;
        Some(())
    }
}

/// A position in a text that may be JSON.
#[derive(Debug)]
struct Scanner<'a> {
    text: &'a str,
    at: usize,
}

impl Scanner<'_> {
    fn peek(&self) -> Option<u8> {
        self.text.as_bytes().get(self.at).copied()
    }

    fn take(&mut self, byte: u8) -> Option<()> {
        let found = self.peek() == Some(byte);
        self.at += usize::from(found);
        found.then_some(())
    }

    fn skip_space(&mut self) {
        while matches!(self.peek(), Some(b' ' | b'\t' | b'\r' | b'\n')) {
            self.at += 1;
        }
    }

    /// Skips a value and returns its range. `None` if the text ends inside the value.
    fn value(&mut self) -> Option<Range<usize>> {
        let start = self.at;
        match self.peek()? {
            b'"' => self.skip_string()?,
            b'{' | b'[' => self.skip_nested()?,
            _ => self.skip_scalar(),
        }
        (self.at > start).then_some(start..self.at)
    }

    fn skip_string(&mut self) -> Option<()> {
        self.at += 1;
        loop {
            let rest = self.text.as_bytes().get(self.at..)?;
            let next = memchr2(b'"', b'\\', rest)?;
            self.at += next + 1;
            match rest.get(next)? {
                b'"' => return Some(()),
                _ => self.at += 1,
            }
        }
    }

    fn skip_nested(&mut self) -> Option<()> {
        let mut depth = 0_usize;
        loop {
            match self.peek()? {
                b'"' => {
                    self.skip_string()?;
                    continue;
                }
                b'{' | b'[' => depth += 1,
                b'}' | b']' => depth -= 1,
                _ => {}
            }
            self.at += 1;
            if depth == 0 {
                return Some(());
            }
        }
    }

    fn skip_scalar(&mut self) {
        let is_end = |byte| matches!(byte, b',' | b']' | b'}' | b' ' | b'\t' | b'\r' | b'\n');
        while self.peek().is_some_and(|byte| !is_end(byte)) {
            self.at += 1;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(text: &str, expected: &[&str]) {
        let pieces = Document::new(text, "list").into_pieces(text);
        let shown: Vec<String> = pieces
            .iter()
            .map(|piece| match &piece.value {
                Some(value) => format!("{} {}", &text[piece.range.clone()], &text[value.clone()]),
                None => text[piece.range.clone()].to_owned(),
            })
            .collect();
        assert_eq!(shown, expected, "{text}");
        let whole: String = pieces.iter().map(|piece| &text[piece.range.clone()]).collect();
        assert_eq!(whole, text);
    }

    #[test]
    fn every_element_is_a_piece() {
        check(r#"[{"a":"]"},2]"#, &["[", r#"{"a":"]"} {"a":"]"}"#, ",2 2", "]"]);
        let text = r#"{"a":[1],"list":["\"",[2]],"b":0}"#;
        check(text, &[r#"{"a":[1],"list":["#, r#""\"" "\"""#, ",[2] [2]", r#"],"b":0}"#]);
        check(r#"{"list":[]}"#, &[r#"{"list":[]}"#]);
    }

    #[test]
    fn the_fields_beside_the_list_are_known() {
        let document = Document::new(r#"{"a":"x","list":[],"b":{"c":1}}"#, "list");
        assert_eq!(document.field("a"), Some(r#""x""#));
        assert_eq!(document.field("b"), Some(r#"{"c":1}"#));
        assert_eq!(document.field("list"), None);
    }

    #[test]
    fn what_was_cut_off_is_a_record_of_its_own() {
        check(r#"[1,{"a"#, &["[", "1 1", r#",{"a ,{"a"#]);
        check(r#"{"li"#, &[r#"{"li {"li"#]);
        check("text", &["text text"]);
        check(r#"{"a":1}"#, &[r#"{"a":1} {"a":1}"#]);
        check("[1]]", &["[", "1 1", "]] ]]"]);
    }
}
