//! `tertulia handover`: writes a session for another agent, and prints the command that continues it.

use std::path::{Path, PathBuf};
use std::process::Command;

use serde::Serialize;
use tertulia_dialect::native::NativeFormat;
use tertulia_native::{Environment, find_user, is_session_place, list, resume_command, target};
use tertulia_operations::handover::beside::{NewSession, save_new};
use tertulia_operations::handover::save::{self, Saved};
use tertulia_operations::handover::{
    Handover, HandoverError, HandoverOptions, ItemStatus, Link, hand_over, links,
};
use tertulia_operations::names::{Latest, find_session_or_latest};
use tertulia_session::{Entry, Timestamp};
use tertulia_store::{Append, NewFile, Readers, SessionId, SessionInfo, SessionStore, now_millis};

use super::receipt::{TotalsRecord, load, write_summary};
use super::sessions::{counted, import_linked, import_newest, print_note, write_json, write_line};
use crate::Streams;
use crate::args::HandoverArgs;
use crate::error::{CliError, Result};
use crate::load_team::project_here;
use crate::native_environment::native_environment;
use crate::store_location::StoreLocation;

pub(crate) fn run(args: &HandoverArgs, streams: &mut Streams<'_>) -> Result {
    let location = StoreLocation::read(&args.store)?;
    let environment = native_environment()?;
    let project = project_here();
    let (store, session) = match args.from {
        Some(agent) => {
            let session = import_newest(agent, &project, &location, &environment, streams)?;
            (location.open()?, session)
        }
        None => {
            let store = location.open_required()?;
            let latest = Latest::OfProject(&project);
            let session = find_session_or_latest(&store, args.session.as_deref(), latest)?;
            let links = links(&load(&store, &session)?);
            if !args.dry_run && !links.is_empty() {
                let added = import_linked(&links, &location, &environment, streams)?;
                if added > 0 {
                    let messages = counted(added, "new message", "new messages");
                    print_note(streams, &format!("imported {messages} of the agents first"));
                }
            }
            (store, session)
        }
    };
    let job = Job::new(args, &store, &environment, &session)?;
    let mut options = job.options();
    let mut handed = hand_over(&job.entries, &options);
    let continued = match &handed {
        Ok(handover) => handover.continues.as_ref(),
        Err(HandoverError::UpToDate(link)) => Some(&**link),
        Err(_) => None,
    };
    if continued.is_some_and(|link| !job.can_continue(link)) {
        options.is_new = true;
        handed = hand_over(&job.entries, &options);
    }
    let handover = match handed {
        Err(HandoverError::UpToDate(link))
            if !args.dry_run && (job.restore(&link, streams)? || args.open) =>
        {
            let native_id = &link.native_session_id;
            write_line(streams, &job.command(native_id))?;
            return if args.open { job.open(native_id, streams) } else { Ok(()) };
        }
        handover => handover.map_err(|error| job.refused(&error))?,
    };
    if args.dry_run {
        return job.show(&handover, streams);
    }
    let saved = job.save(&handover, streams)?;
    let receipt = match job.record(&handover, saved.as_ref()) {
        Ok(receipt) => receipt,
        Err(error) => {
            // Without the link in the log, the next import would add these messages as new ones.
            if let Some(saved) = &saved {
                save::undo(saved, handover.continues.as_ref()).map_err(failed)?;
            }
            return Err(error);
        }
    };
    job.report(&handover, saved.as_ref(), &receipt, streams)?;
    if args.open { job.open(&handover.native_session_id, streams) } else { Ok(()) }
}

#[expect(clippy::needless_pass_by_value, reason = "it is passed to `map_err`")]
fn failed(error: impl ToString) -> CliError {
    CliError::Failed(error.to_string())
}

/// One handover.
struct Job<'a> {
    args: &'a HandoverArgs,
    store: &'a SessionStore,
    environment: &'a Environment,
    info: SessionInfo,
    entries: Vec<Entry>,
    folder: String,
    /// The ids of the sessions that the agent has.
    taken: Vec<String>,
    now: Timestamp,
}

impl<'a> Job<'a> {
    fn new(
        args: &'a HandoverArgs,
        store: &'a SessionStore,
        environment: &'a Environment,
        session: &SessionId,
    ) -> Result<Self> {
        let info = store.info(session)?;
        let folder = match &args.folder {
            Some(folder) => folder
                .canonicalize()
                .map_err(|source| CliError::ReadFile { path: folder.clone(), source })?,
            None => {
                let project = info.project.as_deref().map(PathBuf::from);
                project.filter(|path| path.is_dir()).unwrap_or_else(|| project_here().into())
            }
        };
        let entries = load(store, session)?;
        let folder = folder.display().to_string();
        let now = Timestamp::from_millis(now_millis());
        let sessions = list(environment, &[args.to]).sessions;
        let taken = sessions.into_iter().map(|one| one.native_id).collect();
        Ok(Self { args, store, environment, info, entries, folder, taken, now })
    }

