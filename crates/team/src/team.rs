//! The team in the form that the driver needs: the roster, and for every member its responder and its prompt
//! settings.

use std::borrow::Cow;
use std::path::Path;

use tertulia_agent::{AgentKind, AgentSpec, KeptLimits, MemorySupport, memory_support};
use tertulia_context::view::Stripping;
use tertulia_context::{AgentType, Assembler, AssemblerInput, DEFAULT_MAX_BYTES};
use tertulia_session::MemoryMode;

use crate::Preamble;
use crate::built_in::{LIBRARIAN, SCRIBE};
use crate::file::{FileReadError, LibrarianScope, MemberFile, SettingsGuard, TeamFile, may_write};
use crate::message::kept_ranges;
use crate::prices::Prices;
use crate::roster::{MemberIndex, Resolved, Roster, RosterError};
use crate::worktrees::Worktrees;
use crate::{Limits, Member, MemberKind};

pub use tertulia_context::view::DEFAULT_WINDOW;

/// The members of a session, and how they answer.
#[derive(Clone, Debug)]
pub struct Team {
    pub(crate) roster: Roster,
    pub(crate) members: Vec<TeamMember>,
    /// The initial task of a new session.
    pub task: Option<String>,
    /// The folder of the project that new sessions belong to, if any.
    pub project: Option<String>,
    pub(crate) is_built_in: bool,
    /// The limits on processes of agents that wait for the next turn.
    pub kept: KeptLimits,
    /// The agent settings of the project, which must not change while agents work.
    pub settings: Option<SettingsGuard>,
    /// Where members get their worktrees; without it, members with a worktree cannot answer.
    pub worktrees: Option<Worktrees>,
    /// The prices for agents that report tokens but no cost.
    pub prices: Prices,
}

/// A member, with the settings of its turns.
#[derive(Clone, Debug)]
pub struct TeamMember {
    pub member: Member,
    pub responder: Responder,
    pub role: Option<Box<str>>,
    pub preamble: Preamble,
    /// The instruction, including the text of the instruction file.
    pub instruction: Option<String>,
    /// How markers are removed from its prompts.
    pub strip: Stripping,
    /// Number of messages that it gets word for word.
    pub window: usize,
    pub budget_bytes: u64,
    /// Token limit of its model messages, for an endpoint.
    pub budget_tokens: u64,
    pub scope: LibrarianScope,
    /// Whether it works in its own git worktree.
    pub worktree: bool,
    /// Whether its agent keeps its own session from turn to turn.
    pub memory: MemoryMode,
}

/// The person or program that answers for a member.
#[derive(Clone, Debug)]
pub enum Responder {
    Person,
    Agent(Box<AgentSpec>),
    Scribe,
    Librarian,
}

const DEFAULT_BUDGET_TOKENS: u64 = 100_000;

/// Percentage of a model's window for the prompt; the rest is for its system text, tools and answer.
const WINDOW_SHARE: u64 = 60;
/// Lower bound for the bytes per token in most texts; prose has more.
const TOKEN_BYTES: u64 = 3;

const WINDOW_TOKENS: u64 = 128_000;

impl Team {
    /// Creates a team of these members, in this order.
    pub fn new(
        members: Vec<TeamMember>,
        limits: Limits,
        task: Option<String>,
    ) -> Result<Self, RosterError> {
        let roster = Roster::new(members.iter().map(|one| one.member.clone()))?.with_limits(limits);
        Ok(Self::of(roster, members, task))
    }

    fn of(roster: Roster, members: Vec<TeamMember>, task: Option<String>) -> Self {
        let (project, settings, worktrees) = (None, None, None);
        let (is_built_in, kept, prices) = (false, KeptLimits::default(), Prices::default());
        Self { roster, members, task, project, is_built_in, kept, settings, worktrees, prices }
    }

