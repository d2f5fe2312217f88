//! Runs the command on a pseudo-terminal, with an emulator that returns the screen.
//!
//! The emulator processes one piece of output after the other, only when a test reads the screen. So a test sees
//! every state of the screen, even if it is slow.

use std::cell::RefCell;
use std::io::{Read, Write};
use std::num::NonZeroU16;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{Receiver, RecvTimeoutError, Sender, channel};
use std::thread;
use std::time::{Duration, Instant};

use portable_pty::{Child, CommandBuilder, MasterPty, NativePtySystem, PtySize, PtySystem};

use super::ChatWorkspace;
use crate::workspace::wait_until;

/// A time limit that is long enough for a busy machine.
const LIMIT: Duration = Duration::from_secs(120);
/// The time to wait for the end of the output after the process has ended: another process that was started at the
/// same moment may have the terminal open for a while.
const LAST_WORDS: Duration = Duration::from_secs(2);

/// The output that the test has read so far.
struct Seen {
    emulator: vt100::Parser,
    raw: Vec<u8>,
    pieces: Receiver<Vec<u8>>,
}

impl Seen {
    fn take(&mut self, piece: &[u8]) {
        self.emulator.process(piece);
        self.raw.extend_from_slice(piece);
    }

    fn contents(&self) -> String {
        self.emulator.screen().contents()
    }
}

/// The terminal.
pub(super) struct Terminal {
    seen: RefCell<Seen>,
    /// Whether the output is not read.
    is_stalled: Arc<AtomicBool>,
    keyboard: Box<dyn Write + Send>,
    master: Box<dyn MasterPty + Send>,
    child: Box<dyn Child + Send + Sync>,
}

fn size(rows: u16, cols: u16) -> PtySize {
    PtySize { rows, cols, pixel_width: 0, pixel_height: 0 }
}

fn number(value: u16) -> NonZeroU16 {
    NonZeroU16::new(value).unwrap()
}

impl Terminal {
    /// Starts a chat on a terminal of 24 rows and 80 columns.
    pub(super) fn chat(workspace: &ChatWorkspace, more: &[&str]) -> Self {
        Self::chat_with(workspace, more, &[("TERM", "xterm-256color")])
    }

    /// The same with these variables.
    pub(super) fn chat_with(
        workspace: &ChatWorkspace,
        more: &[&str],
        env: &[(&str, &str)],
    ) -> Self {
        let program = std::path::absolute(env!("CARGO_BIN_EXE_tertulia")).unwrap();
        let mut command = CommandBuilder::new(program);
        command.args(workspace.arguments(more));
        Self::start(workspace, command, env)
    }

    /// Starts a chat in a shell with job control. When the chat stops, the shell prints a line, waits for input,
    /// and continues the chat.
    pub(super) fn chat_in_shell(workspace: &ChatWorkspace, more: &[&str]) -> Self {
        let program = std::path::absolute(env!("CARGO_BIN_EXE_tertulia")).unwrap();
        let mut command = CommandBuilder::new("sh");
        let script = "\"$@\"; stty -a | grep -o '[-]*icanon'; echo it stopped; read line; fg";
        command.args(["-m", "-c", script, "sh"]);
        command.arg(program);
        command.args(workspace.arguments(more));
        Self::start(workspace, command, &[("TERM", "xterm-256color")])
    }

    pub(super) fn start(
        workspace: &ChatWorkspace,
        mut command: CommandBuilder,
        env: &[(&str, &str)],
    ) -> Self {
        let pair = NativePtySystem::default().openpty(size(24, 80)).unwrap();
        command.cwd(workspace.path());
        command.env_remove("NO_COLOR");
        for (name, value) in workspace.variables() {
            command.env(name, value);
        }
        for (name, value) in env {
            command.env(name, value);
        }
        let child = pair.slave.spawn_command(command).unwrap();
        drop(pair.slave);
        let emulator = vt100::Parser::new(number(24), number(80), 1000);
        let (sender, pieces) = channel();
        let seen = RefCell::new(Seen { emulator, raw: Vec::new(), pieces });
        let is_stalled = Arc::new(AtomicBool::new(false));
        let reader = pair.master.try_clone_reader().unwrap();
        let keyboard = pair.master.take_writer().unwrap();
        let flag = Arc::clone(&is_stalled);
        thread::spawn(move || watch(reader, &sender, &flag));
        Self { seen, is_stalled, keyboard, master: pair.master, child }
    }

    /// Types. If the program has already ended, the next wait of the test fails.
    pub(super) fn types(&mut self, keys: &str) {
        let _ = self.keyboard.write_all(keys.as_bytes());
        let _ = self.keyboard.flush();
    }

    /// Waits until the screen meets a condition, and returns it.
    #[track_caller]
    pub(super) fn until(&self, what: &str, is_wanted: impl Fn(&str) -> bool) -> String {
        self.until_screen(what, |screen| is_wanted(&screen.contents()))
    }

    #[track_caller]
    fn until_screen(&self, what: &str, is_wanted: impl Fn(&vt100::Screen) -> bool) -> String {
        self.until_seen(what, |seen| is_wanted(seen.emulator.screen()))
    }

