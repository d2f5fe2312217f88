//! The roster: the members of a team, in order, and its limits. Resolves names for the router and provides the limits
//! to the machine. Contains no messages and no turns.

use crate::message::plain;
use crate::names::{fold, nearest_name};

/// The kind of a member: a person or an agent.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum MemberKind {
    #[default]
    Human,
    Ai,
}

/// A member of the team, as routing sees it.
#[derive(Clone, Debug, PartialEq)]
pub struct Member {
    /// The name in markers and entries; unique in the team.
    pub name: Box<str>,
    /// The name that is shown. Markers may use it too if no other member has it.
    pub display_name: Option<Box<str>>,
    pub kind: MemberKind,
    /// Whether this member gets the messages in which a person addresses nobody.
    pub is_default: bool,
    pub budget_usd: Option<f64>,
    /// Cost of one of its turns at which the turn is stopped; `None` for the limit of the team.
    pub budget_usd_turn: Option<f64>,
    /// The agents that take over its turns, in this order, when it has reached its usage limit.
    pub fallback: Vec<Box<str>>,
    /// Whether its turns may run beside those of others: it may not write to their files, or it has its own copy of
    /// them.
    pub may_run_beside: bool,
}

/// Limits of a session. Beyond them the session refuses a request, or pauses and asks a person.
#[derive(Clone, Debug, PartialEq)]
pub struct Limits {
    /// Maximum number of queued turns; more are refused.
    pub queue: usize,
    /// Maximum number of queued turns for one message. Further turns become P3.
    pub branch: usize,
    /// Maximum number of consecutive turns that overtake the oldest queued turn. P1 turns do not count.
    pub local: u32,
    /// Maximum number of turns of agents since a person last wrote.
    pub turns: u32,
    /// Maximum number of turns between the same two agents since a person last wrote.
    pub pair: u32,
    /// Maximum number of names in one message; further names are ignored.
    pub names: usize,
    /// Maximum number of turns that run at once.
    pub parallel: usize,
    /// Cost of the session after which a person is asked.
    pub budget_usd: Option<f64>,
    /// Cost of one turn at which it is stopped and a person is asked. A member may have its own limit.
    pub budget_usd_turn: Option<f64>,
    /// Cost of all sessions of the store on one day after which a person is asked.
    pub budget_usd_day: Option<f64>,
}

/// The members of a team, in order, and its limits.
#[derive(Clone, Debug, PartialEq)]
pub struct Roster {
    members: Vec<Member>,
    limits: Limits,
}

/// The members do not form a valid team.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum RosterError {
    #[error(
        "'{0}' and '{1}' are the same name in a marker (case, spaces, - and _ are ignored); rename one"
    )]
    TwoOfOneName(Box<str>, Box<str>),
    #[error("'{0}' is not a valid name: {1}; use letters, digits, - and _")]
    Unwritable(Box<str>, &'static str),
    #[error("'{0}' and '{1}' are both the default member; keep one")]
    TwoDefaults(Box<str>, Box<str>),
    #[error("'{0}' is a person; only an agent can be the default member")]
    HumanDefault(Box<str>),
    #[error("the fallback '{1}' of '{0}' {2}")]
    Fallback(Box<str>, Box<str>, FallbackProblem),
}

/// The reason why a member cannot take over the turns of another one.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum FallbackProblem {
    #[error("is not a member of the team")]
    Unknown,
    #[error("is a person; only agents can take over")]
    Human,
    #[error("is the member itself; name another one")]
    Itself,
    #[error("is listed twice; remove one")]
    Twice,
}

const WRITTEN_BYTES_MAX: usize = 1024;

/// The index of a member in its roster.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(crate) struct MemberIndex(pub(crate) usize);

#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Resolved {
    Member(MemberIndex),
    Several(Vec<Box<str>>),
    Unknown { nearest: Option<Box<str>> },
}

impl Member {
    /// Creates a person.
    pub fn human(name: impl Into<Box<str>>) -> Self {
        Self::new(name.into(), MemberKind::Human)
    }

    /// Creates an agent.
    pub fn ai(name: impl Into<Box<str>>) -> Self {
        Self::new(name.into(), MemberKind::Ai)
    }

    fn new(name: Box<str>, kind: MemberKind) -> Self {
        Self {
            name,
            display_name: None,
            kind,
            is_default: false,
            budget_usd: None,
            budget_usd_turn: None,
            fallback: Vec::new(),
            may_run_beside: false,
        }
    }

