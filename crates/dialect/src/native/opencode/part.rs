//! The parts of opencode's messages: texts, thinking, calls with their results, files and usage.

use std::borrow::Cow;

use tertulia_session::json::{self, Json, Kind, Object, RawValue};
use tertulia_session::{
    EntryId, EntryKind, Fields, FileRef, Image, Message, Part, PartKind, Role, Timestamp, ToolCall,
    ToolResult, Usage, Usd,
};

use super::super::fields::{
    take_count, take_flag, take_list, take_millis, take_object, take_text, take_word,
};
use super::super::item::{Item, native_summary};
use super::super::{NativeFormat, ProblemKind};
use super::source::Ids;
use super::{Head, Reader, non_message};
use crate::arguments::of_text;

impl Reader {
    /// Reads a part of a message.
    pub(super) fn part_of(
        &mut self,
        head: Head,
        kind: &str,
        mut object: Object<'_>,
        ids: &Ids,
    ) -> Item {
        let time =
            take_object(&mut object, "time").and_then(|mut time| take_millis(&mut time, "start"));
        let read = match kind {
            "text" => self.text(head, object, ids),
            "reasoning" => self.reasoning(object),
            "tool" => return self.tool(object, ids),
            "file" => self.file(head, object),
            "step-finish" => Ok(usage(object, self.model.clone())),
            "compaction" => {
                self.tail = take_word(&mut object, "tail_start_id");
                Ok(None)
            }
            "step-start" | "snapshot" | "patch" | "agent" | "retry" | "subtask" => Ok(None),
            "" => Err(ProblemKind::Field { field: "type" }),
            name => Err(ProblemKind::UnknownType { name: name.into() }),
        };
        let item = match read {
            Ok(Some(kind)) => Item::new(kind),
            Ok(None) => non_message(Some(kind)),
            Err(problem) => non_message(Some(kind)).with_problem(problem),
        };
        Item { timestamp: time, ..item }
    }

    /// Reads a text. Returns nothing for a text that no model gets or that opencode always adds.
    fn text(&mut self, head: Head, mut object: Object<'_>, ids: &Ids) -> Read {
        let text = take_text(&mut object, "text").ok_or(ProblemKind::Field { field: "text" })?;
        if text.is_empty() || take_flag(&mut object, "ignored") {
            return Ok(None);
        }
        if let (true, Some(id)) = (head.is_summary && !head.is_failed, &ids.id) {
            let first = self.tail.take().filter(|tail| self.knows(tail));
            return Ok(Some(summary(text, first.as_deref().unwrap_or(id))));
        }
        if !head.is_user {
            return Ok(Some(EntryKind::Message(
                self.speakers.message(Role::Assistant, [Part::text(text)]),
            )));
        }
        let continues = take_object(&mut object, "metadata")
            .is_some_and(|mut notes| take_flag(&mut notes, "compaction_continue"));
        let is_added = take_flag(&mut object, "synthetic");
        if is_added && (continues || text.starts_with("<system-reminder>")) {
            return Ok(None);
        }
        Ok(Some(self.user(Part::text(text), is_added)))
    }

    /// Returns a message of the user, or a text that opencode adds to one, such as the content of a file.
    fn user(&self, part: Part, is_added: bool) -> EntryKind {
        let mut message = self.speakers.message(Role::User, [part]);
        if is_added {
            message.speaker = None;
        }
        EntryKind::Message(message)
    }

    fn knows(&self, message: &str) -> bool {
        self.messages.contains_key(&super::hash(message))
    }

    /// Reads thinking. The provider's signature is in `metadata`.
    fn reasoning(&self, mut object: Object<'_>) -> Read {
        let text = take_text(&mut object, "text").ok_or(ProblemKind::Field { field: "text" })?;
        let mut seal = Fields::NONE;
        if let Some(notes) = object.take_some("metadata") {
            seal.push("metadata", Json::from(notes));
        }
        let part = Part::new(PartKind::Thinking(text.into())).with_unknown(Fields::NONE, seal);
        Ok(Some(EntryKind::Message(self.speakers.message(Role::Assistant, [part]))))
    }

