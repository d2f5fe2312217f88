//! A pseudo-terminal with the command on it, and an emulator that says what is on the screen.

use std::io::{Read, Write};
use std::num::NonZeroU16;
use std::sync::{Arc, Condvar, Mutex};
use std::thread;
use std::time::{Duration, Instant};

use portable_pty::{Child, CommandBuilder, MasterPty, NativePtySystem, PtySize, PtySystem};

use super::Parlour;

/// Longer than anything takes, even on a machine that does much else.
const LIMIT: Duration = Duration::from_secs(90);

struct Seen {
    emulator: vt100::Parser,
    raw: Vec<u8>,
    is_over: bool,
    /// Nobody reads what is written.
    is_stalled: bool,
}

/// The terminal.
pub(super) struct Terminal {
    seen: Arc<(Mutex<Seen>, Condvar)>,
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
    /// Starts a chat on a terminal of 24 by 80.
    pub(super) fn chat(parlour: &Parlour, more: &[&str]) -> Self {
        Self::chat_with(parlour, more, &[("TERM", "xterm-256color")])
    }

    /// The same with these variables.
    pub(super) fn chat_with(parlour: &Parlour, more: &[&str], env: &[(&str, &str)]) -> Self {
        let program = std::path::absolute(env!("CARGO_BIN_EXE_tertulia")).unwrap();
        let mut command = CommandBuilder::new(program);
        command.args(parlour.arguments(more));
        Self::start(parlour, command, env)
    }

    /// Starts a chat in a shell that knows jobs. When the chat stops, the shell says so, waits for a line,
    /// and lets it go on.
    pub(super) fn chat_in_shell(parlour: &Parlour, more: &[&str]) -> Self {
        let program = std::path::absolute(env!("CARGO_BIN_EXE_tertulia")).unwrap();
        let mut command = CommandBuilder::new("sh");
        let script = "\"$@\"; stty -a | grep -o '[-]*icanon'; echo it stopped; read line; fg";
        command.args(["-m", "-c", script, "sh"]);
        command.arg(program);
        command.args(parlour.arguments(more));
        Self::start(parlour, command, &[("TERM", "xterm-256color")])
    }

    fn start(parlour: &Parlour, mut command: CommandBuilder, env: &[(&str, &str)]) -> Self {
        let pair = NativePtySystem::default().openpty(size(24, 80)).unwrap();
        command.cwd(parlour.path());
        command.env_remove("NO_COLOR");
        for (name, value) in parlour.variables() {
            command.env(name, value);
        }
        for (name, value) in env {
            command.env(name, value);
        }
        let child = pair.slave.spawn_command(command).unwrap();
        drop(pair.slave);
        let emulator = vt100::Parser::new(number(24), number(80), 1000);
        let seen = Seen { emulator, raw: Vec::new(), is_over: false, is_stalled: false };
        let seen = Arc::new((Mutex::new(seen), Condvar::new()));
        let reader = pair.master.try_clone_reader().unwrap();
        let keyboard = pair.master.take_writer().unwrap();
        let shared = Arc::clone(&seen);
        thread::spawn(move || watch(reader, &shared));
        Self { seen, keyboard, master: pair.master, child }
    }

    /// Types.
    pub(super) fn types(&mut self, keys: &str) {
        self.keyboard.write_all(keys.as_bytes()).unwrap();
        self.keyboard.flush().unwrap();
    }

    /// Waits until the screen is as wanted; gives what is on it.
    #[track_caller]
    pub(super) fn until(&self, what: &str, is_wanted: impl Fn(&str) -> bool) -> String {
        self.until_screen(what, |screen| is_wanted(&screen.contents()))
    }

    #[track_caller]
    fn until_screen(&self, what: &str, is_wanted: impl Fn(&vt100::Screen) -> bool) -> String {
        let (seen, news) = &*self.seen;
        let until = Instant::now() + LIMIT;
        let mut seen = seen.lock().unwrap();
        loop {
            let screen = seen.emulator.screen().contents();
            if is_wanted(seen.emulator.screen()) {
                return screen;
            }
            let left = until.saturating_duration_since(Instant::now());
            assert!(!left.is_zero(), "never seen: {what}. The screen:\n{screen}");
            assert!(!seen.is_over, "it ended before this was seen: {what}. The screen:\n{screen}");
            seen = news.wait_timeout(seen, left).unwrap().0;
        }
    }

    /// Waits until this is on the screen.
    #[track_caller]
    pub(super) fn shows(&self, text: &str) -> String {
        self.until(text, |screen| screen.contains(text))
    }

    /// Changes the size of the terminal.
    pub(super) fn resize(&self, rows: u16, cols: u16) {
        let mut seen = self.seen.0.lock().unwrap();
        seen.emulator.screen_mut().set_size(number(rows), number(cols));
        drop(seen);
        self.master.resize(size(rows, cols)).unwrap();
    }

    /// Waits until this stands before the cursor, from the beginning of its row.
    #[track_caller]
    pub(super) fn has_typed(&self, text: &str) {
        self.until_screen(text, |screen| {
            let (row, column) = screen.cursor_position();
            let line = screen.rows(0, screen.size().1.get()).nth(usize::from(row));
            // Blanks at the end of a row are not there for the emulator.
            usize::from(column) == text.chars().count()
                && line.is_some_and(|line| line.trim_end().starts_with(text.trim_end()))
        });
    }

    /// From now on nobody reads what is written, as with Ctrl-S or a connection that hangs.
    pub(super) fn stalls(&self) {
        self.seen.0.lock().unwrap().is_stalled = true;
    }

    /// Waits for the end of the process; whatever it wrote last is not read.
    #[track_caller]
    pub(super) fn dies(mut self) -> u32 {
        let until = Instant::now() + LIMIT;
        loop {
            if let Some(status) = self.child.try_wait().unwrap() {
                return status.exit_code();
            }
            assert!(Instant::now() < until, "it does not end");
            thread::sleep(Duration::from_millis(20));
        }
    }

    /// The process, for signals.
    pub(super) fn process(&self) -> u32 {
        self.child.process_id().unwrap()
    }

    /// Waits for the end; the exit code, what is on the screen, and all that was written.
    #[track_caller]
    pub(super) fn ends(mut self) -> (u32, String, Vec<u8>) {
        let (seen, news) = &*self.seen;
        let until = Instant::now() + LIMIT;
        let mut seen = seen.lock().unwrap();
        while !seen.is_over {
            let left = until.saturating_duration_since(Instant::now());
            let screen = seen.emulator.screen().contents();
            assert!(!left.is_zero(), "it does not end. The screen:\n{screen}");
            seen = news.wait_timeout(seen, left).unwrap().0;
        }
        let code = self.child.wait().unwrap().exit_code();
        (code, seen.emulator.screen().contents(), seen.raw.clone())
    }
}

impl Drop for Terminal {
    fn drop(&mut self) {
        let _ = self.child.kill();
    }
}

fn watch(mut reader: Box<dyn Read + Send>, shared: &(Mutex<Seen>, Condvar)) {
    let mut bytes = [0; 4096];
    loop {
        let count = reader.read(&mut bytes).unwrap_or(0);
        let mut seen = shared.0.lock().unwrap();
        if count == 0 {
            seen.is_over = true;
        }
        seen.emulator.process(&bytes[..count]);
        seen.raw.extend_from_slice(&bytes[..count]);
        shared.1.notify_all();
        if count == 0 || seen.is_stalled {
            return;
        }
    }
}
