//! Our side of the Agent Client Protocol for one turn, without its pipes. Takes bytes of the agent, and returns
//! events and lines to send. The `agent` crate calls it.

use tertulia_session::json::Json;

use super::Acp;
use super::tool::Call;
use crate::stream::error_class::TurnError;
use crate::stream::event::{StreamEvent, ViolationKind};
use crate::stream::fields::{Refusal, Value};
use crate::stream::outcome::{Exit, TurnOutput};
use crate::stream::turn::Turn;
use crate::stream::{Limits, LineKind, Reader, Reading, StreamParser};

/// Communicates with one agent for one turn.
#[derive(Debug)]
pub struct AcpClient {
    parser: StreamParser,
}

/// Input of an agent.
#[derive(Clone, Copy, Debug)]
pub struct AcpPrompt<'a> {
    /// Absolute path of its working folder.
    pub cwd: &'a str,
    pub model: Option<&'a str>,
    pub prompt: &'a str,
}

/// Something that the caller must do before it reads more output.
#[derive(Clone, Debug, PartialEq)]
pub enum AcpAsk {
    /// Send this line unchanged.
    Send(String),
    /// Ask a person. [`AcpClient::answer`] returns the line to send.
    Permit(AcpPermission),
}

/// A permission request of the agent.
#[derive(Clone, Debug, PartialEq)]
pub struct AcpPermission {
    id: Box<str>,
    call: Box<str>,
    pub request: PermissionRequest,
}

/// A request for permission, in the agent's own words.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PermissionRequest {
    pub title: Box<str>,
    pub tool: Option<Box<str>>,
    pub input: Option<Json>,
    pub choices: Vec<PermissionChoice>,
}

/// One of the answers that the agent offers.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PermissionChoice {
    pub id: Box<str>,
    pub name: Box<str>,
    pub allows: bool,
    /// Whether it also applies to later calls.
    pub is_lasting: bool,
}

impl AcpClient {
    /// Creates a client for one turn.
    pub fn new(prompt: &AcpPrompt<'_>, limits: Limits) -> Self {
        let acp = Acp {
            is_live: true,
            cwd: prompt.cwd.to_owned(),
            prompt: prompt.prompt.to_owned(),
            model: prompt.model.map(str::to_owned),
            ..Acp::default()
        };
        Self { parser: StreamParser::with_reader(Reader::Acp(Box::new(acp)), limits) }
    }

    /// Returns the first line of the protocol. We offer no capabilities, such as files or a terminal.
    pub fn hello() -> String {
        request(
            1,
            "initialize",
            r#"{"protocolVersion":1,"clientCapabilities":{"fs":{"readTextFile":false,"writeTextFile":false},"terminal":false},"clientInfo":{"name":"tertulia","version":"0"}}"#,
        )
    }

    /// Parses the next bytes of the agent's stdout. Handle the `asks` in order.
    pub fn push(&mut self, bytes: &[u8], out: &mut Vec<StreamEvent>, asks: &mut Vec<AcpAsk>) {
        self.parser.push(bytes, out);
        if let Reader::Acp(acp) = &mut self.parser.reader {
            asks.append(&mut acp.asks);
        }
    }

    /// Returns the line that answers a permission request with the choice of this id. Without such a choice, it
    /// denies the request.
    pub fn answer(
        &mut self,
        permission: &AcpPermission,
        choice: Option<&str>,
        out: &mut Vec<StreamEvent>,
    ) -> String {
        let choices = &permission.request.choices;
        let known = choices.iter().find(|known| Some(&*known.id) == choice);
        let known = known.or_else(|| choices.iter().find(|known| !known.allows));
        if !known.is_some_and(|known| known.allows) {
            self.deny(permission, out);
        }
        chosen(&permission.id, known.map(|known| &*known.id))
    }

    /// Returns the line that denies a permission request because the turn is ending.
    pub fn dismiss(&mut self, permission: &AcpPermission, out: &mut Vec<StreamEvent>) -> String {
        self.deny(permission, out);
        chosen(&permission.id, None)
    }

    fn deny(&mut self, permission: &AcpPermission, out: &mut Vec<StreamEvent>) {
        let PermissionRequest { title, tool, .. } = &permission.request;
        let name = tool.as_ref().unwrap_or(title);
        let deny =
            |turn: &mut Turn| turn.tool_denied(&permission.call, name, Some("not permitted"));
        self.parser.turn.collecting_events(out, deny);
    }

