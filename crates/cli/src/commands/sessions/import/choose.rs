//! Selects the sessions to import from those that were found: by the options, or by a question on a terminal. Nothing
//! is imported without an explicit choice.

use std::io;

use indicatif::HumanBytes;
use serde::Serialize;
use tertulia_chat::terminal::{excerpt, visible};
use tertulia_dialect::native::NativeFormat;
use tertulia_native::FoundSession;
use tertulia_operations::import::LinkIndex;
use tertulia_session::Timestamp;
use tertulia_store::now_millis;

use super::native::read_index;
use super::{counted, print_note, write_json};
use crate::Streams;
use crate::args::ImportArgs;
use crate::clock::LocalTime;
use crate::commands::drawing::{Paint, padded};
use crate::commands::sessions::list::{one_line, since};
use crate::error::{CliError, Result};
use crate::store_location::StoreLocation;

/// Number of sessions that are shown to a person at once.
const SHOWN: usize = 30;
const TITLE_COLUMNS: usize = 44;
const PROJECT_COLUMNS: usize = 24;

pub(super) enum Choice {
    Nothing,
    Sessions(Vec<FoundSession>),
}

/// Whether a session was imported before.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
enum Known {
    New,
    Imported,
    /// The agent has added entries since.
    Grown,
}

impl Known {
    fn of(session: &FoundSession, index: &LinkIndex) -> Self {
        let Some((_, link)) = index.link_of(session.format, &session.native_id) else {
            return Self::New;
        };
        let has_grown = match session.size {
            Some(size) => size > link.bytes,
            None => session.updated.as_ref().is_some_and(|time| time.millis() > link.millis),
        };
        if has_grown { Self::Grown } else { Self::Imported }
    }

    fn as_str(self) -> &'static str {
        match self {
            Self::New => "new",
            Self::Imported => "imported",
            Self::Grown => "grown",
        }
    }
}

/// Selects the sessions to import.
pub(super) fn choose(
    args: &ImportArgs,
    location: &StoreLocation,
    mut found: Vec<FoundSession>,
    streams: &mut Streams<'_>,
) -> Result<Choice> {
    let is_list = args.source.is_none() && !args.all && !args.last;
    if found.is_empty() && is_list {
        print_note(streams, &nothing_found(args));
        return Ok(Choice::Nothing);
    }
    if found.is_empty() {
        return Err(CliError::Failed(nothing_found(args)));
    }
    let is_named = args.source.is_some() && found.len() == 1;
    if args.all || is_named {
        return Ok(Choice::Sessions(found));
    }
    if args.last {
        found.truncate(1);
        return Ok(Choice::Sessions(found));
    }
    let store = location.open_existing()?;
    let index = match &store {
        Some(store) => read_index(store, location)?,
        None => LinkIndex::default(),
    };
    if args.json {
        for session in &found {
            write_json(streams, &FoundRecord::new(session, &index))?;
        }
        return Ok(Choice::Nothing);
    }
    let is_asked = streams.stdin_is_terminal && streams.stdout_is_terminal;
    let shown = if is_asked { SHOWN } else { usize::MAX };
    write_list(found.get(..found.len().min(shown)).unwrap_or(&found), &index, streams)
        .map_err(CliError::output)?;
    if found.len() > shown {
        let more = counted((found.len() - shown) as u64, "older session", "older sessions");
        print_note(streams, &format!("{more} not listed; filter with --agent or --project"));
    }
    if !is_asked {
        let line = "choose sessions with --last, --all or an ID";
        print_note(streams, line);
        return Ok(Choice::Nothing);
    }
    let numbers = ask(found.len().min(shown), streams)?;
    let chosen: Vec<FoundSession> =
        numbers.iter().filter_map(|number| found.get(number - 1).cloned()).collect();
    if chosen.is_empty() {
        print_note(streams, "nothing was imported");
        return Ok(Choice::Nothing);
    }
    if args.watch && chosen.len() > 1 {
        return Err(CliError::Usage("--watch follows one session; choose one"));
    }
    Ok(Choice::Sessions(chosen))
}

/// Says what was searched for, and what else can be named.
fn nothing_found(args: &ImportArgs) -> String {
    let agent = args.agent.map_or("an agent", NativeFormat::agent_name);
    let place = match (&args.source, &args.project) {
        (Some(source), _) => format!("in {}", source.display()),
        (None, Some(project)) => format!("for the project {}", project.display()),
        (None, None) => "on this machine".to_owned(),
    };
    let advice = match (args.agent, &args.project) {
        (None, None) => "name its file, or see --help for the agents",
        _ => "`tertulia sessions import` without --agent and --project lists all sessions",
    };
    format!("no session of {agent} was found {place}; {advice}")
}

