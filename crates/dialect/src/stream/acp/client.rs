//! Our side of the Agent Client Protocol for one turn, without its pipes: bytes of the agent in, events and
//! lines to be written out. Called by the `agent` room.

use serde_json::value::RawValue;
use tertulia_session::json::Json;

use super::tool::Call;
use super::{Acp, lines};
use crate::stream::class::TurnError;
use crate::stream::event::{DeniedTool, StreamEvent, Unparsed, ViolationKind};
use crate::stream::outcome::{Exit, TurnOutput};
use crate::stream::pick::{Refusal, each, needed_word, pick, plain, text, word};
use crate::stream::turn::Turn;
use crate::stream::{AgentStream, Fate, Limits, Reader, Reading, StreamParser};

/// Speaks with one agent for one turn.
#[derive(Debug)]
pub struct AcpClient {
    parser: StreamParser,
}

/// What an agent is given.
#[derive(Clone, Copy, Debug)]
pub struct AcpPrompt<'a> {
    /// Where it works; an absolute path.
    pub cwd: &'a str,
    /// The model to ask for.
    pub model: Option<&'a str>,
    pub prompt: &'a str,
}

/// What is to be done for the agent before more is read.
#[derive(Clone, Debug, PartialEq)]
pub enum AcpAsk {
    /// This line is to be written, as it is.
    Send(String),
    /// A person is to be asked; [`AcpClient::answer`] makes the line.
    Permit(AcpPermission),
}

/// The agent asks whether it may do something.
#[derive(Clone, Debug, PartialEq)]
pub struct AcpPermission {
    /// The id of the request, as JSON.
    id: Box<str>,
    call: Box<str>,
    /// What it is about to do, in its words.
    pub title: Box<str>,
    pub tool: Option<Box<str>>,
    /// What the tool is given.
    pub input: Option<Json>,
    /// What may be answered.
    pub choices: Vec<AcpChoice>,
}

/// One of the answers.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct AcpChoice {
    /// The agent's id of it.
    pub id: Box<str>,
    /// Its words.
    pub name: Box<str>,
    pub allows: bool,
    /// Whether it holds from now on, and not for this call alone.
    pub is_lasting: bool,
}

impl AcpClient {
    /// A client for one turn.
    pub fn new(prompt: &AcpPrompt<'_>, limits: Limits) -> Self {
        let acp = Acp {
            is_live: true,
            cwd: prompt.cwd.to_owned(),
            prompt: prompt.prompt.to_owned(),
            model: prompt.model.map(str::to_owned),
            ..Acp::default()
        };
        Self {
            parser: StreamParser::of_reader(AgentStream::Acp, Reader::Acp(Box::new(acp)), limits),
        }
    }

    /// The line that begins the talk.
    pub fn hello() -> String {
        lines::initialize()
    }

    /// Reads the next bytes of the agent's stdout. `asks` is to be done in its order.
    pub fn push(&mut self, bytes: &[u8], out: &mut Vec<StreamEvent>, asks: &mut Vec<AcpAsk>) {
        self.parser.push(bytes, out);
        if let Reader::Acp(acp) = &mut self.parser.reader {
            asks.append(&mut acp.asks);
        }
    }

    /// The line that answers a permission request with a choice of this id, or with a denial.
    pub fn answer(
        &mut self,
        permission: &AcpPermission,
        choice: Option<&str>,
        out: &mut Vec<StreamEvent>,
    ) -> String {
        let choices = &permission.choices;
        let chosen = choices.iter().find(|known| Some(&*known.id) == choice);
        let chosen = chosen.or_else(|| choices.iter().find(|known| !known.allows));
        if !chosen.is_some_and(|chosen| chosen.allows) {
            self.deny(permission, out);
        }
        lines::chosen(&permission.id, chosen.map(|chosen| &*chosen.id))
    }

    /// The line that answers a permission request when the turn is to end.
    pub fn dismiss(&mut self, permission: &AcpPermission, out: &mut Vec<StreamEvent>) -> String {
        self.deny(permission, out);
        lines::chosen(&permission.id, None)
    }

