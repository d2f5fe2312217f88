//! The first part of `tertulia demo`: two agents with scripted answers hand over to each other, then to the person.

use std::io::{self, Write};

use tertulia_chat::terminal::visible;
use tertulia_session::{Entry, EntryId, EntryKind, TurnState};
use tertulia_store::SessionStore;
use tertulia_team::file::TeamFile;
use tertulia_team::{Driver, SentPrompt, Team, sent_prompt};

use super::Silence;
use crate::commands::drawing::Paint;
use crate::commands::said_by;
use crate::error::{CliError, Result};

const TEAM: &str = r#"
[[member]]
name = "ann"
kind = "human"
role = "owns the product and decides"

[[member]]
name = "max"
role = "author: designs the change and writes the code"
agent = "script"
answers = [
    "Post 500 lines per transaction: 412,000 disk syncs become 824.\n@eva, does that hold for the collective accounts?",
    "Agreed: sort by account first, then batches of 500.\n@ann, shall I build it tonight?",
]

[[member]]
name = "eva"
role = "reviewer: looks for bugs and missing tests"
agent = "script"
answers = ["Not alone: 38 % of the lines belong to twelve accounts, so workers wait for one another. Sort by account first.\n@max, do you agree?"]
"#;

const REQUEST: &str =
    "The nightly import waits for the ledger lock. @max, what do we do? Let eva check it.";

const HEAD: &str = "\
Max and Eva are agents in one team. Ann asks once. They hand over to each other with @name, and then to her.
(In this demo their answers are written down. With `tertulia init` they are Claude Code, Codex or Gemini CLI.)
";

/// What was said, why the second agent was asked, and what it was sent.
struct Shown {
    entries: Vec<Entry>,
    why: Vec<String>,
    sent: SentPrompt,
}

pub(super) fn run(out: &mut dyn Write, paint: &Paint) -> Result {
    let shown = talk()?;
    write(out, &shown, paint).map_err(CliError::output)
}

fn talk() -> Result<Shown> {
    let file = TeamFile::parse(TEAM, "the demo")?;
    let team = Team::from_file(&file, "/".as_ref())
        .map_err(|error| CliError::Team { path: "the demo".into(), error })?;
    let store = SessionStore::memory();
    let mut driver = Driver::begin(&store, None, team, false)?;
    driver.say(None, REQUEST, &mut Silence)?;
    driver.run(&mut Silence)?;
    let entries = driver.entries().to_vec();
    let said = |name: &str| {
        let entry = entries.iter().find(|entry| said_by(entry) == Some(name));
        entry.map_or_else(|| EntryId::from(""), |entry| entry.id.clone())
    };
    let why = driver.machine().why(said("max").as_str());
    let why = why.iter().map(ToString::to_string).collect();
    let sent = sent_prompt(&entries, &said("eva")).map_err(CliError::PromptLost)?;
    Ok(Shown { entries, why, sent })
}

fn write(out: &mut dyn Write, shown: &Shown, paint: &Paint) -> io::Result<()> {
    writeln!(out, "{HEAD}")?;
    // Ids differ from run to run; here short names stand for them.
    let (mut messages, mut turns, mut names) = (0, 0, Vec::new());
    for entry in &shown.entries {
        match &entry.kind {
            EntryKind::Message(message) => {
                messages += 1;
                names.push((entry.id.as_str(), format!("m{messages}")));
                let who = format!("{}:", said_by(entry).unwrap_or_default());
                writeln!(out, "[m{messages}] {}", paint.strong(&who))?;
                writeln!(out, "{}\n", visible(message.text().trim_end()))?;
            }
            EntryKind::Turn(turn) if turn.state == TurnState::Queued => {
                turns += 1;
                names.push((entry.id.as_str(), format!("t{turns}")));
            }
            _ => {}
        }
    }
    writeln!(out, "Now it is Ann's turn, and everything waits for her answer.\n")?;
    writeln!(out, "{}", paint.strong("Why was eva asked? (tertulia why shows this)"))?;
    for line in &shown.why {
        let line = names.iter().fold(line.clone(), |line, (id, name)| line.replace(id, name));
        writeln!(out, "  {}", visible(&line))?;
    }
    let heading = "What eva received (tertulia context --turn shows this)";
    writeln!(out, "\n{}", paint.strong(heading))?;
    let texts = [shown.sent.system.as_deref(), Some(&*shown.sent.text)];
    for line in texts.into_iter().flatten().flat_map(str::lines) {
        writeln!(out, "{}", format!("  {}", visible(line)).trim_end())?;
    }
    writeln!(out)
}
