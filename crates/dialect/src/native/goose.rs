//! Sessions of goose have three formats:
//!
//! - The database `sessions.db` (since 1.10; known up to schema 15). Its rows are passed as lines of JSON. The first
//!   line is the row of the session: `{"table":"session","row":{…}}`. One `{"table":"message","row":{…}}` follows for
//!   each message, ordered by `created_timestamp` and `id`. Then one `{"table":"usage","row":{…}}` follows for each
//!   row of the table with the usage. `row` contains the columns by name. Columns with JSON (`content_json`,
//!   `metadata_json`, `model_config_json`) contain the stored text. Rows of other tables are kept unchanged.
//! - A file of lines for each session (before 1.10): a line about the session, then the messages.
//! - The export of `goose session export --format json`: an object like the row of the session, with
//!   the messages in `conversation`.
//!
//! A compaction hides the messages before it from the agent, and adds a summary that the user does not see.

mod content;

use tertulia_session::json::{self, Object, RawValue};
use tertulia_session::{
    EntryId, EntryKind, Fields, Message, ModelChange, Part, PartKind, Role, Timestamp, Usage,
};

use super::document::Document;
use super::fields;
use super::item::{Item, Parent, Speakers, native_summary};
use super::split::Piece;
use super::{NativeFormat, ProblemKind, ReadSession};

const FORMAT: NativeFormat = NativeFormat::Goose;
/// The field of an export that contains the messages.
const MESSAGES: &str = "conversation";
/// The table with the usage of every call of a model.
const USAGE_TABLE: &str = "usage_ledger";

/// Reads the records of a session of goose.
#[derive(Debug)]
pub(super) struct Reader {
    speakers: Speakers,
    model: Option<Box<str>>,
    has_messages: bool,
    /// Whether a message was read that the agent still sees.
    has_visible: bool,
    summaries: u64,
}

/// The fields of a message in any format.
struct Source {
    id: Option<Box<str>>,
    role: Option<String>,
    timestamp: Option<Timestamp>,
    user_visible: bool,
    agent_visible: bool,
    model: Option<Box<str>>,
}

impl Reader {
    pub(super) fn new() -> Self {
        Self {
            speakers: Speakers::new(FORMAT),
            model: None,
            has_messages: false,
            has_visible: false,
            summaries: 0,
        }
    }

    pub(super) fn read(&mut self, raw: &RawValue, facts: &mut ReadSession) -> Item {
        let Ok(mut record) = Object::try_from(raw) else {
            return Item::non_message(FORMAT, None)
                .with_problem(ProblemKind::Field { field: "a record" });
        };
        if let Some(table) = fields::take_string(&mut record, "table") {
            return self.read_row(&table, record, facts);
        }
        let role = record.take("role").map(|raw| json::words(raw).into_owned());
        if role.is_none() {
            return match read_session(record, facts) {
                true => Item::non_message(FORMAT, Some("session")),
                false => Item::non_message(FORMAT, None)
                    .with_problem(ProblemKind::Field { field: "role" }),
            };
        }
        let mut source = Source::new(role, fields::take_object(&mut record, "metadata"));
        source.id = fields::take_word(&mut record, "id");
        source.timestamp = fields::take_time(&mut record, "created");
        self.read_message(source, record.take("content"), facts)
    }

    fn read_row(&mut self, table: &str, mut record: Object<'_>, facts: &mut ReadSession) -> Item {
        let Some(mut row) = fields::take_object(&mut record, "row") else {
            let item = Item::non_message(FORMAT, Some(table));
            return item.with_problem(ProblemKind::Field { field: "row" });
        };
        match table {
            "session" | "sessions" => {
                read_session(row, facts);
                Item::non_message(FORMAT, Some("session"))
            }
            "message" | "messages" => {
                let metadata = fields::take_string(&mut row, "metadata_json").unwrap_or_default();
                let metadata = json::parse(&metadata).ok();
                let metadata = metadata.and_then(|raw| Object::try_from(raw).ok());
                let mut source = Source::new(fields::take_string(&mut row, "role"), metadata);
                source.id = fields::take_word(&mut row, "message_id");
                source.timestamp = fields::take_time(&mut row, "created_timestamp");
                let content = fields::take_string(&mut row, "content_json").unwrap_or_default();
                self.read_message(source, json::parse(&content).ok(), facts)
            }
            table if table.starts_with("usage") => self.read_usage(table, row),
            table => Item::non_message(FORMAT, Some(table)),
        }
    }

