//! `codex app-server`: JSON-RPC without a version field, one message per line. [`super::AgentClient`] calls it. One
//! process has one thread of ours, and gets one turn after the other.
//!
//! Each of our requests is sent after the previous one was answered: `initialize`, `thread/start` or `thread/resume`,
//! `thread/inject_items` for the text before the message, and `turn/start` for the message. A later turn needs only the
//! last two. The usage that Codex reports is that of the whole thread.

mod approval;
mod item;
mod request;

use super::client::{AgentAsk, AgentPrompt};
use super::error_class::{ErrorClass, TurnError};
use super::event::{Scope, Unparsed, Usage, ViolationKind, fresh_input};
use super::fields::{Field, Refusal, Value, read_fields, read_shape};
use super::turn::Turn;
use super::{LineKind, Reading};
use request::message;

pub use request::CodexSession;

#[derive(Debug)]
pub(super) struct AppServer {
    pub(super) asks: Vec<AgentAsk>,
    /// Our request that waits for a response. The number is its id.
    waiting: Option<(u64, Phase)>,
    requests: u64,
    /// The parameters that open the thread, until they are sent.
    open: String,
    resumed: Option<Box<str>>,
    context: String,
    message: String,
    /// Whether an item or the message was sent.
    is_sent: bool,
    pub(super) turn_id: Option<Box<str>>,
    /// The file of the thread.
    pub(super) path: Option<Box<str>>,
    model: Option<Box<str>>,
    before: Usage,
    total: Option<Usage>,
    /// The reason for a failure, until the end of the turn.
    error: Option<TurnError>,
    /// Whether the thinking of the current item arrived in pieces. The whole item then repeats it.
    is_thinking_reported: bool,
    pub(super) is_compacted: bool,
    /// Whether a line was too long to be read, so that the text may have a gap.
    pub(super) has_gap: bool,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Phase {
    Initialize,
    Open,
    Inject,
    Turn,
}

impl AppServer {
    /// Begins a turn, and returns the lines to send now.
    pub(super) fn begin(
        &mut self,
        prompt: &AgentPrompt<'_>,
        is_first: bool,
        turn: &mut Turn,
    ) -> Vec<String> {
        (self.context, self.message) = (prompt.context.to_owned(), prompt.message.to_owned());
        (self.is_sent, self.turn_id, self.error) = (false, None, None);
        (self.is_thinking_reported, self.is_compacted, self.has_gap) = (false, false, false);
        self.before = self.total.take().unwrap_or(self.before);
        if is_first {
            self.request(Phase::Initialize, "initialize", request::HELLO);
        } else {
            let thread = turn.output.native_session_id.clone();
            // The turn before has ended, so this one may start.
            let _ = turn.start(thread, self.model.clone());
            self.send_prompt(turn);
        }
        let lines = self.asks.drain(..).filter_map(|ask| match ask {
            AgentAsk::Send(line) => Some(line),
            AgentAsk::Permit(_) => None,
        });
        lines.collect()
    }

    pub(super) fn is_prompted(&self) -> bool {
        self.is_sent
    }

    /// Returns the usage of the thread so far.
    pub(super) fn total(&self) -> Option<Usage> {
        Some(self.total.unwrap_or(self.before))
    }

    pub(super) fn read(&mut self, line: &str, turn: &mut Turn) -> Reading {
        if let Some((thread, turn_id, delta)) = text_delta(line) {
            return self.read_delta(thread, turn_id, delta, turn);
        }
        const NAMES: [&str; 5] = ["id", "method", "params", "result", "error"];
        let [id, method, params, result, error] = read_fields(line, &NAMES)?;
        match (method.plain(), id.source()) {
            (Some(method), None) => self.read_notification(method, params, turn),
            (Some(method), Some(id)) => self.read_request(id, method, params, turn),
            (None, Some(_)) => self.read_reply(id, result, error, turn),
            (None, None) => Err(Unparsed::WrongShape.into()),
        }
    }

    fn request(&mut self, phase: Phase, method: &str, params: &str) {
        self.requests += 1;
        self.waiting = Some((self.requests, phase));
        self.asks.push(AgentAsk::Send(message(Some(self.requests), method, params)));
    }

    fn read_reply(
        &mut self,
        id: Value<'_>,
        result: Value<'_>,
        error: Value<'_>,
        turn: &mut Turn,
    ) -> Reading {
        let id = id.count().ok_or(Unparsed::WrongShape)?;
        let phase = match self.waiting {
            Some((waiting, phase)) if waiting == id => phase,
            // The answer to the request to stop.
            _ if id == request::INTERRUPT => return Ok(LineKind::Ignored),
            _ => return Err(ViolationKind::BeforeStart.into()),
        };
        turn.admit(None)?;
        self.waiting = None;
        if error.is_some() {
            let message = error.message().unwrap_or_default();
            let class = (phase != Phase::Turn).then_some(ErrorClass::Setup);
            turn.fail(TurnError::classed(class, message));
            return Ok(LineKind::Known);
        }
        match phase {
            Phase::Initialize => {
                self.asks.push(AgentAsk::Send(message(None, "initialized", "{}")));
                let method = if self.resumed.is_some() { "thread/resume" } else { "thread/start" };
                let params = std::mem::take(&mut self.open);
                self.request(Phase::Open, method, &params);
            }
            Phase::Open => self.read_thread(result, turn)?,
            Phase::Inject => self.send_message(turn),
            Phase::Turn => self.turn_id = result.at(&["turn", "id"]).word(),
        }
        Ok(LineKind::Known)
    }

