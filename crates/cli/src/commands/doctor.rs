//! `tertulia doctor`: what is needed and whether it is there. Nothing is sent, nothing is made, and no
//! credential is read.

mod members;
mod places;

use serde::Serialize;
use tertulia_team::{Containment, ProbeKind, SignIn, containment, probe};

use super::drawing::Paint;
use super::sessions::write_json;
use crate::Streams;
use crate::args::DoctorArgs;
use crate::error::CliError;
use crate::terminal::visible;

/// What is told of a program that is not there.
const NOT_FOUND: &str = "not found";

/// How well something is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
enum Health {
    /// As it should be.
    Good,
    /// `run` works without it.
    Lacking,
    /// It would stop `run`.
    Broken,
}

/// One thing that was looked at.
#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
struct Finding {
    /// What was looked at.
    about: String,
    health: Health,
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
    broken: usize,
    findings: &'a [Finding],
}

pub(crate) fn run(args: &DoctorArgs, streams: &mut Streams<'_>) -> Result<(), CliError> {
    let mut findings: Vec<Finding> = ProbeKind::ALL.into_iter().map(agent).collect();
    let is_missing = findings.iter().any(|one| one.text == NOT_FOUND);
    findings.push(held_by(containment()));
    findings.extend(places::team(&args.team));
    findings.push(places::store(&args.store));
    findings.push(terminal(streams));
    if is_missing {
        let folders = std::env::var_os("PATH").unwrap_or_default();
        let text = format!("programs are looked for in {}", folders.display());
        findings.push(Finding::new("PATH", Health::Good, text));
    }
    let broken = findings.iter().filter(|one| one.health == Health::Broken).count();
    if args.json {
        let version = env!("CARGO_PKG_VERSION");
        write_json(streams, &DoctorRecord { version, broken, findings: &findings })?;
    } else {
        let paint = Paint::new(streams.stdout_has_colour);
        for finding in &findings {
            write(finding, &paint, streams).map_err(CliError::output)?;
        }
    }
    match broken {
        0 => Ok(()),
        1 => Err(CliError::Unfit("one thing would stop `tertulia run`".to_owned())),
        many => Err(CliError::Unfit(format!("{many} things would stop `tertulia run`"))),
    }
}

fn write(finding: &Finding, paint: &Paint, streams: &mut Streams<'_>) -> std::io::Result<()> {
    let mark = match finding.health {
        Health::Good => paint.good("ok     "),
        Health::Lacking => paint.warning("lacking"),
        Health::Broken => paint.bad("broken "),
    };
    // A text of several lines stays under its mark.
    let text = format!("{}: {}", finding.about, finding.text);
    let text = visible(&text).replace('\n', "\n         ");
    writeln!(streams.stdout, "{mark}  {text}")?;
    if let Some(advice) = &finding.advice {
        let advice = visible(advice).replace('\n', "\n         ");
        writeln!(streams.stdout, "         {}", paint.faint(&advice))?;
    }
    Ok(())
}

impl Finding {
    fn new(about: impl Into<String>, health: Health, text: impl Into<String>) -> Self {
        Self { about: about.into(), health, text: text.into(), advice: None }
    }

    fn advised(self, advice: impl Into<String>) -> Self {
        Self { advice: Some(advice.into()), ..self }
    }
}

/// An agent that is known by name. None of them has to be there.
fn agent(kind: ProbeKind) -> Finding {
    let probe = probe(kind, None);
    let Some(path) = &probe.path else {
        let missing = Finding::new(kind.name(), Health::Lacking, NOT_FOUND);
        return Finding { advice: probe.advice.as_deref().map(without_folders), ..missing };
    };
    let version = probe.version.as_deref().unwrap_or("version unknown");
    let signed_in = signed_in(&probe.sign_in);
    let health = if probe.advice.is_some() { Health::Lacking } else { Health::Good };
    let text = format!("{version} at {}, {signed_in}", path.display());
    Finding { advice: probe.advice, ..Finding::new(kind.name(), health, text) }
}

/// Whether an agent is signed in, in words.
fn signed_in(state: &SignIn) -> String {
    match state {
        SignIn::Yes(how) => format!("signed in ({how})"),
        SignIn::No(why) => format!("not signed in ({why})"),
        SignIn::Unknown(why) => format!("whether it is signed in is not known ({why})"),
    }
}

/// An advice without all the folders of `PATH`: they are told once for all programs.
fn without_folders(advice: &str) -> String {
    let Some((before, rest)) = advice.split_once(" in PATH (") else { return advice.to_owned() };
    match rest.rsplit_once("); ") {
        Some((_, cure)) if !cure.is_empty() => format!("{before} in PATH; {cure}"),
        _ => advice.to_owned(),
    }
}

/// What holds the processes of a turn together.
fn held_by(containment: Containment) -> Finding {
    let (health, text) = match containment {
        Containment::ControlGroup => {
            (Health::Good, "a control group per turn: no process of an agent survives it")
        }
        Containment::Descendants => (
            Health::Lacking,
            "descendants are looked for; a process that hides on purpose may survive its turn",
        ),
        Containment::None => (Health::Lacking, "nothing holds the processes of agents"),
    };
    Finding::new("containment", health, text)
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
    let health = if is_utf8 { Health::Good } else { Health::Lacking };
    let finding = Finding::new("terminal", health, text.join(", "));
    if is_utf8 { finding } else { finding.advised("set LANG to a locale with UTF-8, as C.UTF-8") }
}
