//! Parses keyboard bytes into keys. Pure: bytes arrive in any chunks; unknown sequences are dropped. The caller decides
//! by time whether an Esc is a key of its own or the start of a sequence.

#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Key {
    Char(char),
    Paste(String),
    Enter,
    /// A line break inside the text: Alt-Enter or Ctrl-J.
    Newline,
    Tab,
    Escape,
    Backspace,
    Delete,
    Left,
    Right,
    WordLeft,
    WordRight,
    Up,
    Down,
    Home,
    End,
    Control(char),
}

/// Longer sequences are not keys.
const SEQUENCE_MAX: usize = 32;
const PASTE_END: &[u8] = b"\x1b[201~";
const PASTE_MAX: usize = 1024 * 1024;

/// Bytes that are not a complete key yet.
#[derive(Debug, Default)]
pub(crate) struct Keys {
    bytes: Vec<u8>,
    paste: Option<Vec<u8>>,
}

impl Keys {
    /// Adds bytes; returns the keys that are complete.
    pub(crate) fn push(&mut self, bytes: &[u8]) -> Vec<Key> {
        self.bytes.extend_from_slice(bytes);
        let mut keys = Vec::new();
        let all = std::mem::take(&mut self.bytes);
        let mut rest = all.as_slice();
        while !rest.is_empty() {
            let taken = match &mut self.paste {
                Some(_) => self.pasted(rest, &mut keys),
                None => self.key(rest, &mut keys),
            };
            match taken {
                Some(taken) => rest = rest.get(taken.max(1)..).unwrap_or_default(),
                None => break,
            }
        }
        self.bytes = rest.to_vec();
        keys
    }

    /// Returns whether an Esc is pending that may be a key of its own.
    pub(crate) fn is_escape_waiting(&self) -> bool {
        self.paste.is_none() && self.bytes == b"\x1b"
    }

    /// Takes a pending Esc as a key of its own.
    pub(crate) fn take_escape(&mut self) -> Option<Key> {
        let waits = self.is_escape_waiting();
        waits.then(|| {
            self.bytes.clear();
            Key::Escape
        })
    }

    /// Ends a paste without an end marker, and returns its text. Called for a key that must always work: if a
    /// terminal loses the marker, all later keys would become part of the paste.
    pub(crate) fn end_paste(&mut self) -> Option<Key> {
        let mut paste = self.paste.take()?;
        // These bytes may be the start of the marker.
        paste.append(&mut self.bytes);
        Some(Key::Paste(pasted_text(&paste)))
    }

    /// Adds bytes to a paste, up to its end marker or to a possible start of the marker.
    fn pasted(&mut self, rest: &[u8], keys: &mut Vec<Key>) -> Option<usize> {
        let paste = self.paste.as_mut()?;
        let end = rest.windows(PASTE_END.len()).position(|window| window == PASTE_END);
        let until = end.unwrap_or_else(|| {
            let begins = |from: usize| PASTE_END.starts_with(rest.get(from..).unwrap_or_default());
            let first = rest.len().saturating_sub(PASTE_END.len() - 1);
            (first..rest.len()).find(|from| begins(*from)).unwrap_or(rest.len())
        });
        let room = PASTE_MAX.saturating_sub(paste.len());
        paste.extend_from_slice(rest.get(..until.min(room)).unwrap_or_default());
        if end.is_none() {
            return (until > 0).then_some(until);
        }
        let text = pasted_text(paste);
        self.paste = None;
        keys.push(Key::Paste(text));
        Some(until + PASTE_END.len())
    }

    /// Parses the first key; returns its number of bytes, or `None` if it is incomplete.
    fn key(&mut self, rest: &[u8], keys: &mut Vec<Key>) -> Option<usize> {
        let first = *rest.first()?;
        let key = match first {
            0x1b => return self.sequence(rest, keys),
            b'\r' => Key::Enter,
            b'\n' => Key::Newline,
            b'\t' => Key::Tab,
            0x7f | 0x08 => Key::Backspace,
            0x01..=0x1a => Key::Control(char::from(first + 0x60)),
            0x00..0x20 => return Some(1),
            _ => return character(rest, keys),
        };
        keys.push(key);
        Some(1)
    }

    fn sequence(&mut self, rest: &[u8], keys: &mut Vec<Key>) -> Option<usize> {
        let key = match rest.get(1)? {
            b'[' => {
                let body = rest.get(2..)?;
                let mut near = body.iter().take(SEQUENCE_MAX);
                let Some(end) = near.position(|byte| (0x40..=0x7e).contains(byte)) else {
                    return (body.len() >= SEQUENCE_MAX).then_some(2);
                };
                let (params, last) = (body.get(..end)?, *body.get(end)?);
                if (params, last) == (b"200".as_slice(), b'~') {
                    self.paste = Some(Vec::new());
                } else {
                    keys.extend(named(params, last));
                }
                return Some(end + 3);
            }
            b'O' => {
                keys.extend(named(b"", *rest.get(2)?));
                return Some(3);
            }
            b'\r' | b'\n' => Key::Newline,
            b'b' => Key::WordLeft,
            b'f' => Key::WordRight,
            0x7f | 0x08 => Key::Control('w'),
            // Two in a row: the first is a key of its own.
            0x1b => {
                keys.push(Key::Escape);
                return Some(1);
            }
            _ => return Some(2),
        };
        keys.push(key);
        Some(2)
    }
}

