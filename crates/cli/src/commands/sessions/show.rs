//! `tertulia sessions show`: what was said, as a transcript or as records, and what is said from now on.

use std::time::Duration;

use tertulia_operations::names::{Latest, elsewhere, find_session_or_latest, find_stored_entry};
use tertulia_session::record::EntryRecord;
use tertulia_session::{Entry, EntryId, EntryKind, Setting, TurnActivity, TurnState};
use tertulia_store::{Range, Seq, SessionId, SessionStore, StoredEntry};

use super::transcript::Transcript;
use super::{tell, write_json};
use crate::Streams;
use crate::args::ShowArgs;
use crate::clock::LocalTime;
use crate::commands::drawing::Paint;
use crate::error::{CliError, Result};
use crate::store_place::StorePlace;
use crate::team_place::project_here;

const WAIT: Duration = Duration::from_secs(60);
/// How many entries are read first for each one that is to be shown.
const GROWTH: usize = 4;

#[derive(Clone, Copy, PartialEq, Eq)]
enum View {
    Messages,
    /// What happened, without the bookkeeping.
    Talk,
    All,
}

struct Part {
    from: Option<EntryId>,
    branch: Option<EntryId>,
}

pub(super) fn run(args: &ShowArgs, place: &StorePlace, streams: &mut Streams<'_>) -> Result {
    let store = place.need()?;
    let session = find_session_or_latest(
        &store,
        args.session.as_deref(),
        Latest::OfProject(&project_here()),
    )?;
    let entry = |given: &String| find_stored_entry(&store, &session, given);
    let from = args.from.as_ref().map(entry).transpose()?;
    let part = Part { from, branch: args.branch.as_ref().map(entry).transpose()? };
    let info = store.info(&session)?;
    if let Some(line) = elsewhere(&store, &session, &project_here())? {
        tell(streams, &line);
    }
    if args.session.is_none() {
        let title = info.title.as_deref().map(|title| format!(" · {title}"));
        tell(streams, &format!("session {session}{}", title.unwrap_or_default()));
    }
    let paint = Paint::new(streams.stdout_has_colour);
    let transcript = Transcript::new(paint, LocalTime::new(streams.zone));
    let (store, session, view) = (&store, &session, View::of(args));
    let mut shown = Shown { args, store, session, view, transcript, streams, count: 0 };
    let seen = shown.write_stored(&part)?.max(info.entries);
    if shown.count == 0 && !args.json && !args.follow {
        tell(shown.streams, "nothing to show; --all also shows the bookkeeping");
    }
    if args.follow { shown.follow(seen) } else { Ok(()) }
}

impl Part {
    /// The newest entries of it, at most so many.
    fn range(&self, limit: Option<usize>) -> Range {
        match (&self.branch, &self.from, limit) {
            (Some(branch), _, limit) => Range::Branch { tail: Some(branch.clone()), limit },
            (None, Some(from), _) => Range::From(from.clone()),
            (None, None, Some(count)) => Range::Tail(count),
            (None, None, None) => Range::All,
        }
    }
}

impl View {
    fn of(args: &ShowArgs) -> Self {
        match (args.messages, args.all || args.json) {
            (true, _) => Self::Messages,
            (false, true) => Self::All,
            (false, false) => Self::Talk,
        }
    }

    fn shows(self, entry: &Entry) -> bool {
        match self {
            Self::All => true,
            Self::Messages => matches!(entry.kind, EntryKind::Message(_)),
            Self::Talk => !is_bookkeeping(entry),
        }
    }
}

/// What only says how a turn came about, what it cost, or how the session was set up.
fn is_bookkeeping(entry: &Entry) -> bool {
    match &entry.kind {
        EntryKind::SessionHeader(_)
        | EntryKind::Usage(_)
        | EntryKind::RuntimeInit(_)
        | EntryKind::Custom(_) => true,
        EntryKind::Turn(turn) => {
            matches!(turn.state, TurnState::Queued | TurnState::Started | TurnState::Done)
        }
        EntryKind::TurnEvent(event) => matches!(
            event.activity,
            TurnActivity::Began { .. } | TurnActivity::Thought { .. } | TurnActivity::Resent { .. }
        ),
        EntryKind::SessionSetting(setting) => !matches!(setting.setting, Setting::Title { .. }),
        _ => false,
    }
}

struct Shown<'a, 's> {
    args: &'a ShowArgs,
    store: &'a SessionStore,
    session: &'a SessionId,
    view: View,
    transcript: Transcript,
    streams: &'a mut Streams<'s>,
    count: usize,
}

impl Shown<'_, '_> {
    /// Writes what is stored; says how far it came.
    fn write_stored(&mut self, part: &Part) -> Result<Seq> {
        let mut seen = 0;
        if let (Some(count), true) = (self.args.tail, self.view != View::All) {
            for stored in self.newest(part, count)? {
                seen = seen.max(stored.seq);
                self.write(&stored)?;
            }
            return Ok(seen);
        }
        for stored in self.store.entries(self.session, &part.range(self.args.tail))? {
            let stored = stored?;
            seen = seen.max(stored.seq);
            self.write(&stored)?;
        }
        Ok(seen)
    }

    /// The newest entries that are shown, at most so many. Read in growing steps from the end.
    fn newest(&self, part: &Part, count: usize) -> Result<Vec<StoredEntry>> {
        let mut limit = count.saturating_mul(GROWTH);
        loop {
            let read = self.store.load(self.session, &part.range(Some(limit)))?;
            let is_whole = read.len() < limit;
            let shown = read.into_iter().rev().filter(|stored| self.view.shows(&stored.entry));
            let mut newest: Vec<StoredEntry> = shown.take(count).collect();
            if is_whole || newest.len() == count {
                newest.reverse();
                return Ok(newest);
            }
            limit = limit.saturating_mul(GROWTH);
        }
    }

    /// Writes what is appended from now on. Ends when the reader has enough, or the session is gone.
    fn follow(&mut self, seen: Seq) -> Result {
        let mut follow = self.store.follow(self.session, seen)?;
        loop {
            self.streams.stdout.flush().map_err(CliError::output)?;
            for stored in follow.next(WAIT)? {
                self.write(&stored)?;
            }
        }
    }

    fn write(&mut self, stored: &StoredEntry) -> Result {
        if !self.view.shows(&stored.entry) {
            return Ok(());
        }
        self.count += 1;
        if self.args.json {
            return write_json(self.streams, &EntryRecord::new(&stored.entry));
        }
        self.transcript.write(self.streams.stdout, stored).map_err(CliError::output)
    }
}
