//! JSON-RPC 2.0 over lines: the context engine for programs in any language.
//!
//! One request, or one batch, per line; hooks and logs come as notifications before the answer to the
//! request that caused them. Values stay JSON text until a method asks for them, so a line of any
//! depth is read with little stack. docs/rpc.md is the reference.

mod conversations;
mod error;
mod methods;
mod protocol;

use std::io::{self, Write};

use tertulia_session::json::{self, Kind, RawValue};

use crate::lines::LineError;
use conversations::Conversations;
use error::RpcError;
use methods::Method;
use protocol::{Request, write_error, write_result};

/// The most requests that one batch may hold.
pub const BATCH_REQUESTS_MAX: usize = 10_000;

/// Answers requests; holds the conversations of its caller.
pub struct RpcServer {
    conversations: Conversations,
    now_millis: fn() -> i64,
}

impl RpcServer {
    /// A server with one empty conversation, `main`, and a clock for snapshots.
    pub fn new(now_millis: fn() -> i64) -> Self {
        Self { conversations: Conversations::new(), now_millis }
    }

    /// Answers one line. What it writes is whole lines; for a notification, none.
    pub fn answer(&mut self, line: &str, out: &mut impl Write) -> io::Result<()> {
        let answer = match json::parse(line) {
            Ok(raw) if Kind::of(raw) == Kind::Array => self.answer_batch(raw),
            Ok(raw) => self.answer_one(raw),
            Err(syntax) => Some(write_error(None, &RpcError::parse(&syntax))),
        };
        self.send(answer, out)
    }

    /// Answers a line that could not even be read.
    pub(crate) fn refuse(&mut self, error: &LineError, out: &mut impl Write) -> io::Result<()> {
        let answer = write_error(None, &RpcError::line(error));
        self.send(Some(answer), out)
    }

    fn send(&mut self, answer: Option<String>, out: &mut impl Write) -> io::Result<()> {
        for line in self.conversations.take_notifications().into_iter().chain(answer) {
            out.write_all(line.as_bytes())?;
            out.write_all(b"\n")?;
        }
        Ok(())
    }

    fn answer_batch(&mut self, raw: &RawValue) -> Option<String> {
        let requests = json::elements(raw).unwrap_or_default();
        if requests.is_empty() || requests.len() > BATCH_REQUESTS_MAX {
            return Some(write_error(None, &RpcError::batch(requests.len())));
        }
        let answers: Vec<String> =
            requests.into_iter().filter_map(|request| self.answer_one(request)).collect();
        (!answers.is_empty()).then(|| format!("[{}]", answers.join(",")))
    }

    fn answer_one(&mut self, raw: &RawValue) -> Option<String> {
        let request = match Request::read(raw) {
            Ok(request) => request,
            Err(invalid) => return Some(write_error(invalid.id, &invalid.error)),
        };
        let result = match Method::named(&request.method) {
            Some(method) => self.call(method, request.params),
            None => Err(RpcError::unknown_method(&request.method)),
        };
        // A notification is never answered, not even where it failed.
        let id = request.id?;
        Some(match result {
            Ok(result) => write_result(id, &result),
            Err(error) => write_error(Some(id), &error),
        })
    }
}
