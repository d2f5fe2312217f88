//! Replaces members' names by display names in texts for people, and gives advice that fits the member. Names that
//! people must type are not replaced. Used by `run` and the chat; programs get the names of the log.

use std::borrow::Cow;
use std::collections::BTreeMap;

use anstyle::Color;
use tertulia_session::{TurnActivity, TurnEvent};
use tertulia_team::agents;
use tertulia_team::file::TeamFile;
use tertulia_team::{Note, PauseReason, Team, TeamMember};

use crate::narrate;
use crate::style::{Line, Look, colour_of};
use crate::terminal::excerpt;

/// The class of a failure that a key or a login would fix.
const AUTH: &str = "auth";
/// The class of a failure before the agent could start.
const SETUP: &str = "setup";
/// The class of a turn that was ended at one of its limits.
const LIMIT: &str = "limit";
/// The settings in messages about limits that already contain advice.
const RESOURCE_SETTINGS: [&str; 2] = ["`max_processes`", "`max_memory_mb`"];
/// Maximum width of a failure.
const FAILURE_COLUMNS: usize = 1_000;

/// The members with their display names and colours.
#[derive(Clone, Default)]
pub struct DisplayNames {
    members: BTreeMap<Box<str>, DisplayName>,
}

#[derive(Clone)]
struct DisplayName {
    name: Box<str>,
    colour: Color,
    is_person: bool,
    key: Key,
}

/// The source of a member's API key.
#[derive(Clone)]
enum Key {
    /// Its program manages its own key.
    Own,
    Variable(Box<str>),
    /// No variable is set in the team file.
    None,
}

impl DisplayNames {
    /// Reads the display names of a team.
    pub fn new(team: &Team, file: &TeamFile) -> Self {
        let one = |(index, one): (usize, &TeamMember)| {
            let member = file.member(&one.member.name);
            let colour = colour_of(index, member.and_then(|member| member.color.as_deref()));
            let member = member.filter(|member| member.agent == Some(agents::OPENAI));
            let key = match member.map(|member| member.key_variable.as_deref()) {
                Some(Some(variable)) => Key::Variable(variable.into()),
                Some(None) => Key::None,
                None => Key::Own,
            };
            let (name, is_person) = (one.shown_name().into(), one.is_person());
            (one.member.name.clone(), DisplayName { name, colour, is_person, key })
        };
        Self { members: team.members().iter().enumerate().map(one).collect() }
    }

    /// Returns the display name of a member; for an unknown member, the name itself.
    pub fn name<'n>(&'n self, member: &'n str) -> &'n str {
        self.members.get(member).map_or(member, |one| &one.name)
    }

    /// Returns the display name in the member's colour.
    pub(crate) fn painted_name(&self, member: &str) -> Line {
        match self.members.get(member) {
            Some(one) => Line::new(&one.name, Look::Name(one.colour)),
            None => Line::new(member, Look::Strong),
        }
    }

    /// Returns whether a member is a person; `None` for an unknown member.
    pub fn is_person(&self, member: &str) -> Option<bool> {
        self.members.get(member).map(|one| one.is_person)
    }

    /// Returns why a person is asked, with display names.
    pub fn why(&self, why: &PauseReason) -> String {
        let mut why = why.clone();
        match &mut why {
            PauseReason::PairLoop { pair, .. } => pair.iter_mut().for_each(|name| self.show(name)),
            PauseReason::Spending { member: Some(member), .. }
            | PauseReason::Limited { member, .. }
            | PauseReason::Failed { member, .. } => {
                self.show(member);
            }
            PauseReason::LimitedAfterTools { member, next, .. } => {
                self.show(member);
                next.iter_mut().for_each(|next| self.show(next));
            }
            PauseReason::Answer { by: Some(by), .. } => self.show(by),
            _ => {}
        }
        why.to_string()
    }

    /// Returns a note with display names.
    pub fn note(&self, note: &Note) -> String {
        let mut note = note.clone();
        match &mut note {
            Note::Duplicate { member, .. }
            | Note::Adjacent { member, .. }
            | Note::Overflow { member, .. }
            | Note::Demoted { member, .. }
            | Note::Failed { member, .. } => self.show(member),
            Note::PassedOn { member, to, .. } => {
                self.show(member);
                self.show(to);
            }
            _ => {}
        }
        note.to_string()
    }

