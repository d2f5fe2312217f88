//! `tertulia cost`: what answers cost, as a table and a chart. Only the usage entries of the store are read.

use std::io::{self, Write};
use std::path::Path;

use tertulia_chat::terminal::{counted, excerpt, grouped};
use tertulia_operations::cost::{CostBy, CostQuery, CostReport, CostSum};
use tertulia_operations::names::short_session;
use tertulia_session::Timestamp;
use tertulia_store::{ProjectScope, SessionId, now_millis};
use tertulia_team::{Amount, Prices};
use unicode_width::UnicodeWidthStr;

use crate::Streams;
use crate::args::CostArgs;
use crate::clock::LocalTime;
use crate::commands::drawing::{Paint, bar_of_two, padded};
use crate::error::{CliError, Result};
use crate::load_team::{own_prices, project_here, project_of};
use crate::store_location::{StoreLocation, find_here};

const NAME_COLUMNS: usize = 30;
const TITLES: [&str; 8] =
    ["answers", "fresh", "cached", "written", "output", "reported", "computed", "unknown"];

pub(crate) fn run(args: &CostArgs, streams: &mut Streams<'_>) -> Result {
    let location = StoreLocation::read(&args.store)?;
    let store = location.open_required()?;
    let local = LocalTime::new(streams.zone);
    let session = args.session.as_deref().map(|given| find_here(&store, given)).transpose()?;
    let query = CostQuery {
        by: args.by,
        since: args.since.as_ref().map(|when| when.resolve(now_millis(), &local)),
        session,
        project: match args.project.as_deref() {
            None => ProjectScope::All,
            Some(folder) if folder == Path::new(".") => ProjectScope::Project(project_here()),
            Some(folder) => {
                let folder = folder.canonicalize().unwrap_or_else(|_| folder.to_owned());
                ProjectScope::Project(project_of(&folder))
            }
        },
    };
    let prices = own_prices()?.into_iter().fold(Prices::default(), Prices::with);
    let day_of = |time: &Timestamp| local.day_and_time(time).0;
    let report = CostReport::read(&store, &query, &prices, day_of)?;
    for session in &report.damaged {
        streams.note(&format!(
            "session {session} has damaged usage entries, which are not counted; `tertulia sessions \
             verify {session}` shows them"
        ));
    }
    if args.json {
        return writeln!(streams.stdout, "{}", report.to_json()).map_err(CliError::output);
    }
    if report.groups.is_empty() {
        streams.note("no answer with tokens or a cost was found");
        return Ok(());
    }
    let paint = Paint::new(streams.stdout_has_colour);
    write(streams.stdout, &report, &paint).map_err(CliError::output)
}

fn write(out: &mut dyn Write, report: &CostReport, paint: &Paint) -> io::Result<()> {
    let named = |name: &Option<String>| match (name, report.by) {
        (Some(name), CostBy::Session) => name
            .parse::<SessionId>()
            .map_or_else(|_| name.clone(), |id| short_session(&id).to_owned()),
        (Some(name), _) => name.clone(),
        (None, _) => "(not recorded)".to_owned(),
    };
    let rows: Vec<(String, &CostSum)> = report
        .groups
        .iter()
        .map(|(name, sum)| (excerpt(&named(name), NAME_COLUMNS), sum))
        .collect();
    let mut lines = vec![line(report.by.word(), TITLES.map(str::to_owned))];
    lines.extend(rows.iter().map(|(name, sum)| line(name, cells(sum))));
    if rows.len() > 1 {
        lines.push(line("total", cells(&report.total)));
    }
    write_aligned(out, &lines, paint)?;
    write_chart(out, &rows)?;
    write_legend(out, &report.total)
}

fn line(name: &str, cells: [String; 8]) -> Vec<String> {
    [name.to_owned()].into_iter().chain(cells).collect()
}

