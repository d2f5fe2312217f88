//! Reads tables of prices: the built-in one, the user's own file, and `[prices]` in a team file. docs/cost.md describes
//! the fields.

use std::io::ErrorKind;
use std::path::Path;

use super::fields::{FieldReader, Unknown, shown_key};
use super::problem::{FileErrors, Problems, Spot, quoted};
use super::read::bytes_of;
use super::tree::{self, Key, Node, Value};
use crate::prices::{Price, PriceTable, PricedModel, Rate};

/// The file name of the user's own prices.
pub const PRICES_FILE: &str = "prices.toml";

const FILE_BYTES_MAX: usize = 1024 * 1024;
const TABLE: &[&str] = &["date", "replace", "vendor"];
const VENDOR: &[&str] = &["source", "models"];
const MODEL: &[&str] = &["input", "cached_input", "cache_write", "output"];
/// Maximum price in dollars per million tokens.
const RATE_MAX: f64 = 4_000.0;
const RATE: &str =
    "a price in dollars per million tokens, from 0 to 4000, with at most six decimals";

impl PriceTable {
    /// Parses a table of prices. `file_name` is used in errors.
    pub fn parse(text: &str, file_name: &str) -> Result<Self, FileErrors> {
        let mut problems = Problems::quoting(text, file_name);
        let table = match tree::toml(text) {
            Ok(node) => read(Spot::default(), node.value, &mut problems),
            Err(broken) => {
                for tree::Broken { at, what } in broken {
                    problems.error(&Spot::at(at), what);
                }
                None
            }
        };
        problems.finish().map(|_| table.unwrap_or_default())
    }

    /// Reads a file of prices; `None` if there is none.
    pub fn open(path: &Path) -> Result<Option<Self>, FileErrors> {
        let file_name = path.display().to_string();
        let refuse = |what: String| FileErrors::of_file(&file_name, what);
        // The home folder may be a file, for a program that has none.
        let is_missing = |error: std::io::Error| {
            matches!(error.kind(), ErrorKind::NotFound | ErrorKind::NotADirectory)
        };
        if path.symlink_metadata().is_err_and(is_missing) {
            return Ok(None);
        }
        let bytes = bytes_of(path, FILE_BYTES_MAX).map_err(refuse)?;
        let text = String::from_utf8(bytes)
            .map_err(|_| refuse("is not UTF-8; save the file as UTF-8".to_owned()))?;
        Self::parse(&text, &file_name).map(Some)
    }
}

/// Reads a table. Reports problems, and leaves out what they concern.
pub(super) fn read(spot: Spot, value: Value, problems: &mut Problems<'_>) -> Option<PriceTable> {
    let mut reader = FieldReader::new(spot, value, problems)?;
    let date = date(&mut reader);
    let replaces = reader.boolean("replace").unwrap_or_default();
    let mut models = Vec::new();
    if let Some((spot, value)) = reader.take("vendor") {
        for (_, spot, vendor) in named(&spot, value, reader.problems) {
            models.extend(vendor_models(spot, vendor, reader.problems));
        }
    }
    let here = reader.here.clone();
    reader.finish(TABLE, Unknown::Refused);
    let Some(date) = date else {
        problems
            .error(&here, "has no date; add the day of the prices, such as date = \"2026-10-31\"");
        return None;
    };
    Some(PriceTable { date, replaces, models })
}

/// Reads a date: a text or a TOML date.
fn date(reader: &mut FieldReader<'_, '_>) -> Option<Box<str>> {
    let (spot, value) = reader.take("date")?;
    let text = match value {
        Value::Text(text) | Value::Date(text) => text,
        other => {
            reader.refuse::<()>(&spot, "a date such as \"2026-10-31\"", &other);
            return Some("".into());
        }
    };
    let is_date = text.len() == 10 && text.parse::<jiff::civil::Date>().is_ok();
    if !is_date {
        let got = quoted(&text);
        reader.problems.error(&spot, format!("must be a date such as \"2026-10-31\"; got {got}"));
    }
    Some(text.into())
}

fn vendor_models(spot: Spot, value: Value, problems: &mut Problems<'_>) -> Vec<PricedModel> {
    let mut models = Vec::new();
    let Some(mut reader) = FieldReader::new(spot, value, problems) else { return models };
    // The source is for people.
    reader.text("source");
    if let Some((spot, value)) = reader.take("models") {
        for (name, spot, fields) in named(&spot, value, reader.problems) {
            let price = price(spot, fields, reader.problems);
            let pattern = name.trim().to_ascii_lowercase().into();
            models.extend(price.map(|price| PricedModel { pattern, price }));
        }
    }
    reader.finish(VENDOR, Unknown::Refused);
    models
}

fn price(spot: Spot, value: Value, problems: &mut Problems<'_>) -> Option<Price> {
    let mut reader = FieldReader::new(spot, value, problems)?;
    let (input, output) = (rate(&mut reader, "input"), rate(&mut reader, "output"));
    let cached_input = rate(&mut reader, "cached_input");
    let cache_write = rate(&mut reader, "cache_write");
    let here = reader.here.clone();
    let (seen, meant) = reader.finish(MODEL, Unknown::Refused);
    for name in ["input", "output"] {
        if !seen.contains_key(name) && !meant.contains(name) {
            problems.error(&here, format!("has no {name}; add its price per million tokens"));
        }
    }
    Some(Price { input: input?, cached_input, cache_write, output: output? })
}

fn rate(reader: &mut FieldReader<'_, '_>, name: &'static str) -> Option<Rate> {
    let (spot, value) = reader.take(name)?;
    let amount = match value {
        Value::Integer(number) => number.and_then(|n| i32::try_from(n).ok()).map(f64::from),
        Value::Float(number) => Some(number),
        other => return reader.refuse(&spot, RATE, &other),
    };
    let rate = amount.filter(|usd| (0.0..=RATE_MAX).contains(usd)).and_then(|usd| {
        let millionths = (usd * 1e6).round();
        ((usd * 1e6 - millionths).abs() < 1e-3).then_some(Rate(millionths as u32))
    });
    if rate.is_none() {
        reader.problems.error(&spot, format!("must be {RATE}"));
    }
    rate
}

/// Returns the fields of a table, each with its name and position.
fn named(spot: &Spot, value: Value, problems: &mut Problems<'_>) -> Vec<(String, Spot, Value)> {
    match value {
        Value::Table(fields) => {
            let named = |(key, node): (Key, Node)| {
                let spot = spot.part(&shown_key(&key.name), key.span);
                (key.name, spot, node.value)
            };
            fields.into_iter().map(named).collect()
        }
        other => {
            problems.error(spot, format!("must be a table; got {}", other.kind()));
            Vec::new()
        }
    }
}
