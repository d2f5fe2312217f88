//! Checks whether the request contains the evidence for a question, if the question is the newest message after a
//! long conversation.

use std::collections::HashMap;
use std::error::Error;

use memchr::memmem::Finder;
use tertulia_session::{Message, Part, Parts, Role};

use super::data::{Evidence, Question, Session, turn};
use super::found::{Hits, holds};
use super::log::{Log, follow};
use super::manager::Manager;

/// The maximum distance of an approximately known line.
const NEAR_LINES: usize = 3;

/// A question with the session that it is about.
#[derive(Debug)]
pub(crate) struct Exam<'a> {
    log: &'a Log,
    question: &'a str,
    /// The number of entries before the question.
    end: usize,
    /// For each of these lists, one of the texts has to be sent.
    evidence: Vec<Vec<String>>,
    /// The characters from the first evidence to the question.
    distance: usize,
}

/// Returns the sessions of a set as logs.
pub(crate) fn logs(sessions: &[Session]) -> HashMap<&str, (&Session, Log)> {
    let log = |session| (session, Log::of_turns(session));
    sessions.iter().map(|session| (session.key.as_str(), log(session))).collect()
}

/// Returns the questions with their sessions. A question about a missing session is an error.
pub(crate) fn exams<'a>(
    logs: &'a HashMap<&str, (&Session, Log)>,
    questions: &'a [Question],
) -> Result<Vec<Exam<'a>>, Box<dyn Error>> {
    let exam = |question: &'a Question| {
        let (session, log) = logs.get(question.session.as_str())?;
        Exam::of(session, log, question)
    };
    let exams = questions.iter().map(|question| {
        exam(question).ok_or_else(|| format!("{}: no such lines", question.session).into())
    });
    exams.collect()
}

impl<'a> Exam<'a> {
    fn of(session: &Session, log: &'a Log, question: &'a Question) -> Option<Self> {
        let lines = question.end.unwrap_or(session.lines.len());
        let last = log.place(lines.checked_sub(1)?)?;
        let turns: Vec<String> = session.lines.get(..lines)?.iter().map(turn).collect();
        let evidence = evidence(session, &turns, &question.evidence)?;
        let since = session.lines.get(question.evidence.first()?..lines)?;
        let distance = since.iter().map(|line| line.text.chars().count()).sum();
        Some(Self { log, question: &question.question, end: last + 1, evidence, distance })
    }

    /// Asks the question, and returns whether all of the evidence is sent.
    pub(crate) fn is_sent(&self, manager: &mut dyn Manager) -> Result<bool, Box<dyn Error>> {
        let mut entries = self.log.entries.get(..self.end).unwrap_or_default().to_vec();
        let parts = Parts::from_iter([Part::text(self.question)]);
        let question = follow(entries.last(), Message::with_role(Role::User, parts), None);
        entries.push(question);
        let sent = manager
            .step(&entries)
            .map_err(|error| format!("{}, {:?}: {error}", self.log.key, self.question))?;
        let is_sent = |texts: &Vec<String>| texts.iter().any(|text| holds(&sent.pieces, text));
        Ok(self.evidence.iter().all(is_sent))
    }

    /// Counts whether the newest characters would contain it, with four characters per token.
    pub(crate) fn count_recent(&self, budget: u64, hits: &mut Hits) {
        hits.add(self.distance as u64 <= 4 * budget);
    }
}

/// Returns the texts that have to be sent: one of each list.
fn evidence(session: &Session, turns: &[String], evidence: &Evidence) -> Option<Vec<Vec<String>>> {
    let mut texts = Vec::new();
    match evidence {
        Evidence::Lines(places) => {
            for place in places {
                texts.push(vec![turns.get(*place)?.clone()]);
            }
        }
        Evidence::Ranges(ranges) => {
            for (first, last) in ranges {
                let range = beginning(turns, *first, *last)?;
                texts.extend(range.iter().map(|turn| vec![turn.clone()]));
            }
        }
        Evidence::Near(place) => {
            let near = session.lines.iter().zip(turns).enumerate();
            let near = near
                .filter(|(at, (line, _))| at.abs_diff(*place) <= NEAR_LINES && line.role == "user");
            texts.push(near.map(|(_, (_, turn))| turn.clone()).collect());
        }
    }
    texts.iter().all(|texts| !texts.is_empty()).then_some(texts)
}

