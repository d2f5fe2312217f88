//! `tertulia context --turn`: what an agent was sent at a turn, byte for byte, checked against the hash that
//! was stored when it was sent. Nothing is written to the session.

use serde::Serialize;
use tertulia_store::Range;
use tertulia_team::{SentPrompt, sent_prompt};

use crate::Streams;
use crate::args::ContextArgs;
use crate::commands::sessions::{tell, write_json};
use crate::error::CliError;
use crate::names::{Latest, find_entry, find_session, is_latest};
use crate::store_place::StorePlace;
use crate::team_place::TeamPlace;

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct TurnRecord<'a> {
    session_id: &'a str,
    turn: &'a str,
    member: &'a str,
    #[serde(skip_serializing_if = "Option::is_none")]
    system_flag: Option<&'a str>,
    prompt: &'a str,
    prompt_hash: &'a str,
    /// Whether prompt and system text have that hash.
    verified: bool,
    redacted: Vec<&'a str>,
}

pub(super) fn run(
    args: &ContextArgs,
    turn: &str,
    streams: &mut Streams<'_>,
) -> Result<(), CliError> {
    let store = StorePlace::read(&args.store)?.need()?;
    let given = args.session.as_deref().unwrap_or("latest");
    // A session that is named needs no team.
    let folder = match is_latest(given) {
        true => TeamPlace::read(&args.team, streams)?.folder,
        false => String::new(),
    };
    let session = find_session(&store, given, Latest::OfFolder(&folder))?;
    let stored = store.load(&session, &Range::Branch { tail: None, limit: None })?;
    let entries: Vec<_> = stored.into_iter().map(|stored| stored.entry).collect();
    let entry = find_entry(&entries, turn).map_err(|error| error.in_session(&session))?;
    let sent = sent_prompt(&entries, &entry.id).map_err(CliError::PromptLost)?;
    let SentPrompt { member, turn, system, text, hash, is_second, redacted } = &sent;
    if !redacted.is_empty() {
        let ids = redacted.iter().map(|id| id.as_str()).collect::<Vec<_>>().join(", ");
        tell(streams, &format!("Redacted since then, so the hash cannot be checked: {ids}"));
    }
    if *is_second {
        tell(
            streams,
            "The first prompt of this turn was too large for the model; this is the second.",
        );
    }
    if args.json {
        let record = TurnRecord {
            session_id: session.as_str(),
            turn: turn.as_str(),
            member,
            system_flag: system.as_deref(),
            prompt: text,
            prompt_hash: hash,
            verified: redacted.is_empty(),
            redacted: redacted.iter().map(|id| id.as_str()).collect(),
        };
        return write_json(streams, &record);
    }
    super::write_sent(args, system.as_deref(), text, streams)
}
