//! Somebody else has written to the session, such as a command that redacts or branches, or another
//! program at the same server: the log is read again, and what runs here follows it.

use std::sync::Arc;

use tertulia_session::{EntryKind, Setting};

use super::Driver;
use super::error::DriveError;
use super::event::{EventSink, SessionEvent};
use super::log::Reading;
use super::prompt::Prompts;
use crate::Status;
use crate::event::Event;

impl Driver {
    /// Takes in what others wrote. Of what was staged so many entries are staged again, if they tell what
    /// an agent did or cost; what belonged to a step is not, for it may be decided otherwise now.
    pub(super) fn rejoin(
        &mut self,
        staged_before: usize,
        sink: &mut dyn EventSink,
    ) -> Result<(), DriveError> {
        let (staged, first_new) = self.log.reload(Reading::for_team(&self.team))?;
        self.machine = self.log.replay(&self.team.table)?.into_recorded();
        self.prompts = Prompts::new(self.log.entries());
        for entry in self.log.entries().get(first_new..).unwrap_or_default() {
            sink.on_event(SessionEvent::Stored(Arc::new(entry.clone())));
        }
        for entry in staged.into_iter().take(staged_before) {
            self.stage_again(entry.kind);
        }
        self.follow_log();
        Ok(())
    }

    /// What runs here does what the log says of it: somebody may have stopped it, or left its branch.
    fn follow_log(&mut self) {
        match (self.machine.status(), self.runner.turn().cloned()) {
            (Status::Running { turn }, Some(here)) if turn == here => {}
            (_, Some(here)) => self.runner.stop(&here),
            // The end of a cancelled agent is in no entry.
            (Status::Stopping { turn }, None) if self.runner.has_begun(&turn) => {
                self.machine.agent_is_gone();
            }
            (_, None) => {}
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
            EntryKind::SessionSetting(setting) => match setting.setting {
                Setting::Continued { .. } | Setting::Reopened { .. } => return,
                Setting::TurnsMax { turns } => {
                    self.machine.step(Event::TurnsLimited { turns });
                }
                Setting::Folder { .. } | Setting::Title { .. } | Setting::Other { .. } => {}
            },
            EntryKind::TurnEvent(_) => {}
            _ => return,
        }
        self.log.stage(kind);
    }
}
