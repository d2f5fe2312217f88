//! The librarian: searches past sessions for a request, and names the source of every hit.

use tertulia_agent::agents::AgentDefinition;
use tertulia_context::{Strip, strip_markers};
use tertulia_store::{
    Hit, Matching, ProjectScope, SearchQuery, SessionId, SessionStore, StoreError, TermMatch,
};

use super::Answer;

/// Definition of the librarian for team files.
pub const LIBRARIAN: &AgentDefinition =
    &AgentDefinition::built_in("librarian", "finds passages of past sessions", &[&["scope"]]);

const HITS_MAX: usize = 8;
/// Number of hits to examine. It exceeds the number of hits to show, because some hits repeat others or are answers
/// made from them.
const HITS_LOOKED_AT: usize = 64;
/// Maximum number of bytes of a request that are read. Its beginning names the subject, and the rest may be a whole
/// file.
const REQUEST_BYTES_MAX: usize = 1_500;
/// Maximum number of search words that an answer names.
const WORDS_MAX: usize = 6;

pub(crate) const OTHER_PROJECT: &str = "I search no past sessions, because this session belongs to \
    another project than the one it is open in.";

/// Answers a request from the sessions of a scope. Leaves out the current session, because the members already know
/// its content.
pub(crate) fn look_up(
    store: &SessionStore,
    here: &SessionId,
    scope: &ProjectScope,
    request: &str,
) -> Result<Answer, StoreError> {
    let query = SearchQuery {
        text: words(&strip_markers(request, Strip::Preserve).text),
        matching: Matching::BestWords,
        except_session: Some(here.clone()),
        limit: Some(HITS_LOOKED_AT),
        project: scope.clone(),
        ..SearchQuery::default()
    };
    let mut hits = store.search(&query)?.hits;
    hits.retain(|hit| !is_made_from_others(store, hit));
    let hits = each_once(hits.into_iter());
    if hits.is_empty() {
        let of = where_searched(scope);
        return Ok(Answer::plain(format!(
            "No past session{of} mentions this. I search past sessions only, not this one."
        )));
    }
    let source = |hit: &Hit| (Some(hit.session.clone()), hit.entry_id.clone());
    let sources = hits.iter().map(source).collect();
    Ok(Answer { text: super::quiet(&answer_text(scope, &hits)), sources })
}

/// Returns whether a hit is an answer that was made from other entries, such as an answer of a librarian. Such a hit
/// is left out: its sources may belong to another project, and sources in this project are hits themselves.
fn is_made_from_others(store: &SessionStore, hit: &Hit) -> bool {
    let stored = store.entry(&hit.session, &hit.entry_id);
    stored.is_ok_and(|stored| tertulia_store::has_sources(&stored.entry))
}

/// Returns the first hits, without those that repeat an earlier one.
fn each_once(hits: impl Iterator<Item = Hit>) -> Vec<Hit> {
    let mut kept: Vec<Hit> = Vec::new();
    for hit in hits {
        let said = hit.snippet.text.trim();
        if kept.iter().all(|earlier| !earlier.snippet.text.contains(said)) {
            kept.push(hit);
        }
        if kept.len() == HITS_MAX {
            break;
        }
    }
    kept
}

fn where_searched(scope: &ProjectScope) -> &'static str {
    match scope {
        ProjectScope::All => " of all projects",
        ProjectScope::Project(_) => " of this project",
        // No session has a project.
        ProjectScope::Unassigned => "",
    }
}

fn answer_text(scope: &ProjectScope, hits: &[Hit]) -> String {
    let of = where_searched(scope);
    let mut answer = format!("About {}, past sessions{of} say:\n", found_words(hits).join(", "));
    for hit in hits {
        let speaker = hit.speaker.as_deref().unwrap_or("somebody");
        let when = hit.timestamp.as_ref().map(|time| time.to_iso()).unwrap_or_default();
        let day = when.get(..10).map(|day| format!(", {day}")).unwrap_or_default();
        let said = strip_markers(&hit.snippet.text, Strip::Preserve).text.into_owned();
        let source = format!("{} {}", hit.session, hit.entry_id);
        answer.push_str(&format!("\n{speaker}{day} ({source}):\n> {}\n", said.trim()));
    }
    answer
}

/// Returns the words of the request that the hits contain, the most significant first. Omits parts of words that are
/// already named.
fn found_words(hits: &[Hit]) -> Vec<&str> {
    let mut found: Vec<&TermMatch> = hits.iter().flat_map(|hit| &hit.matches).collect();
    found.sort_by(|a, b| b.weight.cmp(&a.weight).then(b.asked.len().cmp(&a.asked.len())));
    let mut words: Vec<&str> = Vec::new();
    for one in found {
        if words.iter().all(|word| !word.contains(&*one.asked)) {
            words.push(&one.asked);
        }
    }
    words.truncate(WORDS_MAX);
    words
}

/// Returns the beginning of a request without search syntax and without `@name`, which names a member and not a
/// subject.
fn words(request: &str) -> String {
    let beginning = request.get(..request.floor_char_boundary(REQUEST_BYTES_MAX));
    let words = beginning.unwrap_or_default().split_whitespace();
    let words = words.filter(|word| !word.starts_with('@'));
    words.map(|word| word.replace(['"', '*'], " ")).collect::<Vec<_>>().join(" ")
}

#[cfg(test)]
mod tests {
    use tertulia_session::{Entry, EntryKind, Message, NewEntry, Speaker, SpeakerType};
    use tertulia_store::{Append, NewSession};

    use super::*;

    fn said(text: &str) -> Entry {
        let ann = Speaker::new("ann", "Ann", SpeakerType::Human);
        NewEntry::new(EntryKind::Message(Message::said(ann, text))).with_content_id()
    }

    /// Returns the answer of the librarian if other sessions contain these texts.
    fn answer(texts: &[&str], request: &str) -> String {
        let store = SessionStore::memory();
        for text in texts {
            let session = store.create(&NewSession::default()).unwrap().id;
            store.append(&session, Append::new([said(text)])).unwrap();
        }
        let here = store.create(&NewSession::default()).unwrap().id;
        store.append(&here, Append::new([said(request)])).unwrap();
        look_up(&store, &here, &ProjectScope::All, request).unwrap().text
    }

    #[test]
    fn an_answer_names_the_words_that_were_found_and_no_common_ones() {
        let texts = ["The ticket had E-2041 again.", "Nothing of note."];
        let answer =
            answer(&texts, "@librarian did we have trouble with E-2041 or the tickets before?");
        assert!(
            answer.starts_with("About E-2041, tickets, past sessions of all projects say:\n"),
            "{answer}"
        );
        assert!(!answer.contains("Nothing of note"), "{answer}");
    }

    #[test]
    fn a_question_is_answered_by_what_has_most_of_its_words() {
        let texts = [
            "We decided that the session cookie is called sid.",
            "The session ends at noon.",
            "Which name shall the dog have?",
        ];
        let answer = answer(&texts, "How did we decide to name the session cookie?");
        let first = answer.find("called sid").unwrap();
        assert!(answer.find("noon").is_none_or(|other| first < other), "{answer}");
        assert!(!answer.contains("the dog"), "{answer}");
    }

    #[test]
    fn a_request_of_common_words_is_about_nothing() {
        let answer = answer(&["What is it about, then?"], "@librarian what is it about?");
        assert!(answer.starts_with("No past session"), "{answer}");
    }
}