    /// Sets where members get their worktrees.
    #[must_use]
    pub fn with_worktrees(mut self, worktrees: Worktrees) -> Self {
        self.worktrees = Some(worktrees);
        self
    }

    /// Sets the folder of the project that the team works in.
    #[must_use]
    pub fn in_project(mut self, folder: &str) -> Self {
        self.project = Some(folder.to_owned());
        self
    }

    /// Marks the team as built in, because no team file was found. Answers may then suggest creating one.
    #[must_use]
    pub fn without_file(mut self) -> Self {
        self.is_built_in = true;
        self
    }

    /// Creates the team of a file. Paths are relative to `base`, the folder of the file, where agents without a `cwd` work.
    pub fn from_file(file: &TeamFile, base: &Path) -> Result<Self, TeamError> {
        Self::from_file_in(file, base, base)
    }

    /// Same as [`Self::from_file`], but agents without a `cwd` work in the folder `work`. For a file outside the
    /// project.
    pub fn from_file_in(file: &TeamFile, base: &Path, work: &Path) -> Result<Self, TeamError> {
        let roster = file.roster()?;
        let member = |member: &MemberFile| TeamMember::from_file(member, file, base, work);
        let members = file.members.iter().map(member);
        let members = members.collect::<Result<_, _>>()?;
        let task = file.task.as_deref().map(str::to_owned);
        let (kept, prices) = (file.kept_limits(), file.prices_after(None));
        Ok(Self { kept, prices, ..Self::of(roster, members, task) })
    }

    /// Returns the members, in order.
    pub fn members(&self) -> &[TeamMember] {
        &self.members
    }

    /// Returns the member of exactly this name.
    pub fn member(&self, name: &str) -> Option<&TeamMember> {
        self.members.iter().find(|one| *one.member.name == *name)
    }

    /// Returns whether `project` is not the project that the team works in.
    pub(crate) fn is_other_project(&self, project: Option<&str>) -> bool {
        self.project.is_some() && self.project.as_deref() != project
    }

    /// Finds the member of a written name, with the rules for names in markers.
    pub fn named(&self, written: &str) -> Result<&TeamMember, UnknownMember> {
        let nearest = match self.roster.resolve(written) {
            Resolved::Member(MemberIndex(index)) => match self.members.get(index) {
                Some(member) => return Ok(member),
                None => None,
            },
            Resolved::Several(_) => None,
            Resolved::Unknown { nearest } => nearest,
        };
        let members = self.members.iter().map(|one| one.member.name.clone()).collect();
        Err(UnknownMember { name: written.into(), nearest, members })
    }

    /// Returns the roster.
    pub fn roster(&self) -> &Roster {
        &self.roster
    }

    pub(crate) fn window_max(&self) -> usize {
        self.members.iter().map(|one| one.window).max().unwrap_or(DEFAULT_WINDOW)
    }
}

/// Returns the memory of a member whose team file does not name it.
pub(crate) fn usual_memory(support: &MemorySupport) -> MemoryMode {
    match support {
        MemorySupport::Kept | MemorySupport::Loaded | MemorySupport::Resumed => MemoryMode::Native,
        MemorySupport::Unsupported { .. } => MemoryMode::Fresh,
    }
}