    /// Names the options of this command that help.
    fn refused(&self, error: &HandoverError) -> CliError {
        match error {
            HandoverError::UpToDate(link) => CliError::Failed(format!(
                "{} session {id} already has everything; continue it with `{}`, or use --new to write another one",
                link.format.agent_name(),
                self.command(&link.native_session_id),
                id = link.native_session_id,
            )),
            error => CliError::Failed(error.to_string().replace("maxInputTokens", "--budget")),
        }
    }

    fn options(&self) -> HandoverOptions<'_> {
        HandoverOptions {
            to: self.args.to,
            session: self.info.id.as_str(),
            title: self.info.title.as_deref(),
            folder: &self.folder,
            model: self.args.model.as_deref(),
            budget: self.args.budget,
            last: self.args.last.map(|last| last as u64),
            member: self.args.member.as_deref(),
            taken: &self.taken,
            is_new: self.args.new,
            now: self.now.clone(),
        }
    }

    /// Returns whether lines may be added to a session: a log that was imported can contain any path and any id.
    fn can_continue(&self, link: &Link) -> bool {
        let id = &*link.native_session_id;
        let is_plain = |c: char| c.is_ascii_alphanumeric() || "._:-".contains(c);
        let is_id = id.chars().all(is_plain) && !id.starts_with('-') && !id.contains("..");
        let is_place = match (link.format, link.path.as_deref()) {
            (NativeFormat::Opencode, _) => self.taken.iter().any(|taken| *taken == *id),
            (format, Some(path)) => is_session_place(self.environment, format, Path::new(path)),
            (_, None) => false,
        };
        is_id && is_place
    }

    /// Shows what would be handed over.
    fn show(&self, handover: &Handover, streams: &mut Streams<'_>) -> Result {
        if self.args.json {
            return write_json(streams, &self.record_for(handover, None, None));
        }
        let agent = self.args.to.agent_name();
        let messages = counted(handover.messages, "message", "messages");
        let id = &handover.native_session_id;
        let line = match handover.continues {
            Some(_) => format!("would add {messages} to {agent} session {id}"),
            None => format!("would create {agent} session {id} with {messages}"),
        };
        write_line(streams, &line)?;
        write_summary(&handover.receipt, streams)
    }

    /// Saves the session of the agent. Returns `None` if the agent keeps it in a database of its own.
    fn save(&self, handover: &Handover, streams: &mut Streams<'_>) -> Result<Option<Saved>> {
        let id = &handover.native_session_id;
        let known =
            handover.continues.as_ref().and_then(|link| link.path.as_deref()).map(Path::new);
        // A process that has the database of opencode open may be using another session.
        let file = known.filter(|_| !handover.written.is_document);
        if handover.continues.is_some()
            && let Some(user) = find_user(file, id)
        {
            let agent = self.args.to.agent_name();
            return Err(CliError::Failed(format!(
                "{agent} session {id} is in use by process {} ({}); close it and try again, or use --new",
                user.pid, user.program
            )));
        }
        if let (Some(link), Some(path), false) =
            (&handover.continues, known, handover.written.is_document)
        {
            self.restore(link, streams)?;
            return save::append(path, link, &handover.written.text).map(Some).map_err(failed);
        }
        let place = (self.folder.as_str(), self.info.title.as_deref());
        let target = || target(self.environment, self.args.to, id, place, &self.now);
        match save_new(target, handover.written.text.as_bytes()).map_err(failed)? {
            NewSession::Saved(saved) => Ok(Some(saved)),
            NewSession::Command { program, arguments } => {
                self.import(handover, program, arguments)?;
                Ok(None)
            }
        }
    }

    /// Restores a session that its agent has deleted. Returns whether it did.
    fn restore(&self, link: &Link, streams: &mut Streams<'_>) -> Result<bool> {
        let is_gone = |path: &str| !Path::new(path).exists();
        if !link.path.as_deref().is_some_and(is_gone) {
            return Ok(false);
        }
        let Some(saved) = save::restore(&self.entries, link).map_err(failed)? else {
            return Ok(false);
        };
        let agent = self.args.to.agent_name();
        let path = saved.path.display();
        streams.note(&format!("{agent} had deleted {path}; Tertulia restored it byte for byte"));
        Ok(true)
    }

    /// Runs the agent's own import command on a temporary file.
    fn import(&self, handover: &Handover, program: &str, arguments: &[&str]) -> Result {
        let file = tempfile_of(&handover.native_session_id);
        NewFile::replace_with(&file, handover.written.text.as_bytes(), Readers::Owner)
            .map_err(failed)?;
        let mut command = Command::new(program);
        command.args(arguments).arg(&file).current_dir(&self.folder);
        let output = command.output();
        // The agent has read the file.
        let _ = std::fs::remove_file(&file);
        let name = self.args.to.agent_name();
        let output = output.map_err(|error| {
            failed(format!(
                "{name} imports sessions with its own command, and `{program}` cannot be started: {error}; \
                 install it, or put it on the PATH"
            ))
        })?;
        if output.status.success() {
            return Ok(());
        }
        let text = String::from_utf8_lossy(&output.stderr);
        let text =
            if text.trim().is_empty() { String::from_utf8_lossy(&output.stdout) } else { text };
        let last = text.trim().lines().last().unwrap_or_default();
        Err(failed(format!("`{program} {}` failed: {last}", arguments.join(" "))))
    }

    /// Adds to the log how far the session was handed over. Returns the ID of the receipt.
    fn record(&self, handover: &Handover, saved: Option<&Saved>) -> Result<String> {
        let path = saved.map(|saved| saved.path.display().to_string());
        let before = handover.continues.as_ref().map_or(0, |link| link.records);
        let (bytes, hash) = saved.map_or((0, ""), |saved| (saved.bytes, saved.hash.as_str()));
        let figures = (before + handover.written.records, bytes, hash);
        let link = handover.link(self.args.to, path.as_deref(), figures, self.now.clone());
        let id = link.id.to_string();
        self.store.append(&self.info.id, Append::new([link]))?;
        Ok(id)
    }

    fn report(
        &self,
        handover: &Handover,
        saved: Option<&Saved>,
        receipt: &str,
        streams: &mut Streams<'_>,
    ) -> Result {
        if self.args.json {
            return write_json(streams, &self.record_for(handover, saved, Some(receipt)));
        }
        let agent = self.args.to.agent_name();
        let statuses = handover.receipt.by_status();
        let figures = ItemStatus::WORDS.iter().zip(statuses).filter(|(_, tally)| tally.items > 0);
        let figures: Vec<String> =
            figures.map(|(word, tally)| format!("{} {word}", tally.items)).collect();
        let items = counted(handover.receipt.total().items, "item", "items");
        let what = match handover.continues {
            Some(_) => {
                let messages = counted(handover.messages, "message", "messages");
                format!("{messages} added to {agent}. It now has of {items}")
            }
            None => format!("{items} handed over to {agent}"),
        };
        streams.note(&format!("{what}: {}", figures.join(", ")));
        if let Some(saved) = saved {
            streams.note(&format!(
                "session {} in {}",
                handover.native_session_id,
                saved.path.display()
            ));
        }
        print_note(
            streams,
            &format!("`tertulia receipt {receipt}` shows the outcome of every item"),
        );
        streams.note("continue with:");
        write_line(streams, &self.command(&handover.native_session_id))
    }

    /// Returns the command that continues the session, for a shell.
    fn command(&self, native_id: &str) -> String {
        let words = resume_command(self.args.to, native_id);
        let command = words.iter().map(|word| quoted(word)).collect::<Vec<_>>().join(" ");
        match std::env::current_dir() {
            Ok(here) if here == Path::new(&self.folder) => command,
            _ => format!("cd {} && {command}", quoted(&self.folder)),
        }
    }

    /// Replaces this process with the agent.
    fn open(&self, native_id: &str, streams: &mut Streams<'_>) -> Result {
        streams.stdout.flush().map_err(CliError::output)?;
        use std::os::unix::process::CommandExt as _;
        let words = resume_command(self.args.to, native_id);
        let (program, arguments) = words.split_first().ok_or_else(|| failed("no command"))?;
        let error = Command::new(program).args(arguments).current_dir(&self.folder).exec();
        Err(failed(format!("cannot start `{program}`: {error}; install it, or put it on the PATH")))
    }

    fn record_for<'r>(
        &'r self,
        handover: &'r Handover,
        saved: Option<&'r Saved>,
        receipt: Option<&'r str>,
    ) -> HandoverRecord<'r> {
        HandoverRecord {
            session_id: self.info.id.as_str(),
            agent: self.args.to.as_str(),
            native_session_id: &handover.native_session_id,
            continued: handover.continues.is_some(),
            path: saved.map(|saved| saved.path.display().to_string()),
            folder: &self.folder,
            command: resume_command(self.args.to, &handover.native_session_id),
            receipt_id: receipt,
            totals: TotalsRecord::new(&handover.receipt),
        }
    }
}

/// A handover as JSON.
#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct HandoverRecord<'a> {
    session_id: &'a str,
    agent: &'static str,
    native_session_id: &'a str,
    continued: bool,
    #[serde(skip_serializing_if = "Option::is_none")]
    path: Option<String>,
    folder: &'a str,
    command: Vec<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    receipt_id: Option<&'a str>,
    totals: TotalsRecord,
}

fn tempfile_of(native_id: &str) -> PathBuf {
    std::env::temp_dir().join(format!("tertulia-{}-{native_id}.json", std::process::id()))
}

/// Quotes a word for a shell.
fn quoted(word: &str) -> String {
    let is_plain = |c: char| c.is_ascii_alphanumeric() || "/._-+@%:,".contains(c);
    match !word.is_empty() && word.chars().all(is_plain) {
        true => word.to_owned(),
        false => format!("'{}'", word.replace('\'', r"'\''")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_folder_is_quoted_for_the_shell() {
        assert_eq!(quoted("/src/app-1"), "/src/app-1");
        assert_eq!(quoted("/src/my app"), "'/src/my app'");
        assert_eq!(quoted("it's"), r"'it'\''s'");
    }
}
