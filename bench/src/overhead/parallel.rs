//! Measures three turns that run at once against a turn of the slowest of the three members.

use std::error::Error;
use std::time::Instant;

use tertulia_store::SessionStore;
use tertulia_team::{Driver, EventSink, Limits, SessionEvent, Team, TeamMember};

use super::turns::command;
use crate::measure::Pair;
use crate::report::{Figure, Theme};

/// The members, and the seconds that each takes.
const MEMBERS: [(&str, &str); 3] = [("max", "1"), ("eva", "0.9"), ("leo", "0.8")];
/// The number of measurements; the best of them is the result.
const ROUNDS: usize = 5;
const LIMIT: f64 = 1.15;

pub(crate) fn measure() -> Result<Theme, Box<dyn Error>> {
    let store = SessionStore::memory();
    let mut driver = Driver::begin(&store, None, team()?, false)?;
    let mut pair = Pair { base_ns: f64::INFINITY, other_ns: f64::INFINITY };
    for _ in 0..ROUNDS {
        pair.base_ns = pair.base_ns.min(time(&mut driver, "@max")?);
        pair.other_ns = pair.other_ns.min(time(&mut driver, "[NEXT: max, eva, leo]")?);
    }
    let name = "three members at once against the slowest of them";
    Ok(Theme { title: "Parallel turns", figures: vec![Figure::ratio(name, &pair, LIMIT)] })
}

fn team() -> Result<Team, Box<dyn Error>> {
    let mut members = vec![TeamMember::person("ann")];
    for (name, seconds) in MEMBERS {
        let script = format!("cat >/dev/null; sleep {seconds}; echo done");
        let mut member = TeamMember::agent(name, command(&script));
        member.member = member.member.beside_others();
        members.push(member);
    }
    Ok(Team::new(members, Limits { parallel: MEMBERS.len(), ..Limits::default() }, None)?)
}

/// Returns the time from this message until all turns have ended, in nanoseconds.
fn time(driver: &mut Driver, text: &str) -> Result<f64, Box<dyn Error>> {
    let start = Instant::now();
    driver.say(None, text, &mut Ignored)?;
    driver.run(&mut Ignored)?;
    Ok(start.elapsed().as_nanos() as f64)
}

struct Ignored;

impl EventSink for Ignored {
    fn on_event(&mut self, _: SessionEvent) {}
}
