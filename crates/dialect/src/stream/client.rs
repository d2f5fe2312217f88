//! Our side of a conversation with one agent process, without its pipes: lines to send, and the events of one turn
//! after the other. The `agent` crate calls it for agents of the Agent Client Protocol, and for the processes of Claude
//! Code and Codex that stay alive between turns.

use tertulia_session::json::Json;

use super::acp::NotLoaded;
use super::app_server::{AppServer, CodexSession};
use super::claude::Claude;
use super::error_class::TurnError;
use super::event::{StreamEvent, Usage};
use super::outcome::{Exit, LineCounts, TurnOutput};
use super::turn::Turn;
use super::{Acp, Limits, Reader, StreamParser};

/// Communicates with one agent process, in one turn after the other.
#[derive(Debug)]
pub struct AgentClient {
    parser: StreamParser,
    /// The agent's session, once it is known.
    session: Option<Box<str>>,
    has_begun: bool,
}

/// The session that an agent of the Agent Client Protocol opens.
#[derive(Clone, Copy, Debug)]
pub struct AcpSession<'a> {
    /// Absolute path of its working folder.
    pub cwd: &'a str,
    pub model: Option<&'a str>,
    /// The session of an earlier process to load; `None` for a new one.
    pub loaded: Option<LoadedSession<'a>>,
}

/// A session of an earlier process, in the state that its last turn left.
#[derive(Clone, Copy, Debug)]
pub struct LoadedSession<'a> {
    pub session: &'a str,
    /// What [`AgentClient::history`] returned.
    pub history: &'a str,
    pub cost_usd: Option<f64>,
}

/// Input of an agent for one turn.
#[derive(Clone, Copy, Debug, Default)]
pub struct AgentPrompt<'a> {
    /// A UUID, by which Claude Code names the message in its output and in its transcript.
    pub id: &'a str,
    /// The text before the message. Codex gets it as an item of its own; for the others it is part of the prompt.
    pub context: &'a str,
    pub message: &'a str,
}

/// The running totals of an agent's session, as the agent reports them.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct SessionTotals {
    pub usage: Option<Usage>,
    pub cost_usd: Option<f64>,
}

/// Something that the caller must do before it reads more output.
#[derive(Clone, Debug, PartialEq)]
pub enum AgentAsk {
    /// Send this line unchanged.
    Send(String),
    /// Ask a person. [`AgentClient::answer`] returns the line to send.
    Permit(AgentPermission),
}

/// A permission request of the agent.
#[derive(Clone, Debug, PartialEq)]
pub struct AgentPermission {
    /// The id of the request, as the agent wrote it.
    pub(super) id: Box<str>,
    pub(super) call: Box<str>,
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

impl AgentClient {
    /// Creates a client of an agent of the Agent Client Protocol.
    pub fn acp(session: &AcpSession<'_>, limits: Limits) -> Self {
        let mut client = Self::new(Reader::Acp(Box::new(Acp::live(session))), limits);
        client.session = session.loaded.map(|loaded| loaded.session.into());
        client
    }

    /// Creates a client of `codex app-server`. `totals` are those of a session that is continued.
    pub fn codex(session: &CodexSession<'_>, totals: SessionTotals, limits: Limits) -> Self {
        let server = AppServer::new(session, totals.usage);
        let mut client = Self::new(Reader::AppServer(Box::new(server)), limits);
        client.session = session.resumed.map(Into::into);
        client
    }

    /// Creates a client of `claude --input-format stream-json`. `session` is the one that is continued, with its
    /// totals.
    pub fn claude(session: Option<&str>, totals: SessionTotals, limits: Limits) -> Self {
        let reader = Claude::live(totals.cost_usd.unwrap_or(0.0));
        let mut client = Self::new(Reader::Claude(reader), limits);
        client.session = session.map(Into::into);
        client
    }

    fn new(reader: Reader, limits: Limits) -> Self {
        let parser = StreamParser::with_reader(reader, limits);
        Self { parser, session: None, has_begun: false }
    }

