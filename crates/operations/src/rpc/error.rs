//! Errors of rpc: the codes of the standard, the texts of the contract, and in `data` the kind of error and its
//! numbers.

use serde::ser::SerializeMap;
use serde::{Serialize, Serializer};
use tertulia_context::{AddMessageError, SnapshotError};
use tertulia_session::EntryId;
use tertulia_session::json::{FieldError, Problem, SyntaxError};
use tertulia_store::StoreError;

use super::methods::Method;
use super::{BATCH_ANSWER_BYTES_MAX, BATCH_REQUESTS_MAX};
use crate::lines::LineError;
use crate::model_context::BuildError;

#[derive(Debug, Serialize)]
pub(super) struct RpcError {
    code: i32,
    message: String,
    data: Data,
}

#[derive(Debug)]
struct Data {
    code: &'static str,
    more: More,
}

#[derive(Debug)]
enum More {
    Nothing,
    Detail(String),
    Context(Box<BuildError>),
    Store(Box<StoreError>),
}

const PARSE_ERROR: i32 = -32700;
const INVALID_REQUEST: i32 = -32600;
const METHOD_NOT_FOUND: i32 = -32601;
const INVALID_PARAMS: i32 = -32602;
const SERVER_ERROR: i32 = -32000;

impl RpcError {
    fn new(code: i32, kind: &'static str, message: impl Into<String>) -> Self {
        let data = Data { code: kind, more: More::Nothing };
        Self { code, message: message.into(), data }
    }

    fn with(mut self, more: More) -> Self {
        self.data.more = more;
        self
    }

    fn detail(self, detail: impl Into<String>) -> Self {
        self.with(More::Detail(detail.into()))
    }

    pub(super) fn parse(syntax: &SyntaxError) -> Self {
        Self::new(PARSE_ERROR, "ParseError", "Parse error").detail(syntax.to_string())
    }

    pub(super) fn line(error: &LineError) -> Self {
        let kind = match error {
            LineError::TooLong { .. } => "LineTooLong",
            LineError::NotUtf8 { .. } => "NotUtf8",
        };
        Self::new(PARSE_ERROR, kind, "Parse error").detail(error.to_string())
    }

    pub(super) fn invalid_request(reason: &str) -> Self {
        Self::new(INVALID_REQUEST, "InvalidRequest", "Invalid Request").detail(reason)
    }

    pub(super) fn batch(requests: usize) -> Self {
        if requests == 0 {
            return Self::invalid_request("a batch must hold at least one request");
        }
        Self::invalid_request(&format!(
            "a batch holds at most {BATCH_REQUESTS_MAX} requests, this one {requests}; split it"
        ))
    }

    pub(super) fn batch_answers() -> Self {
        let message = format!(
            "not executed: the answers of this batch are over {BATCH_ANSWER_BYTES_MAX} bytes; send \
             the request again in another batch"
        );
        Self::new(SERVER_ERROR, "BatchTooLarge", message)
    }

    pub(super) fn unknown_method(name: &str) -> Self {
        let hint = match Method::nearest(name) {
            Some(nearest) => format!("did you mean {}?", nearest.name),
            None => "docs/rpc.md lists the methods".to_owned(),
        };
        Self::new(METHOD_NOT_FOUND, "MethodNotFound", "Method not found")
            .detail(format!("no method {:?}; {hint}", name.chars().take(80).collect::<String>()))
    }

    pub(super) fn invalid_params(message: impl Into<String>) -> Self {
        Self::new(INVALID_PARAMS, "InvalidParams", message)
    }

    pub(super) fn unknown_conversation(name: &str) -> Self {
        let name: String = name.chars().take(80).collect();
        let message = format!("no conversation {name:?}; call createConversation first");
        Self::new(SERVER_ERROR, "ConversationNotFound", message)
    }
}

impl From<FieldError> for RpcError {
    fn from(error: FieldError) -> Self {
        let kind = match error.problem {
            Problem::NotWhole { .. } | Problem::TooSmall { .. } => "RangeError",
            Problem::WrongKind { .. } => "TypeError",
            _ => "InvalidParams",
        };
        Self::new(INVALID_PARAMS, kind, error.to_string())
    }
}

impl From<AddMessageError> for RpcError {
    fn from(error: AddMessageError) -> Self {
        let (code, kind) = match &error {
            AddMessageError::Message(_) => (INVALID_PARAMS, "TypeError"),
            AddMessageError::IdsUsedUp => (SERVER_ERROR, "MessageIdsUsedUp"),
            _ => (SERVER_ERROR, "ServerError"),
        };
        Self::new(code, kind, error.to_string())
    }
}

impl From<SnapshotError> for RpcError {
    fn from(error: SnapshotError) -> Self {
        Self::new(SERVER_ERROR, "InvalidSnapshot", error.to_string())
            .detail(error.cause.to_string())
    }
}

impl From<BuildError> for RpcError {
    fn from(error: BuildError) -> Self {
        let rpc_error = Self::new(SERVER_ERROR, error.code(), error.to_string());
        rpc_error.with(More::Context(Box::new(error)))
    }
}

impl From<StoreError> for RpcError {
    fn from(error: StoreError) -> Self {
        let code = match &error {
            StoreError::InvalidSessionId(_) => INVALID_PARAMS,
            _ => SERVER_ERROR,
        };
        let rpc_error = Self::new(code, error.code(), error.to_string());
        rpc_error.with(More::Store(Box::new(error)))
    }
}

impl Serialize for Data {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut map = serializer.serialize_map(None)?;
        map.serialize_entry("code", self.code)?;
        match &self.more {
            More::Nothing => {}
            More::Detail(detail) => map.serialize_entry("detail", detail)?,
            More::Context(error) => error.write_data(&mut map)?,
            More::Store(error) => write_store_data(error, &mut map)?,
        }
        map.end()
    }
}

fn write_store_data<M: SerializeMap>(error: &StoreError, map: &mut M) -> Result<(), M::Error> {
    map.serialize_entry("category", "session")?;
    map.serialize_entry("outcome", error.outcome().as_str())?;
    map.serialize_entry("retryable", &error.is_retryable())?;
    if let StoreError::SessionConcurrentWrite { expected, actual, .. } = error {
        map.serialize_entry("expectedTailEntryId", expected.as_str())?;
        map.serialize_entry("actualTailEntryId", &actual.as_ref().map(EntryId::as_str))?;
    }
    Ok(())
}