    fn file(&self, head: Head, mut object: Object<'_>) -> Read {
        let is_added = take_flag(&mut object, "synthetic");
        let part = file(object).ok_or(ProblemKind::Field { field: "url" })?;
        if head.is_user {
            return Ok(Some(self.user(part, is_added)));
        }
        Ok(Some(EntryKind::Message(self.speakers.message(Role::Assistant, [part]))))
    }

    /// Reads a call, with its result if there is one.
    fn tool(&mut self, mut object: Object<'_>, ids: &Ids) -> Item {
        let missing = |field| non_message(Some("tool")).with_problem(ProblemKind::Field { field });
        let Some(id) = take_word(&mut object, "callID") else { return missing("callID") };
        let Some(tool_name) = take_word(&mut object, "tool") else { return missing("tool") };
        let Some(mut state) = take_object(&mut object, "state") else { return missing("state") };
        let mut notes = take_object(&mut state, "metadata").unwrap_or_default();
        if let (Some(session), Some(part)) = (take_word(&mut notes, "sessionId"), &ids.id) {
            self.sides.entry(session).or_insert_with(|| part.clone());
        }
        let (arguments, raw_args_text) = arguments(&mut state);
        let (result, time) = result(&id, &mut state, &mut notes);
        let call = ToolCall { tool_call_id: id, tool_name, arguments, raw_args_text };
        let call = Part::new(PartKind::ToolCall(Box::new(call)));
        let result = result.map(|result| Part::new(PartKind::ToolResult(Box::new(result))));
        let message: Message =
            self.speakers.message(Role::Assistant, std::iter::once(call).chain(result));
        Item { timestamp: time, ..Item::new(EntryKind::Message(message)) }
    }
}

/// The entry of a part; `None` if the part is bookkeeping.
type Read = Result<Option<EntryKind>, ProblemKind>;

/// Takes the arguments. If they are incomplete, also returns the text of the model.
fn arguments(state: &mut Object<'_>) -> (Json, Option<Box<str>>) {
    let written = take_text(state, "raw").filter(|text| !text.is_empty());
    match (state.take_some("input"), written) {
        (Some(input), _) if Kind::from(input) == Kind::String => of_text(&json::words(input)),
        (Some(input), None) => (Json::from(input), None),
        (_, Some(written)) => of_text(&written),
        (None, None) => of_text(""),
    }
}

/// Returns the result of a call, and the time when the call began.
fn result(
    id: &str,
    state: &mut Object<'_>,
    notes: &mut Object<'_>,
) -> (Option<ToolResult>, Option<Timestamp>) {
    let time = take_object(state, "time").and_then(|mut time| take_millis(&mut time, "start"));
    let status = take_text(state, "status").unwrap_or_default();
    let error = state.take_some("error").map(Json::from);
    let output = state.take_some("output");
    let content = match &*status {
        "pending" | "running" => return (None, time),
        "error" => {
            // This is the output of a tool before it was interrupted.
            let said = take_flag(notes, "interrupted").then(|| notes.take_some("output"));
            said.flatten().map(Json::from).or(error).or(output.map(Json::from))
        }
        _ => output.map(|output| with_pictures(output, state)).or(error),
    };
    let is_error = &*status == "error";
    let result = |content| ToolResult { tool_call_id: id.into(), is_error, content };
    (content.map(result), time)
}