    /// Begins a turn, and returns the lines to send for it now.
    pub fn begin(&mut self, prompt: &AgentPrompt<'_>, out: &mut Vec<StreamEvent>) -> Vec<String> {
        let Self { parser, session, has_begun } = self;
        // Output between turns belongs to no turn.
        parser.turn.take();
        parser.lines.forget();
        parser.counts = LineCounts::default();
        parser.turn.output.native_session_id.clone_from(session);
        let is_first = !std::mem::replace(has_begun, true);
        let StreamParser { reader, turn, .. } = parser;
        let mut lines = Vec::new();
        turn.collecting_events(out, |turn| {
            lines = match reader {
                Reader::Acp(acp) => acp.begin(prompt, is_first, turn),
                Reader::AppServer(server) => server.begin(prompt, is_first, turn),
                Reader::Claude(claude) => vec![claude.begin(prompt)],
                _ => Vec::new(),
            };
        });
        lines
    }

    /// Parses the next bytes of the agent's stdout. Handle the `asks` in order.
    pub fn push(&mut self, bytes: &[u8], out: &mut Vec<StreamEvent>, asks: &mut Vec<AgentAsk>) {
        self.parser.push(bytes, out);
        match &mut self.parser.reader {
            Reader::Acp(acp) => asks.append(&mut acp.asks),
            Reader::AppServer(server) => asks.append(&mut server.asks),
            Reader::Claude(claude) => asks.append(&mut claude.asks),
            _ => {}
        }
    }

    /// Returns the line that answers a permission request with the choice of this id. Without such a choice, it
    /// denies the request.
    pub fn answer(
        &mut self,
        permission: &AgentPermission,
        choice: Option<&str>,
        out: &mut Vec<StreamEvent>,
    ) -> String {
        let choices = &permission.request.choices;
        let known = choices.iter().find(|known| Some(&*known.id) == choice);
        let known = known.or_else(|| choices.iter().find(|known| !known.allows));
        if !known.is_some_and(|known| known.allows) {
            self.deny(permission, out);
        }
        self.chosen(permission, known.map(|known| &*known.id))
    }

    /// Returns the line that denies a permission request because the turn is ending.
    pub fn dismiss(&mut self, permission: &AgentPermission, out: &mut Vec<StreamEvent>) -> String {
        self.deny(permission, out);
        self.chosen(permission, None)
    }

    fn chosen(&self, permission: &AgentPermission, choice: Option<&str>) -> String {
        match &self.parser.reader {
            Reader::AppServer(_) => AppServer::decided(permission, choice),
            _ => super::acp::chosen(&permission.id, choice),
        }
    }

    fn deny(&mut self, permission: &AgentPermission, out: &mut Vec<StreamEvent>) {
        let PermissionRequest { title, tool, .. } = &permission.request;
        let name = tool.as_ref().unwrap_or(title);
        let deny =
            |turn: &mut Turn| turn.tool_denied(&permission.call, name, Some("not permitted"));
        self.parser.turn.collecting_events(out, deny);
    }

    /// Returns whether the agent has accepted the prompt, or may have. Output that arrives later is part of the turn.
    pub fn is_prompted(&self) -> bool {
        match &self.parser.reader {
            Reader::Acp(acp) => !acp.is_before_prompt(),
            Reader::AppServer(server) => server.is_prompted(),
            Reader::Claude(claude) => claude.is_prompted(),
            _ => true,
        }
    }

    /// Returns whether the agent has confirmed that the turn of the prompt runs. Agents of the Agent Client Protocol
    /// confirm nothing.
    pub fn is_confirmed(&self) -> bool {
        match &self.parser.reader {
            Reader::AppServer(server) => server.turn_id.is_some(),
            _ => self.is_prompted(),
        }
    }

