//! Reads one message of a Gemini session: a line of the log, an element of a replaced list, or an element of a
//! document. [`super::tree`] decides its position in the conversation.

use std::hash::{DefaultHasher, Hash, Hasher};

use tertulia_session::json::{self, Json, Kind, Object, RawValue};
use tertulia_session::{
    EntryKind, Message, Part, PartKind, Parts, Role, Timestamp, ToolResult, Usage,
};

use super::super::fields::{self, take_time};
use super::super::item::Speakers;
use super::super::reader::hash;
use super::super::{NativeFormat, ProblemKind};
use super::calls::{Calls, read_results};
use crate::Dialect;
use crate::gemini::PartReader;
use crate::reading::own_part;
use crate::surrogates::well_formed;

/// The beginnings of texts that the agent adds with the role of the user.
const INJECTED: [&str; 3] = [
    "<session_context>",
    "<hook_context>",
    "This is the Gemini CLI. We are setting up the context for our chat.",
];

/// A text that [`super::super::write`] adds before some messages of the user. The agent would omit these messages,
/// because they begin like a command or like one of the agent's own texts.
pub(in super::super) const FRONT: &str = "The user wrote:\n";

/// The model's answer to the agent's own first text in earlier versions. [`super::super::write`] adds it too. Without
/// it, the agent would merge its text with the following message of the user, and would omit both at the next resume.
pub(in super::super) const OPENING_ANSWER: &str = "Got it. Thanks for the context!";

/// The content of a message.
#[derive(Debug, Default)]
pub(super) struct GeminiMessage {
    pub id: Option<Box<str>>,
    /// The type in the record.
    pub kind: Box<str>,
    pub timestamp: Option<Timestamp>,
    /// Whether it has content other than the results of tools.
    pub is_said: bool,
    /// The content other than the results of tools.
    pub message: Option<Message>,
    /// The results of tools, each with the hash of the id of its call.
    pub results: Vec<(u64, ToolResult)>,
    /// Hashes of the ids of the calls.
    pub calls: Vec<u64>,
    /// A hash of the content that is the same in every form in which the agent writes a message.
    pub print: u64,
    /// A hash of the content exactly as it is written.
    pub exact: u64,
    pub usage: Option<Usage>,
    pub model: Option<Box<str>>,
    /// The folder that the agent's own text names, if any.
    pub folder: Option<Box<str>>,
    pub problem: Option<ProblemKind>,
}

/// Reads messages, and keeps the state that later messages need.
#[derive(Debug)]
pub(super) struct MessageReader {
    speakers: Speakers,
    parts: PartReader,
    /// Number of calls so far that had no id.
    unnamed: usize,
}

impl MessageReader {
    pub(super) fn new() -> Self {
        Self {
            speakers: Speakers::new(NativeFormat::Gemini),
            parts: PartReader::default(),
            unnamed: 0,
        }
    }

    /// Reads a message. Removes its fields from the object.
    pub(super) fn read(&mut self, object: &mut Object<'_>) -> GeminiMessage {
        let mut message = GeminiMessage::default();
        let text = |raw: &RawValue| Box::<str>::from(json::words(raw));
        message.id =
            object.take_some("id").filter(|raw| Kind::from(*raw) == Kind::String).map(text);
        message.timestamp = take_time(object, "timestamp");
        let role = object.take_some("role");
        message.kind = object.take_some("type").or(role).map(text).unwrap_or_default();
        let parts = object.take_some("parts");
        let content = object.take_some("content").or(parts);
        let (thoughts, calls) = (object.take_some("thoughts"), object.take_some("toolCalls"));
        message.exact = hash(&[content, thoughts, calls].map(|raw| raw.map(RawValue::get)));
        match &*message.kind {
            "user" => self.user(content, &mut message),
            "gemini" | "model" => {
                self.parts.close_calls();
                message.model = object.take_some("model").map(text);
                message.usage = object.take_some("tokens").and_then(usage);
                self.assistant([content, thoughts, calls], &mut message);
            }
            // These are notices on the screen.
            "info" | "error" | "warning" => {}
            "" => message.problem = Some(ProblemKind::Field { field: "type" }),
            other => message.problem = Some(ProblemKind::UnknownType { name: other.into() }),
        }
        message
    }

