//! Figures, their limits and verdicts, as a table for people or as JSON lines. Pure: returns text and prints nothing.

use std::fmt::Write;

use serde_json::json;

use crate::measure::Pair;

/// One figure.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Figure {
    /// The case, such as "1,000,000 stored messages against 10".
    pub(crate) name: String,
    pub(crate) value: f64,
    pub(crate) unit: Unit,
    /// Its limit; `None` for a figure that is only printed.
    pub(crate) limit: Option<Limit>,
    /// The measurements behind it, such as "512 ns against 508 ns".
    pub(crate) detail: String,
}

/// The limit of a figure.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) enum Limit {
    AtMost(f64),
    AtLeast(f64),
}

/// The unit of a figure.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Unit {
    /// The ratio of two times or two prices.
    Times,
    Bytes,
    BytesPerMessage,
    BytesPerTerm,
    NanosecondsPerByte,
    Milliseconds,
    Percent,
    TokensPerStep,
    MegabytesPerSecond,
}

/// The figures of one theme.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Theme {
    pub(crate) title: &'static str,
    pub(crate) figures: Vec<Figure>,
}

/// Whether a figure is within its limit.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Verdict {
    Ok,
    Over,
    Under,
    /// There is no limit.
    Informs,
}

impl Figure {
    /// Creates a figure without a limit.
    pub(crate) fn new(name: impl Into<String>, value: f64, unit: Unit) -> Self {
        Self { name: name.into(), value, unit, limit: None, detail: String::new() }
    }

    /// Creates a ratio of two times with a maximum.
    pub(crate) fn ratio(name: impl Into<String>, pair: &Pair, limit: f64) -> Self {
        let (other, base) = (duration(pair.other_ns), duration(pair.base_ns));
        Self::new(name, pair.ratio(), Unit::Times)
            .at_most(limit)
            .of(format!("{other} against {base}"))
    }

    /// Returns the figure with a maximum.
    pub(crate) fn at_most(mut self, limit: f64) -> Self {
        self.limit = Some(Limit::AtMost(limit));
        self
    }

    /// Returns the figure with a minimum.
    pub(crate) fn at_least(mut self, limit: f64) -> Self {
        self.limit = Some(Limit::AtLeast(limit));
        self
    }

    /// Adds the measurements behind the figure.
    pub(crate) fn of(mut self, detail: impl Into<String>) -> Self {
        self.detail = detail.into();
        self
    }

    pub(crate) fn verdict(&self) -> Verdict {
        // A figure that is not a number is never within its limit.
        match self.limit {
            None => Verdict::Informs,
            Some(Limit::AtMost(limit)) if self.value <= limit => Verdict::Ok,
            Some(Limit::AtMost(_)) => Verdict::Over,
            Some(Limit::AtLeast(limit)) if self.value >= limit => Verdict::Ok,
            Some(Limit::AtLeast(_)) => Verdict::Under,
        }
    }

    /// Returns the cells of its line: name, value, limit, verdict, detail.
    fn cells(&self) -> [String; 5] {
        let limit = self.limit.map_or_else(String::new, Limit::show);
        let verdict = self.verdict().as_str().to_owned();
        [self.name.clone(), self.unit.show(self.value), limit, verdict, self.detail.clone()]
    }
}

impl Limit {
    fn value(self) -> f64 {
        match self {
            Self::AtMost(limit) | Self::AtLeast(limit) => limit,
        }
    }

    /// Shortens a measured limit, which has too many digits.
    fn show(self) -> String {
        let short = (self.value() * 100.0).round() / 100.0;
        match self {
            Self::AtMost(_) => format!("≤ {short}"),
            Self::AtLeast(_) => format!("≥ {short}"),
        }
    }
}