    /// Sets the agents that take over its turns when it has reached its usage limit.
    #[must_use]
    pub fn with_fallback<N: Into<Box<str>>>(mut self, names: impl IntoIterator<Item = N>) -> Self {
        self.fallback = names.into_iter().map(Into::into).collect();
        self
    }

    /// Allows its turns to run beside those of others, as for a member that writes nothing.
    #[must_use]
    pub fn beside_others(mut self) -> Self {
        self.may_run_beside = true;
        self
    }

    pub(crate) fn names(&self) -> impl Iterator<Item = &str> {
        [Some(&*self.name), self.display_name.as_deref()].into_iter().flatten()
    }
}

impl Default for Limits {
    fn default() -> Self {
        Self {
            queue: 50,
            branch: 10,
            local: 5,
            turns: 24,
            pair: 12,
            names: 100,
            parallel: 1,
            budget_usd: None,
            budget_usd_turn: None,
            budget_usd_day: None,
        }
    }
}

impl Roster {
    /// Creates a roster with these members and the default limits.
    pub fn new(members: impl IntoIterator<Item = Member>) -> Result<Self, RosterError> {
        let members: Vec<Member> = members.into_iter().collect();
        let mut default: Option<&Member> = None;
        for (index, member) in members.iter().enumerate() {
            writable(&member.name)?;
            let folded = fold(&member.name);
            let twin = members.iter().take(index).find(|other| fold(&other.name) == folded);
            if let Some(twin) = twin {
                return Err(RosterError::TwoOfOneName(twin.name.clone(), member.name.clone()));
            }
            if member.is_default {
                if member.kind == MemberKind::Human {
                    return Err(RosterError::HumanDefault(member.name.clone()));
                }
                if let Some(other) = default.replace(member) {
                    return Err(RosterError::TwoDefaults(other.name.clone(), member.name.clone()));
                }
            }
        }
        let kind_of =
            |name: &str| members.iter().find(|other| *other.name == *name).map(|other| other.kind);
        for member in &members {
            let problem = fallback_problems(&member.name, &member.fallback, kind_of).next();
            if let Some((name, problem)) = problem {
                return Err(RosterError::Fallback(member.name.clone(), name.into(), problem));
            }
        }
        Ok(Self { members, limits: Limits::default() })
    }

    /// Returns the members that take over the turns of this one, in order.
    pub(crate) fn fallbacks(&self, index: MemberIndex) -> impl Iterator<Item = MemberIndex> {
        let names = self.member(index).map_or(&[][..], |member| &member.fallback);
        names.iter().filter_map(|name| self.index_of(name))
    }

    pub(crate) fn has_fallbacks(&self) -> bool {
        self.members.iter().any(|member| !member.fallback.is_empty())
    }

    /// Replaces the limits.
    #[must_use]
    pub fn with_limits(mut self, limits: Limits) -> Self {
        self.limits = limits;
        self
    }

    /// Returns the members, in order.
    pub fn members(&self) -> &[Member] {
        &self.members
    }

    /// Returns the limits.
    pub fn limits(&self) -> &Limits {
        &self.limits
    }

    pub(crate) fn indexed(&self) -> impl Iterator<Item = (MemberIndex, &Member)> {
        self.members.iter().enumerate().map(|(index, member)| (MemberIndex(index), member))
    }

    pub(crate) fn member(&self, index: MemberIndex) -> Option<&Member> {
        self.members.get(index.0)
    }

    pub(crate) fn name(&self, index: MemberIndex) -> &str {
        self.member(index).map_or("", |member| &member.name)
    }

    pub(crate) fn is_human(&self, index: MemberIndex) -> bool {
        self.member(index).is_some_and(|member| member.kind == MemberKind::Human)
    }

    pub(crate) fn may_run_beside(&self, index: MemberIndex) -> bool {
        self.member(index).is_some_and(|member| member.may_run_beside)
    }

    pub(crate) fn humans(&self) -> impl Iterator<Item = (MemberIndex, &Member)> {
        self.indexed().filter(|(_, member)| member.kind == MemberKind::Human)
    }

    /// Returns the member of exactly this name, as written in entries.
    pub(crate) fn index_of(&self, name: &str) -> Option<MemberIndex> {
        self.indexed().find(|(_, member)| &*member.name == name).map(|(index, _)| index)
    }

