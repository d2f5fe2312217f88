//! `tertulia tokens`: counts the tokens of files or standard input, for one model or several.

use std::io::{self, Write};
use std::path::Path;

use serde::Serialize;
use tertulia_chat::terminal::{excerpt, grouped};
use tertulia_context::tokens::{TokenCount, Tokenizer, find_model};
use unicode_width::UnicodeWidthStr;

use super::files::read_text;
use crate::Streams;
use crate::args::TokensArgs;
use crate::error::{CliError, Result};

/// The default models: one of each vendor.
const USUAL_MODELS: [&str; 3] = ["gpt-5", "claude-sonnet-4", "gemini-2.5"];

const FILE_COLUMNS: usize = 40;

/// A column of the table: a tokenizer, and the model it counts for.
struct Column {
    title: String,
    model: Option<String>,
    tokenizer: Tokenizer,
    window: Option<u64>,
}

struct Row {
    name: String,
    bytes: u64,
    counts: Vec<TokenCount>,
}

pub(crate) fn run(args: &TokensArgs, streams: &mut Streams<'_>) -> Result {
    let columns = columns(args, streams.notes());
    let standard_input = ["-".into()];
    let paths = if args.files.is_empty() { &standard_input[..] } else { &args.files };
    if paths.iter().filter(|path| *path == Path::new("-")).count() > 1 {
        return Err(CliError::Usage("standard input (-) can be counted only once"));
    }
    let mut rows = Vec::new();
    for path in paths {
        let text = read_text(path, streams)?;
        let counts = columns.iter().map(|column| column.tokenizer.count(&text)).collect();
        let row = Row { name: path.display().to_string(), bytes: text.len() as u64, counts };
        if args.json {
            write_json(streams.stdout, &columns, &row).map_err(CliError::output)?;
        }
        rows.push(row);
    }
    if !args.json {
        write_table(streams.stdout, &columns, &rows).map_err(CliError::output)?;
    }
    Ok(())
}

fn columns(args: &TokensArgs, notes: &mut dyn Write) -> Vec<Column> {
    let usual = USUAL_MODELS.map(str::to_owned);
    let nothing_named = args.model.is_empty() && args.tokenizer.is_empty();
    let models = if nothing_named { &usual[..] } else { &args.model };
    let mut columns: Vec<Column> = models.iter().map(|name| model_column(name, notes)).collect();
    columns.extend(args.tokenizer.iter().map(|tokenizer| {
        let (title, tokenizer) = (tokenizer.id().to_owned(), tokenizer.clone());
        Column { title, model: None, tokenizer, window: None }
    }));
    columns
}

fn model_column(name: &str, notes: &mut dyn Write) -> Column {
    let model = find_model(name);
    if model.is_none() {
        let _ =
            writeln!(notes, "tertulia: unknown model \"{}\"; using an estimate", excerpt(name, 60));
    }
    Column {
        title: excerpt(name, 24),
        model: Some(name.to_owned()),
        tokenizer: model.map_or_else(Tokenizer::default, |model| model.tokenizer.clone()),
        window: model.and_then(|model| model.window),
    }
}

fn write_table(out: &mut dyn Write, columns: &[Column], rows: &[Row]) -> io::Result<()> {
    let cell = |count: &TokenCount| {
        let sign = if count.is_exact { "" } else { "~" };
        format!("{sign}{}", grouped(count.tokens))
    };
    let titles = columns.iter().map(|column| column.title.clone());
    let titles = ["file".to_owned(), "bytes".to_owned()].into_iter().chain(titles);
    let mut lines: Vec<Vec<String>> = vec![titles.collect()];
    let total = (rows.len() > 1).then(|| total(rows));
    for row in rows.iter().chain(&total) {
        let first = [excerpt(&row.name, FILE_COLUMNS), grouped(row.bytes)];
        lines.push(first.into_iter().chain(row.counts.iter().map(cell)).collect());
    }
    write_aligned(out, &lines)?;
    if rows.iter().flat_map(|row| &row.counts).any(|count| !count.is_exact) {
        writeln!(out, "\n~ estimated: the vocabulary is not public")?;
    }
    Ok(())
}

fn total(rows: &[Row]) -> Row {
    let columns = rows.first().map_or(0, |row| row.counts.len());
    let sum = |column: usize| rows.iter().filter_map(|row| row.counts.get(column)).copied().sum();
    Row {
        name: "total".to_owned(),
        bytes: rows.iter().map(|row| row.bytes).sum(),
        counts: (0..columns).map(sum).collect(),
    }
}

/// Aligns the first column to the left, the others to the right.
fn write_aligned(out: &mut dyn Write, lines: &[Vec<String>]) -> io::Result<()> {
    let columns = lines.first().map_or(0, Vec::len);
    let width = |column: usize| lines.iter().map(|line| line[column].width()).max().unwrap_or(0);
    let widths: Vec<usize> = (0..columns).map(width).collect();
    for line in lines {
        for (column, (cell, width)) in line.iter().zip(&widths).enumerate() {
            let padding = " ".repeat(width - cell.width());
            match column {
                0 => write!(out, "{cell}{padding}")?,
                _ => write!(out, "  {padding}{cell}")?,
            }
        }
        writeln!(out)?;
    }
    Ok(())
}

#[derive(Serialize)]
struct FileRecord<'a> {
    file: &'a str,
    bytes: u64,
    counts: Vec<CountRecord<'a>>,
}

#[derive(Serialize)]
struct CountRecord<'a> {
    #[serde(skip_serializing_if = "Option::is_none")]
    model: Option<&'a str>,
    tokenizer: &'a str,
    tokens: u64,
    exact: bool,
    #[serde(skip_serializing_if = "Option::is_none")]
    window: Option<u64>,
}

fn write_json(out: &mut dyn Write, columns: &[Column], row: &Row) -> io::Result<()> {
    let counts = columns.iter().zip(&row.counts).map(|(column, count)| CountRecord {
        model: column.model.as_deref(),
        tokenizer: column.tokenizer.id(),
        tokens: count.tokens,
        exact: count.is_exact,
        window: column.window,
    });
    let record = FileRecord { file: &row.name, bytes: row.bytes, counts: counts.collect() };
    serde_json::to_writer(&mut *out, &record)?;
    writeln!(out)
}
