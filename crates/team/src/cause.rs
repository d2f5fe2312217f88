//! Why a turn is in its state. The text of a cause goes into the log, is read by people (`why`) and is
//! parsed back for replay. Made by the machine; knows no table.

mod text;

use tertulia_context::Intent;
use tertulia_session::EntryId;

/// Why a turn is in its state, and the entries that this rests on.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Cause {
    /// Queued: a message asks for the member.
    Asked {
        /// The message.
        entry: EntryId,
        /// Who said it; `None` for a person from outside.
        by: Option<Box<str>>,
        /// How the member was found.
        how: How,
        /// How urgent it is.
        intent: Intent,
    },
    /// Queued: the person wants the turn again.
    Repeated {
        /// The turn that is repeated.
        turn: EntryId,
        /// The message to be answered.
        entry: EntryId,
        /// Who said it.
        by: Option<Box<str>>,
        /// How urgent it is.
        intent: Intent,
    },
    /// Started: of all that wait, this one is next.
    Chosen {
        /// The turn.
        turn: EntryId,
        /// By which rule.
        rule: Rule,
    },
    /// Done: the member said something.
    Answered {
        /// The turn.
        turn: EntryId,
        /// The message.
        entry: EntryId,
    },
    /// Failed.
    Failed {
        /// The turn.
        turn: EntryId,
        /// The class of the failure.
        class: Box<str>,
    },
    /// Cancelled by the person.
    Cancelled {
        /// The turn.
        turn: EntryId,
        /// Whether all turns were.
        all: bool,
    },
    /// Cancelled: a message says `[DROP: …]`.
    Dropped {
        /// The turn.
        turn: EntryId,
        /// The message.
        entry: EntryId,
        /// Who said it.
        by: Option<Box<str>>,
    },
    /// Cancelled: the person answered no when asked whether it shall continue.
    Declined {
        /// The turn.
        turn: EntryId,
        /// The message.
        entry: EntryId,
        /// Who said it.
        by: Option<Box<str>>,
    },
    /// Cancelled: the person said "go on" while the table waited for this answer.
    PassedOver {
        /// The turn.
        turn: EntryId,
    },
    /// Interrupted: the answer was cut off.
    CutOff {
        /// The turn.
        turn: EntryId,
        /// What there is of the answer.
        entry: EntryId,
    },
    /// Interrupted: the table's process ended while the turn ran.
    TableStopped {
        /// The turn.
        turn: EntryId,
    },
}

/// How a member was found for a message.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum How {
    /// `[NEXT: name]`.
    Next,
    /// `@name`.
    Mention,
    /// Nobody was addressed: the default member.
    Default,
    /// Nobody was addressed, and there is no default member: the first agent.
    FirstAgent,
    /// Nobody was addressed: the agent whose question the message answers.
    Reply,
}

/// By which rule a turn was chosen among those that wait.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Rule {
    /// P1 goes first, oldest first.
    Urgent,
    /// Answers to the last message go before others, P2 before P3, oldest first.
    Local,
    /// P2 before P3, oldest first.
    InTurn,
    /// Others went before it as often as is allowed.
    LongestWait,
}

impl Cause {
    /// The turn that the cause speaks of; `None` where the turn only begins with it.
    pub fn turn(&self) -> Option<&EntryId> {
        match self {
            Self::Asked { .. } | Self::Repeated { .. } => None,
            Self::Chosen { turn, .. }
            | Self::Answered { turn, .. }
            | Self::Failed { turn, .. }
            | Self::Cancelled { turn, .. }
            | Self::Dropped { turn, .. }
            | Self::Declined { turn, .. }
            | Self::PassedOver { turn }
            | Self::CutOff { turn, .. }
            | Self::TableStopped { turn } => Some(turn),
        }
    }

    /// The entries that the cause rests on.
    pub fn ids(&self) -> Vec<&EntryId> {
        match self {
            Self::Asked { entry, .. } => vec![entry],
            Self::Repeated { turn, entry, .. }
            | Self::Answered { turn, entry }
            | Self::Dropped { turn, entry, .. }
            | Self::Declined { turn, entry, .. }
            | Self::CutOff { turn, entry } => vec![turn, entry],
            Self::Chosen { turn, .. }
            | Self::Failed { turn, .. }
            | Self::Cancelled { turn, .. }
            | Self::PassedOver { turn }
            | Self::TableStopped { turn } => vec![turn],
        }
    }

    /// The cause as one sentence for people; `member` is whose turn it is.
    pub fn sentence(&self, member: &str) -> String {
        let who = |by: &Option<Box<str>>| by.as_deref().unwrap_or("the person").to_owned();
        match self {
            Self::Asked { entry, by, how, .. } => match how {
                How::Next => format!("{} asked for {member} in {entry}", who(by)),
                How::Mention => format!("{} wrote @{member} in {entry}", who(by)),
                How::Default => format!("{entry} addresses nobody, and {member} is the default"),
                How::FirstAgent => {
                    format!("{entry} addresses nobody, and {member} is the first agent")
                }
                How::Reply => {
                    format!("{entry} addresses nobody, and {member} had asked {}", who(by))
                }
            },
            Self::Repeated { turn, .. } => format!("the person wants turn {turn} again"),
            Self::Chosen { rule, .. } => match rule {
                Rule::Urgent => "P1 goes first".to_owned(),
                Rule::Local => "answers to the last message go before others".to_owned(),
                Rule::InTurn => "it waited longest at its priority".to_owned(),
                Rule::LongestWait => "too many others had gone before it".to_owned(),
            },
            Self::Answered { entry, .. } => format!("{member} said {entry}"),
            Self::Failed { class, .. } => format!("{member} could not answer ({class})"),
            Self::Cancelled { all: false, .. } => "the person cancelled it".to_owned(),
            Self::Cancelled { all: true, .. } => "the person cancelled all turns".to_owned(),
            Self::Dropped { entry, by, .. } => format!("{} dropped it in {entry}", who(by)),
            Self::Declined { entry, by, .. } => format!("{} said no in {entry}", who(by)),
            Self::PassedOver { .. } => {
                format!("the person continued without an answer from {member}")
            }
            Self::CutOff { entry, .. } => format!("the answer {entry} was cut off"),
            Self::TableStopped { .. } => {
                "the program ended while it ran; it is retried only when asked for".to_owned()
            }
        }
    }
}
