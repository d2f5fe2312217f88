//! What a line of the chat looks like: pieces of text, each with a look. Text that comes from outside is
//! made harmless here, before any look is put on it, so no screen can forget to. Knows no terminal but
//! the codes for colours.

use std::fmt::Write as _;

use anstyle::{AnsiColor, Color, RgbColor, Style};
use unicode_width::UnicodeWidthStr;

use crate::terminal::visible;

/// How a piece of text looks.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Look {
    Plain,
    /// What one need not read.
    Dim,
    /// A heading, or what is `**strong**`.
    Strong,
    /// What is `*stressed*`.
    Stressed,
    Code,
    Alarm,
    /// The name of a member, in its colour.
    Name(Hue),
}

/// The colour of a member.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Hue {
    /// One that the terminal chooses.
    Ansi(AnsiColor),
    /// One that the team file chooses.
    Rgb(u8, u8, u8),
}

/// A piece of text with one look. Its text holds no control character.
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

/// Pleasant on light and dark grounds, and told apart by most eyes; by seat.
const PALETTE: [AnsiColor; 6] = [
    AnsiColor::Cyan,
    AnsiColor::Green,
    AnsiColor::Magenta,
    AnsiColor::Yellow,
    AnsiColor::Blue,
    AnsiColor::BrightRed,
];

impl Hue {
    /// The colour of a seat, unless the team file names one that is known.
    pub fn of(seat: usize, named: Option<&str>) -> Self {
        let own = named.and_then(Self::named);
        let usual = PALETTE.get(seat % PALETTE.len()).copied().unwrap_or(AnsiColor::Cyan);
        own.unwrap_or(Self::Ansi(usual))
    }

    fn named(name: &str) -> Option<Self> {
        if let Some(hex) = name.strip_prefix('#') {
            let value = u32::from_str_radix(hex, 16).ok()?;
            let doubled = |nibble: u32| (nibble & 15) as u8 * 17;
            return match hex.len() {
                6 => Some(Self::Rgb((value >> 16) as u8, (value >> 8) as u8, value as u8)),
                3 => Some(Self::Rgb(doubled(value >> 8), doubled(value >> 4), doubled(value))),
                _ => None,
            };
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
        Some(Self::Ansi(ansi))
    }
}

impl Look {
    fn style(self) -> Style {
        let plain = Style::new();
        match self {
            Self::Plain => plain,
            Self::Dim => plain.dimmed(),
            Self::Strong => plain.bold(),
            Self::Stressed => plain.italic(),
            Self::Code => plain.fg_color(Some(Color::Ansi(AnsiColor::Yellow))),
            Self::Alarm => plain.fg_color(Some(Color::Ansi(AnsiColor::Red))),
            Self::Name(Hue::Ansi(color)) => plain.bold().fg_color(Some(Color::Ansi(color))),
            Self::Name(Hue::Rgb(r, g, b)) => {
                plain.bold().fg_color(Some(Color::Rgb(RgbColor(r, g, b))))
            }
        }
    }
}

impl Line {
    /// A line of one look.
    pub fn new(text: &str, look: Look) -> Self {
        let mut line = Self::default();
        line.push(text, look);
        line
    }

    /// Lines of one look, one for each of the text.
    pub fn all_of(text: &str, look: Look) -> Vec<Self> {
        text.lines().map(|line| Self::new(line, look)).collect()
    }

    /// Adds text, made harmless. A line break in it becomes visible too: this is one line.
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

    /// Adds a character that stood in a line before: it is harmless already, and most are added one by one.
    pub fn push_again(&mut self, c: char, look: Look) {
        match self.spans.last_mut() {
            Some(last) if last.look == look => last.text.push(c),
            _ => self.spans.push(Span { text: String::from(c), look }),
        }
    }

    /// The same line with more text behind it.
    #[must_use]
    pub fn with(mut self, text: &str, look: Look) -> Self {
        self.push(text, look);
        self
    }

    /// Its text without looks.
    pub fn text(&self) -> String {
        self.spans.iter().map(|span| span.text.as_str()).collect()
    }

    /// Its characters with their looks.
    pub fn chars(&self) -> impl Iterator<Item = (char, Look)> {
        self.spans.iter().flat_map(|span| span.text.chars().map(|c| (c, span.look)))
    }

    /// The blanks that it begins with.
    pub fn indent(&self) -> String {
        self.chars().map_while(|(c, _)| (c == ' ').then_some(c)).collect()
    }

    /// How many columns it takes.
    pub fn width(&self) -> usize {
        self.spans.iter().map(|span| span.text.width()).sum()
    }

    /// The line as it is written: with codes for its looks, or bare.
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
    fn without_colour_there_are_no_codes() {
        let line = Line::new("max", Look::Name(Hue::of(0, None))).with(" speaks", Look::Dim);
        assert_eq!(line.painted(false), "max speaks");
        assert_eq!(line.painted(true), "\x1b[1m\x1b[36mmax\x1b[0m\x1b[2m speaks\x1b[0m");
    }

    #[test]
    fn the_team_file_may_choose_a_colour_else_the_seat_does() {
        assert_eq!(Hue::of(1, Some("#ff8000")), Hue::Rgb(255, 128, 0));
        assert_eq!(Hue::of(1, Some("#f80")), Hue::Rgb(255, 136, 0));
        assert_eq!(Hue::of(1, Some("red")), Hue::Ansi(AnsiColor::Red));
        assert_eq!(Hue::of(1, Some("\x1b[31m")), Hue::Ansi(AnsiColor::Green));
        assert_eq!(Hue::of(7, None), Hue::of(1, None));
    }
}
