//! Formats of sessions other than the log: the snapshot of a conversation, and the session file of agent-chatter.
//! They contain the messages of one branch and the team's task. Other content of a log is left out and counted. Pure.

mod agent_chatter;

use std::collections::HashSet;
use std::sync::Arc;

use tertulia_context::{ContextSnapshot, SnapshotError};
use tertulia_session::json::{self, FieldError, Json, Kind, Object, SyntaxError};
use tertulia_session::{
    ConversationMessage, Entry, EntryId, EntryKind, Fields, Message, MessageId, NewEntry, Part,
    Parts, Role, SessionHeader, Speaker, SpeakerType, TeamTask,
};
use tertulia_store::{SessionId, fresh_salt};

pub use agent_chatter::AgentChatterRecord;

/// Maximum length of an id in a store.
const ID_BYTES_MAX: usize = 1024;

/// The format of a file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Form {
    Log,
    Snapshot,
    AgentChatter,
}

/// The reason why a document is not a session.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum DocumentError {
    #[error(transparent)]
    Syntax(#[from] SyntaxError),
    #[error(transparent)]
    Field(#[from] FieldError),
    #[error("{0}: {cause}", cause = .0.cause)]
    Snapshot(#[from] SnapshotError),
    #[error("context is not a snapshot: {cause}", cause = .0.cause)]
    Context(#[source] SnapshotError),
    #[error("schemaVersion must be \"1.0\"; got {got}")]
    Version { got: String },
    #[error(
        "unknown file format; select one with --format. Supported are a log of entries (with the \
         fields id and type), a snapshot (messages and version), a session file of \
         agent-chatter (schemaVersion and context) and sessions of coding agents"
    )]
    Unknown,
}

/// A session that was read from a document.
#[derive(Debug)]
pub struct Document {
    pub entries: Vec<Entry>,
    /// Its original id, if it is valid here.
    pub id: Option<SessionId>,
}

impl Form {
    /// Detects the format of a text. Returns `None` if the text is not one JSON value. One line of a log is
    /// sufficient.
    pub fn detect(text: &str) -> Option<Result<Self, DocumentError>> {
        let raw = json::parse(text).ok()?;
        let Ok(object) = Object::try_from(raw) else { return Some(Err(DocumentError::Unknown)) };
        let has = |name: &str| object.names().any(|one| one == name);
        Some(match (has("schemaVersion"), has("messages"), has("type") || has("id")) {
            (true, _, _) => Ok(Self::AgentChatter),
            (false, true, _) => Ok(Self::Snapshot),
            (false, false, true) => Ok(Self::Log),
            (false, false, false) => Err(DocumentError::Unknown),
        })
    }
}

impl Document {
    /// Reads a document. Without `form`, detects the format.
    pub fn read(text: &str, form: Option<Form>) -> Result<Self, DocumentError> {
        let raw = json::parse(text)?;
        let form = match form {
            Some(form) => form,
            None => Form::detect(text).unwrap_or(Err(DocumentError::Unknown))?,
        };
        match form {
            Form::AgentChatter => agent_chatter::read(raw),
            Form::Snapshot => {
                let snapshot = ContextSnapshot::read(raw)?;
                let mut source = snapshot.unknown.clone();
                if let Some(timestamp) = &snapshot.timestamp {
                    source.push("timestamp", timestamp.clone());
                }
                let entries = entries_of(snapshot, "snapshot", &source);
                Ok(Self { entries, id: None })
            }
            Form::Log => Err(DocumentError::Unknown),
        }
    }
}

fn as_object(fields: &Fields) -> Json {
    let pair =
        |(name, value): (&str, &Json)| format!("{}:{}", Json::text(name).as_str(), value.as_str());
    let pairs = fields.iter().map(pair);
    let text = format!("{{{}}}", pairs.collect::<Vec<_>>().join(","));
    // Names and values are JSON, so the whole text is JSON, and the fallback is never needed.
    Json::parse(&text).unwrap_or_else(|_| Json::text(""))
}

fn text_of(value: Option<&Json>) -> Option<String> {
    let value = value.filter(|value| value.kind() == Kind::String)?;
    json::text(value.raw()).ok()
}

/// The messages of one branch, and the counts of what was left out.
#[derive(Debug, Default)]
pub struct Branch {
    pub messages: Vec<Arc<ConversationMessage>>,
    pub team_task: Option<String>,
    /// The origin of an imported session: the object in its header.
    pub source: Option<Json>,
    /// The number of tool calls, pictures and thinking parts in messages.
    pub parts_left_out: u64,
    pub wordless: u64,
    pub hidden: u64,
    /// The number of entries without a message: settings, cuts, figures.
    pub silent: u64,
}

impl Branch {
    /// Adds the next entry of the branch.
    pub fn add(&mut self, entry: Entry) {
        let time = entry.timestamp;
        match entry.kind {
            EntryKind::SessionHeader(header) => {
                self.source = header.unknown.get("source").cloned().or(self.source.take());
            }
            EntryKind::Message(mut message) => {
                let all = message.parts.len();
                message.parts.retain(|part| Part::as_text(part).is_some());
                if message.parts.is_empty() {
                    self.wordless += 1;
                    return;
                }
                self.parts_left_out += (all - message.parts.len()) as u64;
                if message.parts.len() > 1 {
                    message.parts = Parts::from([Part::text(message.text())]);
                }
                let role = message.effective_role();
                message.speaker.get_or_insert_with(|| Arc::new(speaker_of(role)));
                message.timestamp = message.timestamp.take().or(time);
                let id = MessageId::from(entry.id.as_str());
                self.messages.push(Arc::new(ConversationMessage { id, message }));
            }
            // A store purges redacted entries, so their text cannot get here.
            EntryKind::Purged(_) => self.hidden += 1,
            EntryKind::TeamTask(task) => self.team_task = task.task.map(String::from),
            _ => self.silent += 1,
        }
    }

    /// Returns the messages as a snapshot with this time.
    pub fn into_snapshot(self, timestamp: Option<Json>) -> ContextSnapshot {
        let Self { messages, team_task, .. } = self;
        ContextSnapshot { messages, team_task, timestamp, unknown: Fields::NONE }
    }
}

/// Returns a conversation as a log: a header with its origin, the messages, and the last task of the team. Keeps ids
/// if possible.
pub fn entries_of(snapshot: ContextSnapshot, form: &str, source: &Fields) -> Vec<Entry> {
    let mut origin = Fields::NONE;
    origin.push("format", Json::text(form));
    origin.extend(source.clone());
    let mut header = SessionHeader::default();
    header.unknown.push("source", as_object(&origin));
    let header = NewEntry::new(EntryKind::SessionHeader(header)).salted(fresh_salt());
    let mut log = Log::begin(header.with_content_id());
    for message in snapshot.messages {
        let ConversationMessage { id, message } = Arc::unwrap_or_clone(message);
        let mut entry = NewEntry::new(EntryKind::Message(message.clone()));
        entry.timestamp = message.timestamp;
        entry.run_id = message.run_id;
        log.push(entry, Some(id.to_string()));
    }
    if let Some(task) = snapshot.team_task {
        log.push(NewEntry::new(EntryKind::TeamTask(TeamTask::set(task))), None);
    }
    log.entries
}

struct Log {
    entries: Vec<Entry>,
    ids: HashSet<EntryId>,
}

impl Log {
    fn begin(header: Entry) -> Self {
        Self { ids: HashSet::from([header.id.clone()]), entries: vec![header] }
    }

    fn push(&mut self, entry: NewEntry, id: Option<String>) {
        let mut entry = entry.salted(fresh_salt());
        entry.parent_id = self.entries.last().map(|last| last.id.clone());
        let fits = |id: &String| {
            !id.is_empty()
                && id.len() <= ID_BYTES_MAX
                && !id.contains('\0')
                && !self.ids.contains(id.as_str())
        };
        let entry = match id.filter(fits) {
            Some(id) => entry.with_id(id.into()),
            None => entry.with_content_id(),
        };
        self.ids.insert(entry.id.clone());
        self.entries.push(entry);
    }
}

/// Returns the speaker for a role. A message in a model's log has only a role, but a conversation needs a speaker.
fn speaker_of(role: Role) -> Speaker {
    let kind = match role {
        Role::User => SpeakerType::Human,
        Role::Assistant => SpeakerType::Ai,
        Role::System | Role::Tool => SpeakerType::System,
    };
    Speaker::new(role.as_str(), role.as_str(), kind)
}

/// Returns the name of the speaker for people.
pub fn name_of(message: &Message) -> &str {
    match message.speaker.as_deref() {
        Some(speaker) => &speaker.role_name,
        None => message.effective_role().as_str(),
    }
}
