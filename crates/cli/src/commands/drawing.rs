//! Bars, columns and colours of tables for people.

use anstyle::{AnsiColor, Style};
use unicode_width::UnicodeWidthStr;

const BAR_COLUMNS: usize = 24;

/// Returns a bar in eighths of a column; a non-empty part shows at least one eighth.
pub(super) fn bar(part: usize, whole: usize) -> String {
    if part == 0 || whole == 0 {
        return String::new();
    }
    let eighths = (part as u128 * BAR_COLUMNS as u128 * 8).div_ceil(whole as u128);
    let eighths = usize::try_from(eighths).unwrap_or(BAR_COLUMNS * 8);
    let ends = ["", "▏", "▎", "▍", "▌", "▋", "▊", "▉"];
    format!("{}{}", "█".repeat(eighths / 8), ends[eighths % 8])
}

/// Returns a bar of two parts, the second one lighter. A part that is not empty has at least one column.
pub(super) fn bar_of_two(first: u128, second: u128, whole: u128) -> String {
    let columns = |part: u128| {
        let columns = part.saturating_mul(BAR_COLUMNS as u128).div_ceil(whole.max(1));
        usize::try_from(columns).unwrap_or(BAR_COLUMNS).min(BAR_COLUMNS)
    };
    format!("{}{}", "█".repeat(columns(first)), "▒".repeat(columns(second)))
}

/// Returns the percentage.
pub(super) fn share(part: usize, whole: usize) -> String {
    let percent = (part as u128 * 100 + whole as u128 / 2).checked_div(whole as u128);
    percent.map_or_else(String::new, |percent| format!("{percent} %"))
}

/// Pads a text with spaces to a width; wide characters count twice.
pub(super) fn padded(text: &str, columns: usize) -> String {
    format!("{text}{}", " ".repeat(columns.saturating_sub(text.width())))
}

pub(super) struct Paint {
    colour: bool,
}

impl Paint {
    pub(super) fn new(colour: bool) -> Self {
        Self { colour }
    }

    pub(super) fn good(&self, text: &str) -> String {
        self.styled(Style::new().fg_color(Some(AnsiColor::Green.into())), text)
    }

    pub(super) fn warning(&self, text: &str) -> String {
        self.styled(Style::new().fg_color(Some(AnsiColor::Yellow.into())), text)
    }

    pub(super) fn bad(&self, text: &str) -> String {
        self.styled(Style::new().fg_color(Some(AnsiColor::Red.into())), text)
    }

    pub(super) fn faint(&self, text: &str) -> String {
        self.styled(Style::new().dimmed(), text)
    }

    pub(super) fn found(&self, text: &str) -> String {
        self.styled(Style::new().bold().fg_color(Some(AnsiColor::Yellow.into())), text)
    }

    pub(super) fn strong(&self, text: &str) -> String {
        self.styled(Style::new().bold(), text)
    }

    fn styled(&self, style: Style, text: &str) -> String {
        if self.colour { format!("{style}{text}{style:#}") } else { text.to_owned() }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_bar_is_full_at_the_whole_and_never_empty_for_something() {
        assert_eq!(bar(0, 10), "");
        assert_eq!(bar(10, 10), "█".repeat(BAR_COLUMNS));
        assert_eq!(bar(1, 1_000_000), "▏");
        assert_eq!(bar(5, 10), "█".repeat(BAR_COLUMNS / 2));
    }

    #[test]
    fn a_bar_of_two_parts_shows_both() {
        assert_eq!(bar_of_two(0, 0, 10), "");
        assert_eq!(bar_of_two(1, 1, 1_000_000), "█▒");
        let half = BAR_COLUMNS / 2;
        assert_eq!(bar_of_two(5, 5, 10), format!("{}{}", "█".repeat(half), "▒".repeat(half)));
    }
}
