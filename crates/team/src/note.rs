//! Notes about requests that were refused or changed, so that nothing is dropped silently. The machine creates them,
//! and `Machine::why` returns them.

use std::borrow::Cow;

use tertulia_session::{EntryId, Intent, Timestamp};

/// A request that was refused or changed. Excerpts of messages in it have at most 80 characters.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum Note {
    #[error(
        "{entry} addresses '{name}', but nobody is called that{}",
        nearest.as_ref().map(|name| format!("; did you mean {name}?")).unwrap_or_default()
    )]
    UnknownName { entry: EntryId, name: Box<str>, nearest: Option<Box<str>> },
    #[error("{entry} addresses '{name}', which can mean {}", members.join(" or "))]
    AmbiguousName { entry: EntryId, name: Box<str>, members: Vec<Box<str>> },
    /// The member is already queued for this message with the same intent, or was asked before.
    #[error("{entry} asks for {member} twice; turn {turn} is kept")]
    Duplicate { entry: EntryId, member: Box<str>, turn: EntryId },
    /// The member is already last in the queue and will see this message too.
    #[error("{member} is already queued (turn {turn}) and will see {entry}")]
    Adjacent { entry: EntryId, member: Box<str>, turn: EntryId },
    #[error("{}, so {member} was not queued for {entry}", match limit {
        1 => "one turn is queued, which is the limit".to_owned(),
        limit => format!("{limit} turns are queued, which is the limit"),
    })]
    Overflow { entry: EntryId, member: Box<str>, limit: usize },
    #[error(
        "too many turns are queued to answer {entry}: {member}'s turn {turn} has priority P3 instead of {}",
        asked.as_str()
    )]
    Demoted { entry: EntryId, turn: EntryId, member: Box<str>, asked: Intent },
    #[error("{entry} addresses too many names; {} ignored", match ignored {
        1 => "the last one was".to_owned(),
        ignored => format!("{ignored} were"),
    })]
    TooManyNames { entry: EntryId, ignored: usize },
    #[error("Ignored '{name}' in {entry}: it looks like {marker} but is spelled differently")]
    LookAlike { entry: EntryId, marker: Cow<'static, str>, name: Box<str> },
    /// A marker or a mention without effect. It is inside a sentence or a list, or where it may be a quote or code:
    /// right below a quote, indented, in HTML or in a link.
    #[error(
        "Ignored {marker} in {entry}: it is inside a sentence, a list, a quote or code. Write it {}, \
         after an empty line",
        if marker.starts_with('[') { "on a line of its own" } else { "at the start of a line" }
    )]
    MarkerIgnored { entry: EntryId, marker: Box<str> },
    #[error("Ignored [FROM: {name}] from an agent in {entry}")]
    FromIgnored { entry: EntryId, name: Box<str> },
    #[error("Ignored [TEAM_TASK: …] from an agent in {entry}: only people set the task")]
    TeamTaskIgnored { entry: EntryId },
    #[error("The answer {entry} was cut off, so nobody it addressed is asked")]
    Partial { turn: EntryId, entry: EntryId },
    /// An answer to a turn that has ended or does not exist.
    #[error("{}", match entry {
        Some(entry) => format!("{entry} came after turn {turn}; nobody it addressed is asked"),
        None => format!("turn {turn} is not running"),
    })]
    Late { turn: EntryId, entry: Option<EntryId> },
    /// A question to several members and its answers address nobody else.
    #[error("{entry} belongs to an ask, so it addresses nobody else; ignored {}", ignored.join(", "))]
    AskIgnores { entry: EntryId, ignored: Vec<Box<str>> },
    /// A person answered no: nothing starts, and the queued turns are cancelled.
    #[error("Stopped: {}", match turns {
        0 => "nothing was started".to_owned(),
        1 => "one queued turn was cancelled".to_owned(),
        turns => format!("{turns} queued turns were cancelled"),
    })]
    Declined { entry: EntryId, turns: usize },
    #[error("{member} could not answer in turn {turn} ({class}); {}", match is_paused {
        true => "the other turns stay paused",
        false => "the others continue",
    })]
    Failed { turn: EntryId, member: Box<str>, class: Box<str>, is_paused: bool },
    #[error(
        "{member} has reached its usage limit{}; {to} takes over turn {turn}",
        resets_at.as_ref().map(|at| format!(" until {}", at.to_minute())).unwrap_or_default()
    )]
    PassedOn { turn: EntryId, member: Box<str>, to: Box<str>, resets_at: Option<Timestamp> },
    /// What is in the worktree of the turn's member, or is unusual about it.
    #[error("{text}")]
    Worktree { turn: EntryId, text: Box<str> },
    #[error("turn {turn} is neither running nor queued")]
    NothingToCancel { turn: EntryId },
    #[error("turn {turn} cannot be retried: {reason}")]
    CannotRepeat { turn: EntryId, reason: Cow<'static, str> },
    #[error("'{member}' is not in the team; the cost counts for the session")]
    UnknownSpender { member: Box<str> },
}

impl Note {
    /// Returns the entries that the note is about.
    pub fn ids(&self) -> Vec<&EntryId> {
        match self {
            Self::UnknownName { entry, .. }
            | Self::AmbiguousName { entry, .. }
            | Self::Overflow { entry, .. }
            | Self::TooManyNames { entry, .. }
            | Self::LookAlike { entry, .. }
            | Self::MarkerIgnored { entry, .. }
            | Self::FromIgnored { entry, .. }
            | Self::AskIgnores { entry, .. }
            | Self::Declined { entry, .. }
            | Self::TeamTaskIgnored { entry } => vec![entry],
            Self::Duplicate { entry, turn, .. }
            | Self::Adjacent { entry, turn, .. }
            | Self::Demoted { entry, turn, .. }
            | Self::Partial { turn, entry } => vec![entry, turn],
            Self::Late { turn, entry } => entry.iter().chain([turn]).collect(),
            Self::Failed { turn, .. }
            | Self::PassedOn { turn, .. }
            | Self::Worktree { turn, .. }
            | Self::NothingToCancel { turn }
            | Self::CannotRepeat { turn, .. } => vec![turn],
            Self::UnknownSpender { .. } => Vec::new(),
        }
    }
}
