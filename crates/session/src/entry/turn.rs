//! A member's turn in the log: its states and their causes, and the agent's activity besides
//! answering.

use crate::json::{Json, text};
use crate::record::field::kinds;
use crate::word_enum::words;
use crate::{EntryId, Fields, Timestamp, TurnMemory, Usd};

/// A member's turn changed its state.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Turn {
    pub member: Box<str>,
    pub state: TurnState,
    /// The turn: the id of its `queued` entry. `None` in that entry itself.
    pub turn_id: Option<EntryId>,
    pub cause: Cause,
    /// The cause as it was read, if it would be written differently now: a text of version 1, or an object with
    /// unknown fields. It is written in place of `cause`.
    pub cause_source: Option<Json>,
    pub error_class: Option<Box<str>>,
    pub prompt_hash: Option<Box<str>>,
    /// The steps that built the prompt, with which it can be built again (docs/session-record.md).
    pub prompt_recipe: Option<Json>,
    pub native_session_id: Option<Box<str>>,
    /// The memory of the agent when the turn started.
    pub memory: Option<Box<TurnMemory>>,
    /// The state of the agent's own session after the turn, as the crate `agent` writes it.
    pub native_head: Option<Json>,
    pub unknown: Fields,
}

words! {
    /// The state of a turn.
    pub enum TurnState: "queued, started, done, failed, cancelled or interrupted" {
        Queued = "queued",
        Started = "started",
        Done = "done",
        Failed = "failed",
        /// The turn was stopped before it began or while it ran.
        Cancelled = "cancelled",
        /// The program stopped while it ran.
        Interrupted = "interrupted",
    }
}

/// Something that happened during a turn and is not a message. No prompt and no model sees it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TurnEvent {
    pub turn_id: EntryId,
    pub member: Box<str>,
    pub activity: TurnActivity,
    /// The payload of the version 1 `custom` entry that it was read from. It is written in place of the fields.
    pub source: Option<Json>,
    pub unknown: Fields,
}

kinds! {
    /// The activity of an agent during a turn. The ids of calls and the texts are those of the agent.
    pub enum TurnActivity {
        /// The agent began its own session, which contains its own record of the turn.
        Began = "began" { session: Box<str> = "nativeSessionId", model: Option<Box<str>> = "model" },
        /// A tool was called.
        ToolStarted = "tool_started" {
            id: Box<str> = "toolCallId", name: Box<str> = "toolName", input: Json = "arguments",
        },
        /// A tool ended.
        ToolFinished = "tool_finished" {
            id: Box<str> = "toolCallId", name: Option<Box<str>> = "toolName", output: Option<Box<str>> = "output",
            is_error: bool = "isError",
        },
        /// A tool was not allowed.
        ToolDenied = "tool_denied" { name: Box<str> = "toolName", reason: Option<Box<str>> = "reason" },
        /// The agent asked for a permission.
        PermissionAsked = "permission_asked" { title: Box<str> = "title" },
        /// The permission was answered. `choice` is the name of the chosen option; `None` for a denial.
        PermissionAnswered = "permission_answered" { title: Box<str> = "title", choice: Option<Box<str>> = "choice" },
        /// The model's thinking.
        Thought = "thought" { text: Box<str> = "text" },
        /// Something went wrong and the agent continued.
        Warned = "warned" { class: Option<Box<str>> = "errorClass", message: Box<str> = "message" },
        /// The turn failed; `cure` contains the advice.
        Failed = "failed" { class: Box<str> = "errorClass", message: Box<str> = "message", cure: Box<str> = "cure" },
        /// The prompt was too large, so the turn is retried with this smaller budget.
        Retried = "retried" { budget: u64 = "budget" },
        /// Another prompt was sent. Its recipe refers to no other recipe.
        Resent = "resent" { prompt_hash: Box<str> = "promptHash", prompt_recipe: Json = "promptRecipe" },
        /// Nothing of the first prompt counts, because the agent could not continue its own session. It gets another
        /// prompt, with this memory.
        MemoryReset = "memory_reset" { memory: Box<TurnMemory> = "memory" },
        .. {
            /// An activity that this version does not know; its fields are the event's unknown
            /// ones.
            Other { kind: Box<str> }: TurnActivity::Other { kind } => kind
        }
    }
}

