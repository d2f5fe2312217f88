//! The driver: performs what the machine wants, and tells it what became of it. Store, context, agent
//! and parser meet here and nowhere else.
//!
//! One thread drives; agents have threads of their own and speak through the inbox, and so do people.
//! Every step is stored before it is shown.

mod error;
mod event;
mod hearing;
mod inbox;
mod log;
mod minutes;
mod model;
mod open;
mod perform;
mod prompt;
mod quotes;
mod recipe;
mod record;
mod rejoin;
mod sent;
mod start;
mod steps;
mod turn;

use std::collections::HashMap;
use std::time::Duration;

use tertulia_session::{Entry, EntryId, EntryKind, TurnState};
use tertulia_store::{Hold, SessionId};

pub use error::DriveError;
pub use event::{Audience, Command, Pause, PermissionNumber, TableEvent, Visit};
pub use inbox::Door;
pub use minutes::Compacted;
pub use open::Opened;
pub use prompt::TurnPrompt;
pub use recipe::RecipeError;
pub use record::{TurnNote, What, is_partial, reached_nobody};

pub use sent::{PromptLost, SentPrompt, sent_prompt};

use crate::event::{Cancel, Event};
use crate::team::Team;
use crate::{Machine, Question, Status};
use inbox::{Inbox, Input};
use log::TableLog;
use prompt::Views;
use recipe::RecipeHistory;
use turn::{FromAgent, Running};

/// How long an agent that was stopped is waited for when the table is gone.
const LAST_WORDS: Duration = Duration::from_secs(10);

/// One conversation that runs.
pub struct Driver {
    team: Team,
    machine: Machine,
    log: TableLog,
    views: Views,
    inbox: Inbox,
    running: Option<Running>,
    /// The turn that was begun here last.
    begun: Option<EntryId>,
    /// How many turns each member had.
    turns: HashMap<Box<str>, usize>,
    /// How the last prompts were made.
    recipes: RecipeHistory,
    /// What was asked last and not answered.
    asked: Option<Question>,
    /// Whether somebody is there who can be asked for a permission.
    attended: bool,
    /// How many permissions were asked for.
    permissions: u64,
    /// What an agent wanted that nobody could allow.
    refused: Option<(Box<str>, Box<str>)>,
    is_closed: bool,
    /// The project that the session belongs to.
    project: Option<String>,
    /// Nobody else sits at this table meanwhile.
    _hold: Option<Hold>,
}

impl Driver {
    fn new(
        team: Team,
        machine: Machine,
        log: TableLog,
        hold: Option<Hold>,
        attended: bool,
    ) -> Self {
        let turns = turns_in(log.entries());
        Self {
            team,
            machine,
            log,
            views: Views::default(),
            inbox: Inbox::new(),
            running: None,
            begun: None,
            turns,
            recipes: RecipeHistory::default(),
            asked: None,
            attended,
            permissions: 0,
            refused: None,
            is_closed: false,
            project: None,
            _hold: hold,
        }
    }

    /// Where people come in.
    pub fn door(&self) -> Door {
        self.inbox.door()
    }

    /// The session.
    pub fn session(&self) -> &SessionId {
        self.log.session()
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
        self.team.project.is_some() && self.team.project != self.project
    }

    /// The machine, for what waits and why.
    pub fn machine(&self) -> &Machine {
        &self.machine
    }

    /// The stored entries of the current branch.
    pub fn entries(&self) -> &[Entry] {
        self.log.stored()
    }

    /// Whether an agent works for this program now.
    pub fn is_running(&self) -> bool {
        self.running.is_some()
    }

    /// What a member would get if it were to answer the newest message now.
    pub fn prompt_for(&mut self, member: &str) -> Option<TurnPrompt> {
        let member = self.team.members.iter().find(|one| *one.member.name == *member)?;
        let branch = self.log.branch();
        let (_, newest, _) = branch.said(branch.said_count().checked_sub(1)?)?;
        let member = (&self.team, member);
        let (mut prompt, body) =
            prompt::for_turn(branch, &mut self.views, member, &newest.id, None);
        if let Some(body) = body {
            (prompt.text, prompt.system) = (body.json, None);
        }
        Some(prompt)
    }

    /// Drives until nothing runs any more.
    pub fn run(&mut self, audience: &mut dyn Audience) -> Result<Pause, DriveError> {
        while self.running.is_some() {
            self.next(audience)?;
        }
        Ok(self.pause())
    }

