//! Why a turn is in its state. Made by whoever decides about turns; written into the log as fields.

use crate::EntryId;
use crate::json::{Json, text};
use crate::word::words;

/// Why a turn is in its state, and the entries that this rests on. `by` is who said the message; `None` for a person
/// from outside.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Cause {
    /// Queued: a message asks for the member.
    Asked { entry: EntryId, by: Option<Box<str>>, route: RouteSource, intent: Intent },
    /// Queued: the person wants an earlier turn again, which answers this message.
    Repeated { turn: EntryId, entry: EntryId, by: Option<Box<str>>, intent: Intent },
    /// Started: of all that wait, this one is next.
    Chosen { rule: QueueRule },
    /// Done: the member said this message.
    Answered { entry: EntryId },
    /// Failed, with this class of error.
    Failed { class: Box<str> },
    /// Cancelled by the person, alone or with all turns.
    Cancelled { all: bool },
    /// Cancelled: a message says `[DROP: …]`.
    Dropped { entry: EntryId, by: Option<Box<str>> },
    /// Cancelled: the person answered no when asked whether it shall continue.
    Declined { entry: EntryId, by: Option<Box<str>> },
    /// Cancelled: the person continued while the session waited for this answer.
    PassedOver,
    /// Interrupted: the answer was cut off; the entry is what there is of it.
    CutOff { entry: EntryId },
    /// Interrupted: the program ended while the turn ran.
    ProgramStopped,
    /// A cause that this version does not know: an object, or the text of another program.
    Other(Json),
}

words! {
    /// How a member was found for a message.
    pub enum RouteSource: "next, mention, default, first_agent or reply" {
        /// `[NEXT: name]`.
        Next = "next",
        /// `@name`.
        Mention = "mention",
        /// Nobody was addressed: the default member.
        Default = "default",
        /// Nobody was addressed, and there is no default member: the first agent.
        FirstAgent = "first_agent",
        /// Nobody was addressed: the agent whose question the message answers.
        Reply = "reply",
    }
}

words! {
    /// By which rule a turn was chosen among those that wait.
    pub enum QueueRule: "urgent, local, in_turn or longest_wait" {
        /// P1 goes first, oldest first.
        Urgent = "urgent",
        /// Answers to the last message go before others, P2 before P3, oldest first.
        Local = "local",
        /// P2 before P3, oldest first.
        InTurn = "in_turn",
        /// Others went before it as often as is allowed.
        LongestWait = "longest_wait",
    }
}

words! {
    /// How urgent a turn is.
    #[derive(Default)]
    pub enum Intent: "P1, P2 or P3" {
        /// `!P1`: before everything else.
        Interrupt = "P1",
        /// `!P2`, and what is meant when nothing is said.
        #[default]
        Reply = "P2",
        /// `!P3`: when there is time.
        Extend = "P3",
    }
}

impl Cause {
    /// The entries that the cause rests on, besides the turn itself.
    pub fn ids(&self) -> Vec<&EntryId> {
        match self {
            Self::Asked { entry, .. }
            | Self::Answered { entry }
            | Self::Dropped { entry, .. }
            | Self::Declined { entry, .. }
            | Self::CutOff { entry } => vec![entry],
            Self::Repeated { turn, entry, .. } => vec![turn, entry],
            _ => Vec::new(),
        }
    }

    /// The cause as one sentence for people; `member` is whose turn it is.
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
            Self::Asked { entry, by, route, .. } => match route {
                RouteSource::Next => format!("{} asked for {member} in {entry}", who(by)),
                RouteSource::Mention => format!("{} wrote @{member} in {entry}", who(by)),
                RouteSource::Default => {
                    format!("{entry} addresses nobody, and {member} is the default")
                }
                RouteSource::FirstAgent => {
                    format!("{entry} addresses nobody, and {member} is the first agent")
                }
                RouteSource::Reply => {
                    format!("{entry} addresses nobody, and {member} had asked {}", who(by))
                }
            },
            Self::Repeated { turn, .. } => format!("the person wants turn {turn} again"),
            Self::Chosen { rule } => match rule {
                QueueRule::Urgent => "P1 goes first".to_owned(),
                QueueRule::Local => "answers to the last message go before others".to_owned(),
                QueueRule::InTurn => "it waited longest at its priority".to_owned(),
                QueueRule::LongestWait => "too many others had gone before it".to_owned(),
            },
            Self::Answered { entry } => format!("{member} said {entry}"),
            Self::Failed { class } => format!("{member} could not answer ({class})"),
            Self::Cancelled { all: false } => "the person cancelled it".to_owned(),
            Self::Cancelled { all: true } => "the person cancelled all turns".to_owned(),
            Self::Dropped { entry, by } => format!("{} dropped it in {entry}", who(by)),
            Self::Declined { entry, by } => format!("{} said no in {entry}", who(by)),
            Self::PassedOver => format!("the person continued without an answer from {member}"),
            Self::CutOff { entry } => format!("the answer {entry} was cut off"),
            Self::ProgramStopped => {
                "the program ended while it ran; it is retried only when asked for".to_owned()
            }
            Self::Other(source) => {
                text(source.raw()).unwrap_or_else(|_| source.as_str().to_owned())
            }
        }
    }
}
