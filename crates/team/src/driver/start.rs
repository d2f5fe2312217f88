//! How a turn begins: what the member gets is put together, and the agent or the house answers it.

use tertulia_agent::{CancelToken, Ended, TurnReport};
use tertulia_context::PromptStatus;
use tertulia_context::compact::Covered;
use tertulia_dialect::stream::{ErrorClass, StreamEvent, TurnError, TurnOutput};
use tertulia_session::json::Json;
use tertulia_session::{EntryId, Message};
use tertulia_store::{ProjectScope, sources_meta};

use super::error::DriveError;
use super::event::{Audience, TableEvent};
use super::recipe::{Recipe, RecipeHistory};
use super::record::What;
use super::sent::SentAgain;
use super::turn::{FromAgent, Running, Start};
use super::{Driver, prompt};
use crate::file::{LibrarianScope, SettingsGuard};
use crate::house;
use crate::team::{Answers, TeamMember};

/// A prompt is not made shorter than this because an agent found it too long.
const SHORT_BYTES: u64 = 4096;

impl Start {
    /// Stands for all that the member gets.
    pub(super) fn hash(&self) -> Box<str> {
        match &self.body {
            Some(body) => prompt::hash_of(None, &body.json, &self.prompt.salts),
            None => self.prompt.hash(),
        }
    }

    /// Whether nothing of the message is left in it, so that it is not sent.
    fn is_lost(&self) -> bool {
        let lost = [PromptStatus::MessageDropped, PromptStatus::OverBudget];
        self.body.is_none() && lost.contains(&self.prompt.status)
    }

    /// How all that the member gets is made from the log, if it gets anything and that can be told.
    fn recipe(&self) -> Option<&Recipe> {
        match &self.body {
            Some(body) => body.recipe.as_ref(),
            None => self.prompt.recipe.as_ref(),
        }
    }
}

impl Driver {
    /// Puts together what a member gets. A second attempt has half the budget.
    pub(super) fn prepare(
        &mut self,
        turn: &EntryId,
        member: &str,
        answers: &EntryId,
        second_budget: Option<u64>,
    ) -> Start {
        let is_second = second_budget.is_some();
        // A second attempt was counted as the first already.
        let number = self.turns.get(member).copied().unwrap_or(0);
        let number = number.saturating_sub(usize::from(is_second));
        let known = self.team.members.iter().find(|one| *one.member.name == *member);
        let stranger = TeamMember::person(member);
        let known = known.unwrap_or(&stranger);
        let budget = second_budget.unwrap_or(known.budget_bytes);
        let (branch, of) = (self.log.branch(), (&self.team, known));
        let (prompt, body) = prompt::for_turn(branch, &mut self.views, of, answers, second_budget);
        let (turn, member, answers) = (turn.clone(), member.into(), answers.clone());
        Start { turn, member, answers, number, budget, is_second, prompt, body }
    }

    /// How what an agent gets is made from the log, if that gives what it gets.
    fn right_recipe(&self, start: &Start) -> Option<Recipe> {
        let is_agent = matches!(self.team.member(&start.member)?.answers, Answers::Agent(_));
        let is_sent = is_agent && !start.is_lost();
        let recipe = start.recipe().filter(|_| is_sent)?.clone().tidied(self.log.entries());
        let made = recipe.make(self.log.entries());
        let salts = Recipe::salts(Some(&recipe), self.log.entries());
        let hash = prompt::hash_of(made.system.as_deref(), &made.text, &salts);
        (made.lost.is_empty() && hash == start.hash()).then_some(recipe)
    }

    /// The record of what an agent gets, to be stored with the start of its turn.
    pub(super) fn record_prompt(&mut self, start: &Start) -> Option<Json> {
        let recipe = self.right_recipe(start)?;
        let (entries, places) = (self.log.entries(), self.log.prompted());
        let last = places.last().and_then(|place| entries.get(*place)).map(|entry| &entry.id);
        if !self.recipes.ends_with(last) {
            // After a record that cannot be read, the next one stands alone.
            self.recipes = RecipeHistory::read(entries, places).unwrap_or_default();
        }
        self.recipes.record(&start.member, recipe)
    }

    /// Lets the member answer.
    pub(super) fn launch(&mut self, start: Start) {
        // Somebody else may have ended a turn whose agent still works here.
        self.let_go();
        if !start.is_second {
            *self.turns.entry(start.member.clone()).or_default() += 1;
        }
        let answers = self.team.member(&start.member).map(|one| one.answers.clone());
        let takes_prompt = matches!(answers, Some(Answers::Agent(_))) && start.body.is_none();
        let (status, budget) = (start.prompt.status, start.budget);
        let is_lost = takes_prompt && start.is_lost();
        let objection = match &answers {
            Some(Answers::Agent(spec)) if spec.kind.is_program() => {
                self.team.settings.as_ref().and_then(SettingsGuard::objection)
            }
            _ => None,
        };
        let mut running = match &answers {
            Some(Answers::Agent(spec)) if !is_lost && objection.is_none() => {
                Running::start((**spec).clone(), start, self.inbox.sender())
            }
            _ => Running::without_agent(&start, CancelToken::new()),
        };
        if !running.has_agent() {
            let answer = match answers {
                Some(Answers::Scribe) => Ok(self.minutes_so_far(&running.answers)),
                Some(Answers::Librarian) => self.past_sessions(&running.member, &running.answers),
                Some(Answers::Agent(_)) if objection.is_some() => {
                    Err(objection.unwrap_or_default())
                }
                Some(Answers::Agent(_)) if is_lost => Err(format!(
                    "nothing of the message fits into {budget} bytes; raise budget_bytes"
                )),
                Some(Answers::Agent(_)) => Err("could not start a thread for this turn".to_owned()),
                Some(Answers::Person) | None => Err("it is no longer in the team".to_owned()),
            };
            let answer = answer.map(|answer: house::Answer| {
                running.sources = sources_meta(&answer.sources);
                answer.text
            });
            self.report_at_once(&running.turn, answer);
        }
        self.begun = Some(running.turn.clone());
        self.running = Some(running);
        if takes_prompt && status == PromptStatus::MessageTruncated {
            let message = format!("the message is cut: it is larger than {budget} bytes");
            self.stage_note(What::Warned { class: None, message: message.into() });
        }
    }

