//! What a member gets for its turn: the newest messages word for word, before them the minutes of what
//! lies further back and what was recalled for the request; then the message to be answered. Cost
//! follows the window, not the session. Content cannot forge structure in it: only the program writes at the left
//! margin, and the labels say who said what.

use std::borrow::Cow;
use std::ops::Range;

use tertulia_agent::{Mentions, PromptText, apply, prompt_edits};
use tertulia_context::recall::{RecallIndex, RecallQuery};
use tertulia_context::tokens::Tokenizer;
use tertulia_context::{
    AssemblerInput, ContextKind, ContextMessage, PromptStatus, SectionBytes, SpokenBy,
};
use tertulia_session::{Entry, EntryId, Message, Role, Salt, SpeakerType};

use super::log::TableLog;
use super::recipe::{Recipe, Step};
use super::record::is_partial;
use super::steps::{Source, recipe_of};
use crate::message::kept_ranges;
use crate::names::fold;
use crate::team::{Answers, Team, TeamMember};

/// How many tokens of earlier passages are recalled, at most.
const RECALL_TOKENS: u64 = 2_000;
/// How many of the newest messages say what is to be recalled.
const RECENT_MESSAGES: usize = 8;
/// The most of a budget that recall may take, as a divisor.
const RECALL_SHARE: u64 = 8;

/// So many messages before the window go in word for word while no minutes cover them, at most.
const UNCOVERED_MAX: usize = 256;

const CUT_OFF: &str = "\n(the answer was cut off here)";

/// What a member gets.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TurnPrompt {
    /// The prompt, to the byte as it is sent.
    pub text: String,
    /// The system text, where it travels apart.
    pub system: Option<String>,
    /// What became of its parts.
    pub status: PromptStatus,
    /// How large each part is.
    pub bytes: SectionBytes,
    /// How many messages are in it word for word, the one to be answered aside.
    pub kept: usize,
    /// How many of the window are not.
    pub dropped: usize,
    /// How many messages the minutes stand for; 0 without minutes.
    pub covered: usize,
    /// The entries of which passages were recalled.
    pub recalled: Vec<EntryId>,
    /// The prompt before it was made inert, where that changed it.
    pub(super) assembled: Option<String>,
    /// Which of its `@` signs are no risk.
    pub(super) mentions: Mentions,
    /// How it is made from the log, as far as that can be told.
    pub(super) recipe: Option<Recipe>,
    /// The salts of the entries that are quoted in it.
    pub(super) salts: Vec<Salt>,
}

impl TurnPrompt {
    /// Stands for all that the member gets.
    pub fn hash(&self) -> Box<str> {
        hash_of(self.system.as_deref(), &self.text, &self.salts)
    }
}

/// Stands for a system text and what goes with it. The salts of the entries that are quoted in it are part of it,
/// so that it confirms no guess of an entry that is redacted later.
pub(super) fn hash_of(system: Option<&str>, text: &str, salts: &[Salt]) -> Box<str> {
    let mut hasher = blake3::Hasher::new();
    for text in [system.unwrap_or_default(), text] {
        hasher.update(&(text.len() as u64).to_le_bytes());
        hasher.update(text.as_bytes());
    }
    for salt in salts {
        hasher.update(salt.as_bytes());
    }
    let hex = hasher.finalize().to_hex();
    format!("b3-{}", hex.get(..32).unwrap_or(&hex)).into()
}

/// A passage that was recalled.
struct Recalled {
    /// The number of the message.
    number: usize,
    text: String,
}

/// Finds what is no longer in a window. Kept from turn to turn; takes new messages in as they come.
#[derive(Default)]
pub(super) struct Recall {
    index: RecallIndex,
    /// So many messages were taken in.
    until: usize,
}

impl Recall {
    fn catch_up(&mut self, log: &TableLog, until: usize) {
        for number in self.until..until {
            if let Some((_, message)) = log.said(number) {
                self.index.add(number, message);
            }
        }
        self.until = self.until.max(until);
    }

