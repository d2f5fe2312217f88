//! Measures how fast another member takes over at a usage limit: the time from the line that reports the limit to the
//! start of the next member's process, against the time from a message to the start of that process.

use std::error::Error;
use std::fs;
use std::path::Path;
use std::time::{SystemTime, UNIX_EPOCH};

use tertulia_agent::{AgentKind, CommandOutput};
use tertulia_store::SessionStore;
use tertulia_team::{Driver, EventSink, Limits, SessionEvent, Team, TeamMember};

use super::turns::command;
use crate::measure::Pair;
use crate::report::{Figure, Theme, Unit};
use crate::store::Ground;

/// The number of measurements; the best of them is the result.
const ROUNDS: usize = 20;
/// The limit of the ratio. A failover also waits for the end of the first process, and stores more entries.
const LIMIT: f64 = 4.0;
/// The maximum time until the next member's process starts, in milliseconds.
const LIMIT_MS: f64 = 1_000.0;

pub(crate) fn measure(ground: &Ground) -> Result<Theme, Box<dyn Error>> {
    let folder = ground.file("failover")?;
    fs::create_dir(&folder)?;
    let mut pair = Pair { base_ns: f64::INFINITY, other_ns: f64::INFINITY };
    for _ in 0..ROUNDS {
        let said = now();
        pair.base_ns = pair.base_ns.min(started(&folder, "@eva")? - said);
        let started = started(&folder, "@max")?;
        pair.other_ns = pair.other_ns.min(started - noted(&folder, "limit")?);
    }
    let name = "from the limit to the next process, against from a message to it";
    let ratio = Figure::ratio(name, &pair, LIMIT);
    let name = "from the line that reports the limit to the next process";
    let time = Figure::new(name, pair.other_ns / 1e6, Unit::Milliseconds).at_most(LIMIT_MS);
    Ok(Theme { title: "Taking over at a usage limit", figures: vec![ratio, time] })
}

/// Sends a message in a new session. Returns the time at which the process of `eva` started.
fn started(folder: &Path, text: &str) -> Result<f64, Box<dyn Error>> {
    let mut driver = Driver::begin(&SessionStore::memory(), None, team(folder)?, false)?;
    driver.say(None, text, &mut Ignored)?;
    driver.run(&mut Ignored)?;
    let started = noted(folder, "start")?;
    fs::remove_file(folder.join("start"))?;
    Ok(started)
}

/// Returns `max`, whose usage limit is reached, and `eva`, who takes over. Both note the time.
fn team(folder: &Path) -> Result<Team, Box<dyn Error>> {
    let note = |name: &str| format!("date +%s%N >'{}'", folder.join(name).display());
    let message = format!("Claude AI usage limit reached|{}", (now() / 1e9) as u64 + 9_000);
    let limit = format!(r#"{{"type":"error","class":"quota","message":"{message}"}}"#);
    let mut spec = command(&format!("cat >/dev/null; {}; echo '{limit}'", note("limit")));
    spec.kind = AgentKind::Command(CommandOutput::Jsonl);
    let mut max = TeamMember::agent("max", spec);
    max.member = max.member.with_fallback(["eva"]);
    let eva = command(&format!("{}; cat >/dev/null; echo done", note("start")));
    let members = vec![TeamMember::person("ann"), max, TeamMember::agent("eva", eva)];
    Ok(Team::new(members, Limits::default(), None)?)
}

/// Returns a time that a script noted, in nanoseconds since 1970.
fn noted(folder: &Path, name: &str) -> Result<f64, Box<dyn Error>> {
    Ok(fs::read_to_string(folder.join(name))?.trim().parse()?)
}

fn now() -> f64 {
    SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default().as_nanos() as f64
}

struct Ignored;

impl EventSink for Ignored {
    fn on_event(&mut self, _: SessionEvent) {}
}
