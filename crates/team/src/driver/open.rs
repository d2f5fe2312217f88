//! How a table is opened: a session is begun, or read again and gone on with.

use tertulia_session::{EntryKind, TeamTask};
use tertulia_store::{NewSession, SessionId, SessionStore};

use super::error::DriveError;
use super::event::Audience;
use super::log::TableLog;
use super::{Driver, minutes};
use crate::event::Event;
use crate::replay::{Difference, Undecided};
use crate::table_note::TableNote;
use crate::team::Team;
use crate::{Machine, Status};

/// A table that was opened again.
pub struct Opened {
    /// It.
    pub driver: Driver,
    /// Where the recorded decisions are not the ones that this team would have made.
    pub differences: Vec<Difference>,
    /// The message that the session was forked or branched at, if nobody was asked for it there.
    pub undecided: Option<Undecided>,
}

impl Driver {
    /// Begins a session. `attended`: somebody is there who can be asked for a permission.
    pub fn begin(
        store: &SessionStore,
        id: Option<SessionId>,
        team: Team,
        attended: bool,
    ) -> Result<Self, DriveError> {
        let session = store.create_in(&NewSession { id }, team.project.as_deref())?;
        let hold = store.hold(&session.id)?.ok_or(DriveError::SomebodyElse)?;
        let mut log = TableLog::open(store, &session.id)?;
        if let Some(task) = &team.task {
            log.stage(EntryKind::TeamTask(TeamTask::set(task.as_str())), false);
            log.commit().map_err(DriveError::of)?;
        }
        let machine = Machine::new(team.table.clone());
        let mut driver = Self::new(team, machine, log, Some(hold), attended);
        driver.project = session.project;
        Ok(driver)
    }

    /// Opens a session again. A turn that ran is marked as interrupted, and a person is asked before
    /// anything runs.
    pub fn reopen(
        store: &SessionStore,
        session: &SessionId,
        team: Team,
        attended: bool,
        audience: &mut dyn Audience,
    ) -> Result<Opened, DriveError> {
        let hold = store.hold(session)?.ok_or(DriveError::SomebodyElse)?;
        let log = TableLog::open(store, session)?;
        let mut replay = Machine::replay(team.table.clone(), log.entries());
        let differences = std::mem::take(&mut replay.differences);
        let undecided = replay.undecided.take();
        // The steps of this log are stored whole: nothing is half decided.
        let mut driver = Self::new(team, replay.into_recorded(), log, Some(hold), attended);
        driver.project = driver.find_project(store, session)?;
        driver.end_strays()?;
        driver.step(&Event::Resume, audience)?;
        driver.catch_up_minutes(audience)?;
        Ok(Opened { driver, differences, undecided })
    }

    /// The project of a session. One that has none yet, of an earlier version or another program, belongs
    /// from now on to the folder that its log names, else to the project of this team.
    fn find_project(
        &self,
        store: &SessionStore,
        session: &SessionId,
    ) -> Result<Option<String>, DriveError> {
        if let Some(project) = store.project(session)? {
            return Ok(Some(project));
        }
        // Whoever knows no project, such as a program that embeds this one, assigns none.
        let Some(here) = self.team.project.as_deref() else { return Ok(None) };
        let project = self.log.folder().unwrap_or(here);
        store.set_project(session, Some(project))?;
        Ok(Some(project.to_owned()))
    }

    /// Notes where the table stands and how many turns it may take from now on, where that is not what
    /// the log says. Stored with what happens next.
    pub fn set_terms(&mut self, folder: Option<&str>, turns_max: Option<u32>) {
        let is_noted =
            |folder: &&str| self.log.folder() == Some(folder) && !self.log.is_folder_far();
        if let Some(folder) = folder.filter(|folder| !is_noted(folder)) {
            let note = TableNote::Folder { path: folder.into() };
            self.log.stage(note.to_kind(), false);
        }
        if turns_max != self.machine.turns_max() {
            self.log.stage(TableNote::TurnsMax { turns: turns_max }.to_kind(), false);
            self.machine.step(Event::TurnsLimited { turns: turns_max });
        }
    }

    /// Looks at a session and writes nothing: what waits, and what a member would get now.
    pub fn peek(
        store: &SessionStore,
        session: &SessionId,
        team: Team,
    ) -> Result<Opened, DriveError> {
        let log = TableLog::open(store, session)?;
        let mut replay = Machine::replay(team.table.clone(), log.entries());
        let differences = std::mem::take(&mut replay.differences);
        let undecided = replay.undecided.take();
        let mut driver = Self::new(team, replay.into_recorded(), log, None, false);
        // As the next turn would, but for the store.
        if let Some(minutes) = minutes::due(driver.log.branch(), driver.team.window_max()) {
            driver.log.stage(minutes, false);
        }
        Ok(Opened { driver, differences, undecided })
    }

    /// Covers what lies before the windows, as after an import.
    fn catch_up_minutes(&mut self, audience: &mut dyn Audience) -> Result<(), DriveError> {
        if let Some(minutes) = minutes::due(self.log.branch(), self.team.window_max()) {
            self.log.stage(minutes, false);
            self.store_staged(audience)?;
        }
        Ok(())
    }

    /// Ends what is left of agents whose driver was killed. One whose driver lives is left alone, and so
    /// is its table.
    fn end_strays(&self) -> Result<(), DriveError> {
        if let Status::Running { turn } | Status::Stopping { turn } = self.machine.status() {
            if tertulia_agent::is_held(turn.as_str()) {
                return Err(DriveError::SomebodyElse);
            }
            tertulia_agent::end_strays();
        }
        Ok(())
    }
}
