//! The team as the driver needs it: the table, and for every member how it answers and what it is given.

use std::path::Path;

use tertulia_agent::{AgentKind, AgentSpec};
use tertulia_context::view::Stripping;
use tertulia_context::{AgentType, Assembler, DEFAULT_MAX_BYTES};

use crate::Preamble;
use crate::file::{FileReadError, LibrarianScope, MemberFile, SettingsGuard, TeamFile};
use crate::house::{LIBRARIAN, SCRIBE};
use crate::message::kept_ranges;
use crate::table::{Resolved, Seat, Table, TableError};
use crate::{Limits, Member, MemberKind};

pub use tertulia_context::view::DEFAULT_WINDOW;

/// Who sits at the table, and how they answer.
#[derive(Clone, Debug)]
pub struct Team {
    pub(crate) table: Table,
    pub(crate) members: Vec<TeamMember>,
    /// The task that a new session begins with.
    pub task: Option<String>,
    /// The folder of the project that new sessions belong to, where there is one.
    pub project: Option<String>,
    pub(crate) is_built_in: bool,
    /// The settings that its programs obey, which must not change while they work.
    pub settings: Option<SettingsGuard>,
}

/// One member, with what belongs to its turns.
#[derive(Clone, Debug)]
pub struct TeamMember {
    pub member: Member,
    pub answers: Answers,
    pub role: Option<Box<str>>,
    pub preamble: Preamble,
    /// Its instruction, with the text of its instruction file.
    pub instruction: Option<String>,
    /// How markers are taken out of what it gets.
    pub strip: Stripping,
    /// How many messages it gets word for word.
    pub window: usize,
    pub budget_bytes: u64,
    /// How many tokens its model messages may have, for an endpoint.
    pub budget_tokens: u64,
    pub scope: LibrarianScope,
}

/// How a member answers.
#[derive(Clone, Debug)]
pub enum Answers {
    Person,
    Agent(Box<AgentSpec>),
    Scribe,
    Librarian,
}

const DEFAULT_BUDGET_TOKENS: u64 = 100_000;

/// Of a model's window so many hundredths are for the prompt; the rest is for its system text, tools and answer.
const WINDOW_SHARE: u64 = 60;
/// A token has at least so many bytes in most texts; in prose it has more.
const TOKEN_BYTES: u64 = 3;

const WINDOW_TOKENS: u64 = 128_000;

impl Team {
    /// A team of these members, in this order.
    pub fn new(
        members: Vec<TeamMember>,
        limits: Limits,
        task: Option<String>,
    ) -> Result<Self, TableError> {
        let table = Table::new(members.iter().map(|one| one.member.clone()))?.with_limits(limits);
        Ok(Self { table, members, task, project: None, is_built_in: false, settings: None })
    }

    /// The same team, at work in this project: its folder.
    #[must_use]
    pub fn in_project(mut self, folder: &str) -> Self {
        self.project = Some(folder.to_owned());
        self
    }

    /// The same team, where no team file was found: it may be suggested to create one.
    #[must_use]
    pub fn without_file(mut self) -> Self {
        self.is_built_in = true;
        self
    }

    /// The team of a file. `base` is the folder of the file, where paths start and agents without a `cwd` work.
    pub fn from_file(file: &TeamFile, base: &Path) -> Result<Self, TeamError> {
        Self::from_file_in(file, base, base)
    }

    /// The same, with another folder for agents without a `cwd`, for a file that is not the project's.
    pub fn from_file_in(file: &TeamFile, base: &Path, work: &Path) -> Result<Self, TeamError> {
        let table = file.table()?;
        let member = |member: &MemberFile| TeamMember::from_file(member, file, base, work);
        let members = file.members.iter().map(member);
        let members = members.collect::<Result<_, _>>()?;
        let task = file.task.as_deref().map(str::to_owned);
        Ok(Self { table, members, task, project: None, is_built_in: false, settings: None })
    }

    /// The members, in order.
    pub fn members(&self) -> &[TeamMember] {
        &self.members
    }

    /// The member of this exact name.
    pub fn member(&self, name: &str) -> Option<&TeamMember> {
        self.members.iter().find(|one| *one.member.name == *name)
    }

    /// Whether a session of this project belongs to another one than the team works in.
    pub(crate) fn is_elsewhere(&self, project: Option<&str>) -> bool {
        self.project.is_some() && self.project.as_deref() != project
    }

