//! Sequences in hostile answers. None of them may reach a terminal.

/// Other sequences: single characters, incomplete sequences, and direction marks.
const OTHERS: &[&str] = &[
    "\x1bP1$r0m\x1b\\",
    "\x1bPq#0;2;0;0;0#0~~\x1b\\",
    "\u{90}+q544e\u{9c}",
    "\x1b_apc\x1b\\",
    "\x1b^pm\x1b\\",
    "\x1bXsos\x1b\\",
    "\u{9d}0;t\u{9c}",
    "\x1bc",
    "\x1b7\x1b8",
    "\x1b#8",
    "\x1b(0lqk\x1b(B",
    "\x1bZ",
    "\x1b=",
    "\x1bD",
    "\x1bM",
    "safe\rEVIL",
    "abc\x08\x08\x08xyz",
    "\x0e\x0f",
    "\x07",
    "\x00",
    "\x7f",
    "\x05",
    "\x0b\x0c",
    "\u{85}",
    "\u{84}",
    "\u{8d}",
    "\u{202e}gpj.exe",
    "\u{2066}a\u{2069}",
    "\u{202d}b\u{202c}",
    "\u{200f}a\u{200e}b\u{61c}c",
    "one\u{2028}two\u{2029}three",
    "seen\u{e0001}\u{e0068}\u{e0069}\u{e007f}",
    "\x1b",
    "\x1b[",
    "\x1b]",
    "\x18\x1a",
];

/// Returns sequences of all kinds that terminals execute.
pub(super) fn corpus() -> Vec<String> {
    let mut all: Vec<String> = Vec::new();
    let esc = '\x1b';
    for end in ["\x07", "\x1b\\", "\u{9c}"] {
        for body in [
            "52;c;ZXZpbA==",
            "52;p;?",
            "0;title",
            "2;title",
            "1;icon",
            "8;;https://evil.example",
            "4;1;?",
            "10;?",
            "11;#000000",
            "12;red",
            "50;font",
            "104",
            "133;A",
            "777;notify;a;b",
            "9;message",
            "1337;File=inline=1:AAAA",
        ] {
            all.push(format!("{esc}]{body}{end}"));
        }
    }
    for csi in [
        "2J", "3J", "H", "1;1H", "6n", "5n", "c", ">c", "?1049h", "?1000h", "?2004h", "?25l",
        "31m", "8m", "21t", "20t", "14t", "4h", "2K", "1A", "100B", "L", "M", "10S", "r", "!p",
        "?5h", "\"p",
    ] {
        all.push(format!("{esc}[{csi}"));
        all.push(format!("\u{9b}{csi}"));
    }
    all.extend(OTHERS.iter().map(|other| (*other).to_owned()));
    all
}

/// Returns the output without the sequences that a chat itself writes: colours, cursor movements up and right,
/// erasing below, and bracketed paste.
pub(super) fn foreign(written: &str) -> String {
    let mut rest = written;
    let mut foreign = String::new();
    while let Some(place) = rest.find(is_foreign) {
        let at = &rest[place..];
        let own = own_sequence(at);
        if own == 0 {
            foreign.push(at.chars().next().unwrap());
        }
        let skip = if own == 0 { at.chars().next().unwrap().len_utf8() } else { own };
        rest = &at[skip..];
    }
    foreign
}

fn is_foreign(c: char) -> bool {
    (c.is_control() && !matches!(c, '\n' | '\r' | '\t'))
        || matches!(c, '\u{61c}' | '\u{200e}' | '\u{200f}' | '\u{2028}'..='\u{202e}')
        || matches!(c, '\u{2066}'..='\u{2069}' | '\u{e0000}'..='\u{e007f}')
}

/// Returns the length of a sequence of the chat at the beginning.
fn own_sequence(text: &str) -> usize {
    let Some(body) = text.strip_prefix("\x1b[") else { return 0 };
    for own in ["?2004h", "?2004l", "J"] {
        if body.starts_with(own) {
            return 2 + own.len();
        }
    }
    let digits = body.len() - body.trim_start_matches(|c: char| c.is_ascii_digit()).len();
    match body[digits..].chars().next() {
        Some('A' | 'C') if digits > 0 => digits + 3,
        // Only the styles of a line.
        Some('m')
            if ["0", "1", "2", "3", "31", "32", "33", "35", "36"].contains(&&body[..digits]) =>
        {
            digits + 3
        }
        _ => 0,
    }
}

#[test]
fn the_check_finds_what_is_not_ours() {
    assert_eq!(foreign("\r\x1b[3A\x1b[J\x1b[1m\x1b[36mmax\x1b[0m\x1b[2C\x1b[?2004h"), "");
    // The chat writes these sequences too, so only their visible form shows that they were stopped.
    let alike = ["\x1b[31m", "\x1b[1A", "\x1b[?2004h", "safe\rEVIL"];
    for sequence in corpus().iter().filter(|one| !alike.contains(&one.as_str())) {
        assert!(!foreign(sequence).is_empty(), "{sequence:?}");
    }
    assert!(corpus().len() >= 60);
}
