//! Collects candidates for every section in one pass over the messages, calls and results, and over the previous
//! summary. Called by [`super::extract`]; [`super::choose`] selects from the candidates.

use super::SummaryTask;
use super::cues::{self, Cue, Cues, Found};
use super::names::Names;
use super::order::{self, Candidate, Candidates, Lists};
use super::previous::Carried;
use super::read::{MessageText, Reading, Source};
use super::sections::{Section, short_id};
use super::sentences::sentences;
use super::work;
use crate::truncate::truncate_to_bytes;

/// The maximum number of bytes of a sentence that are used to classify it.
const CLASSIFIED_BYTES_MAX: usize = 600;

/// The weight of a note that is labelled as a finding.
const LABELLED: u64 = 200;

/// The length above which a text of a user counts as pasted instead of typed.
const PASTED: usize = 2000;

/// The lengths of sentences that can become a line.
const SENTENCE: std::ops::RangeInclusive<usize> = 12..=600;

pub(super) fn gather<'a>(
    task: &SummaryTask<'a>,
    reading: &'a Reading<'a>,
    carried: &Carried<'a>,
) -> (Names<'a>, Candidates<'a>) {
    let names = read_names(reading, carried);
    let mut gatherer = Gatherer { task, cues: Cues::new(), found: Lists::default() };
    for (position, message_text) in reading.texts.iter().enumerate() {
        gatherer.read_text(position, message_text);
    }
    let mut found = gatherer.found;
    work::collect_work(task, reading, &mut found);
    let candidates = order::order(found, carried, &names, reading.messages);
    (names, candidates)
}

fn read_names<'a>(reading: &'a Reading<'a>, carried: &Carried<'a>) -> Names<'a> {
    let mut names = Names::new(reading.messages);
    names.carry(&carried.names);
    for message_text in &reading.texts {
        names.read(message_text.text, message_text.source, message_text.message);
    }
    for call in &reading.calls {
        for field in &call.fields {
            names.read_argument(&field.text, call.message);
        }
    }
    for answer in &reading.answers {
        names.read(&answer.text, Source::Result, answer.message);
    }
    names
}

struct Gatherer<'t, 'a> {
    task: &'t SummaryTask<'a>,
    cues: Cues,
    found: Lists<'a>,
}

