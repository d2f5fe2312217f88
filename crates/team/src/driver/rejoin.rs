//! Somebody else has written to the session, such as a command that redacts or branches, or another
//! program at the same server: the log is read again, and what was about to happen happens behind it.

use std::time::Duration;

use tertulia_session::{Entry, EntryKind};

use super::error::DriveError;
use super::event::{Audience, TableEvent};
use super::log::TableLog;
use super::prompt::Views;
use super::{Driver, turns_in};
use crate::event::Event;
use crate::table_note::TableNote;
use crate::{Machine, Status};

/// So often something is tried again. Somebody who writes all the time will not be overtaken.
const ATTEMPTS: u32 = 40;
/// How much longer the wait is each time.
const PAUSE: Duration = Duration::from_millis(2);

impl Driver {
    /// Lets the machine take a step, and once more if somebody else has written to the session
    /// meanwhile. `make` stages what belongs to the step; an entry that it gives is a message, whose
    /// addressees are noted in it. What it gives first comes back when all is stored.
    pub(super) fn attempt<T>(
        &mut self,
        make: impl Fn(&mut TableLog) -> (T, Option<Entry>, Event),
        audience: &mut dyn Audience,
    ) -> Result<T, DriveError> {
        let mut attempts = 1;
        loop {
            let staged_before = self.log.staged_count();
            let (made, draft, event) = make(&mut self.log);
            let is_decided_anew = decides_anew(&event);
            match self.try_step(draft, event, audience) {
                Err(DriveError::SomebodyElse) => {
                    self.rejoin(staged_before, audience)?;
                    if is_decided_anew || attempts == ATTEMPTS {
                        return Err(DriveError::SomebodyElse);
                    }
                    wait_a_little(attempts);
                    attempts += 1;
                }
                done => return done.map(|()| made),
            }
        }
    }

    /// Stores what was staged, then shows it.
    pub(super) fn store_staged(&mut self, audience: &mut dyn Audience) -> Result<(), DriveError> {
        let mut attempts = 1;
        loop {
            match self.try_store(audience) {
                Err(DriveError::SomebodyElse) if attempts < ATTEMPTS => {
                    self.rejoin(self.log.staged_count(), audience)?;
                    wait_a_little(attempts);
                }
                done => return done,
            }
            attempts += 1;
        }
    }

    pub(super) fn try_store(&mut self, audience: &mut dyn Audience) -> Result<(), DriveError> {
        for entry in self.log.commit().map_err(DriveError::of)? {
            audience.hear(&TableEvent::Stored(entry));
        }
        Ok(())
    }

    /// Takes in what others wrote. Of what was staged so many entries are staged again, if they tell what
    /// an agent did or cost; what belonged to a step is not, for it may be decided otherwise now.
    fn rejoin(
        &mut self,
        staged_before: usize,
        audience: &mut dyn Audience,
    ) -> Result<(), DriveError> {
        let (staged, first_new) = self.log.reload()?;
        let replay = Machine::replay(self.team.table.clone(), self.log.entries());
        self.machine = replay.into_recorded();
        self.views = Views::default();
        self.turns = turns_in(self.log.entries());
        for entry in self.log.entries().get(first_new..).unwrap_or_default() {
            audience.hear(&TableEvent::Stored(entry));
        }
        for entry in staged.into_iter().take(staged_before) {
            self.stage_again(entry.kind);
        }
        self.follow_log();
        Ok(())
    }

    /// What runs here does what the log says of it: somebody may have stopped it, or left its branch.
    fn follow_log(&mut self) {
        let here = self.running.as_ref().map(|running| running.turn.clone());
        match (self.machine.status(), here) {
            (Status::Running { turn }, Some(here)) if turn == here => {}
            (_, Some(here)) => self.stop(&here),
            // The end of a cancelled agent is in no entry.
            (Status::Stopping { turn }, None) if self.begun.as_ref() == Some(&turn) => {
                self.machine.agent_is_gone();
            }
            (_, None) => {}
        }
    }

    /// Takes in what others wrote, if they did.
    pub(super) fn catch_up(&mut self, audience: &mut dyn Audience) -> Result<(), DriveError> {
        match self.log.is_behind()? {
            true => self.rejoin(self.log.staged_count(), audience),
            false => Ok(()),
        }
    }

    fn stage_again(&mut self, kind: EntryKind) {
        match &kind {
            EntryKind::Usage(usage) => {
                if let Some(cost) = &usage.cost_usd {
                    let (member, usd) = (usage.member.clone(), cost.amount());
                    self.machine.step(Event::UsageSeen { member, usd });
                }
            }
            EntryKind::Custom(_) => match TableNote::of(&kind) {
                Some(TableNote::Continue { .. } | TableNote::Reopened { .. }) => return,
                Some(TableNote::TurnsMax { turns }) => {
                    self.machine.step(Event::TurnsLimited { turns });
                }
                Some(TableNote::Folder { .. }) | None => {}
            },
            _ => return,
        }
        self.log.stage(kind, false);
    }

    /// Whether a turn runs that another program began.
    pub(super) fn runs_elsewhere(&self) -> bool {
        match self.machine.status() {
            Status::Running { turn } | Status::Stopping { turn } => {
                self.begun.as_ref() != Some(&turn)
            }
            _ => false,
        }
    }
}

fn wait_a_little(attempts: u32) {
    std::thread::sleep(PAUSE * attempts);
}

/// Whether somebody has to decide this again when the table is another one than was seen.
fn decides_anew(event: &Event) -> bool {
    matches!(event, Event::Continue | Event::Resume | Event::Repeat { .. })
}