impl TurnEvent {
    /// Creates an event of a member's turn.
    pub fn new(turn_id: EntryId, member: impl Into<Box<str>>, activity: TurnActivity) -> Self {
        Self { turn_id, member: member.into(), activity, source: None, unknown: Fields::NONE }
    }
}

kinds! {
    /// The cause of a turn's state, with the entries that the decision is based on. `by` is the author of the
    /// message; `None` for a person outside the team.
    #[non_exhaustive]
    pub enum Cause {
        /// Queued: a message addresses the member.
        Asked = "asked" {
            entry: EntryId = "entryId", by: Option<Box<str>> = "by", route: RouteSource = "route",
            intent: Intent = "intent",
        },
        /// Queued: the person retries an earlier turn, which answers this message.
        Repeated = "repeated" {
            entry: EntryId = "entryId", by: Option<Box<str>> = "by", turn: EntryId = "turnId",
            intent: Intent = "intent",
        },
        /// Queued: another member has reached its usage limit in this turn, and this member takes over.
        FellBack = "fell_back" {
            entry: EntryId = "entryId", by: Option<Box<str>> = "by", turn: EntryId = "turnId",
            intent: Intent = "intent",
        },
        /// Queued: the member has reached its usage limit in this turn, and so has every member
        /// that could take over. The turn starts after a limit has ended.
        AwaitsReset = "awaits_reset" {
            entry: EntryId = "entryId", by: Option<Box<str>> = "by", turn: EntryId = "turnId",
            intent: Intent = "intent",
        },
        /// Queued: a person asked several members this question. `turn` is an earlier turn of the ask that the end of the
        /// program interrupted, if this turn replaces it.
        Consulted = "consulted" {
            entry: EntryId = "entryId", by: Option<Box<str>> = "by", round: AskRound = "round",
            turn: Option<EntryId> = "turnId",
        },
        /// Started: this turn is next in the queue.
        Chosen = "chosen" { rule: QueueRule = "rule" },
        /// Done: the member wrote this message.
        Answered = "answered" { entry: EntryId = "entryId" },
        /// Failed, with this class of error. For a usage limit: its scope, when it ends if that is
        /// known, and the tools that the agent had called.
        Failed = "failed" {
            class: Box<str> = "errorClass", limit: Option<Box<str>> = "usageLimit",
            resets_at: Option<Timestamp> = "resetsAt", tools: Option<Box<str>> = "toolsCalled",
        },
        /// Failed: the turn was stopped, because it reached a spending limit.
        Overspent = "overspent" {
            limit: SpendingLimit = "limit", spent: Usd = "spentUsd", allowed: Usd = "allowedUsd",
        },
        /// Cancelled by the person, alone or with all turns.
        Cancelled = "cancelled" { all: bool = "all" },
        /// Cancelled: enough other members had answered this question, and the grace time was over.
        GraceEnded = "grace_ended" { entry: EntryId = "entryId" },
        /// Cancelled: a message contains `[DROP: …]`.
        Dropped = "dropped" { entry: EntryId = "entryId", by: Option<Box<str>> = "by" },
        /// Cancelled: the person answered no when asked whether to continue.
        Declined = "declined" { entry: EntryId = "entryId", by: Option<Box<str>> = "by" },
        /// Cancelled: the person continued while the session waited for this answer.
        PassedOver = "passed_over",
        /// Cancelled: the member has reached its usage limit in this turn, and another one takes
        /// over.
        Limited = "limited" { turn: EntryId = "turnId" },
        /// Interrupted: the answer was cut off; the entry contains the part that arrived.
        CutOff = "cut_off" { entry: EntryId = "entryId" },
        /// Interrupted: the program ended while the turn ran.
        ProgramStopped = "program_stopped",
        .. {
            /// A cause that this version does not know: an object, or the text of another program.
            Other(Json): Cause::Other(_) => ""
        }
    }
}

