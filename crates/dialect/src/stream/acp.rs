//! The Agent Client Protocol, as far as one turn needs it: JSON-RPC, one message per line. [`super::StreamParser`]
//! calls it line by line. It reads the agent's messages and collects in `asks` what has to be sent back.
//! [`super::AgentClient`] passes that to the `agent` crate, which owns the pipes.
//!
//! Each of our requests is sent after the previous one was answered: `initialize`, `session/new` or `session/load`, the
//! model if one is requested, `session/prompt`. Output before `session/prompt` is not part of the answer. Later turns of
//! the same process need only another `session/prompt`.
//!
//! `session/load` continues the session of a process that has ended. The agent replays the session before it responds,
//! and the prompt is sent only if the replay is what was said in the session. `session/resume` is not used, because it
//! replays nothing that could be compared.

mod chunk;
mod figures;
mod history;
mod permission;
mod tool;

use std::cmp::Ordering;

pub use history::NotLoaded;
pub(super) use permission::chosen;

use super::client::{
    AcpSession, AgentAsk, AgentPermission, AgentPrompt, PermissionChoice, PermissionRequest,
    refused, request, text,
};
use super::error_class::{ErrorClass, TurnError};
use super::event::{Cost, Unparsed, ViolationKind};
use super::fields::{Refusal, Value, read_fields};
use super::turn::Turn;
use super::{LineKind, Reading};
use chunk::Chunk;
pub(super) use figures::turn_cost;
use figures::{cost_of, error_of, model_option, usage_of, usage_of_meta};
use history::{History, Replay};
use tool::{Call, Tools};

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
    /// What was said, if another process can load the session and replays it before it responds.
    history: History,
    /// The session to load, until the prompt is sent.
    replay: Option<Replay>,
    pub(super) not_loaded: Option<NotLoaded>,
}

/// Our request that is waiting for a response. The number is its id.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
enum Phase {
    #[default]
    Initialize = 1,
    OpenSession = 2,
    SetModel = 3,
    Prompt = 4,
}

const HELLO: &str = r#"{"protocolVersion":1,"clientCapabilities":{"fs":{"readTextFile":false,"writeTextFile":false},"terminal":false},"clientInfo":{"name":"tertulia","version":"0"}}"#;

impl Acp {
    /// Creates a reader whose agent gets our replies.
    pub(super) fn live(session: &AcpSession<'_>) -> Self {
        let (cwd, model) = (session.cwd.to_owned(), session.model.map(str::to_owned));
        let loaded = session.loaded;
        let cost_before = loaded.and_then(|loaded| loaded.cost_usd).unwrap_or(0.0);
        let replay = loaded.map(|loaded| Replay::new(loaded.session, loaded.history));
        Self { is_live: true, cwd, model, cost_before, replay, ..Self::default() }
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
        if let Some(chunk) = Chunk::parse(line).filter(|_| self.replay.is_none()) {
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
            Phase::OpenSession => self.read_session(result, turn)?,
            Phase::SetModel => self.send_prompt(turn),
            Phase::Prompt => self.end(result, turn)?,
        }
        Ok(LineKind::Known)
    }

