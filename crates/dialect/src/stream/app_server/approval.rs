//! Requests of `codex app-server`. It waits for an answer, so every request is answered: an approval is passed on to
//! the caller, and all others are refused.

use super::AppServer;
use super::item::snake_case;
use crate::stream::client::{AgentAsk, AgentPermission, PermissionChoice, PermissionRequest, text};
use crate::stream::fields::Value;
use crate::stream::turn::Turn;
use crate::stream::{LineKind, Reading};

/// Each kind of approval with the words for: yes, yes for this session, no.
const APPROVALS: [(&str, [&str; 3]); 4] = [
    ("item/commandExecution/requestApproval", ["accept", "acceptForSession", "decline"]),
    ("item/fileChange/requestApproval", ["accept", "acceptForSession", "decline"]),
    ("execCommandApproval", ["approved", "approved_for_session", "denied"]),
    ("applyPatchApproval", ["approved", "approved_for_session", "denied"]),
];

impl AppServer {
    pub(super) fn read_request(
        &mut self,
        id: &str,
        method: &str,
        params: Value<'_>,
        turn: &mut Turn,
    ) -> Reading {
        let known = APPROVALS.iter().find(|(name, _)| *name == method);
        let is_open = turn.end.is_none() && self.is_sent;
        let Some((_, words)) = known.filter(|_| is_open) else {
            self.asks.push(AgentAsk::Send(refusal(id, method)));
            return Ok(LineKind::Ignored);
        };
        let (item, command, reason) =
            (params.at(&["itemId"]), params.at(&["command"]), params.at(&["reason"]));
        let call = item.word().or_else(|| params.at(&["callId"]).word()).unwrap_or_default();
        let is_file = method.contains("fileChange") || method.contains("Patch");
        let kind = if is_file { "fileChange" } else { "commandExecution" };
        let title = command.text().or_else(|| reason.text());
        let names = ["Allow", "Allow for this session", "Deny"];
        let choices = words.iter().zip(names).enumerate().map(|(index, (word, name))| {
            let (allows, is_lasting) = (index < 2, index == 1);
            PermissionChoice { id: (*word).into(), name: name.into(), allows, is_lasting }
        });
        let request = PermissionRequest {
            title: title.unwrap_or_else(|| snake_case(kind).into_owned()).into(),
            tool: Some(snake_case(kind).into()),
            input: command.is_some().then(|| command.json()),
            choices: choices.collect(),
        };
        self.asks.push(AgentAsk::Permit(AgentPermission { id: id.into(), call, request }));
        Ok(LineKind::Known)
    }

    /// Returns the answer to an approval. Without a choice, it is denied.
    pub(in crate::stream) fn decided(permission: &AgentPermission, choice: Option<&str>) -> String {
        let denied = permission.request.choices.iter().find(|choice| !choice.allows);
        let word = choice.or(denied.map(|denied| &*denied.id)).unwrap_or("decline");
        reply(&permission.id, &format!(r#""result":{{"decision":{}}}"#, text(word)))
    }
}

/// Returns the answer to a request that nobody can be asked about.
fn refusal(id: &str, method: &str) -> String {
    match APPROVALS.iter().find(|(name, _)| *name == method) {
        Some((_, [.., no])) => reply(id, &format!(r#""result":{{"decision":"{no}"}}"#)),
        None if method == "mcpServer/elicitation/request" => {
            reply(id, r#""result":{"action":"decline"}"#)
        }
        None if method == "item/permissions/requestApproval" => {
            reply(id, r#""result":{"permissions":{}}"#)
        }
        None => reply(id, r#""error":{"code":-32601,"message":"this client does not offer it"}"#),
    }
}

/// Returns a response. Line breaks in the agent's id are replaced.
fn reply(id: &str, field: &str) -> String {
    format!("{{\"id\":{},{field}}}\n", id.replace(['\n', '\r'], " "))
}
