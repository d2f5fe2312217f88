//! Results of tools that arrive after their calls were handed over. A result alone is no valid part of a conversation, so
//! the agent gets it as a message of the user that names the call.

use std::collections::HashMap;

use tertulia_session::{Entry, Message, Part, PartKind, ResultPiece, Role, ToolResult};

/// The calls that the agent's session has without a result, with the names of their tools.
#[derive(Debug)]
pub(super) struct OpenCalls<'a>(HashMap<&'a str, &'a str>);

/// The late results of one message.
#[derive(Debug)]
pub(super) struct LateResults {
    /// The indexes of the parts.
    pub parts: Vec<usize>,
    pub message: Message,
}

impl<'a> OpenCalls<'a> {
    /// Finds the calls of the branch before what is new.
    pub(super) fn new(entries: &'a [Entry], branch: &[usize], new: &[usize]) -> Self {
        let mut open = HashMap::new();
        let parts = |at: &usize| {
            let message = entries.get(*at).and_then(Entry::message);
            message.map_or(&[][..], |message| message.parts.as_slice())
        };
        for at in branch {
            let is_new = new.binary_search(at).is_ok();
            for part in parts(at) {
                match &part.kind {
                    PartKind::ToolCall(call) if is_new => {
                        open.remove(&*call.tool_call_id);
                    }
                    PartKind::ToolCall(call) => {
                        open.insert(&*call.tool_call_id, &*call.tool_name);
                    }
                    PartKind::ToolResult(result) if !is_new => {
                        open.remove(&*result.tool_call_id);
                    }
                    _ => {}
                }
            }
        }
        Self(open)
    }

    /// Takes the results of these calls out of a new message.
    pub(super) fn take(&mut self, message: &Message) -> Option<LateResults> {
        let (mut parts, mut said) = (Vec::new(), Vec::new());
        for (at, part) in message.parts.iter().enumerate() {
            let PartKind::ToolResult(result) = &part.kind else { continue };
            let Some(name) = self.0.remove(&*result.tool_call_id) else { continue };
            parts.push(at);
            said.push(Part::text(text(name, result)));
            said.extend(result.pieces().filter_map(|piece| match piece {
                ResultPiece::Image(image) => Some(Part::new(PartKind::Image(Box::new(image)))),
                ResultPiece::Text(_) | ResultPiece::Other(_) => None,
            }));
        }
        let message = Message::with_role(Role::User, said.into_iter().collect());
        (!parts.is_empty()).then_some(LateResults { parts, message })
    }
}

fn text(name: &str, result: &ToolResult) -> String {
    let what = if result.is_error { "failed" } else { "has its result now" };
    format!("[The tool call {name} ({}) {what}:]\n{}", result.tool_call_id, result.text())
}
