//! Permission requests of agents of the Agent Client Protocol. [`super::Acp`] calls it.

use super::tool::Call;
use super::{Acp, AgentAsk, AgentPermission, PermissionChoice, PermissionRequest};
use crate::stream::client::{refused, reply, text};
use crate::stream::event::ViolationKind;
use crate::stream::fields::{Refusal, Value};
use crate::stream::turn::Turn;
use crate::stream::{LineKind, Reading};

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
                self.ask(AgentAsk::Permit(permission));
                Ok(LineKind::Known)
            }
            Err(refusal) => {
                self.ask(AgentAsk::Send(match refusal {
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
    ) -> Result<AgentPermission, Refusal> {
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
        Ok(AgentPermission { id: id.into(), call: call.id, request })
    }
}

/// Returns the response to a permission request, with this choice or none.
pub(in crate::stream) fn chosen(id: &str, choice: Option<&str>) -> String {
    let outcome = match choice {
        Some(choice) => format!(r#"{{"outcome":"selected","optionId":{}}}"#, text(choice)),
        None => r#"{"outcome":"cancelled"}"#.to_owned(),
    };
    reply(id, &format!(r#""result":{{"outcome":{outcome}}}"#))
}
