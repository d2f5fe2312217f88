//! The outcome of a run, as an exit code and a sentence that says how to continue. With a store in memory nothing can be
//! resumed, so no command is suggested.

use std::fmt::Display;

use tertulia_chat::DisplayNames;
use tertulia_operations::decisions::unfinished_turn;
use tertulia_operations::names::short;
use tertulia_session::{Cause, Entry, EntryId, SpendingLimit, Turn};
use tertulia_store::SessionId;
use tertulia_team::{Dollars, PauseReason, Question, StopReason, Team, TeamMember};

use super::resume_flags;
use crate::args::RunArgs;
use crate::commands::said_by;
use crate::error::{CliError, Result};
use crate::suggested_flags::{as_word, store_flag};

pub(super) struct End<'a> {
    pub(super) args: &'a RunArgs,
    pub(super) session: &'a SessionId,
    pub(super) team: &'a Team,
    /// The entries of the current branch.
    pub(super) entries: &'a [Entry],
    /// The members of the queued turns, in order.
    pub(super) waiting: Vec<Box<str>>,
    pub(super) names: &'a DisplayNames,
    /// Whether the session is lost when the process ends.
    pub(super) is_ephemeral: bool,
    pub(super) is_interrupted: bool,
    pub(super) only_resumes: bool,
}

impl End<'_> {
    /// Returns the flags that select this team, store and session.
    fn flags(&self) -> Option<String> {
        (!self.is_ephemeral).then(|| resume_flags(self.args, self.session))
    }

    /// Returns the last turn, if it was cancelled, interrupted or failed.
    fn unfinished(&self) -> Option<&EntryId> {
        let (entry, _) = unfinished_turn(self.entries, self.team)?;
        entry.turn_id()
    }

    /// Returns whether a turn of an ask waits again, after it was interrupted.
    fn is_queued_again(&self, turn: &EntryId) -> bool {
        let is_again = |again: &Turn| matches!(&again.cause, Cause::Consulted { turn: Some(one), .. } if one == turn);
        self.entries.iter().filter_map(Entry::turn).any(is_again)
    }

    /// Returns the speaker of the suggested command: `--as`, or the last person who spoke if the team has several.
    fn speaker(&self) -> Option<&str> {
        let team = self.team;
        let is_person = |name: &&str| team.member(name).is_some_and(TeamMember::is_person);
        let has_several = team.members().iter().filter(|one| one.is_person()).count() > 1;
        let mut people = self.entries.iter().rev().filter_map(said_by).filter(is_person);
        self.args.speaker.as_deref().or_else(|| people.next().filter(|_| has_several))
    }

    /// Returns a command that resumes this session, with these arguments.
    fn again(&self, words: &dyn Display) -> Option<String> {
        Some(format!("`tertulia run{} {words}`", self.flags()?))
    }

    /// Returns a command that sends a message as the same person.
    fn say(&self, words: &str) -> Option<String> {
        let speaker = self.speaker().map(|name| format!("--as {} ", as_word(name)));
        self.again(&format!("{}{words}", speaker.unwrap_or_default()))
    }

    fn resume(&self) -> Option<String> {
        self.again(&"--continue")
    }

    fn repeat(&self, turn: &EntryId) -> Option<String> {
        Some(format!("{} retries it", self.again(&format!("--repeat {}", short(turn.as_str())))?))
    }

    fn others(&self) -> Option<String> {
        let mut members: Vec<&str> = Vec::new();
        for member in &self.waiting {
            if !members.contains(&&**member) {
                members.push(member);
            }
        }
        let names: Vec<&str> = members.into_iter().map(|member| self.names.name(member)).collect();
        let resume = self.resume().filter(|_| !names.is_empty())?;
        Some(format!("{resume} continues with {}", names.join(", ")))
    }

    fn interrupted(&self) -> CliError {
        let Some(resume) = self.resume() else {
            let why = "interrupted; the store is in memory, so nothing was saved";
            return CliError::Interrupted(why.to_owned());
        };
        let repeat = self.unfinished().and_then(|turn| self.repeat(turn));
        let hints: Vec<String> = repeat.into_iter().chain(self.others()).collect();
        let hint = match hints.as_slice() {
            [] => format!("{resume} continues"),
            some => some.join(", "),
        };
        CliError::Interrupted(format!("interrupted; all messages are saved. {hint}"))
    }

    fn not_allowed(&self, member: &str, title: &str) -> CliError {
        let name = self.names.name(member);
        let chat = match self.flags() {
            Some(flags) => {
                format!("open `tertulia chat{flags}` and type /resume {member} there")
            }
            None => "ask in `tertulia chat`".to_owned(),
        };
        let others = self.others().map(|others| format!("; {others}")).unwrap_or_default();
        CliError::NeedsPerson(format!(
            "{name} asks for permission: {title}. Nobody can answer here. Allow it in the team \
             file (permissions = \"full\"), or {chat}{others}"
        ))
    }
}

