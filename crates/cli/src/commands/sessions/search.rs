//! `tertulia sessions search`: finds entries, best match first; `--explain` shows the scores.

use std::io::{self, Write};

use tertulia_chat::terminal::{excerpt, grouped};
use tertulia_operations::names::{short, short_session};
use tertulia_operations::session_record::{HitRecord, term_kind_word};
use tertulia_store::{Hit, ProjectScope, SearchQuery, SessionStore, Snippet, now_millis};

use super::list::{one_line, scope};
use super::{open_or_note, print_note, write_json};
use crate::Streams;
use crate::args::SearchArgs;
use crate::clock::LocalTime;
use crate::commands::drawing::{Paint, padded};
use crate::error::{CliError, Result};
use crate::progress::Progress;
use crate::store_location::{StoreLocation, find_here};

/// Maximum width of a word.
const WORD_COLUMNS: usize = 32;

pub(super) fn search(
    args: &SearchArgs,
    location: &StoreLocation,
    streams: &mut Streams<'_>,
) -> Result {
    let Some(store) = open_or_note(location, streams)? else { return Ok(()) };
    let (now, local) = (now_millis(), LocalTime::new(streams.zone));
    let session = args.session.as_deref();
    let session = session.map(|given| find_here(&store, given)).transpose()?;
    let query = SearchQuery {
        text: args.query.clone(),
        // A session given by name is searched whatever project it belongs to.
        project: scope(args.all || session.is_some()),
        session,
        speaker: args.speaker.clone(),
        type_name: args.type_name.clone(),
        since: args.since.as_ref().map(|when| when.resolve(now, &local)),
        until: args.until.as_ref().map(|when| when.resolve(now, &local)),
        limit: Some(if args.limit == 0 { usize::MAX } else { args.limit }),
        ..SearchQuery::default()
    };
    if !query.has_words() {
        return Err(CliError::Usage("the query contains no words; use letters or digits"));
    }
    let mut progress = Progress::entries(streams.stderr_is_terminal, "Indexing");
    // An error is ignored here, because the search updates the index itself and reports the same error.
    let _ = store.catch_up(|entries| progress.add(entries));
    drop(progress);
    let result = store.search(&query)?;
    if args.json {
        for hit in &result.hits {
            let record = match args.explain {
                true => HitRecord::explained(hit),
                false => HitRecord::from(hit),
            };
            write_json(streams, &record)?;
        }
    } else {
        let paint = Paint::new(streams.stdout_has_colour);
        for hit in &result.hits {
            // An empty project is left out of the heading.
            let project = if args.all { project_of(&store, hit) } else { String::new() };
            write_hit(streams.stdout, hit, project, &local, &paint).map_err(CliError::output)?;
            if args.explain {
                write_matches(streams.stdout, hit).map_err(CliError::output)?;
            }
        }
    }
    if result.is_partial {
        print_note(streams, "no entry has all words; showing the best partial matches");
    }
    if args.explain && !result.ignored.is_empty() {
        let words = one_line(&result.ignored.join(", "));
        print_note(streams, &format!("ignored common words: {words}"));
    }
    let has_others = query.project != ProjectScope::All && has_others(&store, &query)?;
    if result.hits.is_empty() {
        print_note(streams, "no matches; use word* for prefixes");
    }
    if has_others {
        print_note(streams, "there are also matches in other projects; --all shows them");
    }
    if result.more {
        print_note(
            streams,
            "too many matches, so only the newest were ranked; use more words to narrow the search",
        );
    }
    Ok(())
}

/// Returns whether the query also matches sessions of other projects, or of none.
fn has_others(store: &SessionStore, query: &SearchQuery) -> Result<bool> {
    let query =
        SearchQuery { project: ProjectScope::All, limit: Some(usize::MAX), ..query.clone() };
    let scope = scope(false);
    for hit in store.search(&query)?.hits {
        if !scope.matches(store.project(&hit.session)?.as_deref()) {
            return Ok(true);
        }
    }
    Ok(false)
}

fn project_of(store: &SessionStore, hit: &Hit) -> String {
    let project = store.project(&hit.session).ok().flatten();
    excerpt(project.as_deref().unwrap_or("–"), 80)
}

fn write_hit(
    out: &mut dyn Write,
    hit: &Hit,
    project: String,
    local: &LocalTime,
    paint: &Paint,
) -> io::Result<()> {
    let time = hit.timestamp.as_ref().map(|moment| local.minute(moment)).unwrap_or_default();
    let who = excerpt(hit.speaker.as_deref().unwrap_or(&hit.type_name), 40);
    let entry = excerpt(&short(hit.entry_id.as_str()), 80);
    let session = paint.strong(short_session(&hit.session));
    let head = [session, project, time, who, paint.faint(&entry)];
    let head: Vec<String> = head.into_iter().filter(|piece| !piece.is_empty()).collect();
    writeln!(out, "{}", head.join("  "))?;
    writeln!(out, "  {}", marked(&hit.snippet, paint))
}

/// Writes the score of a hit and its matching words, one line each.
fn write_matches(out: &mut dyn Write, hit: &Hit) -> io::Result<()> {
    writeln!(out, "  score {}", grouped(hit.score))?;
    let words = hit.matches.iter().map(|one| match one.asked == one.found {
        true => excerpt(&one.asked, WORD_COLUMNS),
        false => {
            format!("{} → {}", excerpt(&one.asked, WORD_COLUMNS), excerpt(&one.found, WORD_COLUMNS))
        }
    });
    let words: Vec<String> = words.collect();
    let widest = words.iter().map(|word| word.chars().count()).max().unwrap_or_default();
    for (one, word) in hit.matches.iter().zip(words) {
        let entries = match one.entries {
            Some(1) => ", in 1 entry".to_owned(),
            Some(entries) => format!(", in {} entries", grouped(entries)),
            None => String::new(),
        };
        writeln!(
            out,
            "  {:>9}  {}  {}, weight {}, {} here{entries}",
            grouped(one.score),
            padded(&word, widest),
            term_kind_word(one.kind),
            grouped(one.weight),
            times(one.times)
        )?;
    }
    Ok(())
}

fn times(count: u64) -> String {
    match count {
        1 => "once".to_owned(),
        _ => format!("{} times", grouped(count)),
    }
}

fn marked(snippet: &Snippet, paint: &Paint) -> String {
    let text = snippet.text.as_str();
    let mut shown = String::from(if snippet.cut_before { "…" } else { "" });
    let mut at = 0;
    for mark in &snippet.marks {
        // Marks are in order and on character boundaries; others are skipped.
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
