//! The driver: performs what the machine wants, and tells it what became of it. One thread drives; agents have threads
//! of their own and speak through the inbox, and so do people. Every step is stored before it is shown. `step.rs` has
//! the steps.

mod built_in;
mod event;
mod inbox;
mod log;
mod minutes;
mod model;
mod prompt;
mod recipe;
mod record;
mod runner;
mod sent;
mod step;

use std::sync::Arc;

use tertulia_session::{Entry, EntryKind, Setting, TeamTask};
use tertulia_store::{Hold, NewSession, SessionId, SessionStore};

pub use event::{Command, DriveError, EventSink, Pause, PermissionNumber, SessionEvent, Visit};
pub use inbox::Door;
pub use minutes::Compacted;
pub use prompt::{Preview, TurnPrompt, preview};
pub use recipe::RecipeError;
pub use record::{is_partial, reached_nobody};

pub use sent::{PromptLost, SentPrompt, sent_prompt};

use crate::effect::{Cancel, Event};
use crate::replay::{Difference, Undecided};
use crate::team::Team;
use crate::{Machine, Question, Status};
use inbox::Inbox;
use log::{Reading, TableLog};
use prompt::Prompts;
use runner::Runner;

/// What was done, or why it was not.
type Done<T = ()> = Result<T, DriveError>;

/// One conversation that runs.
pub struct Driver {
    team: Team,
    project: Option<String>,
    machine: Machine,
    log: TableLog,
    prompts: Prompts,
    runner: Runner,
    inbox: Inbox,
    asked: Option<Question>,
    is_closed: bool,
    /// Nobody else sits at this table meanwhile.
    _hold: Hold,
}

/// A table that was opened again.
pub struct Opened {
    pub driver: Driver,
    /// Where the recorded decisions are not the ones that this team would have made.
    pub differences: Vec<Difference>,
    pub undecided: Option<Undecided>,
}

impl Driver {
    fn new(team: Team, machine: Machine, log: TableLog, hold: Hold, attended: bool) -> Self {
        Self {
            team,
            project: None,
            machine,
            prompts: Prompts::new(log.entries()),
            log,
            runner: Runner::new(attended),
            inbox: Inbox::new(),
            asked: None,
            is_closed: false,
            _hold: hold,
        }
    }

    /// Begins a session. `attended`: somebody is there who can be asked for a permission.
    pub fn begin(
        store: &SessionStore,
        id: Option<SessionId>,
        team: Team,
        attended: bool,
    ) -> Result<Self, DriveError> {
        let session = store.create_in(&NewSession { id }, team.project.as_deref())?;
        let hold = store.hold(&session.id)?.ok_or(DriveError::SomebodyElse)?;
        let mut log = TableLog::open(store, &session.id, Reading::All)?;
        if let Some(task) = &team.task {
            log.stage(EntryKind::TeamTask(TeamTask::set(task.as_str())));
            log.commit().map_err(DriveError::of)?;
        }
        let machine = Machine::new(team.table.clone());
        let mut driver = Self::new(team, machine, log, hold, attended);
        driver.project = session.project;
        Ok(driver)
    }

    /// Opens a session again. A turn that ran is interrupted, and a person is asked before anything runs.
    pub fn reopen(
        store: &SessionStore,
        session: &SessionId,
        team: Team,
        attended: bool,
        sink: &mut dyn EventSink,
    ) -> Result<Opened, DriveError> {
        let hold = store.hold(session)?.ok_or(DriveError::SomebodyElse)?;
        let mut log = TableLog::open(store, session, Reading::for_team(&team))?;
        let mut replay = log.replay(&team.table)?;
        let differences = std::mem::take(&mut replay.differences);
        let undecided = replay.undecided.take();
        // The steps of this log are stored whole: nothing is half decided.
        let mut driver = Self::new(team, replay.into_recorded(), log, hold, attended);
        driver.project = driver.find_project(store, session)?;
        driver.end_strays()?;
        driver.step(&Event::Resume, sink)?;
        // What lies before the windows is covered, as after an import.
        driver.stage_minutes();
        driver.store_staged(sink)?;
        Ok(Opened { driver, differences, undecided })
    }

    /// The project of a session. One that has none yet, of an earlier version or another program, belongs
    /// from now on to the folder that its log names, else to the project of this team.
    fn find_project(&self, store: &SessionStore, session: &SessionId) -> Done<Option<String>> {
        if let Some(project) = store.project(session)? {
            return Ok(Some(project));
        }
        // Whoever knows no project, such as a program that embeds this one, assigns none.
        let Some(here) = self.team.project.as_deref() else { return Ok(None) };
        let project = self.log.folder.as_deref().unwrap_or(here);
        store.set_project(session, Some(project))?;
        Ok(Some(project.to_owned()))
    }

    /// Notes the folder and the limit of turns, where the log says otherwise. Stored with what happens next.
    pub fn set_terms(&mut self, folder: Option<&str>, turns_max: Option<u32>) {
        let noted = self.log.folder.as_deref().filter(|_| !self.log.is_folder_far());
        if let Some(folder) = folder.filter(|folder| noted != Some(*folder)) {
            self.log.stage_setting(Setting::Folder { path: folder.into() });
        }
        if turns_max != self.machine.turns_max() {
            self.log.stage_setting(Setting::TurnsMax { turns: turns_max });
            self.machine.step(Event::TurnsLimited { turns: turns_max });
        }
    }

    fn stage_minutes(&mut self) {
        if let Some(minutes) = minutes::due(self.log.branch(), self.team.window_max()) {
            self.log.stage(minutes);
        }
    }