impl Unit {
    fn as_str(self) -> &'static str {
        match self {
            Self::Times => "×",
            Self::Bytes => "B",
            Self::BytesPerMessage => "B/message",
            Self::BytesPerTerm => "B/term",
            Self::NanosecondsPerByte => "ns/B",
            Self::Milliseconds => "ms",
            Self::Percent => "%",
            Self::TokensPerStep => "tokens/step",
            Self::MegabytesPerSecond => "MB/s",
        }
    }

    fn show(self, value: f64) -> String {
        let sign = self.as_str();
        match self {
            Self::Times | Self::NanosecondsPerByte | Self::Milliseconds => {
                format!("{value:.2} {sign}")
            }
            Self::Bytes => format!("{} {sign}", grouped(value as usize)),
            Self::BytesPerMessage | Self::BytesPerTerm | Self::MegabytesPerSecond => {
                format!("{value:.0} {sign}")
            }
            Self::Percent => format!("{value:.1} {sign}"),
            Self::TokensPerStep => format!("{} {sign}", grouped(value as usize)),
        }
    }
}

impl Verdict {
    fn breaks(self) -> bool {
        matches!(self, Self::Over | Self::Under)
    }

    fn as_str(self) -> &'static str {
        match self {
            Self::Ok => "ok",
            Self::Over => "OVER",
            Self::Under => "UNDER",
            Self::Informs => "",
        }
    }
}

/// Returns the figures as a table, and a last line about the limits.
pub(crate) fn table(themes: &[Theme]) -> String {
    let rows = |theme: &Theme| theme.figures.iter().map(Figure::cells).collect::<Vec<_>>();
    let themes_rows: Vec<_> = themes.iter().map(|theme| (theme.title, rows(theme))).collect();
    let width = |column: usize| {
        let cells = themes_rows.iter().flat_map(|(_, rows)| rows);
        cells.map(|row| row[column].chars().count()).max().unwrap_or(0)
    };
    let [name_width, value_width, limit_width, verdict_width] = [0, 1, 2, 3].map(width);
    let mut text = String::new();
    for (title, rows) in &themes_rows {
        text.push_str(title);
        text.push('\n');
        for [name, value, limit, verdict, detail] in rows {
            let line = format!(
                "  {name:name_width$}  {value:>value_width$}  {limit:limit_width$}  \
                 {verdict:verdict_width$}  {detail}"
            );
            text.push_str(line.trim_end());
            text.push('\n');
        }
        text.push('\n');
    }
    text.push_str(&closing_line(themes));
    text.push('\n');
    text
}

/// Returns the figures as JSON, one object per line.
pub(crate) fn json_lines(themes: &[Theme]) -> String {
    let mut text = String::new();
    for theme in themes {
        for figure in &theme.figures {
            let line = json!({
                "theme": theme.title,
                "name": figure.name,
                "value": figure.value,
                "unit": figure.unit.as_str(),
                "limit": figure.limit.map(Limit::value),
                "ok": !figure.verdict().breaks(),
                "detail": figure.detail,
            });
            // Writing into a String cannot fail.
            let _ = writeln!(text, "{line}");
        }
    }
    text
}

/// Returns whether every figure is within its limit.
pub(crate) fn all_hold(themes: &[Theme]) -> bool {
    count(themes, Verdict::breaks) == 0
}

fn closing_line(themes: &[Theme]) -> String {
    let broken = count(themes, Verdict::breaks);
    let limits = broken + count(themes, |verdict| verdict == Verdict::Ok);
    match broken {
        0 => format!("All {limits} limits hold."),
        _ => format!("{broken} of {limits} limits are BROKEN."),
    }
}

fn count(themes: &[Theme], which: impl Fn(Verdict) -> bool) -> usize {
    let figures = themes.iter().flat_map(|theme| &theme.figures);
    figures.filter(|figure| which(figure.verdict())).count()
}

/// Formats a count with commas between thousands: `1,000,000`.
pub(crate) fn grouped(count: usize) -> String {
    let digits = count.to_string();
    let mut text = String::new();
    for (at, digit) in digits.char_indices() {
        if at > 0 && (digits.len() - at).is_multiple_of(3) {
            text.push(',');
        }
        text.push(digit);
    }
    text
}

/// Formats a time in a suitable unit.
pub(crate) fn duration(ns: f64) -> String {
    match ns {
        ..1e3 => format!("{ns:.0} ns"),
        ..1e6 => format!("{:.2} µs", ns / 1e3),
        _ => format!("{:.2} ms", ns / 1e6),
    }
}

#[cfg(test)]
mod tests;
