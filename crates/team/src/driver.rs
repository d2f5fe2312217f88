//! The driver: performs the effects of the machine, and reports the results to it. It runs in one thread. Agents run
//! in threads of their own and send their output to the inbox. People send commands to the same inbox. Every step is
//! stored before it is shown. `step.rs` contains the steps.

mod agent_thread;
mod asked;
mod built_in_answers;
mod consult;
mod event;
mod followup;
mod inbox;
mod log;
mod missed;
mod model;
mod native;
mod perform;
mod prompt;
mod recipe;
mod record;
mod runner;
mod sent;
mod spending;
mod step;
mod summary;
mod work;
mod worktree;

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Instant;

use tertulia_agent::{KeptAgents, NativeHead};
use tertulia_session::{Entry, EntryId, EntryKind, Setting, TeamTask};
use tertulia_store::{NewSession, SessionId, SessionLock, SessionStore};

pub use event::{Call, Command, DriveError, EventSink, PermissionNumber, SessionEvent, StopReason};
pub use inbox::DriverHandle;
pub use prompt::{Preview, TurnPrompt, preview};
pub use recipe::RecipeError;
pub use record::{is_partial, reached_nobody};
pub use summary::Compacted;

pub use sent::{EarlierTurn, PromptLost, SentPrompt, earlier_turns, sent_prompt};

use crate::effect::{Cancel, Event};
use crate::guard::Dollars;
use crate::memory::kept_turns;
use crate::replay::{Difference, Undecided};
use crate::team::Team;
use crate::{Machine, Question, TurnPhase};
use inbox::Inbox;
use log::{Reading, SessionLog};
use native::MemoryPlan;
use prompt::Prompts;
use runner::Runner;

type Done<T = ()> = Result<T, DriveError>;

/// A running session.
pub struct Driver {
    team: Team,
    project: Option<String>,
    machine: Machine,
    log: SessionLog,
    prompts: Prompts,
    runner: Runner,
    /// The agents that keep their sessions, and their idle processes.
    kept: KeptAgents,
    /// The turn that ends, and the state in which it left the agent's own session.
    ended_native: Option<(EntryId, NativeHead)>,
    inbox: Inbox,
    asked: Option<Question>,
    /// When the grace times of asks are over, by their questions.
    graces: BTreeMap<EntryId, Instant>,
    is_closed: bool,
    /// Whether an append was refused, because another process runs the session now.
    is_taken_over: bool,
    /// Keeps other processes from opening the session. Dropped last, when no agent of this process is running any more.
    hold: SessionLock,
}

/// A session that was opened again.
pub struct Opened {
    pub driver: Driver,
    /// Recorded decisions that differ from what this team would decide.
    pub differences: Vec<Difference>,
    pub undecided: Option<Undecided>,
}

impl Driver {
    fn new(
        team: Team,
        machine: Machine,
        mut log: SessionLog,
        hold: SessionLock,
        attended: bool,
    ) -> Self {
        let kept = KeptAgents::with_limits(team.kept);
        log.fence = hold.fence();
        let inbox = Inbox::new();
        let handle = inbox.handle();
        // The driver must not continue: another process may already run the session.
        hold.when_lost(move || {
            handle.send(Command::Call(Call::new(|_, _| Err(DriveError::LeaseLost))));
        });
        Self {
            team,
            project: None,
            machine,
            prompts: Prompts::new(log.entries()),
            log,
            runner: Runner::new(attended),
            kept,
            ended_native: None,
            inbox,
            asked: None,
            graces: BTreeMap::new(),
            is_closed: false,
            is_taken_over: false,
            hold,
        }
    }

    /// Creates a session. `attended`: somebody can answer permission requests.
    pub fn begin(
        store: &SessionStore,
        id: Option<SessionId>,
        team: Team,
        attended: bool,
    ) -> Result<Self, DriveError> {
        let session = store.create_in(&NewSession { id }, team.project.as_deref())?;
        let hold = store.lock_session(&session.id)?.ok_or(DriveError::SessionInUse)?;
        let mut log = SessionLog::open(store, &session.id, Reading::All)?;
        if let Some(task) = &team.task {
            log.stage(EntryKind::TeamTask(TeamTask::set(task.as_str())));
            log.commit().map_err(DriveError::from_store)?;
        }
        let machine = Machine::new(team.roster.clone());
        let mut driver = Self::new(team, machine, log, hold, attended);
        driver.project = session.project;
        Ok(driver)
    }

