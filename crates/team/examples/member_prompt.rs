//! Prints the prompt that a member of a team would get now, byte for byte, without starting its agent.
//!
//! Run it with `cargo run -p tertulia-team --example member_prompt`. The command line shows the same with
//! `tertulia context --member max`.

#![allow(clippy::print_stdout, reason = "an example shows what it does")]

use std::error::Error;
use std::path::Path;

use tertulia_session::{EntryKind, Message, NewEntry, Speaker, SpeakerType};
use tertulia_store::{Append, NewSession, SessionStore};
use tertulia_team::file::TeamFile;
use tertulia_team::{Team, preview};

const TEAM: &str = r#"
[[member]]
name = "ann"
kind = "human"

[[member]]
name = "max"
role = "writes the code"
agent = "claude"

[[member]]
name = "eva"
role = "reviews it"
agent = "codex"
"#;

fn main() -> Result<(), Box<dyn Error>> {
    for name in ["max", "eva"] {
        println!("=== {name}\n{}\n", prompt(name)?);
    }
    Ok(())
}

/// Returns what this member would get if it answered the newest message of a short session.
pub(crate) fn prompt(name: &str) -> Result<String, Box<dyn Error>> {
    let team = Team::from_file(&TeamFile::parse(TEAM, "tertulia.toml")?, Path::new("."))?;
    let store = SessionStore::memory();
    let session = store.create(&NewSession::default())?.id;
    let ann = Speaker::new("ann", "ann", SpeakerType::Human);
    for text in ["The import is slow.", "Please find out why."] {
        let message = EntryKind::Message(Message::said(ann.clone(), text));
        store.append(&session, Append::new([NewEntry::new(message).with_content_id()]))?;
    }

    // A preview also tells what was left out and why: see `verdicts`, `bytes` and `warnings` of the prompt.
    let member = team.member(name).ok_or("there is no such member")?;
    let preview = preview(&store, &session, &team, member)?.ok_or("nothing was said yet")?;
    Ok(preview.prompt.text)
}
