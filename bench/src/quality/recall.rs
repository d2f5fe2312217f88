//! Measures whether requests contain the identifiers that an agent names again: at each step, the exact identifiers
//! of the answer that were already in the log, and the share of them that the request contains.

use std::collections::HashMap;
use std::rc::Rc;

use super::identifiers::each_identifier;
use super::log::Log;
use super::manager::{Piece, messages, render, said};

/// The number of an identifier in one session.
type Name = u32;

/// An identifier is old if this many newest messages do not contain it.
const NEWEST: usize = 10;

/// The identifiers that the agent of one session names again, step by step.
#[derive(Debug, Default)]
pub(crate) struct NamedAgain {
    /// Every identifier that is named again at some step.
    names: HashMap<Box<str>, Name>,
    steps: Vec<Vec<Again>>,
}

/// An identifier that is named again.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Again {
    name: Name,
    /// Whether it is old.
    old: bool,
}

/// Searches pieces for names; each text is searched once.
#[derive(Debug)]
pub(crate) struct Finder<'a> {
    named: &'a NamedAgain,
    /// The names in the texts so far. Keeping the texts ensures that their addresses are not reused.
    texts: HashMap<Rc<str>, usize>,
    by_address: HashMap<*const u8, usize>,
    names: Vec<Vec<Name>>,
    /// For each name, the last search that found it.
    found: Vec<u32>,
    look: u32,
}

/// The mean of shares.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub(crate) struct Recall {
    sum: f64,
    steps: u64,
}

impl NamedAgain {
    pub(crate) fn of(log: &Log) -> Self {
        let mut known: HashMap<Box<str>, usize> = HashMap::new();
        let (mut named, mut steps) = (Self::default(), log.steps.iter().peekable());
        for (place, entry) in log.entries.iter().enumerate() {
            for message in messages(std::slice::from_ref(entry)) {
                if steps.next_if_eq(&&place).is_some() {
                    let again = named.again(&said(message), place, &known);
                    named.steps.push(again);
                }
                each_identifier(&render(message), |identifier| match known.get_mut(identifier) {
                    Some(last) => *last = place,
                    None => drop(known.insert(identifier.into(), place)),
                });
            }
        }
        named
    }

    /// Returns the identifiers of an answer that were known before, each once.
    fn again(
        &mut self,
        answer: &str,
        place: usize,
        known: &HashMap<Box<str>, usize>,
    ) -> Vec<Again> {
        let mut again = Vec::new();
        each_identifier(answer, |identifier| {
            let Some(last) = known.get(identifier) else {
                return;
            };
            let next = self.names.len() as Name;
            let name = match self.names.get(identifier) {
                Some(name) => *name,
                None => *self.names.entry(identifier.into()).or_insert(next),
            };
            again.push(Again { name, old: last + NEWEST < place });
        });
        again.sort_unstable_by_key(|again| again.name);
        again.dedup();
        again
    }
}

impl<'a> Finder<'a> {
    pub(crate) fn new(named: &'a NamedAgain) -> Self {
        let found = vec![0; named.names.len()];
        let (texts, by_address, names) = Default::default();
        Self { named, texts, by_address, names, found, look: 0 }
    }

    /// Returns the share of this step's identifiers that are in the pieces: of all, and of the old ones.
    pub(crate) fn look(
        &mut self,
        step: usize,
        pieces: &[Piece],
        all: &mut Recall,
        old: &mut Recall,
    ) {
        let named = self.named;
        let Some(again) = named.steps.get(step).filter(|again| !again.is_empty()) else {
            return;
        };
        self.look += 1;
        for piece in pieces {
            self.mark(piece);
        }
        let is_found = |again: &&Again| self.found.get(again.name as usize) == Some(&self.look);
        all.add(again.iter().filter(is_found).count(), again.len());
        let long_ago = || again.iter().filter(|again| again.old);
        old.add(long_ago().filter(is_found).count(), long_ago().count());
    }

    fn mark(&mut self, piece: &Piece) {
        if piece.volatile {
            // It probably occurs only once, so it is not stored.
            let names = self.names_in(&piece.text);
            return self.mark_all(&names);
        }
        let place = self.place(&piece.text);
        let names = std::mem::take(&mut self.names[place]);
        self.mark_all(&names);
        self.names[place] = names;
    }

    fn mark_all(&mut self, names: &[Name]) {
        for name in names {
            self.found[*name as usize] = self.look;
        }
    }

