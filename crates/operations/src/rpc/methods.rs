//! The methods: parameters in, JSON out. [`all`] lists all of them.

mod conversation;
mod sessions;

pub(super) use sessions::Sessions;

use std::collections::BTreeMap;

use serde::Serialize;
use tertulia_context::builder::ContextIndex;
use tertulia_session::json::{FieldError, Object, Problem, RawValue, text, whole_number};
use tertulia_store::SessionId;
use tertulia_team::nearest_name;

use super::RpcServer;
use super::conversations::MAIN;
use super::error::RpcError;
use crate::model_context::{self, BuildError, BuildInput, Messages, Overrides, Unused};
use crate::to_json;

type Answer = Result<String, RpcError>;

pub(super) struct Method {
    pub(super) name: &'static str,
    call: fn(&mut RpcServer, &mut Params<'_>) -> Answer,
}

/// All methods, in the order of the documentation.
pub(super) fn all() -> impl Iterator<Item = &'static Method> {
    [CONVERSATIONS, TEXTS, CONTEXTS, SESSIONS].into_iter().flatten()
}

const CONVERSATIONS: &[Method] = &[
    Method { name: "createConversation", call: RpcServer::create_conversation },
    Method { name: "addMessage", call: RpcServer::add_message },
    Method { name: "getMessages", call: RpcServer::get_messages },
    Method { name: "getLatestMessage", call: RpcServer::get_latest_message },
    Method { name: "setTeamTask", call: RpcServer::set_team_task },
    Method { name: "getTeamTask", call: RpcServer::get_team_task },
    Method { name: "getContextForAgent", call: RpcServer::get_context_for_agent },
    Method { name: "assemblePrompt", call: RpcServer::assemble_prompt },
    Method { name: "clear", call: RpcServer::clear },
    Method { name: "exportSnapshot", call: RpcServer::export_snapshot },
    Method { name: "importSnapshot", call: RpcServer::import_snapshot },
];

const TEXTS: &[Method] = &[
    Method { name: "stripAllMarkers", call: conversation::strip_all_markers },
    Method { name: "parseMarkers", call: conversation::parse_markers },
    Method { name: "normalizeAgentType", call: conversation::normalize_agent_type },
    Method { name: "truncateToBytes", call: conversation::truncate_to_bytes },
    Method { name: "formatAddressees", call: conversation::format_addressees },
    Method { name: "estimateTokens", call: conversation::estimate_tokens },
];

const CONTEXTS: &[Method] = &[
    Method { name: "buildContext", call: RpcServer::build_context },
    Method { name: "computeContextUpdates", call: RpcServer::compute_context_updates },
    Method { name: "acceptSummary", call: RpcServer::accept_summary },
];

const SESSIONS: &[Method] = &[
    Method { name: "createSession", call: RpcServer::create_session },
    Method { name: "append", call: RpcServer::append },
    Method { name: "load", call: RpcServer::load },
    Method { name: "branch", call: RpcServer::branch },
    Method { name: "redact", call: RpcServer::redact },
    Method { name: "search", call: RpcServer::search },
    Method { name: "listSessions", call: RpcServer::list_sessions },
    Method { name: "getCost", call: RpcServer::get_cost },
    Method { name: "verify", call: RpcServer::verify },
];

impl Method {
    pub(super) fn named(name: &str) -> Option<&'static Self> {
        all().find(|method| method.name == name)
    }

    /// Returns the method with the most similar name, if one is similar enough.
    pub(super) fn nearest(name: &str) -> Option<&'static Self> {
        nearest_name(name, all().map(|method| (method.name, method)))
    }
}

pub(super) struct Params<'a> {
    object: Object<'a>,
    conversation: String,
    passed_over: Vec<String>,
    /// Notes for the caller.
    notes: Vec<String>,
}

impl RpcServer {
    pub(super) fn call(&mut self, method: &Method, object: Object<'_>) -> Answer {
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

type Build = fn(&BuildInput, &mut ContextIndex) -> Result<String, BuildError>;

impl RpcServer {
    fn build_context(&mut self, params: &mut Params<'_>) -> Answer {
        self.build(params, Messages::Input, BuildInput::build_json)
    }

    fn compute_context_updates(&mut self, params: &mut Params<'_>) -> Answer {
        self.build(params, Messages::New, BuildInput::update_json)
    }

    fn build(&mut self, params: &mut Params<'_>, messages: Messages, build: Build) -> Answer {
        let session = take_session(params)?;
        // The log of a stored session is passed to the input when the context is built.
        let session_entries = session.is_some().then(Vec::new);
        let overrides = Overrides { session_entries, ..Overrides::default() };
        let mut unused = Unused::default();
        let mut input = BuildInput::read(&mut params.object, messages, overrides, &mut unused)?;
        tell(params, unused);
        Ok(match session {
            None => build(&input, &mut ContextIndex::new())?,
            Some(session) => {
                self.sessions.with_log(&session, |log| log.lend(&mut input, build))??
            }
        })
    }

    fn accept_summary(&mut self, params: &mut Params<'_>) -> Answer {
        let session = take_session(params)?;
        let mut unused = Unused::default();
        let object = &mut params.object;
        let accepted = match session {
            None => model_context::accept_summary(object, None, &mut unused)?,
            Some(session) => self.sessions.with_log(&session, |log| {
                model_context::accept_summary(object, Some(log.entries()), &mut unused)
            })??,
        };
        tell(params, unused);
        Ok(accepted)
    }
}

fn take_session(params: &mut Params<'_>) -> Result<Option<SessionId>, RpcError> {
    let Some(id) = params.object.take_with("sessionId", text)? else { return Ok(None) };
    if params.object.names().any(|name| name == "sessionEntries") {
        let excluded = Problem::Excludes { other: "sessionId" };
        return Err(FieldError::new(excluded).within("sessionEntries").into());
    }
    sessions::session_id(&id).map(Some)
}

fn tell(params: &mut Params<'_>, unused: Unused) {
    params.passed_over.extend(unused.names);
    params.notes.extend(unused.notes);
}

fn named(name: &'static str, value: impl Serialize) -> String {
    to_json(&BTreeMap::from([(name, value)]))
}

fn count(raw: &RawValue) -> Result<usize, FieldError> {
    whole_number(raw).map(|count| usize::try_from(count).unwrap_or(usize::MAX))
}
