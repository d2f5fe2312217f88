//! `tertulia sessions show`: what was said, as a transcript or as records, and what is said from now on.

use std::time::Duration;

use tertulia_session::EntryId;
use tertulia_session::record::EntryRecord;
use tertulia_store::{Range, Seq, SessionId, SessionStore, StoredEntry};

use super::transcript::Transcript;
use super::{find_session, write_json};
use crate::Streams;
use crate::args::ShowArgs;
use crate::commands::drawing::Paint;
use crate::error::CliError;
use crate::store_place::StorePlace;

/// How long is waited for new entries at once.
const WAIT: Duration = Duration::from_secs(60);

pub(super) fn run(
    args: &ShowArgs,
    place: &StorePlace,
    streams: &mut Streams<'_>,
) -> Result<(), CliError> {
    let store = place.need()?;
    let session = find_session(&store, &args.session)?;
    let transcript = Transcript::new(Paint::new(streams.stdout_has_colour));
    let mut shown = Shown { args, transcript, streams };
    let mut seen: Seq = store.info(&session)?.entries;
    for stored in store.entries(&session, &range(args))? {
        let stored = stored?;
        seen = seen.max(stored.seq);
        shown.write(&stored)?;
    }
    if args.follow { follow(&store, &session, seen, &mut shown) } else { Ok(()) }
}

fn range(args: &ShowArgs) -> Range {
    let id = |text: &String| EntryId::from(text.as_str());
    match (&args.branch, &args.from, args.tail) {
        (Some(branch), _, limit) => Range::Branch { tail: Some(id(branch)), limit },
        (None, Some(from), _) => Range::From(id(from)),
        (None, None, Some(count)) => Range::Tail(count),
        (None, None, None) => Range::All,
    }
}

/// Ends when the reader has enough, or the session is gone.
fn follow(
    store: &SessionStore,
    session: &SessionId,
    seen: Seq,
    shown: &mut Shown<'_, '_>,
) -> Result<(), CliError> {
    let mut follow = store.follow(session, seen)?;
    loop {
        shown.streams.stdout.flush().map_err(CliError::output)?;
        for stored in follow.next(WAIT)? {
            shown.write(&stored)?;
        }
    }
}

struct Shown<'a, 's> {
    args: &'a ShowArgs,
    transcript: Transcript,
    streams: &'a mut Streams<'s>,
}

impl Shown<'_, '_> {
    fn write(&mut self, stored: &StoredEntry) -> Result<(), CliError> {
        if self.args.json {
            return write_json(self.streams, &EntryRecord::new(&stored.entry));
        }
        self.transcript.write(self.streams.stdout, stored).map_err(CliError::output)
    }
}
