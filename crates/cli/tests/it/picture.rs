//! The picture in the README: `tertulia demo` on a pseudo-terminal, drawn as SVG. `cargo xtask picture` runs this
//! test with `TERTULIA_UPDATE` set, which writes the files instead of comparing them.

mod svg;

use std::io::Read;
use std::num::NonZeroU16;

use portable_pty::{CommandBuilder, NativePtySystem, PtySize, PtySystem};

use crate::reference::check_file;
use svg::Theme;

const COLUMNS: u16 = 112;
/// Enough rows for the whole output of the demo, so that nothing scrolls away.
const ROWS: u16 = 400;
/// The picture ends before this line.
const END: &str = "What eva received";

/// Returns the screen after the command has ended.
fn screen_of(arguments: &[&str]) -> vt100::Parser {
    let size = PtySize { rows: ROWS, cols: COLUMNS, pixel_width: 0, pixel_height: 0 };
    let pair = NativePtySystem::default().openpty(size).unwrap();
    let folder = tempfile::tempdir().unwrap();
    let mut command =
        CommandBuilder::new(std::path::absolute(env!("CARGO_BIN_EXE_tertulia")).unwrap());
    command.args(arguments);
    command.cwd(folder.path());
    command.env_clear();
    command.env("PATH", "/usr/bin:/bin");
    command.env("HOME", folder.path());
    command.env("LANG", "C.UTF-8");
    command.env("TERM", "xterm-256color");
    let mut child = pair.slave.spawn_command(command).unwrap();
    drop(pair.slave);
    let mut reader = pair.master.try_clone_reader().unwrap();
    let mut printed = Vec::new();
    // Some systems report the end of a terminal as an error.
    let _ = reader.read_to_end(&mut printed);
    assert!(child.wait().unwrap().success());
    let number = |value| NonZeroU16::new(value).unwrap();
    let mut emulator = vt100::Parser::new(number(ROWS), number(COLUMNS), 0);
    emulator.process(&printed);
    emulator
}

#[test]
fn the_picture_in_the_readme_shows_what_the_demo_prints() {
    let emulator = screen_of(&["demo"]);
    let rows: Vec<String> = emulator.screen().rows(0, COLUMNS).collect();
    let end = rows.iter().position(|row| row.starts_with(END)).expect(END);
    let lines: Vec<svg::Line> = (0..end).map(|row| svg::Line::read(&emulator, row)).collect();
    for theme in [Theme::Light, Theme::Dark] {
        let picture = svg::draw("tertulia demo", &lines, COLUMNS, theme);
        check_file(&format!("docs/images/demo-{}.svg", theme.name()), &picture, "picture");
    }
}
