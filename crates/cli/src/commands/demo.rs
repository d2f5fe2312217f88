//! `tertulia demo`: two agents hand over to each other and to the person; then a bundled conversation, two
//! turns of built-in members, and what each of them received. All of it in memory: no key, no network, no file.

mod hand_over;

use tertulia_chat::terminal::visible;
use tertulia_operations::lines::read_log;
use tertulia_store::{Import, NewSession, SessionId, SessionStore, StoreError};
use tertulia_team::file::TeamFile;
use tertulia_team::{Driver, EventSink, SessionEvent, Team};

use super::context::explain;
use super::drawing::Paint;
use crate::Streams;
use crate::args::DemoArgs;
use crate::error::{CliError, Result};

/// The conversation: how an import became fast enough.
const SESSION: &str = include_str!("demo/session.jsonl");
/// A past one, for the librarian.
const PAST: &str = include_str!("demo/past.jsonl");

const FOR_SCRIBE: &str = "@scribe what did we decide so far, and what is open?";
const FOR_LIBRARIAN: &str = "@librarian did we have trouble with E-2041 or the ledger lock before?";

const NEXT: &str = "\
That was in memory; nothing of yours was touched. Try next, in this order:

  tertulia init                                create a team file with the agents on this machine
  tertulia doctor                              see what is installed and what is missing
  tertulia run \"@scribe what did we decide?\"   start a session of your own
  tertulia context --member scribe --explain   see what a member would receive now
";

/// Nobody needs to see every entry here.
struct Silence;

impl EventSink for Silence {
    fn on_event(&mut self, _: SessionEvent) {}
}

pub(crate) fn run(_: &DemoArgs, streams: &mut Streams<'_>) -> Result {
    let paint = Paint::new(streams.stdout_has_colour);
    hand_over::run(streams.stdout, &paint)?;
    let store = SessionStore::memory();
    bring_in(&store, "ledger-lock", PAST)?;
    let session = bring_in(&store, "import-speed", SESSION)?;
    let team = Team::from_file(&TeamFile::house(), "/".as_ref())
        .map_err(|error| CliError::Team { path: "the built-in team".into(), error })?;
    let mut driver = Driver::reopen(&store, &session, team, false, &mut Silence)?.driver;
    let messages = SESSION.lines().filter(|line| line.contains("\"type\":\"message\"")).count();
    writeln!(
        streams.stdout,
        "A longer session of this team has {messages} messages. Two built-in members answer about it; they need \
         no key\nand no network. The id in brackets before a line is the message that it comes from."
    )
    .map_err(CliError::output)?;
    for (member, request) in [("scribe", FOR_SCRIBE), ("librarian", FOR_LIBRARIAN)] {
        let said = driver.say(None, request, &mut Silence)?;
        // What it gets is what it would get for the newest message, which this is.
        let prompt = driver.prompt_for(member);
        driver.run(&mut Silence)?;
        let answer = driver.entries().iter().rev().find_map(|entry| match &entry.kind {
            tertulia_session::EntryKind::Message(message) if entry.id != said => {
                Some(message.text().into_owned())
            }
            _ => None,
        });
        let answer = answer.unwrap_or_default();
        let (you, name) = (paint.strong("you:"), paint.strong(&format!("{member}:")));
        let answer = visible(answer.trim_end());
        writeln!(streams.stdout, "\n{you} {request}\n\n{name}\n{answer}\n")
            .map_err(CliError::output)?;
        if let Some(prompt) = &prompt {
            let title = format!("what {member} received");
            explain(streams.stdout, &title, None, (prompt, None), &paint)
                .map_err(CliError::output)?;
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
