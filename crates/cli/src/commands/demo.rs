//! `tertulia demo`: shows two agents that hand over to each other and to a person; then a bundled conversation, two
//! turns of built-in members, and the prompt of each of them. Runs in memory: no key, no network, no file.

use std::io::{self, Write};

use tertulia_chat::terminal::visible;
use tertulia_operations::lines::read_log;
use tertulia_session::{Entry, EntryId, EntryKind, Message, TurnState};
use tertulia_store::{Import, NewSession, SessionId, SessionStore, StoreError};
use tertulia_team::file::TeamFile;
use tertulia_team::{Driver, EventSink, SentPrompt, SessionEvent, Team, sent_prompt};

use super::context::{Sheet, explain};
use super::drawing::Paint;
use super::said_by;
use crate::Streams;
use crate::args::DemoArgs;
use crate::error::{CliError, Result};

/// The bundled conversation, in which a team makes an import faster.
const SESSION: &str = include_str!("demo/session.jsonl");
/// An earlier conversation, in which the librarian searches.
const PAST: &str = include_str!("demo/past.jsonl");

const FOR_SCRIBE: &str = "@scribe what did we decide so far, and what is open?";
const FOR_LIBRARIAN: &str =
    "@librarian did we have trouble with E-2041 or the account lock before?";

const NEXT: &str = "\
The demo ran in memory and changed no files. Next, try these commands in this order:

  tertulia init                                create a team file with the agents on this machine
  tertulia doctor                              see what is installed and what is missing
  tertulia run \"@scribe what did we decide?\"   start a session of your own
  tertulia context --member scribe --explain   see what a member would receive now
";

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
    "The nightly import waits for the account lock. @max, what do we do? Let eva check it.";

const HEAD: &str = "\
Max and Eva are agents in one team. Ann asks once. They hand over to each other with @name, and then to her.
(In this demo their answers are scripted. With `tertulia init` they are Claude Code, Codex or Gemini CLI.)
";

/// Ignores all events.
struct Silence;

impl EventSink for Silence {
    fn on_event(&mut self, _: SessionEvent) {}
}

pub(crate) fn run(_: &DemoArgs, streams: &mut Streams<'_>) -> Result {
    let paint = Paint::new(streams.stdout_has_colour);
    write_conversation(streams.stdout, &conversation()?, &paint).map_err(CliError::output)?;
    let store = SessionStore::memory();
    bring_in(&store, "account-lock", PAST)?;
    let session = bring_in(&store, "import-speed", SESSION)?;
    let team = Team::from_file(&TeamFile::built_in(), "/".as_ref())
        .map_err(|error| CliError::Team { path: "the built-in team".into(), error })?;
    let mut driver = Driver::reopen(&store, &session, team, false, &mut Silence)?.driver;
    let messages = SESSION.lines().filter(|line| line.contains("\"type\":\"message\"")).count();
    writeln!(
        streams.stdout,
        "A longer session of this team has {messages} messages. Two built-in members answer \
         questions about it,\nwithout a key or a network. The ID in brackets names the message \
         that a line comes from."
    )
    .map_err(CliError::output)?;
    for (member, request) in [("scribe", FOR_SCRIBE), ("librarian", FOR_LIBRARIAN)] {
        let said = driver.say(None, request, &mut Silence)?;
        // The request is the newest message, so this is the prompt that the member gets.
        let prompt = driver.prompt_for(member);
        driver.run(&mut Silence)?;
        let others = driver.entries().iter().rev().filter(|entry| entry.id != said);
        let answer =
            others.filter_map(Entry::message).next().map(Message::text).unwrap_or_default();
        let (you, name) = (paint.strong("you:"), paint.strong(&format!("{member}:")));
        let answer = visible(answer.trim_end());
        writeln!(streams.stdout, "\n{you} {request}\n\n{name}\n{answer}\n")
            .map_err(CliError::output)?;
        if let Some(prompt) = &prompt {
            let title = format!("What {member} received");
            let mut sheet = Sheet { out: streams.stdout, paint: &paint };
            explain(&mut sheet, &title, None, (prompt, None)).map_err(CliError::output)?;
        }
    }
    write!(streams.stdout, "\n{NEXT}").map_err(CliError::output)
}

fn bring_in(store: &SessionStore, id: &str, log: &str) -> Result<SessionId> {
    let mut import = Import::begin(store)?;
    let entries = read_log(&mut log.as_bytes());
    for entry in entries.map_err(|error| CliError::log("the demo", error))? {
        import.push(entry)?;
    }
    let id = id.parse::<SessionId>().map_err(StoreError::from)?;
    Ok(import.finish(&NewSession { id: Some(id) })?.id)
}

/// The entries, the reason why the second agent was asked, and its prompt.
struct DemoResult {
    entries: Vec<Entry>,
    why: Vec<String>,
    sent: SentPrompt,
}

fn conversation() -> Result<DemoResult> {
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
    Ok(DemoResult { entries, why, sent })
}

fn write_conversation(out: &mut dyn Write, shown: &DemoResult, paint: &Paint) -> io::Result<()> {
    writeln!(out, "{HEAD}")?;
    // IDs differ from run to run, so short names replace them.
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
    writeln!(out, "Now it is Ann's turn. The team waits for her answer.\n")?;
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
