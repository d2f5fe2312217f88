//! The chat without a terminal: lines in, plain text out, no escape sequences. The next line is read when no turn is
//! running, so a script gets the same conversation every time.

use std::io::Write;
use std::sync::mpsc::Receiver;
use std::time::Instant;

use tertulia_operations::lines::{LineError, Lines};
use tertulia_store::SessionId;
use tertulia_team::{Command, DriveError, SessionEvent};

use super::commands;
use super::dispatch::{Action, CommandContext};
use super::engine::{ChatEvent, EventSender, Session};
use super::presenter::Presenter;
use super::signals::{Interrupt, leave};
use super::style::{Line, Look};
use super::{ChatSession, Ended};
use crate::error::ChatError;
use crate::narrate;
use crate::terminal::grouped;

pub(crate) struct PlainChat<'c> {
    pub(crate) chat: &'c ChatSession,
    pub(crate) session: Session,
    pub(crate) presenter: Presenter,
    pub(crate) sender: EventSender,
    pub(crate) events: Receiver<ChatEvent>,
    pub(crate) lines_in: Lines<'c>,
    pub(crate) stdout: &'c mut dyn Write,
    /// Whether a person types the lines.
    pub(crate) prompts: bool,
    /// The number of the last status request.
    pub(crate) asked: u64,
    /// Whether the session has ended.
    pub(crate) is_over: bool,
    /// The permission request that nobody could answer here.
    pub(crate) refused: Option<String>,
    /// The first error of a line that was not sent.
    pub(crate) not_said: Option<ChatError>,
}

/// The reason why no turn is running.
enum Rest {
    Quiet,
    Forked(SessionId),
    /// The process that ran the session has ended.
    HostLost,
    /// The session is to be taken over.
    TakeOver,
    Ended(Result<(), DriveError>),
}

