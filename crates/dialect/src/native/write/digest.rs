//! Digests of the texts, calls and results in messages. An agent that keeps its sessions in its own database, or
//! rewrites its file, changes the records that were written for it. The digests distinguish these records from those
//! that the agent added.

use tertulia_session::{Message, PartKind, Role};

use super::steps::UNANSWERED;
use crate::Placeholder;

/// Returns a digest for every text, call and result of a message. Blank texts and other parts have no digest.
pub fn digests(message: &Message) -> Vec<u32> {
    let is_answer = message.effective_role() == Role::Assistant;
    let digest = |kind: &PartKind| match kind {
        PartKind::Text(text) if text.trim().is_empty() => None,
        PartKind::Text(text) => Some(hash(if is_answer { "answer" } else { "text" }, text.trim())),
        PartKind::ToolCall(call) => Some(hash("call", &call.tool_call_id)),
        PartKind::ToolResult(result) => Some(hash("result", &result.tool_call_id)),
        PartKind::Thinking(_) | PartKind::Image(_) | PartKind::FileRef(_) | PartKind::Other(_) => {
            None
        }
    };
    message.parts.iter().filter_map(|part| digest(&part.kind)).collect()
}

/// Returns the digests of the texts that are added to a conversation when it is written.
pub fn added_digests() -> [u32; 2] {
    [hash("text", Placeholder::Opening.words()), hash("answer", UNANSWERED)]
}

/// FNV-1a folded to 32 bits. It must be the same in every version, because it is stored.
fn hash(kind: &str, text: &str) -> u32 {
    let step = |hash: u64, byte| (hash ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3);
    let bytes = kind.bytes().chain([0]).chain(text.bytes());
    let hash = bytes.fold(0xcbf2_9ce4_8422_2325, step);
    #[expect(clippy::cast_possible_truncation, reason = "it is folded to 32 bits")]
    let folded = ((hash >> 32) ^ hash) as u32;
    folded
}

#[cfg(test)]
mod tests {
    use super::*;
    use tertulia_session::Part;

    fn digests_of(role: Role, text: &str) -> Vec<u32> {
        digests(&Message::with_role(role, [Part::text(text)].into_iter().collect()))
    }

    #[test]
    fn a_text_is_recognized_with_other_spaces_around_it_and_not_with_another_role() {
        assert_eq!(digests_of(Role::User, "Go on."), digests_of(Role::User, " Go on.\n"));
        assert_ne!(digests_of(Role::User, "Go on."), digests_of(Role::Assistant, "Go on."));
        assert_ne!(digests_of(Role::User, "Go on."), digests_of(Role::User, "Go on"));
        assert!(digests_of(Role::User, " ").is_empty());
    }

    #[test]
    fn digests_are_the_same_in_every_version() {
        assert_eq!(digests_of(Role::User, "Go on."), [GO_ON]);
    }

    const GO_ON: u32 = 0xa9d8854c;
}
