//! Sessions of Cline: one JSON document for each.
//!
//! - The command line program writes `<id>.messages.json`: `{version, agent, sessionId, messages}`.
//!   A message has an `id`, and may have `ts`, `modelInfo`, `metrics` and `metadata`.
//! - The extension of VS Code writes `api_conversation_history.json`: a list of messages without ids. Forks of the
//!   extension write the same.
//!
//! Both have blocks like those of Anthropic. Cline adds texts to a message of the user: details of the environment,
//! notices, and tags around the user's words. They are left out here, and the record keeps them. A compaction
//! replaces the messages before it in the file.

mod blocks;
mod words;

use tertulia_session::json::{self, Kind, Object, RawValue};
use tertulia_session::{
    CompactionSummary, EntryId, EntryKind, Fields, Message, ModelChange, Part, Role, Usage,
};

use super::document::Document;
use super::fields;
use super::item::{Item, Speakers, native_summary};
use super::split::Piece;
use super::{NativeFormat, ProblemKind, ReadSession};
use blocks::Content;

const FORMAT: NativeFormat = NativeFormat::Cline;
/// The field of the document that contains the messages.
const MESSAGES: &str = "messages";

/// Reads the records of a session of Cline.
#[derive(Debug)]
pub(super) struct Reader {
    speakers: Speakers,
    model: Option<Box<str>>,
    summaries: u64,
}

impl Reader {
    pub(super) fn new() -> Self {
        Self { speakers: Speakers::new(FORMAT), model: None, summaries: 0 }
    }

    pub(super) fn read(&mut self, raw: &RawValue, facts: &mut ReadSession) -> Item {
        let Ok(mut record) = Object::try_from(raw) else {
            return Item::non_message(FORMAT, None)
                .with_problem(ProblemKind::Field { field: "a message" });
        };
        let id = fields::take_word(&mut record, "id");
        let timestamp = fields::take_time(&mut record, "ts");
        let role = match fields::take_string(&mut record, "role").as_deref() {
            Some("user") => Role::User,
            Some("assistant") => Role::Assistant,
            Some("system") => Role::System,
            _ => {
                let problem = ProblemKind::Field { field: "role" };
                let item = Item { id, timestamp, ..Item::non_message(FORMAT, None) };
                return item.with_problem(problem);
            }
        };
        let Some(content) =
            record.take_some("content").and_then(|raw| Content::read(raw, role == Role::Assistant))
        else {
            let item = Item::non_message(FORMAT, Some(role.as_str()));
            return Item { id, timestamp, ..item }
                .with_problem(ProblemKind::Field { field: "content" });
        };
        let mut metadata = fields::take_object(&mut record, "metadata").unwrap_or_default();
        if fields::take_string(&mut metadata, "kind").as_deref() == Some("compaction_summary") {
            return Item { timestamp, ..self.summary(id, &content, metadata) };
        }
        if let Some(folder) = content.folder.filter(|_| facts.folder.is_none()) {
            facts.folder = Some(folder);
        }
        let mut item = if content.parts.is_empty() {
            Item::non_message(FORMAT, Some(role.as_str()))
        } else {
            let is_said = content.is_said;
            Item::new(EntryKind::Message(self.message(role, content.parts, is_said)))
        };
        if role == Role::Assistant {
            item.more = self.further_entries(&mut record, facts);
        }
        Item { id, timestamp, ..item }
    }

    /// Returns a message. If it contains results, it is a tool message. If Cline wrote it, it has no speaker.
    fn message(&self, role: Role, parts: Vec<Part>, is_said: bool) -> Message {
        let is_result =
            |part: &Part| matches!(part.kind, tertulia_session::PartKind::ToolResult(_));
        match role {
            Role::User if parts.iter().all(is_result) => self.speakers.message(Role::Tool, parts),
            Role::User if !is_said => Message::with_role(role, parts.into_iter().collect()),
            role => self.speakers.message(role, parts),
        }
    }

