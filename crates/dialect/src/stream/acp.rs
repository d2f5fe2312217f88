//! The Agent Client Protocol, as far as one turn needs it: JSON-RPC, one message a line. Called by
//! [`super::StreamParser`] line by line. It reads what the agent says and notes in `asks` what is to be
//! said back; [`AcpClient`] hands that to the `agent` room, which owns the pipes.
//!
//! Each of our requests is sent when the one before it was answered: `initialize`, `session/new`, the model
//! if one is asked for, `session/prompt`. What the agent says before the last of them is no answer.

mod chunk;
mod client;
mod ending;
mod lines;
mod tool;

use serde_json::value::RawValue;

pub use client::{AcpAsk, AcpChoice, AcpClient, AcpPermission, AcpPrompt};

use super::class::{ErrorClass, TurnError};
use super::event::{Cost, Scope, Unparsed, ViolationKind};
use super::pick::{Refusal, amount, count, each, is, message, pick, pick_line, plain, text, word};
use super::turn::Turn;
use super::{Fate, Reading};
use chunk::Chunk;
use tool::Tools;

/// What has to be remembered from line to line.
#[derive(Debug, Default)]
pub(super) struct Acp {
    phase: Phase,
    /// Somebody answers the agent; a recorded talk needs no answers.
    is_live: bool,
    /// What is to be said to the agent.
    asks: Vec<AcpAsk>,
    cwd: String,
    prompt: String,
    model: Option<String>,
    /// Gemini repeats a text after a retry, without a word.
    may_repeat: bool,
    /// Codex says so, and then puts the complaint into the answer.
    is_system_error: bool,
    /// A line was too long to be read: the text may have a hole.
    has_hole: bool,
    message_id: Option<Box<str>>,
    tools: Tools,
    /// Agents count as they go; the last figure is told.
    cost: Option<Cost>,
}

/// Which of our requests is open. The number is its id.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
enum Phase {
    #[default]
    Initialize = 1,
    NewSession = 2,
    SetModel = 3,
    Prompt = 4,
}

impl Acp {
    pub(super) fn read(&mut self, line: &str, turn: &mut Turn) -> Reading {
        if let Some(chunk) = Chunk::of(line) {
            return self.read_chunk(&chunk, turn);
        }
        const NAMES: [&str; 5] = ["id", "method", "params", "result", "error"];
        let [id, method, params, result, error] = pick_line(line, &NAMES)?.values();
        match (text(method).as_deref(), id) {
            (Some("session/update"), None) => {
                self.read_update(params.ok_or(Unparsed::WrongShape)?, turn)
            }
            (Some(_), None) => Ok(Fate::Ignored),
            (Some("session/request_permission"), Some(id)) => {
                self.read_permission(id, params, turn)
            }
            (Some(_), Some(id)) => {
                self.ask(AcpAsk::Send(lines::not_offered(id)));
                Ok(Fate::Ignored)
            }
            (None, Some(id)) => self.read_reply(id, result, error, turn),
            // It could not read one of our lines.
            (None, None) if error.is_some() => {
                turn.warn(message(error).unwrap_or_default());
                Ok(Fate::Known)
            }
            (None, None) => Err(Unparsed::WrongShape.into()),
        }
    }

    /// A line was too long to be read.
    pub(super) fn miss(&mut self) {
        self.has_hole = true;
    }

    /// Whether the agent was still being set up.
    pub(super) fn is_before_prompt(&self) -> bool {
        self.phase < Phase::Prompt
    }

    fn ask(&mut self, ask: AcpAsk) {
        if self.is_live {
            self.asks.push(ask);
        }
    }

    fn read_reply(
        &mut self,
        id: &RawValue,
        result: Option<&RawValue>,
        error: Option<&RawValue>,
        turn: &mut Turn,
    ) -> Reading {
        turn.admit(None)?;
        let id = count(Some(id)).ok_or(Unparsed::WrongShape)?;
        match id.cmp(&(self.phase as u64)) {
            std::cmp::Ordering::Less => return Err(ViolationKind::SecondStart.into()),
            std::cmp::Ordering::Greater => return Err(ViolationKind::BeforeStart.into()),
            std::cmp::Ordering::Equal => {}
        }
        if let Some(error) = error {
            self.end_badly(error, turn);
            return Ok(Fate::Known);
        }
        let result = result.unwrap_or(RawValue::NULL);
        match self.phase {
            Phase::Initialize => self.read_hello(result, turn)?,
            Phase::NewSession => self.read_session(result, turn)?,
            Phase::SetModel => self.send_prompt(turn),
            Phase::Prompt => self.end(result, turn)?,
        }
        Ok(Fate::Known)
    }

    fn read_hello(&mut self, result: &RawValue, turn: &mut Turn) -> Result<(), Refusal> {
        let [version, info] = pick(result, &["protocolVersion", "agentInfo"])?.values();
        if count(version) != Some(1) {
            let version = version.map_or("none", RawValue::get);
            let message = format!("the agent speaks version {version} of the protocol, not 1");
            turn.fail(TurnError::new(ErrorClass::Setup, message));
            return Ok(());
        }
        let name = info.and_then(|info| text(pick(info, &["name"]).ok()?.values()[0]));
        self.may_repeat = name.is_some_and(|name| name.contains("gemini"));
        self.phase = Phase::NewSession;
        self.ask(AcpAsk::Send(lines::new_session(self.phase as u64, &self.cwd)));
        Ok(())
    }