impl<'a> Gatherer<'_, 'a> {
    fn read_text(&mut self, position: usize, message_text: &MessageText<'a>) {
        let text = message_text.text.trim();
        if matches!(message_text.source, Source::Thinking | Source::Result | Source::Call)
            || text.is_empty()
        {
            return;
        }
        // A text that calls itself a decision is kept whole among the decisions, and is not a request.
        let is_decision = message_text.source == Source::User
            && !self.found.goal.is_empty()
            && text.len() <= Section::Decisions.layout().line_max
            && is_labelled_decision(text);
        if message_text.source == Source::User && !is_machine_made(text) {
            // Whoever wrote this answer has read the question, so the question is no longer open.
            self.found.open_question = None;
            let request = candidate(self.task, message_text.message, position, text);
            if self.found.goal.is_empty() {
                self.found.goal.push(request);
            } else if is_decision {
                self.found.decisions.push(request);
            } else {
                self.found.requests.push(request);
            }
        }
        let mut small = String::new();
        for (number, sentence) in sentences(text).enumerate() {
            small.clear();
            small.push_str(truncate_to_bytes(sentence, CLASSIFIED_BYTES_MAX));
            small.make_ascii_lowercase();
            let mut candidate = candidate(self.task, message_text.message, position, sentence);
            candidate.position.2 = number;
            if message_text.source == Source::Assistant && cues::is_verdict(&small) {
                self.found.decisions.push(candidate);
                continue;
            }
            if !SENTENCE.contains(&sentence.len()) || is_uninformative(sentence) {
                continue;
            }
            let found = self.cues.classify(&small);
            match message_text.source {
                _ if is_decision && !found.has(Cue::Rule) => {}
                Source::Assistant => {
                    self.by_assistant(candidate, found, cues::is_labelled_finding(&small));
                }
                // A long text is usually pasted, so its rules are less binding than those that a user typed.
                Source::User if text.len() > PASTED => {
                    self.by_others(candidate, found, Source::System);
                }
                _ => self.by_others(candidate, found, message_text.source),
            }
        }
    }

    fn by_assistant(&mut self, candidate: Candidate<'a>, found: Found, is_finding: bool) {
        if is_finding {
            self.found.notes.push((LABELLED, candidate));
            return;
        }
        let asks = asks(candidate.text);
        if asks {
            self.found.open_question = Some(candidate.clone());
        }
        let list = if found.has(Cue::Open) {
            &mut self.found.open
        } else if found.has(Cue::Decision) && !asks {
            &mut self.found.decisions
        } else if found.has(Cue::Done) && !asks {
            &mut self.found.done
        } else {
            let weight = if found.has(Cue::Finding) { 40 } else { 0 };
            if !asks && !found.has(Cue::Announcement) {
                self.found.notes.push((weight, candidate));
            }
            return;
        };
        list.push(candidate);
    }

    fn by_others(&mut self, candidate: Candidate<'a>, found: Found, source: Source) {
        let asks = asks(candidate.text);
        let rank = match (source, found.has(Cue::Rule), found.has(Cue::Preference)) {
            (Source::User, true, _) => Some(0),
            (Source::User, _, true) => Some(1),
            (_, true, _) => Some(2),
            _ => None,
        };
        if let Some(list) = rank.and_then(|rank| self.found.constraints.get_mut(rank))
            && !asks
        {
            list.push(candidate);
        } else if found.has(Cue::Open) {
            self.found.open.push(candidate);
        } else if found.has(Cue::Decision) && !asks {
            self.found.decisions.push(candidate);
        }
    }
}

pub(super) fn candidate<'a>(
    task: &SummaryTask<'a>,
    message: usize,
    position: usize,
    text: &'a str,
) -> Candidate<'a> {
    let id = task.covered.get(message).map(|covered| short_id(covered.entry)).unwrap_or_default();
    Candidate { id, lead: "", text, tail: String::new(), position: (message + 1, position, 0) }
}

/// The labels with which a text calls itself a decision, in lower case.
#[rustfmt::skip]
const DECISION_LABELS: [&str; 8] = [
    "decision:", "decided:", "决定：", "决定:", "entscheidung:", "decisión:", "décision :", "決定：",
];

fn is_labelled_decision(text: &str) -> bool {
    let start = truncate_to_bytes(text, 24).to_lowercase();
    DECISION_LABELS.iter().any(|label| start.starts_with(label))
}

/// Returns whether a sentence only announces others, is the row of a table or counts changed lines.
fn is_uninformative(sentence: &str) -> bool {
    sentence.ends_with([':', '：']) || sentence.starts_with('|') || cues::counts_changes(sentence)
}

fn asks(sentence: &str) -> bool {
    sentence.ends_with(['?', '？'])
}

/// Returns whether a text is markup or in brackets from start to end. Programs add such notes to messages of users.
fn is_machine_made(text: &str) -> bool {
    if text.starts_with('[') && text.ends_with(']') && !text.contains('\n') {
        return true;
    }
    let name = text.strip_prefix('<').and_then(|rest| rest.split(['>', ' ', '\n']).next());
    text.ends_with('>') && name.is_some_and(|name| text.contains(&format!("</{name}>")))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn markup_from_end_to_end_is_machine_made() {
        assert!(is_machine_made("<note kind=1>\nx\n</note>"));
        assert!(is_machine_made("<a>x</a>\n<b></b>"));
        assert!(is_machine_made("[stopped by the user]"));
        assert!(!is_machine_made("<b>Fix</b> this"));
        assert!(!is_machine_made("a < b"));
    }
}
