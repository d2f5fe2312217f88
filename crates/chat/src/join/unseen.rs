//! The entries of the log that a client has not seen. They show whether a message was stored that its host did not
//! confirm. Used by joined chats, and by `run` through [`is_message_stored`].

use tertulia_session::{Entry, EntryId, Message};
use tertulia_store::{Range, SessionId, SessionStore, StoreError};
use tertulia_team::{PersonMessage, Team};

use crate::ChatSession;

/// How many of the newest entries are read first to find those that the client has not seen.
pub(super) const PAGES: [Option<usize>; 3] = [Some(64), Some(2_048), None];

/// Entries that were not shown yet.
pub(super) enum Unseen {
    After(Vec<Entry>),
    /// The last entry that was shown is on another branch than this newest one.
    OtherBranch(EntryId),
}

/// Returns the entries of a branch after `last`, up to `tail` or the newest one.
pub(super) fn unseen(
    store: &SessionStore,
    session: &SessionId,
    last: Option<&EntryId>,
    tail: Option<EntryId>,
) -> Result<Unseen, StoreError> {
    let tail = match tail {
        Some(tail) => Some(tail),
        None => store.info(session)?.tail,
    };
    if tail.as_ref() == last {
        return Ok(Unseen::After(Vec::new()));
    }
    for limit in PAGES {
        let range = Range::Branch { tail: tail.clone(), limit };
        let read = store.load(session, &range)?;
        let seen = last.and_then(|last| read.iter().rposition(|one| one.entry.id == *last));
        if seen.is_some() || last.is_none() {
            let first = seen.map_or(0, |seen| seen + 1);
            return Ok(Unseen::After(read.into_iter().skip(first).map(|one| one.entry).collect()));
        }
    }
    Ok(tail.map_or_else(|| Unseen::After(Vec::new()), Unseen::OtherBranch))
}

/// The person who sends messages through a client.
pub(super) struct OwnSpeaker<'c> {
    pub(super) team: &'c Team,
    /// The person of `--as`.
    pub(super) named: Option<&'c str>,
}

impl OwnSpeaker<'_> {
    /// Returns whether a stored message is this text of the person. If neither `--as` nor a marker names the person, it
    /// may be any person of the team.
    pub(super) fn has_said(&self, text: &str, message: &Message) -> bool {
        let speaker = message.speaker.as_deref().map(|speaker| &*speaker.role_id);
        message.is_from_human()
            && message.text() == text
            && self.name_in(text).is_none_or(|name| speaker == Some(name))
    }

    fn name_in(&self, text: &str) -> Option<&str> {
        let message = PersonMessage::new(text, self.team.roster());
        let named = self.team.named(self.named.or(message.sender())?);
        named.ok().map(|one| &*one.member.name)
    }
}

/// Returns whether the person of this chat has said a text after an entry. Needed when a host was killed, since it may
/// have stored a message that it did not confirm.
pub fn is_message_stored(
    chat: &ChatSession,
    session: &SessionId,
    text: &str,
    after: Option<&EntryId>,
) -> Result<bool, StoreError> {
    let speaker = OwnSpeaker { team: &chat.team, named: chat.speaker.as_deref() };
    let new = match unseen(&chat.store, session, after, None)? {
        Unseen::After(new) => new,
        Unseen::OtherBranch(_) => {
            let all = chat.store.load(session, &Range::All)?.into_iter().map(|one| one.entry);
            all.skip_while(|entry| Some(&entry.id) != after).skip(1).collect()
        }
    };
    let mut messages = new.iter().filter_map(Entry::message);
    Ok(messages.any(|message| speaker.has_said(text, message)))
}
