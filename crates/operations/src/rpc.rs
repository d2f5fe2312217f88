//! JSON-RPC 2.0 over lines: contexts and sessions for programs in any language. Values stay JSON text until a method asks
//! for them, so a line of any depth is read with little stack. docs/rpc.md is the reference.

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

/// The most requests that one batch may hold.
pub const BATCH_REQUESTS_MAX: usize = 10_000;

/// Once the answers of a batch take this many bytes, its other requests are refused.
pub const BATCH_ANSWER_BYTES_MAX: usize = 64 * 1024 * 1024;

/// Answers requests; holds the conversations of its caller.
pub struct RpcServer {
    conversations: Conversations,
    sessions: Sessions,
    now_millis: fn() -> i64,
    project: fn() -> Option<String>,
}

impl RpcServer {
    /// Returns a server with one empty conversation, `main`, and a clock for snapshots. Its sessions are gone with the
    /// process.
    pub fn new(now_millis: fn() -> i64) -> Self {
        Self::with_store(now_millis, Ok(StoreUrl::Memory))
    }

    /// The same with sessions that are kept here, or why no store is known: methods that need none work all the
    /// same. The store is opened when a method needs it.
    pub fn with_store(now_millis: fn() -> i64, store: Result<StoreUrl, String>) -> Self {
        let (conversations, sessions) = (Conversations::new(), Sessions::new(store));
        Self { conversations, sessions, now_millis, project: || None }
    }

    /// The same with a project that new sessions belong to where the caller names none.
    #[must_use]
    pub fn in_project(self, project: fn() -> Option<String>) -> Self {
        Self { project, ..self }
    }

    /// Answers one line. What it writes is whole lines; for a notification, none.
    pub fn answer(&mut self, line: &str, out: &mut impl Write) -> io::Result<()> {
        let mut answer = String::new();
        match json::parse(line) {
            Ok(raw) if Kind::from(raw) == Kind::Array => self.answer_batch(raw, &mut answer),
            Ok(raw) => self.answer_one(raw, &mut answer),
            Err(syntax) => write_error(&mut answer, None, &RpcError::parse(&syntax)),
        }
        self.send(&answer, out)
    }

    /// Answers a line that could not even be read.
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
            // The comma, or the bracket if nothing was answered yet, is taken back for a request that gets no answer.
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
        // A notification is never answered, not even where it failed.
        match (request.id, result) {
            (None, _) => {}
            (Some(id), Ok(result)) => write_answer(out, id.get(), "result", &result),
            (Some(id), Err(error)) => write_error(out, Some(id), &error),
        }
    }
}

/// The answer to a request that comes too late in a large batch: it was not carried out.
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
    /// Wrong parameters are the caller's to hear of only if it wants an answer at all.
    params: Result<Object<'a>, RpcError>,
}

impl<'a> Request<'a> {
    /// Reads a request. One that is none may still have an id to be answered with.
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
