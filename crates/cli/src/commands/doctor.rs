//! `tertulia doctor`: whether what the team needs is there, and what is optional. Nothing is sent, nothing is
//! created, and no credential is read.

mod agents;
mod members;
mod places;

use serde::Serialize;
use tertulia_chat::terminal::visible;
use tertulia_team::{Containment, LimitKeeper, ResourceLimits, containment, limit_keeper};

use super::drawing::{Paint, padded};
use super::sessions::write_json;
use crate::Streams;
use crate::advice::same_place;
use crate::args::DoctorArgs;
use crate::error::CliError;
use agents::{Known, is_shortened};

/// How wide the marks in front of the findings are.
const MARK_COLUMNS: usize = 9;

/// How well something is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
enum Health {
    /// As it should be.
    Ok,
    /// It works, and something may not be as it is meant.
    Warning,
    /// The team needs it, and it is not there.
    Missing,
    /// It is there and cannot be used.
    Error,
    /// The team does not use it.
    Optional,
}

/// One thing that was looked at.
#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
struct Finding {
    /// What was looked at.
    about: String,
    health: Health,
    /// Whether it would stop `run`.
    blocks: bool,
    /// What was found.
    text: String,
    /// What to do.
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

pub(crate) fn run(args: &DoctorArgs, streams: &mut Streams<'_>) -> Result<(), CliError> {
    let mut known = Known::look();
    let place = same_place(&args.team, &args.store);
    let mut findings = places::team(&args.team, &place, &mut known);
    findings.push(places::store(&args.store));
    findings.push(held_by(containment()));
    findings.push(limited_by(limit_keeper()));
    findings.push(terminal(streams));
    if findings.iter().filter_map(|one| one.advice.as_deref()).any(is_shortened) {
        let folders = std::env::var_os("PATH").unwrap_or_default();
        let text = format!("programs are looked for in {}", folders.display());
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
fn write_all(
    args: &DoctorArgs,
    findings: &[Finding],
    streams: &mut Streams<'_>,
) -> std::io::Result<()> {
    let paint = Paint::new(streams.stdout_has_colour);
    let is_optional = |one: &&Finding| one.health == Health::Optional;
    for finding in findings.iter().filter(|one| !is_optional(one)) {
        write(finding, &paint, streams)?;
    }
    let mut optional = findings.iter().filter(is_optional).peekable();
    if optional.peek().is_some() {
        writeln!(streams.stdout, "\nOptional, not used by this team:")?;
    }
    for finding in optional {
        write(finding, &paint, streams)?;
    }
    writeln!(streams.stdout, "\n{}", summary(args, findings, &paint))
}

/// The last line: what to do next.
fn summary(args: &DoctorArgs, findings: &[Finding], paint: &Paint) -> String {
    let count = |is: fn(&Finding) -> bool| findings.iter().filter(|one| is(one)).count();
    let place = same_place(&args.team, &args.store);
    let others = match count(|one| {
        !one.blocks && matches!(one.health, Health::Warning | Health::Missing | Health::Error)
    }) {
        0 => String::new(),
        1 => " (1 warning above)".to_owned(),
        many => format!(" ({many} warnings above)"),
    };
    let problems = count(|one| matches!(one.health, Health::Missing | Health::Error));
    let todo = match count(|one| one.blocks) {
        0 => return format!("{}: `tertulia chat{place}`{others}", paint.good("ready")),
        1 if problems == 1 => "fix the problem above, then run it again".to_owned(),
        1 => format!("1 of the {problems} problems above stops `tertulia run`"),
        all if all == problems => format!("fix the {all} problems above"),
        some => format!("{some} of the {problems} problems above stop `tertulia run`"),
    };
    format!("{}: {todo}", paint.bad("not ready"))
}

fn write(finding: &Finding, paint: &Paint, streams: &mut Streams<'_>) -> std::io::Result<()> {
    let mark = |word: &str| padded(word, MARK_COLUMNS);
    let mark = match finding.health {
        Health::Ok => paint.good(&mark("ok")),
        Health::Warning => paint.warning(&mark("warning")),
        Health::Missing if finding.blocks => paint.bad(&mark("missing")),
        Health::Missing => paint.warning(&mark("missing")),
        Health::Error => paint.bad(&mark("error")),
        Health::Optional => mark(""),
    };
    // A text of several lines stays under its mark.
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
        // Who needs a thing decides whether `run` can do without; what is broken stops everybody.
        let blocks = health == Health::Error;
        Self { about: about.into(), health, blocks, text: text.into(), advice: None }
    }

    fn advised(self, advice: impl Into<String>) -> Self {
        Self { advice: Some(advice.into()), ..self }
    }

    fn blocking(self, blocks: bool) -> Self {
        Self { blocks, ..self }
    }
}

/// What holds the processes of a turn together.
fn held_by(containment: Containment) -> Finding {
    let (health, text) = match containment {
        Containment::ControlGroup => {
            (Health::Ok, "a control group per turn: no process of an agent survives it")
        }
        Containment::Supervisor => {
            (Health::Ok, "a supervisor per turn: no process of an agent survives it")
        }
        Containment::Descendants => (
            Health::Warning,
            "descendants are looked for; a process that hides on purpose may survive its turn",
        ),
        Containment::None => {
            (Health::Warning, "processes of agents that outlive their turn are not ended")
        }
    };
    Finding::new("containment", health, text)
}

/// What a turn may use, and who sees to it.
fn limited_by(keeper: LimitKeeper) -> Finding {
    let ResourceLimits { processes, memory_bytes } = ResourceLimits::default();
    let usual = format!("{processes} processes and {} MB of memory per turn", memory_bytes >> 20);
    let (health, text) = match keeper {
        LimitKeeper::Kernel => (Health::Ok, format!("{usual}, kept by the control group")),
        LimitKeeper::Supervisor => {
            (Health::Ok, format!("{usual}, measured by the supervisor a few times per second"))
        }
        LimitKeeper::Nobody => {
            (Health::Warning, "what a turn uses of the machine is not limited here".to_owned())
        }
    };
    let finding = Finding::new("limits", health, text);
    match keeper {
        LimitKeeper::Nobody => finding,
        LimitKeeper::Kernel | LimitKeeper::Supervisor => {
            finding.advised("set max_processes and max_memory_mb in the team file to change them")
        }
    }
}

fn terminal(streams: &Streams<'_>) -> Finding {
    let locale = ["LC_ALL", "LC_CTYPE", "LANG"]
        .into_iter()
        .filter_map(|name| std::env::var(name).ok())
        .find(|value| !value.is_empty())
        .unwrap_or_default();
    let folded = locale.to_ascii_lowercase();
    let is_utf8 = folded.contains("utf-8") || folded.contains("utf8");
    let width = rustix::termios::tcgetwinsize(std::io::stdout()).map(|size| size.ws_col);
    let text = [
        match streams.stdout_is_terminal {
            true => "a terminal".to_owned(),
            false => "no terminal".to_owned(),
        },
        match width {
            Ok(columns @ 1..) => format!("{columns} columns"),
            _ => "width unknown".to_owned(),
        },
        if streams.stdout_has_colour { "colours" } else { "no colours" }.to_owned(),
        if is_utf8 { "UTF-8".to_owned() } else { format!("locale {locale:?}, no UTF-8") },
    ];
    let health = if is_utf8 { Health::Ok } else { Health::Warning };
    let finding = Finding::new("terminal", health, text.join(", "));
    if is_utf8 { finding } else { finding.advised("set LANG to a UTF-8 locale, such as C.UTF-8") }
}
