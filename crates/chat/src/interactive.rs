//! The chat on a terminal: one loop that waits for keys, the table and signals at once. The line can be
//! edited while an answer streams in above it.

use std::os::fd::AsFd;
use std::sync::mpsc::Receiver;
use std::time::{Duration, Instant};

use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::process::{Signal, kill_current_process_group};
use tertulia_store::SessionId;
use tertulia_team::{Command, DriveError, PermissionAnswer};

use super::Room;
use super::act::{Act, Place, act};
use super::commands::{self, Slash, Typed};
use super::complete::{Completion, common_beginning, complete};
use super::editor::{Done, Editor};
use super::engine::{BellEnd, ChatEvent, Table, Voice};
use super::history::History;
use super::keys::Keys;
use super::screen::{Live, RawMode, Screen, is_foreground};
use super::signals::{Signals, drain, watch_stall};
use super::style::{Line, Look};
use super::teller::{self, Meant, PENDING_ROWS, Teller};
use crate::error::ChatError;
use crate::terminal::excerpt;

/// So long after an Esc the rest of a longer key would have come.
const ESCAPE_WAIT: Duration = Duration::from_millis(50);
const NOW: Timespec = Timespec { tv_sec: 0, tv_nsec: 0 };
/// So long a stop may take to come.
const STOP_WAIT: Timespec = Timespec { tv_sec: 0, tv_nsec: 200_000_000 };
const CONTROL_C: u8 = 0x03;
const CANDIDATES_SHOWN: usize = 30;
/// How much of the name of a choice is said again.
const CHOICE_COLUMNS: usize = 60;
const PROMPT: &str = "> ";

pub(crate) struct TerminalChat<'c> {
    pub(crate) room: &'c Room,
    pub(crate) table: Table,
    pub(crate) screen: Screen<'c>,
    pub(crate) teller: Teller,
    pub(crate) voice: Voice,
    pub(crate) heard: Receiver<ChatEvent>,
    pub(crate) bell: BellEnd,
    pub(crate) history: History,
    pub(crate) state: State,
}

#[derive(Default)]
pub(crate) struct State {
    editor: Editor,
    keys: Keys,
    typed_at: Option<Instant>,
    /// What was said since the screen was drawn.
    lines: Vec<Line>,
    candidates: Vec<String>,
    /// Ctrl-C was the last key: once more leaves.
    is_armed: bool,
    is_leaving: bool,
    is_suspending: bool,
    /// A fork was asked for and is not there yet: what is typed meanwhile is for the new session.
    is_forking: bool,
    held: Vec<Held>,
    fork: Option<SessionId>,
    ended: Option<Result<(), DriveError>>,
}

/// What waits until a fork is there.
enum Held {
    Line(String),
    Leave,
}

impl State {
    /// Somebody sits down; this is to be said first.
    pub(crate) fn new(editor: Editor, lines: Vec<Line>) -> Self {
        Self { editor, lines, ..Self::default() }
    }
}

