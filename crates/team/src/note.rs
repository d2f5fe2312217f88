//! What was refused or changed, so that nothing is dropped silently. Made by the machine, shown by the
//! driver, kept for `why`.

use std::fmt;

use tertulia_session::{EntryId, Intent};

/// Something that was not done as it was asked for.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Note {
    /// A name in a marker that nobody has.
    UnknownName {
        /// The message.
        entry: EntryId,
        /// The name as it was written, at most 80 characters of it.
        name: Box<str>,
        /// The nearest known name.
        nearest: Option<Box<str>>,
    },
    /// A display name that several members share.
    AmbiguousName {
        /// The message.
        entry: EntryId,
        /// The name as it was written.
        name: Box<str>,
        members: Vec<Box<str>>,
    },
    /// The member waits already for the same message with the same intent, or was asked before.
    Duplicate {
        /// The message.
        entry: EntryId,
        member: Box<str>,
        /// The turn that there is.
        turn: EntryId,
    },
    /// The member is the last in the queue already and will see this message too.
    Adjacent {
        /// The message.
        entry: EntryId,
        member: Box<str>,
        /// The turn that waits.
        turn: EntryId,
    },
    /// The queue is full.
    Overflow {
        /// The message.
        entry: EntryId,
        /// The member that was not queued.
        member: Box<str>,
        /// How many wait.
        limit: usize,
    },
    /// Many wait for answers to this message: the turn was put back to P3.
    Demoted {
        /// The message.
        entry: EntryId,
        turn: EntryId,
        member: Box<str>,
        asked: Intent,
    },
    /// More names in one message than are looked at.
    TooManyNames {
        /// The message.
        entry: EntryId,
        /// How many were not looked at.
        ignored: usize,
    },
    /// Something that looks like a marker or a mention and is none.
    LookAlike {
        /// The message.
        entry: EntryId,
        /// What it looks like, such as `NEXT`.
        marker: &'static str,
        /// The name or text in it.
        name: Box<str>,
    },
    /// A marker or a mention that does not count where it is: inside a sentence or a list, or where it may
    /// be quoted or code: right below a quote, indented, in HTML, in a link.
    Unheard {
        /// The message.
        entry: EntryId,
        /// The marker as it is written, at most 80 characters of it.
        marker: Box<str>,
    },
    /// An agent wrote `[FROM: …]`; it stays who it is.
    FromIgnored {
        /// The message.
        entry: EntryId,
        /// The name that it claimed.
        name: Box<str>,
    },
    /// An agent wrote `[TEAM_TASK: …]`; only people set the task.
    TeamTaskIgnored {
        /// The message.
        entry: EntryId,
    },
    /// An answer that was cut off; its markers are not obeyed.
    Partial {
        turn: EntryId,
        /// The message.
        entry: EntryId,
    },
    /// An answer to a turn that has ended, or that nobody knows; its markers are not obeyed.
    Late {
        turn: EntryId,
        /// The message, if there is one.
        entry: Option<EntryId>,
    },
    /// A person answered no: nothing starts, and what waited is cancelled.
    Declined {
        /// The message.
        entry: EntryId,
        /// How many turns are cancelled.
        turns: usize,
    },
    /// An agent failed, and the queue goes on.
    Failed {
        turn: EntryId,
        member: Box<str>,
        /// The class of the failure.
        class: Box<str>,
        /// Whether all that wait are paused.
        is_paused: bool,
    },
    /// There is no such turn to cancel.
    NothingToCancel { turn: EntryId },
    /// A turn that cannot be repeated.
    CannotRepeat {
        turn: EntryId,
        /// Why not.
        reason: &'static str,
    },
    /// A cost of somebody who does not sit at the table; it counts for the session.
    UnknownSpender {
        /// The name.
        member: Box<str>,
    },
}

impl Note {
    /// The entries that the note is about.
    pub fn ids(&self) -> Vec<&EntryId> {
        match self {
            Self::UnknownName { entry, .. }
            | Self::AmbiguousName { entry, .. }
            | Self::Overflow { entry, .. }
            | Self::TooManyNames { entry, .. }
            | Self::LookAlike { entry, .. }
            | Self::Unheard { entry, .. }
            | Self::FromIgnored { entry, .. }
            | Self::Declined { entry, .. }
            | Self::TeamTaskIgnored { entry } => vec![entry],
            Self::Duplicate { entry, turn, .. }
            | Self::Adjacent { entry, turn, .. }
            | Self::Demoted { entry, turn, .. }
            | Self::Partial { turn, entry } => vec![entry, turn],
            Self::Late { turn, entry } => entry.iter().chain([turn]).collect(),
            Self::Failed { turn, .. }
            | Self::NothingToCancel { turn }
            | Self::CannotRepeat { turn, .. } => vec![turn],
            Self::UnknownSpender { .. } => Vec::new(),
        }
    }
}