fn cells(sum: &CostSum) -> [String; 8] {
    let tokens = [sum.fresh_input, sum.cached_input, sum.written_input, sum.output].map(short);
    let [fresh, cached, written, output] = tokens;
    let [reported, computed] =
        [("$", sum.reported), ("~$", sum.computed)].map(|(sign, amount)| cost(sign, amount));
    let unknown = match sum.unknown_answers {
        0 => "–".to_owned(),
        answers => grouped(answers),
    };
    [grouped(sum.answers), fresh, cached, written, output, reported, computed, unknown]
}

fn cost(sign: &str, amount: Amount) -> String {
    if amount == Amount::default() { "–".to_owned() } else { format!("{sign}{amount}") }
}

/// Shortens a number of tokens: `999`, `12.3k`, `4.5M`.
fn short(tokens: u64) -> String {
    let with_unit = |unit: u64, sign: &str| {
        let tenths = tokens / (unit / 10);
        format!("{}.{}{sign}", tenths / 10, tenths % 10)
    };
    match tokens {
        0 => "–".to_owned(),
        1..1_000 => tokens.to_string(),
        1_000..1_000_000 => with_unit(1_000, "k"),
        _ => with_unit(1_000_000, "M"),
    }
}

/// Aligns the first column to the left, the others to the right.
fn write_aligned(out: &mut dyn Write, lines: &[Vec<String>], paint: &Paint) -> io::Result<()> {
    let columns = lines.first().map_or(0, Vec::len);
    let cell = |line: &Vec<String>, column: usize| line.get(column).map_or(0, |cell| cell.width());
    let width = |column| lines.iter().map(|line| cell(line, column)).max().unwrap_or(0);
    let widths: Vec<usize> = (0..columns).map(width).collect();
    for (index, line) in lines.iter().enumerate() {
        let mut text = String::new();
        for (column, (cell, width)) in line.iter().zip(&widths).enumerate() {
            match column {
                0 => text.push_str(&padded(cell, *width)),
                _ => text.push_str(&format!("  {}{cell}", " ".repeat(width - cell.width()))),
            }
        }
        let text = text.trim_end();
        let text = if index == 0 { paint.faint(text) } else { text.to_owned() };
        writeln!(out, "{text}")?;
    }
    Ok(())
}

/// Draws the known costs; the part that was computed is lighter.
fn write_chart(out: &mut dyn Write, rows: &[(String, &CostSum)]) -> io::Result<()> {
    let whole = rows.iter().map(|(_, sum)| sum.known().0).max().unwrap_or(0);
    if whole == 0 {
        return Ok(());
    }
    writeln!(out)?;
    let width = rows.iter().map(|(name, _)| name.width()).max().unwrap_or(0);
    for (name, sum) in rows {
        let bar = bar_of_two(sum.reported.0, sum.computed.0, whole);
        let about = if sum.computed == Amount::default() { "$" } else { "~$" };
        let known = cost(about, sum.known());
        let line = format!("{}  {known:>10}  {bar}", padded(name, width));
        writeln!(out, "{}", line.trim_end())?;
    }
    Ok(())
}

fn write_legend(out: &mut dyn Write, total: &CostSum) -> io::Result<()> {
    if total.computed > Amount::default() {
        let dates: Vec<&str> = total.prices_dates.iter().map(|date| &**date).collect();
        let dates = dates.join(", ");
        writeln!(out, "\n~ computed from list prices of {dates}: ▒ in the chart")?;
    }
    if total.unknown_answers > 0 {
        let answers = counted(total.unknown_answers, "answer", "answers");
        let tokens = counted(total.unknown_tokens, "token", "tokens");
        writeln!(out, "\nThe cost of {answers} with {tokens} is unknown; docs/cost.md tells why.")?;
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tokens_are_short_and_never_rounded_up() {
        let shown = [0, 7, 999, 1_000, 12_349, 999_999, 1_000_000, 4_560_000].map(short);
        assert_eq!(shown, ["–", "7", "999", "1.0k", "12.3k", "999.9k", "1.0M", "4.5M"]);
    }
}