/// Returns the first turn of a range, and as many more as are needed for a text that occurs only once. A text such
/// as "Yes." would be found by chance.
fn beginning(turns: &[String], first: usize, last: usize) -> Option<&[String]> {
    let range = turns.get(first..=last.min(turns.len().checked_sub(1)?))?;
    let is_unique = |text: &String| {
        let finder = Finder::new(text);
        turns.iter().filter(|turn| finder.find(turn.as_bytes()).is_some()).nth(1).is_none()
    };
    let unique = range.iter().position(is_unique).unwrap_or(range.len().checked_sub(1)?);
    range.get(..=unique)
}

#[cfg(test)]
mod tests {
    use super::super::baselines::SlidingWindow;
    use super::*;

    fn session(texts: &[&str]) -> Session {
        let lines: Vec<_> = texts.iter().map(|text| ("user", "text", *text)).collect();
        let mut session = Session::of(&lines);
        session.lines.iter_mut().for_each(|line| line.who = Some("Ann".to_owned()));
        session
    }

    fn question(evidence: Evidence, end: Option<usize>) -> Question {
        Question { session: "s".to_owned(), question: "Why?".to_owned(), evidence, end }
    }

    fn is_sent(texts: &[&str], question: &Question, budget: u64) -> bool {
        let sessions = [session(texts)];
        let logs = logs(&sessions);
        let exams = exams(&logs, std::slice::from_ref(question)).unwrap();
        exams[0].is_sent(&mut SlidingWindow::new(budget)).unwrap()
    }

    const TEXTS: [&str; 4] = ["Yes.", "It was the gardener.", "Yes.", "No, never."];

    #[test]
    fn all_evidence_has_to_be_sent() {
        let question = question(Evidence::Lines(vec![1, 3]), None);
        // Tokens, from the newest: question 4, then 7, 6 and 10.
        assert!(is_sent(&TEXTS, &question, 27));
        assert!(!is_sent(&TEXTS, &question, 26));
    }

    #[test]
    fn what_is_said_more_than_once_does_not_stand_for_a_range() {
        let question = question(Evidence::Ranges(vec![(0, 2)]), None);
        assert!(!is_sent(&TEXTS, &question, 17), "the second yes is not the first");
        assert!(is_sent(&TEXTS, &question, 27));
    }

    #[test]
    fn one_line_near_the_place_is_enough() {
        let mut texts = ["It was the gardener."; 9];
        texts[4] = "It was the butler...";
        texts[8] = "It was the cook.....";
        // The question has 4 tokens, each line 10.
        let near = |place| question(Evidence::Near(place), None);
        assert!(is_sent(&texts, &near(5), 14));
        assert!(!is_sent(&texts, &near(4), 14), "the cook is too far away");
        assert!(is_sent(&texts, &near(4), 24));
    }

    #[test]
    fn nothing_behind_the_question_is_seen() {
        let question = question(Evidence::Lines(vec![1]), Some(2));
        assert!(is_sent(&TEXTS, &question, 14));
        assert!(!is_sent(&TEXTS, &question, 13));
    }

    #[test]
    fn recency_counts_the_characters_up_to_the_question() {
        let (sessions, questions) = ([session(&TEXTS)], [question(Evidence::Lines(vec![1]), None)]);
        let logs = logs(&sessions);
        let exams = exams(&logs, &questions).unwrap();
        // 20 and 4 and 10 characters.
        for (budget, hits) in [(8, 0), (9, 1)] {
            let mut recent = Hits::default();
            exams[0].count_recent(budget, &mut recent);
            assert_eq!(recent, Hits { hits, of: 1 });
        }
    }
}