    fn user(&mut self, content: Option<&RawValue>, message: &mut GeminiMessage) {
        let mut parts = self.parts(content, message);
        let is_fronted = parts.first().and_then(Part::as_text) == Some(FRONT);
        if is_fronted {
            parts.remove(0);
        }
        parts.retain(|part| {
            let Some(text) = part.as_text() else { return true };
            let is_injected =
                !is_fronted && INJECTED.iter().any(|start| text.trim_start().starts_with(start));
            if is_injected {
                message.folder = message.folder.take().or_else(|| folder(text));
            }
            !is_injected
        });
        message.results = read_results(&mut parts, None).into_iter().map(keyed).collect();
        self.finish(Role::User, parts, message);
    }

    fn assistant(
        &mut self,
        [content, thoughts, calls]: [Option<&RawValue>; 3],
        message: &mut GeminiMessage,
    ) {
        let mut parts = match (content, calls) {
            (None, Some(_)) => Parts::new(),
            _ => self.parts(content, message),
        };
        message.results = read_results(&mut parts, None).into_iter().map(keyed).collect();
        let is_own =
            |part: &Part| matches!(part.kind, PartKind::Thinking(_) | PartKind::ToolCall(_));
        // After a resume, the content contains the thoughts and calls as the model sent them.
        let is_whole = parts.iter().any(is_own);
        if let Some(thoughts) = thoughts.filter(|_| !is_whole) {
            let thoughts = json::elements(thoughts).unwrap_or_default();
            parts.insert_many(0, thoughts.into_iter().filter_map(thought));
        }
        for raw in calls.map(|raw| json::elements(raw).unwrap_or_default()).unwrap_or_default() {
            let Ok(call) = Object::try_from(raw) else {
                message.problem = Some(ProblemKind::Field { field: "toolCalls" });
                continue;
            };
            self.call(call, &mut parts, message);
        }
        let calls = parts.iter().filter_map(|part| match &part.kind {
            PartKind::ToolCall(call) => Some(hash(&call.tool_call_id)),
            _ => None,
        });
        message.calls = calls.collect();
        if matches!(parts.as_slice(), [part] if part.as_text() == Some(OPENING_ANSWER)) {
            parts.clear();
        }
        self.finish(Role::Assistant, parts, message);
    }

    /// Reads a call with its result.
    fn call(&mut self, mut call: Object<'_>, parts: &mut Parts, message: &mut GeminiMessage) {
        let name = call.take_some("name").map(json::words).unwrap_or_default();
        let id = call.take_some("id").map(json::words).filter(|id| !id.is_empty());
        let id: Box<str> = match id {
            Some(id) => id.into(),
            None => {
                self.unnamed += 1;
                format!("unnamed-{}", self.unnamed).into()
            }
        };
        let is_id = |part: &Part| match &part.kind {
            PartKind::ToolCall(call) => call.tool_call_id == id,
            _ => false,
        };
        if !parts.iter().any(is_id) {
            parts.push(Part::new(fields::call(&id, &name, call.take("args"))));
        }
        let mut read = |raw: &RawValue| self.part(raw, message);
        let result = Calls::result(&id, &mut call, &mut read);
        message.results.extend(result.map(keyed));
    }

