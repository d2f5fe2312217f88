//! The chat on a terminal: one loop that waits for keys, session events and signals. A person can edit the input line
//! while an answer appears above it.

use std::os::fd::AsFd;
use std::sync::mpsc::Receiver;
use std::time::{Duration, Instant};

use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::process::{Signal, kill_current_process_group};
use tertulia_store::SessionId;
use tertulia_team::{Command, DriveError, PermissionAnswer};

use super::ChatSession;
use super::commands::{self, Slash, Typed};
use super::complete::{Completion, common_beginning, complete};
use super::dispatch::{Action, CommandContext};
use super::editor::{Done, Editor};
use super::engine::{ChatEvent, EventSender, Session, WakeReceiver};
use super::history::History;
use super::keys::Keys;
use super::presenter::{self, PENDING_ROWS, Presenter, Reply};
use super::screen::{Live, RawMode, Screen, is_foreground};
use super::signals::{Signals, drain, start_watchdog};
use super::style::{Line, Look};
use crate::error::ChatError;
use crate::terminal::excerpt;

/// Time after an Esc within which the rest of a longer key sequence arrives.
const ESCAPE_WAIT: Duration = Duration::from_millis(50);
const NOW: Timespec = Timespec { tv_sec: 0, tv_nsec: 0 };
/// Maximum time until a stop signal arrives.
const STOP_WAIT: Timespec = Timespec { tv_sec: 0, tv_nsec: 200_000_000 };
const CONTROL_C: u8 = 0x03;
const CANDIDATES_SHOWN: usize = 30;
/// Maximum width of a choice's name.
const CHOICE_COLUMNS: usize = 60;
const PROMPT: &str = "> ";

pub(crate) struct TerminalChat<'c> {
    pub(crate) chat: &'c ChatSession,
    pub(crate) session: Session,
    pub(crate) screen: Screen<'c>,
    pub(crate) presenter: Presenter,
    pub(crate) sender: EventSender,
    pub(crate) events: Receiver<ChatEvent>,
    pub(crate) waker: WakeReceiver,
    pub(crate) history: History,
    pub(crate) state: State,
}

#[derive(Default)]
pub(crate) struct State {
    editor: Editor,
    keys: Keys,
    typed_at: Option<Instant>,
    /// Lines to add with the next drawing.
    lines: Vec<Line>,
    candidates: Vec<String>,
    /// Ctrl-C was the last key; another one leaves.
    is_armed: bool,
    is_leaving: bool,
    is_suspending: bool,
    /// A fork was requested and is not ready; input goes to the new session.
    is_forking: bool,
    pending_input: Vec<Pending>,
    fork: Option<SessionId>,
    /// The session is to be taken over.
    takes_over: bool,
    ended: Option<Result<(), DriveError>>,
}

/// Input that is handled when a fork is ready.
enum Pending {
    Line(String),
    Leave,
}

impl State {
    /// Creates the state with the first lines to show.
    pub(crate) fn new(editor: Editor, lines: Vec<Line>) -> Self {
        Self { editor, lines, ..Self::default() }
    }
}

