//! `tertulia chat`: finds the team and the session, and opens the chat, on a terminal or by plain lines.

use tertulia_chat::terminal::is_dumb;
use tertulia_chat::{ChatSession, Ended, Entered};
use tertulia_team::{DriveError, EventSink, Machine};

use crate::Streams;
use crate::args::ChatArgs;
use crate::error::{CliError, Result};
use crate::load_team::{LoadedTeam, working_folder};
use crate::open_session;
use crate::store_location::{self, StoreLocation};
use crate::suggested_flags::{as_word, team_and_store_flags};

pub(crate) fn run(args: &ChatArgs, streams: &mut Streams<'_>) -> Result {
    let LoadedTeam { team, file, folder } = LoadedTeam::trusted(&args.team, streams)?;
    let speaker = match &args.speaker {
        // Checked before a session is created.
        Some(name) => Machine::new(team.roster().clone())
            .speaker_of(Some(name))
            .map_err(CliError::Speaker)?
            .map(Box::from),
        None => None,
    };
    let location = StoreLocation::read(&args.store)?;
    let is_ephemeral = location.is_ephemeral();
    let back = (!is_ephemeral).then(|| resume_flags(args));
    let store = match args.session.resume || args.session.session.is_some() {
        true => open_session::store_to_resume(&args.session, &location)?,
        false => location.open()?,
    };
    let is_terminal = streams.stdin_is_terminal && streams.stdout_is_terminal && !is_dumb();
    let home = store_location::home().ok();
    let (here, attended) = (working_folder()?, is_terminal);
    let takes_over = args.take_over;
    let chat =
        ChatSession { store, team, file, folder: here, home, speaker, back, attended, takes_over };
    let open = |audience: &mut dyn EventSink| -> Result<Entered> {
        let (team, store, arg) = (chat.team.clone(), &chat.store, &args.session);
        let found = open_session::resumed(arg, store, &folder)?;
        let opened = open_session::open(arg, found.as_ref(), store, team, is_terminal, audience);
        let mut session = match (opened, found) {
            // Another process runs it, so this one joins.
            (Err(CliError::Drive(DriveError::SessionInUse)), Some(id)) => {
                return Ok(Entered::InUse(id));
            }
            (opened, _) => opened?,
        };
        session.opened.driver.update_settings(Some(&folder), None);
        Ok(session.into())
    };
    if is_terminal {
        let farewell = chat.on_terminal(streams.stdout, streams.stdout_has_colour, open)?;
        if let Some(farewell) = farewell {
            // If standard error is closed, nobody can read it.
            let _ = writeln!(streams.notes(), "{farewell}");
        }
        return Ok(());
    }
    let prompts = streams.stdin_is_terminal;
    match chat.by_lines(streams.stdin, streams.stdout, prompts, open)? {
        Ended::Normally => Ok(()),
        Ended::Interrupted if is_ephemeral => Err(CliError::Interrupted(
            "interrupted; the store is in memory, so nothing was saved".to_owned(),
        )),
        Ended::Interrupted => Err(CliError::Interrupted(format!(
            "interrupted; all messages are saved. Resume with `tertulia chat{} --continue`",
            resume_flags(args)
        ))),
        Ended::NeedsPerson(why) => Err(CliError::NeedsPerson(why)),
        Ended::AgentFailed(why) => Err(CliError::Failed(why)),
        Ended::NotSaid(error) => Err(error.into()),
    }
}

/// Returns the flags that resume the chat as the same person, with the same team and store.
fn resume_flags(args: &ChatArgs) -> String {
    let speaker = args.speaker.as_deref().map(|name| format!(" --as {}", as_word(name)));
    speaker.unwrap_or_default() + &team_and_store_flags(&args.team.file, &args.store)
}
