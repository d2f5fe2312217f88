//! Chooses the messages that are handed over: all of them, or those that fit, with summaries and stubs instead of the
//! rest.

use std::borrow::Cow;
use std::collections::HashMap;

use tertulia_context::builder::{
    ContextBuildInput, ContextBuilder, ContextConfig, ContextIndex, MessageRef, Source,
};
use tertulia_context::tokens::{MessageCounter, Tokenizer, find_model};
use tertulia_context::view::{Labels, Perspective, Stripping};
use tertulia_context::{SpokenBy, Strip, Verdict};
use tertulia_dialect::native::NativeFormat;
use tertulia_dialect::native::write::WriteMessage;
use tertulia_session::{Entry, EntryId, EntryIndex, EntryKind, Message, Role, Timestamp};

use super::held::Held;
use super::late::{LateResults, OpenCalls};
use super::{HandoverError, HandoverOptions};

/// Tokens that an agent needs for its own system prompt and tools. In a small window it is at most a quarter.
const AGENT_TOKENS: u64 = 32_000;
/// A name that no member has. Token usage that other models reported is not valid for the next model, so it is
/// ignored.
const NO_MEMBER: &str = "tertulia/handover";

/// The messages that are handed over.
#[derive(Debug)]
pub(super) struct Selection<'a> {
    pub messages: Vec<Selected<'a>>,
    /// The outcome of every entry of the log. Empty if nothing had to be left out.
    pub verdicts: HashMap<EntryId, Verdict>,
    /// The results that are handed over as messages of their own.
    pub late: Vec<Late>,
    /// What the agent's session has already; `None` for a new session.
    pub held: Option<Held>,
}

/// Results of an entry that were handed over later than their calls.
#[derive(Debug)]
pub(super) struct Late {
    pub entry: EntryId,
    /// The indexes of its parts.
    pub parts: Vec<usize>,
    /// The index of the message that has them.
    pub message: usize,
}

/// A message that is handed over.
#[derive(Debug)]
pub(super) struct Selected<'a> {
    pub source: Cow<'a, EntryId>,
    pub message: Cow<'a, Message>,
    pub timestamp: Option<Timestamp>,
    pub origin: Origin,
}

/// The origin of a message.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Origin {
    /// It is the unchanged message of its source.
    Entry,
    /// It is the changed message of its source, with stubs or with a label of its speaker.
    Changed,
    /// It is a new message, such as a summary.
    Added,
}

impl Selected<'_> {
    pub(super) fn to_write(&self) -> WriteMessage<'_> {
        let (source, message) = (&*self.source, &*self.message);
        WriteMessage { source, message, timestamp: self.timestamp.as_ref() }
    }
}

/// Returns the window of the model that an agent uses by default.
pub fn default_window(to: NativeFormat) -> u64 {
    match to {
        NativeFormat::Gemini => 1_048_576,
        NativeFormat::Codex => 272_000,
        NativeFormat::Claude
        | NativeFormat::Opencode
        | NativeFormat::Copilot
        | NativeFormat::Pi
        | NativeFormat::Goose
        | NativeFormat::Cline
        | NativeFormat::Aider => 200_000,
    }
}