    /// Waits until the program has switched the terminal to single keys this many times.
    #[track_caller]
    pub(super) fn has_taken_the_keyboard(&self, times: usize) {
        self.until_seen("that keys are read", |seen| {
            // It turns on bracketed paste after it has changed the mode of the terminal.
            seen.raw.windows(8).filter(|bytes| bytes == b"\x1b[?2004h").count() >= times
        });
    }

    #[track_caller]
    fn until_seen(&self, what: &str, is_wanted: impl Fn(&Seen) -> bool) -> String {
        let until = Instant::now() + LIMIT;
        let mut seen = self.seen.borrow_mut();
        while !is_wanted(&seen) {
            let left = until.saturating_duration_since(Instant::now());
            match seen.pieces.recv_timeout(left) {
                Ok(piece) => seen.take(&piece),
                Err(RecvTimeoutError::Timeout) => {
                    panic!("never seen: {what}. The screen:\n{}", seen.contents())
                }
                Err(RecvTimeoutError::Disconnected) => {
                    let screen = seen.contents();
                    panic!("it ended before this was seen: {what}. The screen:\n{screen}")
                }
            }
        }
        seen.contents()
    }

    /// Waits until this is on the screen.
    #[track_caller]
    pub(super) fn shows(&self, text: &str) -> String {
        self.until(text, |screen| screen.contains(text))
    }

    /// Waits until this answer is on the screen and its turn has ended, which the time below it shows.
    #[track_caller]
    pub(super) fn has_answered(&self, text: &str) -> String {
        let is_time = |line: &str| {
            let number = line.split(" · ").last().and_then(|part| part.trim().strip_suffix(" s"));
            number.is_some_and(|number| number.parse::<f64>().is_ok())
        };
        self.until(&format!("the end of the answer {text}"), |screen| {
            screen.split_once(text).is_some_and(|(_, below)| below.lines().any(is_time))
        })
    }

    /// Changes the size of the terminal.
    pub(super) fn resize(&self, rows: u16, cols: u16) {
        let mut seen = self.seen.borrow_mut();
        // Output for the old size is processed with that size.
        while let Ok(piece) = seen.pieces.try_recv() {
            seen.take(&piece);
        }
        seen.emulator.screen_mut().set_size(number(rows), number(cols));
        self.master.resize(size(rows, cols)).unwrap();
    }

    /// Waits until this text is before the cursor, from the beginning of its row.
    #[track_caller]
    pub(super) fn has_typed(&self, text: &str) {
        self.until_screen(text, |screen| {
            let (row, column) = screen.cursor_position();
            let line = screen.rows(0, screen.size().1.get()).nth(usize::from(row));
            // The emulator does not return spaces at the end of a row.
            usize::from(column) == text.chars().count()
                && line.is_some_and(|line| line.trim_end().starts_with(text.trim_end()))
        });
    }

    /// Stops reading the output, as with Ctrl-S or a hanging connection.
    pub(super) fn stalls(&self) {
        self.is_stalled.store(true, Ordering::SeqCst);
    }

    /// Waits for the end of the process without reading its last output.
    #[track_caller]
    pub(super) fn dies(mut self) -> u32 {
        let mut status = None;
        wait_until("its end", || {
            status = self.child.try_wait().unwrap();
            status.is_some()
        });
        status.unwrap().exit_code()
    }

    /// Returns the process, for signals.
    pub(super) fn process(&self) -> u32 {
        self.child.process_id().unwrap()
    }

    /// Waits for the end; returns the exit code, the screen and the whole output.
    #[track_caller]
    pub(super) fn ends(mut self) -> (u32, String, Vec<u8>) {
        let seen = self.seen.get_mut();
        let mut until = Instant::now() + LIMIT;
        let mut status = None;
        loop {
            match seen.pieces.recv_timeout(Duration::from_millis(20)) {
                Ok(piece) => seen.take(&piece),
                Err(RecvTimeoutError::Disconnected) => break,
                Err(RecvTimeoutError::Timeout) => {}
            }
            if status.is_none() {
                status = self.child.try_wait().unwrap();
                until = if status.is_some() { Instant::now() + LAST_WORDS } else { until };
            }
            if Instant::now() >= until {
                assert!(status.is_some(), "it does not end. The screen:\n{}", seen.contents());
                break;
            }
        }
        let status = status.unwrap_or_else(|| self.child.wait().unwrap());
        (status.exit_code(), seen.contents(), std::mem::take(&mut seen.raw))
    }
}

impl Drop for Terminal {
    fn drop(&mut self) {
        let _ = self.child.kill();
    }
}

fn watch(mut reader: Box<dyn Read + Send>, pieces: &Sender<Vec<u8>>, is_stalled: &AtomicBool) {
    let mut bytes = [0; 4096];
    loop {
        // The end of a terminal is an error on some systems.
        let count = reader.read(&mut bytes).unwrap_or(0);
        let is_done = count == 0 || is_stalled.load(Ordering::SeqCst);
        if is_done || pieces.send(bytes[..count].to_vec()).is_err() {
            return;
        }
    }
}