impl fmt::Display for Note {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::UnknownName { entry, name, nearest } => {
                write!(f, "{entry} names '{name}', but nobody is called that")?;
                nearest.as_ref().map_or(Ok(()), |near| write!(f, "; did you mean {near}?"))
            }
            Self::AmbiguousName { entry, name, members } => {
                write!(f, "{entry} names '{name}', which may be {}", members.join(" or "))
            }
            Self::Duplicate { entry, member, turn } => {
                write!(f, "{entry} asks for {member} twice; turn {turn} is the one")
            }
            Self::Adjacent { entry, member, turn } => {
                write!(f, "{member} is already queued (turn {turn}) and will see {entry}")
            }
            Self::Overflow { entry, member, limit: 1 } => {
                write!(f, "a turn waits, and no more may, so {member} was not queued for {entry}")
            }
            Self::Overflow { entry, member, limit } => {
                write!(f, "{limit} turns wait, so {member} was not queued for {entry}")
            }
            Self::Demoted { entry, turn, member, asked } => {
                let asked = asked.as_str();
                write!(f, "many wait to answer {entry}: {member}'s turn {turn} is P3, not {asked}")
            }
            Self::TooManyNames { entry, ignored: 1 } => {
                write!(f, "{entry} has too many names; the last one was not looked at")
            }
            Self::TooManyNames { entry, ignored } => {
                write!(f, "{entry} has too many names; {ignored} were not looked at")
            }
            Self::LookAlike { entry, marker, name } => {
                write!(
                    f,
                    "Ignored '{name}' in {entry}: it looks like {marker} but is not written like it"
                )
            }
            Self::FromIgnored { entry, name } => {
                write!(f, "Ignored [FROM: {name}] from an agent in {entry}")
            }
            Self::Unheard { entry, marker } => write_unheard(f, entry, marker),
            Self::TeamTaskIgnored { entry } => {
                write!(
                    f,
                    "Ignored [TEAM_TASK: …] from an agent in {entry}: only people set the task"
                )
            }
            Self::Partial { entry, .. } => {
                write!(f, "The answer {entry} was cut off, so nobody it addressed is asked")
            }
            Self::Late { turn, entry: Some(entry) } => {
                write!(f, "{entry} came after turn {turn}; nobody it addressed is asked")
            }
            Self::Late { turn, entry: None } => write!(f, "turn {turn} is not running"),
            Self::Declined { turns, .. } => write_declined(f, *turns),
            Self::Failed { turn, member, class, is_paused } => {
                let others = others_now(*is_paused);
                write!(f, "{member} could not answer in turn {turn} ({class}); {others}")
            }
            Self::NothingToCancel { turn } => write!(f, "turn {turn} neither runs nor waits"),
            Self::CannotRepeat { turn, reason } => {
                write!(f, "turn {turn} cannot be repeated: {reason}")
            }
            Self::UnknownSpender { member } => {
                write!(f, "'{member}' is not in the team; the cost counts for the session")
            }
        }
    }
}

fn write_unheard(f: &mut fmt::Formatter<'_>, entry: &EntryId, marker: &str) -> fmt::Result {
    let place = match marker.starts_with('[') {
        true => "on a line of its own",
        false => "at the start of a line",
    };
    write!(
        f,
        "Ignored {marker} in {entry}: it is inside a sentence, a list, a quote or code. Write it \
         {place}, after an empty line"
    )
}

fn others_now(is_paused: bool) -> &'static str {
    match is_paused {
        true => "the other turns stay paused",
        false => "the others continue",
    }
}

fn write_declined(f: &mut fmt::Formatter<'_>, turns: usize) -> fmt::Result {
    match turns {
        0 => f.write_str("Stopped: nothing was started"),
        1 => f.write_str("Stopped: one queued turn was cancelled"),
        turns => write!(f, "Stopped: {turns} queued turns were cancelled"),
    }
}
