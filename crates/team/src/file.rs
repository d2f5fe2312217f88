//! The team file: who sits at the table, which agent answers for each of them, and what they may do.
//! docs/team-file.md is the reference, docs/tertulia.schema.json the schema.
//!
//! Called by the doors and the driver. A text is read in stages, one file each: `tree` (values that know
//! where they stand), `desk` (typed fields), `member` or `earlier` (the two forms of the file), `check`
//! (the rules). Every stage goes on after an error, so that all errors are told at once. It starts no
//! program and knows no session.

mod agent;
mod changes;
mod check;
mod desk;
mod earlier;
mod fields;
mod find;
mod hint;
mod init;
mod member;
mod problem;
mod read;
mod reason;
mod rules;
mod settings;
mod spec;
mod tree;
mod trust;
mod write;

use std::collections::BTreeMap;
use std::path::Path;

use tertulia_agent::agents::AgentDefinition;
use tertulia_agent::{CommandOutput, Permissions};

use crate::house::{LIBRARIAN, SCRIBE};
use crate::table::{Limits, Member, MemberKind, Table, TableError};

pub use agent::{LibrarianScope, known_agents};
pub use changes::{Change, HideKey, changes};
pub use fields::known_fields;
pub use find::{Found, Origin, Places, find, find_project};
pub use init::{FoundAgent, first_task, write_new};
pub use problem::{FileErrors, FileProblem, Position};
pub use read::{ContentHash, Opened, open, open_inside};
pub use reason::{TrustReason, needs_trust};
pub use settings::{Settings, SettingsError, SettingsGuard, WorkPlace};
pub use spec::FileReadError;
pub use trust::{Trust, TrustError, Trusted};

/// The JSON Schema of the team file.
pub const SCHEMA: &str = include_str!("../../../docs/tertulia.schema.json");

/// The name under which a team file is looked for.
pub const FILE_NAME: &str = "tertulia.toml";

/// A team file that was read and found good.
#[derive(Clone, Debug)]
pub struct TeamFile {
    /// What the team is to do.
    pub task: Option<Box<str>>,
    /// The member that gets a person's message which addresses nobody.
    pub default: Option<Box<str>>,
    /// What the table allows.
    pub limits: Limits,
    /// What a turn of any member may use of the machine.
    pub resources: ResourcesFile,
    /// Who sits at the table, in order.
    pub members: Vec<MemberFile>,
    /// What is allowed and may still not be meant. No part of what the file says: two files that
    /// differ only here are equal.
    pub warnings: Vec<FileProblem>,
}

/// A member as the team file describes it. Paths are as written: relative ones start at the folder of
/// the file.
#[derive(Clone, Debug, PartialEq)]
pub struct MemberFile {
    /// The name in markers.
    pub name: Box<str>,
    /// The name that is shown.
    pub display_name: Option<Box<str>>,
    /// A person or an agent.
    pub kind: MemberKind,
    /// What it does in the team, on one line.
    pub role: Option<Box<str>>,
    /// Who answers; `None` for a person.
    pub agent: Option<&'static AgentDefinition>,
    /// The model to ask for.
    pub model: Option<Box<str>>,
    /// The system text.
    pub instruction: Option<Box<str>>,
    /// A file with more of the system text.
    pub instruction_file: Option<Box<str>>,
    /// What its prompt says about the team.
    pub preamble: PreambleFile,
    /// What it may do in its folder.
    pub permissions: Permissions,
    /// How many messages before the newest one it sees.
    pub window: Option<usize>,
    /// How many bytes its prompt may have.
    pub budget_bytes: Option<usize>,
    /// How many tokens its model messages may have.
    pub budget_tokens: Option<usize>,
    /// What its answers may cost before a person is asked.
    pub budget_usd: Option<f64>,
    /// Seconds that a turn may take.
    pub timeout_s: Option<u32>,
    /// Seconds until the first byte of output.
    pub first_byte_s: Option<u32>,
    /// Seconds between two bytes of output.
    pub silence_s: Option<u32>,
    /// What a turn may use of the machine.
    pub resources: ResourcesFile,
    /// What `[limits]` says of that: it counts where the member itself says nothing.
    pub inherited: ResourcesFile,
    /// The program and its first arguments, word by word.
    pub command: Vec<Box<str>>,
    /// More arguments.
    pub args: Vec<Box<str>>,
    /// Variables for its process.
    pub env: BTreeMap<Box<str>, Box<str>>,
    /// The folder it works in.
    pub cwd: Option<Box<str>>,
    /// What its program writes.
    pub output: CommandOutput,
    /// The endpoint, up to and without `/chat/completions`.
    pub base_url: Option<Box<str>>,
    /// The variable of our environment that holds the key of the endpoint.
    pub key_variable: Option<Box<str>>,
    /// Written answers.
    pub answers: Vec<Box<str>>,
    /// A file of written answers.
    pub script_file: Option<Box<str>>,
    /// Which past sessions the librarian searches.
    pub scope: LibrarianScope,
    /// The colour of its name on a screen.
    pub color: Option<Box<str>>,
}

