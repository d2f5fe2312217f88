//! `tertulia chat`: finds the team and the session, and opens the chat, on a terminal or by plain lines.

use tertulia_chat::terminal::is_dumb;
use tertulia_chat::{Ended, OpenTable, Room};
use tertulia_team::{EventSink, Machine};

use crate::Streams;
use crate::advice::{as_word, same_place};
use crate::args::ChatArgs;
use crate::error::{CliError, Result};
use crate::open_table;
use crate::store_place::{self, StorePlace};
use crate::team_place::{TeamPlace, working_folder};

pub(crate) fn run(args: &ChatArgs, streams: &mut Streams<'_>) -> Result {
    let TeamPlace { team, file, folder } = TeamPlace::trusted(&args.team, streams)?;
    let speaker = match &args.speaker {
        // Before anything is begun.
        Some(name) => Machine::new(team.table().clone())
            .speaker_of(Some(name))
            .map_err(CliError::Speaker)?
            .map(Box::from),
        None => None,
    };
    let place = StorePlace::read(&args.store)?;
    let is_forgotten = place.is_forgotten();
    let back = (!is_forgotten).then(|| way_back(args));
    let store = match args.session.go_on || args.session.session.is_some() {
        true => open_table::store_to_resume(&args.session, &place)?,
        false => place.open()?,
    };
    let is_terminal = streams.stdin_is_terminal && streams.stdout_is_terminal && !is_dumb();
    let home = store_place::home().ok();
    let (here, attended) = (working_folder()?, is_terminal);
    let room = Room { store, team, file, folder: here, home, speaker, back, attended };
    let open = |audience: &mut dyn EventSink| -> Result<OpenTable> {
        let (team, store, arg) = (room.team.clone(), &room.store, &args.session);
        let found = open_table::resumed(arg, store, &folder)?;
        let mut table = open_table::open(arg, found.as_ref(), store, team, is_terminal, audience)?;
        table.opened.driver.set_terms(Some(&folder), None);
        Ok(table)
    };
    if is_terminal {
        let farewell = room.on_terminal(streams.stdout, streams.stdout_has_colour, open)?;
        if let Some(farewell) = farewell {
            // With standard error gone there is nobody left to tell.
            let _ = writeln!(streams.notes(), "{farewell}");
        }
        return Ok(());
    }
    let prompts = streams.stdin_is_terminal;
    match room.by_lines(streams.stdin, streams.stdout, prompts, open)? {
        Ended::Well => Ok(()),
        Ended::Interrupted if is_forgotten => Err(CliError::Interrupted(
            "interrupted; the store is in memory, so nothing was saved".to_owned(),
        )),
        Ended::Interrupted => Err(CliError::Interrupted(format!(
            "interrupted; what was said is saved, `tertulia chat{} --continue` resumes",
            way_back(args)
        ))),
        Ended::NeedsPerson(why) => Err(CliError::NeedsPerson(why)),
        Ended::AgentFailed(why) => Err(CliError::Failed(why)),
        Ended::NotSaid(error) => Err(error.into()),
    }
}

/// The flags that lead the same person back to the same team and store.
fn way_back(args: &ChatArgs) -> String {
    let speaker = args.speaker.as_deref().map(|name| format!(" --as {}", as_word(name)));
    speaker.unwrap_or_default() + &same_place(&args.team.file, &args.store)
}