/// Returns the output of a tool, with the pictures among its attachments.
fn with_pictures(output: &RawValue, state: &mut Object<'_>) -> Json {
    let attachments = take_list(state, "attachments");
    let pictures: Vec<String> = attachments.into_iter().filter_map(picture_block).collect();
    if pictures.is_empty() {
        return Json::from(output);
    }
    let blocks = format!(r#"[{{"type":"text","text":{}}},{}]"#, output.get(), pictures.join(","));
    Json::parse(&blocks).unwrap_or_else(|_| Json::from(output))
}

fn picture_block(raw: &RawValue) -> Option<String> {
    let mut file = Object::try_from(raw).ok()?;
    take_text(&mut file, "mime").filter(|kind| kind.starts_with("image/"))?;
    let url = file.take_some("url").filter(|url| Kind::from(*url) == Kind::String)?;
    Some(format!(r#"{{"type":"image_url","image_url":{}}}"#, url.get()))
}

/// Reads a file: a picture, or the location of the file.
fn file(mut object: Object<'_>) -> Option<Part> {
    let mime_type = take_word(&mut object, "mime");
    let url = take_text(&mut object, "url")?;
    let is_picture = mime_type.as_deref().is_some_and(|kind| kind.starts_with("image/"));
    if is_picture && !url.starts_with("file:") {
        let mut image = Image::from_address(&url);
        image.mime_type = mime_type?;
        return Some(Part::new(PartKind::Image(Box::new(image))));
    }
    let source = take_object(&mut object, "source");
    let path = source
        .and_then(|mut source| take_word(&mut source, "path"))
        .or_else(|| url.strip_prefix("file://").map(|path| decoded(path).into()))
        .or_else(|| take_word(&mut object, "filename"))
        .unwrap_or_else(|| url.chars().take(200).collect());
    Some(Part::new(PartKind::FileRef(Box::new(FileRef { path, mime_type, size: None }))))
}

/// Returns the path of a URL with its `%` escapes decoded.
fn decoded(path: &str) -> Cow<'_, str> {
    if !path.contains('%') {
        return path.into();
    }
    let mut bytes = Vec::with_capacity(path.len());
    let mut rest = path;
    while let Some((plain, code)) = rest.split_once('%') {
        bytes.extend_from_slice(plain.as_bytes());
        let byte = code.get(..2).and_then(|code| u8::from_str_radix(code, 16).ok());
        bytes.push(byte.unwrap_or(b'%'));
        rest = if byte.is_some() { code.get(2..).unwrap_or_default() } else { code };
    }
    bytes.extend_from_slice(rest.as_bytes());
    String::from_utf8(bytes).map_or(path.into(), Cow::Owned)
}

fn summary(text: Cow<'_, str>, first_kept: &str) -> EntryKind {
    EntryKind::CompactionSummary(Box::new(native_summary(
        NativeFormat::Opencode,
        text,
        EntryId::from(first_kept),
    )))
}

/// Reads the usage of a step. opencode counts cached input and thinking separately. A cost of 0 only means that
/// opencode has no price for the model.
fn usage(mut object: Object<'_>, model: Option<Box<str>>) -> Option<EntryKind> {
    let mut tokens = take_object(&mut object, "tokens")?;
    let mut cache = take_object(&mut tokens, "cache").unwrap_or_default();
    let cached = take_count(&mut cache, "read");
    let written = take_count(&mut cache, "write");
    let count = |tokens: &mut Object<'_>, name| take_count(tokens, name).unwrap_or_default();
    let input = count(&mut tokens, "input");
    let output = count(&mut tokens, "output");
    if input == 0 && output == 0 && cached.unwrap_or_default() == 0 {
        // The answer does not come from opencode.
        return None;
    }
    let cost = object.take_some("cost").map(Json::from).and_then(Usd::from_json);
    Some(EntryKind::Usage(Usage {
        member: NativeFormat::Opencode.as_str().into(),
        model,
        input_tokens: [cached, written].into_iter().flatten().fold(input, u64::saturating_add),
        cached_tokens: cached,
        output_tokens: output.saturating_add(count(&mut tokens, "reasoning")),
        cost_usd: cost.filter(|cost| cost.amount() > 0.0),
        cache_write_tokens: written,
        agent: Some(NativeFormat::Opencode.as_str().into()),
        ..Usage::default()
    }))
}