    /// Opens an existing session. A turn that was running is interrupted, and a person is asked before anything runs.
    pub fn reopen(
        store: &SessionStore,
        session: &SessionId,
        team: Team,
        attended: bool,
        sink: &mut dyn EventSink,
    ) -> Result<Opened, DriveError> {
        let hold = store.lock_session(session)?.ok_or(DriveError::SessionInUse)?;
        let mut log = SessionLog::open(store, session, Reading::for_team(&team))?;
        let mut replay = log.replay(&team.roster)?;
        let differences = std::mem::take(&mut replay.differences);
        let undecided = replay.undecided.take();
        // A step is stored completely or not at all, so there are no unfinished decisions.
        let mut driver = Self::new(team, replay.into_recorded(), log, hold, attended);
        driver.project = driver.find_project(store, session)?;
        driver.kill_orphans()?;
        driver.step(&Event::Resume, sink)?;
        // Summarise the messages before the windows if no summary covers them yet, as after an import.
        driver.stage_summary();
        driver.store_staged(sink)?;
        Ok(Opened { driver, differences, undecided })
    }

    /// Returns the project of a session. A session without one comes from an earlier version or another program. It
    /// is assigned to the folder that its log names, or else to the project of this team.
    fn find_project(&self, store: &SessionStore, session: &SessionId) -> Done<Option<String>> {
        if let Some(project) = store.project(session)? {
            return Ok(Some(project));
        }
        // A program without projects, such as one that embeds this crate, assigns none.
        let Some(here) = self.team.project.as_deref() else { return Ok(None) };
        let project = self.log.folder.as_deref().unwrap_or(here);
        store.set_project(session, Some(project))?;
        Ok(Some(project.to_owned()))
    }

    /// Records the folder and the turn limit if they differ from the log. They are stored with the next step.
    pub fn update_settings(&mut self, folder: Option<&str>, turns_max: Option<u32>) {
        let noted = self.log.folder.as_deref().filter(|_| !self.log.is_folder_far());
        if let Some(folder) = folder.filter(|folder| noted != Some(*folder)) {
            self.log.stage_setting(Setting::Folder { path: folder.into() });
        }
        if turns_max != self.machine.turns_max() {
            self.log.stage_setting(Setting::TurnsMax { turns: turns_max });
            self.machine.step(Event::TurnsLimited { turns: turns_max });
        }
    }

    fn stage_summary(&mut self) {
        if let Some(summary) = summary::due(self.log.branch(), self.team.window_max()) {
            self.log.stage(summary);
        }
    }

    /// Ends agents that another driver left behind. Fails if that driver is alive and still has the right to run them.
    fn kill_orphans(&mut self) -> Result<(), DriveError> {
        if self.hold.is_taken_over() {
            self.end_replaced_agents()?;
        } else if self.agents_turns().any(|turn| tertulia_agent::is_turn_alive(turn.as_str())) {
            return Err(DriveError::SessionInUse);
        }
        if self.agents_turns().next().is_some() {
            tertulia_agent::kill_orphans();
        }
        Ok(())
    }

    /// Ends the agents of the driver that lost the right to run the session. It may be paused, so that it cannot end
    /// them itself: neither those that work nor those that wait for their next turn. Two processes of an agent must not
    /// use the same session of the agent.
    fn end_replaced_agents(&mut self) -> Result<(), DriveError> {
        // A process that waits may have been started long ago.
        self.log.read_all()?;
        let kept = kept_turns(self.log.entries(), self.log.session.as_str());
        let turns = self.agents_turns().map(EntryId::as_str).chain(kept).collect();
        tertulia_agent::end_turns(&turns);
        Ok(())
    }

    /// Returns the turns whose agents have not ended, according to the log.
    fn agents_turns(&self) -> impl Iterator<Item = &EntryId> {
        let active = self.machine.active().filter(|active| active.phase != TurnPhase::Asking);
        active.map(|active| active.turn)
    }

