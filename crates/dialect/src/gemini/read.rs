//! Reads Gemini's JSON as messages: a request, a bare list of contents, one content, or a response. Accepts both
//! spellings of the fields, because the SDKs use both.

use tertulia_session::json::{FieldError, Json, Object, RawValue, boolean, each, text};
use tertulia_session::{Fields, Image, ImageSource, Part, PartKind, Role, ToolCall, ToolResult};

use super::SIGNATURE;
use crate::fragment::Node;
use crate::reading::{is_list, is_text, own_part, part, read_first, unknown_role};
use crate::tool_specs::{keep_own, read_function};
use crate::{Dialect, Reading};

/// Reads a request `{systemInstruction?, contents, tools?}`, a list of contents, one content, or a response. Only the
/// first of the `candidates` of a response is used. Calls without an id are numbered. A response without an id
/// belongs to the first open call of its name.
pub(crate) fn read(raw: &RawValue) -> Result<Reading, FieldError> {
    let mut reader = PartReader::default();
    if is_list(raw) {
        return reader.contents(raw).map(|()| reader.reading);
    }
    let mut request = Object::try_from(raw)?;
    let candidate = request.take_with("candidates", |raw| {
        read_first(raw, "content", "an object", |raw| reader.content(raw, None))
    })?;
    if candidate.is_some() {
        return Ok(reader.reading);
    }
    if let Some(system) = either(&mut request, "systemInstruction", "system_instruction") {
        let read = reader.content(system, Some(Role::System));
        read.map_err(|error| error.within("systemInstruction"))?;
    }
    if request.take_with("contents", |raw| reader.contents(raw))?.is_none() {
        return reader.content(raw, None).map(|()| reader.reading);
    }
    let specs = request.take_with("tools", |raw| each::<_, Vec<Vec<Json>>>(raw, read_tools))?;
    reader.reading.tool_specs = specs.unwrap_or_default().concat();
    Ok(reader.reading)
}

/// Reads contents and their parts, and remembers which calls have no response so far.
#[derive(Debug, Default)]
pub(crate) struct PartReader {
    reading: Reading,
    calls: usize,
    /// Calls without a response so far: name and id.
    open: Vec<(Box<str>, Box<str>)>,
}

impl PartReader {
    /// Forgets the calls without a response.
    pub(crate) fn close_calls(&mut self) {
        self.open.clear();
    }

    fn contents(&mut self, raw: &RawValue) -> Result<(), FieldError> {
        if is_list(raw) {
            return each(raw, |raw| self.content(raw, None));
        }
        self.content(raw, None)
    }

    fn content(&mut self, raw: &RawValue, role: Option<Role>) -> Result<(), FieldError> {
        if is_text(raw) {
            return self.reading.push_text(role.unwrap_or(Role::User), raw);
        }
        let mut content = Object::try_from(raw)?;
        let said = content.take_text("role")?;
        let role = match (role, said.as_deref()) {
            (Some(role), _) => role,
            (None, Some("model")) => Role::Assistant,
            (None, None | Some("user" | "function")) => Role::User,
            (None, Some(other)) => {
                return Err(unknown_role("\"user\" or \"model\"", other.to_owned()));
            }
        };
        let parts = |raw| each(raw, |raw| Ok((self.part(raw)?, false)));
        let parts = content.need_with("parts", "a list of parts", parts)?;
        self.reading.push_blocks(role, parts);
        Ok(())
    }

    /// Reads one part.
    pub(crate) fn part(&mut self, raw: &RawValue) -> Result<Part, FieldError> {
        let mut object = Object::try_from(raw)?;
        if let Some(response) = either(&mut object, "functionResponse", "function_response") {
            return self.response(response).map_err(|error| error.within("functionResponse"));
        }
        let mut payload = Fields::NONE;
        let signature = either(&mut object, SIGNATURE, "thought_signature");
        if let Some(signature) = signature {
            payload.push(SIGNATURE, Json::from(signature));
        }
        let is_thought = object.take_with("thought", boolean)?.unwrap_or(false);
        let kind = if let Some(text) = object.take_text("text")? {
            if is_thought { PartKind::Thinking(text) } else { PartKind::Text(text) }
        } else if let Some(call) = either(&mut object, "functionCall", "function_call") {
            self.call(call).map_err(|error| error.within("functionCall"))?
        } else if let Some(image) = read_image(&mut object)? {
            PartKind::Image(Box::new(image))
        } else {
            let kept = Object::try_from(raw)?;
            let is_kind = |name: &&str| !name.starts_with("thought");
            let name = kept.names().find(is_kind).unwrap_or("empty").to_owned();
            return Ok(own_part(Dialect::Gemini, &name, Json::from(raw)));
        };
        payload.extend(object.rest());
        Ok(part(kind, payload))
    }

