//! The Agent Client Protocol, as far as one turn needs it: JSON-RPC, one message per line. [`super::StreamParser`]
//! calls it line by line. It reads the agent's messages and collects in `asks` what has to be sent back.
//! [`super::AgentClient`] passes that to the `agent` crate, which owns the pipes.
//!
//! Each of our requests is sent after the previous one was answered: `initialize`, `session/new`, the model if one is
//! requested, `session/prompt`. Output before `session/prompt` is not part of the answer. Later turns of the same
//! process need only another `session/prompt`.

mod permission;
mod tool;

use std::cmp::Ordering;
use std::sync::LazyLock;

use memchr::memmem::Finder;

pub(super) use permission::chosen;

use super::client::{
    AcpSession, AgentAsk, AgentPermission, AgentPrompt, PermissionChoice, PermissionRequest,
    refused, request, text,
};
use super::error_class::{ErrorClass, TurnError};
use super::event::{Cost, Scope, Unparsed, Usage, ViolationKind, fresh_input};
use super::fields::{Field, Refusal, Value, read_fields, read_shape};
use super::turn::Turn;
use super::{LineKind, Reading};
use tool::Tools;

#[derive(Debug, Default)]
pub(super) struct Acp {
    phase: Phase,
    /// The number of turns before this one. The ids of our requests depend on it.
    turns: u64,
    /// Whether the caller sends replies to the agent. A recorded stream needs none.
    is_live: bool,
    pub(super) asks: Vec<AgentAsk>,
    cwd: String,
    prompt: String,
    /// The requested model, until it is set.
    model: Option<String>,
    used_model: Option<Box<str>>,
    /// The cost of the session up to the end of the turn before.
    cost_before: f64,
    /// Whether the agent may repeat text. Gemini does so after a retry, without marking it.
    may_repeat: bool,
    /// Whether Codex has reported a system error. It then puts the error text into the answer.
    is_system_error: bool,
    /// Whether a line was too long to be read, so that the text may have a gap.
    pub(super) has_gap: bool,
    message_id: Option<Box<str>>,
    tools: Tools,
    /// The last reported cost of the session.
    cost: Option<Cost>,
}

/// Our request that is waiting for a response. The number is its id.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
enum Phase {
    #[default]
    Initialize = 1,
    NewSession = 2,
    SetModel = 3,
    Prompt = 4,
}

const HELLO: &str = r#"{"protocolVersion":1,"clientCapabilities":{"fs":{"readTextFile":false,"writeTextFile":false},"terminal":false},"clientInfo":{"name":"tertulia","version":"0"}}"#;

impl Acp {
    /// Creates a reader whose agent gets our replies.
    pub(super) fn live(session: &AcpSession<'_>) -> Self {
        let (cwd, model) = (session.cwd.to_owned(), session.model.map(str::to_owned));
        Self { is_live: true, cwd, model, ..Self::default() }
    }

    /// Begins a turn. The first one begins with the first line of the protocol; we offer no capabilities, such as
    /// files or a terminal. A later one begins with its prompt.
    pub(super) fn begin(
        &mut self,
        prompt: &AgentPrompt<'_>,
        is_first: bool,
        turn: &mut Turn,
    ) -> Vec<String> {
        self.prompt = [prompt.context, prompt.message].concat();
        if is_first {
            return vec![request(Phase::Initialize as u64, "initialize", HELLO)];
        }
        self.turns += 1;
        (self.has_gap, self.is_system_error, self.message_id) = (false, false, None);
        (self.tools, self.cost) = (Tools::default(), None);
        let session = turn.output.native_session_id.clone();
        // The turn before has ended, so this one may start.
        let _ = turn.start(session, self.used_model.clone());
        self.send_prompt(turn);
        let lines = self.asks.drain(..).filter_map(|ask| match ask {
            AgentAsk::Send(line) => Some(line),
            AgentAsk::Permit(_) => None,
        });
        lines.collect()
    }