    /// Returns a handle that sends commands from other threads.
    pub fn handle(&self) -> DriverHandle {
        self.inbox.handle()
    }

    /// Returns the question to a person that is open, if there is one.
    pub fn asked(&self) -> Option<&Question> {
        self.asked.as_ref()
    }

    /// Returns the id of the session.
    pub fn session(&self) -> &SessionId {
        &self.log.session
    }

    /// Returns the team.
    pub fn team(&self) -> &Team {
        &self.team
    }

    /// Returns the folder of the project that the session belongs to.
    pub fn project(&self) -> Option<&str> {
        self.project.as_deref()
    }

    /// Returns whether the session belongs to another project than the team.
    pub fn is_other_project(&self) -> bool {
        self.team.is_other_project(self.project())
    }

    /// Returns the machine.
    pub fn machine(&self) -> &Machine {
        &self.machine
    }

    /// Reads the rest of a long session that was not read when it was opened. Afterwards [`Self::entries`] are
    /// complete and [`Self::machine`] has all decisions.
    pub fn read_all(&mut self) -> Result<(), DriveError> {
        if self.log.first_read > 0 {
            self.log.read_all()?;
            let replay = Machine::replay(self.team.roster.clone(), self.log.entries());
            self.machine.decision_log = replay.machine.decision_log;
        }
        Ok(())
    }

    /// Returns the stored entries of the current branch. In a long session, older messages, summaries and turn events
    /// that prompts do not need are not read; their entries contain only an id.
    pub fn entries(&self) -> &[Entry] {
        self.log.stored()
    }

    /// Returns whether an agent of this session runs in this process.
    pub fn is_running(&self) -> bool {
        !self.runner.is_idle()
    }

    /// Returns the prompt that a member would get if it answered the newest message now.
    pub fn prompt_for(&mut self, member: &str) -> Option<TurnPrompt> {
        let member = self.team.member(member)?;
        let branch = self.log.branch();
        let (_, newest, _) = branch.text_message(branch.text_message_count().checked_sub(1)?)?;
        // Whether the agent's files have changed is checked when the turn starts.
        let memory = MemoryPlan::next(&self.log, &self.team, member, |_| Ok(()));
        Some(self.prompts.look(&self.team, branch, member, &newest.id, &memory))
    }

    pub(super) fn pause(&mut self) -> StopReason {
        if self.is_closed {
            return StopReason::Closed;
        }
        if self.runs_elsewhere() {
            return StopReason::Elsewhere;
        }
        if let Some((member, title)) = self.runner.refused.take() {
            return StopReason::PermissionNeeded { member, title };
        }
        match self.asked.clone() {
            Some(question) => StopReason::Asked(question),
            None => StopReason::Rested,
        }
    }

    /// Executes a command. The owner of the driver may call this directly.
    pub fn execute(
        &mut self,
        command: Command,
        sink: &mut dyn EventSink,
    ) -> Result<(), DriveError> {
        let is_new_work = matches!(
            command,
            Command::Say { .. } | Command::Continue | Command::Repeat(_) | Command::Compact
        );
        if self.is_closed && is_new_work {
            return Err(DriveError::Closing);
        }
        match command {
            Command::Say { member, message } => {
                self.say_message(member.as_deref(), &message, sink).map(|_| ())
            }
            Command::Cancel(cancel) => self.step(&Event::Cancel(cancel), sink),
            Command::CancelRunning => self.cancel_running(sink),
            Command::Continue => {
                self.end_limits(sink)?;
                self.step(&Event::Continue, sink)
            }
            Command::Repeat(turn) => self.step(&Event::Repeat { turn }, sink),
            Command::Permit(number, answer) => self.permit(number, &answer, sink),
            Command::Compact => self.compact(sink).map(|_| ()),
            Command::Call(call) => {
                self.catch_up(sink)?;
                (call.0)(self, sink)
            }
            Command::Close => {
                self.is_closed = true;
                // Queued turns stay queued: another process or a later one may continue them.
                for turn in self.runner.turns() {
                    self.step(&Event::Cancel(Cancel::Turn(turn)), sink)?;
                }
                Ok(())
            }
        }
    }

