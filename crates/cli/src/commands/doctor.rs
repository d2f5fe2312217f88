//! `tertulia doctor`: checks that everything the team needs is available. Sends and creates nothing, and reads no
//! credentials.

mod agents;
mod memory;
mod team_and_store;

use std::io;

use serde::Serialize;
use tertulia_chat::terminal::visible;
use tertulia_team::{Containment, LimitEnforcer, ResourceLimits, containment, limit_enforcer};

use super::drawing::{Paint, padded};
use super::sessions::write_json;
use crate::Streams;
use crate::args::DoctorArgs;
use crate::error::{CliError, Result};
use crate::suggested_flags::team_and_store_flags;
use agents::{Known, is_shortened};

const MARK_COLUMNS: usize = 9;

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
enum Health {
    Ok,
    /// It works, but there may be a problem.
    Warning,
    /// The team needs it, and it is missing.
    Missing,
    /// It exists and cannot be used.
    Error,
    /// The team does not use it.
    Optional,
}

#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
struct Finding {
    about: String,
    health: Health,
    /// Whether it would stop `run`.
    blocks: bool,
    text: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    advice: Option<String>,
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct DoctorRecord<'a> {
    version: &'static str,
    ready: bool,
    blocking: usize,
    findings: &'a [Finding],
}

pub(crate) fn run(args: &DoctorArgs, streams: &mut Streams<'_>) -> Result {
    let mut known = Known::probe();
    let flags = team_and_store_flags(&args.team, &args.store);
    let mut findings = team_and_store::team(&args.team, &flags, &mut known);
    findings.push(team_and_store::store(&args.store));
    findings.push(containment_finding(containment()));
    findings.push(limits_finding(limit_enforcer()));
    findings.push(terminal(streams));
    if findings.iter().filter_map(|one| one.advice.as_deref()).any(is_shortened) {
        let folders = std::env::var_os("PATH").unwrap_or_default();
        let text = format!("programs are searched for in {}", folders.display());
        findings.push(Finding::new("PATH", Health::Ok, text));
    }
    findings.extend(known.unused());
    let blocking = findings.iter().filter(|one| one.blocks).count();
    if args.json {
        let (version, ready) = (env!("CARGO_PKG_VERSION"), blocking == 0);
        write_json(streams, &DoctorRecord { version, ready, blocking, findings: &findings })?;
    } else {
        write_all(args, &findings, streams).map_err(CliError::output)?;
    }
    if blocking == 0 { Ok(()) } else { Err(CliError::Unfit) }
}

/// Writes what the team needs, then what is optional, then what to do next.
fn write_all(args: &DoctorArgs, findings: &[Finding], streams: &mut Streams<'_>) -> io::Result<()> {
    let paint = Paint::new(streams.stdout_has_colour);
    let (optional, needed): (Vec<&Finding>, Vec<&Finding>) =
        findings.iter().partition(|one| one.health == Health::Optional);
    for finding in needed {
        write(finding, &paint, streams)?;
    }
    if !optional.is_empty() {
        writeln!(streams.stdout, "\nOptional, not used by this team:")?;
    }
    for finding in optional {
        write(finding, &paint, streams)?;
    }
    writeln!(streams.stdout, "\n{}", summary(args, findings, &paint))
}

fn summary(args: &DoctorArgs, findings: &[Finding], paint: &Paint) -> String {
    let count = |is: fn(&Finding) -> bool| findings.iter().filter(|one| is(one)).count();
    let flags = team_and_store_flags(&args.team, &args.store);
    let others = match count(|one| {
        !one.blocks && matches!(one.health, Health::Warning | Health::Missing | Health::Error)
    }) {
        0 => String::new(),
        1 => " (1 warning above)".to_owned(),
        many => format!(" ({many} warnings above)"),
    };
    let problems = count(|one| matches!(one.health, Health::Missing | Health::Error));
    let todo = match count(|one| one.blocks) {
        0 => return format!("{}: `tertulia chat{flags}`{others}", paint.good("ready")),
        1 if problems == 1 => "fix the problem above, then run it again".to_owned(),
        1 => format!("1 of the {problems} problems above stops `tertulia run`"),
        all if all == problems => format!("fix the {all} problems above"),
        some => format!("{some} of the {problems} problems above stop `tertulia run`"),
    };
    format!("{}: {todo}", paint.bad("not ready"))
}

