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
use super::quotes::{Stretch, quoted};
use super::recipe::{Recipe, Step, escaped};
use crate::team::{Team, TeamMember};

/// What an endpoint is sent.
pub(super) struct Body {
    /// The fields of a request that hold the messages, as a JSON object.
    pub(super) json: String,
    /// How they are made from the log, where that can be told.
    pub(super) recipe: Option<Recipe>,
}

/// One message for the model, and how its text is made from the log.
struct Text<'p> {
    role: Role,
    text: Cow<'p, str>,
    steps: Option<Vec<(Step, usize)>>,
}

/// The fields of a request that hold the messages, as a JSON object. After an overflow the context is
/// cut further than its count says.
pub(super) fn body(
    pieces: &Pieces<'_>,
    team_task: Option<&str>,
    team: &Team,
    member: &TeamMember,
    after_overflow: bool,
) -> Result<Body, ContextError> {
    let system = system_text(team_task, team, member);
    let system_prompt = (!system.is_empty()).then_some(&*system);
    let texts = texts(pieces, &member.member.name);
    let mut entries = entries(&texts);
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
    let json = Dialect::OpenAiChat.render(&ModelContext::of(&messages)).fragment.to_json();
    let recipe = recipe_of(&json, &messages, &texts, &stretches(pieces, team_task));
    Ok(Body { json, recipe })
}

/// How the JSON is made from the log. What was cut off the conversation is summarised in the words of its
/// messages: these are referred to as well.
fn recipe_of(
    json: &str,
    messages: &[Message],
    texts: &[Text<'_>],
    said: &[Stretch<'_>],
) -> Option<Recipe> {
    let mut recipe = Recipe::default();
    let (mut from, mut next) = (0, 0);
    for text in messages.iter().map(Message::text) {
        let written = escaped(&text);
        let at = from + json.get(from..)?.find(&written)?;
        recipe.words(json.get(from..at)?);
        let left = texts.get(next..).unwrap_or_default();
        match left.iter().position(|one| one.text == text) {
            Some(further) => {
                let steps = left.get(further)?.steps.as_deref()?;
                steps.iter().for_each(|(step, _)| push_escaped(&mut recipe, step));
                next += further + 1;
            }
            None => quoted(&text, said).iter().for_each(|step| push_escaped(&mut recipe, step)),
        }
        from = at + written.len();
    }
    recipe.words(json.get(from..)?);
    Some(recipe)
}

/// Adds a step as it is written inside of a JSON string.
fn push_escaped(recipe: &mut Recipe, step: &Step) {
    match step {
        Step::Words(words) => recipe.words(&escaped(words)),
        Step::Said { place, range, .. } => {
            let range = range.clone();
            recipe.0.push(Step::Said { place: *place, range, is_escaped: true });
        }
        other => recipe.0.push(other.clone()),
    }
}

/// All that is said in the pieces, by its entries.
fn stretches<'p>(pieces: &'p Pieces<'_>, team_task: Option<&'p str>) -> Vec<Stretch<'p>> {
    let contents = pieces.context.iter().map(|one| &*one.content).chain([&*pieces.current.text]);
    let sources =
        pieces.sources.iter().map(Option::as_deref).chain([pieces.current.steps.as_deref()]);
    let mut said = Vec::new();
    for (content, steps) in contents.zip(sources) {
        let mut at = 0;
        for (step, bytes) in steps.unwrap_or_default() {
            if let Step::Said { place, range, .. } = step
                && let Some(text) = content.get(at..at + bytes)
            {
                let start = range.as_ref().map_or(0, |range| range.start);
                said.push(Stretch { place: *place, start, text });
            }
            at += bytes;
        }
    }
    if let Some((place, text)) = pieces.task_place.zip(team_task) {
        said.push(Stretch { place, start: 0, text });
    }
    said
}

fn system_text(team_task: Option<&str>, team: &Team, member: &TeamMember) -> String {
    let task = team_task.map(|task| format!("The team's task: {task}"));
    let texts = [team.system_text(member), task];
    let texts: Vec<String> =
        texts.into_iter().flatten().filter(|text| !text.trim().is_empty()).collect();
    texts.join("\n\n")
}

/// What the member said itself is an assistant's; all else is a user's, with who said it to whom.
fn texts<'p>(pieces: &'p Pieces<'_>, member: &str) -> Vec<Text<'p>> {
    let said = |from: &str, to: &str, text: &str, steps: Option<&[(Step, usize)]>| {
        let names = format!("{from} -> {to}: ");
        let steps = steps.map(|steps| {
            let names = (Step::Words(names.as_str().into()), names.len());
            [names].into_iter().chain(steps.iter().cloned()).collect()
        });
        Text { role: Role::User, text: Cow::Owned(names + text), steps }
    };
    let mut texts = Vec::with_capacity(pieces.context.len() + 1);
    for ((one, steps), is_own) in pieces.context.iter().zip(&pieces.sources).zip(&pieces.own) {
        texts.push(if *is_own {
            let text = Cow::Borrowed(&*one.content);
            Text { role: Role::Assistant, text, steps: steps.clone() }
        } else {
            said(&one.from, one.to.as_deref().unwrap_or("all"), &one.content, steps.as_deref())
        });
    }
    let sender = pieces.sender.as_deref().unwrap_or("all");
    texts.push(said(sender, member, &pieces.current.text, pieces.current.steps.as_deref()));
    texts
}

fn entries(texts: &[Text<'_>]) -> Vec<Entry> {
    let mut entries: Vec<Entry> = Vec::with_capacity(texts.len());
    for Text { role, text, .. } in texts {
        let message = Message::of_role(*role, Parts::from([Part::text(text.to_string())]));
        let new = NewEntry::new(EntryKind::Message(message));
        let new = match entries.last() {
            Some(last) => new.after(last),
            None => new,
        };
        entries.push(new.with_content_id());
    }
    entries
}