    /// Cancels all turns whose agents run.
    fn cancel_running(&mut self, sink: &mut dyn EventSink) -> Result<(), DriveError> {
        let running = self.machine.active().filter(|active| active.phase == TurnPhase::Running);
        let turns: Vec<EntryId> = running.map(|active| active.turn.clone()).collect();
        // Only the process that runs them can stop them.
        if !turns.is_empty() && self.runs_elsewhere() {
            return Err(DriveError::Elsewhere);
        }
        for turn in turns {
            self.step(&Event::Cancel(Cancel::Turn(turn)), sink)?;
        }
        Ok(())
    }

    /// Summarises the messages so far, on request of a person.
    pub fn compact(&mut self, sink: &mut dyn EventSink) -> Result<Compacted, DriveError> {
        self.catch_up(sink)?;
        let (compacted, summary) = summary::requested(self.log.branch());
        if let Some(summary) = summary {
            self.log.stage(summary);
            self.try_store(sink)?;
        }
        Ok(compacted)
    }

    fn runs_elsewhere(&self) -> bool {
        self.agents_turns().any(|turn| !self.runner.has_begun(turn))
    }
}

/// Handles writes of other processes, such as a command that redacts or branches: reads the log again, and applies it
/// to the turns that run here.
impl Driver {
    /// Reads the entries that others wrote. Some of the first `staged_before` staged entries record output or costs
    /// of an agent: stages these again. Does not stage entries of a step again, because the new entries may change
    /// its decision.
    pub(super) fn rejoin(&mut self, staged_before: usize, sink: &mut dyn EventSink) -> Done {
        let (staged, first_new) = self.log.reload(Reading::for_team(&self.team))?;
        self.machine = self.log.replay(&self.team.roster)?.into_recorded();
        self.prompts = Prompts::new(self.log.entries());
        for entry in self.log.entries().get(first_new..).unwrap_or_default() {
            sink.on_event(SessionEvent::Stored(Arc::new(entry.clone())));
            // Redacted text must not stay in a process. The next turn of a member begins a new session.
            if matches!(entry.kind, EntryKind::Redaction(_)) {
                self.kept.end_all();
            }
        }
        for entry in staged.into_iter().take(staged_before) {
            self.stage_again(entry.kind);
        }
        self.follow_log();
        Ok(())
    }

    /// Applies the log to the turns that run here: another process may have stopped them, or left their branch.
    fn follow_log(&mut self) {
        let (mut running, mut stopping) = (Vec::new(), Vec::new());
        for active in self.machine.active() {
            match active.phase {
                TurnPhase::Running => running.push(active.turn.clone()),
                TurnPhase::Stopping => stopping.push(active.turn.clone()),
                TurnPhase::Asking => {}
            }
        }
        for here in self.runner.turns().iter().filter(|here| !running.contains(here)) {
            self.runner.stop(here);
        }
        // No entry records the end of a cancelled agent. If this process began its turn and no longer runs it, the
        // agent has ended.
        for turn in stopping {
            if self.runner.has_begun(&turn) && !self.runner.runs(&turn) {
                self.machine.state.active.stopped(&turn);
            }
        }
    }

    fn stage_again(&mut self, kind: EntryKind) {
        match &kind {
            EntryKind::Usage(usage) => return self.stage_usage(Some(usage.clone())),
            EntryKind::SessionSetting(setting) => match setting.setting {
                Setting::Continued { .. }
                | Setting::Reopened { .. }
                | Setting::LimitEnded { .. } => return,
                Setting::TurnsMax { turns } => {
                    self.machine.step(Event::TurnsLimited { turns });
                }
                Setting::DaySpent { ref day, ref spent } => {
                    let (day, spent) = (day.clone(), Dollars::from_usd(spent.amount()));
                    self.machine.step(Event::DaySpent { day, spent });
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
    /// Stops the agents: they must not outlive their driver.
    fn drop(&mut self) {
        self.runner.stop_and_wait(&mut self.inbox, |_| false);
        self.kept.end_all();
        self.remove_worktrees();
    }
}
