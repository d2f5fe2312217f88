//! Assembles and records the input of a member's turn. From the settings of the member and its view of the log, it
//! makes a prompt or a request, with a hash. Content cannot forge structure in it: only the program writes at the
//! left margin, and the labels name the speakers.

use std::borrow::Cow;
use std::collections::HashMap;

use tertulia_agent::{Mentions, PromptText, apply, prompt_edits};
use tertulia_context::branch::Branch;
use tertulia_context::builder::ContextIndex;
use tertulia_context::recall::usual_tokens;
use tertulia_context::view::{Labels, Perspective, Pieces, Recall, View, ViewSettings};
use tertulia_context::{
    Assembler, AssemblerInput, ContextKind, ContextMessage, PromptStatus, PromptWarning,
    SectionBytes, SpokenBy, Verdict,
};
use tertulia_session::json::Json;
use tertulia_session::{Entry, EntryId, MemoryMode, Message, Role, Salt, TurnState};
use tertulia_store::{SessionId, SessionStore, StoreError};

use super::asked::{About, Asked, Attempt};
use super::log::{Reading, SessionLog};
use super::model::{self, Body};
use super::native::{Has, MemoryPlan};
use super::recipe::{Recipe, RecipeHistory, Source, Step, recipe_of, steps_of};
use super::record::is_partial;
use super::summary;
use crate::names::fold;
use crate::team::{Responder, Team, TeamMember};

/// Approximate number of bytes per token.
const TOKEN_BYTES: u64 = 4;

/// The prompt of a member, and statistics about it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TurnPrompt {
    /// The prompt, exactly as it is sent.
    pub text: String,
    /// The system text, if it is sent separately.
    pub system: Option<String>,
    pub status: PromptStatus,
    pub bytes: SectionBytes,
    /// Number of messages that are included word for word. The answered message does not count.
    pub kept: usize,
    /// Number of messages of the window that are left out.
    pub dropped: usize,
    /// Number of messages that the summary covers; 0 without a summary.
    pub covered: usize,
    pub recalled: Vec<EntryId>,
    /// The outcome for each message of the window, oldest first, and last for the one to be answered.
    pub verdicts: Vec<Verdict>,
    pub warnings: Vec<PromptWarning>,
    /// Whether the prompt contains only what is new, because the agent has the rest in its own session.
    pub is_continued: bool,
    /// The separate system text that the agent got when its own session began. It needs the text again to continue the
    /// session in another process.
    pub(super) session_system: Option<String>,
    /// Whether a part of what is new does not fit.
    pub(super) is_cut: bool,
    /// The byte of the prompt at which the message to answer begins, before the prompt was made inert.
    pub(super) message_start: usize,
    /// The prompt before it was made inert. `None` if that did not change it.
    pub(super) assembled: Option<String>,
    pub(super) mentions: Mentions,
    recipe: Option<Recipe>,
    /// The salts of the entries that are quoted in the prompt.
    salts: Vec<Salt>,
}

impl TurnPrompt {
    /// Returns a hash of everything that the member receives.
    pub fn hash(&self) -> Box<str> {
        hash_of(self.system.as_deref(), &self.text, &self.salts)
    }
}

/// Returns the hash of a system text and a prompt. It includes the salts of the quoted entries. So nobody can use the
/// hash to confirm a guess about an entry that was redacted later.
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

/// A prompt that was not sent, and the entries from which it is made.
#[derive(Debug)]
pub struct Preview {
    pub prompt: TurnPrompt,
    /// The stored entries of the branch. Some have only an id, see [`Driver::entries`](super::Driver::entries).
    pub entries: Vec<Entry>,
}

/// Returns the prompt that a member would receive if it answered the newest message of a session now; `None` if the
/// session has no message. The member need not be in the team.
pub fn preview(
    store: &SessionStore,
    session: &SessionId,
    team: &Team,
    member: &TeamMember,
) -> Result<Option<Preview>, StoreError> {
    // A summary serves the whole team; a member outside it gets one for its own window.
    let window = match team.member(&member.member.name) {
        Some(_) => team.window_max(),
        None => member.window,
    };
    let reading = if member.is_endpoint() { Reading::All } else { Reading::Newest { window } };
    let mut log = SessionLog::open(store, session, reading)?;
    // Same as for the next turn, but without storing anything.
    if let Some(summary) = summary::due(log.branch(), window) {
        log.stage(summary);
    }
    let branch = log.branch();
    let newest =
        branch.text_message_count().checked_sub(1).and_then(|number| branch.text_message(number));
    let Some((_, newest, _)) = newest else { return Ok(None) };
    // Whether the agent's files have changed is checked when the turn starts.
    let memory = MemoryPlan::next(&log, team, member, |_| Ok(()));
    let prompt = Prompts::new(branch.entries()).look(team, branch, member, &newest.id, &memory);
    Ok(Some(Preview { prompt, entries: log.into_stored() }))
}

