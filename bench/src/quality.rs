//! Compares context managers on real sessions: the cost of their requests, and the information that they keep and
//! find again. Run by `cargo xtask bench quality`. The caller supplies the data; none is in this repository. The
//! limits apply to the builder's default settings and to the report half of each set; the baselines are printed for
//! comparison.

mod baselines;
mod contest;
mod cost;
pub(crate) mod data;
mod facts;
mod figures;
mod found;
mod halves;
mod identifiers;
mod lexical;
mod log;
mod manager;
mod options;
mod ours;
mod questions;
mod recall;
mod reuse;
mod search;
mod trim;
mod walk;

use std::error::Error;
use std::io::Write;
use std::path::Path;
use std::process::ExitCode;
use std::time::Instant;

use crate::report::{Theme, all_hold, table};
use contest::Contestant;
use data::{Question, Session};
use figures::Set;
use found::Hits;
use halves::Half;
use lexical::{Finding, Method};
use log::Log;
pub(crate) use options::Options;
use options::Part;
use trim::StartOn;

/// The number of sessions over which the costs are summed if both halves are used.
const LONGEST: usize = 20;

const BUDGET: u64 = 32_000;
const SMALL_BUDGET: u64 = 8_000;
const TINY_BUDGET: u64 = 2_000;

/// The tested targets of a cut, in thousandths of the budget.
const TARGETS_PERMILLE: [u64; 6] = [400, 500, 600, 700, 800, 900];

/// The minimum distance in characters between a chat message and its answer for a question. Closer messages are in
/// the newest 2,000 tokens.
const REPLY_CHARS: usize = 4 * TINY_BUDGET as usize;

/// The baselines with a budget.
const BASELINES: [Contestant; 6] = [
    Contestant::SlidingWindow,
    Contestant::TrimMessages(StartOn::Any),
    Contestant::TrimMessages(StartOn::Human),
    Contestant::Lexical(Finding { method: Method::Plain, newest_percent: 50 }),
    Contestant::Lexical(Finding { method: Method::Fts5, newest_percent: 50 }),
    Contestant::Lexical(Finding { method: Method::Fts5, newest_percent: 20 }),
];

/// Measures the selected parts, writes the report and returns whether all limits hold.
pub(crate) fn run(
    folder: &Path,
    options: &Options,
    writer: &mut impl Write,
) -> Result<ExitCode, Box<dyn Error>> {
    let mut themes = Vec::new();
    if options.has(Part::Cost) || options.has(Part::EditsClaude) {
        let sessions =
            timed("reading claude-code", || data::read_sessions(&folder.join("claude-code")))?;
        let sessions = options.half.of(sessions);
        if options.has(Part::Cost) {
            themes.extend(measure_sessions(&sessions, options)?);
        }
        if options.has(Part::EditsClaude) {
            themes.push(measure_reuse(folder, Set::Claude, &sessions, options)?);
        }
    }
    if options.has(Part::EditsPi) {
        let sessions = options.half.of(data::read_sessions(&folder.join("pi"))?);
        themes.push(measure_reuse(folder, Set::Pi, &sessions, options)?);
    }
    for (part, set) in figures::QUESTION_SETS {
        if options.has(part) {
            themes.push(measure_questions(folder, set, options)?);
        }
    }
    writeln!(writer, "{}\n", options.half.title())?;
    writer.write_all(table(&themes).as_bytes())?;
    Ok(if all_hold(&themes) { ExitCode::SUCCESS } else { ExitCode::FAILURE })
}