    /// Returns the hint for a failure; `None` if the message already says what to do.
    pub fn hint<'c>(
        &self,
        member: &str,
        class: &str,
        message: &str,
        advice: &'c str,
    ) -> Option<Cow<'c, str>> {
        // Our own messages have the form "problem; advice". Messages of agents rarely contain a semicolon.
        let says_itself = match class {
            SETUP => message.contains("; "),
            LIMIT => RESOURCE_SETTINGS.iter().any(|setting| message.contains(setting)),
            _ => false,
        };
        (!says_itself).then(|| self.advice(member, class, advice))
    }

    /// Returns what to do about a failure. For an endpoint without access, it names the source of the key.
    pub fn advice<'c>(&self, member: &str, class: &str, advice: &'c str) -> Cow<'c, str> {
        match self.members.get(member).map(|one| &one.key) {
            Some(Key::Variable(variable)) if class == AUTH => {
                Cow::Owned(format!("check its key in the environment variable {variable}"))
            }
            Some(Key::None) if class == AUTH => Cow::Borrowed(
                "if it needs a key, set key_variable in the team file to the name of the \
                 environment variable that contains the key",
            ),
            _ => Cow::Borrowed(advice),
        }
    }

    /// Returns an agent's activity as lines.
    pub(crate) fn done(&self, note: &TurnEvent, columns: usize) -> Vec<Line> {
        if !narrate::is_live(note) {
            return Vec::new();
        }
        let name = self.name(&note.member);
        let columns = columns.saturating_sub(4).max(8);
        let line = |text: &str, look| vec![Line::new(excerpt(text, columns), look)];
        match &note.activity {
            what @ TurnActivity::Failed { class, message, cure: advice } => {
                let text = excerpt(&narrate::note(name, what), FAILURE_COLUMNS);
                let hint = self.hint(&note.member, class, message, advice);
                let hint = hint.map(|hint| Line::new(&hint, Look::Dim));
                std::iter::once(Line::new(&text, Look::Error)).chain(hint).collect()
            }
            // The line contains the name, because the lines above may not show it.
            what @ TurnActivity::Warned { .. } => line(&narrate::note(name, what), Look::Dim),
            what @ (TurnActivity::ToolFinished { .. } | TurnActivity::ToolDenied { .. }) => {
                line(&narrate::activity(what), Look::Error)
            }
            what => line(&narrate::activity(what), Look::Dim),
        }
    }

    fn show(&self, name: &mut Box<str>) {
        *name = self.name(name).into();
    }
}

#[cfg(test)]
mod tests {
    use tertulia_session::json::Json;

    use super::*;

    fn shown() -> DisplayNames {
        let text = "[[member]]\nname = \"max\"\ndisplay_name = \"Max\"\nagent = \"claude\"\n\
                    [[member]]\nname = \"near\"\nagent = \"openai\"\nmodel = \"m\"\n\
                    base_url = \"http://127.0.0.1:1/v1\"\n\
                    [[member]]\nname = \"far\"\nagent = \"openai\"\nmodel = \"m\"\n\
                    base_url = \"http://127.0.0.1:1/v1\"\nkey_variable = \"FAR_KEY\"\n";
        let file = TeamFile::parse(text, "tertulia.toml").unwrap();
        let team = Team::from_file(&file, std::path::Path::new(".")).unwrap();
        DisplayNames::new(&team, &file)
    }

    #[test]
    fn members_appear_with_their_display_names() {
        let shown = shown();
        assert_eq!(["max", "near", "gone"].map(|name| shown.name(name)), ["Max", "near", "gone"]);
        let why = PauseReason::PairLoop { pair: ["max".into(), "far".into()], turns: 4 };
        assert!(shown.why(&why).starts_with("Max and far have taken 4 turns"));
        let turn = tertulia_session::EntryId::from("t1");
        let note =
            Note::Failed { turn, member: "max".into(), class: "crash".into(), is_paused: false };
        assert!(shown.note(&note).starts_with("Max could not answer in turn t1"));
    }

    #[test]
    fn the_advice_about_a_key_names_its_variable() {
        let shown = shown();
        let advice = |member, class| shown.advice(member, class, "log in").into_owned();
        assert_eq!(advice("far", "auth"), "check its key in the environment variable FAR_KEY");
        assert!(advice("near", "auth").contains("key_variable in the team file"));
        assert_eq!(advice("far", "quota"), "log in");
        assert_eq!(advice("max", "auth"), "log in");
    }

    #[test]
    fn a_message_that_names_the_setting_gets_no_hint_of_another_one() {
        let shown = shown();
        let hint = |message| shown.hint("max", "limit", message, "increase timeout_s");
        let processes = "it ran 11 processes at once, but `max_processes` allows only 10; raise it";
        assert_eq!(hint(processes), None);
        assert_eq!(
            hint("it used 70 MB of memory, but `max_memory_mb` allows only 64; raise it"),
            None
        );
        assert_eq!(hint("it took longer than 5 s").as_deref(), Some("increase timeout_s"));
    }

    fn done(activity: TurnActivity) -> Vec<String> {
        let note = TurnEvent::new("t".into(), "max", activity);
        shown().done(&note, 40).iter().map(Line::text).collect()
    }

    #[test]
    fn a_tool_is_one_line_whatever_it_was_given() {
        let started = |input: &str| TurnActivity::ToolStarted {
            id: "1".into(),
            name: "Bash".into(),
            input: Json::parse(input).unwrap(),
        };
        assert_eq!(
            done(started(r#"{"command":"ls -l\nrm x\u001b[2J"}"#)),
            ["→ Bash ls -l rm x␛[2J"]
        );
        assert_eq!(done(started("null")), ["→ Bash"]);
        let long = format!(r#"{{"a":1,"b":"{}"}}"#, "x".repeat(1000));
        assert_eq!(done(started(&long)).len(), 1);
        assert!(done(started(&long))[0].chars().count() <= 40);
    }

    #[test]
    fn only_a_failed_tool_is_reported_again() {
        let ended = |is_error| TurnActivity::ToolFinished {
            id: "1".into(),
            name: Some("Bash".into()),
            output: Some("no such file".into()),
            is_error,
        };
        assert!(done(ended(false)).is_empty());
        assert_eq!(done(ended(true)), ["✗ Bash failed: no such file"]);
    }
}
