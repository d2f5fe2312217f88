//! Opens the session of a chat: a forked one, one that another process runs, or one whose process has ended.

use tertulia_operations::names::short_session;
use tertulia_session::Entry;
use tertulia_store::{Range, SessionId};
use tertulia_team::{DriveError, Driver, Opened};

use super::engine::{EventSender, LiveSession, Session};
use super::join::{Client, JoinError, JoinedSession, SocketPlace};
use super::presenter::Presenter;
use super::style::{Line, Look};
use super::{ChatSession, RECAP, StartedChat, not_asked};
use crate::error::ChatError;

/// Number of entries that are read to find the messages to show, if another process runs the session.
const RECAP_READ: usize = 512;

impl ChatSession {
    /// Opens the session that was forked from this one; returns it with the lines to show.
    pub(crate) fn reopen(
        &self,
        session: &SessionId,
        sender: &EventSender,
    ) -> Result<(Session, Vec<Line>), ChatError> {
        let text = format!("Forked. You are now in session {}.", short_session(session));
        self.run_here(session, &text, sender)
    }

    /// Runs a session in this process; returns it with the lines to show.
    fn run_here(
        &self,
        session: &SessionId,
        text: &str,
        sender: &EventSender,
    ) -> Result<(Session, Vec<Line>), ChatError> {
        let mut sender = sender.clone();
        let team = self.team.clone();
        let Opened { driver, undecided, .. } =
            Driver::reopen(&self.store, session, team, self.attended, &mut sender)?;
        let mut lines = vec![Line::new(text, Look::Dim)];
        lines.extend(undecided.as_ref().map(not_asked));
        let session = LiveSession::start(driver, self, &sender).map_err(ChatError::Input)?;
        Ok((Session::Own(session), lines))
    }

    /// Takes over a session whose process has ended. If another process is faster, joins that one.
    pub(crate) fn take_over(
        &self,
        session: &SessionId,
        sender: &EventSender,
    ) -> Result<(Session, Vec<Line>), ChatError> {
        let text = format!("This chat now runs session {}.", short_session(session));
        match self.run_here(session, &text, sender) {
            Err(ChatError::Drive(DriveError::SessionInUse)) => {
                let last = self.store.info(session).map_err(DriveError::from)?.tail;
                let joined = JoinedSession::start(self, session, None, last, sender);
                let text = match self.store.holder(session) {
                    Ok(Some(holder)) => format!("{holder} still has the right to run the session."),
                    _ => "Another process was faster.".to_owned(),
                };
                let joined = joined.map_err(ChatError::Input)?;
                Ok((Session::Joined(joined), vec![Line::new(&text, Look::Dim)]))
            }
            taken => taken,
        }
    }

    /// Joins a session that another process runs, or follows its log if that process cannot be reached and the person
    /// `follows`.
    pub(crate) fn join(
        &self,
        id: &SessionId,
        sender: EventSender,
        presenter: &mut Presenter,
        follows: bool,
    ) -> Result<StartedChat, ChatError> {
        let place = self.place(id);
        let joined =
            |place: &SocketPlace| Client::join(place, id, &self.folder, self.speaker.as_deref());
        let client = match place.as_ref().map(joined) {
            Some(Err(error @ JoinError::Refused(_))) => return Err(ChatError::Join(error)),
            Some(Ok(client)) => Some(client),
            Some(Err(_)) | None if follows => None,
            Some(Err(_)) | None => return Err(DriveError::SessionInUse.into()),
        };
        let tail = match &client {
            Some(client) => client.tail.clone(),
            None => self.store.info(id).map_err(DriveError::from)?.tail,
        };
        let range = Range::Branch { tail: tail.clone(), limit: Some(RECAP_READ) };
        let read = self.store.load(id, &range).map_err(DriveError::from)?;
        let entries: Vec<Entry> = read.into_iter().map(|stored| stored.entry).collect();
        let mut lines = self.title(id, presenter);
        lines.extend(presenter.recap(&entries, RECAP));
        let text = match &client {
            Some(client) => format!("Joined: process {} runs this session.", client.process),
            None => match self.store.holder(id).map_err(DriveError::from)? {
                Some(holder) => format!(
                    "{holder} runs this session and cannot be reached from here. You can read along; /takeover \
                     continues it here when that process has ended."
                ),
                None => "Another process runs this session and cannot be reached. You can read along; /takeover \
                         continues it here when that process has ended."
                    .to_owned(),
            },
        };
        lines.extend(presenter.fitted(&[Line::new(&text, Look::Dim)]));
        let session = JoinedSession::start(self, id, client, tail, &sender);
        let session = Session::Joined(session.map_err(ChatError::Input)?);
        Ok(StartedChat { session, new: None, sender, lines })
    }
}
