//! The table: who sits at it, in order, and what it allows. Built by whoever reads the team file; asked
//! by the router for names and by the machine for limits. It knows no message and no turn.

use crate::message::plain;
use crate::names::{fold, nearest_name};

/// A person or an agent.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum MemberKind {
    #[default]
    Human,
    Ai,
}

/// Who sits at the table.
#[derive(Clone, Debug, PartialEq)]
pub struct Member {
    /// The name in markers and entries; unique at the table.
    pub name: Box<str>,
    /// The name that is shown; may stand in markers too, where it is nobody else's.
    pub display_name: Option<Box<str>>,
    pub kind: MemberKind,
    /// Whether a person's message that addresses nobody goes here.
    pub is_default: bool,
    pub budget_usd: Option<f64>,
}

/// What the table allows before it refuses, or pauses and asks.
#[derive(Clone, Debug, PartialEq)]
pub struct Limits {
    /// Turns that may wait at once; more are refused.
    pub queue: usize,
    /// Turns that may wait for answers to one message; more are put back to P3.
    pub branch: usize,
    /// Turns in a row that may go before the one that waits longest; P1 does not count.
    pub local: u32,
    /// Turns of agents since a person last spoke.
    pub turns: u32,
    /// Turns between the same two agents since a person last spoke.
    pub pair: u32,
    /// Names in one message that are looked at.
    pub names: usize,
    /// What the session may cost before the person is asked.
    pub budget_usd: Option<f64>,
}

/// The members in order, and the limits.
#[derive(Clone, Debug, PartialEq)]
pub struct Table {
    members: Vec<Member>,
    limits: Limits,
}

/// A team that cannot be seated.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum TableError {
    #[error(
        "'{0}' and '{1}' are one name in a marker (case, blanks, - and _ do not count); rename one"
    )]
    TwoOfOneName(Box<str>, Box<str>),
    #[error("'{0}' is not a valid name: {1}; use letters, digits, - and _")]
    Unwritable(Box<str>, &'static str),
    #[error("'{0}' and '{1}' are both the default member; keep one")]
    TwoDefaults(Box<str>, Box<str>),
    #[error("'{0}' is a person; only an agent can be the default member")]
    HumanDefault(Box<str>),
}

const WRITTEN_BYTES_MAX: usize = 1024;

/// The place of a member, valid for its table.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(crate) struct Seat(pub(crate) usize);

#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Resolved {
    Member(Seat),
    Several(Vec<Box<str>>),
    Unknown { nearest: Option<Box<str>> },
}

impl Member {
    /// A person of this name.
    pub fn human(name: impl Into<Box<str>>) -> Self {
        Self::new(name.into(), MemberKind::Human)
    }

    /// An agent of this name.
    pub fn ai(name: impl Into<Box<str>>) -> Self {
        Self::new(name.into(), MemberKind::Ai)
    }

    fn new(name: Box<str>, kind: MemberKind) -> Self {
        Self { name, display_name: None, kind, is_default: false, budget_usd: None }
    }

    pub(crate) fn names(&self) -> impl Iterator<Item = &str> {
        [Some(&*self.name), self.display_name.as_deref()].into_iter().flatten()
    }
}

impl Default for Limits {
    fn default() -> Self {
        Self { queue: 50, branch: 10, local: 5, turns: 24, pair: 12, names: 100, budget_usd: None }
    }
}

impl Table {
    /// A table with these members and the usual limits.
    pub fn new(members: impl IntoIterator<Item = Member>) -> Result<Self, TableError> {
        let members: Vec<Member> = members.into_iter().collect();
        let mut default: Option<&Member> = None;
        for (index, member) in members.iter().enumerate() {
            writable(&member.name)?;
            let folded = fold(&member.name);
            let twin = members.iter().take(index).find(|other| fold(&other.name) == folded);
            if let Some(twin) = twin {
                return Err(TableError::TwoOfOneName(twin.name.clone(), member.name.clone()));
            }
            if member.is_default {
                if member.kind == MemberKind::Human {
                    return Err(TableError::HumanDefault(member.name.clone()));
                }
                if let Some(other) = default.replace(member) {
                    return Err(TableError::TwoDefaults(other.name.clone(), member.name.clone()));
                }
            }
        }
        Ok(Self { members, limits: Limits::default() })
    }

    /// The same table with these limits.
    #[must_use]
    pub fn with_limits(mut self, limits: Limits) -> Self {
        self.limits = limits;
        self
    }

    /// The members, in order.
    pub fn members(&self) -> &[Member] {
        &self.members
    }

    /// What the table allows.
    pub fn limits(&self) -> &Limits {
        &self.limits
    }

    pub(crate) fn seats(&self) -> impl Iterator<Item = (Seat, &Member)> {
        self.members.iter().enumerate().map(|(index, member)| (Seat(index), member))
    }

    pub(crate) fn member(&self, seat: Seat) -> Option<&Member> {
        self.members.get(seat.0)
    }

    pub(crate) fn name(&self, seat: Seat) -> &str {
        self.member(seat).map_or("", |member| &member.name)
    }