/// Asks for the numbers of sessions; an empty answer means none.
fn ask(count: usize, streams: &mut Streams<'_>) -> Result<Vec<usize>> {
    const ANSWER_BYTES: u64 = 4096;
    let _ = write!(streams.stderr, "Which sessions? (numbers such as 2 or 1,3-5; Enter for none) ");
    let _ = streams.stderr.flush();
    let mut answer = String::new();
    let limited = &mut io::Read::take(&mut *streams.stdin, ANSWER_BYTES);
    io::BufRead::read_line(limited, &mut answer).map_err(CliError::Input)?;
    numbers(&answer, count).ok_or_else(|| {
        CliError::Failed(format!(
            "{:?} is not a choice of numbers from 1 to {count}; try again",
            answer.trim()
        ))
    })
}

/// Reads numbers and ranges of them; `None` if there is anything else, or a number that is too large.
fn numbers(answer: &str, count: usize) -> Option<Vec<usize>> {
    let mut chosen = Vec::new();
    for word in answer.split([',', ' ', '\t', '\n', '\r']).filter(|word| !word.is_empty()) {
        let (first, last) = word.split_once('-').unwrap_or((word, word));
        let (first, last) = (first.parse::<usize>().ok()?, last.parse::<usize>().ok()?);
        if first == 0 || last > count || first > last {
            return None;
        }
        chosen.extend((first..=last).filter(|number| !chosen.contains(number)).collect::<Vec<_>>());
    }
    Some(chosen)
}

/// Writes one line for each session.
fn write_list(
    sessions: &[FoundSession],
    index: &LinkIndex,
    streams: &mut Streams<'_>,
) -> io::Result<()> {
    let paint = Paint::new(streams.stdout_has_colour);
    let (now, local) = (now_millis(), LocalTime::new(streams.zone));
    let row = |number: &str, agent: &str, changed: &str, size: &str, known: &str, project: &str| {
        let (agent, changed) = (padded(agent, 11), padded(changed, 15));
        let project = padded(project, PROJECT_COLUMNS);
        format!("{number:>4}  {agent} {changed} {size:>10}  {known:<8}  {project}  ")
    };
    let titles = row("", "agent", "changed", "size", "", "project") + "title";
    writeln!(streams.stdout, "{}", paint.faint(&titles))?;
    for (session, number) in sessions.iter().zip(1..) {
        let changed = session.updated.as_ref().map(|time| since(time, now, &local));
        let size = session.size.map(|size| HumanBytes(size).to_string());
        let project = session.folder.as_deref().map_or_else(|| "–".to_owned(), short_folder);
        let line = row(
            &number.to_string(),
            session.format.agent_name(),
            &changed.unwrap_or_default(),
            &size.unwrap_or_default(),
            Known::of(session, index).as_str(),
            &project,
        );
        let title = session.title.as_deref().unwrap_or(&session.native_id);
        writeln!(streams.stdout, "{line}{}", excerpt(&one_line(title), TITLE_COLUMNS))?;
    }
    Ok(())
}

/// Returns the end of a long path.
fn short_folder(folder: &str) -> String {
    let folder = visible(folder).replace(['\n', '\t'], " ");
    let length = folder.chars().count();
    if length <= PROJECT_COLUMNS {
        return folder;
    }
    let end: String = folder.chars().skip(length + 1 - PROJECT_COLUMNS).collect();
    format!("…{end}")
}

/// A session that was found, as JSON.
#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct FoundRecord<'a> {
    agent: &'a str,
    native_session_id: &'a str,
    path: String,
    state: Known,
    #[serde(skip_serializing_if = "Option::is_none")]
    session_id: Option<&'a str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    title: Option<&'a str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    folder: Option<&'a str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    bytes: Option<u64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    started_at: Option<i64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    updated_at: Option<i64>,
}

impl<'a> FoundRecord<'a> {
    fn new(session: &'a FoundSession, index: &'a LinkIndex) -> Self {
        let linked = index.link_of(session.format, &session.native_id);
        Self {
            agent: session.format.as_str(),
            native_session_id: &session.native_id,
            path: session.place.path().display().to_string(),
            state: Known::of(session, index),
            session_id: linked.map(|(id, _)| id.as_str()),
            title: session.title.as_deref(),
            folder: session.folder.as_deref(),
            bytes: session.size,
            started_at: session.started.as_ref().map(Timestamp::millis),
            updated_at: session.updated.as_ref().map(Timestamp::millis),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_and_ranges_are_read_in_the_order_in_which_they_are_typed() {
        assert_eq!(numbers("3\n", 5), Some(vec![3]));
        assert_eq!(numbers("4, 1-3 2", 5), Some(vec![4, 1, 2, 3]));
        assert_eq!(numbers(" \n", 5), Some(vec![]));
        for wrong in ["0", "6", "3-2", "x", "1-", "-1"] {
            assert_eq!(numbers(wrong, 5), None, "{wrong}");
        }
    }
}
