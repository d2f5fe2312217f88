//! A team of a person and two agents with scripted answers, who hand over to each other.
//!
//! Run it with `cargo run -p tertulia-team --example two_agents`. Change `agent = "script"` to `"claude"` or
//! `"codex"` and remove `answers` to run real agents.

#![allow(clippy::print_stdout, reason = "an example shows what it does")]

use std::error::Error;
use std::path::Path;

use tertulia_session::EntryKind;
use tertulia_store::SessionStore;
use tertulia_team::file::TeamFile;
use tertulia_team::{Driver, SessionEvent, Team};

const TEAM: &str = r#"
task = "Choose a buffer for the events"

[[member]]
name = "ann"
kind = "human"

[[member]]
name = "max"
agent = "script"
answers = ["A bounded queue. @eva, does that hold at 40,000 events a second?"]

[[member]]
name = "eva"
agent = "script"
answers = ["Yes, with 4,096 entries. @ann, do we drop or wait when the disk is full?"]
"#;

fn main() -> Result<(), Box<dyn Error>> {
    for line in run()? {
        println!("{line}");
    }
    Ok(())
}

/// Asks Max, and lets the team work until a person is needed. Returns a line for every message and question.
pub(crate) fn run() -> Result<Vec<String>, Box<dyn Error>> {
    let file = TeamFile::parse(TEAM, "tertulia.toml")?;
    let team = Team::from_file(&file, Path::new("."))?;
    // To keep the session in a file or on a server, use `SessionStore::open`.
    let store = SessionStore::memory();
    let mut driver = Driver::begin(&store, None, team, false)?;

    // Events may go to another thread, such as one that draws a screen. Here they are read at the end.
    let (mut sink, events) = std::sync::mpsc::channel();
    driver.say(None, "@max how do we buffer the events?", &mut sink)?;
    driver.run(&mut sink)?;

    let mut lines = Vec::new();
    for event in events.try_iter() {
        match event {
            SessionEvent::Stored(entry) => {
                if let EntryKind::Message(message) = &entry.kind {
                    let name = message.speaker.as_ref().map_or("?", |speaker| &*speaker.role_name);
                    lines.push(format!("{name}: {}", message.text()));
                }
            }
            SessionEvent::Asked(_) => lines.push("(a person is asked)".to_owned()),
            _ => {}
        }
    }
    Ok(lines)
}
