//! The methods: parameters in, JSON out. One table has them all.

mod append;
mod conversation;
mod model_context;
mod sessions;
mod text;
mod tokens;

use tertulia_session::json::Object;
use tertulia_team::nearest_name;

use super::RpcServer;
use super::conversations::MAIN;
use super::error::RpcError;

/// A method: its name, and what it does.
pub(super) struct Method {
    pub(super) name: &'static str,
    call: fn(&mut RpcServer, &mut Params<'_>) -> Result<String, RpcError>,
}

/// All methods.
const METHODS: [Method; 28] = [
    Method { name: "createConversation", call: RpcServer::create_conversation },
    Method { name: "addMessage", call: RpcServer::add_message },
    Method { name: "getMessages", call: |server, params| server.get_messages(params) },
    Method { name: "getLatestMessage", call: |server, params| server.get_latest_message(params) },
    Method { name: "setTeamTask", call: RpcServer::set_team_task },
    Method { name: "getTeamTask", call: |server, params| server.get_team_task(params) },
    Method { name: "getContextForAgent", call: RpcServer::get_context_for_agent },
    Method { name: "assemblePrompt", call: RpcServer::assemble_prompt },
    Method { name: "clear", call: |server, params| server.clear(params) },
    Method { name: "exportSnapshot", call: |server, params| server.export_snapshot(params) },
    Method { name: "importSnapshot", call: RpcServer::import_snapshot },
    Method { name: "stripAllMarkers", call: |_, params| text::strip_all_markers(params) },
    Method { name: "parseMarkers", call: |_, params| text::parse_markers(params) },
    Method { name: "normalizeAgentType", call: |_, params| text::normalize_agent_type(params) },
    Method { name: "truncateToBytes", call: |_, params| text::truncate_to_bytes(params) },
    Method { name: "formatAddressees", call: |_, params| text::format_addressees(params) },
    Method { name: "estimateTokens", call: |_, params| tokens::estimate_tokens(params) },
    Method { name: "buildContext", call: RpcServer::build_context },
    Method { name: "computeContextUpdates", call: RpcServer::compute_context_updates },
    Method { name: "acceptSummary", call: RpcServer::accept_summary },
    Method { name: "createSession", call: RpcServer::create_session },
    Method { name: "append", call: RpcServer::append },
    Method { name: "load", call: RpcServer::load },
    Method { name: "branch", call: RpcServer::branch },
    Method { name: "redact", call: RpcServer::redact },
    Method { name: "search", call: RpcServer::search },
    Method { name: "listSessions", call: RpcServer::list_sessions },
    Method { name: "verify", call: RpcServer::verify },
];

impl Method {
    pub(super) fn named(name: &str) -> Option<&'static Self> {
        METHODS.iter().find(|method| method.name == name)
    }

    /// The method that somebody who wrote this may have meant.
    pub(super) fn nearest(name: &str) -> Option<&'static Self> {
        nearest_name(name, METHODS.iter().map(|method| (method.name, method)))
    }
}

/// The parameters of one call, taken out by name.
pub(super) struct Params<'a> {
    object: Object<'a>,
    conversation: String,
    /// Names inside of parameters that say nothing to this version.
    passed_over: Vec<String>,
    /// What else the caller should hear of.
    notes: Vec<String>,
}

impl RpcServer {
    pub(super) fn call(&mut self, method: &Method, object: Object<'_>) -> Result<String, RpcError> {
        let (conversation, passed_over, notes) = (MAIN.to_owned(), Vec::new(), Vec::new());
        let mut params = Params { object, conversation, passed_over, notes };
        if let Some(name) = params.object.take_text("conversation")? {
            params.conversation = name;
        }
        let result = (method.call)(self, &mut params);
        let inside = params.passed_over.iter().map(String::as_str);
        let passed_over: Vec<&str> = params.object.names().chain(inside).take(8).collect();
        if result.is_ok() && !passed_over.is_empty() {
            let names = passed_over.join(", ");
            let line = format!("[rpc] {}: unknown parameters ignored: {names}", method.name);
            self.conversations.warn(&params.conversation, &line);
        }
        for note in params.notes.iter().filter(|_| result.is_ok()) {
            let line = format!("[rpc] {}: {note}", method.name);
            self.conversations.warn(&params.conversation, &line);
        }
        result
    }
}