/// Chooses from the whole session.
pub(super) fn select<'a>(
    entries: &'a [Entry],
    index: &EntryIndex,
    options: &HandoverOptions<'_>,
) -> Result<Selection<'a>, HandoverError> {
    let spoken_by = |_: &Message| SpokenBy::Member;
    let own = own_member(entries, options)?;
    let perspective = own.as_deref().map(|member| Perspective {
        member,
        strip: Stripping::Rewrite(Strip::Preserve),
        labels: Labels::SpokenBy(&spoken_by),
        is_partial: |_| false,
    });
    let mut config = config(options);
    config.max_history_messages = options.last;
    if options.last.is_some() {
        // The whole budget may be used: the person asked for an exact number of messages, and nothing is appended
        // later.
        config.target_permille = 1_000;
    }
    let builder = ContextBuilder::new(config)?.with_counter(counter(options)).for_member(NO_MEMBER);
    let mut context_index = ContextIndex::new();
    let built = builder.build_with(
        &mut context_index,
        &ContextBuildInput {
            session_entries: entries,
            explain: true,
            perspective: perspective.as_ref(),
            ..ContextBuildInput::default()
        },
    )?;
    let log = (entries, index);
    let mut messages: Vec<Selected<'a>> = Vec::new();
    let mut recalled = None;
    for one in built.model_messages {
        match one.source {
            Source::System | Source::RuntimeHints | Source::Closing => {}
            Source::Recall => {
                let mut message = one.message.into_owned();
                // From now on, recalled passages are part of the conversation.
                message.meta = None;
                recalled = Some(added(EntryId::from("recall"), message));
            }
            Source::Summary(id) => messages.push(added(id, one.message.into_owned())),
            Source::Entry(id) => {
                messages.push(of_entry(log, id, one.message, perspective.is_some()));
            }
        }
    }
    if let Some(recalled) = recalled {
        let is_request = |one: &Selected<'_>| one.message.effective_role() == Role::User;
        let at = messages.iter().rposition(is_request).unwrap_or(messages.len());
        messages.insert(at, recalled);
    }
    fill_times(&mut messages);
    let verdicts = built.verdicts.into_iter().map(|one| (one.entry.clone(), one)).collect();
    Ok(Selection { messages, verdicts, late: Vec::new(), held: None })
}

/// Returns a message that the log does not contain.
fn added<'a>(source: EntryId, message: Message) -> Selected<'a> {
    let (source, message) = (Cow::Owned(source), Cow::Owned(message));
    Selected { source, message, timestamp: None, origin: Origin::Added }
}

/// Returns the message of an entry in the form that the context has.
fn of_entry<'a>(
    (entries, index): (&[Entry], &EntryIndex),
    id: EntryId,
    message: MessageRef<'_>,
    is_labelled: bool,
) -> Selected<'a> {
    let entry = index.position(&id).and_then(|position| entries.get(position));
    let said = entry.and_then(Entry::message);
    let timestamp = entry.and_then(|entry| entry.timestamp.clone());
    let is_other_role = |said: &Message| said.effective_role() != message.effective_role();
    let origin = match (&message, said) {
        (MessageRef::Logged(_), _) => Origin::Entry,
        // This is a new message, such as a result that was made for a call of the entry.
        (_, Some(said)) if is_other_role(said) && !is_labelled => Origin::Added,
        _ => Origin::Changed,
    };
    Selected {
        source: Cow::Owned(id),
        timestamp: timestamp.or_else(|| said?.timestamp.clone()),
        message: Cow::Owned(message.into_owned()),
        origin,
    }
}

/// Chooses the new messages since an earlier handover. `None` if they exceed the agent's window, so that a new
/// session is needed.
pub(super) fn select_new<'a>(
    entries: &'a [Entry],
    (branch, new): (&[usize], &[usize]),
    options: &HandoverOptions<'_>,
) -> Result<Option<Selection<'a>>, HandoverError> {
    let last = options.last.and_then(|last| usize::try_from(last).ok()).unwrap_or(usize::MAX);
    let is_message =
        |index: &&usize| entries.get(**index).is_some_and(|one| one.message().is_some());
    let skipped = new.iter().filter(is_message).count().saturating_sub(last);
    let own = own_member(entries, options)?;
    let counter = counter(options);
    let limit = config(options).max_input_tokens;
    let mut tokens = 0;
    let (mut messages, mut late) = (Vec::new(), Vec::new());
    let mut open_calls = OpenCalls::new(entries, branch, new);
    let spoken_by = |_: &Message| SpokenBy::Member;
    for index in new.iter().filter(is_message).skip(skipped) {
        let Some(entry) = entries.get(*index) else { continue };
        let EntryKind::Message(message) = &entry.kind else { continue };
        tokens += counter.count_message(message).count.tokens;
        let timestamp = entry.timestamp.clone().or_else(|| message.timestamp.clone());
        let is_own = own.as_deref().is_none_or(|member| is_said_by(message, member));
        let results = if is_own { open_calls.take(message) } else { None };
        if results.as_ref().is_some_and(|late| late.parts.len() == message.parts.len()) {
            push_late(&mut messages, &mut late, (entry, timestamp), results);
            continue;
        }
        let (said, origin) = match &own {
            None => (Cow::Borrowed(message), Origin::Entry),
            Some(member) => {
                let perspective = Perspective {
                    member,
                    strip: Stripping::Rewrite(Strip::Preserve),
                    labels: Labels::SpokenBy(&spoken_by),
                    is_partial: |_| false,
                };
                let read = perspective.model_message(*index, entry, message);
                (Cow::Owned(read), Origin::Changed)
            }
        };
        let source = Cow::Borrowed(&entry.id);
        messages.push(Selected { source, message: said, timestamp: timestamp.clone(), origin });
        push_late(&mut messages, &mut late, (entry, timestamp), results);
    }
    if tokens > limit {
        return Ok(None);
    }
    fill_times(&mut messages);
    Ok(Some(Selection { messages, verdicts: HashMap::new(), late, held: None }))
}