impl TerminalChat<'_> {
    pub(crate) fn run(mut self) -> Result<SessionId, ChatError> {
        let mode = RawMode::enter().map_err(ChatError::Input)?;
        let signals = Signals::catch().map_err(ChatError::Input)?;
        let _stall = watch_stall(mode.before.clone());
        let outcome = loop {
            match self.turn_of_loop(&mode, &signals) {
                Ok(None) => {}
                Ok(Some(ended)) => break ended.map_err(ChatError::from),
                Err(error) => {
                    // A terminal that is gone: the table is left in good order.
                    self.table.send(Command::Close);
                    self.wait_for_end();
                    break Err(error);
                }
            }
        };
        let lines = std::mem::take(&mut self.state.lines);
        let closed = self.screen.draw(&lines, &[]).map_err(ChatError::Output);
        drop(mode);
        let session = self.table.session.clone();
        self.table.join();
        outcome.and(closed).map(|()| session)
    }

    /// Draws, waits, and does what follows.
    fn turn_of_loop(
        &mut self,
        mode: &RawMode,
        signals: &Signals,
    ) -> Result<Option<Result<(), DriveError>>, ChatError> {
        self.draw()?;
        let ready = self.wait(signals).map_err(ChatError::Input)?;
        let [has_keys, has_news, is_resized, is_continued, is_ending] = ready;
        if has_news {
            self.bell.reset();
            while let Ok(heard) = self.heard.try_recv() {
                self.hear(heard);
            }
        }
        if is_resized || is_continued {
            drain(&signals.resized);
            drain(&signals.continued);
            if is_continued && (!is_ending || is_foreground()) {
                mode.set().map_err(ChatError::Input)?;
            }
            self.screen.measure();
            self.teller.set_columns(self.screen.size().1);
        }
        if is_ending {
            drain(&signals.ending);
            self.leave();
        }
        if has_keys {
            self.read_keys()?;
            if std::mem::take(&mut self.state.is_suspending) {
                self.suspend(mode, signals)?;
            }
        } else if self.state.typed_at.is_none_or(|at| at.elapsed() >= ESCAPE_WAIT)
            && let Some(escape) = self.state.keys.take_escape()
        {
            self.press(escape)?;
        }
        self.follow_fork()
    }

    /// Stops this program and those of its group, as the shell's own key does, and takes the terminal again
    /// when it goes on.
    fn suspend(&mut self, mode: &RawMode, signals: &Signals) -> Result<(), ChatError> {
        let lines = std::mem::take(&mut self.state.lines);
        self.screen.draw(&lines, &[]).map_err(ChatError::Output)?;
        mode.leave();
        let _ = kill_current_process_group(Signal::TSTP);
        // The stop may come a moment later, and with no shell above it never does.
        let mut going_on = [PollFd::from_borrowed_fd(signals.continued.as_fd(), PollFlags::IN)];
        let _ = poll(&mut going_on, Some(&STOP_WAIT));
        // A shell may end what it has stopped, and lets it go on for that.
        let mut ending = [PollFd::from_borrowed_fd(signals.ending.as_fd(), PollFlags::IN)];
        let is_ending = poll(&mut ending, Some(&NOW)).is_ok_and(|ready| ready > 0);
        if is_ending && !is_foreground() {
            return Ok(());
        }
        mode.set().map_err(ChatError::Input)
    }

    /// Waits; which of keys, news of the table and signals are there.
    fn wait(&self, signals: &Signals) -> std::io::Result<[bool; 5]> {
        let stdin = std::io::stdin();
        let watch = |fd| PollFd::from_borrowed_fd(fd, PollFlags::IN);
        let mut fds = [
            watch(stdin.as_fd()),
            watch(self.bell.pipe.as_fd()),
            watch(signals.resized.as_fd()),
            watch(signals.continued.as_fd()),
            watch(signals.ending.as_fd()),
        ];
        // Looked at a few times, since the table may wake us in between.
        let moment = Timespec { tv_sec: 0, tv_nsec: 20_000_000 };
        let timeout = self.state.keys.is_escape_waiting().then_some(&moment);
        // A signal that interrupts is in its pipe: whoever drew before reading it would draw for a screen
        // that has another size now.
        while let Err(error) = poll(&mut fds, timeout) {
            if error != rustix::io::Errno::INTR {
                return Err(error.into());
            }
        }
        Ok(fds.each_ref().map(|fd| !fd.revents().is_empty()))
    }

    fn hear(&mut self, heard: ChatEvent) {
        match heard {
            ChatEvent::Ended(how) => self.state.ended = Some(how),
            ChatEvent::Forked(session) => self.state.fork = Some(session),
            heard => {
                self.state.is_forking &= !matches!(heard, ChatEvent::NotForked(_));
                let lines = self.teller.hear(heard, Instant::now());
                self.state.lines.extend(lines);
            }
        }
    }

    fn wait_for_end(&mut self) {
        while self.state.ended.is_none()
            && let Ok(heard) = self.heard.recv()
        {
            self.hear(heard);
        }
    }

    /// Moves to the session that was forked, or says that the table has ended.
    fn follow_fork(&mut self) -> Result<Option<Result<(), DriveError>>, ChatError> {
        if let Some(session) = self.state.fork.take() {
            self.table.send(Command::Close);
            self.wait_for_end();
            if let Some(Err(error)) = self.state.ended.take() {
                return Ok(Some(Err(error)));
            }
            // Should the new one not open, nothing is left to wait for.
            self.state.ended = Some(Ok(()));
            let (new, lines) = self.room.reopen(&session, &self.voice)?;
            self.state.lines.extend(self.teller.aside(&lines));
            std::mem::replace(&mut self.table, new).join();
            self.state.ended = None;
            self.state.is_forking = false;
        }
        if !self.state.is_forking {
            for held in std::mem::take(&mut self.state.held) {
                match held {
                    Held::Line(text) => self.act_on(text),
                    Held::Leave => self.leave(),
                }
            }
        }
        Ok(self.state.ended.take())
    }

    fn read_keys(&mut self) -> Result<(), ChatError> {
        let mut bytes = [0; 4096];
        let count = match rustix::io::read(std::io::stdin(), &mut bytes) {
            Ok(count) => count,
            Err(rustix::io::Errno::INTR | rustix::io::Errno::AGAIN) => return Ok(()),
            // The terminal is gone.
            Err(_) => 0,
        };
        if count == 0 {
            return Err(ChatError::ReaderDone);
        }
        self.state.typed_at = Some(Instant::now());
        let bytes = bytes.get(..count).unwrap_or_default();
        // Alone it was pressed and not pasted.
        if bytes.iter().all(|byte| *byte == CONTROL_C)
            && let Some(pasted) = self.state.keys.end_paste()
        {
            self.press(pasted)?;
        }
        for key in self.state.keys.push(bytes) {
            self.press(key)?;
        }
        Ok(())
    }

    fn press(&mut self, key: super::keys::Key) -> Result<(), ChatError> {
        let done = self.state.editor.press(key);
        let was_armed = std::mem::take(&mut self.state.is_armed);
        self.state.candidates.clear();
        match done {
            Done::Edited => {}
            Done::Entered(text) => {
                self.history.add(&text);
                self.act_on(text);
            }
            Done::Complete => self.complete(),
            Done::Redraw => self.screen.clear().map_err(ChatError::Output)?,
            Done::Suspend => self.state.is_suspending = true,
            Done::Leave => self.leave(),
            Done::Stop => self.stop(),
            Done::Interrupt if was_armed => self.leave(),
            Done::Interrupt => {
                self.state.is_armed = true;
                if self.teller.running().is_some() {
                    self.stop();
                } else {
                    self.state.editor.clear();
                }
            }
        }
        Ok(())
    }

    /// Stops the turn that runs. What was typed stays.
    fn stop(&mut self) {
        if self.teller.running().is_some() {
            self.table.send(Command::CancelRunning);
        }
    }

    fn leave(&mut self) {
        if self.state.is_forking {
            self.state.held.push(Held::Leave);
        } else if !self.state.is_leaving {
            self.state.is_leaving = true;
            self.table.send(Command::Close);
        }
    }

    /// Does what a line says; while a fork is on its way, later.
    fn act_on(&mut self, text: String) {
        if self.state.is_forking {
            self.state.held.push(Held::Line(text));
        } else {
            self.entered(&text);
        }
    }

    fn entered(&mut self, text: &str) {
        if self.is_answer(text) {
            return;
        }
        let typed = commands::read(text);
        self.state.is_forking = matches!(typed, Typed::Command(Slash::Fork, _));
        let act = match typed {
            Typed::Words(words) if let Some(meant) = commands::without_slash(words) => {
                Act::Tell(vec![not_said(words, &meant)])
            }
            typed => act(&typed, &Place { room: self.room, voice: &self.voice }),
        };
        if text.trim_start().starts_with('/') {
            self.say(&format!("{PROMPT}{}", text.trim()), Look::Dim);
        }
        match act {
            Act::Send(command) => self.table.send(command),
            Act::Tell(lines) => self.state.lines.extend(self.teller.aside(&lines)),
            Act::Leave => self.leave(),
        }
    }

    /// Whether a line answers what an agent waits for, or tries to. Then it is not said.
    fn is_answer(&mut self, text: &str) -> bool {
        let Some((number, _, wish)) = &self.teller.wish else { return false };
        let number = *number;
        match teller::meant(wish, text) {
            Meant::Else => return false,
            Meant::Unclear => {
                let count = wish.choices.len();
                let typed = excerpt(text, CHOICE_COLUMNS);
                let text = format!("{typed}? type a number from 0 to {count}; 0 says no");
                self.say(&text, Look::Alarm);
            }
            Meant::Answer(answer) => {
                let said = match &answer {
                    PermissionAnswer::Choose(id) => {
                        let chosen = wish.choices.iter().find(|choice| choice.id == *id);
                        let name = chosen.map_or(text.trim(), |choice| &choice.name);
                        format!("({})", excerpt(name, CHOICE_COLUMNS))
                    }
                    _ => "(no)".to_owned(),
                };
                self.say(&said, Look::Dim);
                self.teller.wish = None;
                self.table.send(Command::Permit(number, answer));
            }
        }
        true
    }

    fn complete(&mut self) {
        let (before, names) = (self.state.editor.before(), self.room.names(""));
        let Completion { from, candidates } = complete(before, &names, &self.room.folder);
        match candidates.as_slice() {
            [] => {}
            [one] => {
                let blank = if one.ends_with('/') { "" } else { " " };
                self.state.editor.replace_from(from, &format!("{one}{blank}"));
            }
            several => {
                let begun = self.state.editor.before().len() - from;
                let common = common_beginning(several);
                if common.len() > begun {
                    self.state.editor.replace_from(from, common);
                } else {
                    self.state.candidates = candidates;
                }
            }
        }
    }

    fn say(&mut self, text: &str, look: Look) {
        self.state.lines.extend(self.teller.aside(&Line::all_of(text, look)));
    }

    fn draw(&mut self) -> Result<(), ChatError> {
        let mut above = self.teller.pending(PENDING_ROWS);
        above.extend(self.status());
        if !self.state.candidates.is_empty() {
            above.push(self.offered());
        }
        let (text, cursor) = (self.state.editor.text(), self.state.editor.cursor());
        let live = Live { above, prompt: PROMPT, text, cursor };
        let lines = std::mem::take(&mut self.state.lines);
        self.screen.show(&lines, &live).map_err(ChatError::Output)
    }

    /// What the table does now, if that has to be known.
    fn status(&self) -> Option<Line> {
        let text = match (self.state.is_leaving, self.teller.running()) {
            (true, _) => "leaving…".to_owned(),
            (false, Some((member, true))) => format!("{member} is being stopped…"),
            (false, None) if self.state.is_armed => "Ctrl-C once more leaves".to_owned(),
            (false, running) => match (self.teller.waits_for(), running) {
                (Some(waits), _) => waits,
                (None, Some((member, _))) => format!("{member} answers… Esc stops"),
                (None, None) => return None,
            },
        };
        Some(Line::new(&text, Look::Dim))
    }

    fn offered(&self) -> Line {
        let all = &self.state.candidates;
        let shown: Vec<&str> = all.iter().take(CANDIDATES_SHOWN).map(String::as_str).collect();
        let more = if all.len() > shown.len() { " …" } else { "" };
        let columns = self.screen.size().1.saturating_sub(1);
        Line::new(excerpt(&format!("{}{more}", shown.join("  ")), columns), Look::Dim)
    }
}

/// What is said of a word that other programs take for a command.
fn not_said(words: &str, meant: &str) -> Line {
    let cure = format!("did you mean {meant}? To say it, address somebody: @name {words}");
    Line::new(format!("'{words}' was not said; {cure}"), Look::Alarm)
}