    /// Returns whether the prompt was sent. Output that arrives later is part of the turn.
    pub fn is_prompted(&self) -> bool {
        matches!(&self.parser.reader, Reader::Acp(acp) if !acp.is_before_prompt())
    }

    /// Returns the line that asks the agent to stop; `None` if nothing runs.
    pub fn cancel(&self) -> Option<String> {
        let session = self.parser.turn.output.native_session_id.as_deref()?;
        let params = format!(r#"{{"sessionId":{}}}"#, text(session));
        let line =
            format!("{{\"jsonrpc\":\"2.0\",\"method\":\"session/cancel\",\"params\":{params}}}\n");
        (!self.is_ended()).then_some(line)
    }

    /// Returns whether the agent has ended the turn.
    pub fn is_ended(&self) -> bool {
        self.parser.is_ended()
    }

    /// Judges the turn. If the agent reported how the turn ended, its exit does not matter, because we end the
    /// process.
    pub fn finish(self, exit: Exit, stderr_tail: &str, out: &mut Vec<StreamEvent>) -> TurnOutput {
        let exit = if self.is_ended() { Exit::Code(0) } else { exit };
        self.parser.finish(exit, stderr_tail, out)
    }

    /// Judges a turn that we ended for this reason.
    pub fn failed(self, error: TurnError) -> TurnOutput {
        self.parser.failed(error)
    }
}

impl Acp {
    /// Reads a permission request. The agent waits for an answer, so every request is answered.
    pub(super) fn read_permission(
        &mut self,
        id: &str,
        params: Value<'_>,
        turn: &mut Turn,
    ) -> Reading {
        match self.permission(id, params, turn) {
            Ok(permission) => {
                self.ask(AcpAsk::Permit(permission));
                Ok(LineKind::Known)
            }
            Err(refusal) => {
                self.ask(AcpAsk::Send(match refusal {
                    Refusal::Unparsed(_) => refused(id, -32602, "the request cannot be read"),
                    Refusal::Violation(_) => chosen(id, None),
                }));
                Err(refusal)
            }
        }
    }

    fn permission(
        &mut self,
        id: &str,
        params: Value<'_>,
        turn: &mut Turn,
    ) -> Result<AcpPermission, Refusal> {
        if self.is_before_prompt() {
            return Err(ViolationKind::BeforeStart.into());
        }
        let [session, call, options] = params.fields(&["sessionId", "toolCall", "options"])?;
        turn.admit(session.text().as_deref())?;
        let call = Call::parse(call)?;
        let mut choices = Vec::new();
        options.each(|option| {
            let [id, name, kind] = option.fields(&["optionId", "name", "kind"])?;
            let kind = kind.plain().unwrap_or_default();
            choices.push(PermissionChoice {
                id: id.need_word()?,
                name: name.text_or_empty().into(),
                allows: kind.starts_with("allow"),
                is_lasting: kind.ends_with("_always"),
            });
            Ok(())
        })?;
        self.tools.start(&call, turn);
        let request = PermissionRequest {
            title: call.title.or(call.name).unwrap_or_default(),
            tool: Some(turn.tool_name(&call.id)).filter(|name| !name.is_empty()),
            input: call.input.is_some().then(|| call.input.json()),
            choices,
        };
        Ok(AcpPermission { id: id.into(), call: call.id, request })
    }
}

/// Returns one JSON-RPC message with its line feed.
pub(super) fn request(id: u64, method: &str, params: &str) -> String {
    format!("{{\"jsonrpc\":\"2.0\",\"id\":{id},\"method\":\"{method}\",\"params\":{params}}}\n")
}

/// Returns the response to a permission request, with this choice or none.
fn chosen(id: &str, choice: Option<&str>) -> String {
    let outcome = match choice {
        Some(choice) => format!(r#"{{"outcome":"selected","optionId":{}}}"#, text(choice)),
        None => r#"{"outcome":"cancelled"}"#.to_owned(),
    };
    reply(id, &format!(r#""result":{{"outcome":{outcome}}}"#))
}

pub(super) fn refused(id: &str, code: i32, message: &str) -> String {
    reply(id, &format!(r#""error":{{"code":{code},"message":{}}}"#, text(message)))
}

/// Returns a response. Line breaks in the agent's id are replaced.
fn reply(id: &str, field: &str) -> String {
    format!("{{\"jsonrpc\":\"2.0\",\"id\":{},{field}}}\n", id.replace(['\n', '\r'], " "))
}

pub(super) fn text(text: &str) -> String {
    Json::text(text).as_str().to_owned()
}
