//! What a member gets for its turn: the newest messages word for word, before them the minutes of what
//! lies further back and what was recalled for the request; then the message to be answered. Cost
//! follows the window, not the session.

use std::borrow::Cow;

use tertulia_agent::{Mentions, PromptText, apply, prompt_edits};
use tertulia_context::recall::{RecallIndex, RecallQuery};
use tertulia_context::tokens::Tokenizer;
use tertulia_context::{
    AssemblerInput, ContextMessage, Prompt, PromptPiece, PromptStatus, SectionBytes,
    format_addressees, kept_ranges,
};
use tertulia_session::{Entry, EntryId, Message, SpeakerType};

use super::log::TableLog;
use super::recipe::{Recipe, Step};
use super::record::is_partial;
use crate::team::{Answers, Team, TeamMember};

/// How many tokens of earlier passages are recalled, at most.
const RECALL_TOKENS: u64 = 2_000;
/// How many of the newest messages say what is to be recalled.
const RECENT_MESSAGES: usize = 8;
/// The most of a budget that recall may take, as a divisor.
const RECALL_SHARE: u64 = 8;

/// So many messages before the window go in word for word while no minutes cover them, at most.
const UNCOVERED_MAX: usize = 256;

const MINUTES_SPEAKER: &str = "minutes";
const RECALL_SPEAKER: &str = "recall";
const RECALL_HEAD: &str = "Earlier passages that may matter now, oldest first:";
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
}

impl TurnPrompt {
    /// Stands for all that the member gets.
    pub fn hash(&self) -> Box<str> {
        hash_of(self.system.as_deref(), &self.text)
    }
}

/// Stands for a system text and what goes with it.
pub(super) fn hash_of(system: Option<&str>, text: &str) -> Box<str> {
    let mut hasher = blake3::Hasher::new();
    for text in [system.unwrap_or_default(), text] {
        hasher.update(&(text.len() as u64).to_le_bytes());
        hasher.update(text.as_bytes());
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
    pub(super) sources: Vec<Option<Vec<(Step, usize)>>>,
    /// Which of them the member said itself.
    pub(super) own: Vec<bool>,
    pub(super) current: Sourced<'l>,
    /// Who wrote the message that is answered.
    pub(super) sender: Option<Cow<'l, str>>,
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
        context.push(from(MINUTES_SPEAKER, Cow::Borrowed(&*minutes.summary)));
        let bytes = minutes.summary.len();
        sources.push(Some(vec![(Step::said(place, 0..bytes), bytes)]));
    }
    let request = answered.and_then(|number| log.said(number));
    let mut recalled = Vec::new();
    if let Some((_, request)) = request.filter(|_| recalls > 0) {
        let tokens = RECALL_TOKENS.min(budget / 4 / RECALL_SHARE);
        let passages = recall.passages(log, recalls, request, tokens);
        if !passages.is_empty() {
            let Sourced { text, steps } = recall_text(log, &passages);
            context.push(from(RECALL_SPEAKER, text));
            sources.push(steps);
        }
        let id = |passage: &Recalled| Some(log.said(passage.number)?.0.id.clone());
        recalled = passages.iter().filter_map(id).collect();
    }
    let mut own = vec![false; context.len()];
    for number in (first..count).filter(|number| Some(*number) != answered) {
        if let Some((entry, message)) = log.said(number) {
            let Sourced { text, steps } = content(log, entry, message);
            context.push(line(message, text));
            sources.push(steps);
            let speaker = message.speaker.as_deref();
            own.push(speaker.is_some_and(|speaker| speaker.role_id == member.member.name));
        }
    }
    let nothing = || Sourced { text: Cow::Borrowed(""), steps: Some(Vec::new()) };
    let current = request.map_or_else(nothing, |(entry, message)| content(log, entry, message));
    let speaker = request.and_then(|(_, message)| message.speaker.as_deref());
    let is_from_person = speaker.is_some_and(|speaker| speaker.kind == Some(SpeakerType::Human));
    let sender = request.map(|(_, message)| name_of(message));
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
    let extras = usize::from(covered > 0) + usize::from(!recalled.is_empty());
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
    let assembler = member.assembler().with_sender(sender.as_deref().unwrap_or_default());
    let prompt = assembler.plan(&input);
    let recipe = recipe_of(&prompt, &input, &sources, current.steps.as_deref(), task_place);
    let text = prompt.to_text();
    let person_from = is_from_person.then(|| text.len() - prompt.message_bytes().0);
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
        let prompted = recipe.edited(&lengths, &edits);
        let mut whole = Recipe::default();
        if let Some(system) = &prompt.system {
            whole.words(system);
            whole.0.push(Step::Apart);
        }
        whole.0.extend(prompted.0);
        whole
    });
}

