//! What there is to offer: members of the team file, sessions and entries of the store.

use tertulia_chat::terminal::excerpt;
use tertulia_operations::names::{Latest, find_session_or_latest, short, short_session};
use tertulia_session::{Entry, EntryKind};
use tertulia_store::{ListFilter, ProjectScope, Range, SessionStore};
use tertulia_team::file::{MemberFile, TeamFile};

use super::{Before, Offer};
use crate::args::{StoreArg, TeamFileArg};
use crate::store_place::StorePlace;
use crate::team_place::{TeamPlace, find, open, project_here};

/// How many sessions, or entries of one, are offered.
const OFFERED_MAX: usize = 100;
/// How many of the newest entries of a session are looked at.
const ENTRIES_READ: usize = 400;
/// How much of a message or a title is shown beside its id.
const HELP_COLUMNS: usize = 48;

/// What is on the command line already.
pub(super) struct Line {
    store: Option<String>,
    team: TeamFileArg,
    /// The session that entries are looked for in.
    session: Option<String>,
    /// Whether the newest session is meant, whether or not a team worked in it.
    is_of_store: bool,
}

impl Line {
    pub(super) fn of(words: &[String], before: &Before<'_>) -> Self {
        let value = |flag: &str| {
            let joined = format!("{flag}=");
            let apart = words.windows(2).find_map(|pair| match pair {
                [name, value] if name == flag => Some(value.as_str()),
                _ => None,
            });
            let found = apart.or_else(|| words.iter().find_map(|word| word.strip_prefix(&joined)));
            found.filter(|value| !value.is_empty() && !value.starts_with("--")).map(str::to_owned)
        };
        Self {
            store: value("--store").or_else(|| std::env::var("TERTULIA_STORE").ok()),
            team: TeamFileArg { team: value("--team").map(Into::into) },
            session: value("--session").or_else(|| before.session.clone()),
            is_of_store: before.first == Some("sessions"),
        }
    }

    pub(super) fn members(&self, fits: impl Fn(&MemberFile) -> bool) -> Vec<Offer> {
        let team = match find(&self.team) {
            Ok(Some(found)) => open(&found).ok().map(|opened| opened.team),
            Ok(None) => Some(TeamFile::house()),
            Err(_) => None,
        };
        let members = team.map(|team| team.members).unwrap_or_default();
        let fitting = members.iter().filter(|member| fits(member));
        fitting.map(|member| Offer::new(&member.name)).collect()
    }

    /// The store, if it is a file that exists: a server may take long to answer.
    fn store(&self) -> Option<SessionStore> {
        let place = StorePlace::read(&StoreArg { store: self.store.clone() }).ok()?;
        place.is_file().then(|| place.open_existing().ok()).flatten().flatten()
    }

    pub(super) fn sessions(&self) -> Option<Vec<Offer>> {
        let project = TeamPlace::folder(&self.team).unwrap_or_else(|_| project_here());
        let project = ProjectScope::Of(project);
        let filter = ListFilter { limit: Some(OFFERED_MAX), project, ..ListFilter::default() };
        let sessions = self.store()?.list(&filter).ok()?;
        let mut offers = vec![Offer::new("latest").with_help("the newest session")];
        for info in sessions {
            let title = info.title.as_deref().map(|title| excerpt(title, HELP_COLUMNS));
            let (title, shown) = (title.unwrap_or_default(), short_session(&info.id));
            offers.push(Offer::new(shown).with_help(&title));
            if shown != info.id.as_str() {
                // For whoever has typed the date.
                offers.push(Offer { is_rare: true, ..Offer::new(info.id.as_str()) });
            }
        }
        Some(offers)
    }

    /// The newest messages and turns of the session that is meant.
    pub(super) fn entries(&self, fits: impl Fn(&Entry) -> bool) -> Option<Vec<Offer>> {
        let store = self.store()?;
        let folder = TeamPlace::folder(&self.team).unwrap_or_default();
        let latest = match self.is_of_store {
            true => Latest::OfProject(&folder),
            false => Latest::OfFolder(&folder),
        };
        let session = find_session_or_latest(&store, self.session.as_deref(), latest).ok()?;
        let entries = store.load(&session, &Range::Tail(ENTRIES_READ)).ok()?;
        let newest = entries.iter().rev().map(|stored| &stored.entry);
        let offered = newest.filter(|entry| fits(entry)).filter_map(|entry| {
            let help = match &entry.kind {
                EntryKind::Message(message) => message.text().into_owned(),
                EntryKind::Turn(turn) => format!("{}'s turn {}", turn.member, turn.state.as_str()),
                _ => return None,
            };
            let help = excerpt(&help, HELP_COLUMNS);
            Some(Offer::new(&short(entry.id.as_str())).with_help(&help))
        });
        Some(offered.take(OFFERED_MAX).collect())
    }
}

#[cfg(test)]
mod tests {
    use clap::CommandFactory;

    use super::*;
    use crate::args::Cli;

    fn line(text: &str) -> Line {
        let mut command = Cli::command();
        command.build();
        let words: Vec<String> = text.split(' ').map(str::to_owned).collect();
        let (_, before) = words.split_last().unwrap();
        Line::of(&words, &Before::read(&command, before))
    }

    #[test]
    fn what_stands_on_the_line_already_says_where_to_look() {
        let read = line("why --session a --store=sqlite:b --team c.toml ");
        assert_eq!(read.session.as_deref(), Some("a"));
        assert_eq!(read.store.as_deref(), Some("sqlite:b"));
        assert_eq!(read.team.team.as_deref(), Some(std::path::Path::new("c.toml")));
        for redacts in ["sessions redact login ", "sessions --store b redact --json login "] {
            let read = line(redacts);
            assert_eq!((read.session.as_deref(), read.is_of_store), (Some("login"), true));
        }
        assert_eq!(line("sessions show --from ").session, None);
        assert_eq!(line("why --session").session, None);
    }
}