    fn deny(&mut self, permission: &AcpPermission, out: &mut Vec<StreamEvent>) {
        let denied = DeniedTool {
            id: permission.call.clone(),
            name: permission.tool.clone().unwrap_or_else(|| permission.title.clone()),
            reason: Some("not permitted".into()),
        };
        self.parser.turn.telling(out, |turn| turn.tool_denied(denied));
    }

    /// Whether the prompt is on its way, so that what comes is output.
    pub fn is_prompted(&self) -> bool {
        matches!(&self.parser.reader, Reader::Acp(acp) if !acp.is_before_prompt())
    }

    /// The line that asks the agent to stop; `None` where nothing runs.
    pub fn cancel(&self) -> Option<String> {
        let session = self.parser.turn.session_id.as_deref()?;
        (!self.is_ended()).then(|| lines::cancel(session))
    }

    /// Whether the agent said that the turn is over.
    pub fn is_ended(&self) -> bool {
        self.parser.is_ended()
    }

    /// Judges the turn. Where the agent said how the turn ended, the way its process ended says nothing:
    /// we end it.
    pub fn finish(self, exit: Exit, stderr_tail: &str, out: &mut Vec<StreamEvent>) -> TurnOutput {
        let exit = if self.is_ended() { Exit::Code(0) } else { exit };
        self.parser.finish(exit, stderr_tail, out)
    }

    /// Judges a turn that was ended from here, for this reason.
    pub fn failed(self, error: TurnError) -> TurnOutput {
        self.parser.failed(error)
    }
}

impl Acp {
    /// Reads a permission request. The agent waits for an answer, so there is one whatever it says.
    pub(super) fn read_permission(
        &mut self,
        id: &RawValue,
        params: Option<&RawValue>,
        turn: &mut Turn,
    ) -> Reading {
        match self.permission(id, params, turn) {
            Ok(permission) => {
                self.ask(AcpAsk::Permit(permission));
                Ok(Fate::Known)
            }
            Err(refusal) => {
                self.ask(AcpAsk::Send(match refusal {
                    Refusal::Unparsed(_) => lines::not_understood(id),
                    Refusal::Violation(_) => lines::chosen(&one_line(id), None),
                }));
                Err(refusal)
            }
        }
    }

    fn permission(
        &mut self,
        id: &RawValue,
        params: Option<&RawValue>,
        turn: &mut Turn,
    ) -> Result<AcpPermission, Refusal> {
        if self.is_before_prompt() {
            return Err(ViolationKind::BeforeStart.into());
        }
        let params = params.ok_or(Unparsed::WrongShape)?;
        let [session, call, options] =
            pick(params, &["sessionId", "toolCall", "options"])?.values();
        turn.admit(word(session).as_deref())?;
        let call = Call::of(call.ok_or(Unparsed::WrongShape)?)?;
        let mut choices = Vec::new();
        each(options.ok_or(Unparsed::WrongShape)?, |option| {
            let [id, name, kind] = pick(option, &["optionId", "name", "kind"])?.values();
            let id = needed_word(id)?;
            let kind = plain(kind);
            let allows = kind.is_some_and(|kind| kind.starts_with("allow"));
            let is_lasting = kind.is_some_and(|kind| kind.ends_with("_always"));
            let name = text(name).unwrap_or_default().into();
            choices.push(AcpChoice { id, name, allows, is_lasting });
            Ok(())
        })?;
        self.tools.start(&call, turn);
        Ok(AcpPermission {
            id: one_line(id),
            title: call.title.clone().or_else(|| call.name.clone()).unwrap_or_default(),
            tool: turn.tool_name(&call.id).filter(|name| !name.is_empty()),
            input: call.input.map(Json::from),
            call: call.id,
            choices,
        })
    }
}

/// An id as JSON; it may be spelled over several lines only where it is no id.
fn one_line(id: &RawValue) -> Box<str> {
    id.get().replace(['\n', '\r'], " ").into()
}