/// Creates the prompts of a session, and keeps the state that the next ones need.
pub(super) struct Prompts {
    recall: Recall,
    /// The indexes of members whose agents keep their sessions; each ends where its session begins.
    native_recalls: HashMap<Box<str>, Recall>,
    index: ContextIndex,
    recipes: RecipeHistory,
    turns: HashMap<Box<str>, usize>,
}

pub(super) struct Start {
    pub(super) turn: EntryId,
    pub(super) member: Box<str>,
    pub(super) answers: EntryId,
    pub(super) number: usize,
    pub(super) budget: u64,
    pub(super) is_second: bool,
    /// Whether the first prompt was too large.
    pub(super) is_smaller: bool,
    pub(super) prompt: TurnPrompt,
    pub(super) memory: MemoryPlan,
    /// The request of an endpoint, which is sent instead of the prompt.
    pub(super) body: Option<Body>,
    pub(super) hash: Box<str>,
    /// The recipe that makes the prompt from the log; `None` if nothing is sent or the sources are not known.
    pub(super) record: Option<Json>,
}

impl Start {
    /// Returns whether the prompt contains nothing of the message any more. Then it is not sent.
    pub(super) fn is_lost(&self) -> bool {
        let lost = [PromptStatus::MessageDropped, PromptStatus::OverBudget];
        self.body.is_none() && lost.contains(&self.prompt.status)
    }
}

impl Prompts {
    pub(super) fn new(entries: &[Entry]) -> Self {
        Self {
            recall: Recall::default(),
            native_recalls: HashMap::new(),
            index: ContextIndex::default(),
            recipes: RecipeHistory::default(),
            turns: turns_in(entries),
        }
    }

    pub(super) fn look(
        &mut self,
        team: &Team,
        branch: Branch<'_>,
        member: &TeamMember,
        answers: &EntryId,
        memory: &MemoryPlan,
    ) -> TurnPrompt {
        let budget = (member.budget_bytes, false);
        let about = About { answers, has: memory.has.as_ref(), consult: None };
        let (mut prompt, body) = self.make(team, branch, member, about, budget);
        if let Some(body) = body {
            (prompt.text, prompt.system) = (body.json, None);
        }
        prompt
    }

    /// Assembles the prompt of a turn that begins. If this cuts the context of an endpoint, stages the cut, so that
    /// the next turn begins at the same point. A second attempt has its own budget.
    pub(super) fn prepare(
        &mut self,
        team: &Team,
        log: &mut SessionLog,
        asked: Asked<'_>,
        mut memory: MemoryPlan,
        attempt: Attempt,
    ) -> Start {
        let Asked { turn, member: name, answers, consult } = asked;
        let is_second = attempt != Attempt::First;
        let turns = self.turns.entry(name.into()).or_default();
        let number = turns.saturating_sub(usize::from(is_second));
        let unknown_mention = TeamMember::person(name);
        let member = team.member(name).unwrap_or(&unknown_mention);
        let (budget, is_smaller) = match attempt {
            Attempt::First | Attempt::Again => (member.budget_bytes, false),
            Attempt::Smaller(budget) => (budget, true),
        };
        self.deliver_missed(team, log, member, (&asked, &mut memory), budget);
        if let (Some(consult), Some(record)) = (consult, &mut memory.record) {
            record.until = consult.until(log).filter(|_| record.mode == MemoryMode::Native);
        }
        let about = About { answers, has: memory.has.as_ref(), consult };
        let (mut prompt, mut body) =
            self.make(team, log.branch(), member, about, (budget, is_smaller));
        // A cut for a turn of an ask would not be before the end of its prompt.
        if let Some(cuts) = body.as_mut().map(|body| std::mem::take(&mut body.cuts))
            && consult.is_none()
            && !cuts.is_empty()
        {
            cuts.into_iter().for_each(|cut| log.stage(cut));
            (prompt, body) = self.make(team, log.branch(), member, about, (budget, false));
        }
        memory.note_first(&prompt, log.branch(), answers);
        let (turn, answers) = (turn.clone(), answers.clone());
        let hash = match &body {
            Some(body) => hash_of(None, &body.json, &prompt.salts),
            None => prompt.hash(),
        };
        let (member, record) = (name.into(), None);
        let mut start = Start {
            turn,
            member,
            answers,
            number,
            budget,
            is_second,
            is_smaller,
            prompt,
            memory,
            body,
            hash,
            record,
        };
        if let Some(recipe) = right_recipe(&start, team, log.entries()) {
            start.record = match is_second {
                true => recipe.to_json(None),
                false => self.record(name, recipe, log),
            };
        }
        start
    }