    /// Returns the member that answers messages without names, and whether it is the configured default.
    pub(crate) fn default_member(&self) -> Option<(MemberIndex, bool)> {
        let named = self.indexed().find(|(_, member)| member.is_default);
        let first = || self.indexed().find(|(_, member)| member.kind == MemberKind::Ai);
        named.map(|(index, _)| (index, true)).or_else(|| first().map(|(index, _)| (index, false)))
    }

    /// Finds the member of a written name. Names take precedence over display names; a leading `@` is ignored.
    pub(crate) fn resolve(&self, written: &str) -> Resolved {
        let wanted = fold(written.strip_prefix('@').unwrap_or(written));
        if let Some((index, _)) = self.indexed().find(|(_, member)| fold(&member.name) == wanted) {
            return Resolved::Member(index);
        }
        let shown = |member: &Member| member.display_name.as_deref().map(fold);
        let same: Vec<_> =
            self.indexed().filter(|(_, m)| shown(m).as_ref() == Some(&wanted)).collect();
        match same.as_slice() {
            [] => Resolved::Unknown { nearest: self.nearest(written) },
            [(index, _)] if !wanted.is_empty() => Resolved::Member(*index),
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

/// Returns the fallbacks of a member that cannot take over, each with the reason. `kind_of` returns the kind of the
/// member of this name, if there is one.
pub(crate) fn fallback_problems<'n>(
    member: &str,
    names: &'n [Box<str>],
    kind_of: impl Fn(&str) -> Option<MemberKind>,
) -> impl Iterator<Item = (&'n str, FallbackProblem)> {
    names.iter().enumerate().filter_map(move |(position, name)| {
        let problem = match kind_of(name) {
            None => FallbackProblem::Unknown,
            Some(_) if **name == *member => FallbackProblem::Itself,
            Some(MemberKind::Human) => FallbackProblem::Human,
            Some(MemberKind::Ai) => names
                .iter()
                .take(position)
                .any(|earlier| earlier == name)
                .then_some(FallbackProblem::Twice)?,
        };
        Some((&**name, problem))
    })
}

fn writable(name: &str) -> Result<(), RosterError> {
    let refuse = |why| Err(RosterError::Unwritable(name.into(), why));
    let folded = fold(name);
    if folded.is_empty() {
        return refuse("it has only spaces, - and _");
    }
    if folded == "all" {
        return refuse("[DROP: ALL] means everybody");
    }
    let forbidden = |c: char| c.is_control() || matches!(c, '[' | ']' | ',' | '!' | '@' | '`');
    if name.contains(forbidden) {
        return refuse("it contains a control character or one of [ ] , ! @ `");
    }
    Ok(())
}

/// The sender of a message cannot be determined.
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

/// Returns the person who wrote a message. `None` if the team has no person and somebody outside wrote it.
pub(crate) fn speaker(
    roster: &Roster,
    awaited: Option<MemberIndex>,
    named: Option<&str>,
) -> Result<Option<MemberIndex>, SpeakerError> {
    let mut people = roster.humans();
    let Some((first, _)) = people.next() else { return Ok(None) };
    if let Some(name) = named {
        return match roster.resolve(name) {
            Resolved::Member(index) if roster.is_human(index) => Ok(Some(index)),
            Resolved::Member(index) => {
                Err(SpeakerError::Agent { name: roster.name(index).into(), people: names(roster) })
            }
            Resolved::Several(_) | Resolved::Unknown { .. } => Err(SpeakerError::Unknown {
                name: crate::message::excerpt(name),
                nearest: nearest_person(roster, name),
                people: names(roster),
            }),
        };
    }
    match (awaited, people.next()) {
        (Some(awaited), _) => Ok(Some(awaited)),
        (None, None) => Ok(Some(first)),
        (None, Some(_)) => Err(SpeakerError::Several { people: names(roster) }),
    }
}

/// Returns the person with the nearest name. Agents are left out even if their names are nearer.
fn nearest_person(roster: &Roster, written: &str) -> Option<Box<str>> {
    let people = roster.humans();
    let known = people.flat_map(|(_, one)| one.names().map(move |name| (name, &one.name)));
    nearest_name(written, known).cloned()
}

fn names(roster: &Roster) -> Vec<Box<str>> {
    roster.humans().map(|(_, member)| member.name.clone()).collect()
}

#[cfg(test)]
mod tests;
