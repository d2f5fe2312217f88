//! The chat without a terminal: lines in, plain text out, no escape sequence. A line is read when the
//! table has come to rest, so a script gets the same talk every time.

use std::io::Write;
use std::sync::mpsc::Receiver;
use std::time::Instant;

use tertulia_operations::lines::{LineError, Lines};
use tertulia_store::SessionId;
use tertulia_team::{Command, DriveError, SessionEvent};

use super::act::{Act, Place, act};
use super::commands;
use super::engine::{ChatEvent, Table, Voice};
use super::signals::{Interrupt, leave};
use super::style::{Line, Look};
use super::teller::Teller;
use super::{Ended, Room};
use crate::error::ChatError;
use crate::narrate;
use crate::terminal::grouped;

pub(crate) struct PlainChat<'c> {
    pub(crate) room: &'c Room,
    pub(crate) table: Table,
    pub(crate) teller: Teller,
    pub(crate) voice: Voice,
    pub(crate) heard: Receiver<ChatEvent>,
    pub(crate) lines_in: Lines<'c>,
    pub(crate) stdout: &'c mut dyn Write,
    /// Whether a person types the lines.
    pub(crate) prompts: bool,
    /// The number of the last question whether something runs.
    pub(crate) asked: u64,
    /// Whether the table of this session has said that it ended.
    pub(crate) is_over: bool,
    /// What an agent wanted to be allowed that nobody here could allow.
    pub(crate) refused: Option<String>,
    /// Why a line was not said; of several, the first.
    pub(crate) not_said: Option<ChatError>,
}

/// Why nothing runs.
enum Rest {
    Quiet,
    Forked(SessionId),
    Ended(Result<(), DriveError>),
}

impl PlainChat<'_> {
    pub(crate) fn run(mut self) -> Result<Ended, ChatError> {
        let interrupt = Interrupt::watch(self.table.door.clone(), leave);
        let talked = match self.talk(&interrupt) {
            Ok(Some(ended)) => ended.map_err(ChatError::from),
            // Also where nobody reads any more: the table is left in good order.
            other => {
                self.table.send(Command::Close);
                let ended = self.until_ended();
                other.and(ended.map_err(ChatError::from))
            }
        };
        let is_interrupted = interrupt.happened();
        drop(interrupt);
        self.table.join();
        talked?;
        let ended = match self.refused {
            _ if is_interrupted => Ended::Interrupted,
            Some(refused) => Ended::NeedsPerson(refused),
            None => self.teller.left_open(),
        };
        Ok(match (ended, self.not_said) {
            // However well the rest went, somebody was not heard.
            (Ended::Well, Some(error)) => Ended::NotSaid(error),
            (ended, _) => ended,
        })
    }

    /// Line after line; how the table ended, if it did.
    fn talk(&mut self, interrupt: &Interrupt) -> Result<Option<Result<(), DriveError>>, ChatError> {
        loop {
            match self.settle()? {
                Rest::Ended(how) => return Ok(Some(how)),
                Rest::Forked(session) => {
                    self.move_to(&session)?;
                    interrupt.follow(self.table.door.clone());
                }
                Rest::Quiet if !self.read_and_act()? => return Ok(None),
                Rest::Quiet => {}
            }
        }
    }

    /// Reads a line and does what it says; `false` if there is none, or somebody leaves.
    fn read_and_act(&mut self) -> Result<bool, ChatError> {
        if self.prompts {
            write!(self.stdout, "> ").map_err(ChatError::Output)?;
            self.stdout.flush().map_err(ChatError::Output)?;
        }
        let Some(line) = self.lines_in.next_line().map_err(ChatError::Input)? else {
            return Ok(false);
        };
        self.refused = None;
        let act = match line.text {
            Ok(text) => act(&commands::read(text), &Place { room: self.room, voice: &self.voice }),
            Err(error) => {
                let line = unreadable(&error);
                self.not_said.get_or_insert(ChatError::Line(error));
                Act::Tell(vec![line])
            }
        };
        match act {
            Act::Send(command) => self.table.send(command),
            Act::Tell(lines) => self.print(&lines)?,
            Act::Leave => return Ok(false),
        }
        Ok(true)
    }

    /// Shows what happens until nothing runs.
    fn settle(&mut self) -> Result<Rest, ChatError> {
        self.ask_status();
        let mut rest = Rest::Quiet;
        while let Ok(heard) = self.heard.recv() {
            match heard {
                ChatEvent::Ended(how) => return Ok(Rest::Ended(how)),
                ChatEvent::Forked(session) => rest = Rest::Forked(session),
                // An answer to an earlier question says nothing about what was sent since.
                ChatEvent::Status { number, runs: false } if number == self.asked => break,
                // Asked again when the turn has ended.
                ChatEvent::Status { .. } => {}
                heard => {
                    let was_running = self.teller.running().is_some();
                    self.tell(heard)?;
                    if was_running && self.teller.running().is_none() {
                        self.ask_status();
                    }
                }
            }
        }
        Ok(rest)
    }

    fn ask_status(&mut self) {
        self.asked += 1;
        self.table.ask_status(&self.voice, self.asked);
    }

    fn until_ended(&mut self) -> Result<(), DriveError> {
        while !self.is_over {
            match self.heard.recv() {
                Ok(ChatEvent::Ended(how)) => {
                    self.is_over = true;
                    return how;
                }
                // With nobody left to read it is in the log.
                Ok(heard) => drop(self.tell(heard)),
                Err(_) => break,
            }
        }
        Ok(())
    }

    /// Leaves a session for the one that was forked from it.
    fn move_to(&mut self, session: &SessionId) -> Result<(), ChatError> {
        self.table.send(Command::Close);
        self.until_ended()?;
        let (new, lines) = self.room.reopen(session, &self.voice)?;
        std::mem::replace(&mut self.table, new).join();
        self.is_over = false;
        self.print(&lines)
    }

    fn tell(&mut self, heard: ChatEvent) -> Result<(), ChatError> {
        if let ChatEvent::Session(SessionEvent::Permission { member, request, .. }) = &heard {
            let name = self.teller.shown.name(member);
            let wish = narrate::permission(name, &request.title);
            let line = format!("{wish}; nobody can answer without a terminal, so the turn ends");
            self.refused = Some(format!(
                "{wish}; run `tertulia chat` on a terminal and type /resume {member}"
            ));
            let lines = self.teller.interrupts(&[Line::new(&line, Look::Alarm)]);
            return self.print(&lines);
        }
        let lines = match heard {
            ChatEvent::NotSaid(error) => {
                let lines = self.teller.alarm(&error.to_string());
                self.not_said.get_or_insert(error);
                lines
            }
            heard => self.teller.hear(heard, Instant::now()),
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

/// What is said of a line that is no text.
fn unreadable(error: &LineError) -> Line {
    let what = match error {
        LineError::NotUtf8 { number, offset } => {
            format!("line {number} is not UTF-8: byte {offset} of it begins no character")
        }
        LineError::TooLong { number, bytes_max } => {
            format!("line {number} is longer than {} bytes", grouped(*bytes_max))
        }
    };
    Line::new(format!("{what}; it was not said"), Look::Alarm)
}
