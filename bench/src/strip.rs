//! Measures stripping and parsing of markers: the time per byte, and linear growth on texts that could cause
//! repeated searches.

use std::hint::black_box;

use tertulia_context::{Strip, parse_markers, strip_markers};

use crate::arguments::Scale;
use crate::measure::{GROWTH, GROWTH_LIMIT, alone, in_turns};
use crate::report::{Figure, Theme, Unit, duration, grouped};
use crate::sample::{marked_text, plain_text};

/// The operation on a text.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Reading {
    Compact,
    Preserve,
    Parse,
}

/// The content of a hostile text.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Shape {
    /// Markers without an end.
    OpenMarkers,
    /// Blocks that end where the next one begins.
    TaskBlocks,
    /// Runs of backticks of different lengths, so that none closes another.
    RisingBackticks,
    /// Alternating markers and words on one line.
    MarkersOnOneLine,
    /// Tags that are never closed, each followed by a marker.
    OpenTags,
}

/// Measures the time per byte.
pub(crate) fn measure_price(scale: &Scale) -> Theme {
    let plain = plain_text(scale.text_bytes);
    let marked = marked_text(scale.text_bytes);
    let mut figures = Vec::new();
    for (what, text) in [("plain text", &plain), ("text with markers and code", &marked)] {
        for reading in Reading::ALL {
            let ns = alone(scale.time, || reading.read(text));
            let name = format!("{what}, {}", reading.as_str());
            let price = ns / text.len() as f64;
            let detail = format!("{} for {} B", duration(ns), grouped(text.len()));
            figures.push(Figure::new(name, price, Unit::NanosecondsPerByte).of(detail));
        }
    }
    Theme { title: "Stripping and parsing markers, by the byte", figures }
}

/// Measures the growth on hostile texts.
pub(crate) fn measure_growth(scale: &Scale) -> Theme {
    let mut figures = Vec::new();
    for shape in Shape::ALL {
        let short = shape.text(scale.text_bytes);
        let long = shape.text(GROWTH * scale.text_bytes);
        for reading in Reading::ALL {
            figures.push(growth(scale, shape, reading, &short, &long));
        }
    }
    Theme { title: "Hostile texts of 16 times the length", figures }
}

fn growth(scale: &Scale, shape: Shape, reading: Reading, short: &str, long: &str) -> Figure {
    let (read_short, read_long) = (|| reading.read(short), || reading.read(long));
    let pair = in_turns(scale.time, GROWTH_LIMIT, read_short, read_long);
    let name = format!("{}, {}", shape.as_str(), reading.as_str());
    Figure::ratio(name, &pair, GROWTH_LIMIT)
}

impl Reading {
    const ALL: [Self; 3] = [Self::Compact, Self::Preserve, Self::Parse];

    fn as_str(self) -> &'static str {
        match self {
            Self::Compact => "compact",
            Self::Preserve => "preserve",
            Self::Parse => "parse_markers",
        }
    }

    /// Runs the operation and returns the number of remaining bytes.
    pub(crate) fn read(self, text: &str) -> usize {
        let stripped = |strip| black_box(strip_markers(text, strip)).text.len();
        match self {
            Self::Compact => stripped(Strip::COMPACT),
            Self::Preserve => stripped(Strip::Preserve),
            Self::Parse => black_box(parse_markers(text)).clean_text.len(),
        }
    }
}

impl Shape {
    const ALL: [Self; 5] = [
        Self::OpenMarkers,
        Self::TaskBlocks,
        Self::RisingBackticks,
        Self::MarkersOnOneLine,
        Self::OpenTags,
    ];

    fn as_str(self) -> &'static str {
        match self {
            Self::OpenMarkers => "[NEXT:[NEXT: …",
            Self::TaskBlocks => "[TEAM_TASK] a [TEAM_TASK] a …",
            Self::RisingBackticks => "` `` ``` …",
            Self::MarkersOnOneLine => "x[NEXT:b] x[NEXT:b] …",
            Self::OpenTags => "<a> [NEXT:b] <a> [NEXT:b] …",
        }
    }

    /// Returns a text of about this many bytes.
    fn text(self, bytes: usize) -> String {
        let repeated = |piece: &str| piece.repeat(bytes / piece.len());
        match self {
            Self::OpenMarkers => repeated("[NEXT:"),
            Self::TaskBlocks => repeated("[TEAM_TASK] a "),
            Self::MarkersOnOneLine => repeated("x[NEXT:b] "),
            Self::OpenTags => repeated("<a> [NEXT:b] "),
            Self::RisingBackticks => rising_backticks(bytes),
        }
    }
}

/// Returns a text that begins with a marker, because a text without markers is not searched for code. The last run
/// may be cut.
fn rising_backticks(bytes: usize) -> String {
    let mut text = String::from("[NEXT:b]");
    for length in 1.. {
        if text.len() >= bytes {
            break;
        }
        text.push(' ');
        text.extend(std::iter::repeat_n('`', length));
    }
    text.truncate(bytes);
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn hostile_texts_grow_by_what_is_asked_for() {
        for shape in Shape::ALL {
            let [short, long] = [8_192, GROWTH * 8_192].map(|bytes| shape.text(bytes).len() as f64);
            assert!((long / short - GROWTH as f64).abs() < 0.01, "{shape:?}");
        }
    }
}
