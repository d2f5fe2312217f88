//! What the next recipe of a session may refer to: the last one of the same member, the last one of all, and
//! the words of those before. The first has the same system text, the second nearly the same messages. Every
//! [`ALONE_EVERY`]th recipe stands alone, so reading one costs no more in a long session.

use std::collections::{HashMap, HashSet};

use tertulia_session::json::Json;
use tertulia_session::{Entry, EntryId, EntryKind};

use super::{Recipe, RecipeError, Step};

/// How many recipes in a row refer to earlier ones, at most.
const ALONE_EVERY: usize = 256;
/// How many different words are kept, at most.
const WORDS_MAX: usize = 256;

/// The recipes since one that stands alone: the last of each member.
#[derive(Debug, Default)]
pub(in crate::driver) struct RecipeHistory {
    members: HashMap<Box<str>, Recipe>,
    last: Option<Box<str>>,
    /// All words of them, in the order in which they came.
    words: Vec<Step>,
    known: HashSet<Step>,
    count: usize,
    /// The entry that holds the last one, once it has one.
    pub(in crate::driver) entry: Option<EntryId>,
}

impl RecipeHistory {
    /// Reads the records of the entries at these places, as far back as the last refers to them.
    pub(in crate::driver) fn read(
        entries: &[Entry],
        places: &[usize],
    ) -> Result<Self, RecipeError> {
        let record = |place: &usize| match &entries.get(*place)?.kind {
            EntryKind::Turn(turn) => Some((&turn.member, turn.prompt_recipe.as_ref()?)),
            _ => None,
        };
        let records: Vec<_> = places.iter().filter_map(record).collect();
        let is_alone = |(_, json): &(_, &Json)| Recipe::is_alone(json);
        let first = records.iter().rposition(is_alone).unwrap_or_default();
        let mut history = Self::default();
        for (member, json) in records.get(first..).unwrap_or_default() {
            let recipe = Recipe::read(json, &history.earlier(member))?;
            history.add(member, recipe);
        }
        let last = places.last().and_then(|place| entries.get(*place));
        history.entry = last.map(|entry| entry.id.clone());
        Ok(history)
    }

    pub(in crate::driver) fn into_last(mut self) -> Option<Recipe> {
        self.members.remove(&self.last?)
    }

    /// Adds a member's next recipe, which no entry holds yet. Gives its record.
    pub(in crate::driver) fn record(&mut self, member: &str, recipe: Recipe) -> Option<Json> {
        if self.count >= ALONE_EVERY {
            *self = Self::default();
        }
        let earlier = self.earlier(member);
        let json = recipe.to_json((self.count > 0).then_some(&earlier))?;
        self.add(member, recipe);
        Some(json)
    }

    fn add(&mut self, member: &str, recipe: Recipe) {
        for step in recipe.0.iter().filter(|step| matches!(step, Step::Words(_))) {
            if self.words.len() < WORDS_MAX && self.known.insert(step.clone()) {
                self.words.push(step.clone());
            }
        }
        self.members.insert(member.into(), recipe);
        self.last = Some(member.into());
        self.count += 1;
        self.entry = None;
    }

    /// The steps that a member's next recipe may refer to, in the order in which it counts them.
    fn earlier(&self, member: &str) -> Vec<&Step> {
        let last = self.last.as_deref().filter(|last| *last != member);
        let recipes = [Some(member), last].into_iter().flatten();
        let steps = recipes.filter_map(|name| self.members.get(name)).flat_map(|recipe| &recipe.0);
        steps.chain(&self.words).collect()
    }
}
