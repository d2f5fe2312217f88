//! Turns of members with a worktree: makes it before the turn, and says after it what it contains. When the driver
//! ends, the worktrees that contain nothing are removed.

use std::borrow::Cow;

use tertulia_agent::{AgentSpec, Ended, TurnReport};
use tertulia_dialect::stream::{ErrorClass, TurnError, TurnOutput};

use super::Driver;
use crate::file::SettingsGuard;
use crate::team::TeamMember;
use crate::worktrees::{Prepared, Worktrees};

/// Where the agent of a turn works.
pub(super) enum Place {
    /// In the folder of its specification.
    Project,
    Worktree(Box<MemberWorktree>),
}

pub(super) struct MemberWorktree {
    pub(super) worktrees: Option<Worktrees>,
    pub(super) session: Box<str>,
    pub(super) guard: Option<SettingsGuard>,
}

impl Place {
    /// Runs a turn of this member there. Called in the thread of the turn, because git can take long.
    pub(super) fn run(
        &self,
        member: &str,
        spec: &mut AgentSpec,
        note: &dyn Fn(String),
        run: impl FnOnce(&AgentSpec) -> TurnReport,
    ) -> TurnReport {
        let Self::Worktree(place) = self else { return run(spec) };
        let prepared = match place.prepare(member, spec) {
            Ok(prepared) => prepared,
            Err(reason) => {
                let error = TurnError::new(ErrorClass::Setup, reason);
                return TurnReport::without_process(TurnOutput::failed(error), Ended::ByItself);
            }
        };
        prepared.remarks.iter().cloned().for_each(note);
        spec.cwd.clone_from(&prepared.folder);
        let report = run(spec);
        if let Some(text) = prepared.changes() {
            note(text);
        }
        report
    }
}

impl MemberWorktree {
    fn prepare(&self, member: &str, spec: &AgentSpec) -> Result<Prepared, String> {
        let none =
            || "`worktree = true` has no effect here: no folder for worktrees is set".to_owned();
        let worktrees = self.worktrees.as_ref().ok_or_else(none)?;
        let prepared = worktrees.prepare(&self.session, member, &spec.cwd);
        let prepared = prepared.map_err(|error| error.to_string())?;
        let guard = self.guard.as_ref().filter(|_| spec.kind.is_program());
        let worktree = &prepared.worktree;
        let tops = (&*worktree.path, &*worktree.repository);
        match guard.and_then(|guard| guard.objection_in(&prepared.folder, tops)) {
            Some(objection) => Err(objection),
            None => Ok(prepared),
        }
    }
}

impl Prepared {
    /// Returns what the worktree contains after a turn, if that is not nothing.
    fn changes(&self) -> Option<String> {
        let (worktree, name) = (&self.worktree, self.worktree.name());
        match worktree.state() {
            Ok(state) if state.is_unchanged() => None,
            Ok(state) => Some(format!(
                "branch {} of {}: {}; `tertulia worktrees diff {name}` shows the changes",
                worktree.branch,
                worktree.member,
                state.in_words()
            )),
            Err(error) => Some(error.to_string()),
        }
    }
}

impl Driver {
    /// Returns how to start the agent of a member in the folder where it works.
    pub(super) fn placed<'s>(
        &self,
        member: &TeamMember,
        spec: &'s AgentSpec,
    ) -> Cow<'s, AgentSpec> {
        let worktrees = self.team.worktrees.as_ref().filter(|_| member.worktree);
        let (session, name) = (self.log.session.as_str(), &member.member.name);
        match worktrees.and_then(|worktrees| worktrees.folder_of(session, name, &spec.cwd)) {
            Some(cwd) => Cow::Owned(AgentSpec { cwd, ..spec.clone() }),
            None => Cow::Borrowed(spec),
        }
    }

    /// Removes the worktrees of this session that contain nothing. The others are kept; after each turn a note has
    /// named them. Another process that took the session over works in them.
    pub(super) fn remove_worktrees(&self) {
        if self.is_taken_over || self.hold.is_lost() {
            return;
        }
        let is_used = self.team.members.iter().any(|member| member.worktree);
        let Some(worktrees) = self.team.worktrees.as_ref().filter(|_| is_used) else { return };
        for worktree in worktrees.of_session(self.log.session.as_str()) {
            // It stays if it cannot be removed, and `tertulia worktrees` lists it.
            let _ = worktree.remove();
        }
    }
}