    pub(super) fn read(&mut self, line: &str, turn: &mut Turn) -> Reading {
        if let Some(chunk) = Chunk::parse(line) {
            return self.read_chunk(&chunk, turn);
        }
        const NAMES: [&str; 5] = ["id", "method", "params", "result", "error"];
        let [id, method, params, result, error] = read_fields(line, &NAMES)?;
        match (method.text().as_deref(), id.source()) {
            (Some("session/update"), None) => self.read_update(params, turn),
            (Some(_), None) => Ok(LineKind::Ignored),
            (Some("session/request_permission"), Some(id)) => {
                self.read_permission(id, params, turn)
            }
            (Some(_), Some(id)) => {
                let line = refused(id, -32601, "this client does not offer it");
                self.ask(AgentAsk::Send(line));
                Ok(LineKind::Ignored)
            }
            (None, Some(_)) => self.read_reply(id, result, error, turn),
            // The agent could not read one of our lines.
            (None, None) if error.is_some() => {
                turn.warn(error.message().unwrap_or_default());
                Ok(LineKind::Known)
            }
            (None, None) => Err(Unparsed::WrongShape.into()),
        }
    }

    /// Returns whether the prompt has not been sent yet.
    pub(super) fn is_before_prompt(&self) -> bool {
        self.phase < Phase::Prompt
    }

    fn ask(&mut self, ask: AgentAsk) {
        if self.is_live {
            self.asks.push(ask);
        }
    }

    fn request(&mut self, phase: Phase, method: &str, params: &str) {
        self.phase = phase;
        self.ask(AgentAsk::Send(request(self.number(phase), method, params)));
    }

    /// Returns the id of our request of this phase in this turn.
    fn number(&self, phase: Phase) -> u64 {
        phase as u64 + self.turns * Phase::Prompt as u64
    }

    fn read_reply(
        &mut self,
        id: Value<'_>,
        result: Value<'_>,
        error: Value<'_>,
        turn: &mut Turn,
    ) -> Reading {
        turn.admit(None)?;
        let id = id.count().ok_or(Unparsed::WrongShape)?;
        match id.cmp(&self.number(self.phase)) {
            Ordering::Less => return Err(ViolationKind::SecondStart.into()),
            Ordering::Greater => return Err(ViolationKind::BeforeStart.into()),
            Ordering::Equal => {}
        }
        match self.phase {
            _ if error.is_some() => self.end_badly(error, turn),
            Phase::Initialize => self.read_hello(result, turn)?,
            Phase::NewSession => self.read_session(result, turn)?,
            Phase::SetModel => self.send_prompt(turn),
            Phase::Prompt => self.end(result, turn)?,
        }
        Ok(LineKind::Known)
    }