    /// The member that is meant by a written name, as a marker would mean it.
    pub fn named(&self, written: &str) -> Result<&TeamMember, UnknownMember> {
        let nearest = match self.table.resolve(written) {
            Resolved::Member(Seat(seat)) => match self.members.get(seat) {
                Some(member) => return Ok(member),
                None => None,
            },
            Resolved::Several(_) => None,
            Resolved::Unknown { nearest } => nearest,
        };
        let members = self.members.iter().map(|one| one.member.name.clone()).collect();
        Err(UnknownMember { name: written.into(), nearest, members })
    }

    /// The table.
    pub fn table(&self) -> &Table {
        &self.table
    }

    pub(crate) fn window_max(&self) -> usize {
        self.members.iter().map(|one| one.window).max().unwrap_or(DEFAULT_WINDOW)
    }
}

/// A team that cannot be made of its file.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum TeamError {
    #[error(transparent)]
    Table(#[from] TableError),
    #[error(transparent)]
    File(#[from] FileReadError),
}

/// A name that nobody at the table has.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error(
    "'{name}' is not in the team{}; there are: {}",
    nearest.as_ref().map(|name| format!(" (did you mean {name}?)")).unwrap_or_default(),
    members.join(", ")
)]
pub struct UnknownMember {
    pub name: Box<str>,
    pub nearest: Option<Box<str>>,
    pub members: Vec<Box<str>>,
}

impl TeamMember {
    fn from_file(
        file: &MemberFile,
        team: &TeamFile,
        base: &Path,
        work: &Path,
    ) -> Result<Self, FileReadError> {
        let answers = match (&file.agent, file.agent_spec(base, work)?) {
            (Some(agent), _) if *agent == SCRIBE => Answers::Scribe,
            (Some(agent), _) if *agent == LIBRARIAN => Answers::Librarian,
            (_, Some(spec)) => Answers::Agent(Box::new(spec)),
            (_, None) => Answers::Person,
        };
        let usual = Self::new(team.seated(file), answers);
        Ok(Self {
            role: file.role.clone(),
            preamble: file.preamble_text(base)?,
            instruction: file.instruction_text(base)?,
            window: file.window.unwrap_or(usual.window),
            budget_bytes: file.budget_bytes.map_or(usual.budget_bytes, |bytes| bytes as u64),
            budget_tokens: file.budget_tokens.map_or(usual.budget_tokens, |tokens| tokens as u64),
            scope: file.scope,
            ..usual
        })
    }

    /// A person of this name.
    pub fn person(name: &str) -> Self {
        Self::new(Member::human(name), Answers::Person)
    }

    /// An agent of this name.
    pub fn agent(name: &str, spec: AgentSpec) -> Self {
        Self::new(Member::ai(name), Answers::Agent(Box::new(spec)))
    }

    /// The house member that writes minutes.
    pub fn scribe(name: &str) -> Self {
        Self::new(Member::ai(name), Answers::Scribe)
    }

    /// A member with the usual sizes and no instruction.
    pub fn new(member: Member, answers: Answers) -> Self {
        let window_tokens = match &answers {
            Answers::Agent(spec) => spec.kind.definition().window_tokens,
            Answers::Person | Answers::Scribe | Answers::Librarian => WINDOW_TOKENS,
        };
        // What surely fits into the window of its model.
        let bytes = window_tokens * WINDOW_SHARE / 100 * TOKEN_BYTES;
        Self {
            member,
            answers,
            role: None,
            preamble: Preamble::default(),
            instruction: None,
            strip: Stripping::Ranges(kept_ranges),
            window: DEFAULT_WINDOW,
            budget_bytes: bytes.min(DEFAULT_MAX_BYTES),
            budget_tokens: DEFAULT_BUDGET_TOKENS,
            scope: LibrarianScope::default(),
        }
    }

    /// Whether it is a person.
    pub fn is_person(&self) -> bool {
        self.member.kind == MemberKind::Human
    }

    pub(crate) fn is_scribe(&self) -> bool {
        matches!(self.answers, Answers::Scribe)
    }

    pub(crate) fn is_endpoint(&self) -> bool {
        matches!(&self.answers, Answers::Agent(spec) if matches!(spec.kind, AgentKind::OpenAi(_)))
    }

    /// The name that is shown.
    pub fn shown_name(&self) -> &str {
        self.member.display_name.as_deref().unwrap_or(&self.member.name)
    }

    /// The format of its prompt. Texts of others are in it, so it is an escaped one.
    pub(crate) fn assembler(&self) -> Assembler {
        let format = match &self.answers {
            Answers::Agent(spec) => AgentType::named(spec.kind.definition().prompt_format),
            Answers::Person | Answers::Scribe | Answers::Librarian => AgentType::named("text"),
        };
        match format {
            AgentType::Other(_) => Assembler::labelled_text().escaped(),
            known => Assembler::from(&known).escaped(),
        }
    }
}
