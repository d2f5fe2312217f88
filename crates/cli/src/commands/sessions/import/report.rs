//! Reports the results of an import, as text or JSON.

use serde::Serialize;
use tertulia_dialect::native::ReadProblem;
use tertulia_native::FoundSession;
use tertulia_operations::import::Imported;
use tertulia_operations::session_record::SessionRecord;
use tertulia_session::Timestamp;

use super::native::Importer;
use super::{counted, print_note, write_json};
use crate::Streams;
use crate::error::{CliError, Result};

/// Number of problems that are shown to a person.
const SHOWN: usize = 20;

/// Reports one import.
pub(super) fn write(
    imported: &Imported,
    session: &FoundSession,
    importer: &Importer<'_>,
    streams: &mut Streams<'_>,
) -> Result {
    let is_dry_run = importer.args.dry_run;
    let info = match is_dry_run && imported.is_new {
        true => None,
        false => Some(importer.store.info(&imported.session)?),
    };
    if importer.args.json {
        let record = ImportRecord::new(imported, session, is_dry_run);
        let session = info.as_ref().map(SessionRecord::from);
        return write_json(streams, &Record { session, record });
    }
    for line in lines(imported, session, is_dry_run) {
        print_note(streams, &line);
    }
    if let Some(folder) = imported.folder.as_deref().filter(|folder| !is_folder(folder))
        && imported.is_new
    {
        let project = info.as_ref().and_then(|info| info.project.as_deref()).unwrap_or_default();
        let line = match project == folder || project.is_empty() {
            true => format!("the folder {folder} of this session does not exist here"),
            false => {
                format!(
                    "the folder {folder} of this session does not exist here; the session now \
                     belongs to project {project}"
                )
            }
        };
        print_note(streams, &line);
    }
    writeln!(streams.stdout, "{}", imported.session).map_err(CliError::output)
}

fn is_folder(folder: &str) -> bool {
    std::path::Path::new(folder).is_dir()
}

/// Describes an import.
fn lines(imported: &Imported, session: &FoundSession, is_dry_run: bool) -> Vec<String> {
    let path = session.place.path().display();
    let mut lines = Vec::new();
    for problem in imported.problems.iter().take(SHOWN) {
        lines.push(in_file(problem, session));
    }
    let more = imported.problem_count.saturating_sub(SHOWN as u64);
    if more > 0 {
        let problems = counted(more, "more problem", "more problems");
        lines.push(format!("{path}: {problems}; --json lists all of them"));
    }
    if imported.in_future > 0 {
        let entries = counted(imported.in_future, "entry", "entries");
        let last = imported.last_date.as_ref().map(Timestamp::to_iso).unwrap_or_default();
        lines.push(format!("{path}: {entries} dated in the future, up to {last}; not changed"));
    }
    if let Some(other) = &imported.collides_with {
        lines.push(format!(
            "session {other} has the same ID of {} but different content, for example from another \
             machine; this import gets another ID",
            imported.format.agent_name()
        ));
    }
    if imported.secrets > 0 {
        let secrets = counted(imported.secrets, "secret", "secrets");
        lines.push(format!("{secrets} removed; only known kinds of keys and tokens are found"));
    }
    if imported.stored_secrets.secrets > 0 {
        lines.push(stored_secrets(imported, is_dry_run));
    }
    if imported.changed > 0 {
        let records = counted(imported.changed, "record", "records");
        lines.push(format!("{records} had changed since the last import; both versions are kept"));
    }
    let agent = imported.format.agent_name();
    let native = &imported.native_session_id;
    let entries = counted(imported.entries, "entry", "entries");
    let messages = counted(imported.messages, "message", "messages");
    let what = match (is_dry_run, imported.is_new) {
        (false, true) => "imported",
        (false, false) => "added",
        (true, true) => "would import",
        (true, false) => "would add",
    };
    lines.push(match imported.entries {
        0 if !imported.is_new => {
            format!("session {} is up to date with {agent} session {native}", imported.session)
        }
        _ => {
            let how = if imported.is_new { "as" } else { "to" };
            format!(
                "{what} {entries} ({messages}) of {agent} session {native} {how} session {}",
                imported.session
            )
        }
    });
    lines
}

/// Describes the redaction of secrets that earlier imports had stored.
fn stored_secrets(imported: &Imported, is_dry_run: bool) -> String {
    let secrets = counted(imported.stored_secrets.secrets, "secret", "secrets");
    let entries = counted(imported.stored_secrets.entries, "entry", "entries");
    let session = &imported.session;
    match is_dry_run {
        false => format!(
            "{secrets} of earlier imports removed: {entries} of session {session} redacted with everything they \
             said. Backups and exports that you made earlier still contain them"
        ),
        true => format!(
            "{secrets} of earlier imports would be removed: {entries} of session {session} would be redacted with \
             everything they say"
        ),
    }
}

/// Names the file and the line of a problem.
fn in_file(problem: &ReadProblem, session: &FoundSession) -> String {
    let main = session.place.path();
    let path = match &*problem.file {
        "" => main.to_owned(),
        file => main.with_extension("").join(file),
    };
    format!("{}: line {}: {}", path.display(), problem.line, problem.kind)
}

#[derive(Serialize)]
struct Record<'a> {
    #[serde(flatten)]
    session: Option<SessionRecord<'a>>,
    #[serde(flatten)]
    record: ImportRecord<'a>,
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct ImportRecord<'a> {
    /// The session, even if a dry run did not store it.
    imported_as: &'a str,
    agent: &'a str,
    native_session_id: &'a str,
    path: String,
    is_new: bool,
    is_dry_run: bool,
    added_entries: u64,
    added_messages: u64,
    records: u64,
    changed_records: u64,
    secrets_removed: u64,
    stored_secrets_removed: u64,
    entries_redacted: u64,
    dated_in_future: u64,
    #[serde(skip_serializing_if = "Option::is_none")]
    collides_with: Option<&'a str>,
    problem_count: u64,
    problems: Vec<ProblemRecord<'a>>,
}

#[derive(Serialize)]
struct ProblemRecord<'a> {
    #[serde(skip_serializing_if = "str::is_empty")]
    file: &'a str,
    line: u64,
    problem: String,
}

impl<'a> ImportRecord<'a> {
    fn new(imported: &'a Imported, session: &'a FoundSession, is_dry_run: bool) -> Self {
        let problem = |problem: &'a ReadProblem| ProblemRecord {
            file: &problem.file,
            line: problem.line,
            problem: problem.kind.to_string(),
        };
        Self {
            imported_as: imported.session.as_str(),
            agent: imported.format.as_str(),
            native_session_id: &imported.native_session_id,
            path: session.place.path().display().to_string(),
            is_new: imported.is_new,
            is_dry_run,
            added_entries: imported.entries,
            added_messages: imported.messages,
            records: imported.records,
            changed_records: imported.changed,
            secrets_removed: imported.secrets,
            stored_secrets_removed: imported.stored_secrets.secrets,
            entries_redacted: imported.stored_secrets.entries,
            dated_in_future: imported.in_future,
            collides_with: imported.collides_with.as_ref().map(|id| id.as_str()),
            problem_count: imported.problem_count,
            problems: imported.problems.iter().map(problem).collect(),
        }
    }
}
