//! Styled lines: pieces of text, each with a look, and how they wrap. Control characters in text from outside are made
//! visible here, before any style is applied, so no caller can forget it.

use std::fmt::Write as _;

use anstyle::{Ansi256Color, AnsiColor, Color, RgbColor, Style};
use tertulia_team::wire::StyledLine;
use unicode_width::{UnicodeWidthChar, UnicodeWidthStr};

use crate::terminal::visible;

/// The style of a piece of text.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Look {
    Plain,
    /// Less important text.
    Dim,
    /// A heading, or `**strong**` text.
    Strong,
    /// `*Emphasized*` text.
    Emphasized,
    Code,
    Error,
    /// The name of a member, in its colour.
    Name(Color),
}

/// A piece of text with one look. Its text contains no control characters.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Span {
    text: String,
    look: Look,
}

/// A line, without its line break.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Line {
    spans: Vec<Span>,
}

/// Member colours by index, readable and distinguishable on light and dark backgrounds.
#[rustfmt::skip]
const PALETTE: [AnsiColor; 6] = [
    AnsiColor::Cyan, AnsiColor::Green, AnsiColor::Magenta, AnsiColor::Yellow, AnsiColor::Blue, AnsiColor::BrightRed,
];

/// Returns the colour of the member at this index, unless the team file names a known one.
pub(crate) fn colour_of(index: usize, named: Option<&str>) -> Color {
    named.and_then(colour_named).unwrap_or(PALETTE[index % PALETTE.len()].into())
}

fn colour_named(name: &str) -> Option<Color> {
    if let Some(hex) = name.strip_prefix('#') {
        let value = u32::from_str_radix(hex, 16).ok()?;
        let doubled = |nibble: u32| (nibble & 15) as u8 * 17;
        let rgb = match hex.len() {
            6 => RgbColor((value >> 16) as u8, (value >> 8) as u8, value as u8),
            3 => RgbColor(doubled(value >> 8), doubled(value >> 4), doubled(value)),
            _ => return None,
        };
        return Some(rgb.into());
    }
    let ansi = match name {
        "black" | "gray" | "grey" => AnsiColor::BrightBlack,
        "red" => AnsiColor::Red,
        "green" => AnsiColor::Green,
        "yellow" => AnsiColor::Yellow,
        "blue" => AnsiColor::Blue,
        "magenta" => AnsiColor::Magenta,
        "cyan" => AnsiColor::Cyan,
        "white" => AnsiColor::White,
        _ => return None,
    };
    Some(ansi.into())
}

impl Look {
    /// Returns the name of the look in the protocol between processes.
    fn word(self) -> String {
        let word = match self {
            Self::Plain => "plain",
            Self::Dim => "dim",
            Self::Strong => "strong",
            Self::Emphasized => "emphasized",
            Self::Code => "code",
            Self::Error => "error",
            Self::Name(Color::Rgb(RgbColor(red, green, blue))) => {
                return format!("name #{red:02x}{green:02x}{blue:02x}");
            }
            Self::Name(Color::Ansi(colour)) => {
                return format!("name {}", Ansi256Color::from_ansi(colour).0);
            }
            Self::Name(Color::Ansi256(colour)) => return format!("name {}", colour.0),
        };
        word.to_owned()
    }

    fn of_word(word: &str) -> Self {
        match word.split_once(' ') {
            Some(("name", colour)) => {
                let number = colour.parse::<u8>().ok().map(Ansi256Color);
                let ansi = number.map(|one| one.into_ansi().map_or(one.into(), Color::Ansi));
                ansi.or_else(|| colour_named(colour)).map_or(Self::Strong, Self::Name)
            }
            _ => match word {
                "dim" => Self::Dim,
                "strong" => Self::Strong,
                "emphasized" => Self::Emphasized,
                "code" => Self::Code,
                "error" => Self::Error,
                _ => Self::Plain,
            },
        }
    }