words! {
    /// The rule that determined the addressee of a message.
    pub enum RouteSource: "next, mention, default, first_agent or reply" {
        /// `[NEXT: name]`.
        Next = "next",
        /// `@name`.
        Mention = "mention",
        /// Nobody was addressed, so the default member answers.
        Default = "default",
        /// Nobody was addressed, and there is no default member, so the first agent answers.
        FirstAgent = "first_agent",
        /// Nobody was addressed, so the agent answers whose question the message answers.
        Reply = "reply",
    }
}

words! {
    /// The part of an ask that a turn belongs to. In every ask, either reactions or a judgement follow the answers, or
    /// nothing does.
    pub enum AskRound: "answer, reaction or judgement" {
        /// The member answers the question, and sees no other answer.
        Answer = "answer",
        /// The member compares the answers.
        Reaction = "reaction",
        /// The judge compares the answers, without the names of their authors.
        Judgement = "judgement",
    }
}

words! {
    /// What a spending limit applies to.
    pub enum SpendingLimit: "turn, member, session or day" {
        /// One turn of a member.
        Turn = "turn",
        /// All turns of a member in the session.
        Member = "member",
        /// The session.
        Session = "session",
        /// All sessions of the store on one day.
        Day = "day",
    }
}

words! {
    /// The rule by which a turn was chosen from the queue.
    pub enum QueueRule: "urgent, local, in_turn or longest_wait" {
        /// P1 comes first, oldest first.
        Urgent = "urgent",
        /// Answers to the last message come before others, P2 before P3, oldest first.
        Local = "local",
        /// P2 before P3, oldest first.
        InTurn = "in_turn",
        /// The other turns were chosen before it as often as allowed.
        LongestWait = "longest_wait",
    }
}

words! {
    /// The priority of a turn.
    #[derive(Default)]
    pub enum Intent: "P1, P2 or P3" {
        /// `!P1`: before everything else.
        Interrupt = "P1",
        /// `!P2`, and the default.
        #[default]
        Reply = "P2",
        /// `!P3`: when there is time.
        Extend = "P3",
    }
}

impl Cause {
    /// Creates the cause of a failure other than a usage limit.
    pub fn failed(class: impl Into<Box<str>>) -> Self {
        Self::Failed { class: class.into(), limit: None, resets_at: None, tools: None }
    }

    /// Returns the entries that the cause is based on, besides the turn itself.
    pub fn ids(&self) -> Vec<&EntryId> {
        match self {
            Self::Asked { entry, .. }
            | Self::GraceEnded { entry }
            | Self::Consulted { entry, turn: None, .. }
            | Self::Answered { entry }
            | Self::Dropped { entry, .. }
            | Self::Declined { entry, .. }
            | Self::CutOff { entry } => vec![entry],
            Self::Repeated { turn, entry, .. }
            | Self::FellBack { turn, entry, .. }
            | Self::Consulted { turn: Some(turn), entry, .. }
            | Self::AwaitsReset { turn, entry, .. } => vec![turn, entry],
            Self::Limited { turn } => vec![turn],
            _ => Vec::new(),
        }
    }