/// How the prompt is made, and the bytes of each step. `None` where a text has no known source.
fn recipe_of(
    prompt: &Prompt<'_>,
    input: &AssemblerInput<'_>,
    sources: &[Option<Vec<(Step, usize)>>],
    current: Option<&[(Step, usize)]>,
    task_place: Option<usize>,
) -> Option<(Recipe, Vec<usize>)> {
    let mut steps: Option<Vec<(Step, usize)>> = Some(Vec::new());
    let mut fixed = String::new();
    let mut add = |source: Option<Vec<(Step, usize)>>| match (&mut steps, source) {
        (Some(steps), Some(source)) => steps.extend(source),
        (steps, _) => *steps = None,
    };
    let words = |text: &str| vec![(Step::Words(text.into()), text.len())];
    prompt.for_each_piece(|piece| {
        if let PromptPiece::Fixed(text) = piece {
            fixed.push_str(text);
            return;
        }
        if !fixed.is_empty() {
            add(Some(words(&std::mem::take(&mut fixed))));
        }
        match piece {
            PromptPiece::Fixed(_) => {}
            // The two halves of a system text may be empty.
            PromptPiece::System("") => {}
            PromptPiece::System(text) => add(Some(words(text))),
            PromptPiece::TeamTask(text) => {
                let start = input.team_task.as_deref().and_then(|task| task.find(text));
                let range = start.map(|start| start..start + text.len());
                let said = task_place.zip(range).map(|(place, range)| Step::said(place, range));
                add(said.map(|said| vec![(said, text.len())]));
            }
            PromptPiece::Context { index, .. } => add(sources.get(index).cloned().flatten()),
            PromptPiece::Message(text) => {
                let start = input.current_message.find(text).unwrap_or_default();
                add(current.map(|steps| part(steps, start..start + text.len())));
            }
        }
    });
    let (steps, lengths) = steps?.into_iter().unzip();
    Some((Recipe(steps), lengths))
}

/// A part of what these steps make.
fn part(steps: &[(Step, usize)], range: std::ops::Range<usize>) -> Vec<(Step, usize)> {
    let mut recipe = Recipe::default();
    recipe.part(steps, range);
    let length = |step: &Step| match step {
        Step::Words(words) => words.len(),
        Step::Said { range, .. } => range.as_ref().map_or(0, |range| range.len()),
        Step::Id(_) | Step::Apart => 0,
    };
    recipe
        .0
        .into_iter()
        .map(|step| (length(&step), step))
        .map(|(bytes, step)| (step, bytes))
        .collect()
}

fn from<'l>(speaker: &'static str, content: Cow<'l, str>) -> ContextMessage<'l> {
    ContextMessage { from: Cow::Borrowed(speaker), to: None, content }
}

fn name_of(message: &Message) -> Cow<'_, str> {
    message.speaker.as_deref().map_or_else(
        || Cow::Borrowed(message.effective_role().as_str()),
        |speaker| Cow::Borrowed(&*speaker.role_name),
    )
}

fn line<'l>(message: &'l Message, content: Cow<'l, str>) -> ContextMessage<'l> {
    let routing = message.routing.as_ref();
    let to = routing.and_then(|routing| routing.resolved_addressees.as_deref());
    ContextMessage { from: name_of(message), to: Some(format_addressees(to)), content }
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

fn recall_text(log: &TableLog, passages: &[Recalled]) -> Sourced<'static> {
    let mut text = String::from(RECALL_HEAD);
    let mut steps = Some(vec![(Step::Words(RECALL_HEAD.into()), RECALL_HEAD.len())]);
    for Recalled { number, text: passage } in passages {
        let Some((entry, message)) = log.said(*number) else { continue };
        let place = log.place_of(&entry.id).unwrap_or_default();
        let speaker = message.speaker.as_deref().map(|speaker| format!("{}: ", speaker.role_id));
        let speaker = format!(") {}", speaker.unwrap_or_default());
        let said = message.text();
        let found = said.find(passage.as_str());
        let kept = kept_ranges(passage);
        text.push_str(&format!("\n({}{speaker}", entry.id));
        text.extend(kept.iter().filter_map(|range| passage.get(range.clone())));
        // A passage that is no stretch of the message has no source that could be told.
        let Some((steps, at)) = steps.as_mut().zip(found) else {
            steps = None;
            continue;
        };
        steps.push((Step::Words("\n(".into()), 2));
        steps.push((Step::Id(place), entry.id.as_str().len()));
        steps.push((Step::Words(speaker.as_str().into()), speaker.len()));
        let said =
            |range: &std::ops::Range<usize>| Step::said(place, range.start + at..range.end + at);
        steps.extend(kept.iter().map(|range| (said(range), range.len())));
    }
    Sourced { text: Cow::Owned(text), steps }
}