    fn read_session(&mut self, result: &RawValue, turn: &mut Turn) -> Result<(), Refusal> {
        let [session, models, options] =
            pick(result, &["sessionId", "models", "configOptions"])?.values();
        let Some(session) = word(session) else {
            let message = "the agent opened a session and did not name it";
            turn.fail(TurnError::new(ErrorClass::Setup, message));
            return Ok(());
        };
        let current =
            models.and_then(|models| word(pick(models, &["currentModelId"]).ok()?.values()[0]));
        let wanted = self.model.take();
        let model = wanted.as_deref().map(Into::into).or_else(|| current.clone());
        turn.start(Some(session.clone()), model)?;
        match wanted {
            Some(wanted) if current.as_deref() != Some(&*wanted) => {
                let id = Phase::SetModel as u64;
                let line = if models.is_some() {
                    lines::set_model(id, &session, &wanted)
                } else if let Some(option) = options.and_then(model_option) {
                    lines::set_option(id, &session, &option, &wanted)
                } else {
                    let message = "the agent lets no model be chosen; name it in its arguments";
                    turn.fail(TurnError::new(ErrorClass::Setup, message));
                    return Ok(());
                };
                self.phase = Phase::SetModel;
                self.ask(AcpAsk::Send(line));
            }
            _ => self.send_prompt(turn),
        }
        Ok(())
    }

    fn send_prompt(&mut self, turn: &Turn) {
        self.phase = Phase::Prompt;
        let prompt = std::mem::take(&mut self.prompt);
        let session = turn.session_id.as_deref().unwrap_or_default();
        self.ask(AcpAsk::Send(lines::prompt(self.phase as u64, session, &prompt)));
    }

    fn read_update(&mut self, params: &RawValue, turn: &mut Turn) -> Reading {
        let [session, update] = pick(params, &["sessionId", "update"])?.values();
        let update = update.ok_or(Unparsed::WrongShape)?;
        let [kind] = pick(update, &["sessionUpdate"])?.values();
        let kind = plain(kind).ok_or(Unparsed::WrongShape)?;
        let is_answer = matches!(
            kind,
            "agent_message_chunk" | "agent_thought_chunk" | "tool_call" | "tool_call_update"
        );
        if self.is_before_prompt() {
            // The first id that is named binds, and it is not the agent's to name one here.
            return if is_answer {
                Err(ViolationKind::BeforeStart.into())
            } else {
                Ok(Fate::Ignored)
            };
        }
        if !is_answer && turn.end.is_some() {
            return Ok(Fate::Ignored);
        }
        turn.admit(word(session).as_deref())?;
        match kind {
            "agent_message_chunk" | "agent_thought_chunk" => {
                return self.read_chunk(&Chunk::of_update(update, kind, session)?, turn);
            }
            "tool_call" | "tool_call_update" => self.tools.read(update, turn)?,
            "user_message_chunk" => return Ok(Fate::Echo),
            "usage_update" => {
                let [cost] = pick(update, &["cost"])?.values();
                self.cost = cost.and_then(cost_of).or(self.cost);
            }
            "session_info_update" => {
                let Some(state) = thread_status(update) else { return Ok(Fate::Ignored) };
                self.is_system_error = is(Some(state), "systemError")
                    || (self.is_system_error && !is(Some(state), "active"));
            }
            _ => return Ok(Fate::Ignored),
        }
        Ok(Fate::Known)
    }

    /// A piece of a message or of a thought. Another message begins another text.
    fn read_chunk(&mut self, chunk: &Chunk<'_>, turn: &mut Turn) -> Reading {
        if self.is_before_prompt() {
            // The first id that is named binds, and it is not the agent's to name one here.
            return Err(ViolationKind::BeforeStart.into());
        }
        turn.admit(word(chunk.session).as_deref())?;
        // A picture and the like has no text.
        let piece = match is(chunk.content_type, "text") {
            true => text(chunk.text).ok_or(Unparsed::WrongShape)?,
            false => String::new(),
        };
        if chunk.is_thought {
            turn.thinking(piece);
            return Ok(Fate::Known);
        }
        if piece.is_empty() {
            return Ok(Fate::Known);
        }
        let message_id = word(chunk.message_id);
        if message_id.is_some() {
            let before = std::mem::replace(&mut self.message_id, message_id);
            if before.is_some() && before != self.message_id {
                turn.seal_text();
            }
        }
        turn.delta(piece);
        Ok(Fate::Known)
    }
}

/// The session is as old as the turn, so its cost is the turn's.
fn cost_of(raw: &RawValue) -> Option<Cost> {
    let [sum, currency] = pick(raw, &["amount", "currency"]).ok()?.values();
    let usd = amount(sum).filter(|_| is(currency, "USD"))?;
    Some(Cost { usd, scope: Scope::Turn })
}

/// What Codex says of its thread: `_meta.codex.threadStatus.type`.
fn thread_status(update: &RawValue) -> Option<&RawValue> {
    ["_meta", "codex", "threadStatus", "type"]
        .iter()
        .try_fold(update, |raw, name| pick(raw, &[name]).ok()?.values()[0])
}

/// The setting that chooses the model, by its id.
fn model_option(options: &RawValue) -> Option<String> {
    let mut found = None;
    let _ = each(options, |option| {
        let [id, category] = pick(option, &["id", "category"])?.values();
        if is(id, "model") || is(category, "model") {
            found = found.take().or_else(|| text(id));
        }
        Ok(())
    });
    found
}
