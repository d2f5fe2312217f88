//! How a run ended, as an exit code and a sentence that says how to go on. Where the store forgets all with
//! the end of the program there is nothing to go on with, and no command is named.

use std::fmt::Display;

use tertulia_chat::Shown;
use tertulia_operations::decisions::unfinished_turn;
use tertulia_operations::names::short;
use tertulia_session::EntryId;
use tertulia_team::{Dollars, Driver, Pause, Question, TeamMember, Why};

use super::way_back;
use crate::advice::{as_word, same_store};
use crate::args::RunArgs;
use crate::commands::said_by;
use crate::error::{CliError, Result};

pub(super) struct End<'a> {
    pub(super) args: &'a RunArgs,
    pub(super) driver: &'a Driver,
    pub(super) shown: &'a Shown,
    /// Whether the session is gone with this program.
    pub(super) is_forgotten: bool,
    pub(super) is_interrupted: bool,
    pub(super) only_goes_on: bool,
}

impl End<'_> {
    /// The flags that lead back to this table: its team, its store and its session.
    fn place(&self) -> Option<String> {
        (!self.is_forgotten).then(|| way_back(self.args, self.driver.session()))
    }

    /// The last turn, if it was cancelled, interrupted or failed.
    fn unfinished(&self) -> Option<&EntryId> {
        let (entry, _) = unfinished_turn(self.driver.entries(), self.driver.team())?;
        entry.turn_id()
    }

    /// Who speaks the next time: who spoke now, or else the last person who did, where the team has several.
    fn speaker(&self) -> Option<&str> {
        let team = self.driver.team();
        let is_person = |name: &&str| team.member(name).is_some_and(TeamMember::is_person);
        let has_several = team.members().iter().filter(|one| one.is_person()).count() > 1;
        let mut people = self.driver.entries().iter().rev().filter_map(said_by).filter(is_person);
        self.args.speaker.as_deref().or_else(|| people.next().filter(|_| has_several))
    }

    /// The command that lets this table go on, with these words behind it.
    fn again(&self, words: &dyn Display) -> Option<String> {
        Some(format!("`tertulia run{} {words}`", self.place()?))
    }

    /// The same where the words are said, by the same person.
    fn say(&self, words: &str) -> Option<String> {
        let speaker = self.speaker().map(|name| format!("--as {} ", as_word(name)));
        self.again(&format!("{}{words}", speaker.unwrap_or_default()))
    }

    fn go_on(&self) -> Option<String> {
        self.again(&"--continue")
    }

    fn repeat(&self, turn: &EntryId) -> Option<String> {
        Some(format!("{} retries it", self.again(&format!("--repeat {}", short(turn.as_str())))?))
    }

    fn others(&self) -> Option<String> {
        let mut members = Vec::new();
        for turn in self.driver.machine().waiting() {
            if !members.contains(&turn.member) {
                members.push(turn.member);
            }
        }
        let names: Vec<&str> = members.into_iter().map(|member| self.shown.name(member)).collect();
        let go_on = self.go_on().filter(|_| !names.is_empty())?;
        Some(format!("{go_on} continues with {}", names.join(", ")))
    }

    fn interrupted(&self) -> CliError {
        let Some(go_on) = self.go_on() else {
            let why = "interrupted; the store is in memory, so nothing was saved";
            return CliError::Interrupted(why.to_owned());
        };
        let repeat = self.unfinished().and_then(|turn| self.repeat(turn));
        let hints: Vec<String> = repeat.into_iter().chain(self.others()).collect();
        let hint = match hints.as_slice() {
            [] => format!("{go_on} continues"),
            some => some.join(", "),
        };
        CliError::Interrupted(format!("interrupted; what was said is saved, {hint}"))
    }

    fn not_allowed(&self, member: &str, title: &str) -> CliError {
        let name = self.shown.name(member);
        let chat = match self.place() {
            Some(place) => {
                format!("open `tertulia chat{place}` and type /resume {member} there")
            }
            None => "ask in `tertulia chat`".to_owned(),
        };
        let others = self.others().map(|others| format!("; {others}")).unwrap_or_default();
        CliError::NeedsPerson(format!(
            "{name} asks for permission: {title}. Nobody can answer here; allow it in the team file \
             (permissions = \"full\"), or {chat}{others}"
        ))
    }
}

pub(super) fn of(pause: &Pause, end: &End<'_>) -> Result {
    if end.is_interrupted {
        return Err(end.interrupted());
    }
    match pause {
        Pause::Rested if end.only_goes_on => match end.unfinished() {
            Some(turn) => {
                let retry = end.again(&format!("--repeat {}", short(turn.as_str())));
                let retry = retry.map(|retry| format!("Retry it with: {retry}"));
                Err(CliError::NeedsPerson(with("the last turn did not finish", ". ", retry)))
            }
            None => Ok(()),
        },
        Pause::Rested | Pause::Closed => Ok(()),
        Pause::Elsewhere => Err(CliError::NeedsPerson(format!(
            "this session is open in another process, which will answer your message; `tertulia \
             sessions show {}{}` shows the answer",
            end.driver.session(),
            same_store(&end.args.store)
        ))),
        Pause::PermissionNeeded { member, title } => Err(end.not_allowed(member, title)),
        Pause::Asked(Question { why, .. }) => of_question(why, end),
    }
}

fn of_question(why: &Why, end: &End<'_>) -> Result {
    let goes_on = |what: &str| end.go_on().map(|go_on| format!("{go_on} {what}"));
    let say = || end.say("\"your message\"");
    let hint = match why {
        // The progress has told whose turn it is.
        Why::Answer { .. } => return Ok(()),
        Why::Failed { turn, member, class } => {
            let failed = format!("{} could not answer ({class})", end.shown.name(member));
            return Err(CliError::Failed(with(&failed, "; ", end.repeat(turn))));
        }
        // Nothing that is said here changes it.
        Why::Spending { allowed, .. } if *allowed == Dollars::default() => None,
        Why::LoopGuard { .. }
        | Why::PairLoop { .. }
        | Why::Spending { .. }
        | Why::Cancelled { .. }
        | Why::Paused { .. } => {
            let stop = end.say("no").map(|stop| format!("{stop} cancels the queued turns"));
            goes_on("continues").zip(stop).map(|(go_on, stop)| format!("{go_on}, {stop}"))
        }
        Why::Resumed { interrupted: Some(turn), .. } => {
            let without = goes_on("continues without it");
            end.repeat(turn).zip(without).map(|(repeat, without)| format!("{repeat}, {without}"))
        }
        Why::Resumed { interrupted: None, .. } => goes_on("continues"),
        Why::Unresolved { .. } => {
            say().map(|say| format!("{say} sends it to a member of the team"))
        }
        Why::NobodyToAnswer { .. } => {
            Some("add an agent to the team file; `tertulia init` writes one".to_owned())
        }
        Why::WhoSpeaks { .. } => Some("say who speaks with --as".to_owned()),
    };
    Err(CliError::NeedsPerson(with(&end.shown.why(why), "\n", hint)))
}

fn with(what: &str, between: &str, hint: Option<String>) -> String {
    match hint {
        Some(hint) => format!("{what}{between}{hint}"),
        None => what.to_owned(),
    }
}