    fn style(self) -> Style {
        let plain = Style::new();
        match self {
            Self::Plain => plain,
            Self::Dim => plain.dimmed(),
            Self::Strong => plain.bold(),
            Self::Emphasized => plain.italic(),
            Self::Code => plain.fg_color(Some(AnsiColor::Yellow.into())),
            Self::Error => plain.fg_color(Some(AnsiColor::Red.into())),
            Self::Name(colour) => plain.bold().fg_color(Some(colour)),
        }
    }
}

impl Line {
    /// Creates a line with one look.
    pub fn new(text: impl AsRef<str>, look: Look) -> Self {
        Self::default().with(text.as_ref(), look)
    }

    /// Splits a text into lines with one look.
    pub fn split(text: &str, look: Look) -> Vec<Self> {
        text.lines().map(|line| Self::new(line, look)).collect()
    }

    /// Adds text with control characters made visible, including line breaks.
    pub fn push(&mut self, text: &str, look: Look) {
        if text.is_empty() {
            return;
        }
        let harmless = visible(text).replace('\n', "␊");
        match self.spans.last_mut() {
            Some(last) if last.look == look => last.text.push_str(&harmless),
            _ => self.spans.push(Span { text: harmless, look }),
        }
    }

    /// Adds a character of another line, which contains no control characters.
    fn push_again(&mut self, c: char, look: Look) {
        match self.spans.last_mut() {
            Some(last) if last.look == look => last.text.push(c),
            _ => self.spans.push(Span { text: String::from(c), look }),
        }
    }

    /// Returns the line with more text at its end.
    #[must_use]
    pub fn with(mut self, text: &str, look: Look) -> Self {
        self.push(text, look);
        self
    }

    /// Returns the line in the form of the protocol between processes.
    pub(crate) fn to_wire(&self) -> StyledLine {
        let piece = |span: &Span| (span.look.word().into(), span.text.as_str().into());
        self.spans.iter().map(piece).collect()
    }

    /// Reads a line of another process. An unknown style is plain.
    pub(crate) fn from_wire(pieces: &StyledLine) -> Self {
        let mut line = Self::default();
        pieces.iter().for_each(|(look, text)| line.push(text, Look::of_word(look)));
        line
    }

    /// Returns the text without styles.
    pub fn text(&self) -> String {
        self.spans.iter().map(|span| span.text.as_str()).collect()
    }

    fn chars(&self) -> impl Iterator<Item = (char, Look)> {
        self.spans.iter().flat_map(|span| span.text.chars().map(|c| (c, span.look)))
    }

    /// Returns the leading spaces.
    pub fn indent(&self) -> String {
        self.chars().map_while(|(c, _)| (c == ' ').then_some(c)).collect()
    }

    /// Returns the width in columns.
    pub fn width(&self) -> usize {
        self.spans.iter().map(|span| span.text.width()).sum()
    }

    /// Returns the text to write, with colour codes or without.
    pub fn painted(&self, colour: bool) -> String {
        if !colour {
            return self.text();
        }
        let mut painted = String::new();
        for Span { text, look } in &self.spans {
            let style = look.style();
            let _ = write!(painted, "{style}{text}{style:#}");
        }
        painted
    }
}

/// Wraps a line into rows; all but the first begin with `hanging`.
pub(crate) fn wrap(line: &Line, hanging: &str, columns: usize) -> Vec<Line> {
    let columns = columns.max(8);
    if line.width() <= columns {
        return vec![line.clone()];
    }
    let mut wrapped =
        Wrapped { rows: Vec::new(), row: Line::default(), width: 0, hanging, columns };
    for word in words(line) {
        wrapped.take(&word);
    }
    wrapped.rows.push(wrapped.row);
    wrapped.rows
}

/// Characters that stay together, with their looks, and the spaces before them.
#[derive(Default)]
struct Word {
    spaces: Vec<(char, Look)>,
    letters: Vec<(char, Look)>,
}

