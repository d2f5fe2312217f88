//! What a member gets for its turn, put together from the log, and how that is recorded.

use std::collections::HashMap;

use tertulia_context::PromptStatus;
use tertulia_context::view::Branch;
use tertulia_session::json::Json;
use tertulia_session::{Entry, EntryId, EntryKind, TurnState};

use super::log::TableLog;
use super::model::Body;
use super::prompt::{self, TurnPrompt, Views};
use super::recipe::{Recipe, RecipeHistory};
use crate::team::{Answers, Team, TeamMember};

/// Makes the prompts of a session, and keeps what the next ones need of the last.
pub(super) struct Prompts {
    views: Views,
    /// How the last prompts were made.
    recipes: RecipeHistory,
    /// How many turns each member had.
    turns: HashMap<Box<str>, usize>,
}

/// What an agent is started with.
pub(super) struct Start {
    pub(super) turn: EntryId,
    pub(super) member: Box<str>,
    pub(super) answers: EntryId,
    pub(super) number: usize,
    pub(super) budget: u64,
    pub(super) is_second: bool,
    pub(super) prompt: TurnPrompt,
    pub(super) body: Option<Body>,
}

impl Start {
    /// Stands for all that the member gets.
    pub(super) fn hash(&self) -> Box<str> {
        match &self.body {
            Some(body) => prompt::hash_of(None, &body.json, &self.prompt.salts),
            None => self.prompt.hash(),
        }
    }

    /// Whether nothing of the message is left in it, so that it is not sent.
    pub(super) fn is_lost(&self) -> bool {
        let lost = [PromptStatus::MessageDropped, PromptStatus::OverBudget];
        self.body.is_none() && lost.contains(&self.prompt.status)
    }

    /// What is sent, as a prompt.
    pub(super) fn into_prompt(self) -> TurnPrompt {
        let mut prompt = self.prompt;
        if let Some(body) = self.body {
            (prompt.text, prompt.system) = (body.json, None);
        }
        prompt
    }

    /// How all that the member gets is made from the log, if it gets anything and that can be told.
    fn recipe(&self) -> Option<&Recipe> {
        match &self.body {
            Some(body) => body.recipe.as_ref(),
            None => self.prompt.recipe.as_ref(),
        }
    }
}

impl Prompts {
    pub(super) fn new(entries: &[Entry]) -> Self {
        let recipes = RecipeHistory::default();
        Self { views: Views::default(), recipes, turns: turns_in(entries) }
    }

    /// The log was read again: somebody else has written to it.
    pub(super) fn reread(&mut self, entries: &[Entry]) {
        self.views = Views::default();
        self.turns = turns_in(entries);
    }

    /// A turn begins with this. A second attempt was counted as the first already.
    pub(super) fn count(&mut self, start: &Start) {
        if !start.is_second {
            *self.turns.entry(start.member.clone()).or_default() += 1;
        }
    }

    /// Puts together what a member gets. A second attempt has a budget of its own.
    pub(super) fn prepare(
        &mut self,
        (team, branch): (&Team, Branch<'_>),
        turn: &EntryId,
        member: &str,
        answers: &EntryId,
        second_budget: Option<u64>,
    ) -> Start {
        let is_second = second_budget.is_some();
        let number = self.turns.get(member).copied().unwrap_or(0);
        let number = number.saturating_sub(usize::from(is_second));
        let stranger = TeamMember::person(member);
        let known = team.member(member).unwrap_or(&stranger);
        let budget = second_budget.unwrap_or(known.budget_bytes);
        let of = (team, known);
        let (prompt, body) = prompt::for_turn(branch, &mut self.views, of, answers, second_budget);
        let (turn, member, answers) = (turn.clone(), member.into(), answers.clone());
        Start { turn, member, answers, number, budget, is_second, prompt, body }
    }

    /// The record of what an agent gets, to be stored with the start of its turn.
    pub(super) fn record(&mut self, start: &Start, team: &Team, log: &TableLog) -> Option<Json> {
        let recipe = right_recipe(start, team, log)?;
        let (entries, places) = (log.entries(), log.prompted());
        let last = places.last().and_then(|place| entries.get(*place)).map(|entry| &entry.id);
        if !self.recipes.ends_with(last) {
            // After a record that cannot be read, the next one stands alone.
            self.recipes = RecipeHistory::read(entries, places).unwrap_or_default();
        }
        self.recipes.record(&start.member, recipe)
    }

    /// The record of the last prompt is in this entry.
    pub(super) fn recorded_in(&mut self, entry: &EntryId) {
        self.recipes.stored_as(entry);
    }
}

/// How what an agent gets is made from the log, if that gives what it gets.
pub(super) fn right_recipe(start: &Start, team: &Team, log: &TableLog) -> Option<Recipe> {
    let is_agent = matches!(team.member(&start.member)?.answers, Answers::Agent(_));
    let is_sent = is_agent && !start.is_lost();
    let recipe = start.recipe().filter(|_| is_sent)?.clone().tidied(log.entries());
    let made = recipe.make(log.entries());
    let salts = Recipe::salts(Some(&recipe), log.entries());
    let hash = prompt::hash_of(made.system.as_deref(), &made.text, &salts);
    (made.lost.is_empty() && hash == start.hash()).then_some(recipe)
}

/// How many turns each member had.
fn turns_in(entries: &[Entry]) -> HashMap<Box<str>, usize> {
    let mut turns: HashMap<Box<str>, usize> = HashMap::new();
    for entry in entries {
        if let EntryKind::Turn(turn) = &entry.kind
            && turn.state == TurnState::Started
        {
            *turns.entry(turn.member.clone()).or_default() += 1;
        }
    }
    turns
}