    fn read_message(
        &mut self,
        source: Source,
        content: Option<&RawValue>,
        facts: &mut ReadSession,
    ) -> Item {
        let Source { id, timestamp, .. } = source;
        let name = source.role.unwrap_or_default();
        let role = match name.as_str() {
            "user" => Role::User,
            "assistant" => Role::Assistant,
            _ => {
                let item = Item::non_message(FORMAT, Some("message"));
                let problem = ProblemKind::Field { field: "role" };
                return Item { id, timestamp, ..item }.with_problem(problem);
            }
        };
        let Some(parts) = content.and_then(content::read) else {
            let item = Item::non_message(FORMAT, Some(&name));
            let problem = ProblemKind::Field { field: "content" };
            return Item { id, timestamp, ..item }.with_problem(problem);
        };
        let is_first_visible = !self.has_visible && self.has_messages;
        let item = match (source.user_visible, source.agent_visible) {
            _ if parts.is_empty() => Item::non_message(FORMAT, Some(&name)),
            (false, true) if is_first_visible => self.summary(id.clone(), &parts),
            // Messages that the user does not see are notes for the agent and copies, so they have no speaker.
            (false, _) => Item::non_message(FORMAT, Some(&name)),
            (true, _) => self.message(role, parts, source.model, facts),
        };
        self.has_messages |= matches!(item.kind, EntryKind::Message(_));
        let is_bookkeeping = matches!(item.kind, EntryKind::NativeRecord(_));
        self.has_visible |= source.agent_visible && !is_bookkeeping;
        let id = id.or(item.id);
        Item { id, timestamp, ..item }
    }

    fn message(
        &mut self,
        role: Role,
        parts: Vec<Part>,
        model: Option<Box<str>>,
        facts: &mut ReadSession,
    ) -> Item {
        let is_result = |part: &Part| matches!(part.kind, PartKind::ToolResult(_));
        let role = if parts.iter().all(is_result) { Role::Tool } else { role };
        let mut item = Item::new(EntryKind::Message(self.speakers.message(role, parts)));
        if let Some(model) = model.filter(|model| self.model.as_ref() != Some(model)) {
            let change = ModelChange { model: model.clone(), unknown: Fields::NONE };
            item.more.push(EntryKind::ModelChange(change));
            facts.model = Some(model.clone());
            self.model = Some(model);
        }
        item
    }

    /// Returns a summary. No message before it is sent to the agent.
    fn summary(&mut self, id: Option<Box<str>>, parts: &[Part]) -> Item {
        self.summaries += 1;
        let id = id.unwrap_or_else(|| format!("summary-{}", self.summaries).into());
        let summary = native_summary(FORMAT, Message::words(parts), EntryId::from(&*id));
        Item { id: Some(id), ..Item::new(EntryKind::CompactionSummary(Box::new(summary))) }
    }

    /// Reads the usage of a call of the model. Only rows of the table of calls have ids of their own.
    fn read_usage(&self, table: &str, mut row: Object<'_>) -> Item {
        let mut item = Item::non_message(FORMAT, Some("usage"));
        let timestamp = ["created_timestamp", "created_at", "timestamp"];
        item.timestamp = timestamp.iter().find_map(|name| fields::take_time(&mut row, name));
        if table == USAGE_TABLE {
            item.id = fields::take_count(&mut row, "id").map(|id| format!("usage-{id}").into());
        }
        let has_tokens = row.names().any(|name| name == "input_tokens");
        let (input, output) =
            ["input_tokens", "output_tokens"].map(|name| fields::take_count(&mut row, name)).into();
        if input.is_none() && output.is_none() {
            // The provider did not say.
            return match has_tokens {
                true => item,
                false => item.with_problem(ProblemKind::Field { field: "input_tokens" }),
            };
        }
        let model = fields::take_word(&mut row, "model");
        let model = model.or_else(|| fields::take_word(&mut row, "model_name"));
        let cost = fields::take_usd(&mut row, "cost");
        let usage = Usage {
            member: FORMAT.as_str().into(),
            model: model.or_else(|| self.model.clone()),
            input_tokens: input.unwrap_or_default(),
            cached_tokens: fields::take_count(&mut row, "cache_read_tokens")
                .or_else(|| fields::take_count(&mut row, "cache_read_input_tokens")),
            output_tokens: output.unwrap_or_default(),
            cost_usd: cost.or_else(|| fields::take_usd(&mut row, "cost_usd")),
            agent: Some(FORMAT.as_str().into()),
            ..Usage::default()
        };
        let more = vec![EntryKind::Usage(usage)];
        Item { parent: Parent::Previous, more, ..item }
    }
}