    fn record(&mut self, member: &str, recipe: Recipe, log: &SessionLog) -> Option<Json> {
        let (entries, indexes) = (log.entries(), log.prompted());
        let last = indexes.last().and_then(|index| entries.get(*index)).map(|entry| &entry.id);
        if self.recipes.entry.as_ref() != last {
            // After an unreadable record, the next one refers to no earlier one.
            self.recipes = RecipeHistory::read(entries, indexes).unwrap_or_default();
        }
        self.recipes.record(member, recipe)
    }

    /// Marks the turn as begun: this entry holds its start and the record of its prompt.
    pub(super) fn recorded_in(&mut self, entry: &EntryId) {
        self.recipes.entry = Some(entry.clone());
    }

    pub(super) fn count(&mut self, member: &str) {
        *self.turns.entry(member.into()).or_default() += 1;
    }

    /// Creates the prompt of a member that answers a message, and the request of an endpoint.
    pub(super) fn make(
        &mut self,
        team: &Team,
        branch: Branch<'_>,
        member: &TeamMember,
        about: About<'_>,
        (budget, after_overflow): (u64, bool),
    ) -> (TurnPrompt, Option<Body>) {
        let About { answers, has, consult } = about;
        let branch = consult.map_or(branch, |consult| consult.branch(branch));
        let spoken_by = |message: &Message| spoken_by(team, message);
        let of = Member { team, member, spoken_by: &spoken_by };
        let perspective = of.perspective();
        // If the request does not fit, the endpoint gets the prompt and reports the error itself.
        let body = member
            .is_endpoint()
            .then(|| model::body(branch, &mut self.index, &of, &about, after_overflow).ok());
        let body = body.flatten();
        let recall_tokens = usual_tokens(budget / TOKEN_BYTES);
        let settings = ViewSettings { window: member.window, answers, recall_tokens };
        let mut view = match has {
            None => View::new(branch, &mut self.recall, &perspective, &settings),
            Some(has) => {
                let recall = self.native_recalls.entry(member.member.name.clone()).or_default();
                View::since(branch, recall, &perspective, &settings, &has.numbers(branch))
            }
        };
        if let Some(consult) = consult {
            consult.complete(&mut view, branch, &perspective, budget);
        }
        let mut prompt = assemble(view, branch, &of, has, budget);
        if let Some(body) = &body {
            (prompt.kept, prompt.dropped, prompt.covered) = (body.kept, 0, body.covered);
            prompt.recalled.clone_from(&body.recalled);
            prompt.verdicts.clone_from(&body.verdicts);
        }
        let recipe = body.as_ref().map_or(prompt.recipe.as_ref(), |body| body.recipe.as_ref());
        prompt.salts = Recipe::salts(recipe, branch.whole().entries());
        (prompt, body)
    }
}

/// Returns how the prompt of an agent is made from the log, if that reproduces it exactly.
fn right_recipe(start: &Start, team: &Team, entries: &[Entry]) -> Option<Recipe> {
    let is_agent = matches!(team.member(&start.member)?.responder, Responder::Agent(_));
    let recipe = match &start.body {
        Some(body) => body.recipe.as_ref(),
        None => start.prompt.recipe.as_ref(),
    };
    let is_sent = is_agent && !start.is_lost();
    let recipe = recipe.filter(|_| is_sent)?.clone().tidied(entries);
    let made = recipe.make(entries);
    let salts = Recipe::salts(Some(&recipe), entries);
    let hash = hash_of(made.system.as_deref(), &made.text, &salts);
    (made.lost.is_empty() && hash == start.hash).then_some(recipe)
}

#[derive(Clone, Copy)]
pub(super) struct Member<'t> {
    pub(super) team: &'t Team,
    pub(super) member: &'t TeamMember,
    pub(super) spoken_by: &'t dyn Fn(&Message) -> SpokenBy,
}

impl<'t> Member<'t> {
    pub(super) fn perspective(&self) -> Perspective<'t> {
        Perspective {
            member: &self.member.member.name,
            strip: self.member.strip,
            labels: Labels::SpokenBy(self.spoken_by),
            is_partial,
        }
    }
}

fn turns_in(entries: &[Entry]) -> HashMap<Box<str>, usize> {
    let mut turns: HashMap<Box<str>, usize> = HashMap::new();
    for turn in entries.iter().filter_map(Entry::turn) {
        if turn.state == TurnState::Started {
            *turns.entry(turn.member.clone()).or_default() += 1;
        }
    }
    turns
}