/// Measures costs, identifiers, and the facts known after a compaction.
fn measure_sessions(sessions: &[Session], options: &Options) -> Result<Vec<Theme>, Box<dyn Error>> {
    let longest = longest(sessions, options.half.share(LONGEST));
    let logs: Vec<Log> = longest.into_iter().map(Log::of_agent).collect();
    let mut contestants = vec![Contestant::Everything];
    contestants.extend(compared(BUDGET, options, &TARGETS_PERMILLE));
    let large = timed("costs at 32k", || contest::compare(&logs, &contestants, BUDGET))?;
    contestants = compared(SMALL_BUDGET, options, &[]);
    let small = timed("costs at 8k", || contest::compare(&logs, &contestants, SMALL_BUDGET))?;
    Ok(vec![
        figures::cost("Cost, longest sessions of claude-code, 32k tokens", &large),
        figures::ratios("Cost against others, 32k tokens", &large, BUDGET),
        figures::prefix("Share of the last request that is a prefix of the next, 32k", &large),
        figures::survives("Identifiers named again that are sent, 32k tokens", &large, BUDGET),
        figures::cost("Cost, the same sessions, 8k tokens", &small),
        figures::ratios("Cost against others, 8k tokens", &small, SMALL_BUDGET),
        figures::survives("Identifiers named again that are sent, 8k tokens", &small, SMALL_BUDGET),
        figures::known("Done and seen, and sent after a compaction, 8k tokens", &small),
    ])
}

/// Returns the longest sessions by their bytes, the longest first.
fn longest(sessions: &[Session], count: usize) -> Vec<&Session> {
    let bytes =
        |session: &&Session| session.lines.iter().map(|line| line.text.len()).sum::<usize>();
    let mut longest: Vec<&Session> = sessions.iter().collect();
    longest.sort_by_key(|session| std::cmp::Reverse(bytes(session)));
    longest.truncate(count);
    longest
}

/// Returns the compared managers: the baselines, the builder's default and, if selected, the builder with these
/// targets and other settings.
fn compared(budget: u64, options: &Options, targets_permille: &[u64]) -> Vec<Contestant> {
    let is_compared =
        |baseline: &Contestant| !options.ours_alone || *baseline == Contestant::SlidingWindow;
    let mut compared: Vec<_> = BASELINES.into_iter().filter(is_compared).collect();
    let default = Contestant::default_at(budget);
    compared.push(default);
    if options.other_settings {
        let others = other_settings(budget, targets_permille);
        compared.extend(others.into_iter().filter(|other| *other != default));
    }
    compared
}

/// Returns the builder without recall, with much recall, and with one other setting changed: the target or the
/// strategies.
fn other_settings(budget: u64, targets_permille: &[u64]) -> Vec<Contestant> {
    let lean = ours::Config::lean(budget);
    let mut others = vec![lean, ours::Config::finding(budget)];
    if !targets_permille.is_empty() {
        let targets = targets_permille.iter().copied();
        let targets = targets.map(|target_permille| ours::Config { target_permille, ..lean });
        let ways = ours::Ways::ALL.map(|ways| ours::Config { ways, ..lean });
        others.extend(targets.chain(ways).filter(|config| *config != lean));
    }
    others.into_iter().map(Contestant::Ours).collect()
}

/// Measures how much of the text that edits quote is sent.
fn measure_reuse(
    folder: &Path,
    set: Set,
    sessions: &[Session],
    options: &Options,
) -> Result<Theme, Box<dyn Error>> {
    let pointers = data::read_pointers(&folder.join(set.folder()))?;
    let quotes = reuse::read_quotes(sessions, &pointers)?;
    let left_out = quotes.iter().map(|quotes| quotes.of_themselves).sum::<usize>();
    eprintln!("{}: {left_out} edits that quote their own answer are left out", set.folder());
    let mut rows = Vec::new();
    for budget in [TINY_BUDGET, SMALL_BUDGET, BUDGET] {
        let mut recent = Hits::default();
        quotes.iter().for_each(|quotes| quotes.count_recent(budget, &mut recent));
        rows.push(figures::Row { who: None, budget, hits: recent, is_begun: false });
        for who in compared(budget, options, &[]) {
            let asks_begun = options.other_settings && matches!(who, Contestant::Ours(_));
            let (mut hits, mut begun) = (Hits::default(), Hits::default());
            timed(&format!("{} at {budget}, {}", set.folder(), who.name()), || {
                quotes.iter().try_for_each(|quotes| {
                    let begun = asks_begun.then_some(&mut begun);
                    quotes.count_sent(who.manager(budget)?.as_mut(), &mut hits, begun)
                })
            })?;
            rows.push(figures::Row { who: Some(who), budget, hits, is_begun: false });
            if asks_begun {
                rows.push(figures::Row { who: Some(who), budget, hits: begun, is_begun: true });
            }
        }
    }
    Ok(figures::found(set, &rows))
}