impl TerminalChat<'_> {
    pub(crate) fn run(mut self) -> Result<SessionId, ChatError> {
        let mode = RawMode::enter().map_err(ChatError::Input)?;
        let signals = Signals::catch().map_err(ChatError::Input)?;
        let _watchdog = start_watchdog(mode.before.clone());
        let outcome = loop {
            match self.step(&mode, &signals) {
                Ok(None) => {}
                Ok(Some(ended)) => break ended.map_err(ChatError::from),
                Err(error) => {
                    // The terminal was closed, so the session is closed properly.
                    self.session.send(Command::Close);
                    self.wait_for_end();
                    break Err(error);
                }
            }
        };
        let lines = std::mem::take(&mut self.state.lines);
        let closed = self.screen.draw(&lines, &[]).map_err(ChatError::Output);
        drop(mode);
        let session = self.session.id().clone();
        self.session.join();
        outcome.and(closed).map(|()| session)
    }

    /// Draws, waits for input and handles it.
    fn step(
        &mut self,
        mode: &RawMode,
        signals: &Signals,
    ) -> Result<Option<Result<(), DriveError>>, ChatError> {
        self.draw()?;
        let ready = self.wait(signals).map_err(ChatError::Input)?;
        let [has_keys, has_news, is_resized, is_continued, is_ending] = ready;
        if has_news {
            self.waker.reset();
            while let Ok(event) = self.events.try_recv() {
                self.on_chat_event(event);
            }
        }
        if is_resized || is_continued {
            drain(&signals.resized);
            drain(&signals.continued);
            if is_continued && (!is_ending || is_foreground()) {
                mode.set().map_err(ChatError::Input)?;
            }
            self.screen.measure();
            self.presenter.set_columns(self.screen.size().1);
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

    /// Stops this process group, as Ctrl-Z does in a shell, and restores raw mode when it continues.
    fn suspend(&mut self, mode: &RawMode, signals: &Signals) -> Result<(), ChatError> {
        let lines = std::mem::take(&mut self.state.lines);
        self.screen.draw(&lines, &[]).map_err(ChatError::Output)?;
        mode.leave();
        let _ = kill_current_process_group(Signal::TSTP);
        // The stop can come a moment later. If the parent is no shell, it never comes.
        let mut going_on = [PollFd::from_borrowed_fd(signals.continued.as_fd(), PollFlags::IN)];
        let _ = poll(&mut going_on, Some(&STOP_WAIT));
        // A shell resumes a stopped program to end it.
        let mut ending = [PollFd::from_borrowed_fd(signals.ending.as_fd(), PollFlags::IN)];
        let is_ending = poll(&mut ending, Some(&NOW)).is_ok_and(|ready| ready > 0);
        if is_ending && !is_foreground() {
            return Ok(());
        }
        mode.set().map_err(ChatError::Input)
    }

    /// Waits, then returns which of keys, session events and signals are ready.
    fn wait(&self, signals: &Signals) -> std::io::Result<[bool; 5]> {
        let stdin = std::io::stdin();
        let watch = |fd| PollFd::from_borrowed_fd(fd, PollFlags::IN);
        let mut fds = [
            watch(stdin.as_fd()),
            watch(self.waker.pipe.as_fd()),
            watch(signals.resized.as_fd()),
            watch(signals.continued.as_fd()),
            watch(signals.ending.as_fd()),
        ];
        // Checked several times, because events of the session can end the wait.
        let moment = Timespec { tv_sec: 0, tv_nsec: 20_000_000 };
        let timeout = self.state.keys.is_escape_waiting().then_some(&moment);
        // An interrupting signal is in its pipe. It is read before drawing, because the screen
        // may have another size now.
        while let Err(error) = poll(&mut fds, timeout) {
            if error != rustix::io::Errno::INTR {
                return Err(error.into());
            }
        }
        Ok(fds.each_ref().map(|fd| !fd.revents().is_empty()))
    }

    fn on_chat_event(&mut self, event: ChatEvent) {
        match event {
            ChatEvent::Ended(how) => self.state.ended = Some(how),
            ChatEvent::Forked(session) => self.state.fork = Some(session),
            ChatEvent::TakeOver => self.state.takes_over = true,
            event => {
                self.state.is_forking &= !matches!(event, ChatEvent::NotForked(_));
                let lines = self.presenter.on_chat_event(event, Instant::now());
                self.state.lines.extend(lines);
            }
        }
    }

    fn wait_for_end(&mut self) {
        while self.state.ended.is_none()
            && let Ok(event) = self.events.recv()
        {
            self.on_chat_event(event);
        }
    }

    /// Runs the session here if that was asked for, or else switches to the forked session; returns how the session ended, if it did.
    fn follow_fork(&mut self) -> Result<Option<Result<(), DriveError>>, ChatError> {
        let taken_over = std::mem::take(&mut self.state.takes_over);
        let taken_over = (taken_over && !self.state.is_leaving).then(|| self.session.id().clone());
        if let Some(session) = self.state.fork.take().or_else(|| taken_over.clone()) {
            self.session.send(Command::Close);
            self.wait_for_end();
            if let Some(Err(error)) = self.state.ended.take() {
                return Ok(Some(Err(error)));
            }
            // If the new session cannot be opened, there is nothing left to wait for.
            self.state.ended = Some(Ok(()));
            let (new, lines) = match &taken_over {
                Some(_) => self.chat.take_over(&session, &self.sender)?,
                None => self.chat.reopen(&session, &self.sender)?,
            };
            self.state.lines.extend(self.presenter.aside(&lines));
            std::mem::replace(&mut self.session, new).join();
            self.state.ended = None;
            self.state.is_forking = false;
        }
        if !self.state.is_forking {
            for pending_input in std::mem::take(&mut self.state.pending_input) {
                match pending_input {
                    Pending::Line(text) => self.act_on(text),
                    Pending::Leave => self.leave(),
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
            // The terminal was closed.
            Err(_) => 0,
        };
        if count == 0 {
            return Err(ChatError::ReaderDone);
        }
        self.state.typed_at = Some(Instant::now());
        let bytes = bytes.get(..count).unwrap_or_default();
        // A single Ctrl-C comes from a key, not from a paste.
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
                if self.presenter.running().is_some() {
                    self.stop();
                } else {
                    self.state.editor.clear();
                }
            }
        }
        Ok(())
    }

    /// Stops the running turn. The input stays.
    fn stop(&mut self) {
        if self.presenter.running().is_some() {
            self.session.send(Command::CancelRunning);
        }
    }

    fn leave(&mut self) {
        if self.state.is_forking {
            self.state.pending_input.push(Pending::Leave);
        } else if !self.state.is_leaving {
            self.state.is_leaving = true;
            self.session.send(Command::Close);
        }
    }

    /// Handles a line; during a fork, it waits.
    fn act_on(&mut self, text: String) {
        if self.state.is_forking {
            self.state.pending_input.push(Pending::Line(text));
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
        let action = match typed {
            Typed::Words(words) if let Some(suggestion) = commands::without_slash(words) => {
                Action::Tell(vec![not_said(words, &suggestion)])
            }
            typed => {
                let context = CommandContext { chat: self.chat, sender: &self.sender };
                self.session.action(&typed, text, &context)
            }
        };
        if text.trim_start().starts_with('/') {
            self.say(&format!("{PROMPT}{}", text.trim()), Look::Dim);
        }
        match action {
            Action::Send(command) => self.session.send(command),
            Action::Tell(lines) => self.state.lines.extend(self.presenter.aside(&lines)),
            Action::Leave => self.leave(),
            Action::TakeOver => self.state.takes_over = true,
        }
    }

    /// Handles a line as an answer to a permission request. Returns whether it was one.
    fn is_answer(&mut self, text: &str) -> bool {
        let Some(open) = self.presenter.permission() else { return false };
        let (number, request) = (open.number, &open.request);
        match presenter::parse_reply(request, text) {
            Reply::Other => return false,
            Reply::Unclear => {
                let count = request.choices.len();
                let typed = excerpt(text, CHOICE_COLUMNS);
                let text =
                    format!("'{typed}' is unclear; type a number from 0 to {count} (0 = no)");
                self.say(&text, Look::Error);
            }
            Reply::Answer(answer) => {
                let chosen = match &answer {
                    PermissionAnswer::Choose(id) => {
                        let chosen = request.choices.iter().find(|choice| choice.id == *id);
                        Some(chosen.map_or(text.trim(), |choice| &choice.name).to_owned())
                    }
                    _ => None,
                };
                let said = chosen.as_deref().map_or("(no)".to_owned(), |name| {
                    format!("({})", excerpt(name, CHOICE_COLUMNS))
                });
                self.say(&said, Look::Dim);
                let lines = self.presenter.answer_permission(chosen.as_deref());
                self.state.lines.extend(lines);
                self.session.send(Command::Permit(number, answer));
            }
        }
        true
    }

    fn complete(&mut self) {
        let (before, names) = (self.state.editor.before(), self.chat.names(""));
        let Completion { from, candidates } = complete(before, &names, &self.chat.folder);
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
        self.state.lines.extend(self.presenter.aside(&Line::split(text, look)));
    }

    fn draw(&mut self) -> Result<(), ChatError> {
        let mut above = self.presenter.pending(PENDING_ROWS);
        above.extend(self.status());
        if !self.state.candidates.is_empty() {
            above.push(self.offered());
        }
        let (text, cursor) = (self.state.editor.text(), self.state.editor.cursor());
        let live = Live { above, prompt: PROMPT, text, cursor };
        let lines = std::mem::take(&mut self.state.lines);
        self.screen.show(&lines, &live).map_err(ChatError::Output)
    }

    /// Returns the status line, if there is one.
    fn status(&self) -> Option<Line> {
        let text = match (self.state.is_leaving, self.presenter.running()) {
            (true, _) => "leaving…".to_owned(),
            (false, Some((member, true))) => format!("stopping {member}…"),
            (false, None) if self.state.is_armed => "Press Ctrl-C again to leave".to_owned(),
            (false, running) => match (self.presenter.waits_for(), running) {
                (Some(waits), _) => waits,
                (None, Some((member, _))) => match self.presenter.others() {
                    0 => format!("{member} is answering… Esc to stop"),
                    others => format!("{member} and {others} more are answering… Esc to stop"),
                },
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

/// Returns the line for a word that is a command in other programs.
fn not_said(words: &str, suggestion: &str) -> Line {
    let advice = format!("did you mean {suggestion}? To send it, address somebody: @name {words}");
    Line::new(format!("'{words}' was not sent; {advice}"), Look::Error)
}