    /// Returns the cause as one sentence for people; `member` is the member whose turn it is.
    ///
    /// ```
    /// use tertulia_session::{Cause, QueueRule};
    ///
    /// let cause = Cause::Chosen { rule: QueueRule::Urgent };
    /// assert_eq!(cause.sentence("max"), "P1 goes first");
    /// ```
    pub fn sentence(&self, member: &str) -> String {
        let who = |by: &Option<Box<str>>| by.as_deref().unwrap_or("the person").to_owned();
        match self {
            Self::Asked { entry, by, route, .. } => route.sentence(member, entry, &who(by)),
            Self::Repeated { turn, .. } => format!("the person retried turn {turn}"),
            Self::FellBack { turn, .. } => {
                format!("{member} takes over, because turn {turn} reached a usage limit")
            }
            Self::AwaitsReset { turn, .. } => {
                format!(
                    "turn {turn} reached a usage limit, and nobody can take over before it ends"
                )
            }
            Self::Consulted { turn: Some(turn), .. } => {
                format!("turn {turn} of the ask was interrupted")
            }
            Self::Consulted { entry, by, round, turn: None } => {
                round.sentence(member, entry, &who(by))
            }
            Self::GraceEnded { entry } => {
                format!("enough others had answered {entry}, and the grace time was over")
            }
            Self::Chosen { rule } => match rule {
                QueueRule::Urgent => "P1 goes first".to_owned(),
                QueueRule::Local => "answers to the last message go first".to_owned(),
                QueueRule::InTurn => "it waited longest of all turns with its priority".to_owned(),
                QueueRule::LongestWait => "too many newer turns went before it".to_owned(),
            },
            Self::Answered { entry } => format!("{member} said {entry}"),
            Self::Failed { class, limit: None, .. } => {
                format!("{member} could not answer ({class})")
            }
            Self::Failed { limit: Some(_), resets_at, .. } => {
                let until = resets_at.as_ref().map(|at| format!(" until {}", at.to_minute()));
                format!("{member} has reached its usage limit{}", until.unwrap_or_default())
            }
            Self::Overspent { limit, spent, allowed } => {
                let (spent, allowed) = (spent.digits(), allowed.digits());
                let limit = match limit {
                    SpendingLimit::Turn => "for one turn",
                    SpendingLimit::Member => "for the member",
                    SpendingLimit::Session => "for the session",
                    SpendingLimit::Day => "for all sessions of the day",
                };
                format!("it was stopped at ${spent}; the limit {limit} is ${allowed}")
            }
            Self::Limited { turn } => {
                format!(
                    "{member} has reached its usage limit in turn {turn}, and another member takes over"
                )
            }
            Self::Cancelled { all: false } => "the person cancelled it".to_owned(),
            Self::Cancelled { all: true } => "the person cancelled all turns".to_owned(),
            Self::Dropped { entry, by } => format!("{} dropped it in {entry}", who(by)),
            Self::Declined { entry, by } => format!("{} said no in {entry}", who(by)),
            Self::PassedOver => format!("the person continued without an answer from {member}"),
            Self::CutOff { entry } => format!("the answer {entry} was cut off"),
            Self::ProgramStopped => {
                "the program ended during this turn; it is retried only on request".to_owned()
            }
            Self::Other(source) => {
                text(source.raw()).unwrap_or_else(|_| source.as_str().to_owned())
            }
        }
    }
}

impl RouteSource {
    /// Returns why a message that `who` wrote was sent to this member.
    fn sentence(self, member: &str, entry: &EntryId, who: &str) -> String {
        match self {
            Self::Next => format!("{who} asked for {member} in {entry}"),
            Self::Mention => format!("{who} wrote @{member} in {entry}"),
            Self::Default => format!("{entry} addresses nobody, and {member} is the default"),
            Self::FirstAgent => {
                format!("{entry} addresses nobody, and {member} is the first agent")
            }
            Self::Reply => format!("{entry} addresses nobody, and {member} had asked {who}"),
        }
    }
}

impl AskRound {
    /// Returns why a member has a turn in this round of an ask by `who`.
    fn sentence(self, member: &str, entry: &EntryId, who: &str) -> String {
        match self {
            Self::Answer => format!("{who} asked several members in {entry}"),
            Self::Reaction => format!("{member} compares the answers to {entry}"),
            Self::Judgement => format!("{member} judges the answers to {entry}"),
        }
    }
}
