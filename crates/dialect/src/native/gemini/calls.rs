//! Reads the results of tools in a Gemini session. The model gets them as function responses, and the agent also
//! keeps them in the record of the call.

use tertulia_session::json::{self, Json, Kind, Object, RawValue};
use tertulia_session::{Image, ImageSource, Part, PartKind, Parts, ToolResult};

use crate::reading::is_text;

/// Reads the results in a record with calls.
pub(super) struct Calls;

impl Calls {
    /// Reads the result in the record of a call. `None` if there is none yet.
    pub(super) fn result(
        id: &str,
        call: &mut Object<'_>,
        read: &mut impl FnMut(&RawValue) -> Part,
    ) -> Option<ToolResult> {
        let status = call.take_some("status").map(json::words).unwrap_or_default();
        let has_failed = matches!(&*status, "error" | "cancelled");
        let result = call.take_some("result");
        let mut parts = match result {
            Some(raw) if Kind::from(raw) == Kind::Array => {
                json::elements(raw).unwrap_or_default().into_iter().map(read).collect()
            }
            Some(raw) => Parts::from([read(raw)]),
            None => Parts::new(),
        };
        let found = read_results(&mut parts, Some(id)).into_iter().next();
        let found = found.or_else(|| {
            let content = blocks(None, &parts)?;
            Some(ToolResult { tool_call_id: id.into(), is_error: false, content })
        });
        let shown = call.take_some("resultDisplay").filter(|raw| is_text(raw));
        let found = found.or_else(|| {
            let content = match (shown, has_failed) {
                (Some(raw), _) => Json::text(&json::words(raw)),
                (None, true) => Json::text(&status),
                (None, false) => return None,
            };
            Some(ToolResult { tool_call_id: id.into(), is_error: has_failed, content })
        });
        found.map(|result| ToolResult { is_error: result.is_error || has_failed, ..result })
    }
}

/// Removes the function responses from these parts, each with the pictures and texts after it, and returns them. With
/// an `id`, the parts are the result of this call. They may contain responses of other calls, which are left out.
pub(super) fn read_results(parts: &mut Parts, id: Option<&str>) -> Vec<ToolResult> {
    let is_response = |part: &Part| matches!(part.kind, PartKind::ToolResult(_));
    if !parts.iter().any(is_response) {
        return Vec::new();
    }
    let mut results = Vec::new();
    let mut others = Parts::new();
    // Whether the following parts belong to a response of another call.
    let mut skips = false;
    let mut open: Option<(ToolResult, Parts)> = None;
    for part in std::mem::take(parts) {
        let nested = nested_parts(&part);
        if let PartKind::ToolResult(result) = part.kind {
            results.extend(open.take().map(|(result, extra)| closed(result, &extra)));
            skips = id.is_some_and(|id| *result.tool_call_id != *id);
            open = (!skips).then_some((*result, nested));
            continue;
        }
        let is_picture = matches!(part.kind, PartKind::Image(_));
        match &mut open {
            Some((_, extra)) if is_picture || id.is_some() => extra.push(part),
            None if skips => {}
            _ => others.push(part),
        }
    }
    results.extend(open.map(|(result, extra)| closed(result, &extra)));
    *parts = others;
    results
}

/// Returns the pictures inside a function response.
fn nested_parts(part: &Part) -> Parts {
    let nested = part.unknown_payload().get("parts").map(|json| json.raw());
    let nested = nested.and_then(|raw| json::elements(raw).ok()).unwrap_or_default();
    let read = |raw| crate::gemini::PartReader::default().part(raw).ok();
    nested.into_iter().filter_map(read).collect()
}

fn closed(result: ToolResult, extra: &Parts) -> ToolResult {
    match extra.is_empty() {
        true => result,
        false => {
            let content = blocks(Some(&result.content), extra);
            ToolResult { content: content.unwrap_or_else(|| result.content.clone()), ..result }
        }
    }
}

/// Returns the content of a result with several parts. `None` if there are none.
fn blocks(first: Option<&Json>, parts: &Parts) -> Option<Json> {
    let texts = |text: &str| format!(r#"{{"type":"text","text":{}}}"#, Json::text(text).as_str());
    let mut blocks: Vec<String> =
        first.map(|json| texts(&json::words(json.raw()))).into_iter().collect();
    for part in parts {
        match &part.kind {
            PartKind::Text(text) if first.is_none() && parts.len() == 1 => {
                return Some(Json::text(text));
            }
            PartKind::Text(text) | PartKind::Thinking(text) => blocks.push(texts(text)),
            PartKind::Image(image) => blocks.push(picture(image)),
            PartKind::Other(other) => {
                blocks.extend(other.payload.as_ref().map(|json| json.as_str().to_owned()));
            }
            _ => {}
        }
    }
    if blocks.is_empty() {
        return None;
    }
    Json::parse(&format!("[{}]", blocks.join(","))).ok()
}

fn picture(image: &Image) -> String {
    let kind = Json::text(&image.mime_type);
    let (field, value) = match &image.source {
        ImageSource::Data(data) => ("data", Json::text(data)),
        ImageSource::Url(url) => ("image_url", Json::text(url)),
    };
    format!(r#"{{"type":"image","mimeType":{},"{field}":{}}}"#, kind.as_str(), value.as_str())
}