pub(super) fn result(pause: &StopReason, end: &End<'_>) -> Result {
    if end.is_interrupted {
        return Err(end.interrupted());
    }
    match pause {
        StopReason::Rested if end.only_resumes => match end.unfinished() {
            Some(turn) => {
                let retry = end.again(&format!("--repeat {}", short(turn.as_str())));
                let retry = retry.map(|retry| format!("Retry it with: {retry}"));
                Err(CliError::NeedsPerson(with("the last turn did not finish", ". ", retry)))
            }
            None => Ok(()),
        },
        StopReason::Rested | StopReason::Closed => Ok(()),
        StopReason::Elsewhere => Err(CliError::NeedsPerson(format!(
            "this session is open in another process, which will answer your message; `tertulia \
             sessions show {}{}` shows the answer",
            end.session,
            store_flag(&end.args.store)
        ))),
        StopReason::PermissionNeeded { member, title } => Err(end.not_allowed(member, title)),
        StopReason::Asked(Question { why, .. }) => question_result(why, end),
    }
}

fn question_result(why: &PauseReason, end: &End<'_>) -> Result {
    let resume_with = |what: &str| end.resume().map(|resume| format!("{resume} {what}"));
    let say = || end.say("\"your message\"");
    let hint = match why {
        // The progress output has already shown whose turn it is.
        PauseReason::Answer { .. } => return Ok(()),
        PauseReason::Failed { turn, member, class } => {
            let failed = format!("{} could not answer ({class})", end.names.name(member));
            return Err(CliError::Failed(with(&failed, "; ", end.repeat(turn))));
        }
        // A message would not help.
        PauseReason::Spending { allowed, .. } if *allowed == Dollars::default() => None,
        PauseReason::Spending { stopped: Some(turn), limit, .. } => {
            // The limit of a turn is only in the team file.
            let more = (*limit != SpendingLimit::Turn)
                .then(|| resume_with("allows the same amount again"));
            let hints = more.flatten().into_iter().chain(end.repeat(turn)).chain(end.others());
            let hints: Vec<String> = hints.collect();
            Some(hints.join(", ")).filter(|hints| !hints.is_empty())
        }
        PauseReason::Limited { .. } => resume_with("tries again"),
        PauseReason::LoopGuard { .. }
        | PauseReason::LimitedAfterTools { .. }
        | PauseReason::PairLoop { .. }
        | PauseReason::Spending { .. }
        | PauseReason::Cancelled { .. }
        | PauseReason::Paused { .. } => {
            let stop = end.say("no").map(|stop| format!("{stop} cancels the queued turns"));
            resume_with("continues").zip(stop).map(|(resume, stop)| format!("{resume}, {stop}"))
        }
        PauseReason::Resumed { interrupted: Some(turn), .. } if end.is_queued_again(turn) => {
            resume_with("continues the ask")
        }
        PauseReason::ResumedSeveral { interrupted, .. }
            if interrupted.iter().all(|turn| end.is_queued_again(turn)) =>
        {
            resume_with("continues the ask")
        }
        PauseReason::Resumed { interrupted: Some(turn), .. } => {
            let without = resume_with("continues without it");
            end.repeat(turn).zip(without).map(|(repeat, without)| format!("{repeat}, {without}"))
        }
        PauseReason::ResumedSeveral { interrupted, .. } => {
            let repeat = interrupted.first().and_then(|turn| end.repeat(turn));
            let without = resume_with("continues without them");
            repeat.zip(without).map(|(repeat, without)| format!("{repeat}, {without}"))
        }
        PauseReason::Resumed { interrupted: None, .. } => resume_with("continues"),
        PauseReason::Unresolved { .. } => {
            say().map(|say| format!("{say} sends it to a member of the team"))
        }
        PauseReason::NobodyToAnswer { .. } => {
            Some("add an agent to the team file; `tertulia init` writes one".to_owned())
        }
        PauseReason::WhoSpeaks { .. } => Some("say who speaks with --as".to_owned()),
    };
    Err(CliError::NeedsPerson(with(&end.names.why(why), "\n", hint)))
}

fn with(what: &str, between: &str, hint: Option<String>) -> String {
    match hint {
        Some(hint) => format!("{what}{between}{hint}"),
        None => what.to_owned(),
    }
}
