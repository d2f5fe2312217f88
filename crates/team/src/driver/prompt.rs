//! What a member gets for its turn, and how that is recorded: its settings go in, its view of the log comes out as
//! a prompt or a request, with a hash. Content cannot forge structure in it: only the program writes at the left
//! margin, and the labels say who said what.

use std::borrow::Cow;
use std::collections::HashMap;

use tertulia_agent::{Mentions, PromptText, apply, prompt_edits};
use tertulia_context::branch::Branch;
use tertulia_context::builder::ContextIndex;
use tertulia_context::recall::usual_tokens;
use tertulia_context::view::{Labels, Perspective, Pieces, Recall, View, ViewSettings};
use tertulia_context::{
    AssemblerInput, ContextKind, PromptStatus, PromptWarning, SectionBytes, SpokenBy, Verdict,
};
use tertulia_session::json::Json;
use tertulia_session::{Entry, EntryId, Message, Role, Salt, TurnState};
use tertulia_store::{SessionId, SessionStore, StoreError};

use super::log::{Reading, TableLog};
use super::minutes;
use super::model::{self, Body};
use super::recipe::{Recipe, RecipeHistory, Source, Step, recipe_of, steps_of};
use super::record::is_partial;
use crate::names::fold;
use crate::team::{Answers, Team, TeamMember};

/// About so many bytes are a token.
const TOKEN_BYTES: u64 = 4;

/// What a member gets.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TurnPrompt {
    /// The prompt, to the byte as it is sent.
    pub text: String,
    /// The system text, where it travels apart.
    pub system: Option<String>,
    pub status: PromptStatus,
    pub bytes: SectionBytes,
    /// How many messages are in it word for word, the one to be answered aside.
    pub kept: usize,
    /// How many of the window are not.
    pub dropped: usize,
    /// How many messages the minutes stand for; 0 without minutes.
    pub covered: usize,
    pub recalled: Vec<EntryId>,
    /// What became of the messages of the window, oldest first, and last of the one to be answered.
    pub verdicts: Vec<Verdict>,
    pub warnings: Vec<PromptWarning>,
    /// The prompt before it was made inert, where that changed it.
    pub(super) assembled: Option<String>,
    pub(super) mentions: Mentions,
    recipe: Option<Recipe>,
    /// The salts of the entries that are quoted in what is sent.
    salts: Vec<Salt>,
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

/// What a member would get, and the entries that it is made of.
#[derive(Debug)]
pub struct Preview {
    pub prompt: TurnPrompt,
    /// The stored entries of the branch, read as far as [`Driver::entries`](super::Driver::entries) tells.
    pub entries: Vec<Entry>,
}

/// Returns what a member would get if it answered the newest message of a session now; `None` if nothing was said
/// yet. It need not be one of the team.
pub fn preview(
    store: &SessionStore,
    session: &SessionId,
    team: &Team,
    member: &TeamMember,
) -> Result<Option<Preview>, StoreError> {
    // A summary serves the whole team; who is not in it gets one for its own window.
    let window = match team.member(&member.member.name) {
        Some(_) => team.window_max(),
        None => member.window,
    };
    let reading = if member.is_endpoint() { Reading::All } else { Reading::Newest { window } };
    let mut log = TableLog::open(store, session, reading)?;
    // As the next turn would, but for the store.
    if let Some(minutes) = minutes::due(log.branch(), window) {
        log.stage(minutes);
    }
    let branch = log.branch();
    let newest = branch.said_count().checked_sub(1).and_then(|number| branch.said(number));
    let Some((_, newest, _)) = newest else { return Ok(None) };
    let prompt = Prompts::new(branch.entries()).look(team, branch, member, &newest.id);
    Ok(Some(Preview { prompt, entries: log.into_stored() }))
}

/// Makes the prompts of a session, and keeps what the next ones need of the last.
pub(super) struct Prompts {
    recall: Recall,
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
    pub(super) prompt: TurnPrompt,
    /// The request of an endpoint, which is sent in place of the prompt.
    pub(super) body: Option<Body>,
    pub(super) hash: Box<str>,
    /// How all that is made from the log; `None` if nothing is sent or that cannot be told.
    pub(super) record: Option<Json>,
}

impl Start {
    /// Whether nothing of the message is left in it, so that it is not sent.
    pub(super) fn is_lost(&self) -> bool {
        let lost = [PromptStatus::MessageDropped, PromptStatus::OverBudget];
        self.body.is_none() && lost.contains(&self.prompt.status)
    }
}