    pub(crate) fn is_human(&self, seat: Seat) -> bool {
        self.member(seat).is_some_and(|member| member.kind == MemberKind::Human)
    }

    pub(crate) fn humans(&self) -> impl Iterator<Item = (Seat, &Member)> {
        self.seats().filter(|(_, member)| member.kind == MemberKind::Human)
    }

    /// The member of exactly this name, as entries write it.
    pub(crate) fn seat_of(&self, name: &str) -> Option<Seat> {
        self.seats().find(|(_, member)| &*member.name == name).map(|(seat, _)| seat)
    }

    /// The member that answers a person who addressed nobody; whether it was named as the default.
    pub(crate) fn default_seat(&self) -> Option<(Seat, bool)> {
        let named = self.seats().find(|(_, member)| member.is_default);
        let first = || self.seats().find(|(_, member)| member.kind == MemberKind::Ai);
        named.map(|(seat, _)| (seat, true)).or_else(|| first().map(|(seat, _)| (seat, false)))
    }

    /// Names go before display names; `@` before a name does not count.
    pub(crate) fn resolve(&self, written: &str) -> Resolved {
        let wanted = fold(written.strip_prefix('@').unwrap_or(written));
        if let Some((seat, _)) = self.seats().find(|(_, member)| fold(&member.name) == wanted) {
            return Resolved::Member(seat);
        }
        let shown = |member: &Member| member.display_name.as_deref().map(fold);
        let same: Vec<_> =
            self.seats().filter(|(_, m)| shown(m).as_ref() == Some(&wanted)).collect();
        match same.as_slice() {
            [] => Resolved::Unknown { nearest: self.nearest(written) },
            [(seat, _)] if !wanted.is_empty() => Resolved::Member(*seat),
            several => Resolved::Several(several.iter().map(|(_, m)| m.name.clone()).collect()),
        }
    }

    fn nearest(&self, written: &str) -> Option<Box<str>> {
        let looks = plain(written.get(..WRITTEN_BYTES_MAX).unwrap_or(written));
        let name = looks.rsplit_once('!').map_or(&*looks, |(name, _)| name);
        let members = self.members.iter();
        let known = members.flat_map(|member| member.names().map(move |name| (name, &member.name)));
        nearest_name(name, known).cloned()
    }
}

fn writable(name: &str) -> Result<(), TableError> {
    let refuse = |why| Err(TableError::Unwritable(name.into(), why));
    let folded = fold(name);
    if folded.is_empty() {
        return refuse("it has only spaces, - and _");
    }
    if folded == "all" {
        return refuse("[DROP: ALL] means everybody");
    }
    let forbidden = |c: char| c.is_control() || matches!(c, '[' | ']' | ',' | '!' | '@' | '`');
    if name.contains(forbidden) {
        return refuse("it holds a control character or one of [ ] , ! @ `");
    }
    Ok(())
}

/// It is not clear which person speaks.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum SpeakerError {
    #[error(
        "no person in this team is called '{name}'{}; use [FROM: name] with one of: {}",
        nearest.as_ref().map(|name| format!(" (did you mean {name}?)")).unwrap_or_default(),
        people.join(", ")
    )]
    Unknown { name: Box<str>, nearest: Option<Box<str>>, people: Vec<Box<str>> },
    #[error(
        "'{name}' is an agent and cannot speak for a person; use [FROM: name] with one of: {}",
        people.join(", ")
    )]
    Agent { name: Box<str>, people: Vec<Box<str>> },
    #[error("the team has several people; use [FROM: name] with one of: {}", people.join(", "))]
    Several { people: Vec<Box<str>> },
}

/// The person who speaks; `None` where no person sits at the table and one speaks from outside.
pub(crate) fn speaker(
    table: &Table,
    awaited: Option<Seat>,
    named: Option<&str>,
) -> Result<Option<Seat>, SpeakerError> {
    let mut people = table.humans();
    let Some((first, _)) = people.next() else { return Ok(None) };
    if let Some(name) = named {
        return match table.resolve(name) {
            Resolved::Member(seat) if table.is_human(seat) => Ok(Some(seat)),
            Resolved::Member(seat) => {
                Err(SpeakerError::Agent { name: table.name(seat).into(), people: names(table) })
            }
            Resolved::Several(_) | Resolved::Unknown { .. } => Err(SpeakerError::Unknown {
                name: crate::message::excerpt(name),
                nearest: nearest_person(table, name),
                people: names(table),
            }),
        };
    }
    match (awaited, people.next()) {
        (Some(awaited), _) => Ok(Some(awaited)),
        (None, None) => Ok(Some(first)),
        (None, Some(_)) => Err(SpeakerError::Several { people: names(table) }),
    }
}

/// An agent with a name that is nearer still cannot be meant.
fn nearest_person(table: &Table, written: &str) -> Option<Box<str>> {
    let people = table.humans();
    let known = people.flat_map(|(_, one)| one.names().map(move |name| (name, &one.name)));
    nearest_name(written, known).cloned()
}

fn names(table: &Table) -> Vec<Box<str>> {
    table.humans().map(|(_, member)| member.name.clone()).collect()
}

#[cfg(test)]
mod tests;