impl PlainChat<'_> {
    pub(crate) fn run(mut self) -> Result<Ended, ChatError> {
        let interrupt = Interrupt::watch(self.session.handle(), leave);
        let talked = match self.talk(&interrupt) {
            Ok(Some(ended)) => ended.map_err(ChatError::from),
            // Closes the session properly, even if nobody reads the output.
            other => {
                self.session.send(Command::Close);
                let ended = self.until_ended();
                other.and(ended.map_err(ChatError::from))
            }
        };
        let is_interrupted = interrupt.happened();
        drop(interrupt);
        self.session.join();
        talked?;
        let ended = match self.refused {
            _ if is_interrupted => Ended::Interrupted,
            Some(refused) => Ended::NeedsPerson(refused),
            None => self.presenter.left_open(),
        };
        Ok(match (ended, self.not_said) {
            // One line was not sent, even though there was no other problem.
            (Ended::Normally, Some(error)) => Ended::NotSaid(error),
            (ended, _) => ended,
        })
    }

    /// Handles line after line; returns how the session ended, if it did.
    fn talk(&mut self, interrupt: &Interrupt) -> Result<Option<Result<(), DriveError>>, ChatError> {
        loop {
            match self.settle()? {
                Rest::Ended(how) => return Ok(Some(how)),
                Rest::Forked(session) => {
                    self.move_to(&session)?;
                    interrupt.follow(self.session.handle());
                }
                Rest::HostLost if self.chat.takes_over => {}
                Rest::HostLost => {
                    return Err(ChatError::NeedsPerson(
                        "the process that ran this session has ended; run the same command again to continue here"
                            .to_owned(),
                    ));
                }
                Rest::TakeOver => {
                    self.take_over()?;
                    interrupt.follow(self.session.handle());
                }
                Rest::Quiet if !self.read_and_act()? => return Ok(None),
                Rest::Quiet => {}
            }
        }
    }

    /// Reads a line and handles it; returns `false` at the end of input or on `/quit`.
    fn read_and_act(&mut self) -> Result<bool, ChatError> {
        if self.prompts {
            write!(self.stdout, "> ").map_err(ChatError::Output)?;
            self.stdout.flush().map_err(ChatError::Output)?;
        }
        let Some(line) = self.lines_in.next_line().map_err(ChatError::Input)? else {
            return Ok(false);
        };
        self.refused = None;
        let action = match line.text {
            Ok(text) => self.session.action(
                &commands::read(text),
                text,
                &CommandContext { chat: self.chat, sender: &self.sender },
            ),
            Err(error) => {
                let line = unreadable(&error);
                self.not_said.get_or_insert(ChatError::Line(error));
                Action::Tell(vec![line])
            }
        };
        match action {
            Action::Send(command) => self.session.send(command),
            Action::Tell(lines) => self.print(&lines)?,
            Action::Leave => return Ok(false),
            Action::TakeOver => self.take_over()?,
        }
        Ok(true)
    }

    /// Shows events until no turn is running.
    fn settle(&mut self) -> Result<Rest, ChatError> {
        self.ask_status();
        let mut rest = Rest::Quiet;
        while let Ok(event) = self.events.recv() {
            match event {
                ChatEvent::Ended(how) => return Ok(Rest::Ended(how)),
                ChatEvent::Forked(session) => rest = Rest::Forked(session),
                ChatEvent::TakeOver => return Ok(Rest::TakeOver),
                ChatEvent::HostLost => {
                    self.tell(ChatEvent::HostLost)?;
                    return Ok(Rest::HostLost);
                }
                // A line can be sent when this process runs the session, or has found another one that does.
                ChatEvent::Status { .. } if self.chat.takes_over && self.session.is_alone() => {}
                ChatEvent::HostFound => self.ask_status(),
                // An answer to an earlier request does not include later messages.
                ChatEvent::Status { number, runs: false } if number == self.asked => break,
                // The status is requested again when the turn has ended.
                ChatEvent::Status { .. } => {}
                event => {
                    let was_running = self.presenter.running().is_some();
                    self.tell(event)?;
                    if was_running && self.presenter.running().is_none() {
                        self.ask_status();
                    }
                }
            }
        }
        Ok(rest)
    }

    fn ask_status(&mut self) {
        self.asked += 1;
        self.session.ask_status(&self.sender, self.asked);
    }

    fn until_ended(&mut self) -> Result<(), DriveError> {
        while !self.is_over {
            match self.events.recv() {
                Ok(ChatEvent::Ended(how)) => {
                    self.is_over = true;
                    return how;
                }
                // The event is in the log, even if nobody reads the output.
                Ok(event) => drop(self.tell(event)),
                Err(_) => break,
            }
        }
        Ok(())
    }

    /// Switches to the forked session.
    fn move_to(&mut self, session: &SessionId) -> Result<(), ChatError> {
        self.session.send(Command::Close);
        self.until_ended()?;
        let (new, lines) = self.chat.reopen(session, &self.sender)?;
        std::mem::replace(&mut self.session, new).join();
        self.is_over = false;
        self.print(&lines)
    }

    /// Runs the session of another process that has ended.
    fn take_over(&mut self) -> Result<(), ChatError> {
        self.session.send(Command::Close);
        self.until_ended()?;
        let (new, lines) = self.chat.take_over(self.session.id(), &self.sender)?;
        std::mem::replace(&mut self.session, new).join();
        self.is_over = false;
        self.print(&lines)
    }

    fn tell(&mut self, event: ChatEvent) -> Result<(), ChatError> {
        if let ChatEvent::Session(SessionEvent::Permission { member, request, .. }) = &event {
            let name = self.presenter.names.name(member);
            let request = narrate::permission(name, &request.title);
            let line = format!("{request}; nobody can answer without a terminal, so the turn ends");
            self.refused = Some(format!(
                "{request}; run `tertulia chat` on a terminal and type /resume {member}"
            ));
            let lines = self.presenter.interrupts(&[Line::new(&line, Look::Error)]);
            return self.print(&lines);
        }
        let lines = match event {
            ChatEvent::NotSaid(error) => {
                let lines = self.presenter.error_lines(&error.to_string());
                self.not_said.get_or_insert(error);
                lines
            }
            event => self.presenter.on_chat_event(event, Instant::now()),
        };
        self.print(&lines)
    }

    pub(crate) fn print(&mut self, lines: &[Line]) -> Result<(), ChatError> {
        for line in lines {
            writeln!(self.stdout, "{}", line.painted(false)).map_err(ChatError::Output)?;
        }
        self.stdout.flush().map_err(ChatError::Output)
    }
}

/// Returns the line for input that is not valid text.
fn unreadable(error: &LineError) -> Line {
    let what = match error {
        LineError::NotUtf8 { number, offset } => {
            format!("line {number} is not UTF-8: byte {offset} of it is invalid")
        }
        LineError::TooLong { number, bytes_max } => {
            format!("line {number} is longer than {} bytes", grouped(*bytes_max))
        }
    };
    Line::new(format!("{what}; it was not sent"), Look::Error)
}