    /// Passages of messages before `first` that the newest ones are about.
    fn passages(
        &mut self,
        log: &TableLog,
        first: usize,
        request: &Message,
        tokens: u64,
    ) -> Vec<Recalled> {
        self.catch_up(log, first);
        let count = log.said_count();
        let recent: Vec<&Message> = (count.saturating_sub(RECENT_MESSAGES)..count)
            .filter_map(|number| log.said(number).map(|(_, message)| message))
            .collect();
        let query = RecallQuery { request: Some(request), recent: &recent };
        let found = self.index.search(
            &query,
            tokens,
            &Tokenizer::Claude,
            |number| number < first,
            |number| log.said(number).map(|(_, message)| message),
        );
        let found = found.into_iter();
        found.map(|passage| Recalled { number: passage.place, text: passage.text }).collect()
    }
}

/// A text of a prompt, and how it is made from the log.
pub(super) struct Sourced<'l> {
    pub(super) text: Cow<'l, str>,
    /// The steps with the bytes that each makes; `None` where that is not known.
    pub(super) steps: Option<Vec<(Step, usize)>>,
}

/// What goes into a prompt, before it is put into a format.
pub(super) struct Pieces<'l> {
    pub(super) context: Vec<ContextMessage<'l>>,
    /// How the content of each of them is made.
    pub(super) sources: Vec<Source>,
    /// Which of them the member said itself.
    pub(super) own: Vec<bool>,
    pub(super) current: Sourced<'l>,
    /// Who wrote the message that is answered.
    pub(super) sender: Option<(Cow<'l, str>, SpokenBy)>,
    /// Whether a person wrote it.
    is_from_person: bool,
    /// The entry that sets the team's task.
    pub(super) task_place: Option<usize>,
    pub(super) covered: usize,
    pub(super) recalled: Vec<EntryId>,
}

/// Puts together what a member gets who is to answer this message.
pub(super) fn pieces<'l>(
    log: &'l TableLog,
    recall: &mut Recall,
    team: &Team,
    member: &TeamMember,
    answers: &EntryId,
    budget: u64,
) -> Pieces<'l> {
    let count = log.said_count();
    let answered = log.number_of(answers).or(count.checked_sub(1));
    let others = count - usize::from(answered.is_some());
    let first = first_of_window(count, member.window, answered);
    // What no minutes cover yet goes in too: nothing may fall between them and the window.
    let until = log.minutes().map_or(0, |(_, covered)| covered);
    let recalls = first.min(until).max(first.saturating_sub(UNCOVERED_MAX));
    // What a person had summarised does not come back, neither word for word nor by recall at once.
    let first = recalls.max(log.compacted());
    let mut context = Vec::with_capacity(others.min(member.window) + 2);
    let mut sources = Vec::with_capacity(context.capacity());
    let minutes = log.minutes().filter(|(_, covered)| first > 0 && *covered > 0);
    let covered = minutes.map_or(0, |(_, covered)| covered);
    if let Some((minutes, _)) = minutes {
        let place = log.minutes_place().unwrap_or_default();
        let content = Cow::Borrowed(&*minutes.summary);
        let kind = ContextKind::Summary { messages: covered };
        context.push(ContextMessage { from: Cow::Borrowed(""), to: None, content, kind });
        let bytes = minutes.summary.len();
        let steps = Some(vec![(Step::said(place, 0..bytes), bytes)]);
        sources.push(Source { place, steps });
    }
    let request = answered.and_then(|number| log.said(number));
    let mut recalled = Vec::new();
    if let Some((_, request)) = request.filter(|_| recalls > 0) {
        let tokens = RECALL_TOKENS.min(budget / 4 / RECALL_SHARE);
        let passages = recall.passages(log, recalls, request, tokens);
        for passage in &passages {
            let Some((entry, message)) = log.said(passage.number) else { continue };
            let (one, source) = recalled_line(log, team, entry, message, &passage.text);
            context.push(one);
            sources.push(source);
            recalled.push(entry.id.clone());
        }
    }
    let mut own = vec![false; context.len()];
    for number in (first..count).filter(|number| Some(*number) != answered) {
        if let Some((entry, message)) = log.said(number) {
            let Sourced { text, steps } = content(log, entry, message);
            context.push(line(team, message, text));
            let place = log.place_of(&entry.id).unwrap_or_default();
            sources.push(Source { place, steps });
            let speaker = message.speaker.as_deref();
            own.push(speaker.is_some_and(|speaker| speaker.role_id == member.member.name));
        }
    }
    let nothing = || Sourced { text: Cow::Borrowed(""), steps: Some(Vec::new()) };
    let current = request.map_or_else(nothing, |(entry, message)| content(log, entry, message));
    let speaker = request.and_then(|(_, message)| message.speaker.as_deref());
    let is_from_person = speaker.is_some_and(|speaker| speaker.kind == Some(SpeakerType::Human));
    let sender = request.map(|(_, message)| (name_of(message), spoken_by(team, message)));
    let task_place = log.team_task_place();
    Pieces { context, sources, own, current, sender, is_from_person, task_place, covered, recalled }
}