    fn read_hello(&mut self, result: Value<'_>, turn: &mut Turn) -> Result<(), Refusal> {
        let [version, info] = result.fields(&["protocolVersion", "agentInfo"])?;
        if version.count() != Some(1) {
            let version = version.source().unwrap_or("none");
            let message = format!("the agent speaks version {version} of the protocol, not 1");
            turn.fail(TurnError::new(ErrorClass::Setup, message));
            return Ok(());
        }
        let name = info.at(&["name"]).text_or_empty();
        self.may_repeat = name.contains("gemini");
        let params = format!(r#"{{"cwd":{},"mcpServers":[]}}"#, text(&self.cwd));
        self.request(Phase::NewSession, "session/new", &params);
        Ok(())
    }

    fn read_session(&mut self, result: Value<'_>, turn: &mut Turn) -> Result<(), Refusal> {
        let [session, models, options] =
            result.fields(&["sessionId", "models", "configOptions"])?;
        let Some(session) = session.word() else {
            let message = "the agent opened a session without an ID";
            turn.fail(TurnError::new(ErrorClass::Setup, message));
            return Ok(());
        };
        let current = models.at(&["currentModelId"]).word();
        let requested = self.model.take();
        let model = requested.as_deref().map(Into::into).or_else(|| current.clone());
        self.used_model.clone_from(&model);
        turn.start(Some(session.clone()), model)?;
        match requested {
            Some(requested) if current.as_deref() != Some(&*requested) => {
                let [session, requested] = [&*session, &*requested].map(text);
                if models.is_some() {
                    let params = format!(r#"{{"sessionId":{session},"modelId":{requested}}}"#);
                    self.request(Phase::SetModel, "session/set_model", &params);
                } else if let Some(option) = model_option(options) {
                    let value = format!(r#""configId":{},"value":{requested}"#, text(&option));
                    let params = format!(r#"{{"sessionId":{session},{value}}}"#);
                    self.request(Phase::SetModel, "session/set_config_option", &params);
                } else {
                    let message =
                        "the agent does not accept a model from Tertulia; set it in `args`";
                    turn.fail(TurnError::new(ErrorClass::Setup, message));
                }
            }
            _ => self.send_prompt(turn),
        }
        Ok(())
    }

    fn send_prompt(&mut self, turn: &Turn) {
        let session = text(turn.output.native_session_id.as_deref().unwrap_or_default());
        let prompt = text(&std::mem::take(&mut self.prompt));
        let parts = format!(r#"[{{"type":"text","text":{prompt}}}]"#);
        let params = format!(r#"{{"sessionId":{session},"prompt":{parts}}}"#);
        self.request(Phase::Prompt, "session/prompt", &params);
    }

    fn read_update(&mut self, params: Value<'_>, turn: &mut Turn) -> Reading {
        let [session, update] = params.fields(&["sessionId", "update"])?;
        let [kind] = update.fields(&["sessionUpdate"])?;
        let kind = kind.need_plain()?;
        let is_answer = matches!(
            kind,
            "agent_message_chunk" | "agent_thought_chunk" | "tool_call" | "tool_call_update"
        );
        if self.is_before_prompt() {
            // The first session id is valid, and the agent may not send an id at this point.
            return if is_answer {
                Err(ViolationKind::BeforeStart.into())
            } else {
                Ok(LineKind::Ignored)
            };
        }
        if !is_answer && turn.end.is_some() {
            return Ok(LineKind::Ignored);
        }
        turn.admit(session.text().as_deref())?;
        match kind {
            "agent_message_chunk" | "agent_thought_chunk" => {
                return self.read_chunk(&Chunk::from_update(update, kind, session)?, turn);
            }
            "tool_call" | "tool_call_update" => self.tools.read(update, turn)?,
            "user_message_chunk" => return Ok(LineKind::Echo),
            "usage_update" => {
                let [cost] = update.fields(&["cost"])?;
                self.cost = cost_of(cost).or(self.cost);
                if let Some(Cost { usd: total, scope }) = self.cost {
                    turn.cost(Cost { usd: turn_cost(total, self.cost_before), scope });
                }
            }
            "session_info_update" => {
                // Status of Codex's thread.
                let state = update.at(&["_meta", "codex", "threadStatus", "type"]);
                if !state.is_some() {
                    return Ok(LineKind::Ignored);
                }
                self.is_system_error =
                    state.is("systemError") || (self.is_system_error && !state.is("active"));
            }
            _ => return Ok(LineKind::Ignored),
        }
        Ok(LineKind::Known)
    }

    /// Reads a chunk of a message or of a thought. The first chunk of a new message begins a new text.
    fn read_chunk(&mut self, chunk: &Chunk<'_>, turn: &mut Turn) -> Reading {
        if self.is_before_prompt() {
            // The first session id is valid, and the agent may not send an id at this point.
            return Err(ViolationKind::BeforeStart.into());
        }
        turn.admit(chunk.session.text().as_deref())?;
        // Chunks of other types, such as pictures, have no text.
        let piece = match chunk.content_type.is("text") {
            true => chunk.text.need_text()?,
            false => String::new(),
        };
        if chunk.is_thought {
            turn.thinking(piece);
            return Ok(LineKind::Known);
        }
        if piece.is_empty() {
            return Ok(LineKind::Known);
        }
        let message_id = chunk.message_id.word();
        if message_id.is_some() {
            let before = std::mem::replace(&mut self.message_id, message_id);
            if before.is_some() && before != self.message_id {
                turn.seal_text();
            }
        }
        turn.delta(piece);
        Ok(LineKind::Known)
    }

    /// Handles the response to the prompt.
    fn end(&mut self, result: Value<'_>, turn: &mut Turn) -> Result<(), Refusal> {
        let [reason, usage, meta] = result.fields(&["stopReason", "usage", "_meta"])?;
        let reason = reason.need_plain()?;
        self.tools.flush(turn);
        let usage = usage_of(usage).or_else(|| usage_of_meta(meta));
        if reason == "end_turn" && self.is_system_error && usage.is_none() {
            // Codex's adapter puts its error text into the answer and reports success.
            let complaint = turn.open_text().trim().to_owned();
            turn.withdraw();
            turn.fail(TurnError::classed(None, complaint));
            return Ok(());
        }
        turn.end_text();
        if let Some(usage) = usage {
            turn.usage(usage);
        }
        self.report_cost(turn);
        let (class, message) = match reason {
            "end_turn" if self.has_gap => {
                (ErrorClass::Limit, "a line of the agent was too long to be read")
            }
            "end_turn" => {
                // Many agents describe their work before their last tool and then finish without further text.
                turn.succeed_with_last_words(self.may_repeat);
                return Ok(());
            }
            "cancelled" => (ErrorClass::Crash, "the agent says that the turn was cancelled"),
            "max_tokens" => (ErrorClass::Limit, "the answer reached the model's limit of tokens"),
            "max_turn_requests" => {
                (ErrorClass::Limit, "the agent reached its limit of requests to the model")
            }
            "refusal" => (ErrorClass::Refused, "the agent refused to continue"),
            _ => (ErrorClass::Crash, "the turn ended for an unknown reason"),
        };
        turn.fail(TurnError::new(class, format!("{message} ({reason})")));
        Ok(())
    }

    fn end_badly(&mut self, error: Value<'_>, turn: &mut Turn) {
        turn.status = error.at(&["code"]).count();
        let mut error = error_of(error);
        if error.class == ErrorClass::Crash && self.is_before_prompt() {
            error.class = ErrorClass::Setup;
        }
        // Claude's adapter first writes its error text into the answer.
        let said = turn.open_text().trim();
        if !said.is_empty() && error.message.contains(said) {
            turn.withdraw();
        }
        self.report_cost(turn);
        turn.fail(error);
    }

    fn report_cost(&mut self, turn: &mut Turn) {
        if let Some(Cost { usd: total, scope }) = self.cost.take() {
            // Agents report the total of the session.
            let before = std::mem::replace(&mut self.cost_before, total);
            turn.cost(Cost { usd: turn_cost(total, before), scope });
        }
    }
}

/// A chunk of a message or of a thought. Most lines contain one.
struct Chunk<'a> {
    is_thought: bool,
    session: Value<'a>,
    message_id: Value<'a>,
    content_type: Value<'a>,
    text: Value<'a>,
}

/// The end of the names of updates with text chunks.
static CHUNK: LazyLock<Finder<'static>> = LazyLock::new(|| Finder::new(b"_chunk\""));

impl<'a> Chunk<'a> {
    /// Parses a line in one pass if it is a text chunk. Most lines are text chunks, and reading them level by level
    /// would parse them several times.
    fn parse(line: &'a str) -> Option<Self> {
        const CONTENT: [Field<'_>; 2] = [Field::Value("type", 5), Field::Value("text", 6)];
        const UPDATE: [Field<'_>; 3] = [
            Field::Value("sessionUpdate", 3),
            Field::Value("messageId", 4),
            Field::Object("content", &CONTENT),
        ];
        const SHAPE: [Field<'_>; 3] = [
            Field::Value("id", 0),
            Field::Value("method", 1),
            Field::Object(
                "params",
                &[Field::Value("sessionId", 2), Field::Object("update", &UPDATE)],
            ),
        ];
        CHUNK.find(line.as_bytes())?;
        let [id, method, session, kind, message_id, content_type, text] =
            read_shape::<7>(line, &SHAPE)?;
        let is_thought = kind.is("agent_thought_chunk");
        let is_piece = is_thought || kind.is("agent_message_chunk");
        // A line without content is unusual, so the general parser reads it.
        let has_content = content_type.is_some() || text.is_some();
        let fits = has_content && !id.is_some() && method.is("session/update") && is_piece;
        fits.then_some(Self { is_thought, session, message_id, content_type, text })
    }

    /// Parses an update whose content may be unusual.
    fn from_update(update: Value<'a>, kind: &str, session: Value<'a>) -> Result<Self, Refusal> {
        let [content, message_id] = update.fields(&["content", "messageId"])?;
        let [content_type, text] = content.fields(&["type", "text"])?;
        let is_thought = kind == "agent_thought_chunk";
        Ok(Self { is_thought, session, message_id, content_type, text })
    }
}

/// Returns the cost of a turn. An agent that has lost its total begins again.
pub(super) fn turn_cost(total: f64, before: f64) -> f64 {
    if total >= before { total - before } else { total }
}

/// Returns the cost of the session.
fn cost_of(cost: Value<'_>) -> Option<Cost> {
    let [sum, currency] = cost.fields(&["amount", "currency"]).ok()?;
    let usd = sum.amount().filter(|_| currency.is("USD"))?;
    Some(Cost { usd, scope: Scope::Turn })
}

fn model_option(options: Value<'_>) -> Option<String> {
    let mut found = None;
    let _ = options.each(|option| {
        let [id, category] = option.fields(&["id", "category"])?;
        if id.is("model") || category.is("model") {
            found = found.take().or_else(|| id.text());
        }
        Ok(())
    });
    found
}

/// Returns the error. Its class follows from the code, else from the details in `data`, else from the message.
fn error_of(error: Value<'_>) -> TurnError {
    let Ok([code, message, data]) = error.fields(&["code", "message", "data"]) else {
        return TurnError::new(ErrorClass::Crash, "the agent answered with an error");
    };
    let mut message = message.text_or_empty();
    if let Some(details) = data.at(&["details"]).text()
        && !message.contains(&details)
    {
        message = format!("{message}: {details}");
    }
    let by_code = code.count().and_then(ErrorClass::from_status);
    let by_data = || match data.at(&["errorKind"]).text().as_deref() {
        Some("authentication_failed") => Some(ErrorClass::Auth),
        Some("rate_limit") => Some(ErrorClass::Quota),
        Some("server_error" | "overloaded") => Some(ErrorClass::Network),
        // This code of the protocol means that the agent is not signed in.
        _ => (code.source() == Some("-32000")).then_some(ErrorClass::Auth),
    };
    TurnError::classed(by_code.or_else(by_data), message)
}

/// Returns the usage. The session is as old as the turn, so its usage is that of the turn. The total shows whether
/// cached tokens are part of the input.
fn usage_of(usage: Value<'_>) -> Option<Usage> {
    #[rustfmt::skip]
    const NAMES: [&str; 6] = [
        "inputTokens", "outputTokens", "cachedReadTokens", "cachedWriteTokens", "thoughtTokens",
        "totalTokens",
    ];
    let counts = usage.fields(&NAMES).ok()?.map(Value::count);
    let [mut input, output, cache_read, cache_write, thinking, total] = counts;
    if let (Some(read), Some(output), Some(total)) = (input, output, total)
        && read.saturating_add(output) == total
    {
        input = fresh_input(Some(read), [cache_read, cache_write]);
    }
    Some(Usage { input, cache_read, cache_write, output, thinking, scope: Scope::Turn })
}

/// Returns the usage that Gemini reports.
fn usage_of_meta(meta: Value<'_>) -> Option<Usage> {
    let tokens = meta.at(&["quota", "token_count"]);
    let counts = tokens.fields(&["input_tokens", "output_tokens"]).ok()?;
    let [input @ Some(_), output] = counts.map(Value::count) else { return None };
    Some(Usage { input, output, ..Usage::default() })
}