/// The team file does not describe a valid team.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum TeamError {
    #[error(transparent)]
    Roster(#[from] RosterError),
    #[error(transparent)]
    File(#[from] FileReadError),
}

/// No member of the team has this name.
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
        let responder = match (&file.agent, file.agent_spec(base, work)?) {
            (Some(agent), _) if *agent == SCRIBE => Responder::Scribe,
            (Some(agent), _) if *agent == LIBRARIAN => Responder::Librarian,
            (_, Some(spec)) => Responder::Agent(Box::new(spec)),
            (_, None) => Responder::Person,
        };
        let usual = Self::new(team.seated(file), responder);
        Ok(Self {
            role: file.role.clone(),
            preamble: file.preamble_text(base)?,
            instruction: file.instruction_text(base)?,
            window: file.window.unwrap_or(usual.window),
            budget_bytes: file.budget_bytes.map_or(usual.budget_bytes, |bytes| bytes as u64),
            budget_tokens: file.budget_tokens.map_or(usual.budget_tokens, |tokens| tokens as u64),
            scope: file.scope,
            worktree: file.worktree,
            memory: file.memory.unwrap_or(usual.memory),
            ..usual
        })
    }

    /// Creates a person.
    pub fn person(name: &str) -> Self {
        Self::new(Member::human(name), Responder::Person)
    }

    /// Creates a member that an agent answers for.
    pub fn agent(name: &str, spec: AgentSpec) -> Self {
        Self::new(Member::ai(name), Responder::Agent(Box::new(spec)))
    }

    /// Creates the built-in member that summarises the session.
    pub fn scribe(name: &str) -> Self {
        Self::new(Member::ai(name), Responder::Scribe)
    }

    /// Creates a member with default limits and no instruction.
    pub fn new(mut member: Member, responder: Responder) -> Self {
        member.may_run_beside |= match &responder {
            Responder::Agent(spec) => !may_write(spec.kind.definition(), spec.permissions),
            Responder::Person | Responder::Scribe | Responder::Librarian => true,
        };
        let window_tokens = match &responder {
            Responder::Agent(spec) => spec.kind.definition().window_tokens,
            Responder::Person | Responder::Scribe | Responder::Librarian => WINDOW_TOKENS,
        };
        let memory = match &responder {
            Responder::Agent(spec) => usual_memory(&memory_support(spec)),
            Responder::Person | Responder::Scribe | Responder::Librarian => MemoryMode::Fresh,
        };
        // This fits into the window of its model in any case.
        let bytes = window_tokens * WINDOW_SHARE / 100 * TOKEN_BYTES;
        Self {
            member,
            responder,
            role: None,
            preamble: Preamble::default(),
            instruction: None,
            strip: Stripping::Ranges(kept_ranges),
            window: DEFAULT_WINDOW,
            budget_bytes: bytes.min(DEFAULT_MAX_BYTES),
            budget_tokens: DEFAULT_BUDGET_TOKENS,
            scope: LibrarianScope::default(),
            worktree: false,
            memory,
        }
    }

    /// Returns whether the member is a person.
    pub fn is_person(&self) -> bool {
        self.member.kind == MemberKind::Human
    }

    pub(crate) fn is_scribe(&self) -> bool {
        matches!(self.responder, Responder::Scribe)
    }

    pub(crate) fn is_endpoint(&self) -> bool {
        matches!(&self.responder, Responder::Agent(spec) if matches!(spec.kind, AgentKind::OpenAi(_)))
    }

    /// Returns the display name, or else the name.
    pub fn shown_name(&self) -> &str {
        self.member.display_name.as_deref().unwrap_or(&self.member.name)
    }

    /// Returns the system text that its agent gets separately from the prompt, if it does.
    pub(crate) fn separate_system(&self, team: &Team) -> Option<String> {
        let input = AssemblerInput {
            context_messages: Vec::new(),
            current_message: Cow::Borrowed(""),
            team_task: None,
            system_instruction: team.system_text(self).map(Cow::Owned),
            instruction_file_text: None,
            max_bytes: u64::MAX,
        };
        self.assembler().plan(&input).system_flag()
    }

    /// Returns the format of its prompt, with escaping, since the prompt contains texts of others.
    pub(crate) fn assembler(&self) -> Assembler {
        let format = match &self.responder {
            Responder::Agent(spec) => AgentType::named(spec.kind.definition().prompt_format),
            Responder::Person | Responder::Scribe | Responder::Librarian => {
                AgentType::named("text")
            }
        };
        match format {
            AgentType::Other(_) => Assembler::labelled_text().escaped(),
            known => Assembler::from(&known).escaped(),
        }
    }
}