/// The number of the first message that goes in word for word: the newest ones, as many as the window
/// has, besides the one that is answered.
fn first_of_window(count: usize, window: usize, answered: Option<usize>) -> usize {
    let first = count.saturating_sub(window);
    match answered {
        Some(answered) if answered >= first => first.saturating_sub(1),
        _ => first,
    }
}

/// Assembles the prompt in the member's format.
pub(super) fn assemble(
    pieces: Pieces<'_>,
    team_task: Option<&str>,
    team: &Team,
    member: &TeamMember,
    budget: u64,
) -> TurnPrompt {
    let Pieces { context, sources, current, sender, is_from_person, task_place, .. } = pieces;
    let (covered, recalled) = (pieces.covered, pieces.recalled);
    // Minutes and recall come first and are no messages; of what does not fit the oldest goes first.
    let extras = usize::from(covered > 0) + recalled.len();
    let messages = context.len().saturating_sub(extras);
    let input = AssemblerInput {
        context_messages: context,
        current_message: current.text,
        team_task: team_task.map(Cow::Borrowed),
        system_instruction: team.system_text(member).map(Cow::Owned),
        // A team file's instruction holds the text of its file already.
        instruction_file_text: None,
        max_bytes: budget,
    };
    let assembler = match &sender {
        Some((sender, by)) => member.assembler().with_sender(sender, *by),
        None => member.assembler(),
    };
    let prompt = assembler.plan(&input);
    let recipe = recipe_of(&prompt, &input, &sources, current.steps.as_deref(), task_place);
    let text = prompt.to_text();
    let person_from = is_from_person.then(|| prompt.message_start());
    let mut sent = TurnPrompt {
        text,
        system: prompt.system_flag(),
        status: prompt.status(),
        bytes: prompt.bytes(),
        kept: prompt.kept_context().min(messages),
        dropped: messages.saturating_sub(prompt.kept_context()),
        covered,
        recalled,
        assembled: None,
        mentions: Mentions::NONE,
        recipe: None,
        salts: Vec::new(),
    };
    make_inert(&mut sent, recipe, team, member, person_from);
    sent
}

/// Takes out of a prompt what the agent's program would obey.
fn make_inert(
    prompt: &mut TurnPrompt,
    recipe: Option<(Recipe, Vec<usize>)>,
    team: &Team,
    member: &TeamMember,
    person_from: Option<usize>,
) {
    let mut edits = Vec::new();
    if let Answers::Agent(spec) = &member.answers {
        let names: Vec<&str> = team.members.iter().flat_map(|one| one.member.names()).collect();
        let text = PromptText { text: &prompt.text, person_from, names: &names };
        prompt.mentions = Mentions::find(spec, &text);
        edits = prompt_edits(spec, &prompt.text, &prompt.mentions);
    }
    if !edits.is_empty() {
        let sent = apply(&prompt.text, &edits).into_owned();
        prompt.assembled = Some(std::mem::replace(&mut prompt.text, sent));
    }
    prompt.recipe = recipe.map(|(recipe, lengths)| {
        let assembled = prompt.assembled.as_deref().unwrap_or(&prompt.text);
        let prompted = recipe.edited(&lengths, &edits, assembled);
        let mut whole = Recipe::default();
        if let Some(system) = &prompt.system {
            whole.words(system);
            whole.0.push(Step::Apart);
        }
        whole.0.extend(prompted.0);
        whole
    });
}

