//! Dispatches the lines that a person types in a joined chat. Messages, and commands that need the driver, go to the
//! host; the others are executed here.

use tertulia_team::PersonMessage;

use super::joined::JoinedSession;
use crate::commands::{Slash, Typed};
use crate::dispatch::{Action, CommandContext, dispatch, export, note, tell, two_speakers};
use crate::engine::ChatEvent;
use crate::error::ChatError;
use crate::terminal::excerpt;

/// Maximum width of a line that was not sent.
const UNSENT_COLUMNS: usize = 600;

/// Dispatches a line of a client.
pub(crate) fn dispatch_joined(
    typed: &Typed<'_>,
    text: &str,
    joined: &JoinedSession,
    context: &CommandContext<'_>,
) -> Action {
    let sent = match *typed {
        Typed::Words(words) => {
            let said = PersonMessage::new(words, context.chat.team.roster());
            match two_speakers(&said, context) {
                Some(refused) => return refused,
                None => joined.link.say(words),
            }
        }
        Typed::Command(Slash::TakeOver, _) if joined.link.is_live() => {
            return note("another process runs the session; /takeover works when it has ended");
        }
        Typed::Command(Slash::TakeOver, _) => return Action::TakeOver,
        Typed::Command(Slash::Export, given) if !given.is_empty() => {
            return match export(&context.chat.store, &joined.id, given) {
                Ok(lines) => Action::Tell(lines),
                Err(why) => tell(&why.to_string()),
            };
        }
        Typed::Nothing
        | Typed::Unknown { .. }
        | Typed::Command(Slash::Export | Slash::Members | Slash::Help | Slash::Quit, _) => {
            return dispatch(typed, context);
        }
        Typed::Command(slash, _) => joined.link.command(text, slash == Slash::Fork),
    };
    match sent {
        Ok(()) => Action::Tell(Vec::new()),
        Err(why) => {
            if matches!(typed, Typed::Command(Slash::Fork, _)) {
                context.sender.send(ChatEvent::NotForked(why.to_string()));
                return Action::Tell(Vec::new());
            }
            // The input line is already empty, so the text is shown.
            let why = format!("{why}\n  {}", excerpt(text.trim(), UNSENT_COLUMNS));
            context.sender.send(ChatEvent::NotSaid(ChatError::NeedsPerson(why)));
            Action::Tell(Vec::new())
        }
    }
}
