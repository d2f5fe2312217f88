//! Answers of the built-in members: the scribe summarises this session, the librarian searches past ones.

use tertulia_context::compact::Covered;
use tertulia_session::{EntryId, Message};
use tertulia_store::ProjectScope;

use super::Driver;
use crate::built_in;
use crate::file::LibrarianScope;
use crate::team::{Responder, TeamMember};

impl Driver {
    pub(super) fn past_sessions(
        &self,
        librarian: &str,
        asks: &EntryId,
    ) -> Result<built_in::Answer, String> {
        let branch = self.log.branch();
        let asked = branch.number_of(asks).and_then(|number| branch.text_message(number));
        let Some((.., message)) = asked else { return Ok(built_in::Answer::default()) };
        let Some(scope) = self.searched(librarian, message) else {
            return Ok(built_in::Answer::plain(built_in::OTHER_PROJECT));
        };
        built_in::look_up(&self.log.store, &self.log.session, &scope, &message.text())
            .map_err(|error| error.to_string())
    }

    /// Returns the past sessions that the librarian searches for a request. They belong to the same project; if the
    /// team file allows it and a person asks, they belong to any project. `None` if the session belongs to another
    /// project than the team, because texts of neither project may be used then.
    fn searched(&self, librarian: &str, request: &Message) -> Option<ProjectScope> {
        let member = |name: &str| self.team.member(name);
        let speaker = request.speaker.as_deref().and_then(|speaker| member(&speaker.role_id));
        let is_person = speaker.is_some_and(TeamMember::is_person);
        let may_all = member(librarian).is_some_and(|one| one.scope == LibrarianScope::All);
        if is_person && may_all {
            return Some(ProjectScope::All);
        }
        (!self.is_other_project()).then(|| ProjectScope::same_as(self.project()))
    }

    pub(super) fn summary(&self, asks: &EntryId) -> built_in::Answer {
        let is_scribe = |message: &Message| {
            let speaker = message.speaker.as_deref();
            let member = speaker.and_then(|speaker| self.team.member(&speaker.role_id));
            member.is_some_and(TeamMember::is_scribe)
        };
        // Summaries of the scribe itself contain nothing new.
        let branch = self.log.branch();
        let mut said: Vec<Covered<'_>> = (0..branch.text_message_count())
            .filter_map(|number| branch.text_message(number))
            .filter(|(.., message)| !is_scribe(message))
            .map(|(_, entry, message)| Covered { entry: &entry.id, message })
            .collect();
        // If the request is the only message, it is summarised itself.
        let is_alone = said.len() < 2;
        if !is_alone {
            said.retain(|one| one.entry != asks);
        }
        let is_agent = |one: &TeamMember| matches!(one.responder, Responder::Agent(_));
        let colleagues = match self.team.members.iter().any(is_agent) {
            true => built_in::Colleagues::Agents,
            false if self.team.is_built_in => built_in::Colleagues::NoFile,
            false => built_in::Colleagues::NoAgents,
        };
        built_in::summarise(&said, is_alone, colleagues)
    }
}