fn name_of(message: &Message) -> Cow<'_, str> {
    message.speaker.as_deref().map_or_else(
        || Cow::Borrowed(message.effective_role().as_str()),
        |speaker| Cow::Borrowed(&*speaker.role_name),
    )
}

/// What said a message, as far as the name does not tell.
fn spoken_by(team: &Team, message: &Message) -> SpokenBy {
    let speaker = match (message.effective_role(), message.speaker.as_deref()) {
        (Role::Tool, _) => return SpokenBy::Tool,
        (Role::Assistant, Some(speaker)) => speaker,
        _ => return SpokenBy::Member,
    };
    let member = team.member(&speaker.role_id);
    if member.is_some_and(|one| matches!(one.answers, Answers::Scribe | Answers::Librarian)) {
        return SpokenBy::BuiltIn;
    }
    let shown = fold(&speaker.role_name);
    let is_shown = |one: &TeamMember| one.member.names().any(|name| fold(name) == shown);
    match team.members.iter().any(|one| one.is_person() && is_shown(one)) {
        true => SpokenBy::Namesake,
        false => SpokenBy::Member,
    }
}

fn line<'l>(team: &Team, message: &'l Message, content: Cow<'l, str>) -> ContextMessage<'l> {
    let routing = message.routing.as_deref();
    let to = routing.and_then(|routing| routing.resolved_addressees.as_deref());
    let kind = ContextKind::Speech { to: to.unwrap_or_default(), by: spoken_by(team, message) };
    ContextMessage { from: name_of(message), to: None, content, kind }
}

/// What a message says, without its markers.
fn content<'l>(log: &TableLog, entry: &Entry, message: &'l Message) -> Sourced<'l> {
    let place = log.place_of(&entry.id).unwrap_or_default();
    let said = message.text();
    let kept = kept_ranges(&said);
    let is_whole = matches!(kept.as_slice(), [range] if range.len() == said.len());
    let mut text = match said {
        said if is_whole || said.is_empty() => said,
        said => Cow::Owned(kept.iter().filter_map(|range| said.get(range.clone())).collect()),
    };
    let mut steps: Vec<(Step, usize)> =
        kept.into_iter().map(|range| (Step::said(place, range.clone()), range.len())).collect();
    if is_partial(entry) {
        text = Cow::Owned(text.into_owned() + CUT_OFF);
        steps.push((Step::Words(CUT_OFF.into()), CUT_OFF.len()));
    }
    Sourced { text, steps: Some(steps) }
}

/// What is kept of a passage: the markers of its message that count are not.
fn kept_of(said: &str, passage: &str, found: Option<usize>) -> Vec<Range<usize>> {
    let Some(at) = found else { return kept_ranges(passage) };
    let inside = |range: Range<usize>| {
        let (start, end) = (range.start.max(at), range.end.min(at + passage.len()));
        (start < end).then(|| start - at..end - at)
    };
    kept_ranges(said).into_iter().filter_map(inside).collect()
}

/// A passage of a message, as an item of its own: no passage can look like another one.
fn recalled_line<'l>(
    log: &TableLog,
    team: &Team,
    entry: &'l Entry,
    message: &'l Message,
    passage: &str,
) -> (ContextMessage<'l>, Source) {
    let place = log.place_of(&entry.id).unwrap_or_default();
    let said = message.text();
    let found = said.find(passage);
    let kept = kept_of(&said, passage, found);
    let content: String = kept.iter().filter_map(|range| passage.get(range.clone())).collect();
    // A passage that is not in the words of the message is of a tool, and has no source that could be told.
    let by = if found.is_some() { spoken_by(team, message) } else { SpokenBy::Tool };
    let steps = found.map(|at| {
        let said = |range: &Range<usize>| Step::said(place, range.start + at..range.end + at);
        kept.iter().map(|range| (said(range), range.len())).collect()
    });
    let kind = ContextKind::Recalled { entry: entry.id.as_str(), by };
    let content = Cow::Owned(content);
    (ContextMessage { from: name_of(message), to: None, content, kind }, Source { place, steps })
}
