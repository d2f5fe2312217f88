//! The team file: the members, the agent that answers for each of them, and their permissions. docs/team-file.md is
//! the reference, schema/tertulia.schema.json the schema. A text is read in stages, one file each: `tree`, `fields`,
//! `member` or `earlier`, `check`. Every stage continues after an error, so that all errors are reported at once.

mod changes;
mod check;
mod earlier;
mod fields;
mod init;
mod member;
mod prices;
mod problem;
mod read;
mod rules;
mod settings;
mod spec;
mod tree;
mod trust;

use std::collections::BTreeMap;
use std::time::Duration;

use tertulia_agent::agents::AgentDefinition;
use tertulia_agent::{CommandOutput, KeptLimits, Permissions};
use tertulia_session::MemoryMode;

use crate::built_in::{LIBRARIAN, SCRIBE};
use crate::prices::{PriceTable, Prices};
use crate::roster::{Limits, Member, MemberKind, Roster, RosterError};

pub use changes::{Change, HideKey, changes};
pub use init::{FoundAgent, first_task, write_new};
pub use member::{LibrarianScope, known_agents, known_fields};
pub use prices::PRICES_FILE;
pub use problem::{FileErrors, FileProblem, Position};
pub use read::{
    ContentHash, Found, Opened, Origin, SearchPaths, config_folder, find, find_project, open,
    open_inside,
};
pub use settings::{Settings, SettingsError, SettingsGuard, WorkFolder};
pub use spec::FileReadError;
pub use trust::{Trust, TrustError, TrustReason, Trusted, needs_trust};

/// The JSON Schema of the team file.
pub const SCHEMA: &str = include_str!("../schema/tertulia.schema.json");

/// The file name of a team file.
pub const FILE_NAME: &str = "tertulia.toml";

/// A valid team file.
#[derive(Clone, Debug, Default)]
pub struct TeamFile {
    pub task: Option<Box<str>>,
    /// The member that gets the messages in which a person addresses nobody.
    pub default: Option<Box<str>>,
    pub limits: Limits,
    pub resources: ResourcesFile,
    pub idle: IdleFile,
    /// The prices of models, which come before those of the user and the built-in ones.
    pub prices: Option<PriceTable>,
    pub members: Vec<MemberFile>,
    /// Warnings about values that are valid but may be mistakes. A comparison of two files ignores them.
    pub warnings: Vec<FileProblem>,
}

/// A member as written in the team file. Relative paths start at the folder of the file.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct MemberFile {
    pub name: Box<str>,
    pub display_name: Option<Box<str>>,
    pub kind: MemberKind,
    pub role: Option<Box<str>>,
    pub agent: Option<&'static AgentDefinition>,
    pub model: Option<Box<str>>,
    pub instruction: Option<Box<str>>,
    pub instruction_file: Option<Box<str>>,
    pub preamble: PreambleFile,
    pub permissions: Permissions,
    /// Number of messages before the newest one that it gets word for word.
    pub window: Option<usize>,
    pub budget_bytes: Option<usize>,
    pub budget_tokens: Option<usize>,
    pub budget_usd: Option<f64>,
    /// Cost of one turn at which it is stopped; `None` for the limit of the team.
    pub budget_usd_turn: Option<f64>,
    /// The members that take over when its usage limit is reached.
    pub fallback: Vec<Box<str>>,
    pub timeout_s: Option<u32>,
    /// Seconds until the first byte of output.
    pub first_byte_s: Option<u32>,
    /// Seconds between two bytes of output.
    pub silence_s: Option<u32>,
    pub resources: ResourcesFile,
    /// The value in `[limits]`, which applies if the member has none.
    pub inherited: ResourcesFile,
    /// The program and its first arguments.
    pub command: Vec<Box<str>>,
    pub args: Vec<Box<str>>,
    pub env: BTreeMap<Box<str>, Box<str>>,
    pub cwd: Option<Box<str>>,
    /// Whether it works in its own git worktree.
    pub worktree: bool,
    pub output: CommandOutput,
    /// The URL of the endpoint, without `/chat/completions`.
    pub base_url: Option<Box<str>>,
    /// The environment variable that holds the key of the endpoint.
    pub key_variable: Option<Box<str>>,
    pub answers: Vec<Box<str>>,
    pub script_file: Option<Box<str>>,
    pub scope: LibrarianScope,
    /// Whether its agent keeps its own session; by default if it can.
    pub memory: Option<MemoryMode>,
    pub color: Option<Box<str>>,
}

/// Resource limits of all processes of a turn together, as written in the team file.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct ResourcesFile {
    pub max_processes: Option<u32>,
    pub max_memory_mb: Option<u32>,
}

/// Limits on the processes of agents that wait for their next turn, as written in the team file.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct IdleFile {
    pub agents: Option<u32>,
    pub minutes: Option<u32>,
}

