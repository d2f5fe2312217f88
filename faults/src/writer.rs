//! The writer: a process that appends batches from several threads and prints the result of each,
//! in one write, only after the append returned. This is the process that is killed, stopped,
//! traced and given faults.

use std::io::Write;
use std::path::Path;
use std::process::Command;
use std::thread;
use std::time::{Duration, Instant};

use tertulia_store::{Append, NewSession, SessionId, SessionStore, StoreError, StoreUrl};

use crate::ack_log::{Failed, Line};
use crate::batch::Batch;
use crate::error::FaultsError;
use crate::options::Options;
use crate::tools;

/// Time after which a writer ends by itself.
const LIFE: Duration = Duration::from_secs(120);
/// Number of appends tried on a stopped store before it is reopened.
const TRIES_WHEN_STOPPED: u32 = 2;

/// The task of a writer.
#[derive(Clone, Debug)]
pub(crate) struct Task {
    pub(crate) url: String,
    /// The first letter determines whether it redacts, see [`Batch`].
    pub(crate) name: String,
    pub(crate) threads: u64,
    /// Number of sessions; created if they do not exist.
    pub(crate) sessions: u64,
    /// Number of appends per thread and phase.
    pub(crate) batches: u64,
    /// Number of times the store is opened.
    pub(crate) phases: u64,
}

impl Task {
    pub(crate) fn new(file: &Path, name: &str) -> Self {
        Self::at(&StoreUrl::Sqlite(file.to_owned()).to_string(), name)
    }

    pub(crate) fn at(url: &str, name: &str) -> Self {
        let (url, name) = (url.to_owned(), name.to_owned());
        Self { url, name, threads: 1, sessions: 3, batches: 1_000_000, phases: 1 }
    }

    /// Returns the command that runs it.
    pub(crate) fn command(&self) -> Result<Command, FaultsError> {
        let mut command = tools::own("writer")?;
        command.args(self.arguments());
        Ok(command)
    }

    /// Returns the arguments after the word `writer`.
    pub(crate) fn arguments(&self) -> Vec<String> {
        let Self { url, name, threads, sessions, batches, phases } = self;
        let numbers = [("threads", threads), ("sessions", sessions), ("batches", batches)];
        let numbers = numbers.into_iter().chain([("phases", phases)]);
        let texts = [("url", url.clone()), ("name", name.clone())];
        let pairs = texts.into_iter().chain(numbers.map(|(name, n)| (name, n.to_string())));
        pairs.flat_map(|(name, value)| [format!("--{name}"), value]).collect()
    }

    fn parse(arguments: &[String]) -> Result<Self, FaultsError> {
        let names = ["url", "name", "threads", "sessions", "batches", "phases"];
        let options = Options::parse("writer", arguments, &names)?;
        let mut task = Self::at(options.needed("url")?, options.needed("name")?);
        task.threads = options.number("threads", task.threads)?;
        task.sessions = options.number("sessions", task.sessions)?;
        task.batches = options.number("batches", task.batches)?;
        task.phases = options.number("phases", task.phases)?;
        Ok(task)
    }
}

/// Runs the role.
pub(crate) fn run(arguments: &[String]) -> Result<bool, FaultsError> {
    let task = Task::parse(arguments)?;
    let url =
        task.url.parse::<StoreUrl>().map_err(|error| FaultsError::Usage(error.to_string()))?;
    say(&Line::Started(std::process::id()))?;
    let deadline = Instant::now() + LIFE;
    for phase in 0..task.phases {
        say(&Line::Phase)?;
        let store = match SessionStore::open(&url) {
            Ok(store) => store,
            Err(error) => {
                print_failed("open", &error)?;
                continue;
            }
        };
        make_sessions(&store, task.sessions)?;
        thread::scope(|scope| {
            let numbers = phase * task.batches..(phase + 1) * task.batches;
            let start = |thread: u64| {
                let thread = format!("{}-{thread}", task.name);
                let (store, numbers, sessions) = (&store, numbers.clone(), task.sessions);
                scope.spawn(move || append(store, &thread, numbers, sessions, deadline))
            };
            let threads: Vec<_> = (0..task.threads).map(start).collect();
            threads.into_iter().try_for_each(|thread| {
                let died = |_| Err(FaultsError::unexpected("a thread of the writer died"));
                thread.join().unwrap_or_else(died)
            })
        })?;
    }
    say(&Line::Done)?;
    Ok(true)
}

fn make_sessions(store: &SessionStore, sessions: u64) -> Result<(), FaultsError> {
    for number in 0..sessions {
        let name = session_name(number);
        let made = name
            .parse::<SessionId>()
            .map_err(StoreError::from)
            .and_then(|id| if store.has(&id)? { Ok(None) } else { make(store, id) });
        match made {
            Ok(Some(())) => say(&Line::Created(name))?,
            Ok(None) => {}
            Err(error) => print_failed("create", &error)?,
        }
    }
    Ok(())
}

/// Another writer may be faster.
fn make(store: &SessionStore, id: SessionId) -> Result<Option<()>, StoreError> {
    match store.create(&NewSession { id: Some(id) }) {
        Ok(_) => Ok(Some(())),
        Err(StoreError::SessionExists(_)) => Ok(None),
        Err(error) => Err(error),
    }
}

pub(crate) fn session_name(number: u64) -> String {
    format!("s{number}")
}

/// Runs the appends of one thread.
fn append(
    store: &SessionStore,
    thread: &str,
    numbers: std::ops::Range<u64>,
    sessions: u64,
    deadline: Instant,
) -> Result<(), FaultsError> {
    let mut stopped = 0;
    for number in numbers {
        if Instant::now() > deadline {
            return Ok(());
        }
        let batch = Batch::new(thread, number);
        let session = session_name(batch.session(sessions));
        let id = session.parse::<SessionId>().map_err(StoreError::from)?;
        match store.append(&id, Append::new(batch.entries())) {
            Ok(_) => say(&Line::Stored { session, batch })?,
            Err(error) => {
                let failed = Failed::from_error("append", &error);
                stopped += u32::from(failed.is_stopped());
                say(&Line::Failed(failed))?;
            }
        }
        if stopped > TRIES_WHEN_STOPPED {
            stopped = 0;
            match store.reopen() {
                Ok(()) => say(&Line::Reopened)?,
                Err(error) => print_failed("reopen", &error)?,
            }
        }
    }
    Ok(())
}

fn print_failed(call: &str, error: &StoreError) -> Result<(), FaultsError> {
    say(&Line::Failed(Failed::from_error(call, error)))
}

/// Writes each line in one call, so that a kill leaves no partial line.
fn say(line: &Line) -> Result<(), FaultsError> {
    let mut output = std::io::stdout().lock();
    let written = output.write_all(line.write().as_bytes()).and_then(|()| output.flush());
    written.map_err(FaultsError::io("standard output"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_task_round_trips_through_its_arguments() {
        let task = Task { threads: 4, phases: 2, ..Task::new(Path::new("a b.db"), "w0") };
        let again = Task::parse(&task.arguments()).unwrap();
        assert_eq!(again.arguments(), task.arguments());
        assert_eq!(again.url, "sqlite:a b.db");
    }
}