    fn read_hello(&mut self, result: Value<'_>, turn: &mut Turn) -> Result<(), Refusal> {
        let [version, info, abilities] =
            result.fields(&["protocolVersion", "agentInfo", "agentCapabilities"])?;
        if version.count() != Some(1) {
            let version = version.source().unwrap_or("none");
            let message = format!("the agent speaks version {version} of the protocol, not 1");
            turn.fail(TurnError::new(ErrorClass::Setup, message));
            return Ok(());
        }
        let name = info.at(&["name"]).text_or_empty();
        self.may_repeat = name.contains("gemini");
        // Gemini replays a session only after its response, when the prompt may already be running.
        self.history.is_on = abilities.at(&["loadSession"]).is_true() && !self.may_repeat;
        let place = format!(r#""cwd":{},"mcpServers":[]"#, text(&self.cwd));
        match &self.replay {
            None => self.request(Phase::OpenSession, "session/new", &format!("{{{place}}}")),
            Some(_) if !self.history.is_on => self.refuse_session(NotLoaded::NotOffered, turn),
            Some(replay) => {
                let params = format!(r#"{{"sessionId":{},{place}}}"#, text(&replay.session));
                self.request(Phase::OpenSession, "session/load", &params);
            }
        }
        Ok(())
    }

    /// Ends the turn before anything was sent, because the session is not the one that was left.
    fn refuse_session(&mut self, reason: NotLoaded, turn: &mut Turn) {
        turn.fail(TurnError::new(ErrorClass::Setup, "the session was not loaded as it was left"));
        self.not_loaded = Some(reason);
    }

    /// Compares the replay with what was said. Returns whether the session can be continued.
    fn is_as_left(&mut self, turn: &mut Turn) -> bool {
        let Some(replay) = &mut self.replay else { return true };
        if self.has_gap {
            self.history.skip();
        }
        let judged = replay.judge(&mut self.history);
        judged.map_err(|reason| self.refuse_session(reason, turn)).is_ok()
    }

    fn read_session(&mut self, result: Value<'_>, turn: &mut Turn) -> Result<(), Refusal> {
        if !self.is_as_left(turn) {
            return Ok(());
        }
        let [session, models, options] =
            ["sessionId", "models", "configOptions"].map(|name| result.at(&[name]));
        let loaded = self.replay.as_ref().map(|replay| replay.session.clone());
        let Some(session) = loaded.or_else(|| session.word()) else {
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

    fn send_prompt(&mut self, turn: &mut Turn) {
        if !self.is_as_left(turn) {
            return;
        }
        self.replay = None;
        let session = text(turn.output.native_session_id.as_deref().unwrap_or_default());
        let prompt = std::mem::take(&mut self.prompt);
        self.history.person(&prompt);
        let prompt = text(&prompt);
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
        if self.replay.is_some() && (is_answer || kind == "user_message_chunk") {
            return self.read_replay(session, update, kind, turn);
        }
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
            "tool_call" | "tool_call_update" => {
                let call = Call::parse(update)?;
                self.history.call(&call);
                self.tools.read(call, turn);
            }
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

    /// Reads an update of a session that is being loaded. It is not output of the turn.
    fn read_replay(
        &mut self,
        session: Value<'_>,
        update: Value<'_>,
        kind: &str,
        turn: &mut Turn,
    ) -> Reading {
        turn.admit(session.text().as_deref())?;
        let Self { replay: Some(replay), history, .. } = self else { return Ok(LineKind::Ignored) };
        if matches!(kind, "tool_call" | "tool_call_update") {
            history.call(&Call::parse(update)?);
            return Ok(LineKind::Known);
        }
        let chunk = Chunk::from_update(update, kind, session)?;
        match chunk.words()? {
            _ if chunk.is_thought => {}
            None => history.skip(),
            Some(words) if kind == "user_message_chunk" => replay.person(&words, history),
            Some(words) => replay.agent(&words, history),
        }
        Ok(LineKind::Echo)
    }

    /// Returns the hash of what was said in the session, if another process can load it.
    pub(super) fn history(&self) -> Option<String> {
        self.history.hash()
    }

    /// Returns the cost of the session, if the agent has reported it.
    pub(super) fn cost_total(&self) -> Option<f64> {
        Some(self.cost_before).filter(|cost| *cost > 0.0)
    }

    /// Reads a chunk of a message or of a thought. The first chunk of a new message begins a new text.
    fn read_chunk(&mut self, chunk: &Chunk<'_>, turn: &mut Turn) -> Reading {
        if self.is_before_prompt() {
            // The first session id is valid, and the agent may not send an id at this point.
            return Err(ViolationKind::BeforeStart.into());
        }
        turn.admit(chunk.session.text().as_deref())?;
        let words = chunk.words()?;
        if chunk.is_thought {
            turn.thinking(words.unwrap_or_default());
            return Ok(LineKind::Known);
        }
        let Some(piece) = words else {
            self.history.skip();
            return Ok(LineKind::Known);
        };
        self.history.agent(&piece);
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
        self.history.end_turn();
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