fn write(finding: &Finding, paint: &Paint, streams: &mut Streams<'_>) -> io::Result<()> {
    let mark = |word: &str| padded(word, MARK_COLUMNS);
    let mark = match finding.health {
        Health::Ok => paint.good(&mark("ok")),
        Health::Warning => paint.warning(&mark("warning")),
        Health::Missing if finding.blocks => paint.bad(&mark("missing")),
        Health::Missing => paint.warning(&mark("missing")),
        Health::Error => paint.bad(&mark("error")),
        Health::Optional => mark(""),
    };
    // Further lines are indented under the first.
    let margin = " ".repeat(MARK_COLUMNS);
    let text = format!("{}: {}", finding.about, finding.text);
    let text = visible(&text).replace('\n', &format!("\n{margin}"));
    writeln!(streams.stdout, "{mark}{text}")?;
    if let Some(advice) = &finding.advice {
        let advice = visible(advice).replace('\n', &format!("\n{margin}"));
        writeln!(streams.stdout, "{margin}{}", paint.faint(&advice))?;
    }
    Ok(())
}

impl Finding {
    fn new(about: impl Into<String>, health: Health, text: impl Into<String>) -> Self {
        // An error always stops `run`; the caller decides about other findings.
        let blocks = health == Health::Error;
        Self { about: about.into(), health, blocks, text: text.into(), advice: None }
    }

    fn advised(self, advice: impl Into<String>) -> Self {
        Self { advice: Some(advice.into()), ..self }
    }
}

fn containment_finding(containment: Containment) -> Finding {
    let text = match containment {
        Containment::ControlGroup => {
            "one control group per turn; it stops all processes of the turn"
        }
        Containment::Supervisor => "one supervisor per turn; it stops all processes of the turn",
        Containment::Descendants => {
            "child processes are tracked and stopped; a process that hides on purpose can continue \
             after the turn"
        }
        Containment::None => "processes that continue after their turn are not stopped",
    };
    let health = match containment {
        Containment::ControlGroup | Containment::Supervisor => Health::Ok,
        Containment::Descendants | Containment::None => Health::Warning,
    };
    Finding::new("containment", health, text)
}

fn limits_finding(keeper: LimitEnforcer) -> Finding {
    let how = match keeper {
        LimitEnforcer::Kernel => "enforced by the control group",
        LimitEnforcer::Supervisor => "checked by the supervisor a few times per second",
        LimitEnforcer::Nobody => {
            let text = "turns have no resource limits on this system";
            return Finding::new("limits", Health::Warning, text);
        }
    };
    let ResourceLimits { processes, memory_bytes } = ResourceLimits::default();
    let memory = memory_bytes >> 20;
    let text = format!("{processes} processes and {memory} MB of memory per turn, {how}");
    let advice = "to change them, set max_processes and max_memory_mb in the team file";
    Finding::new("limits", Health::Ok, text).advised(advice)
}

fn terminal(streams: &Streams<'_>) -> Finding {
    let locale = ["LC_ALL", "LC_CTYPE", "LANG"]
        .into_iter()
        .filter_map(|name| std::env::var(name).ok())
        .find(|value| !value.is_empty())
        .unwrap_or_default();
    let folded = locale.to_ascii_lowercase();
    let is_utf8 = folded.contains("utf-8") || folded.contains("utf8");
    let width = rustix::termios::tcgetwinsize(io::stdout()).map(|size| size.ws_col);
    let terminal = if streams.stdout_is_terminal { "a terminal" } else { "not a terminal" };
    let width = match width {
        Ok(columns @ 1..) => format!("{columns} columns"),
        _ => "width unknown".to_owned(),
    };
    let colours = if streams.stdout_has_colour { "colours" } else { "no colours" };
    let text = format!("{terminal}, {width}, {colours}");
    if is_utf8 {
        return Finding::new("terminal", Health::Ok, format!("{text}, UTF-8"));
    }
    let text = format!("{text}, locale {locale:?}, no UTF-8");
    let finding = Finding::new("terminal", Health::Warning, text);
    finding.advised("set LANG to a UTF-8 locale, such as C.UTF-8")
}