impl Prompts {
    pub(super) fn new(entries: &[Entry]) -> Self {
        Self {
            recall: Recall::default(),
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
    ) -> TurnPrompt {
        let (mut prompt, body) =
            self.make(team, branch, member, answers, (member.budget_bytes, false));
        if let Some(body) = body {
            (prompt.text, prompt.system) = (body.json, None);
        }
        prompt
    }

    /// Puts together what a member gets for a turn that begins. Where the context of an endpoint is cut for it, the cut
    /// is staged, so that the next turn begins where this one does. A second attempt has a budget of its own.
    pub(super) fn prepare(
        &mut self,
        team: &Team,
        log: &mut TableLog,
        (turn, name, answers): (&EntryId, &str, &EntryId),
        second_budget: Option<u64>,
    ) -> Start {
        let is_second = second_budget.is_some();
        let turns = self.turns.entry(name.into()).or_default();
        let number = turns.saturating_sub(usize::from(is_second));
        let stranger = TeamMember::person(name);
        let member = team.member(name).unwrap_or(&stranger);
        let budget = second_budget.unwrap_or(member.budget_bytes);
        let (mut prompt, mut body) =
            self.make(team, log.branch(), member, answers, (budget, is_second));
        if let Some(cuts) = body.as_mut().map(|body| std::mem::take(&mut body.cuts))
            && !cuts.is_empty()
        {
            cuts.into_iter().for_each(|cut| log.stage(cut));
            (prompt, body) = self.make(team, log.branch(), member, answers, (budget, false));
        }
        let (turn, answers) = (turn.clone(), answers.clone());
        let hash = match &body {
            Some(body) => hash_of(None, &body.json, &prompt.salts),
            None => prompt.hash(),
        };
        let (member, record) = (name.into(), None);
        let mut start =
            Start { turn, member, answers, number, budget, is_second, prompt, body, hash, record };
        if let Some(recipe) = right_recipe(&start, team, log.entries()) {
            start.record = match is_second {
                true => recipe.to_json(None),
                false => self.record(name, recipe, log),
            };
        }
        start
    }

    fn record(&mut self, member: &str, recipe: Recipe, log: &TableLog) -> Option<Json> {
        let (entries, places) = (log.entries(), log.prompted());
        let last = places.last().and_then(|place| entries.get(*place)).map(|entry| &entry.id);
        if self.recipes.entry.as_ref() != last {
            // After a record that cannot be read, the next one stands alone.
            self.recipes = RecipeHistory::read(entries, places).unwrap_or_default();
        }
        self.recipes.record(member, recipe)
    }

    /// The turn begins: its start, with the record of its prompt, is this entry.
    pub(super) fn recorded_in(&mut self, entry: &EntryId) {
        self.recipes.entry = Some(entry.clone());
    }

    pub(super) fn count(&mut self, member: &str) {
        *self.turns.entry(member.into()).or_default() += 1;
    }

    /// The prompt of a member that answers a message, and the request of an endpoint.
    fn make(
        &mut self,
        team: &Team,
        branch: Branch<'_>,
        member: &TeamMember,
        answers: &EntryId,
        (budget, after_overflow): (u64, bool),
    ) -> (TurnPrompt, Option<Body>) {
        let spoken_by = |message: &Message| spoken_by(team, message);
        let of = Member { team, member, spoken_by: &spoken_by };
        // Where it does not fit, the endpoint is sent the prompt and says so itself.
        let body = member
            .is_endpoint()
            .then(|| model::body(branch, &mut self.index, &of, answers, after_overflow).ok());
        let body = body.flatten();
        let recall_tokens = usual_tokens(budget / TOKEN_BYTES);
        let settings = ViewSettings { window: member.window, answers, recall_tokens };
        let view = View::new(branch, &mut self.recall, &of.perspective(), &settings);
        let mut prompt = assemble(view, branch, &of, budget);
        if let Some(body) = &body {
            (prompt.kept, prompt.dropped, prompt.covered) = (body.kept, 0, body.covered);
            prompt.recalled.clone_from(&body.recalled);
            prompt.verdicts.clone_from(&body.verdicts);
        }
        let recipe = body.as_ref().map_or(prompt.recipe.as_ref(), |body| body.recipe.as_ref());
        prompt.salts = Recipe::salts(recipe, branch.entries());
        (prompt, body)
    }
}

/// How what an agent gets is made from the log, if that gives what it gets.
fn right_recipe(start: &Start, team: &Team, entries: &[Entry]) -> Option<Recipe> {
    let is_agent = matches!(team.member(&start.member)?.answers, Answers::Agent(_));
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

fn assemble(mut view: View<'_>, branch: Branch<'_>, of: &Member<'_>, budget: u64) -> TurnPrompt {
    let team_task = branch.team_task();
    // Summary and recall come first and are no messages; of what does not fit the oldest goes first.
    let messages = view.items.len() - view.extras();
    let steps = |pieces: &Option<Pieces>| pieces.as_ref().map(steps_of);
    let items = view.items.iter();
    let sources: Vec<Source> =
        items.map(|one| Source { place: one.index, steps: steps(&one.pieces) }).collect();
    let current = view.current.as_ref();
    let current_steps = current.map_or(Some(Vec::new()), |current| steps(&current.pieces));
    let is_from_person = current.is_some_and(|current| current.is_from_person);
    let sender = current.and_then(|current| match current.line.kind {
        ContextKind::Speech { by, .. } => Some((current.line.from.clone(), by)),
        _ => None,
    });
    let input = AssemblerInput {
        context_messages: view.take_lines(),
        current_message: view.take_message(),
        team_task: team_task.map(|(_, task)| Cow::Borrowed(task)),
        system_instruction: of.team.system_text(of.member).map(Cow::Owned),
        // A team file's instruction holds the text of its file already.
        instruction_file_text: None,
        max_bytes: budget,
    };
    let assembler = of.member.assembler();
    let assembler = match &sender {
        Some((sender, by)) => assembler.with_sender(sender, *by),
        None => assembler,
    };
    let prompt = assembler.plan(&input);
    let verdicts = view.fates(&prompt).filter_map(|(index, fate)| {
        let entry = branch.entries().get(index)?.id.clone();
        Some(Verdict { recalled: view.recalled.contains(&entry), entry, fate })
    });
    let verdicts = verdicts.collect();
    let task_place = team_task.map(|(place, _)| place);
    let recipe = recipe_of(&prompt, &input, &sources, current_steps.as_ref(), task_place);
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
        assembled: None,
        mentions: Mentions::NONE,
        recipe: None,
        salts: Vec::new(),
    };
    make_inert(&mut sent, recipe, of.team, of.member, person_from);
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
