//! The methods: parameters in, JSON out. Each arm of the dispatch is one call.

mod append;
mod conversation;
mod model_context;
mod sessions;
mod text;
mod tokens;

use tertulia_session::json::Object;

use super::RpcServer;
use super::conversations::MAIN;
use super::error::RpcError;

/// The methods of this door.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Method {
    CreateConversation,
    AddMessage,
    GetMessages,
    GetLatestMessage,
    SetTeamTask,
    GetTeamTask,
    GetContextForAgent,
    AssemblePrompt,
    Clear,
    ExportSnapshot,
    ImportSnapshot,
    StripAllMarkers,
    ParseMarkers,
    NormalizeAgentType,
    TruncateToBytes,
    FormatAddressees,
    EstimateTokens,
    BuildContext,
    ComputeContextUpdates,
    AcceptSummary,
    CreateSession,
    Append,
    Load,
    Branch,
    Redact,
    Search,
    ListSessions,
    Verify,
}

impl Method {
    const ALL: [Self; 28] = [
        Self::CreateConversation,
        Self::AddMessage,
        Self::GetMessages,
        Self::GetLatestMessage,
        Self::SetTeamTask,
        Self::GetTeamTask,
        Self::GetContextForAgent,
        Self::AssemblePrompt,
        Self::Clear,
        Self::ExportSnapshot,
        Self::ImportSnapshot,
        Self::StripAllMarkers,
        Self::ParseMarkers,
        Self::NormalizeAgentType,
        Self::TruncateToBytes,
        Self::FormatAddressees,
        Self::EstimateTokens,
        Self::BuildContext,
        Self::ComputeContextUpdates,
        Self::AcceptSummary,
        Self::CreateSession,
        Self::Append,
        Self::Load,
        Self::Branch,
        Self::Redact,
        Self::Search,
        Self::ListSessions,
        Self::Verify,
    ];

    pub(super) fn name(self) -> &'static str {
        match self {
            Self::CreateConversation => "createConversation",
            Self::AddMessage => "addMessage",
            Self::GetMessages => "getMessages",
            Self::GetLatestMessage => "getLatestMessage",
            Self::SetTeamTask => "setTeamTask",
            Self::GetTeamTask => "getTeamTask",
            Self::GetContextForAgent => "getContextForAgent",
            Self::AssemblePrompt => "assemblePrompt",
            Self::Clear => "clear",
            Self::ExportSnapshot => "exportSnapshot",
            Self::ImportSnapshot => "importSnapshot",
            Self::StripAllMarkers => "stripAllMarkers",
            Self::ParseMarkers => "parseMarkers",
            Self::NormalizeAgentType => "normalizeAgentType",
            Self::TruncateToBytes => "truncateToBytes",
            Self::FormatAddressees => "formatAddressees",
            Self::EstimateTokens => "estimateTokens",
            Self::BuildContext => "buildContext",
            Self::ComputeContextUpdates => "computeContextUpdates",
            Self::AcceptSummary => "acceptSummary",
            Self::CreateSession => "createSession",
            Self::Append => "append",
            Self::Load => "load",
            Self::Branch => "branch",
            Self::Redact => "redact",
            Self::Search => "search",
            Self::ListSessions => "listSessions",
            Self::Verify => "verify",
        }
    }

    pub(super) fn named(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|method| method.name() == name)
    }

    /// The method that somebody who wrote this may have meant.
    pub(super) fn nearest(name: &str) -> Option<Self> {
        // A name of any length may come in; nothing longer than this is near to a method.
        let name: String = name.chars().take(64).collect();
        let closeness = |method: &Self| strsim::jaro_winkler(method.name(), &name);
        let by_closeness = |left: &Self, right: &Self| closeness(left).total_cmp(&closeness(right));
        Self::ALL.into_iter().max_by(by_closeness).filter(|method| closeness(method) > 0.8)
    }
}

/// The parameters of one call, taken out by name.
struct Params<'a> {
    object: Object<'a>,
    conversation: String,
    /// Names inside of parameters that say nothing to this version.
    passed_over: Vec<String>,
    /// What else the caller should hear of.
    notes: Vec<String>,
}

impl RpcServer {
    pub(super) fn call(&mut self, method: Method, object: Object<'_>) -> Result<String, RpcError> {
        let (conversation, passed_over, notes) = (MAIN.to_owned(), Vec::new(), Vec::new());
        let mut params = Params { object, conversation, passed_over, notes };
        if let Some(name) = params.object.take_text("conversation")? {
            params.conversation = name;
        }
        let result = self.dispatch(method, &mut params);
        let inside = params.passed_over.iter().map(String::as_str);
        let passed_over: Vec<&str> = params.object.names().chain(inside).take(8).collect();
        if result.is_ok() && !passed_over.is_empty() {
            let names = passed_over.join(", ");
            let line = format!("[rpc] {}: unknown parameters ignored: {names}", method.name());
            self.conversations.warn(&params.conversation, &line);
        }
        for note in params.notes.iter().filter(|_| result.is_ok()) {
            let line = format!("[rpc] {}: {note}", method.name());
            self.conversations.warn(&params.conversation, &line);
        }
        result
    }

    fn dispatch(&mut self, method: Method, params: &mut Params<'_>) -> Result<String, RpcError> {
        match method {
            Method::CreateConversation => self.create_conversation(params),
            Method::AddMessage => self.add_message(params),
            Method::GetMessages => self.get_messages(params),
            Method::GetLatestMessage => self.get_latest_message(params),
            Method::SetTeamTask => self.set_team_task(params),
            Method::GetTeamTask => self.get_team_task(params),
            Method::GetContextForAgent => self.get_context_for_agent(params),
            Method::AssemblePrompt => self.assemble_prompt(params),
            Method::Clear => self.clear(params),
            Method::ExportSnapshot => self.export_snapshot(params),
            Method::ImportSnapshot => self.import_snapshot(params),
            Method::StripAllMarkers => text::strip_all_markers(params),
            Method::ParseMarkers => text::parse_markers(params),
            Method::NormalizeAgentType => text::normalize_agent_type(params),
            Method::TruncateToBytes => text::truncate_to_bytes(params),
            Method::FormatAddressees => text::format_addressees(params),
            Method::EstimateTokens => tokens::estimate_tokens(params),
            Method::BuildContext => self.build_context(params),
            Method::ComputeContextUpdates => self.compute_context_updates(params),
            Method::AcceptSummary => self.accept_summary(params),
            Method::CreateSession => self.create_session(params),
            Method::Append => self.append(params),
            Method::Load => self.load(params),
            Method::Branch => self.branch(params),
            Method::Redact => self.redact(params),
            Method::Search => self.search(params),
            Method::ListSessions => self.list_sessions(params),
            Method::Verify => self.verify(params),
        }
    }
}
