//! The team file: who sits at the table, which agent answers for each of them, and what they may do.
//! docs/team-file.md is the reference, docs/tertulia.schema.json the schema. A text is read in stages, one file each:
//! `tree`, `desk`, `member` or `earlier`, `check`. Every stage goes on after an error, so that all are told at once.

mod changes;
mod check;
mod desk;
mod earlier;
mod init;
mod member;
mod problem;
mod read;
mod rules;
mod settings;
mod spec;
mod tree;
mod trust;

use std::collections::BTreeMap;

use tertulia_agent::agents::AgentDefinition;
use tertulia_agent::{CommandOutput, Permissions};

use crate::house::{LIBRARIAN, SCRIBE};
use crate::table::{Limits, Member, MemberKind, Table, TableError};

pub use changes::{Change, HideKey, changes};
pub use init::{FoundAgent, first_task, write_new};
pub use member::{LibrarianScope, known_agents, known_fields};
pub use problem::{FileErrors, FileProblem, Position};
pub use read::{ContentHash, Found, Opened, Origin, Places, find, find_project, open, open_inside};
pub use settings::{Settings, SettingsError, SettingsGuard, WorkPlace};
pub use spec::FileReadError;
pub use trust::{Trust, TrustError, TrustReason, Trusted, needs_trust};

/// The JSON Schema of the team file.
pub const SCHEMA: &str = include_str!("../../../docs/tertulia.schema.json");

/// The name under which a team file is looked for.
pub const FILE_NAME: &str = "tertulia.toml";

/// A team file that was read and found good.
#[derive(Clone, Debug, Default)]
pub struct TeamFile {
    pub task: Option<Box<str>>,
    /// The member that gets a person's message which addresses nobody.
    pub default: Option<Box<str>>,
    pub limits: Limits,
    pub resources: ResourcesFile,
    pub members: Vec<MemberFile>,
    /// What is allowed and may still not be meant. Two files that differ only here are equal.
    pub warnings: Vec<FileProblem>,
}

/// A member as the team file describes it. Paths are as written: relative ones start at the folder of the file.
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
    /// How many messages before the newest one it sees.
    pub window: Option<usize>,
    pub budget_bytes: Option<usize>,
    pub budget_tokens: Option<usize>,
    pub budget_usd: Option<f64>,
    pub timeout_s: Option<u32>,
    /// Seconds until the first byte of output.
    pub first_byte_s: Option<u32>,
    /// Seconds between two bytes of output.
    pub silence_s: Option<u32>,
    pub resources: ResourcesFile,
    /// What `[limits]` says of that: it counts where the member itself says nothing.
    pub inherited: ResourcesFile,
    /// The program and its first arguments, word by word.
    pub command: Vec<Box<str>>,
    pub args: Vec<Box<str>>,
    pub env: BTreeMap<Box<str>, Box<str>>,
    pub cwd: Option<Box<str>>,
    pub output: CommandOutput,
    /// The endpoint, up to and without `/chat/completions`.
    pub base_url: Option<Box<str>>,
    /// The variable of our environment that holds the key of the endpoint.
    pub key_variable: Option<Box<str>>,
    pub answers: Vec<Box<str>>,
    pub script_file: Option<Box<str>>,
    pub scope: LibrarianScope,
    pub color: Option<Box<str>>,
}

/// What all processes of a turn together may use, as the team file writes it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct ResourcesFile {
    pub max_processes: Option<u32>,
    pub max_memory_mb: Option<u32>,
}

/// What a member's prompt says about the team, as the team file writes it.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub enum PreambleFile {
    #[default]
    BuiltIn,
    Off,
    File(Box<str>),
}

impl TeamFile {
    /// The table of a fresh machine: a person, and the two house members. Nothing has to be installed.
    pub fn house() -> Self {
        let members = vec![
            MemberFile::human("you"),
            MemberFile::ai("scribe", SCRIBE),
            MemberFile::ai("librarian", LIBRARIAN),
        ];
        Self { default: Some("scribe".into()), ..Self::new(members) }
    }

    /// A file with these members and nothing else.
    pub fn new(members: Vec<MemberFile>) -> Self {
        Self { members, ..Self::default() }
    }

    /// The table that the file describes. A file that was parsed always has one.
    pub fn table(&self) -> Result<Table, TableError> {
        let members = self.members.iter().map(|file| self.seated(file));
        Ok(Table::new(members)?.with_limits(self.limits.clone()))
    }

    pub(crate) fn seated(&self, file: &MemberFile) -> Member {
        Member {
            name: file.name.clone(),
            display_name: file.display_name.clone(),
            kind: file.kind,
            is_default: self.default.as_ref() == Some(&file.name),
            budget_usd: file.budget_usd,
        }
    }

    /// The same team without the files that it names outside of its folder, for a file that nobody has
    /// trusted: nothing is started, and nothing outside is read. Says which were left out.
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

    /// The member of exactly this name.
    pub fn member(&self, name: &str) -> Option<&MemberFile> {
        self.members.iter().find(|member| &*member.name == name)
    }
}

impl PartialEq for TeamFile {
    fn eq(&self, other: &Self) -> bool {
        let Self { task, default, limits, resources, members, warnings: _ } = self;
        *task == other.task
            && *default == other.default
            && *limits == other.limits
            && *resources == other.resources
            && *members == other.members
    }
}

impl MemberFile {
    /// Whether a program is started for it.
    pub fn starts_program(&self) -> bool {
        self.agent.is_some_and(|agent| agent.takes("command"))
    }

    /// A person.
    pub fn human(name: impl Into<Box<str>>) -> Self {
        Self::new(name.into(), MemberKind::Human, None)
    }

    /// A member for whom this agent answers.
    pub fn ai(name: impl Into<Box<str>>, agent: &'static AgentDefinition) -> Self {
        Self::new(name.into(), MemberKind::Ai, Some(agent))
    }

    fn new(name: Box<str>, kind: MemberKind, agent: Option<&'static AgentDefinition>) -> Self {
        Self { name, kind, agent, ..Self::default() }
    }
}