    /// Drives until the table is left.
    pub fn attend(&mut self, audience: &mut dyn Audience) -> Result<(), DriveError> {
        while !self.is_closed || self.running.is_some() {
            self.next(audience)?;
        }
        Ok(())
    }

    /// Why nothing runs.
    fn pause(&mut self) -> Pause {
        if self.is_closed {
            return Pause::Closed;
        }
        if self.runs_elsewhere() {
            return Pause::Elsewhere;
        }
        if let Some((member, title)) = self.refused.take() {
            return Pause::PermissionNeeded { member, title };
        }
        match self.asked.clone() {
            Some(question) => Pause::Asked(question),
            None => Pause::Rested,
        }
    }

    /// Waits for the next thing that happens, and does what follows.
    fn next(&mut self, audience: &mut dyn Audience) -> Result<(), DriveError> {
        let Some(input) = self.inbox.next() else { return Ok(()) };
        match input {
            Input::Command(command) => match self.obey(command, audience) {
                Err(error) if !error.ends_table() => {
                    audience.hear(&TableEvent::Refused(&error));
                    Ok(())
                }
                obeyed => obeyed,
            },
            Input::Agent(turn, said) => self.hear_agent(&turn, said, audience),
        }
    }

    /// An agent says something. One whose turn is not the one that runs here is not listened to any more.
    fn hear_agent(
        &mut self,
        turn: &EntryId,
        said: FromAgent,
        audience: &mut dyn Audience,
    ) -> Result<(), DriveError> {
        let Some(running) = self.running.as_ref().filter(|running| running.turn == *turn) else {
            said.decline();
            return Ok(());
        };
        match said {
            FromAgent::Fed => {
                audience.hear(&TableEvent::Fed { turn, member: &running.member });
                Ok(())
            }
            FromAgent::Said(event) => self.agent_says(&event, audience),
            FromAgent::Asks(request, answer) => self.agent_asks(&request, answer, audience),
            FromAgent::Ended(report) => self.agent_ended(*report, audience),
        }
    }

    /// Does what a person wants. Also for the one who holds the driver.
    pub fn obey(
        &mut self,
        command: Command,
        audience: &mut dyn Audience,
    ) -> Result<(), DriveError> {
        let is_new_work = matches!(
            command,
            Command::Say { .. } | Command::Continue | Command::Repeat(_) | Command::Compact
        );
        if self.is_closed && is_new_work {
            return Ok(());
        }
        match command {
            Command::Say { member, text } => {
                self.say(member.as_deref(), &text, audience).map(|_| ())
            }
            Command::Cancel(cancel) => self.step(&Event::Cancel(cancel), audience),
            Command::CancelRunning => match self.machine.status() {
                // Whoever lets it run can stop it.
                Status::Running { .. } if self.runs_elsewhere() => Err(DriveError::Elsewhere),
                Status::Running { turn } => self.step(&Event::Cancel(Cancel::Turn(turn)), audience),
                _ => Ok(()),
            },
            Command::Continue => self.step(&Event::Continue, audience),
            Command::Repeat(turn) => self.step(&Event::Repeat { turn }, audience),
            Command::Permit(number, answer) => self.permit(number, &answer, audience),
            Command::Compact => self.compact(audience).map(|_| ()),
            Command::Visit(visit) => {
                self.catch_up(audience)?;
                (visit.0)(self, audience)
            }
            Command::Close => {
                self.is_closed = true;
                // What waits goes on waiting: another program may go on with it, or somebody who comes back.
                match self.running.as_ref().map(|running| running.turn.clone()) {
                    Some(turn) => self.step(&Event::Cancel(Cancel::Turn(turn)), audience),
                    None => Ok(()),
                }
            }
        }
    }

    /// Ends the agent that works here, and waits for its end.
    fn let_go(&mut self) {
        let Some(turn) = self.running.as_ref().map(|running| running.turn.clone()) else { return };
        self.stop(&turn);
        let has_agent = self.running.take().is_some_and(|running| running.has_agent());
        if has_agent {
            self.inbox.wait_for_end(&turn, LAST_WORDS);
        }
    }
}

/// How many turns each member had.
fn turns_in(entries: &[Entry]) -> HashMap<Box<str>, usize> {
    let mut turns: HashMap<Box<str>, usize> = HashMap::new();
    for entry in entries {
        if let EntryKind::Turn(turn) = &entry.kind
            && turn.state == TurnState::Started
        {
            *turns.entry(turn.member.clone()).or_default() += 1;
        }
    }
    turns
}

impl Drop for Driver {
    /// An agent does not outlive its table.
    fn drop(&mut self) {
        self.let_go();
    }
}
