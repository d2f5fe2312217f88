//! Runs the command on a pseudo-terminal in a workspace, with an emulator that returns the screen.

use std::io::{Read, Write};
use std::num::NonZeroU16;
use std::sync::{Arc, Condvar, Mutex};
use std::time::{Duration, Instant};

use portable_pty::{Child, CommandBuilder, MasterPty, NativePtySystem, PtySize, PtySystem};

use crate::workspace::{Workspace, wait_until};

/// A time limit that is long enough for a busy machine.
const LIMIT: Duration = Duration::from_secs(90);
const ROWS: u16 = 24;
const COLUMNS: u16 = 100;

struct Seen {
    emulator: vt100::Parser,
    raw: Vec<u8>,
    is_over: bool,
}

/// The terminal.
pub(crate) struct Pty {
    seen: Arc<(Mutex<Seen>, Condvar)>,
    keyboard: Box<dyn Write + Send>,
    child: Box<dyn Child + Send + Sync>,
    /// Kept open until the end.
    _master: Box<dyn MasterPty + Send>,
}

/// The output of a command on a terminal.
#[derive(Debug)]
pub(crate) struct Shown {
    pub(crate) code: u32,
    /// The screen at the end.
    pub(crate) screen: String,
    /// The whole output.
    pub(crate) raw: String,
}

impl Pty {
    /// Runs the command with these arguments and variables.
    pub(crate) fn start(
        workspace: &Workspace,
        arguments: &[&str],
        variables: &[(&str, &str)],
    ) -> Self {
        let size = PtySize { rows: ROWS, cols: COLUMNS, pixel_width: 0, pixel_height: 0 };
        let pair = NativePtySystem::default().openpty(size).unwrap();
        let program = std::path::absolute(env!("CARGO_BIN_EXE_tertulia")).unwrap();
        let mut command = CommandBuilder::new(program);
        command.args(arguments);
        command.cwd(workspace.path(""));
        command.env_clear();
        let path = format!("{}:/usr/bin:/bin", workspace.root().join("bin").display());
        command.env("PATH", path);
        command.env("HOME", workspace.root().join("home"));
        command.env("TERTULIA_HOME", workspace.root().join("data"));
        command.env("LANG", "C.UTF-8");
        command.env("TERM", "xterm-256color");
        for (name, value) in variables {
            command.env(name, value);
        }
        let child = pair.slave.spawn_command(command).unwrap();
        drop(pair.slave);
        let number = |value| NonZeroU16::new(value).unwrap();
        let emulator = vt100::Parser::new(number(ROWS), number(COLUMNS), 1000);
        let seen = Seen { emulator, raw: Vec::new(), is_over: false };
        let seen = Arc::new((Mutex::new(seen), Condvar::new()));
        let mut reader = pair.master.try_clone_reader().unwrap();
        let keyboard = pair.master.take_writer().unwrap();
        let shared = Arc::clone(&seen);
        std::thread::spawn(move || {
            let mut chunk = [0; 4096];
            loop {
                // The end of a terminal is an error on some systems.
                let length = reader.read(&mut chunk).unwrap_or(0);
                let mut seen = shared.0.lock().unwrap();
                seen.emulator.process(&chunk[..length]);
                seen.raw.extend_from_slice(&chunk[..length]);
                seen.is_over = length == 0;
                shared.1.notify_all();
                if length == 0 {
                    return;
                }
            }
        });
        Self { seen, keyboard, child, _master: pair.master }
    }

    /// Waits until the screen meets a condition, and returns it.
    #[track_caller]
    pub(crate) fn until(&self, what: &str, is_wanted: impl Fn(&str) -> bool) -> String {
        let (seen, news) = &*self.seen;
        let until = Instant::now() + LIMIT;
        let mut seen = seen.lock().unwrap();
        loop {
            let screen = seen.emulator.screen().contents();
            if is_wanted(&screen) {
                return screen;
            }
            let left = until.saturating_duration_since(Instant::now());
            assert!(!left.is_zero(), "never seen: {what}. The screen:\n{screen}");
            assert!(!seen.is_over, "it ended before this was seen: {what}. The screen:\n{screen}");
            seen = news.wait_timeout(seen, left).unwrap().0;
        }
    }

    /// Types, for a command that waits for input.
    pub(crate) fn types(&mut self, keys: &str) {
        self.keyboard.write_all(keys.as_bytes()).unwrap();
        self.keyboard.flush().unwrap();
    }

    /// Waits for the end.
    #[track_caller]
    pub(crate) fn ends(mut self) -> Shown {
        let mut status = None;
        wait_until("the command's end", || {
            status = self.child.try_wait().unwrap();
            status.is_some()
        });
        wait_until("the last of what it wrote", || self.seen.0.lock().unwrap().is_over);
        let seen = self.seen.0.lock().unwrap();
        Shown {
            code: status.unwrap().exit_code(),
            screen: seen.emulator.screen().contents(),
            raw: String::from_utf8_lossy(&seen.raw).into_owned(),
        }
    }
}
