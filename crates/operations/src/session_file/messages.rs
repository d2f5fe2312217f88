//! A conversation's messages as entries of a log, and the other way round. Whatever a log holds beyond words
//! is left out on the way out, and counted.

use std::collections::HashSet;
use std::sync::Arc;

use tertulia_context::ContextSnapshot;
use tertulia_session::json::Json;
use tertulia_session::{
    ConversationMessage, Entry, EntryId, EntryKind, Fields, Message, MessageId, NewEntry, Part,
    Parts, Role, SessionHeader, Speaker, SpeakerType, TeamTask,
};

use tertulia_store::fresh_salt;

use super::as_object;

/// The longest id that a store takes.
const ID_BYTES_MAX: usize = 1024;

/// The messages of one branch, and what was left out of it.
#[derive(Debug, Default)]
pub struct Branch {
    pub messages: Vec<Arc<ConversationMessage>>,
    /// The team's task in the end.
    pub team_task: Option<String>,
    /// Where the session came from, if it was imported: the object in its header.
    pub source: Option<Json>,
    /// Calls of tools, pictures and thinking of messages.
    pub parts_left_out: u64,
    /// Messages without words.
    pub wordless: u64,
    /// Redacted entries.
    pub hidden: u64,
    /// Entries that say nothing: settings, cuts, figures.
    pub silent: u64,
}

impl Branch {
    /// Takes in the next entry of the branch.
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
            // In a store what is redacted is purged, so its text cannot get here.
            EntryKind::Purged(_) => self.hidden += 1,
            EntryKind::TeamTask(task) => self.team_task = task.task.map(String::from),
            _ => self.silent += 1,
        }
    }

    /// The same as a snapshot of this moment.
    pub fn into_snapshot(self, timestamp: Option<Json>) -> ContextSnapshot {
        let Self { messages, team_task, .. } = self;
        ContextSnapshot { messages, team_task, timestamp, unknown: Fields::NONE }
    }
}

/// A conversation as a log: a header that says where it came from, the messages, and the team's task as it
/// stood in the end. Ids are kept where they can be.
pub fn entries_of(snapshot: ContextSnapshot, form: &str, source: &Fields) -> Vec<Entry> {
    let mut origin = Fields::NONE;
    origin.push("format", Json::text(form));
    origin.extend(source.clone());
    let mut header = SessionHeader::new();
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
    tail: EntryId,
}

impl Log {
    fn begin(header: Entry) -> Self {
        let tail = header.id.clone();
        Self { ids: HashSet::from([tail.clone()]), entries: vec![header], tail }
    }

    /// Appends an entry under its id, or one that follows from its content where that id cannot be.
    fn push(&mut self, entry: NewEntry, id: Option<String>) {
        let entry = entry.with_parent(self.tail.clone()).salted(fresh_salt());
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
        self.tail = entry.id.clone();
        self.ids.insert(entry.id.clone());
        self.entries.push(entry);
    }
}

/// A message of a model's log has a role and no speaker; a conversation needs one.
fn speaker_of(role: Role) -> Speaker {
    let kind = match role {
        Role::User => SpeakerType::Human,
        Role::Assistant => SpeakerType::Ai,
        Role::System | Role::Tool => SpeakerType::System,
    };
    Speaker::new(role.as_str(), role.as_str(), kind)
}

/// Who said a message, for people.
pub fn name_of(message: &Message) -> &str {
    match message.speaker.as_deref() {
        Some(speaker) => &speaker.role_name,
        None => message.effective_role().as_str(),
    }
}
