//! The speed of the readers of native sessions, and how much memory they need beyond the largest record.

use std::error::Error;
use std::fs;
use std::path::Path;
use std::time::Duration;

use tertulia_dialect::native::{Layout, NativeFormat, layout};
use tertulia_native::{Environment, FoundSession, SessionReader, locate};

use super::sessions::{conversation_of_bytes, session};
use crate::alloc::counted;
use crate::arguments::Scale;
use crate::measure::alone;
use crate::report::{Figure, Theme, Unit, grouped};
use crate::store::Ground;

/// The least speed of a reader, in megabytes per second.
const SPEED_MIN: f64 = 150.0;
/// The largest memory beyond the largest record.
const MEMORY_MAX: f64 = 64.0 * 1024.0 * 1024.0;
const BYTES_MAX: u64 = 1 << 30;

pub(super) fn measure(ground: &Ground, scale: &Scale) -> Result<Theme, Box<dyn Error>> {
    let mut figures = Vec::new();
    let bytes = 16 * scale.text_bytes * 256;
    let messages = conversation_of_bytes(bytes);
    for format in NativeFormat::ALL {
        let text = session(format, "0a1b2c3d-4e5f-4061-8071-2a3b4c5d6e7f", &messages)?;
        let path = ground.file(format.as_str())?;
        fs::write(&path, &text)?;
        let is_document = layout(format, text.as_bytes()) == Layout::Document;
        let largest = match is_document {
            true => text.len(),
            false => text.lines().map(str::len).max().unwrap_or_default(),
        };
        figures.extend(of_file(&path, format, text.len(), largest, scale.time)?);
    }
    Ok(Theme { title: "Reading sessions of agents", figures })
}

fn of_file(
    path: &Path,
    format: NativeFormat,
    bytes: usize,
    largest: usize,
    time: Duration,
) -> Result<[Figure; 2], Box<dyn Error>> {
    let environment = Environment::new("/nowhere", std::env::temp_dir());
    let found = locate(&environment, path, Some(format))?;
    let found = found.first().ok_or("a session that was written is not found")?;
    // A session that is not understood would be read fast.
    let (records, messages) = read(&environment, found)?;
    if messages == 0 {
        return Err(format!("{}: no messages are read", format.as_str()).into());
    }
    let nanoseconds = alone(time, || read(&environment, found).is_ok());
    let speed = bytes as f64 / nanoseconds * 1e3;
    let detail = format!("{} records, {} messages", grouped(records), grouped(messages));
    let (read, allocated) = counted(|| read(&environment, found));
    read?;
    let beyond = allocated.peak_bytes as f64 - largest as f64;
    let name = format.agent_name();
    Ok([
        Figure::new(name, speed, Unit::MegabytesPerSecond).at_least(SPEED_MIN).of(detail),
        Figure::new(format!("{name}: memory beyond the largest record"), beyond, Unit::Bytes)
            .at_most(MEMORY_MAX)
            .of(format!("the largest record has {} B of {} B", grouped(largest), grouped(bytes))),
    ])
}

/// Reads a session as an import does. Returns the number of records and of messages.
fn read(environment: &Environment, found: &FoundSession) -> Result<(usize, usize), Box<dyn Error>> {
    let mut reader = SessionReader::open(environment, found, BYTES_MAX)?;
    let (mut entries, mut messages) = (Vec::new(), 0);
    while reader.next(&mut entries)?.is_some() {
        messages += entries.iter().filter(|entry| entry.message().is_some()).count();
        entries.clear();
    }
    if let Some(problem) = reader.take_problems().first() {
        return Err(format!("{problem:?}").into());
    }
    Ok((reader.records() as usize, messages))
}