fn pasted_text(bytes: &[u8]) -> String {
    String::from_utf8_lossy(bytes).replace("\r\n", "\n").replace('\r', "\n")
}

fn named(params: &[u8], last: u8) -> Option<Key> {
    // 3, 5 and 7 behind a semicolon: with Alt, Ctrl or both.
    let by_word = matches!(params, b"1;3" | b"1;5" | b"1;7");
    Some(match (last, params) {
        (b'A', _) => Key::Up,
        (b'B', _) => Key::Down,
        (b'C', _) if by_word => Key::WordRight,
        (b'D', _) if by_word => Key::WordLeft,
        (b'C', _) => Key::Right,
        (b'D', _) => Key::Left,
        (b'H', _) | (b'~', b"1" | b"7") => Key::Home,
        (b'F', _) | (b'~', b"4" | b"8") => Key::End,
        (b'~', b"3") => Key::Delete,
        _ => return None,
    })
}

/// Returns a character of one to four bytes.
fn character(rest: &[u8], keys: &mut Vec<Key>) -> Option<usize> {
    let head = rest.get(..rest.len().min(4))?;
    let valid = match std::str::from_utf8(head) {
        Ok(text) => text,
        Err(error) if error.valid_up_to() > 0 => {
            std::str::from_utf8(head.get(..error.valid_up_to())?).ok()?
        }
        // The rest of the character has not arrived yet.
        Err(error) if error.error_len().is_none() => return None,
        Err(error) => return error.error_len(),
    };
    let c = valid.chars().next()?;
    if !c.is_control() {
        keys.push(Key::Char(c));
    }
    Some(c.len_utf8())
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn keys(bytes: &[u8]) -> Vec<Key> {
        Keys::default().push(bytes)
    }

    #[test]
    fn letters_of_all_lengths_and_control_keys_are_keys() {
        assert_eq!(keys("aé设🙂".as_bytes()), ['a', 'é', '设', '🙂'].map(Key::Char));
        let typed = keys(b"\r\n\t\x7f\x03\x04");
        let expected = [
            Key::Enter,
            Key::Newline,
            Key::Tab,
            Key::Backspace,
            Key::Control('c'),
            Key::Control('d'),
        ];
        assert_eq!(typed, expected);
        assert_eq!(keys(b"a\xffb"), [Key::Char('a'), Key::Char('b')]);
    }

    #[test]
    fn arrows_and_their_kin_are_keys_and_unknown_sequences_are_none() {
        let typed = keys(b"\x1b[A\x1bOB\x1b[1;5C\x1b[3~\x1b[H\x1b[99;99R\x1b[15~x");
        let expected = [Key::Up, Key::Down, Key::WordRight, Key::Delete, Key::Home, Key::Char('x')];
        assert_eq!(typed, expected);
    }

    #[test]
    fn an_escape_alone_waits_until_nothing_follows() {
        let mut keys = Keys::default();
        assert!(keys.push(b"\x1b").is_empty());
        assert!(keys.is_escape_waiting());
        assert_eq!(keys.push(b"[C"), [Key::Right]);
        assert_eq!(keys.take_escape(), None);
        keys.push(b"\x1b");
        assert_eq!(keys.take_escape(), Some(Key::Escape));
        assert_eq!(keys.push(b"\x1b\x1b"), [Key::Escape]);
        assert!(keys.is_escape_waiting());
    }

    #[test]
    fn what_is_pasted_is_one_key_and_runs_no_other() {
        let paste = b"\x1b[200~two\r\nlines\x03\x1b[2Jend\x1b[201~!";
        let text = "two\nlines\x03\x1b[2Jend".to_owned();
        assert_eq!(keys(paste), [Key::Paste(text), Key::Char('!')]);
    }

    #[test]
    fn a_paste_without_an_end_can_be_ended() {
        let mut keys = Keys::default();
        assert_eq!(keys.end_paste(), None);
        assert!(keys.push(b"\x1b[200~two\rlines\x1b[20").is_empty());
        assert_eq!(keys.end_paste(), Some(Key::Paste("two\nlines\x1b[20".to_owned())));
        assert_eq!(keys.push(b"\x03\x1b[201~x"), [Key::Control('c'), Key::Char('x')]);
    }

    proptest! {
        #[test]
        fn the_pieces_do_not_matter(
            bytes in prop::collection::vec(
                prop_oneof![
                    Just(b"\x1b[200~".to_vec()), Just(b"\x1b[201~".to_vec()),
                    Just(b"\x1b[A".to_vec()), Just(b"\x1b".to_vec()), Just("设".into()),
                    prop::collection::vec(any::<u8>(), 0..4),
                ], 0..20),
            cut in 0_usize..100,
        ) {
            let bytes = bytes.concat();
            let cut = cut.min(bytes.len());
            let mut pieces = Keys::default();
            let mut typed = pieces.push(&bytes[..cut]);
            typed.extend(pieces.push(&bytes[cut..]));
            prop_assert_eq!(typed, keys(&bytes));
        }
    }
}
