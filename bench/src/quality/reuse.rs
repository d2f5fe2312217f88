//! Measures whether the request contains the text that an edit quotes when the agent writes the edit. The manager
//! runs through the whole session.

use std::collections::HashMap;
use std::error::Error;

use serde_json::Value;

use super::data::{Pointer, Session};
use super::found::{Hits, holds};
use super::log::Log;
use super::manager::Manager;
use super::walk::walk;
use tertulia_session::Message;

/// The texts that the edits of one session quote, and the session as a log.
#[derive(Debug)]
pub(crate) struct Quotes {
    log: Log,
    /// The quotes in the order of the steps.
    quotes: Vec<Quote>,
    /// Edits that quote their own answer, which no manager can have sent.
    pub(crate) of_themselves: usize,
}

#[derive(Debug)]
struct Quote {
    step: usize,
    text: String,
    /// The part of the answer before the edit.
    begun: Option<Message>,
    /// The characters from the message with the text to the edit.
    distance: usize,
}

/// Returns the quotes of each session with quotes. An edit whose text cannot be read is an error, because then the
/// data does not have the expected format.
pub(crate) fn read_quotes(
    sessions: &[Session],
    pointers: &[Pointer],
) -> Result<Vec<Quotes>, Box<dyn Error>> {
    let mut by_session: HashMap<&str, Vec<&Pointer>> = HashMap::new();
    for pointer in pointers {
        by_session.entry(&pointer.session).or_default().push(pointer);
    }
    let mut all = Vec::new();
    for session in sessions {
        if let Some(pointers) = by_session.get(session.key.as_str()) {
            all.push(Quotes::of(session, pointers)?);
        }
    }
    Ok(all)
}

impl Quotes {
    fn of(session: &Session, pointers: &[&Pointer]) -> Result<Self, Box<dyn Error>> {
        let log = Log::of_agent(session);
        let (mut quotes, mut of_themselves) = (Vec::new(), 0);
        for pointer in pointers {
            let problem = || format!("{}, line {}: no edit", session.key, pointer.line);
            let line = session.lines.get(pointer.line).ok_or_else(problem)?;
            let text = quoted(&line.text, pointer.whole).ok_or_else(problem)?;
            let places = log.place(pointer.line).zip(log.place(pointer.evidence));
            let (answer, evidence) = places.ok_or_else(problem)?;
            let step = log.steps.binary_search(&answer).map_err(|_| problem())?;
            if evidence == answer {
                of_themselves += 1;
                continue;
            }
            let between = session.lines.get(pointer.evidence..pointer.line).unwrap_or_default();
            let distance = between.iter().map(|line| line.text.chars().count()).sum();
            let begun = log.begun(session, pointer.line);
            quotes.push(Quote { step, text, begun, distance });
        }
        quotes.sort_by_key(|quote| quote.step);
        Ok(Self { log, quotes, of_themselves })
    }

    /// Runs the manager through the session and counts the quotes that are sent in time: when the model is called,
    /// and optionally when the answer has reached the edit.
    pub(crate) fn count_sent(
        &self,
        manager: &mut dyn Manager,
        hits: &mut Hits,
        mut begun_hits: Option<&mut Hits>,
    ) -> Result<(), Box<dyn Error>> {
        let mut quotes = self.quotes.iter().peekable();
        walk(&self.log, manager, |step, manager| {
            while let Some(quote) = quotes.next_if(|quote| quote.step == step.number) {
                let is_sent = holds(&step.sent.pieces, &quote.text);
                hits.add(is_sent);
                let Some(begun_hits) = &mut begun_hits else {
                    continue;
                };
                let begun = quote.begun.as_ref().map(|begun| manager.peek(begun)).transpose()?;
                begun_hits.add(match begun.flatten() {
                    Some(sent) => holds(&sent.pieces, &quote.text),
                    None => is_sent,
                });
            }
            Ok(())
        })
    }

    /// Counts the quotes that the newest characters would contain, with four characters per token.
    pub(crate) fn count_recent(&self, budget: u64, hits: &mut Hits) {
        for quote in &self.quotes {
            hits.add(quote.distance as u64 <= 4 * budget);
        }
    }
}

/// Returns the quoted text of an edit: all of it, or its longest line.
fn quoted(arguments: &str, whole: bool) -> Option<String> {
    let arguments: Value = serde_json::from_str(arguments).ok()?;
    let text = ["old_string", "oldText"].iter().find_map(|name| arguments[name].as_str())?;
    if whole {
        return Some(text.to_owned());
    }
    // Takes the first of several equally long lines.
    let longest = text.lines().map(str::trim).rev().max_by_key(|line| line.chars().count());
    longest.map(str::to_owned)
}

#[cfg(test)]
mod tests {
    use super::super::baselines::SlidingWindow;
    use super::*;

    /// Returns a session in which a file is shown, a long text is written, and the file is edited.
    fn session() -> (Session, Pointer) {
        let edit = r#"{"path":"a.go","old_string":"a := 1\nb := 2","new_string":""}"#;
        let session = Session::of(&[
            ("user", "text", "  1→a := 1\n  2→b := 2\n"),
            ("user", "text", &"long ".repeat(8)),
            ("assistant", "text", "I edit"),
            ("assistant", "tool_call", edit),
        ]);
        (session, Pointer { session: "s".to_owned(), line: 3, evidence: 0, whole: true })
    }

    fn sent_at(budget: u64) -> Hits {
        let (session, pointer) = session();
        let quotes = read_quotes(&[session], &[pointer]).unwrap();
        let mut hits = Hits::default();
        let window = &mut SlidingWindow::new(budget);
        quotes[0].count_sent(window, &mut hits, None).unwrap();
        hits
    }

    #[test]
    fn a_quote_is_found_while_its_source_is_sent() {
        // 40 bytes and a wrapper are 13 tokens, 26 bytes and a wrapper 10.
        assert_eq!(sent_at(23), Hits { hits: 1, of: 1 });
        assert_eq!(sent_at(22), Hits { hits: 0, of: 1 });
    }

    #[test]
    fn recency_counts_the_characters_up_to_the_edit() {
        let (session, pointer) = session();
        let quotes = read_quotes(&[session], &[pointer]).unwrap();
        // 22 in the shown file, 40 in the message, 6 before the edit in the same answer: 68.
        for (budget, hit) in [(16, 0), (17, 1)] {
            let mut hits = Hits::default();
            quotes[0].count_recent(budget, &mut hits);
            assert_eq!(hits, Hits { hits: hit, of: 1 }, "{budget}");
        }
    }

    #[test]
    fn an_answer_that_quotes_itself_is_not_judged() {
        let (session, mut pointer) = session();
        pointer.evidence = 2;
        let quotes = read_quotes(&[session], &[pointer]).unwrap();
        assert_eq!((quotes[0].quotes.len(), quotes[0].of_themselves), (0, 1));
    }

    #[test]
    fn the_longest_line_stands_for_a_quote_that_was_not_seen_whole() {
        let arguments = r#"{"oldText":"a\n  bcd \nefg\n"}"#;
        assert_eq!(quoted(arguments, false).as_deref(), Some("bcd"));
        assert_eq!(quoted(arguments, true).as_deref(), Some("a\n  bcd \nefg\n"));
        assert_eq!(quoted("{}", true), None);
    }
}