    fn call(&mut self, raw: &RawValue) -> Result<PartKind, FieldError> {
        let mut call = Object::try_from(raw)?;
        let tool_name: Box<str> = call.need_text("name")?.into();
        self.calls += 1;
        let id = call.take_text("id")?.filter(|id| !id.is_empty());
        let tool_call_id: Box<str> = id.unwrap_or_else(|| format!("call-{}", self.calls)).into();
        self.open.push((tool_name.clone(), tool_call_id.clone()));
        let arguments = call.take_some("args").map(Json::from);
        let arguments = arguments.unwrap_or_else(|| Node::Map(Vec::new()).to_json());
        let call = ToolCall { tool_call_id, tool_name, arguments, raw_args_text: None };
        Ok(PartKind::ToolCall(Box::new(call)))
    }

    fn response(&mut self, raw: &RawValue) -> Result<Part, FieldError> {
        let mut response = Object::try_from(raw)?;
        let name: Box<str> = response.need_text("name")?.into();
        let id = response.take_text("id")?.filter(|id| !id.is_empty()).map(Box::from);
        let open = self.open.iter().position(|(called, call_id)| match &id {
            Some(id) => call_id == id,
            None => *called == name,
        });
        let open = open.map(|at| self.open.remove(at).1);
        // A response without a call keeps its name as the id, so that a renderer can name it when leaving it out.
        let tool_call_id = id.or(open).unwrap_or(name);
        let (is_error, content) = match response.take_some("response") {
            Some(raw) => read_response(raw),
            None => (false, Json::text("")),
        };
        let result = ToolResult { tool_call_id, is_error, content };
        Ok(part(PartKind::ToolResult(Box::new(result)), response.rest()))
    }
}

/// Reads a response. An object with only `output` or `error` is replaced by the content of that field.
fn read_response(raw: &RawValue) -> (bool, Json) {
    let fields: Vec<_> =
        Object::try_from(raw).map(|object| object.into_fields().collect()).unwrap_or_default();
    match fields.as_slice() {
        [(name, value)] if name == "output" => (false, Json::from(*value)),
        [(name, value)] if name == "error" => (true, Json::from(*value)),
        _ => (false, Json::from(raw)),
    }
}

/// Reads a picture. Files of other types become parts that only Gemini defines.
fn read_image(object: &mut Object<'_>) -> Result<Option<Image>, FieldError> {
    if let Some(raw) = either(object, "inlineData", "inline_data") {
        let mut blob = Object::try_from(raw).map_err(|error| error.within("inlineData"))?;
        let mime_type = text_either(&mut blob, "mimeType", "mime_type").unwrap_or_default();
        let data = blob.need_text("data").map_err(|error| error.within("inlineData"))?;
        let is_image = mime_type.starts_with("image/");
        let source = ImageSource::Data(data.into());
        return Ok(is_image.then(|| Image { mime_type: mime_type.into(), source }));
    }
    let Some(raw) = either(object, "fileData", "file_data") else { return Ok(None) };
    let mut file = Object::try_from(raw).map_err(|error| error.within("fileData"))?;
    let mime_type = text_either(&mut file, "mimeType", "mime_type");
    let mime_type = mime_type.unwrap_or_else(|| Image::ANY_TYPE.to_owned());
    let url = text_either(&mut file, "fileUri", "file_uri").filter(|url| url.starts_with("http"));
    let url = url.filter(|_| mime_type.starts_with("image/"));
    Ok(url.map(|url| Image { mime_type: mime_type.into(), source: ImageSource::Url(url.into()) }))
}

fn read_tools(raw: &RawValue) -> Result<Vec<Json>, FieldError> {
    let mut tool = Object::try_from(raw)?;
    let Some(list) = either(&mut tool, "functionDeclarations", "function_declarations") else {
        let name = tool.names().next().unwrap_or("empty").to_owned();
        return Ok(vec![keep_own(raw, name, Dialect::Gemini)]);
    };
    let names = ["parametersJsonSchema", "parameters_json_schema", "parameters"];
    let read = |raw| Object::try_from(raw).and_then(|function| read_function(function, &names));
    each(list, read).map_err(|error| error.within("functionDeclarations"))
}

/// Takes a field under one of its two spellings.
fn either<'a>(object: &mut Object<'a>, camel: &str, snake: &str) -> Option<&'a RawValue> {
    let found = object.take_some(camel);
    let other = object.take_some(snake);
    found.or(other)
}

fn text_either(object: &mut Object<'_>, camel: &str, snake: &str) -> Option<String> {
    either(object, camel, snake).and_then(|raw| text(raw).ok())
}
