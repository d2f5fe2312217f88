//! `tertulia sessions list`: all sessions, the most recently changed first.

use std::io::{self, Write};

use tertulia_chat::terminal::{excerpt, grouped, visible};
use tertulia_operations::names::short_session;
use tertulia_operations::session_record::SessionRecord;
use tertulia_session::Timestamp;
use tertulia_store::{ListFilter, ProjectScope, SessionInfo, SessionStore, now_millis};

use super::{open_or_note, print_note, write_json};
use crate::Streams;
use crate::args::ListArgs;
use crate::clock::LocalTime;
use crate::commands::drawing::{Paint, padded};
use crate::error::{CliError, Result};
use crate::load_team::project_here;
use crate::store_location::StoreLocation;

const TITLE_COLUMNS: usize = 48;
const CHANGED_COLUMNS: usize = 16;
const PROJECT_COLUMNS: usize = 40;

pub(super) fn list(args: &ListArgs, location: &StoreLocation, streams: &mut Streams<'_>) -> Result {
    let Some(store) = open_or_note(location, streams)? else { return Ok(()) };
    let (now, local) = (now_millis(), LocalTime::new(streams.zone));
    // Reads one more than it shows, to find out whether there are more.
    let limit = Some(args.limit).filter(|limit| *limit > 0);
    let filter = ListFilter {
        id_prefix: args.prefix.clone(),
        since: args.since.as_ref().map(|when| when.resolve(now, &local)),
        until: args.until.as_ref().map(|when| when.resolve(now, &local)),
        limit: limit.map(|limit| limit.saturating_add(1)),
        project: scope(args.all),
    };
    let mut sessions = store.list(&filter)?;
    let is_more = limit.is_some_and(|limit| sessions.len() > limit);
    sessions.truncate(limit.unwrap_or(usize::MAX));
    if args.json {
        for info in &sessions {
            write_json(streams, &SessionRecord::from(info))?;
        }
    } else if sessions.is_empty() {
        let is_filtered = args.prefix.is_some() || args.since.is_some() || args.until.is_some();
        let line = match is_filtered {
            true => "no session matches",
            false if store.count(&ListFilter::default())? == 0 => "there are no sessions yet",
            false => "there are no sessions of this project yet",
        };
        print_note(streams, line);
    } else {
        let paint = Paint::new(streams.stdout_has_colour);
        let written = write(streams.stdout, &sessions, args.all, (now, &local), &paint);
        written.map_err(CliError::output)?;
    }
    if is_more {
        print_note(streams, "more results available; use --limit (0 = all)");
    }
    tell_others(&store, &filter, streams)
}

pub(super) fn scope(all: bool) -> ProjectScope {
    if all { ProjectScope::All } else { ProjectScope::Project(project_here()) }
}

/// Prints how many sessions of other projects match the filter.
fn tell_others(store: &SessionStore, filter: &ListFilter, streams: &mut Streams<'_>) -> Result {
    if filter.project == ProjectScope::All {
        return Ok(());
    }
    let own = ListFilter { limit: None, ..filter.clone() };
    let all = ListFilter { project: ProjectScope::All, ..own.clone() };
    let others = store.count(&all)?.saturating_sub(store.count(&own)?);
    if others > 0 {
        print_note(
            streams,
            &format!("{} more in other projects; --all shows them", grouped(others)),
        );
    }
    Ok(())
}

/// Writes one line per session, with its project if all projects are listed.
fn write(
    out: &mut dyn Write,
    sessions: &[SessionInfo],
    all: bool,
    (now, local): (i64, &LocalTime),
    paint: &Paint,
) -> io::Result<()> {
    let widest = |widths: &mut dyn Iterator<Item = usize>| widths.max().unwrap_or_default();
    let ids = widest(&mut sessions.iter().map(|info| short_session(&info.id).len()));
    let ids = ids.max("session".len());
    let shown: Vec<String> = sessions.iter().map(project_shown).collect();
    let projects = widest(&mut shown.iter().map(|project| project.chars().count()));
    let projects = projects.max("project".len());
    let row = |id: &str, entries: &str, changed: &str, project: &str, title: &str| {
        let project = if all { padded(project, projects) + "  " } else { String::new() };
        let (id, changed) = (padded(id, ids), padded(changed, CHANGED_COLUMNS));
        format!("{id} {entries:>9}  {changed} {project}{title}")
    };
    let titles = row("session", "entries", "changed", "project", "title");
    writeln!(out, "{}", paint.faint(&titles))?;
    for (info, project) in sessions.iter().zip(&shown) {
        let title = info.title.as_deref().map(|title| excerpt(title, TITLE_COLUMNS));
        let title = title.unwrap_or_else(|| paint.faint("–"));
        let changed = since(&info.updated_at, now, local);
        let (id, entries) = (short_session(&info.id), grouped(info.entries));
        writeln!(out, "{}", row(id, &entries, &changed, project, &title))?;
    }
    Ok(())
}

/// Returns the project of a session; only the end of a long path.
fn project_shown(info: &SessionInfo) -> String {
    let project = one_line(info.project.as_deref().unwrap_or("–"));
    let length = project.chars().count();
    if length <= PROJECT_COLUMNS {
        return project;
    }
    let end: String = project.chars().skip(length + 1 - PROJECT_COLUMNS).collect();
    format!("…{end}")
}

/// Formats the time since a moment, or its date if it is more than a month ago.
pub(super) fn since(moment: &Timestamp, now: i64, local: &LocalTime) -> String {
    let seconds = now.saturating_sub(moment.millis()) / 1000;
    let ago =
        |count: i64, unit: &str| format!("{count} {unit}{} ago", if count == 1 { "" } else { "s" });
    match seconds {
        ..0 => "in the future".to_owned(),
        0..60 => "just now".to_owned(),
        60..3600 => ago(seconds / 60, "minute"),
        3600..86_400 => ago(seconds / 3600, "hour"),
        86_400..2_592_000 => ago(seconds / 86_400, "day"),
        _ => local.day_and_time(moment).0,
    }
}

pub(super) fn one_line(text: &str) -> String {
    visible(text).replace(['\n', '\t'], " ")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn how_long_ago_is_reported_in_words_and_then_as_a_date() {
        let now = 1_769_860_800_000;
        let utc = LocalTime::new(crate::Zone::Utc);
        let reported =
            |seconds: i64| since(&Timestamp::from_millis(now - seconds * 1000), now, &utc);
        assert_eq!(
            [-5, 0, 59, 60, 7200, 86_400, 2_592_000].map(reported),
            [
                "in the future",
                "just now",
                "just now",
                "1 minute ago",
                "2 hours ago",
                "1 day ago",
                "2026-01-01"
            ]
        );
    }
}