fn words(line: &Line) -> Vec<Word> {
    let mut words = vec![Word::default()];
    let mut was_wide = false;
    for (c, look) in line.chars() {
        let is_wide = c.width() == Some(2);
        let Some(last) = words.last_mut() else { break };
        if c == ' ' || c == '\t' {
            if last.letters.is_empty() {
                last.spaces.push((' ', look));
            } else {
                words.push(Word { spaces: vec![(' ', look)], letters: Vec::new() });
            }
        } else if !last.letters.is_empty() && was_wide && is_wide {
            // Scripts without spaces can be broken between any two characters.
            words.push(Word { spaces: Vec::new(), letters: vec![(c, look)] });
        } else {
            last.letters.push((c, look));
        }
        was_wide = is_wide;
    }
    words
}

struct Wrapped<'h> {
    rows: Vec<Line>,
    row: Line,
    width: usize,
    hanging: &'h str,
    columns: usize,
}

impl Wrapped<'_> {
    fn take(&mut self, word: &Word) {
        let needed = width(&word.spaces) + width(&word.letters);
        let is_first = self.rows.is_empty() && self.width == 0;
        if self.width + needed > self.columns && !word.letters.is_empty() && !is_first {
            self.next_row();
        } else {
            self.add_all(&word.spaces);
        }
        self.add_all(&word.letters);
    }

    fn add_all(&mut self, letters: &[(char, Look)]) {
        for (c, look) in letters {
            let wide = c.width().unwrap_or(0);
            if self.width + wide > self.columns {
                self.next_row();
            }
            self.row.push_again(*c, *look);
            self.width += wide;
        }
    }

    fn next_row(&mut self) {
        self.rows.push(std::mem::take(&mut self.row));
        self.row.push(self.hanging, Look::Plain);
        self.width = self.hanging.len();
    }
}

fn width(letters: &[(char, Look)]) -> usize {
    letters.iter().map(|(c, _)| c.width().unwrap_or(0)).sum()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_control_character_gets_into_a_line() {
        let line = Line::new("a\x1b]52;c;x\x07b\r\nc\u{9b}2J\u{202e}", Look::Strong);
        assert_eq!(line.text(), "a␛]52;c;x␇b␍␊c�2J�");
        assert_eq!(line.painted(true).matches('\x1b').count(), 2, "ours, and no others");
    }

    #[test]
    fn a_line_is_the_same_in_another_process() {
        let colours = (0..7).map(|index| Look::Name(colour_of(index, None)));
        let named = ["#abc", "#102030", "white"].map(|name| Look::Name(colour_of(0, Some(name))));
        let looks =
            [Look::Plain, Look::Dim, Look::Strong, Look::Emphasized, Look::Code, Look::Error];
        for look in looks.into_iter().chain(colours).chain(named) {
            let line = Line::new("one ", look).with("two", Look::Dim);
            assert_eq!(Line::from_wire(&line.to_wire()), line, "{look:?}");
        }
        let other = vec![("sparkling".into(), "a\x1b[2J".into())];
        assert_eq!(Line::from_wire(&other), Line::new("a␛[2J", Look::Plain));
    }

    #[test]
    fn without_colour_there_are_no_codes() {
        let line = Line::new("max", Look::Name(colour_of(0, None))).with(" speaks", Look::Dim);
        assert_eq!(line.painted(false), "max speaks");
        assert_eq!(line.painted(true), "\x1b[1m\x1b[36mmax\x1b[0m\x1b[2m speaks\x1b[0m");
    }

    #[test]
    fn the_team_file_may_choose_a_colour_and_the_position_is_the_default() {
        assert_eq!(colour_of(1, Some("#ff8000")), RgbColor(255, 128, 0).into());
        assert_eq!(colour_of(1, Some("#f80")), RgbColor(255, 136, 0).into());
        assert_eq!(colour_of(1, Some("red")), AnsiColor::Red.into());
        assert_eq!(colour_of(1, Some("\x1b[31m")), AnsiColor::Green.into());
        assert_eq!(colour_of(7, None), colour_of(1, None));
    }
}