    fn read_thread(&mut self, result: Value<'_>, turn: &mut Turn) -> Result<(), Refusal> {
        let [thread, model] = result.fields(&["thread", "model"])?;
        let [id, path] = thread.fields(&["id", "path"])?;
        let id = id.need_word()?;
        self.path = path.word();
        self.model = model.word().or_else(|| thread.at(&["model"]).word());
        if self.resumed.as_ref().is_some_and(|resumed| *resumed != id) {
            let message = format!("Codex opened the thread {id} instead of the requested one");
            turn.fail(TurnError::new(ErrorClass::Setup, message));
            return Ok(());
        }
        turn.start(Some(id), self.model.clone())?;
        self.send_prompt(turn);
        Ok(())
    }

    fn send_prompt(&mut self, turn: &Turn) {
        if self.context.trim().is_empty() {
            return self.send_message(turn);
        }
        let thread = turn.output.native_session_id.as_deref().unwrap_or_default();
        let params = request::inject(thread, &std::mem::take(&mut self.context));
        self.is_sent = true;
        self.request(Phase::Inject, "thread/inject_items", &params);
    }

    fn send_message(&mut self, turn: &Turn) {
        let thread = turn.output.native_session_id.as_deref().unwrap_or_default();
        let params = request::turn(thread, &std::mem::take(&mut self.message));
        self.is_sent = true;
        self.request(Phase::Turn, "turn/start", &params);
    }

    /// Returns whether a notification concerns the current turn. Threads of sub-agents report their own.
    fn is_ours(&self, thread: Value<'_>, turn_id: Value<'_>, turn: &Turn) -> bool {
        let ours = turn.output.native_session_id.as_deref();
        let is_turn = self.turn_id.is_none() || turn_id.plain() == self.turn_id.as_deref();
        self.is_sent && thread.plain() == ours && is_turn
    }

    fn read_delta(
        &self,
        thread: Value<'_>,
        turn_id: Value<'_>,
        delta: Value<'_>,
        turn: &mut Turn,
    ) -> Reading {
        if !self.is_ours(thread, turn_id, turn) {
            return Ok(LineKind::Ignored);
        }
        turn.admit(None)?;
        turn.delta(delta.need_text()?);
        Ok(LineKind::Known)
    }

    fn read_notification(&mut self, method: &str, params: Value<'_>, turn: &mut Turn) -> Reading {
        if !params.is_some() {
            return Ok(LineKind::Ignored);
        }
        let [thread, turn_id] = params.fields(&["threadId", "turnId"])?;
        if method == "thread/tokenUsage/updated" {
            return self.read_usage(thread, turn_id, params, turn);
        }
        let turn_id = turn_id.or(params.at(&["turn", "id"]));
        if !self.is_ours(thread, turn_id, turn) {
            return Ok(LineKind::Ignored);
        }
        match method {
            "turn/started" => {
                // It may arrive before the response to our request.
                self.turn_id = turn_id.word().or_else(|| self.turn_id.take());
            }
            "item/started" | "item/completed" => {
                turn.admit(None)?;
                let [item] = params.fields(&["item"])?;
                return self.read_item(item, method == "item/completed", turn);
            }
            "item/agentMessage/delta" => {
                turn.admit(None)?;
                let [delta] = params.fields(&["delta"])?;
                turn.delta(delta.need_text()?);
            }
            "item/reasoning/summaryTextDelta" | "item/reasoning/textDelta" => {
                turn.admit(None)?;
                let [delta] = params.fields(&["delta"])?;
                self.is_thinking_reported = true;
                turn.thinking(delta.need_text()?);
            }
            "error" => {
                turn.admit(None)?;
                let [error, will_retry] = params.fields(&["error", "willRetry"])?;
                if will_retry.is_true() {
                    turn.withdraw();
                    turn.warn(error.message().unwrap_or_default());
                } else {
                    self.error = Some(error_of(error, turn));
                }
            }
            "thread/compacted" => self.is_compacted = true,
            "turn/completed" => {
                turn.admit(None)?;
                self.end(params, turn)?;
            }
            _ => return Ok(LineKind::Ignored),
        }
        Ok(LineKind::Known)
    }

