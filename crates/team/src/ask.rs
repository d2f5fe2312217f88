//! An ask: a person's question to several members. Each of them answers without seeing the other answers. Then either a
//! judge or the members themselves compare the answers. Checks an ask before it is sent; `state` computes from the log
//! what happens next, and `result` what came out of it. Pure.

mod follow;
mod labels;
mod lines;
mod result;
mod state;

use tertulia_session::{Ask, Fields};

use crate::names::nearest_name;
use crate::roster::{MemberIndex, Resolved, Roster};
use crate::team::{Responder, Team, TeamMember};

pub use follow::AskFollower;
pub use lines::{ComparedLine, LineKind, LineSide, read_lines};
pub use result::{
    AskAnswer, AskComparison, AskCost, AskFinding, AskMissing, AskResult, AskUnread, FindingSide,
};
pub(crate) use state::AskState;

/// The grace time if none is given.
pub const GRACE_SECONDS: u32 = 30;
/// The name that means all agents of the team.
pub const EVERYBODY: &str = "all";
/// The smallest number of answers that can be compared.
pub(crate) const COMPARED_MIN: usize = 2;

/// A question to several members, as a person gives it.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct AskRequest {
    /// The names of the members; `all` for all agents.
    pub members: Vec<String>,
    pub judge: Option<String>,
    /// Whether the answers are not compared. A judge compares them in any case.
    pub answers_only: bool,
    pub quorum: Option<u32>,
    pub grace_seconds: Option<u32>,
}

/// The reason why a question cannot be sent to these members.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum AskError {
    #[error("nobody is called '{name}'{}", match nearest {
        Some(nearest) => format!("; did you mean {nearest}?"),
        None => format!("; the agents of this team are: {}", agents.join(", ")),
    })]
    Unknown { name: Box<str>, nearest: Option<Box<str>>, agents: Vec<Box<str>> },
    #[error("'{name}' can mean {}", members.join(" or "))]
    Ambiguous { name: Box<str>, members: Vec<Box<str>> },
    #[error("{0} is a person; only agents can be asked this way")]
    Person(Box<str>),
    #[error("{0} is named twice")]
    Twice(Box<str>),
    #[error("name at least two members; only {0} is named")]
    One(Box<str>),
    #[error("name at least two members")]
    Nobody,
    #[error("the team has {}, and an ask needs two", match .0 {
        Some(name) => format!("one agent, {name}"),
        None => "no agent".to_owned(),
    })]
    TooFewAgents(Option<Box<str>>),
    #[error("the quorum must be at least 1")]
    NoQuorum,
    #[error("a quorum of {quorum} cannot be reached by {members} members")]
    Quorum { quorum: u32, members: usize },
    #[error("a grace time needs a quorum")]
    Grace,
    #[error("the question is empty")]
    Empty,
}

impl AskRequest {
    /// Checks the request. The seed of the result is 0; the driver draws one.
    pub fn check(&self, team: &Team) -> Result<Ask, AskError> {
        let roster = team.roster();
        let is_everybody = |name: &String| is_everybody(name, roster);
        let members = match self.members.as_slice() {
            [] => return Err(AskError::Nobody),
            [name] if is_everybody(name) => everybody(team),
            names => agents(names, roster)?,
        };
        match members.as_slice() {
            [] => return Err(AskError::TooFewAgents(None)),
            [one] if self.members.iter().any(is_everybody) => {
                return Err(AskError::TooFewAgents(Some(one.clone())));
            }
            [one] => return Err(AskError::One(one.clone())),
            _ => {}
        }
        let judge = self.judge.as_deref().map(|name| agent(name, roster)).transpose()?;
        match self.quorum {
            Some(0) => return Err(AskError::NoQuorum),
            Some(quorum) if quorum as usize > members.len() => {
                return Err(AskError::Quorum { quorum, members: members.len() });
            }
            None if self.grace_seconds.is_some() => return Err(AskError::Grace),
            _ => {}
        }
        let reactions = judge.is_none() && !self.answers_only;
        let grace_seconds = self.quorum.map(|_| self.grace_seconds.unwrap_or(GRACE_SECONDS));
        let (quorum, unknown) = (self.quorum, Fields::NONE);
        Ok(Ask { members, judge, reactions, quorum, grace_seconds, seed: 0, unknown })
    }
}

/// Returns the ask of a message with `@all`: all agents answer, and nobody compares the answers. `None` if the team has
/// only one agent, which answers as usual.
pub(crate) fn ask_everybody(team: &Team) -> Option<Ask> {
    let members = everybody(team);
    (members.len() >= COMPARED_MIN).then_some(Ask {
        members,
        judge: None,
        reactions: false,
        quorum: None,
        grace_seconds: None,
        seed: 0,
        unknown: Fields::NONE,
    })
}

/// Returns whether a name means all agents, and no member has it.
fn is_everybody(name: &str, roster: &Roster) -> bool {
    let bare = name.strip_prefix('@').unwrap_or(name);
    bare.eq_ignore_ascii_case(EVERYBODY) && !matches!(roster.resolve(name), Resolved::Member(_))
}

/// Returns the agents of the team. The built-in ones only repeat what others said, so they are left out if there are
/// enough others.
fn everybody(team: &Team) -> Vec<Box<str>> {
    let agents = || team.members().iter().filter(|one| !one.is_person());
    let is_own = |one: &&TeamMember| matches!(one.responder, Responder::Agent(_));
    let name = |one: &TeamMember| one.member.name.clone();
    let own: Vec<Box<str>> = agents().filter(is_own).map(name).collect();
    if own.len() < COMPARED_MIN { agents().map(name).collect() } else { own }
}

fn agents(names: &[String], roster: &Roster) -> Result<Vec<Box<str>>, AskError> {
    let mut members: Vec<Box<str>> = Vec::new();
    for name in names {
        let name = agent(name, roster)?;
        if members.contains(&name) {
            return Err(AskError::Twice(name));
        }
        members.push(name);
    }
    Ok(members)
}

fn agent(written: &str, roster: &Roster) -> Result<Box<str>, AskError> {
    let name = || crate::message::excerpt(written.trim_start_matches('@'));
    match roster.resolve(written) {
        Resolved::Member(index) if roster.is_human(index) => {
            Err(AskError::Person(roster.name(index).into()))
        }
        Resolved::Member(index) => Ok(roster.name(index).into()),
        Resolved::Several(members) => Err(AskError::Ambiguous { name: name(), members }),
        Resolved::Unknown { .. } => {
            let is_agent = |(index, _): &(MemberIndex, _)| !roster.is_human(*index);
            let known: Vec<Box<str>> =
                roster.indexed().filter(is_agent).map(|(_, one)| one.name.clone()).collect();
            let nearest = nearest_name(written, known.iter().map(|name| (&**name, name.clone())));
            Err(AskError::Unknown { name: name(), nearest, agents: known })
        }
    }
}
