//! What the managers make of real sessions: what their requests cost, what survives in them, what is
//! found again. Run by `cargo xtask bench quality`; the data are the caller's, none are in this
//! repository. Limits are on the builder; the baselines stand beside it.

mod baselines;
mod contest;
mod cost;
mod data;
mod figures;
mod found;
mod identifiers;
mod log;
mod manager;
mod ours;
mod questions;
mod recall;
mod reuse;
mod trim;
mod walk;

use std::error::Error;
use std::io::Write;
use std::path::Path;
use std::process::ExitCode;
use std::time::Instant;

use crate::report::{Theme, all_hold, table};
use contest::Contestant;
use data::Session;
use found::Hits;
use log::Log;
use trim::StartOn;

/// How many sessions the costs are summed over.
const LONGEST: usize = 20;

const BUDGET: u64 = 32_000;
const SMALL_BUDGET: u64 = 8_000;
const TINY_BUDGET: u64 = 2_000;

/// Down to which shares of the budget a cut is tried to go, in thousandths.
const TARGETS_PERMILLE: [u64; 6] = [400, 500, 600, 700, 800, 900];

/// Those who keep to a budget.
const BASELINES: [Contestant; 3] = [
    Contestant::SlidingWindow,
    Contestant::TrimMessages(StartOn::Any),
    Contestant::TrimMessages(StartOn::Human),
];

/// Measures everything, writes the report and says whether all limits hold.
pub(crate) fn run(folder: &Path, writer: &mut impl Write) -> Result<ExitCode, Box<dyn Error>> {
    let mut themes = Vec::new();
    let sessions =
        timed("reading claude-code", || data::read_sessions(&folder.join("claude-code")))?;
    themes.extend(measure_sessions(&sessions)?);
    themes.push(measure_reuse(folder, "claude-code", &sessions)?);
    drop(sessions);
    let sessions = data::read_sessions(&folder.join("pi"))?;
    themes.push(measure_reuse(folder, "pi", &sessions)?);
    for (set, budgets) in figures::QUESTION_SETS {
        themes.push(measure_questions(folder, set, budgets)?);
    }
    writer.write_all(table(&themes).as_bytes())?;
    Ok(if all_hold(&themes) { ExitCode::SUCCESS } else { ExitCode::FAILURE })
}

/// Costs and identifiers.
fn measure_sessions(sessions: &[Session]) -> Result<Vec<Theme>, Box<dyn Error>> {
    let logs: Vec<Log> = longest(sessions).into_iter().map(Log::of_agent).collect();
    let mut contestants = vec![Contestant::Everything];
    contestants.extend(BASELINES);
    contestants.extend(settings(BUDGET, &TARGETS_PERMILLE));
    let large = timed("costs at 32k", || contest::compare(&logs, &contestants, BUDGET))?;
    contestants = BASELINES.to_vec();
    contestants.extend(settings(SMALL_BUDGET, &[]));
    let small = timed("costs at 8k", || contest::compare(&logs, &contestants, SMALL_BUDGET))?;
    Ok(vec![
        figures::cost("Cost, 20 longest sessions of claude-code, 32k tokens", &large),
        figures::ratios("The builder's cost against others, 32k tokens", &large),
        figures::prefix("Share of the last request that is a prefix of the next, 32k", &large),
        figures::survives("Identifiers named again that are sent, 32k tokens", &large, 1.0),
        figures::cost("Cost, the same sessions, 8k tokens", &small),
        figures::survives("Identifiers named again that are sent, 8k tokens", &small, 1.1),
    ])
}

/// The longest sessions by their bytes, the longest first.
fn longest(sessions: &[Session]) -> Vec<&Session> {
    let bytes =
        |session: &&Session| session.lines.iter().map(|line| line.text.len()).sum::<usize>();
    let mut longest: Vec<&Session> = sessions.iter().collect();
    longest.sort_by_key(|session| std::cmp::Reverse(bytes(session)));
    longest.truncate(LONGEST);
    longest
}

/// The builder as the library sets it, with recall, and with one thing set otherwise: the target, what
/// is tried.
fn settings(budget: u64, targets_permille: &[u64]) -> Vec<Contestant> {
    let lean = ours::Config::lean(budget);
    let mut others = vec![ours::Config::product(budget), ours::Config::finding(budget)];
    let targets = targets_permille.iter().copied();
    others.extend(targets.map(|target_permille| ours::Config { target_permille, ..lean }));
    others.extend(ours::Ways::ALL.map(|ways| ours::Config { ways, ..lean }));
    others.retain(|config| *config != lean);
    std::iter::once(lean).chain(others).map(Contestant::Ours).collect()
}

/// What edits quote.
fn measure_reuse(
    folder: &Path,
    set: &'static str,
    sessions: &[Session],
) -> Result<Theme, Box<dyn Error>> {
    let pointers = data::read_pointers(&folder.join(set))?;
    let quotes = reuse::read_quotes(sessions, &pointers)?;
    let left_out = quotes.iter().map(|quotes| quotes.of_themselves).sum::<usize>();
    eprintln!("{set}: {left_out} edits that quote their own answer are left out");
    let mut rows = Vec::new();
    for budget in [TINY_BUDGET, SMALL_BUDGET, BUDGET] {
        let mut recent = Hits::default();
        quotes.iter().for_each(|quotes| quotes.count_recent(budget, &mut recent));
        rows.push(figures::Row { who: None, budget, hits: recent, is_begun: false });
        for who in judged(budget) {
            let (hits, begun) = timed(&format!("{set} at {budget}, {}", who.name()), || {
                let (mut hits, mut begun) = (Hits::default(), Hits::default());
                for quotes in &quotes {
                    quotes.count_sent(who.manager(budget)?.as_mut(), &mut hits, &mut begun)?;
                }
                Ok::<_, Box<dyn Error>>((hits, begun))
            })?;
            rows.push(figures::Row { who: Some(who), budget, hits, is_begun: false });
            if let Contestant::Ours(_) = who {
                rows.push(figures::Row { who: Some(who), budget, hits: begun, is_begun: true });
            }
        }
    }
    Ok(figures::found(set, &rows))
}

/// What questions ask for.
fn measure_questions(
    folder: &Path,
    set: &'static str,
    budgets: &[u64],
) -> Result<Theme, Box<dyn Error>> {
    let sessions = data::read_sessions(&folder.join(set))?;
    let questions = data::read_questions(&folder.join(set))?;
    let logs = questions::logs(&sessions);
    let exams = questions::exams(&logs, &questions)?;
    let mut rows = Vec::new();
    for budget in budgets.iter().copied() {
        let mut recent = Hits::default();
        exams.iter().for_each(|exam| exam.count_recent(budget, &mut recent));
        rows.push(figures::Row { who: None, budget, hits: recent, is_begun: false });
        for who in judged(budget) {
            let hits = timed(&format!("{set} at {budget}, {}", who.name()), || {
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

/// Who is judged by what is found again.
fn judged(budget: u64) -> Vec<Contestant> {
    let mut judged = BASELINES.to_vec();
    let settings = [ours::Config::product(budget), ours::Config::finding(budget)];
    judged.extend(settings.map(Contestant::Ours));
    judged
}

/// Does a part of the work and says on stderr how long it took.
fn timed<T>(what: &str, work: impl FnOnce() -> T) -> T {
    let start = Instant::now();
    let done = work();
    eprintln!("{what}: {:.1} s", start.elapsed().as_secs_f64());
    done
}
