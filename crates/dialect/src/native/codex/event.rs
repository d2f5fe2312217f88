//! The log of the screen: usage, titles and rolled back turns. In a session without the log of the model, also the
//! messages.

use tertulia_session::json::{self, Object};
use tertulia_session::{EntryKind, Part, PartKind, Role};

use super::{Item, Reader, content, non_message, take_words};
use crate::native::{ProblemKind, ReadSession};

impl Reader {
    pub(super) fn event(&mut self, mut event: Object<'_>, facts: &mut ReadSession) -> Item {
        let kind = take_words(&mut event, "type").unwrap_or_default();
        match &*kind {
            "token_count" => self.token_count(event),
            "thread_rolled_back" => self.roll_back(event),
            "thread_name_updated" => {
                let name = take_words(&mut event, "thread_name").filter(|name| !name.is_empty());
                facts.title = name.map(Into::into).or_else(|| facts.title.take());
                non_message(Some("event_msg/thread_name_updated"))
            }
            "" => non_message(Some("event_msg"))
                .with_problem(ProblemKind::Field { field: "payload.type" }),
            _ if self.has_items => non_message(Some(&format!("event_msg/{kind}"))),
            _ => match message_of_event(&kind, event) {
                Some((role, parts)) => self.on_screen(&kind, role, parts),
                None => non_message(Some(&format!("event_msg/{kind}"))),
            },
        }
    }

    /// Rolls back the last turns. The next record continues before them.
    fn roll_back(&mut self, mut event: Object<'_>) -> Item {
        let item = non_message(Some("event_msg/thread_rolled_back"));
        let turns = event.take("num_turns").and_then(|raw| json::whole_number(raw).ok());
        match turns {
            Some(turns) => Item { parent: self.log.roll_back(turns), ..item },
            None => item.with_problem(ProblemKind::Field { field: "payload.num_turns" }),
        }
    }

    /// Reads a message of the screen, if the log of the model has no messages so far.
    fn on_screen(&mut self, kind: &str, role: Role, parts: Vec<Part>) -> Item {
        let parts = match role {
            Role::User => content::keep_said(parts, &[]),
            _ => parts,
        };
        if parts.is_empty() {
            return non_message(Some(&format!("event_msg/{kind}")));
        }
        let message = self.speakers.message(role, parts);
        self.log.show(&message);
        Item::new(EntryKind::Message(message))
    }
}

/// Returns the text of an event, and its role.
fn message_of_event(kind: &str, mut event: Object<'_>) -> Option<(Role, Vec<Part>)> {
    match kind {
        "user_message" => {
            let mut parts = text(take_words(&mut event, "message")?.into());
            let images = event.take_some("images").and_then(|raw| json::elements(raw).ok());
            parts.extend(
                images.unwrap_or_default().into_iter().map(|raw| content::image(&json::words(raw))),
            );
            Some((Role::User, parts))
        }
        "agent_message" => Some((Role::Assistant, text(take_words(&mut event, "message")?.into()))),
        "agent_reasoning" => {
            let thought = take_words(&mut event, "text")?;
            Some((Role::Assistant, vec![Part::new(PartKind::Thinking(thought.into()))]))
        }
        "item_completed" => {
            let mut item = Object::try_from(event.take("item")?).ok()?;
            let role = match &*take_words(&mut item, "type")? {
                "UserMessage" => Role::User,
                "AgentMessage" => Role::Assistant,
                _ => return None,
            };
            Some((role, content::read(item.take("content")?)?))
        }
        _ => None,
    }
}

fn text(text: String) -> Vec<Part> {
    if text.is_empty() { Vec::new() } else { vec![Part::text(text)] }
}