/// Adds the message with the late results of an entry.
fn push_late<'a>(
    messages: &mut Vec<Selected<'a>>,
    late: &mut Vec<Late>,
    (entry, timestamp): (&'a Entry, Option<Timestamp>),
    results: Option<LateResults>,
) {
    let Some(LateResults { parts, message }) = results else { return };
    late.push(Late { entry: entry.id.clone(), parts, message: messages.len() });
    let (source, message) = (Cow::Borrowed(&entry.id), Cow::Owned(message));
    messages.push(Selected { source, message, timestamp, origin: Origin::Added });
}

fn is_said_by(message: &Message, member: &str) -> bool {
    message.speaker.as_deref().is_some_and(|speaker| *speaker.role_id == *member)
}

fn config(options: &HandoverOptions<'_>) -> ContextConfig {
    if let Some(budget) = options.budget {
        return ContextConfig::new(budget);
    }
    let known = options.model.and_then(find_model).and_then(|model| model.window);
    let window = known.unwrap_or_else(|| default_window(options.to));
    let mut config = ContextConfig::for_window(window);
    config.reserve_tokens = AGENT_TOKENS.min(window / 4);
    config
}

fn counter(options: &HandoverOptions<'_>) -> MessageCounter {
    match options.model.and_then(find_model) {
        Some(model) => MessageCounter::for_model(model),
        None => MessageCounter::new(match options.to {
            NativeFormat::Codex | NativeFormat::Copilot => Tokenizer::O200k,
            NativeFormat::Gemini => Tokenizer::Gemma,
            _ => Tokenizer::default(),
        }),
    }
}

/// Returns the speaker in whose role the agent continues, if several members of a team spoke. `None` if messages of
/// the log have only roles.
fn own_member(
    entries: &[Entry],
    options: &HandoverOptions<'_>,
) -> Result<Option<String>, HandoverError> {
    let is_team = entries.iter().any(|entry| entry.turn().is_some());
    if !is_team && options.member.is_none() {
        return Ok(None);
    }
    let mut speakers: Vec<&str> = Vec::new();
    let mut last_agent = None;
    for speaker in entries.iter().filter_map(|entry| entry.message()?.speaker.as_deref()) {
        if !speakers.contains(&&*speaker.role_id) {
            speakers.push(&speaker.role_id);
        }
        if speaker.is_ai() {
            last_agent = Some(&*speaker.role_id);
        }
    }
    match options.member {
        Some(member) if !speakers.contains(&member) => Err(HandoverError::UnknownMember {
            member: member.to_owned(),
            speakers: speakers.join(", "),
        }),
        Some(member) => Ok(Some(member.to_owned())),
        None => {
            let by_name = speakers.iter().find(|one| **one == options.to.as_str()).copied();
            Ok(by_name.or(last_agent).map(str::to_owned))
        }
    }
}

/// Gives each message without a time the time of the next message.
fn fill_times(messages: &mut [Selected<'_>]) {
    let mut next = None;
    for one in messages.iter_mut().rev() {
        match &one.timestamp {
            Some(timestamp) => next = Some(timestamp.clone()),
            None => one.timestamp.clone_from(&next),
        }
    }
}
