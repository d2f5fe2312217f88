//! Converts the events of Copilot CLI that contain messages. An error names the missing field.

use tertulia_session::json::{Json, Kind, Object, RawValue};
use tertulia_session::{
    Fields, FileRef, Image, ImageSource, Message, Part, PartKind, Role, ToolCall, ToolResult,
};

use super::super::fields::{take_count, take_flag, take_list, take_object, take_text, take_word};
use super::super::item::Speakers;
use crate::arguments::of_text;

/// Reads a message of the user. `None` for a text that the program added, such as a skill. The speaker of a message
/// to a sub-agent is the agent that started it.
pub(super) fn user(
    mut data: Object<'_>,
    speakers: &Speakers,
    is_side: bool,
) -> Result<Option<Message>, &'static str> {
    let content = take_text(&mut data, "content").ok_or("data.content")?;
    let is_added = take_word(&mut data, "source").is_some_and(|source| &*source != "user");
    if !is_side && (is_added || take_flag(&mut data, "isAutopilotContinuation")) {
        return Ok(None);
    }
    let mut parts = Vec::new();
    if !content.trim().is_empty() {
        parts.push(Part::text(content));
    }
    parts.extend(take_list(&mut data, "attachments").into_iter().filter_map(attachment));
    if parts.is_empty() {
        return Ok(None);
    }
    let mut message = speakers.message(Role::User, parts);
    if is_side {
        message.speaker = None;
    }
    Ok(Some(message))
}

/// Reads an attachment: a picture with its data, or the location of a file.
fn attachment(raw: &RawValue) -> Option<Part> {
    let mut object = Object::try_from(raw).ok()?;
    let kind = take_text(&mut object, "type")?;
    let mime_type = take_word(&mut object, "mimeType");
    if &*kind == "selection" {
        return take_text(&mut object, "text").map(Part::text);
    }
    if let Some(image) = picture(&mut object, mime_type.as_deref()) {
        return Some(image);
    }
    let names = ["path", "filePath", "url", "displayName", "title"];
    let path = names.into_iter().find_map(|name| take_word(&mut object, name))?;
    let size = take_count(&mut object, "byteLength");
    Some(Part::new(PartKind::FileRef(Box::new(FileRef { path, mime_type, size }))))
}

/// Reads a picture that contains its data. Other pictures are in a `session.binary_asset`, which is a separate event.
fn picture(object: &mut Object<'_>, mime_type: Option<&str>) -> Option<Part> {
    let mime_type = mime_type.filter(|kind| kind.starts_with("image/"))?;
    let data = take_word(object, "data")?;
    let image = Image { mime_type: mime_type.into(), source: ImageSource::Data(data) };
    Some(Part::new(PartKind::Image(Box::new(image))))
}

/// Reads an answer of the model. `None` if it is empty.
pub(super) fn answer(
    mut data: Object<'_>,
    speakers: &Speakers,
) -> Result<Option<Message>, &'static str> {
    let mut parts = Vec::new();
    parts.extend(thinking(&mut data));
    let content = data.take_some("content");
    match content.map(super::super::fields::text) {
        Some(Some(text)) if !text.is_empty() => parts.push(Part::text(text)),
        Some(Some(_)) | None => {}
        Some(None) => return Err("data.content"),
    }
    for request in take_list(&mut data, "toolRequests") {
        parts.push(call(request).ok_or("data.toolRequests")?);
    }
    Ok((!parts.is_empty()).then(|| speakers.message(Role::Assistant, parts)))
}

/// Reads the thinking before an answer, with the data that the provider needs to accept it again.
fn thinking(data: &mut Object<'_>) -> Option<Part> {
    let text = take_text(data, "reasoningText");
    let mut sealed = Fields::NONE;
    for name in ["reasoningOpaque", "encryptedContent", "reasoningWireField"] {
        if let Some(raw) = data.take_some(name) {
            sealed.push(name, Json::from(raw));
        }
    }
    if text.is_none() && sealed.is_empty() {
        return None;
    }
    let text = text.unwrap_or_default().into_owned();
    Some(Part::new(PartKind::Thinking(text)).with_unknown(Fields::NONE, sealed))
}

/// Reads a tool call. Its arguments are an object, or a text for tools without a schema.
fn call(raw: &RawValue) -> Option<Part> {
    let mut request = Object::try_from(raw).ok()?;
    let tool_call_id = take_word(&mut request, "toolCallId")?;
    let tool_name = take_word(&mut request, "name")?;
    let (arguments, raw_args_text) = match request.take_some("arguments") {
        None => of_text(""),
        Some(raw) if Kind::from(raw) == Kind::String => {
            of_text(&tertulia_session::json::words(raw))
        }
        Some(raw) => (Json::from(raw), None),
    };
    let call = ToolCall { tool_call_id, tool_name, arguments, raw_args_text };
    Some(Part::new(PartKind::ToolCall(Box::new(call))))
}

/// Reads the result of a tool. `None` for a tool that the person ran, because it has no call.
pub(super) fn result(mut data: Object<'_>) -> Result<Option<Message>, &'static str> {
    if take_flag(&mut data, "isUserRequested") {
        return Ok(None);
    }
    let tool_call_id = take_word(&mut data, "toolCallId").ok_or("data.toolCallId")?;
    let is_error = !take_flag(&mut data, "success");
    let content = match (take_object(&mut data, "result"), take_object(&mut data, "error")) {
        (Some(result), _) => result_content(result),
        (None, Some(mut error)) => error.take_some("message").map(Json::from),
        (None, None) => None,
    };
    let content = content.unwrap_or_else(|| Json::text(""));
    let result = ToolResult { tool_call_id, is_error, content };
    let part = Part::new(PartKind::ToolResult(Box::new(result)));
    Ok(Some(Message::with_role(Role::Tool, [part].into_iter().collect())))
}

/// Returns the content for the model: a text, or a list of the text and its pictures.
fn result_content(mut result: Object<'_>) -> Option<Json> {
    let text = result.take_some("content");
    let pictures = take_list(&mut result, "binaryResultsForLlm");
    let blocks: Vec<String> = pictures.into_iter().filter_map(image_block).collect();
    if blocks.is_empty() {
        return text.map(Json::from);
    }
    let text = text.map(|text| format!(r#"{{"type":"text","text":{}}}"#, text.get()));
    let blocks: Vec<String> = text.into_iter().chain(blocks).collect();
    Json::parse(&format!("[{}]", blocks.join(","))).ok()
}

fn image_block(raw: &RawValue) -> Option<String> {
    let mut object = Object::try_from(raw).ok()?;
    let mime_type = object.take_some("mimeType")?;
    let data = object.take_some("data").filter(|data| Kind::from(*data) == Kind::String)?;
    let (mime_type, data) = (mime_type.get(), data.get());
    Some(format!(r#"{{"type":"image","mimeType":{mime_type},"data":{data}}}"#))
}
