//! The envelope of JSON-RPC 2.0: requests in, answers and notifications out. Knows no method.

use serde::Serialize;
use tertulia_session::json::{Kind, Object, RawValue, text};

use super::error::RpcError;
use crate::to_json;

/// A request, or a notification if it has no id.
pub(super) struct Request<'a> {
    pub(super) id: Option<&'a RawValue>,
    pub(super) method: String,
    /// Wrong parameters are the caller's to hear of only if it wants an answer at all.
    pub(super) params: Result<Object<'a>, RpcError>,
}

/// What is wrong with a request, and whose it was, as far as that can be told.
pub(super) struct InvalidRequest<'a> {
    pub(super) id: Option<&'a RawValue>,
    pub(super) error: RpcError,
}

impl<'a> Request<'a> {
    pub(super) fn read(raw: &'a RawValue) -> Result<Self, InvalidRequest<'a>> {
        let invalid =
            |id, reason: &str| InvalidRequest { id, error: RpcError::invalid_request(reason) };
        let mut object = Object::try_from(raw)
            .map_err(|error| invalid(None, &error.within("the request").to_string()))?;
        let id = object.take("id");
        let is_id = |raw| matches!(Kind::from(raw), Kind::Null | Kind::Number | Kind::String);
        if id.is_some_and(|raw| !is_id(raw)) {
            return Err(invalid(None, "id must be a string, a number or null"));
        }
        if object.take("jsonrpc").is_none_or(|raw| raw.get() != "\"2.0\"") {
            return Err(invalid(id, "jsonrpc must be \"2.0\""));
        }
        let method = object.take("method").and_then(|raw| text(raw).ok());
        let method = method.ok_or_else(|| invalid(id, "method must be a string"))?;
        let params = match object.take("params") {
            None => Ok(Object::default()),
            Some(raw) if Kind::from(raw) == Kind::Object => {
                Object::try_from(raw).map_err(|error| error.within("params").into())
            }
            Some(_) => Err(RpcError::invalid_params("params must be an object with named fields")),
        };
        Ok(Self { id, method, params })
    }
}

/// Writes the answer to a request that worked. `result` is JSON already.
pub(super) fn write_result(out: &mut String, id: &RawValue, result: &str) {
    write_answer(out, id.get(), "result", result);
}

/// Writes the answer to a request that did not work.
pub(super) fn write_error(out: &mut String, id: Option<&RawValue>, error: &RpcError) {
    write_answer(out, id.map_or("null", RawValue::get), "error", &to_json(error));
}

fn write_answer(out: &mut String, id: &str, name: &str, value: &str) {
    let pieces = [r#"{"jsonrpc":"2.0","id":"#, id, ",\"", name, "\":", value, "}"];
    out.extend(pieces);
}

pub(super) fn write_notification(method: &str, params: &impl Serialize) -> String {
    format!(r#"{{"jsonrpc":"2.0","method":"{method}","params":{}}}"#, to_json(params))
}