    /// Returns the index of the names of this text. A text that was already searched is found by its address.
    fn place(&mut self, text: &Rc<str>) -> usize {
        if let Some(place) = self.by_address.get(&text.as_ptr()) {
            return *place;
        }
        if let Some(place) = self.texts.get(text) {
            return *place;
        }
        let place = self.names.len();
        self.names.push(self.names_in(text));
        self.by_address.insert(text.as_ptr(), place);
        self.texts.insert(Rc::clone(text), place);
        place
    }

    fn names_in(&self, text: &str) -> Vec<Name> {
        let mut names = Vec::new();
        each_identifier(text, |identifier| names.extend(self.named.names.get(identifier)));
        names.sort_unstable();
        names.dedup();
        names
    }
}

impl Recall {
    pub(crate) fn add(&mut self, found: usize, of: usize) {
        if of > 0 {
            self.sum += found as f64 / of as f64;
            self.steps += 1;
        }
    }

    /// In hundredths.
    pub(crate) fn percent(self) -> f64 {
        100.0 * self.sum / self.steps as f64
    }
}

#[cfg(test)]
mod tests {
    use super::super::data::Session;
    use super::*;

    fn log(texts: &[(&str, &str)]) -> Log {
        let lines: Vec<_> = texts.iter().map(|(role, text)| (*role, "text", *text)).collect();
        Log::of_agent(&Session::of(&lines))
    }

    fn piece(text: &str, volatile: bool) -> Piece {
        Piece { text: text.into(), tokens: 1, volatile }
    }

    fn look(log: &Log, step: usize, pieces: &[Piece]) -> (f64, f64) {
        let named = NamedAgain::of(log);
        let (mut all, mut old) = (Recall::default(), Recall::default());
        Finder::new(&named).look(step, pieces, &mut all, &mut old);
        (all.percent(), old.percent())
    }

    #[test]
    fn half_of_what_is_named_again_is_sent() {
        let log = log(&[
            ("user", "Mend common.go and user_id"),
            ("assistant", "I mend user_id in common.go, then new_name, for common.go"),
        ]);
        // new_name was not in the log before; common.go counts once.
        assert_eq!(look(&log, 0, &[piece("the user_id", false)]).0, 50.0);
        assert_eq!(look(&log, 0, &[piece("user_id", false), piece("common.go", true)]).0, 100.0);
        assert_eq!(look(&log, 0, &[piece("user_ids new_name", false)]).0, 0.0);
    }

    #[test]
    fn a_step_that_names_nothing_again_says_nothing() {
        let log = log(&[("user", "Mend common.go"), ("assistant", "Gladly, in main.go")]);
        assert!(look(&log, 0, &[piece("common.go", false)]).0.is_nan());
    }

    #[test]
    fn what_the_answer_itself_says_was_not_there_before() {
        let log = log(&[
            ("user", "Go on"),
            ("assistant", "I write new_name and new_name"),
            ("user", "Why?"),
            ("assistant", "new_name is shorter"),
        ]);
        assert!(look(&log, 0, &[]).0.is_nan());
        assert_eq!(look(&log, 1, &[]).0, 0.0);
    }

    #[test]
    fn old_is_what_the_newest_messages_do_not_hold() {
        let mut texts = vec![("user", "old_name")];
        texts.extend([("user", "and"); NEWEST - 1]);
        texts.extend([("user", "young_name"), ("assistant", "old_name and young_name")]);
        let pieces = [piece("young_name", false)];
        assert_eq!(look(&log(&texts), 0, &pieces), (50.0, 0.0));
        texts.remove(1);
        assert!(look(&log(&texts), 0, &pieces).1.is_nan());
    }

    #[test]
    fn the_same_text_is_found_again_in_every_look() {
        let log = log(&[
            ("user", "a_name"),
            ("assistant", "a_name"),
            ("user", "?"),
            ("assistant", "a_name"),
        ]);
        let named = NamedAgain::of(&log);
        let mut finder = Finder::new(&named);
        let (mut all, mut old) = (Recall::default(), Recall::default());
        let pieces = [piece("a_name", false)];
        for step in 0..2 {
            finder.look(step, &pieces, &mut all, &mut old);
        }
        finder.look(1, &[], &mut all, &mut old);
        assert_eq!(all, Recall { sum: 2.0, steps: 3 });
    }
}