impl Source {
    /// Returns the visibility of a message. Messages without metadata are visible.
    fn new(role: Option<String>, metadata: Option<Object<'_>>) -> Self {
        let mut metadata = metadata.unwrap_or_default();
        let user_visible = fields::take_boolean(&mut metadata, "userVisible").unwrap_or(true);
        let agent_visible = fields::take_boolean(&mut metadata, "agentVisible").unwrap_or(true);
        let model = fields::take_object(&mut metadata, "inference").and_then(|mut inference| {
            let resolved = fields::take_word(&mut inference, "resolvedModel");
            resolved.or_else(|| fields::take_word(&mut inference, "requestedModel"))
        });
        Self { id: None, role, timestamp: None, user_visible, agent_visible, model }
    }
}

/// Reads the data of the session from its row, its line or its export. Returns whether the object describes a
/// session.
fn read_session(mut session: Object<'_>, facts: &mut ReadSession) -> bool {
    const KNOWN: [&str; 5] =
        ["working_dir", "description", "message_count", "session_type", "extension_data"];
    let is_session = session.names().any(|name| KNOWN.contains(&name));
    let title = fields::take_word(&mut session, "name");
    let title = title.or_else(|| fields::take_word(&mut session, "description"));
    facts.native_id = fields::take_word(&mut session, "id").or(facts.native_id.take());
    facts.title = title.or(facts.title.take());
    facts.folder = fields::take_word(&mut session, "working_dir").or(facts.folder.take());
    // The value is a text in the database and an object in an export.
    let config = session.take("model_config_json").or_else(|| session.take("model_config"));
    let config = config.map(json::words).unwrap_or_default();
    let config = json::parse(&config).ok().and_then(|raw| Object::try_from(raw).ok());
    let model = config.and_then(|mut config| fields::take_word(&mut config, "model_name"));
    facts.model = model.or(facts.model.take());
    is_session
}

/// Returns whether a line is a record in a file of goose. Rows of a database are not detected, because the reader of
/// a database knows its agent.
pub(super) fn is_record(object: &Object<'_>) -> bool {
    let has = |name: &str| object.names().any(|field| field == name);
    let is_session = has("working_dir") && (has("description") || has("message_count"));
    let is_message = has("role") && has("created") && has("content") && !has("type");
    is_session || is_message
}

/// Returns whether a text begins like a document of goose. The text may be cut at any position.
pub(super) fn is_document(text: &str) -> bool {
    let text = text.trim_start_matches('\u{feff}').trim_start();
    if !text.starts_with('{') {
        return false;
    }
    let document = Document::new(text, MESSAGES);
    let has = |name: &str| document.field(name).is_some();
    let is_session = has("working_dir") && (has("session_type") || has("extension_data"));
    // A line that describes a session is complete and has no messages.
    is_session && (document.has_list || !document.has_end)
}

/// Splits a document into records, and reads the data of the session.
pub(super) fn split(text: &str, facts: &mut ReadSession) -> Vec<Piece> {
    let document = Document::new(text, MESSAGES);
    for (name, value) in &document.fields {
        let one = format!("{{\"{name}\":{value}}}");
        if let Some(session) = json::parse(&one).ok().and_then(|raw| Object::try_from(raw).ok()) {
            read_session(session, facts);
        }
    }
    document.into_pieces(text)
}