    /// Returns the model and the usage of an answer as further entries.
    fn further_entries(
        &mut self,
        record: &mut Object<'_>,
        facts: &mut ReadSession,
    ) -> Vec<EntryKind> {
        let mut more = Vec::new();
        let model = fields::take_object(record, "modelInfo").and_then(|mut info| {
            let id = fields::take_word(&mut info, "id");
            id.or_else(|| fields::take_word(&mut info, "modelId"))
        });
        if let Some(model) = model.filter(|model| self.model.as_ref() != Some(model)) {
            let change = ModelChange { model: model.clone(), unknown: Fields::NONE };
            more.push(EntryKind::ModelChange(change));
            facts.model = Some(model.clone());
            self.model = Some(model);
        }
        let usage = fields::take_object(record, "metrics").and_then(|metrics| self.usage(metrics));
        more.extend(usage.map(EntryKind::Usage));
        more
    }

    /// Reads the usage. The extension nests the counts in `tokens`.
    fn usage(&self, mut metrics: Object<'_>) -> Option<Usage> {
        let mut nested = fields::take_object(&mut metrics, "tokens").unwrap_or_default();
        let mut count = |name: &str, inner: &str| {
            fields::take_count(&mut metrics, name)
                .or_else(|| fields::take_count(&mut nested, inner))
        };
        let input_tokens = count("inputTokens", "prompt")?;
        let cached_tokens = count("cacheReadTokens", "cached");
        let output_tokens = count("outputTokens", "completion").unwrap_or_default();
        Some(Usage {
            member: FORMAT.as_str().into(),
            model: self.model.clone(),
            input_tokens,
            cached_tokens,
            output_tokens,
            cost_usd: fields::take_usd(&mut metrics, "cost"),
            agent: Some(FORMAT.as_str().into()),
            ..Usage::default()
        })
    }

    /// Returns a summary. No earlier message is kept, because the file no longer contains the messages before a
    /// summary.
    fn summary(
        &mut self,
        id: Option<Box<str>>,
        content: &Content,
        mut metadata: Object<'_>,
    ) -> Item {
        self.summaries += 1;
        let id = id.unwrap_or_else(|| format!("summary-{}", self.summaries).into());
        let summary = CompactionSummary {
            tokens_before: fields::take_count(&mut metadata, "tokensBefore"),
            ..native_summary(FORMAT, Message::words(&content.parts), EntryId::from(&*id))
        };
        Item { id: Some(id), ..Item::new(EntryKind::CompactionSummary(Box::new(summary))) }
    }
}

/// Returns whether a text begins like a document of Cline. The text may be cut at any position.
pub(super) fn is_document(text: &str) -> bool {
    let text = text.trim_start_matches('\u{feff}').trim_start();
    let document = Document::new(text, MESSAGES);
    let is_object = text.starts_with('{');
    // Our snapshots and the files of other programs also have a version and messages.
    let is_own = |field: &str| document.field(field).is_some();
    if is_object && !(document.has_list && is_own("sessionId") && is_own("agent")) {
        return false;
    }
    let first = match document.elements.first() {
        Some(first) => text.get(first.clone()),
        None if is_object => return document.has_list,
        // The text is cut within the first message.
        None => return text.starts_with('[') && looks_like_message(text),
    };
    first.and_then(|first| json::parse(first).ok()).is_some_and(is_message)
}

/// Returns whether a value is a message `{role, content}` with a list of blocks, or with other fields of Cline.
/// Messages in requests of model vendors have no other fields.
fn is_message(raw: &RawValue) -> bool {
    let Ok(mut message) = Object::try_from(raw) else { return false };
    let has_role =
        matches!(fields::take_string(&mut message, "role").as_deref(), Some("user" | "assistant"));
    let is_list = message.take("content").is_some_and(|raw| Kind::from(raw) == Kind::Array);
    has_role && is_list
}

/// Returns whether a list that was cut within its first message belongs to Cline.
fn looks_like_message(text: &str) -> bool {
    text.contains("\"role\"") && text.contains("\"content\"") && text.contains("\"type\"")
}

/// Splits a document into records, and reads the data of the session.
pub(super) fn split(text: &str, facts: &mut ReadSession) -> Vec<Piece> {
    let document = Document::new(text, MESSAGES);
    let field = |name: &str| {
        let raw = json::parse(document.field(name)?).ok()?;
        let text = json::words(raw);
        (Kind::from(raw) == Kind::String && !text.is_empty()).then(|| Box::from(text))
    };
    if let Some(id) = field("sessionId") {
        facts.native_id = Some(id);
    }
    document.into_pieces(text)
}