/// What all processes of a turn together may use, as the team file writes it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct ResourcesFile {
    /// How many processes may live at once.
    pub max_processes: Option<u32>,
    /// How many MiB of memory they may have.
    pub max_memory_mb: Option<u32>,
}

/// What a member's prompt says about the team, as the team file writes it.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub enum PreambleFile {
    #[default]
    BuiltIn,
    /// Nothing: `preamble = false`.
    Off,
    /// The text of this file.
    File(Box<str>),
}

impl TeamFile {
    /// Reads a team file in TOML. `place` is the name of the file in errors.
    pub fn parse(text: &str, place: &str) -> Result<Self, FileErrors> {
        member::parse(text, place)
    }

    /// Reads a team file of the earlier system: JSON, `schemaVersion` 1.1 or 1.2.
    pub fn parse_json(text: &str, place: &str) -> Result<Self, FileErrors> {
        earlier::parse(text, place)
    }

    /// Reads a file; whether it is TOML or JSON is seen from its first character. Where the hash is
    /// needed too, call [`open`].
    pub fn read(path: &Path) -> Result<Self, FileErrors> {
        open(path).map(|opened| opened.team)
    }

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
        Self {
            task: None,
            default: None,
            limits: Limits::default(),
            resources: ResourcesFile::default(),
            members,
            warnings: Vec::new(),
        }
    }

    /// The table that the file describes. A file that was parsed always has one.
    pub fn table(&self) -> Result<Table, TableError> {
        let seat = |file: &MemberFile| Member {
            name: file.name.clone(),
            display_name: file.display_name.clone(),
            kind: file.kind,
            is_default: self.default.as_ref() == Some(&file.name),
            budget_usd: file.budget_usd,
        };
        Ok(Table::new(self.members.iter().map(seat))?.with_limits(self.limits.clone()))
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

    /// The file as TOML, without comments; reading it gives the same file again.
    pub fn to_toml(&self) -> String {
        write::team(self)
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
        self.agent.is_some_and(|agent| agent.fields.contains(&"command"))
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
        Self {
            name,
            display_name: None,
            kind,
            role: None,
            agent,
            model: None,
            instruction: None,
            instruction_file: None,
            preamble: PreambleFile::default(),
            permissions: Permissions::default(),
            window: None,
            budget_bytes: None,
            budget_tokens: None,
            budget_usd: None,
            timeout_s: None,
            first_byte_s: None,
            silence_s: None,
            resources: ResourcesFile::default(),
            inherited: ResourcesFile::default(),
            command: Vec::new(),
            args: Vec::new(),
            env: BTreeMap::new(),
            cwd: None,
            output: CommandOutput::default(),
            base_url: None,
            key_variable: None,
            answers: Vec::new(),
            script_file: None,
            scope: LibrarianScope::default(),
            color: None,
        }
    }
}
