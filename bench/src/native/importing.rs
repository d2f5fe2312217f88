//! An import of a long session with its search index, against copying the file and adding up its SHA-256 with the
//! system's programs.

use std::error::Error;
use std::fs;
use std::path::Path;
use std::process::{Command, Stdio};
use std::time::Instant;

use tertulia_dialect::native::NativeFormat;
use tertulia_native::{Environment, locate};
use tertulia_operations::import::{ImportOptions, LinkIndex, import_session};
use tertulia_session::Timestamp;

use super::sessions::{conversation_of_bytes, session};
use crate::report::{Figure, Theme, Unit, grouped};
use crate::store::Ground;

pub(super) fn measure(ground: &Ground, megabytes: usize) -> Result<Theme, Box<dyn Error>> {
    let messages = conversation_of_bytes(megabytes * 1_000_000);
    let text = session(NativeFormat::Claude, "0a1b2c3d-4e5f-4061-8071-2a3b4c5d6e7f", &messages)?;
    drop(messages);
    let (path, bytes) = (ground.file("session.jsonl")?, text.len());
    fs::write(&path, text)?;
    let (mut ours, mut plain) = (f64::INFINITY, f64::INFINITY);
    let mut entries = 0;
    for _ in 0..2 {
        let copy = ground.file("copy")?;
        plain = plain.min(copy_and_add_up(&path, &copy)?);
        fs::remove_file(&copy)?;
        let start = Instant::now();
        entries = import(ground, &path)?;
        ours = ours.min(start.elapsed().as_secs_f64());
    }
    let name =
        format!("{} MB of Claude Code, against cp and sha256sum", grouped(bytes / 1_000_000));
    let speed = bytes as f64 / 1e6 / ours;
    let detail = format!(
        "{ours:.2} s against {plain:.2} s; {} entries, {speed:.0} MB/s",
        grouped(usize::try_from(entries)?)
    );
    let figures = vec![Figure::new(name, ours / plain, Unit::Times).of(detail)];
    Ok(Theme { title: "Importing a session of an agent, with its search index", figures })
}

/// Returns the number of entries.
fn import(ground: &Ground, path: &Path) -> Result<u64, Box<dyn Error>> {
    let (store, _) = ground.store("imported")?;
    let environment = Environment::new("/nowhere", std::env::temp_dir());
    let found = locate(&environment, path, None)?;
    let found = found.first().ok_or("a session that was written is not found")?;
    let mut options = ImportOptions {
        id: None,
        redacts_secrets: false,
        line_bytes_max: 256 << 20,
        is_dry_run: false,
        skip_unfinished_answer: false,
        now: Timestamp::from_millis(1_800_000_000_000),
        project: &|_| None,
        progress: &mut |_| {},
    };
    let mut index = LinkIndex::default();
    let imported = import_session(&store, &environment, &mut index, found, &mut options)?;
    store.catch_up(|_| {})?;
    Ok(imported.entries)
}

fn copy_and_add_up(path: &Path, copy: &Path) -> Result<f64, Box<dyn Error>> {
    let start = Instant::now();
    run(Command::new("cp").arg(path).arg(copy))?;
    run(Command::new("sha256sum").arg(copy))?;
    Ok(start.elapsed().as_secs_f64())
}

fn run(command: &mut Command) -> Result<(), Box<dyn Error>> {
    let status = command.stdout(Stdio::null()).status()?;
    if status.success() { Ok(()) } else { Err(format!("{command:?} failed").into()) }
}
