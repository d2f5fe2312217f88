//! Measures the error of the token estimate for Claude, compared with the tokens that Claude Code sessions were
//! charged. Reads a folder of native `.jsonl` transcripts that the caller names; none of them is in this
//! repository.
//!
//! The prompt of call n+1 consists of the prompt of call n, the answer to it, and the new messages of the user. So
//! the difference of their prompt tokens (the sum of input, cache writes and cache reads) is the exact number of
//! tokens of known messages. Leaves out pairs across compactions, API errors, synthetic answers, changes of the
//! model, images, and pairs whose difference is not positive.

mod pairs;

use std::error::Error;
use std::io::Write;
use std::path::Path;

use tertulia_context::tokens::{Calibration, MessageCounter, TokenCount, Tokenizer};

use pairs::{Pair, Skipped};

/// Reads the folder and writes the errors, for each half of the sessions and for all.
pub(crate) fn run(folder: &Path, writer: &mut impl Write) -> Result<(), Box<dyn Error>> {
    let mut files: Vec<_> = std::fs::read_dir(folder)?.collect::<Result<_, _>>()?;
    files.retain(|file| file.path().extension().is_some_and(|end| end == "jsonl"));
    files.sort_by_key(std::fs::DirEntry::file_name);
    let mut skipped = Skipped::default();
    let (mut fitted, mut held_out) = (Vec::new(), Vec::new());
    for (place, file) in files.iter().enumerate() {
        let text = std::fs::read_to_string(file.path())?;
        let pairs = pairs::read(&text, &mut skipped);
        // The estimate was fitted on every second session, beginning with the first.
        let half = if place % 2 == 0 { &mut fitted } else { &mut held_out };
        half.push(pairs);
    }
    let pairs = fitted.iter().chain(&held_out).map(Vec::len).sum::<usize>();
    writeln!(writer, "{} sessions, {pairs} pairs; left out: {skipped}", files.len())?;
    for (name, sessions) in [("fitted on", &fitted), ("held out", &held_out)] {
        report(writer, name, sessions)?;
    }
    Ok(())
}

fn report(
    writer: &mut impl Write,
    name: &str,
    sessions: &[Vec<Pair>],
) -> Result<(), Box<dyn Error>> {
    let all = || sessions.iter().flatten();
    let counter = MessageCounter::new(Tokenizer::Claude);
    let estimate = |pair: &Pair| pair.count(&counter);
    line(writer, &format!("{name}, all"), all().map(|pair| (estimate(pair), pair.tokens)))?;
    let spoken = all().filter(|pair| !pair.thinks);
    line(
        writer,
        &format!("{name}, no thinking"),
        spoken.map(|pair| (estimate(pair), pair.tokens)),
    )?;
    let mut corrected = Vec::new();
    for session in sessions {
        let mut calibration = Calibration::default();
        for pair in session {
            let raw = estimate(pair);
            let count = calibration.apply(TokenCount::estimated(raw));
            corrected.push((count.tokens, pair.tokens));
            calibration.observe(raw, pair.tokens);
        }
    }
    line(writer, &format!("{name}, calibrated"), corrected.into_iter())?;
    for other in [Tokenizer::Bytes, Tokenizer::O200k] {
        let words = MessageCounter::new(other.clone());
        let counts = all().map(|pair| (pair.count(&words), pair.tokens));
        line(writer, &format!("{name}, by {}", other.id()), counts)?;
    }
    Ok(())
}

/// Writes one line: the number of pairs, the median and other quantiles of the absolute relative error, the median
/// of the signed error, and the ratio of the sums.
fn line(
    writer: &mut impl Write,
    name: &str,
    counts: impl Iterator<Item = (u64, u64)>,
) -> Result<(), Box<dyn Error>> {
    let (mut errors, mut estimated, mut charged) = (Vec::new(), 0, 0);
    for (estimate, tokens) in counts {
        errors.push((estimate as f64 - tokens as f64) / tokens as f64);
        (estimated, charged) = (estimated + estimate, charged + tokens);
    }
    let bias = quantile(&mut errors.clone(), 0.5);
    let mut sizes: Vec<f64> = errors.iter().map(|error| error.abs()).collect();
    let [p50, p75, p90] = [0.5, 0.75, 0.9].map(|share| 100.0 * quantile(&mut sizes, share));
    let ratio = estimated as f64 / (charged as f64).max(1.0);
    let (number, bias) = (errors.len(), 100.0 * bias);
    writeln!(
        writer,
        "{name:<24} {number:>5} pairs  error p50 {p50:>5.1} %  p75 {p75:>5.1} %  p90 {p90:>5.1} %  \
         bias {bias:>+6.1} %  sum {ratio:.3}"
    )?;
    Ok(())
}

fn quantile(values: &mut [f64], share: f64) -> f64 {
    values.sort_by(f64::total_cmp);
    let place = (values.len() as f64 * share) as usize;
    values.get(place.min(values.len().saturating_sub(1))).copied().unwrap_or(f64::NAN)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_quantile_is_one_of_the_values() {
        assert_eq!(quantile(&mut [3.0, 1.0, 2.0], 0.5), 2.0);
        assert_eq!(quantile(&mut [3.0, 1.0, 2.0], 1.0), 3.0);
        assert!(quantile(&mut [], 0.5).is_nan());
    }
}