    /// Returns the line that asks the agent to stop; `None` if nothing runs.
    pub fn cancel(&self) -> Option<String> {
        let session = self.parser.turn.output.native_session_id.as_deref()?;
        if self.is_ended() {
            return None;
        }
        match &self.parser.reader {
            Reader::Acp(_) => {
                let params = format!(r#"{{"sessionId":{}}}"#, text(session));
                Some(format!(
                    "{{\"jsonrpc\":\"2.0\",\"method\":\"session/cancel\",\"params\":{params}}}\n"
                ))
            }
            Reader::AppServer(server) => server.cancel(session),
            Reader::Claude(_) => Some(Claude::interrupt()),
            _ => None,
        }
    }

    /// Returns whether the agent has ended the turn.
    pub fn is_ended(&self) -> bool {
        self.parser.is_ended()
    }

    /// Returns the agent's session, if it is known.
    pub fn session(&self) -> Option<&str> {
        self.parser.turn.output.native_session_id.as_deref().or(self.session.as_deref())
    }

    /// Returns the file of the session, if the agent named it.
    pub fn session_path(&self) -> Option<&str> {
        match &self.parser.reader {
            Reader::AppServer(server) => server.path.as_deref(),
            _ => None,
        }
    }

    /// Returns a text that the transcript contains if and only if the agent has begun the last turn. Claude Code writes it
    /// with the prompt, Codex before the prompt.
    pub fn trace(&self) -> Option<&str> {
        match &self.parser.reader {
            Reader::AppServer(server) => server.turn_id.as_deref(),
            Reader::Claude(claude) => claude.prompt_id(),
            _ => None,
        }
    }

    /// Returns whether the agent reported during the last turn that it has replaced its history by a summary.
    pub fn is_compacted(&self) -> bool {
        match &self.parser.reader {
            Reader::AppServer(server) => server.is_compacted,
            Reader::Claude(claude) => claude.is_compacted,
            _ => false,
        }
    }

    /// Returns a hash of what was said in the session, for agents of the Agent Client Protocol whose sessions another
    /// process can load.
    pub fn history(&self) -> Option<String> {
        match &self.parser.reader {
            Reader::Acp(acp) => acp.history(),
            _ => None,
        }
    }

    /// Returns why the session of an earlier process was not loaded; `None` if it was, or if there is none.
    pub fn not_loaded(&self) -> Option<&NotLoaded> {
        match &self.parser.reader {
            Reader::Acp(acp) => acp.not_loaded.as_ref(),
            _ => None,
        }
    }

    /// Returns the totals of the session, as far as the agent reports totals.
    pub fn totals(&self) -> SessionTotals {
        match &self.parser.reader {
            Reader::AppServer(server) => {
                SessionTotals { usage: server.total(), ..SessionTotals::default() }
            }
            Reader::Claude(claude) => {
                SessionTotals { cost_usd: claude.cost_total(), ..SessionTotals::default() }
            }
            Reader::Acp(acp) => {
                SessionTotals { cost_usd: acp.cost_total(), ..SessionTotals::default() }
            }
            _ => SessionTotals::default(),
        }
    }

    /// Judges the turn, and prepares for the next one. If the agent reported how the turn ended, its exit does not
    /// matter.
    pub fn finish(
        &mut self,
        exit: Exit,
        stderr_tail: &str,
        out: &mut Vec<StreamEvent>,
    ) -> TurnOutput {
        let exit = if self.is_ended() { Exit::Code(0) } else { exit };
        if !self.is_ended() {
            self.parser.flush(out);
        }
        self.end(exit, stderr_tail)
    }

    /// Judges a turn that we ended for this reason, and prepares for the next one.
    pub fn failed(&mut self, error: TurnError) -> TurnOutput {
        self.parser.turn.give_up(error);
        self.end(Exit::Code(0), "")
    }

    fn end(&mut self, exit: Exit, stderr_tail: &str) -> TurnOutput {
        let output = self.parser.judge(exit, stderr_tail);
        self.session.clone_from(&output.native_session_id);
        output
    }
}

/// Returns one JSON-RPC message with its line feed.
pub(super) fn request(id: u64, method: &str, params: &str) -> String {
    format!("{{\"jsonrpc\":\"2.0\",\"id\":{id},\"method\":\"{method}\",\"params\":{params}}}\n")
}

pub(super) fn refused(id: &str, code: i32, message: &str) -> String {
    reply(id, &format!(r#""error":{{"code":{code},"message":{}}}"#, text(message)))
}

/// Returns a response. Line breaks in the agent's id are replaced.
pub(super) fn reply(id: &str, field: &str) -> String {
    format!("{{\"jsonrpc\":\"2.0\",\"id\":{},{field}}}\n", id.replace(['\n', '\r'], " "))
}

pub(super) fn text(text: &str) -> String {
    Json::text(text).as_str().to_owned()
}