/// Measures how much of the evidence for questions is sent.
fn measure_questions(folder: &Path, set: Set, options: &Options) -> Result<Theme, Box<dyn Error>> {
    let (sessions, questions) = read_asked(folder, set, options.half)?;
    let logs = questions::logs(&sessions);
    let exams = questions::exams(&logs, &questions)?;
    let mut rows = Vec::new();
    for budget in [TINY_BUDGET, SMALL_BUDGET] {
        let mut recent = Hits::default();
        exams.iter().for_each(|exam| exam.count_recent(budget, &mut recent));
        rows.push(figures::Row { who: None, budget, hits: recent, is_begun: false });
        for who in compared(budget, options, &[]) {
            let hits = timed(&format!("{} at {budget}, {}", set.folder(), who.name()), || {
                let mut hits = Hits::default();
                for exam in &exams {
                    hits.add(exam.is_sent(who.manager(budget)?.as_mut())?);
                }
                Ok::<_, Box<dyn Error>>(hits)
            })?;
            rows.push(figures::Row { who: Some(who), budget, hits, is_begun: false });
        }
    }
    Ok(figures::found(set, &rows))
}

/// Reads the sessions of this half of a set, and the questions about them.
fn read_asked(
    folder: &Path,
    set: Set,
    half: Half,
) -> Result<(Vec<Session>, Vec<Question>), Box<dyn Error>> {
    let folder = folder.join(set.folder());
    let (sessions, mut questions) = match set {
        Set::Irc => data::read_replies(&folder, REPLY_CHARS)?,
        _ => (data::read_sessions(&folder)?, data::read_questions(&folder)?),
    };
    let sessions = half.of(sessions);
    let keys: std::collections::HashSet<&str> =
        sessions.iter().map(|session| session.key.as_str()).collect();
    questions.retain(|question| keys.contains(question.session.as_str()));
    Ok((sessions, questions))
}

/// Runs a part of the work and prints its time on stderr.
fn timed<T>(what: &str, work: impl FnOnce() -> T) -> T {
    let start = Instant::now();
    let done = work();
    eprintln!("{what}: {:.1} s", start.elapsed().as_secs_f64());
    done
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_default_is_compared_with_the_baselines() {
        let compared = compared(SMALL_BUDGET, &Options::default(), &[]);
        let (last, baselines) = compared.split_last().unwrap();
        assert_eq!(baselines, BASELINES);
        assert!(last.is_default());
    }

    #[test]
    fn ours_stand_beside_the_window_alone() {
        let options = Options { ours_alone: true, ..Options::default() };
        let names: Vec<_> = compared(BUDGET, &options, &[]).iter().map(Contestant::name).collect();
        assert_eq!(names, ["sliding window", "ours"]);
    }

    #[test]
    fn other_settings_are_compared_once_if_asked_for() {
        let options = Options { other_settings: true, ..Options::default() };
        let all = compared(BUDGET, &options, &TARGETS_PERMILLE);
        assert_eq!(all.iter().filter(|one| one.is_default()).count(), 1);
        for (at, one) in all.iter().enumerate() {
            assert!(!all[..at].contains(one), "{}", one.name());
        }
        assert!(all.len() > compared(BUDGET, &options, &[]).len());
    }

    #[test]
    fn the_longest_sessions_come_first() {
        let session = |text: &str| Session::of(&[("user", "text", text)]);
        let sessions = [session("short"), session("the longest"), session("longer")];
        let texts: Vec<_> =
            longest(&sessions, 2).iter().map(|one| one.lines[0].text.as_str()).collect();
        assert_eq!(texts, ["the longest", "longer"]);
    }
}
