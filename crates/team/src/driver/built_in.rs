//! What the built-in members answer from: the scribe from this session, the librarian from past ones.

use tertulia_context::compact::Covered;
use tertulia_session::{EntryId, Message};
use tertulia_store::ProjectScope;

use super::Driver;
use crate::file::LibrarianScope;
use crate::house;
use crate::team::{Answers, TeamMember};

impl Driver {
    pub(super) fn past_sessions(
        &self,
        librarian: &str,
        asks: &EntryId,
    ) -> Result<house::Answer, String> {
        let branch = self.log.branch();
        let asked = branch.number_of(asks).and_then(|number| branch.said(number));
        let Some((.., message)) = asked else { return Ok(house::Answer::default()) };
        let Some(scope) = self.searched(librarian, message) else {
            return Ok(house::Answer::plain(house::OTHER_PROJECT));
        };
        house::look_up(&self.log.store, &self.log.session, &scope, &message.text())
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
        (!self.is_elsewhere()).then(|| ProjectScope::same_as(self.project()))
    }

    pub(super) fn summary(&self, asks: &EntryId) -> house::Answer {
        let is_scribe = |message: &Message| {
            let speaker = message.speaker.as_deref();
            let member = speaker.and_then(|speaker| self.team.member(&speaker.role_id));
            member.is_some_and(TeamMember::is_scribe)
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
}