/// The `preamble` setting as written in the team file.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub enum PreambleFile {
    #[default]
    BuiltIn,
    Off,
    File(Box<str>),
}

/// Returns whether an agent with these permissions may write to its folder. A command runs with the privileges of the
/// user, so it may.
pub(crate) fn may_write(agent: &AgentDefinition, permissions: Permissions) -> bool {
    if agent.takes("permissions") {
        permissions != Permissions::Read
    } else {
        agent.takes("command")
    }
}

impl TeamFile {
    /// Returns the default team: a person and the two built-in members. Needs no installed programs.
    pub fn built_in() -> Self {
        let members = vec![
            MemberFile::human("you"),
            MemberFile::ai("scribe", SCRIBE),
            MemberFile::ai("librarian", LIBRARIAN),
        ];
        Self { default: Some("scribe".into()), ..Self::new(members) }
    }

    /// Creates a file with these members and nothing else.
    pub fn new(members: Vec<MemberFile>) -> Self {
        Self { members, ..Self::default() }
    }

    /// Returns the roster that the file describes. Never fails for a parsed file.
    pub fn roster(&self) -> Result<Roster, RosterError> {
        let members = self.members.iter().map(|file| self.seated(file));
        Ok(Roster::new(members)?.with_limits(self.limits.clone()))
    }

    /// Returns the limits on processes that wait for their next turn.
    pub(crate) fn kept_limits(&self) -> KeptLimits {
        let usual = KeptLimits::default();
        let agents = self.idle.agents.and_then(|agents| usize::try_from(agents).ok());
        let minutes = self.idle.minutes.map(|minutes| Duration::from_secs(60 * u64::from(minutes)));
        KeptLimits {
            processes_max: agents.unwrap_or(usual.processes_max),
            idle: minutes.unwrap_or(usual.idle),
        }
    }

    pub(crate) fn seated(&self, file: &MemberFile) -> Member {
        Member {
            name: file.name.clone(),
            display_name: file.display_name.clone(),
            kind: file.kind,
            is_default: self.default.as_ref() == Some(&file.name),
            budget_usd: file.budget_usd,
            budget_usd_turn: file.budget_usd_turn,
            fallback: file.fallback.clone(),
            may_run_beside: file.may_run_beside(),
        }
    }

    /// Returns the prices of the team: its own, then those of the user, then the built-in ones.
    pub fn prices_after(&self, own: Option<PriceTable>) -> Prices {
        own.into_iter().chain(self.prices.clone()).fold(Prices::default(), Prices::with)
    }

    /// Returns the team without the files outside its folder, and the list of these files. Used for an untrusted
    /// file: nothing is started, and nothing outside the folder is read.
    pub fn without_outside_files(&self) -> (Self, Vec<Box<str>>) {
        let (mut team, mut left_out) = (self.clone(), Vec::new());
        for member in &mut team.members {
            for path in [&mut member.instruction_file, &mut member.script_file] {
                left_out.extend(path.take_if(|path| spec::leads_out(path)));
            }
            if let PreambleFile::File(path) = &member.preamble
                && spec::leads_out(path)
            {
                left_out.push(path.clone());
                member.preamble = PreambleFile::BuiltIn;
            }
        }
        (team, left_out)
    }

    /// Returns the member of exactly this name.
    pub fn member(&self, name: &str) -> Option<&MemberFile> {
        self.members.iter().find(|member| &*member.name == name)
    }
}

impl PartialEq for TeamFile {
    fn eq(&self, other: &Self) -> bool {
        let Self { task, default, limits, resources, idle, prices, members, warnings: _ } = self;
        *task == other.task
            && *default == other.default
            && *limits == other.limits
            && *resources == other.resources
            && *idle == other.idle
            && *prices == other.prices
            && *members == other.members
    }
}

impl MemberFile {
    /// Returns whether a program is started for it.
    pub fn starts_program(&self) -> bool {
        self.agent.is_some_and(|agent| agent.takes("command"))
    }

    /// Returns whether its turns may run beside those of others, because it may not write to the project, or writes to
    /// its own worktree.
    pub fn may_run_beside(&self) -> bool {
        self.worktree || !self.agent.is_some_and(|agent| may_write(agent, self.permissions))
    }

    /// Creates a person.
    pub fn human(name: impl Into<Box<str>>) -> Self {
        Self::new(name.into(), MemberKind::Human, None)
    }

    /// Creates a member for which this agent answers.
    pub fn ai(name: impl Into<Box<str>>, agent: &'static AgentDefinition) -> Self {
        Self::new(name.into(), MemberKind::Ai, Some(agent))
    }

    fn new(name: Box<str>, kind: MemberKind, agent: Option<&'static AgentDefinition>) -> Self {
        Self { name, kind, agent, ..Self::default() }
    }
}