fn assemble(
    mut view: View<'_>,
    branch: Branch<'_>,
    of: &Member<'_>,
    has: Option<&Has>,
    budget: u64,
) -> TurnPrompt {
    let team_task = match has {
        None => branch.team_task().map(|(index, task)| (Some(index), task)),
        Some(has) => has.new_task(branch),
    };
    // Summary and recall come first and are not messages. Of the messages that do not fit, the oldest is removed
    // first.
    let messages = view.items.len() - view.extras();
    let steps = |pieces: &Option<Pieces>| pieces.as_ref().map(steps_of);
    let items = view.items.iter();
    let sources: Vec<Source> =
        items.map(|one| Source { index: one.index, steps: steps(&one.pieces) }).collect();
    let current = view.current.as_ref();
    let current_steps = current.map_or(Some(Vec::new()), |current| steps(&current.pieces));
    let is_from_person = current.is_some_and(|current| current.is_from_person);
    let assembler = assembler(of, &view);
    let input = AssemblerInput {
        context_messages: view.take_lines(),
        current_message: view.take_message(),
        team_task: team_task.map(|(_, task)| Cow::Borrowed(task)),
        system_instruction: match has {
            None => of.team.system_text(of.member).map(Cow::Owned),
            Some(_) => None,
        },
        // The instruction already contains the text of its file.
        instruction_file_text: None,
        max_bytes: budget,
    };
    let prompt = assembler.plan(&input);
    let verdicts = view.outcomes(&prompt).filter_map(|(index, outcome)| {
        let entry = branch.whole().entries().get(index)?.id.clone();
        Some(Verdict { recalled: view.recalled.contains(&entry), entry, outcome })
    });
    let verdicts = verdicts.collect();
    let task_index = team_task.and_then(|(index, _)| index);
    let recipe = recipe_of(&prompt, &input, &sources, current_steps.as_ref(), task_index);
    let text = prompt.to_text();
    let person_from = is_from_person.then(|| prompt.message_start());
    let mut sent = TurnPrompt {
        text,
        system: prompt.system_flag(),
        status: prompt.status(),
        bytes: prompt.bytes(),
        kept: prompt.kept_context().min(messages),
        dropped: messages.saturating_sub(prompt.kept_context()),
        covered: view.covered,
        recalled: view.recalled,
        verdicts,
        warnings: prompt.warnings().collect(),
        is_continued: has.is_some(),
        session_system: has.and_then(|_| of.member.separate_system(of.team)),
        is_cut: prompt.kept_context() < messages + usize::from(view.covered > 0),
        message_start: prompt.message_start(),
        assembled: None,
        mentions: Mentions::NONE,
        recipe: None,
        salts: Vec::new(),
    };
    make_inert(&mut sent, recipe, of.team, of.member, person_from);
    sent
}

/// Returns the format of a member's prompt, which names who says the message to answer.
fn assembler(of: &Member<'_>, view: &View<'_>) -> Assembler {
    let assembler = of.member.assembler();
    let assembler = match view.current.as_ref().map(|current| &current.line) {
        Some(ContextMessage { from, kind: ContextKind::Speech { by, .. }, .. }) => {
            assembler.with_sender(from, *by)
        }
        _ => assembler,
    };
    if view.is_repeated { assembler.repeating_message() } else { assembler }
}

/// Removes everything from a prompt that the program of the agent would interpret.
fn make_inert(
    prompt: &mut TurnPrompt,
    recipe: Option<(Recipe, Vec<usize>)>,
    team: &Team,
    member: &TeamMember,
    person_from: Option<usize>,
) {
    let mut edits = Vec::new();
    if let Responder::Agent(spec) = &member.responder {
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

/// Returns the kind of a speaker, where the name does not show it.
fn spoken_by(team: &Team, message: &Message) -> SpokenBy {
    let speaker = match (message.effective_role(), message.speaker.as_deref()) {
        (Role::Tool, _) => return SpokenBy::Tool,
        (Role::Assistant, Some(speaker)) => speaker,
        _ => return SpokenBy::Member,
    };
    let member = team.member(&speaker.role_id);
    if member.is_some_and(|one| matches!(one.responder, Responder::Scribe | Responder::Librarian)) {
        return SpokenBy::BuiltIn;
    }
    let shown = fold(&speaker.role_name);
    let is_shown = |one: &TeamMember| one.member.names().any(|name| fold(name) == shown);
    match team.members.iter().any(|one| one.is_person() && is_shown(one)) {
        true => SpokenBy::Namesake,
        false => SpokenBy::Member,
    }
}