    /// Ends what is left of agents whose driver was killed. One whose driver lives is left alone, and so is its table.
    fn end_strays(&self) -> Result<(), DriveError> {
        if let Status::Running { turn } | Status::Stopping { turn } = self.machine.status() {
            if tertulia_agent::is_held(turn.as_str()) {
                return Err(DriveError::SomebodyElse);
            }
            tertulia_agent::end_strays();
        }
        Ok(())
    }

    /// Where people come in.
    pub fn door(&self) -> Door {
        self.inbox.door()
    }

    /// The session.
    pub fn session(&self) -> &SessionId {
        &self.log.session
    }

    /// The team.
    pub fn team(&self) -> &Team {
        &self.team
    }

    /// The project that the session belongs to: its folder.
    pub fn project(&self) -> Option<&str> {
        self.project.as_deref()
    }

    /// Whether the session belongs to another project than the one that the team works in.
    pub fn is_elsewhere(&self) -> bool {
        self.team.is_elsewhere(self.project())
    }

    /// The machine, for what waits and why.
    pub fn machine(&self) -> &Machine {
        &self.machine
    }

    /// Reads what of a long session was not read when it was opened, so that [`Self::entries`] are whole and
    /// [`Self::machine`] knows why everything was decided.
    pub fn read_all(&mut self) -> Result<(), DriveError> {
        if self.log.first_read > 0 {
            self.log.read_all()?;
            let replay = Machine::replay(self.team.table.clone(), self.log.entries());
            self.machine.ledger = replay.machine.ledger;
        }
        Ok(())
    }

    /// The stored entries of the current branch. Of a long session, messages, summaries and what happened during
    /// turns are read only as far as prompts need them: of those before, the entries have an id and nothing else.
    pub fn entries(&self) -> &[Entry] {
        self.log.stored()
    }

    /// Whether an agent works for this program now.
    pub fn is_running(&self) -> bool {
        self.runner.turn().is_some()
    }

    /// What a member would get if it were to answer the newest message now.
    pub fn prompt_for(&mut self, member: &str) -> Option<TurnPrompt> {
        let member = self.team.member(member)?;
        let branch = self.log.branch();
        let (_, newest, _) = branch.said(branch.said_count().checked_sub(1)?)?;
        Some(self.prompts.look(&self.team, branch, member, &newest.id))
    }

    pub(super) fn pause(&mut self) -> Pause {
        if self.is_closed {
            return Pause::Closed;
        }
        if self.runs_elsewhere() {
            return Pause::Elsewhere;
        }
        if let Some((member, title)) = self.runner.refused.take() {
            return Pause::PermissionNeeded { member, title };
        }
        match self.asked.clone() {
            Some(question) => Pause::Asked(question),
            None => Pause::Rested,
        }
    }

    /// Does what a person wants. Also for the one who holds the driver.
    pub fn obey(&mut self, command: Command, sink: &mut dyn EventSink) -> Result<(), DriveError> {
        let is_new_work = matches!(
            command,
            Command::Say { .. } | Command::Continue | Command::Repeat(_) | Command::Compact
        );
        if self.is_closed && is_new_work {
            return Ok(());
        }
        match command {
            Command::Say { member, message } => {
                self.say_message(member.as_deref(), &message, sink).map(|_| ())
            }
            Command::Cancel(cancel) => self.step(&Event::Cancel(cancel), sink),
            Command::CancelRunning => match self.machine.status() {
                // Whoever lets it run can stop it.
                Status::Running { .. } if self.runs_elsewhere() => Err(DriveError::Elsewhere),
                Status::Running { turn } => self.step(&Event::Cancel(Cancel::Turn(turn)), sink),
                _ => Ok(()),
            },
            Command::Continue => self.step(&Event::Continue, sink),
            Command::Repeat(turn) => self.step(&Event::Repeat { turn }, sink),
            Command::Permit(number, answer) => self.permit(number, &answer, sink),
            Command::Compact => self.compact(sink).map(|_| ()),
            Command::Visit(visit) => {
                self.catch_up(sink)?;
                (visit.0)(self, sink)
            }
            Command::Close => {
                self.is_closed = true;
                // What waits goes on waiting: another program may go on with it, or somebody who comes back.
                match self.runner.turn().cloned() {
                    Some(turn) => self.step(&Event::Cancel(Cancel::Turn(turn)), sink),
                    None => Ok(()),
                }
            }
        }
    }

    /// Covers what was said so far by a summary, because a person wants it.
    pub fn compact(&mut self, sink: &mut dyn EventSink) -> Result<Compacted, DriveError> {
        self.catch_up(sink)?;
        let (compacted, summary) = minutes::requested(self.log.branch());
        if let Some(summary) = summary {
            self.log.stage(summary);
            self.try_store(sink)?;
        }
        Ok(compacted)
    }

    fn runs_elsewhere(&self) -> bool {
        match self.machine.status() {
            Status::Running { turn } | Status::Stopping { turn } => !self.runner.has_begun(&turn),
            _ => false,
        }
    }
}

/// Somebody else has written to the session, such as a command that redacts or branches, or another program at the
/// same server: the log is read again, and what runs here follows it.
impl Driver {
    /// Takes in what others wrote. Of what was staged so many entries are staged again, if they tell what
    /// an agent did or cost; what belonged to a step is not, for it may be decided otherwise now.
    pub(super) fn rejoin(&mut self, staged_before: usize, sink: &mut dyn EventSink) -> Done {
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
                self.machine.state.stopped();
            }
            (_, None) => {}
        }
    }

    fn stage_again(&mut self, kind: EntryKind) {
        match &kind {
            EntryKind::Usage(usage) => return self.stage_usage(Some(usage.clone())),
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

impl Drop for Driver {
    /// An agent does not outlive its table.
    fn drop(&mut self) {
        self.runner.stop_and_wait(&mut self.inbox);
    }
}
