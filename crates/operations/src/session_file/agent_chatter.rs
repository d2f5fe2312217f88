//! The session file of agent-chatter, schema 1.0: `{schemaVersion, teamId, sessionId, createdAt, updatedAt, context,
//! metadata}`. `context` is a snapshot whose times are date texts.

use std::sync::Arc;

use serde::{Serialize, Serializer};
use tertulia_context::ContextSnapshot;
use tertulia_context::record::SnapshotRecord;
use tertulia_session::Timestamp;
use tertulia_session::json::{self, Json, Object, RawValue};
use tertulia_store::{SessionId, SessionInfo};

use super::{Branch, Document, DocumentError, entries_of, text_of};

const VERSION: &str = "1.0";
const TEAM: &str = "tertulia";
const SUMMARY_CHARACTERS: usize = 50;

/// Reads a session file. The header of the session keeps all fields except its context.
pub(super) fn read(raw: &RawValue) -> Result<Document, DocumentError> {
    let mut object = Object::try_from(raw)?;
    let version = object.take("schemaVersion").map_or("nothing", RawValue::get);
    if version != format!("\"{VERSION}\"") {
        let got = version.chars().take(40).collect();
        return Err(DocumentError::Version { got });
    }
    let context = object.need("context", "a snapshot: {messages, teamTask, version}")?;
    let snapshot = ContextSnapshot::read(context).map_err(DocumentError::Context)?;
    let mut source = object.rest();
    source.push("schemaVersion", Json::text(VERSION));
    let id = text_of(source.get("sessionId")).and_then(|id| id.parse::<SessionId>().ok());
    Ok(Document { entries: entries_of(snapshot, "agent-chatter", &source), id })
}

/// A session in this format.
#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
pub struct AgentChatterRecord {
    schema_version: &'static str,
    team_id: String,
    session_id: String,
    created_at: String,
    updated_at: String,
    #[serde(serialize_with = "write_snapshot")]
    context: ContextSnapshot,
    metadata: Metadata,
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct Metadata {
    #[serde(skip_serializing_if = "Option::is_none")]
    last_speaker_id: Option<String>,
    message_count: usize,
    summary: String,
}

fn write_snapshot<S: Serializer>(snapshot: &ContextSnapshot, to: S) -> Result<S::Ok, S::Error> {
    SnapshotRecord(snapshot).serialize(to)
}

impl AgentChatterRecord {
    /// Returns the file of a branch. A session that was read from such a file keeps its names.
    pub fn new(info: &SessionInfo, mut branch: Branch) -> Self {
        let source = branch.source.take();
        let named = |name: &str| {
            let object = json::parse(source.as_ref()?.as_str()).ok()?;
            Object::try_from(object).ok()?.take_text(name).ok()?
        };
        for message in &mut branch.messages {
            let message = &mut Arc::make_mut(message).message;
            message.timestamp = message.timestamp.as_ref().map(dated);
        }
        let last = branch.messages.last().and_then(|last| last.message.speaker.clone());
        Self {
            schema_version: VERSION,
            team_id: named("teamId").unwrap_or_else(|| TEAM.to_owned()),
            session_id: named("sessionId").unwrap_or_else(|| info.id.to_string()),
            created_at: dated(&info.created_at).to_iso(),
            updated_at: dated(&info.updated_at).to_iso(),
            metadata: Metadata {
                last_speaker_id: last.map(|speaker| speaker.role_id.to_string()),
                message_count: branch.messages.len(),
                summary: summary(&branch),
            },
            context: branch.into_snapshot(Some(Json::text(&dated(&info.updated_at).to_string()))),
        }
    }
}

fn dated(moment: &Timestamp) -> Timestamp {
    moment.to_iso().parse().unwrap_or_else(|_| moment.clone())
}

fn summary(branch: &Branch) -> String {
    let count = branch.messages.len();
    match branch.messages.first() {
        Some(first) => {
            let words: String = first.message.text().chars().take(SUMMARY_CHARACTERS).collect();
            format!("{count} messages - \"{words}...\"")
        }
        None => format!("{count} messages"),
    }
}
