//! Measures a turn of an agent that does nothing, so that Tertulia causes all of the time. The agent prints the
//! current time at its end, so that the time from its last byte to the stored entry can be measured, too.

use std::collections::BTreeMap;
use std::error::Error;
use std::time::{Instant, SystemTime, UNIX_EPOCH};

use tertulia_agent::{AgentKind, AgentSpec, CommandOutput, Permissions, Timeouts};
use tertulia_dialect::stream::Limits as StreamLimits;
use tertulia_session::EntryKind;
use tertulia_store::{SessionId, SessionStore, StoreUrl};
use tertulia_team::{Driver, EventSink, Limits, SessionEvent, Team, TeamMember};

use crate::arguments::Scale;
use crate::report::{Figure, Theme, Unit, duration, grouped};
use crate::store::Ground;

/// The number of measured turns; the median is the result.
const TURNS: usize = 40;
/// The maximum time that Tertulia may add, in milliseconds.
const LIMIT_MS: f64 = 20.0;
/// The maximum time from opening a session until the first prompt is ready, in milliseconds.
const OPENING_LIMIT_MS: f64 = 300.0;

/// The times of a run of turns.
struct Run {
    /// The time until the session is open, and until its first prompt is ready.
    opening_ms: f64,
    first_prompt_ms: f64,
    /// The medians of the time from the person's message to the first byte of the agent's input, and from the
    /// agent's last byte to the stored answer.
    before_ms: f64,
    after_ms: f64,
}

pub(crate) fn measure(ground: &Ground, scale: &Scale) -> Result<Theme, Box<dyn Error>> {
    let mut figures = Vec::new();
    for (stored, limited) in [(100, false), (scale.stored_messages / 10, true)] {
        let run = run(ground, stored)?;
        let count = grouped(stored);
        let figure = |name: &str, value: f64| {
            let figure =
                Figure::new(format!("{count} messages: {name}"), value, Unit::Milliseconds);
            if limited { figure.at_most(LIMIT_MS) } else { figure }
        };
        figures.push(figure("from the message to the agent's first byte", run.before_ms));
        figures.push(figure("from the agent's last byte to the stored answer", run.after_ms));
        let name = format!("{count} messages: first open until the first prompt is ready");
        let figure = Figure::new(name, run.first_prompt_ms, Unit::Milliseconds);
        let figure = if limited { figure.at_most(OPENING_LIMIT_MS) } else { figure };
        let opening = duration(run.opening_ms * 1e6);
        figures.push(figure.of(format!("{opening} until it is open")));
    }
    Ok(Theme { title: "What Tertulia adds to a turn", figures })
}

fn run(ground: &Ground, stored: usize) -> Result<Run, Box<dyn Error>> {
    let file = ground.filled("turns", stored)?;
    let store = SessionStore::open(&StoreUrl::Sqlite(file))?;
    let session = "large".parse::<SessionId>()?;
    let mut sink = TimingSink::default();
    let start = Instant::now();
    let mut driver = Driver::reopen(&store, &session, team()?, false, &mut sink)?.driver;
    let opening_ms = start.elapsed().as_secs_f64() * 1e3;
    driver.prompt_for("max").ok_or("there is no prompt")?;
    let first_prompt_ms = start.elapsed().as_secs_f64() * 1e3;
    let (mut before, mut after) = (Vec::new(), Vec::new());
    for number in 0..TURNS {
        sink = TimingSink::default();
        let start = Instant::now();
        driver.say(None, &format!("What do we know of w{number}?"), &mut sink)?;
        driver.run(&mut sink)?;
        let fed = sink.fed.ok_or("the agent was not started")?;
        before.push(fed.duration_since(start).as_secs_f64() * 1e3);
        let (stored, said) = sink.answer.ok_or("the agent did not answer")?;
        after.push((stored.saturating_sub(said)) as f64 / 1e6);
    }
    Ok(Run { opening_ms, first_prompt_ms, before_ms: median(before), after_ms: median(after) })
}

fn median(mut values: Vec<f64>) -> f64 {
    values.sort_by(f64::total_cmp);
    values.get(values.len() / 2).copied().unwrap_or(0.0)
}

/// Returns an agent that is a shell script.
pub(super) fn command(script: &str) -> AgentSpec {
    AgentSpec {
        kind: AgentKind::Command(CommandOutput::Text),
        program: Some("/bin/sh".into()),
        args: vec!["-c".into(), script.into()],
        env: BTreeMap::new(),
        model: None,
        cwd: std::env::temp_dir(),
        permissions: Permissions::Read,
        timeouts: Timeouts::default(),
        limits: StreamLimits::default(),
        resources: tertulia_agent::ResourceLimits::default(),
    }
}

fn team() -> Result<Team, Box<dyn Error>> {
    let spec = command("cat >/dev/null; exec date +%s%N");
    let members = vec![TeamMember::person("ann"), TeamMember::agent("max", spec)];
    Ok(Team::new(members, Limits::default(), None)?)
}

#[derive(Default)]
struct TimingSink {
    fed: Option<Instant>,
    /// The times at which the answer was stored and at which the agent printed it, in nanoseconds since 1970.
    answer: Option<(u128, u128)>,
}

impl EventSink for TimingSink {
    fn on_event(&mut self, event: SessionEvent) {
        match event {
            SessionEvent::Fed { .. } => self.fed = Some(Instant::now()),
            SessionEvent::Stored(entry) => {
                if let EntryKind::Message(message) = &entry.kind
                    && let Ok(said) = message.text().trim().parse()
                {
                    let now = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
                    self.answer = Some((now.as_nanos(), said));
                }
            }
            _ => {}
        }
    }
}
