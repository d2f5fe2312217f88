//! `tertulia sessions search`: what was said, wherever it was, best first.

use std::io::{self, Write};

use tertulia_store::{Hit, SearchQuery, Snippet};

use super::{open_or_tell, tell, write_json};
use crate::Streams;
use crate::args::SearchArgs;
use crate::clock::{LocalTime, now_millis};
use crate::commands::drawing::Paint;
use crate::error::CliError;
use crate::names::{Latest, find_session, short, short_session};
use crate::progress::Progress;
use crate::session_record::HitRecord;
use crate::store_place::StorePlace;
use crate::terminal::{excerpt, visible};

pub(super) fn run(
    args: &SearchArgs,
    place: &StorePlace,
    streams: &mut Streams<'_>,
) -> Result<(), CliError> {
    let Some(store) = open_or_tell(place, streams)? else { return Ok(()) };
    let (now, local) = (now_millis(), LocalTime::new(streams.zone));
    let session = args
        .session
        .as_deref()
        .map(|given| find_session(&store, given, Latest::OfStore))
        .transpose()?;
    let query = SearchQuery {
        text: args.query.clone(),
        session,
        speaker: args.speaker.clone(),
        type_name: args.type_name.clone(),
        since: args.since.as_ref().map(|when| when.resolve(now, &local)),
        until: args.until.as_ref().map(|when| when.resolve(now, &local)),
        limit: Some(args.limit),
    };
    if !query.has_words() {
        return Err(CliError::Usage("the query has no word to look for; write letters or digits"));
    }
    let mut progress = Progress::entries(streams.stderr_is_terminal, "Indexing");
    // An error that matters is one of the search too, which catches up by itself.
    let _ = store.catch_up(|entries| progress.add(entries));
    drop(progress);
    let result = store.search(&query)?;
    if args.json {
        for hit in &result.hits {
            write_json(streams, &HitRecord::of(hit))?;
        }
    } else {
        let paint = Paint::new(streams.stdout_has_colour);
        for hit in &result.hits {
            write_hit(streams.stdout, hit, &local, &paint).map_err(CliError::output)?;
        }
    }
    if result.hits.is_empty() {
        tell(streams, "no matches; all words must match, use word* for prefixes");
    }
    if result.more {
        tell(streams, "only the newest of very many were compared; say more to find others");
    }
    Ok(())
}

fn write_hit(out: &mut dyn Write, hit: &Hit, local: &LocalTime, paint: &Paint) -> io::Result<()> {
    let time = hit.timestamp.as_ref().map(|moment| local.minute(moment)).unwrap_or_default();
    let who = match hit.speaker.as_deref() {
        Some(speaker) => excerpt(speaker, 40),
        None => excerpt(&hit.type_name, 40),
    };
    let (session, entry) = (short_session(&hit.session), short(hit.entry_id.as_str()));
    let entry = excerpt(&entry, 80);
    let head = [paint.strong(session), time, who, paint.faint(&entry)];
    let head: Vec<String> = head.into_iter().filter(|piece| !piece.is_empty()).collect();
    writeln!(out, "{}", head.join("  "))?;
    writeln!(out, "  {}", marked(&hit.snippet, paint))
}

/// The piece with what was looked for made to stand out.
fn marked(snippet: &Snippet, paint: &Paint) -> String {
    let text = snippet.text.as_str();
    let mut shown = String::from(if snippet.cut_before { "…" } else { "" });
    let mut at = 0;
    for mark in &snippet.marks {
        // Marks come in order and between characters; one that does not is passed over.
        let (Some(before), Some(found)) = (text.get(at..mark.start), text.get(mark.clone())) else {
            continue;
        };
        shown.push_str(&one_line(before));
        shown.push_str(&paint.found(&one_line(found)));
        at = mark.end;
    }
    shown.push_str(&one_line(text.get(at..).unwrap_or_default()));
    if snippet.cut_after {
        shown.push('…');
    }
    shown
}

fn one_line(text: &str) -> String {
    visible(text).replace(['\n', '\t'], " ")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_was_found_stands_out_and_controls_are_signs() {
        let snippet = Snippet {
            text: "a \u{1b}[2J cookie\nis set".to_owned(),
            marks: vec![7..13, 99..120],
            cut_before: true,
            cut_after: false,
        };
        assert_eq!(marked(&snippet, &Paint::new(false)), "…a ␛[2J cookie is set");
        assert!(marked(&snippet, &Paint::new(true)).contains("mcookie\u{1b}[0m"));
    }
}