    fn past_sessions(&self, librarian: &str, asks: &EntryId) -> Result<house::Answer, String> {
        let branch = self.log.branch();
        let asked = branch.number_of(asks).and_then(|number| branch.said(number));
        let Some((.., message)) = asked else { return Ok(house::Answer::default()) };
        let Some(scope) = self.searched(librarian, message) else {
            return Ok(house::Answer::plain(house::OTHER_PROJECT));
        };
        house::look_up(self.log.store(), self.log.session(), &scope, &message.text())
            .map_err(|error| error.to_string())
    }

    /// Which past sessions the librarian searches for a request: those of the same project. Sessions of all
    /// projects only where the team file says so and a person asks. `None` where the session belongs to
    /// another project than the one that the team works in: neither project's words belong here.
    fn searched(&self, librarian: &str, request: &Message) -> Option<ProjectScope> {
        let member = |name: &str| self.team.member(name);
        let speaker = request.speaker.as_deref().and_then(|speaker| member(&speaker.role_id));
        let is_person = speaker.is_some_and(TeamMember::is_person);
        let may_all = member(librarian).is_some_and(|one| one.scope == LibrarianScope::All);
        if is_person && may_all {
            return Some(ProjectScope::All);
        }
        (!self.is_elsewhere()).then(|| ProjectScope::same_as(self.project.as_deref()))
    }

    fn minutes_so_far(&self, asks: &EntryId) -> house::Answer {
        let is_scribe = |message: &Message| {
            let speaker = message.speaker.as_deref();
            let member = speaker.and_then(|speaker| self.team.member(&speaker.role_id));
            member.is_some_and(|one| matches!(one.answers, Answers::Scribe))
        };
        // A summary of summaries tells nothing new.
        let branch = self.log.branch();
        let mut said: Vec<Covered<'_>> = (0..branch.said_count())
            .filter_map(|number| branch.said(number))
            .filter(|(.., message)| !is_scribe(message))
            .map(|(_, entry, message)| Covered { entry: &entry.id, message })
            .collect();
        // Who asks for a summary at once has said what it is to hold.
        let is_alone = said.len() < 2;
        if !is_alone {
            said.retain(|one| one.entry != asks);
        }
        let is_agent = |one: &TeamMember| matches!(one.answers, Answers::Agent(_));
        let colleagues = match self.team.members.iter().any(is_agent) {
            true => house::Colleagues::Agents,
            false if self.team.is_built_in => house::Colleagues::NoFile,
            false => house::Colleagues::NoAgents,
        };
        house::write_minutes(&said, is_alone, colleagues)
    }

    /// The turn ends before anything else happens.
    fn report_at_once(&mut self, turn: &EntryId, answer: Result<String, String>) {
        let output = match answer {
            Ok(text) => {
                let event = StreamEvent::TextDelta { text: text.clone() };
                self.inbox.put_first(turn, FromAgent::Said(event));
                TurnOutput::answered(text)
            }
            Err(reason) => {
                let (class, message) = (ErrorClass::Setup, reason.into());
                TurnOutput::failed(TurnError { class, message })
            }
        };
        let report = TurnReport::without_process(output, Ended::ByItself);
        self.inbox.put_first(turn, FromAgent::Ended(Box::new(report)));
    }

    /// The agent found its prompt too large: once more, with half of it.
    pub(super) fn try_smaller(
        &mut self,
        first: &TurnOutput,
        audience: &mut dyn Audience,
    ) -> Result<(), DriveError> {
        let Some(running) = &self.running else { return Ok(()) };
        let (turn, member, answers) =
            (running.turn.clone(), running.member.clone(), running.answers.clone());
        // Half of what was sent, where that is less; a short prompt is not what was too long.
        let budget = (running.budget / 2).min((running.prompt_bytes / 2).max(SHORT_BYTES));
        audience.hear(&TableEvent::TextWithdrawn { turn: &turn, member: &member });
        self.stage_usage(&member, first);
        self.stage_note(What::Retried { budget });
        let start = self.prepare(&turn, &member, &answers, Some(budget));
        let recipe = self.right_recipe(&start).and_then(|recipe| recipe.to_json(None));
        if let Some(recipe) = recipe {
            let again = SentAgain { turn: turn.clone(), hash: start.hash(), recipe };
            self.log.stage(again.to_kind(&member), false);
        }
        self.store_staged(audience)?;
        if let Some(running) = self.running.take() {
            running.join();
        }
        self.launch(start);
        self.store_staged(audience)
    }
}
