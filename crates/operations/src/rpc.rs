//! JSON-RPC 2.0 over lines: contexts and sessions for programs in any language. Values stay JSON text until a method
//! needs them, so deeply nested lines need little stack. docs/rpc.md is the reference.

mod conversations;
mod error;
mod methods;
mod reference;

use std::io::{self, Write};

use serde::Serialize;
use tertulia_session::json::{self, Kind, Object, RawValue, text};
use tertulia_store::StoreUrl;

use crate::lines::LineError;
use crate::to_json;
use conversations::Conversations;
use error::RpcError;
use methods::{Method, Sessions};

pub use reference::{MethodReference, REFERENCE};

/// Maximum number of requests in a batch.
pub const BATCH_REQUESTS_MAX: usize = 10_000;

/// Maximum size of the responses of a batch. After that its remaining requests are refused.
pub const BATCH_ANSWER_BYTES_MAX: usize = 64 * 1024 * 1024;

/// Answers requests. Keeps the conversations of its caller.
pub struct RpcServer {
    conversations: Conversations,
    sessions: Sessions,
    now_millis: fn() -> i64,
    project: fn() -> Option<String>,
}

impl RpcServer {
    /// Creates a server with one empty conversation, `main`, and a clock for snapshots. Its sessions exist only as
    /// long as the process.
    pub fn new(now_millis: fn() -> i64) -> Self {
        Self::with_store(now_millis, Ok(StoreUrl::Memory))
    }

    /// Same as [`Self::new`], with the store of the sessions. The store is opened when a method needs it. If the
    /// store is an error text, only methods that need a store fail.
    pub fn with_store(now_millis: fn() -> i64, store: Result<StoreUrl, String>) -> Self {
        let (conversations, sessions) = (Conversations::new(), Sessions::new(store));
        Self { conversations, sessions, now_millis, project: || None }
    }

    /// Sets a function that returns the project of new sessions. It is used if the caller names none.
    #[must_use]
    pub fn in_project(self, project: fn() -> Option<String>) -> Self {
        Self { project, ..self }
    }

    /// Answers one line. Writes whole lines, or nothing for a notification.
    pub fn answer(&mut self, line: &str, out: &mut impl Write) -> io::Result<()> {
        let mut answer = String::new();
        match json::parse(line) {
            Ok(raw) if Kind::from(raw) == Kind::Array => self.answer_batch(raw, &mut answer),
            Ok(raw) => self.answer_one(raw, &mut answer),
            Err(syntax) => write_error(&mut answer, None, &RpcError::parse(&syntax)),
        }
        self.send(&answer, out)
    }

    /// Answers a line that could not be read.
    pub fn refuse(&mut self, error: &LineError, out: &mut impl Write) -> io::Result<()> {
        let mut answer = String::new();
        write_error(&mut answer, None, &RpcError::line(error));
        self.send(&answer, out)
    }

    fn send(&mut self, answer: &str, out: &mut impl Write) -> io::Result<()> {
        let notifications = self.conversations.take_notifications();
        let lines = notifications.iter().map(String::as_str);
        for line in lines.chain((!answer.is_empty()).then_some(answer)) {
            out.write_all(line.as_bytes())?;
            out.write_all(b"\n")?;
        }
        Ok(())
    }

    fn answer_batch(&mut self, raw: &RawValue, out: &mut String) {
        let requests = json::elements(raw).unwrap_or_default();
        if requests.is_empty() || requests.len() > BATCH_REQUESTS_MAX {
            return write_error(out, None, &RpcError::batch(requests.len()));
        }
        for request in requests {
            // If the request has no response, the comma is removed again, or the bracket before the first response.
            let before = out.len();
            out.push(if before == 0 { '[' } else { ',' });
            if before < BATCH_ANSWER_BYTES_MAX {
                self.answer_one(request, out);
            } else {
                refuse_rest(request, out);
            }
            if out.len() == before + 1 {
                out.truncate(before);
            }
        }
        if !out.is_empty() {
            out.push(']');
        }
    }

    fn answer_one(&mut self, raw: &RawValue, out: &mut String) {
        let request = match Request::read(raw) {
            Ok(request) => request,
            Err((id, error)) => return write_error(out, id, &error),
        };
        let result = match Method::named(&request.method) {
            Some(method) => request.params.and_then(|params| self.call(method, params)),
            None => Err(RpcError::unknown_method(&request.method)),
        };
        // A notification gets no response, even if it failed.
        match (request.id, result) {
            (None, _) => {}
            (Some(id), Ok(result)) => write_answer(out, id.get(), "result", &result),
            (Some(id), Err(error)) => write_error(out, Some(id), &error),
        }
    }
}

/// Writes the response to a request that is not performed because the batch has become too large.
fn refuse_rest(raw: &RawValue, out: &mut String) {
    match Request::read(raw) {
        Ok(Request { id: None, .. }) => {}
        Ok(request) => write_error(out, request.id, &RpcError::batch_answers()),
        Err((id, error)) => write_error(out, id, &error),
    }
}

struct Request<'a> {
    id: Option<&'a RawValue>,
    method: String,
    /// The parameters, or the error that the caller gets if it expects a response.
    params: Result<Object<'a>, RpcError>,
}

impl<'a> Request<'a> {
    /// Reads a request. An invalid one may still have an id for the response.
    fn read(raw: &'a RawValue) -> Result<Self, (Option<&'a RawValue>, RpcError)> {
        let invalid = |id, reason: &str| (id, RpcError::invalid_request(reason));
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

fn write_error(out: &mut String, id: Option<&RawValue>, error: &RpcError) {
    write_answer(out, id.map_or("null", RawValue::get), "error", &to_json(error));
}

fn write_answer(out: &mut String, id: &str, name: &str, value: &str) {
    let pieces = [r#"{"jsonrpc":"2.0","id":"#, id, ",\"", name, "\":", value, "}"];
    out.extend(pieces);
}

fn write_notification(method: &str, params: &impl Serialize) -> String {
    format!(r#"{{"jsonrpc":"2.0","method":"{method}","params":{}}}"#, to_json(params))
}
