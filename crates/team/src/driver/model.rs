//! What a member gets that takes model messages: the same pieces as a prompt, each as a message of its
//! own, within the member's tokens. Each has the label that it has in a prompt and its lines are indented, so that
//! one message does not read as two where an endpoint joins them.

use std::borrow::Cow;

use tertulia_context::builder::{
    ContextBuildInput, ContextBuilder, ContextConfig, ContextError, ContextUpdateRequest,
};
use tertulia_context::compact::Compactor;
use tertulia_context::{
    ContextKind, ContextMessage, INDENT, LabelPiece, LineStart, indented, indents,
};
use tertulia_dialect::{Dialect, ModelContext};
use tertulia_session::{Addressee, Entry, EntryKind, Message, NewEntry, Part, Parts, Role};

use super::prompt::Pieces;
use super::quotes::{Stretch, quoted};
use super::recipe::{Recipe, Step, escaped};
use super::steps::written;
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
    let system = system_text(pieces, team_task, team, member);
    let system_prompt = (!system.text.is_empty()).then_some(&*system.text);
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
    let texts: Vec<&Text<'_>> = [&system].into_iter().chain(&texts).collect();
    let recipe = recipe_of(&json, &messages, &texts, &stretches(pieces, team_task));
    Ok(Body { json, recipe })
}

/// How the JSON is made from the log. What was cut off the conversation is summarised in the words of its
/// messages: these are referred to as well.
fn recipe_of(
    json: &str,
    messages: &[Message],
    texts: &[&Text<'_>],
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
            None => {
                let steps = quoted(&text, said).into_iter().map(Step::plain);
                steps.for_each(|step| push_escaped(&mut recipe, &step));
            }
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
        Step::Said { place, range, is_indented, .. } => {
            let (place, range, is_indented) = (*place, range.clone(), *is_indented);
            recipe.0.push(Step::Said { place, range, is_indented, is_escaped: true });
        }
        other => recipe.0.push(other.clone()),
    }
}

/// All that is said in the pieces, by its entries.
fn stretches<'p>(pieces: &'p Pieces<'_>, team_task: Option<&'p str>) -> Vec<Stretch<'p>> {
    let contents = pieces.context.iter().map(|one| &*one.content).chain([&*pieces.current.text]);
    let sources = pieces.sources.iter().map(|source| source.steps.as_deref());
    let sources = sources.chain([pieces.current.steps.as_deref()]);
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

/// The system text: what the team file and the program say, then the task.
fn system_text(
    pieces: &Pieces<'_>,
    team_task: Option<&str>,
    team: &Team,
    member: &TeamMember,
) -> Text<'static> {
    let mut text =
        team.system_text(member).filter(|text| !text.trim().is_empty()).unwrap_or_default();
    let words = |text: &str| (Step::Words(text.into()), text.len());
    let steps = match team_task.filter(|task| !task.trim().is_empty()) {
        None => Some(vec![words(&text)]),
        Some(task) => {
            text.push_str(if text.is_empty() { "" } else { "\n\n" });
            text.push_str("[TEAM_TASK]\n");
            text.push_str(if indents(task, LineStart::Margin).next() == Some(0) {
                INDENT
            } else {
                ""
            });
            let before = words(&text);
            text.push_str(&indented(task, LineStart::Label));
            let said = pieces.task_place.map(|place| Step::said(place, 0..task.len()));
            said.map(|said| vec![before, (said, task.len())])
        }
    };
    Text { role: Role::System, text: Cow::Owned(text), steps }
}

/// What the member said itself is an assistant's; all else is a user's, with who said it to whom.
fn texts<'p>(pieces: &'p Pieces<'_>, member: &str) -> Vec<Text<'p>> {
    let mut texts = Vec::with_capacity(pieces.context.len() + 1);
    for ((one, source), is_own) in pieces.context.iter().zip(&pieces.sources).zip(&pieces.own) {
        let steps = source.steps.as_deref();
        texts.push(if *is_own {
            let body = tertulia_context::Body { text: &one.content, indent: None };
            let steps = steps.map(|steps| written(steps, body));
            Text { role: Role::Assistant, text: Cow::Borrowed(&*one.content), steps }
        } else {
            labelled(one, source.place, steps)
        });
    }
    if let Some((sender, by)) = &pieces.sender {
        let to = [Addressee::named(member)];
        let kind = ContextKind::Speech { to: &to, by: *by };
        let (from, content) = (Cow::Borrowed(&**sender), Cow::Borrowed(&*pieces.current.text));
        let current = ContextMessage { from, to: None, content, kind };
        texts.push(labelled(&current, 0, pieces.current.steps.as_deref()));
    }
    texts
}

/// What somebody else said: a label, then the content with its further lines indented. `place` is that of its entry.
fn labelled(
    message: &ContextMessage<'_>,
    place: usize,
    steps: Option<&[(Step, usize)]>,
) -> Text<'static> {
    let mut text = String::new();
    let mut made = Vec::new();
    let words = |text: &str| (Step::Words(text.into()), text.len());
    let mut from = 0;
    message.for_each_label_piece(|piece| {
        if let LabelPiece::Id(id) = piece {
            made.extend([words(&text[from..]), (Step::Id(place), id.len())]);
            from = text.len() + id.len();
        }
        text.push_str(piece.text());
    });
    made.push(words(&text[from..]));
    let body = tertulia_context::Body { text: &message.content, indent: Some(LineStart::Label) };
    body.for_each_stretch(|stretch| text.push_str(stretch));
    let steps = steps.map(|steps| {
        made.extend(written(steps, body));
        made
    });
    Text { role: Role::User, text: Cow::Owned(text), steps }
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