    fn finish(&mut self, role: Role, mut parts: Parts, message: &mut GeminiMessage) {
        parts.retain(|part| part.as_text().is_none_or(|text| !text.is_empty()));
        let mut hasher = DefaultHasher::new();
        (role == Role::User).hash(&mut hasher);
        for part in &parts {
            match &part.kind {
                PartKind::Text(text) => {
                    text.split_ascii_whitespace().for_each(|word| hasher.write(word.as_bytes()));
                }
                PartKind::Image(image) => format!("{image:?}").hash(&mut hasher),
                PartKind::Other(other) => {
                    other.payload.as_ref().map(Json::as_str).hash(&mut hasher)
                }
                _ => {}
            }
        }
        message.calls.hash(&mut hasher);
        message.print = hasher.finish();
        if !parts.is_empty() {
            message.is_said = true;
            message.message = Some(self.speakers.message(role, parts));
        }
    }

    /// Reads content: a text, a part, or a list of both.
    fn parts(&mut self, content: Option<&RawValue>, message: &mut GeminiMessage) -> Parts {
        let Some(content) = content else {
            message.problem = Some(ProblemKind::Field { field: "content" });
            return Parts::new();
        };
        match Kind::from(content) {
            Kind::Array => {
                let parts = json::elements(content).unwrap_or_default();
                parts.into_iter().map(|raw| self.part(raw, message)).collect()
            }
            _ => Parts::from([self.part(content, message)]),
        }
    }

    fn part(&mut self, raw: &RawValue, message: &mut GeminiMessage) -> Part {
        if Kind::from(raw) == Kind::String {
            return Part::text(json::words(raw));
        }
        self.parts.part(raw).unwrap_or_else(|_| {
            // The usual reason is a lone surrogate.
            let whole = Json::from(raw);
            self.parts.part(well_formed(&whole).raw()).unwrap_or_else(|_| {
                message.problem = Some(ProblemKind::Field { field: "content" });
                own_part(Dialect::Gemini, "part", whole)
            })
        })
    }
}

/// Returns the text of a thought in the form in which the agent repeats it to the model.
fn thought(raw: &RawValue) -> Option<Part> {
    let mut thought = Object::try_from(raw).ok()?;
    let mut field = |name: &str| thought.take_some(name).map(json::words).unwrap_or_default();
    let (subject, description) = (field("subject"), field("description"));
    let text = match (subject.is_empty(), description.is_empty()) {
        (true, true) => return None,
        (true, false) => description.into_owned(),
        (false, _) => format!("**{subject}** {description}"),
    };
    Some(Part::new(PartKind::Thinking(text)))
}

fn usage(raw: &RawValue) -> Option<Usage> {
    let mut tokens = Object::try_from(raw).ok()?;
    let mut count = |name| tokens.take_some(name).and_then(|raw| json::whole_number(raw).ok());
    let (input, tool) = (count("input")?, count("tool").unwrap_or_default());
    let (output, thoughts) = (count("output").unwrap_or_default(), count("thoughts"));
    let cached = count("cached");
    let input = input.saturating_add(tool);
    let output = output.saturating_add(thoughts.unwrap_or_default());
    // A failed request has no usage.
    (input > 0 || output > 0).then(|| Usage {
        member: NativeFormat::Gemini.as_str().into(),
        model: None,
        input_tokens: input,
        cached_tokens: cached,
        output_tokens: output,
        agent: Some(NativeFormat::Gemini.as_str().into()),
        ..Usage::default()
    })
}

/// Returns the folder in the agent's own text.
fn folder(text: &str) -> Option<Box<str>> {
    let after = |mark: &str| text.split_once(mark).map(|(_, after)| after);
    let listed = || after("**Workspace Directories:**")?.trim_start().strip_prefix("- ");
    let named = listed().or_else(|| after("I'm currently working in the directory: "))?;
    let folder = named.lines().next()?.trim();
    (!folder.is_empty()).then(|| folder.into())
}

fn keyed(result: ToolResult) -> (u64, ToolResult) {
    (hash(&result.tool_call_id), result)
}

/// Returns a result as a separate message.
pub(super) fn result_kind(result: ToolResult) -> EntryKind {
    let part = Part::new(PartKind::ToolResult(Box::new(result)));
    EntryKind::Message(Message::with_role(Role::Tool, Parts::from([part])))
}
