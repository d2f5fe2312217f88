//! What a member gets that takes model messages: the same pieces as a prompt, each as a message of its
//! own, within the member's tokens.

use std::borrow::Cow;

use tertulia_context::builder::{
    ContextBuildInput, ContextBuilder, ContextConfig, ContextError, ContextUpdateRequest,
};
use tertulia_context::compact::Compactor;
use tertulia_dialect::{Dialect, ModelContext};
use tertulia_session::{Entry, EntryKind, Message, NewEntry, Part, Parts, Role};

use super::prompt::Pieces;
use crate::team::TeamMember;

/// The fields of a request that hold the messages, as a JSON object. After an overflow the context is
/// cut further than its count says.
pub(super) fn body(
    pieces: &Pieces<'_>,
    team_task: Option<&str>,
    member: &TeamMember,
    after_overflow: bool,
) -> Result<String, ContextError> {
    let system = system_text(team_task, member);
    let system_prompt = (!system.is_empty()).then_some(&*system);
    let mut entries = entries(pieces);
    let config = ContextConfig::new(member.budget_tokens.max(1));
    let builder = ContextBuilder::new(config)?.with_compactor(Compactor::Extractive);
    if after_overflow {
        let update = builder.compute_context_updates(&ContextUpdateRequest {
            session_entries: &entries,
            overflow_hint: true,
            system_prompt,
            ..ContextUpdateRequest::default()
        })?;
        entries.extend(update.entries_to_append);
    }
    let built = builder.build_context(&ContextBuildInput {
        system_prompt,
        session_entries: &entries,
        ..ContextBuildInput::default()
    })?;
    let messages: Vec<Message> =
        built.model_messages.iter().map(|one| (*one.message).clone()).collect();
    Ok(Dialect::OpenAiChat.render(&ModelContext::of(&messages)).fragment.to_json())
}

fn system_text(team_task: Option<&str>, member: &TeamMember) -> String {
    let task = team_task.map(|task| format!("The team's task: {task}"));
    let texts = [member.instruction.as_deref().map(Cow::Borrowed), task.map(Cow::Owned)];
    let texts: Vec<Cow<'_, str>> =
        texts.into_iter().flatten().filter(|text| !text.trim().is_empty()).collect();
    texts.join("\n\n")
}

/// What the member said itself is an assistant's; all else is a user's, with who said it.
fn entries(pieces: &Pieces<'_>) -> Vec<Entry> {
    let mut entries: Vec<Entry> = Vec::with_capacity(pieces.context.len() + 1);
    let mut add = |role: Role, text: String| {
        let message = Message::of_role(role, Parts::from([Part::text(text)]));
        let new = NewEntry::new(EntryKind::Message(message));
        let new = match entries.last() {
            Some(last) => new.after(last),
            None => new,
        };
        entries.push(new.with_content_id());
    };
    for (one, is_own) in pieces.context.iter().zip(&pieces.own) {
        if *is_own {
            add(Role::Assistant, one.content.to_string());
        } else {
            let to = one.to.as_deref().unwrap_or("all");
            add(Role::User, format!("{} -> {to}: {}", one.from, one.content));
        }
    }
    add(Role::User, pieces.current.to_string());
    entries
}