    /// Reads the usage of the whole thread, and reports that of the turn so far. A thread that is continued reports that of its earlier turns first.
    fn read_usage(
        &mut self,
        thread: Value<'_>,
        turn_id: Value<'_>,
        params: Value<'_>,
        turn: &mut Turn,
    ) -> Reading {
        #[rustfmt::skip]
        const NAMES: [&str; 5] = [
            "inputTokens", "cachedInputTokens", "cacheWriteInputTokens", "outputTokens",
            "reasoningOutputTokens",
        ];
        let Some(ours) = turn.output.native_session_id.as_deref() else {
            return Ok(LineKind::Ignored);
        };
        if thread.plain() != Some(ours) {
            return Ok(LineKind::Ignored);
        }
        let total = params.at(&["tokenUsage", "total"]);
        let [input, cache_read, cache_write, output, thinking] =
            total.fields(&NAMES)?.map(Value::count);
        let input = fresh_input(input, [cache_read, cache_write]);
        let scope = Scope::Session;
        let total = Usage { input, cache_read, cache_write, output, thinking, scope };
        if self.turn_id.is_some() && turn_id.plain() == self.turn_id.as_deref() {
            self.total = Some(total);
            if turn.end.is_none() {
                turn.usage(since(total, self.before));
            }
        } else {
            self.before = total;
        }
        Ok(LineKind::Known)
    }

    fn end(&mut self, params: Value<'_>, turn: &mut Turn) -> Result<(), Refusal> {
        let [ended] = params.fields(&["turn"])?;
        let [status, error] = ended.fields(&["status", "error"])?;
        match status.need_plain()? {
            "completed" if self.has_gap => {
                let message = "a line of the agent was too long to be read";
                turn.fail(TurnError::new(ErrorClass::Limit, message));
            }
            "completed" => turn.succeed_with_last_text(),
            "interrupted" => {
                turn.withdraw();
                let message = "the agent says that the turn was interrupted";
                turn.fail(TurnError::new(ErrorClass::Crash, message));
            }
            _ => {
                turn.withdraw();
                let said = error.is_some().then(|| error_of(error, turn));
                let error = said.or_else(|| self.error.take());
                turn.fail(error.unwrap_or_else(|| {
                    TurnError::new(ErrorClass::Crash, "the turn failed without a message")
                }));
            }
        }
        Ok(())
    }
}

/// Reads a piece of the answer in one pass, because most lines contain one.
fn text_delta(line: &str) -> Option<(Value<'_>, Value<'_>, Value<'_>)> {
    const PARAMS: [Field<'_>; 3] =
        [Field::Value("threadId", 2), Field::Value("turnId", 3), Field::Value("delta", 4)];
    const SHAPE: [Field<'_>; 3] =
        [Field::Value("id", 0), Field::Value("method", 1), Field::Object("params", &PARAMS)];
    let [id, method, thread, turn_id, delta] = read_shape::<5>(line, &SHAPE)?;
    (!id.is_some() && method.is("item/agentMessage/delta")).then_some((thread, turn_id, delta))
}

/// Returns the usage of a turn. A total that is smaller than before began again.
fn since(total: Usage, before: Usage) -> Usage {
    let part = |total: Option<u64>, before: Option<u64>| {
        total.map(|total| total.checked_sub(before.unwrap_or(0)).unwrap_or(total))
    };
    Usage {
        input: part(total.input, before.input),
        cache_read: part(total.cache_read, before.cache_read),
        cache_write: part(total.cache_write, before.cache_write),
        output: part(total.output, before.output),
        thinking: part(total.thinking, before.thinking),
        scope: Scope::Turn,
    }
}

/// Returns the error with the class that Codex names, or that its message indicates.
fn error_of(error: Value<'_>, turn: &mut Turn) -> TurnError {
    let info = error.at(&["codexErrorInfo"]);
    let status = [
        "httpConnectionFailed",
        "responseStreamConnectionFailed",
        "responseStreamDisconnected",
        "responseTooManyFailedAttempts",
    ]
    .iter()
    .find_map(|name| info.at(&[name, "httpStatusCode"]).count());
    turn.status = status;
    let class = status.and_then(ErrorClass::from_status).or(match info.plain() {
        Some("contextWindowExceeded") => Some(ErrorClass::Overflow),
        Some("sessionBudgetExceeded") => Some(ErrorClass::Limit),
        Some("usageLimitExceeded" | "rateLimitExceeded") => Some(ErrorClass::Quota),
        Some("serverOverloaded" | "internalServerError" | "flexUnavailable") => {
            Some(ErrorClass::Network)
        }
        Some("modelNotFound") => Some(ErrorClass::Setup),
        Some("unauthorized") => Some(ErrorClass::Auth),
        Some("cyberPolicy" | "misalignmentPolicyViolation") => Some(ErrorClass::Refused),
        _ => None,
    });
    TurnError::classed(class, error.message().unwrap_or_default())
}
