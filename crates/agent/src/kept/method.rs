//! The ways in which agents keep a session, and where they store it. The agents' own files in `agents` choose one.

use std::collections::BTreeMap;
use std::os::unix::fs::MetadataExt;
use std::path::PathBuf;
use std::sync::{Mutex, MutexGuard, PoisonError};

use tertulia_dialect::native::NativeFormat;

use crate::agents::acp;
use crate::memory::{export as document, short_hash, transcript};
use crate::process::environment::Environment;
use crate::process::{CommandLine, LiveAgent, Prepared, StartError};
use crate::{AgentKind, AgentSpec, CancelToken, Drift, Job, NativeHead};

/// How a coding agent with its own program keeps a session.
#[derive(Debug)]
pub(crate) enum CliMemory {
    /// Its process gets one turn after the other. The function starts it, and continues the session of a head.
    Live {
        start: StartLive,
        store: Store,
    },
    /// Each turn starts a new process, whose arguments name the session.
    Resumed {
        store: Store,
    },
    Unsupported {
        reason: &'static str,
    },
}

pub(crate) type StartLive = fn(Job<'_>, Option<&NativeHead>) -> Result<LiveAgent, StartError>;

/// Where an agent stores its sessions.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Store {
    File(Transcript),
    Export(Export),
}

/// A session that the agent prints as a JSON document, because it is in a database.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Export {
    pub(crate) print: fn(&CommandLine, session: &str, &CancelToken) -> Result<Vec<u8>, Drift>,
    /// Returns the files of the database. While they do not change, the session does not change.
    pub(crate) files: fn(&Environment) -> Vec<PathBuf>,
}

impl Export {
    /// Returns a text that changes when a file of the database is written; `None` if there is no file.
    pub(super) fn state(&self, command: &CommandLine) -> Option<Box<str>> {
        let files = (self.files)(&command.environment);
        let state = |path: &PathBuf| {
            let file = std::fs::metadata(path).ok()?;
            let times = (file.mtime(), file.mtime_nsec(), file.ctime(), file.ctime_nsec());
            Some((file.ino(), file.len(), times))
        };
        let states: Vec<_> = files.iter().map(state).collect();
        states.first()?.as_ref()?;
        Some(short_hash(format!("{states:?}").as_bytes()))
    }
}

/// The file of a session.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Transcript {
    pub(crate) format: NativeFormat,
    /// Finds the file of the session with this id.
    pub(crate) find: fn(&Environment, session: &str) -> Option<PathBuf>,
    /// Returns whether another process uses the session, for agents that record it.
    pub(crate) is_in_use: fn(&Environment, session: &str) -> bool,
}

/// The way of one agent.
pub(super) enum Method {
    Live { start: StartLive, store: Store },
    Acp,
    Resumed { store: Store },
}

impl Method {
    /// Returns the way of an agent, or the reason why it has none.
    pub(super) fn of(spec: &AgentSpec) -> Result<Self, Box<str>> {
        let reason = match &spec.kind {
            AgentKind::Cli(agent) => match agent.cli.as_ref().map(|cli| &cli.memory) {
                Some(CliMemory::Live { start, store }) => {
                    return Ok(Self::Live { start: *start, store: *store });
                }
                Some(CliMemory::Resumed { store }) => return Ok(Self::Resumed { store: *store }),
                Some(CliMemory::Unsupported { reason }) => reason,
                None => "it has no program of its own",
            },
            AgentKind::Acp => return Ok(Self::Acp),
            AgentKind::Command(_) => "a program of your own gets the whole prompt in every turn",
            AgentKind::OpenAi(_) => "an endpoint has no session and gets the whole history",
            AgentKind::Script(_) => "written answers need no memory",
        };
        Err(reason.into())
    }

    pub(super) fn store(&self) -> Option<Store> {
        match self {
            Self::Live { store, .. } | Self::Resumed { store } => Some(*store),
            Self::Acp => None,
        }
    }

    /// Returns the command of the agent, without the arguments of a turn.
    pub(super) fn command(&self, spec: &AgentSpec) -> Result<CommandLine, Drift> {
        let command = match (self, spec.program.as_deref()) {
            (Self::Acp, Some(name)) => acp::command(name, spec),
            (Self::Acp, None) => {
                let reason = "no program is named".into();
                return Err(Drift::Refused { reason });
            }
            _ => Prepared::command(spec),
        };
        command.map_err(|error| Drift::Refused { reason: error.to_string().into() })
    }
}

impl Store {
    /// Compares the stored session with the state in which the last turn left it. Printing a session takes long, so
    /// that is only done for a turn, which can be cancelled.
    pub(super) fn check(
        self,
        command: &CommandLine,
        head: &NativeHead,
        has_process: bool,
        (seen, turn): (&Seen, Option<&CancelToken>),
    ) -> Result<(), Drift> {
        match self {
            Self::File(Transcript { format, find, is_in_use }) => {
                // Our own process uses it, too.
                if !has_process && is_in_use(&command.environment, &head.session) {
                    return Err(Drift::Busy);
                }
                let found = || find(&command.environment, &head.session);
                let Some(path) = head.path.clone().or_else(found) else {
                    return Err(Drift::Missing { path: None });
                };
                transcript::check(format, &path, head)
            }
            Self::Export(export) => {
                let state = export.state(command);
                if state.is_some() && seen.state_of(head) == state {
                    return Ok(());
                }
                let Some(cancel) = turn else { return Ok(()) };
                document::check(&(export.print)(command, &head.session, cancel)?, head)?;
                // The state of before, because somebody may have written while it was printed.
                seen.note(head, state);
                Ok(())
            }
        }
    }
}

/// The states of databases in which sessions were found unchanged. Printing a session takes a second, so it is not
/// printed again for the same state.
#[derive(Debug, Default)]
pub(super) struct Seen(Mutex<States>);

/// For each session: the hash of its messages, and the state of the database.
type States = BTreeMap<Box<str>, (Box<str>, Box<str>)>;

impl Seen {
    fn states(&self) -> MutexGuard<'_, States> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn state_of(&self, head: &NativeHead) -> Option<Box<str>> {
        let states = self.states();
        let (hash, state) = states.get(&head.session)?;
        (*hash == head.hash).then(|| state.clone())
    }

    pub(super) fn note(&self, head: &NativeHead, state: Option<Box<str>>) {
        if let Some(state) = state {
            self.states().insert(head.session.clone(), (head.hash.clone(), state));
        }
    }
}
