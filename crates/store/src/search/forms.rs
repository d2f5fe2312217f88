//! Maps a word of a query to terms of the index: its stem, the word as an identifier, and all words with a prefix.
//! Used while a query is parsed; it does not depend on texts.

use std::fmt;

use tertulia_session::search::stems_before;
use tertulia_session::search::terms::{Term, TermKind, TermUse, each_term};
use tertulia_session::writing_system::{Run, Runs, fold, is_unspaced, is_word};

use super::terms::{common_text, index_text};

/// A term of the index, or all terms with a prefix.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Form {
    pub(crate) text: String,
    pub(crate) is_prefix: bool,
}

/// Alternatives: one of these terms is enough.
pub(crate) type AnyOf = Vec<Form>;

impl Form {
    pub(super) fn exact(text: String) -> Self {
        Self { text, is_prefix: false }
    }

    fn prefix(text: String) -> Self {
        Self { text, is_prefix: true }
    }

    /// Returns whether it is in a sorted list of terms.
    pub(super) fn is_in(&self, terms: &[Box<str>]) -> bool {
        let at = terms.partition_point(|term| **term < *self.text);
        terms.get(at).is_some_and(|term| match self.is_prefix {
            true => term.starts_with(&self.text),
            false => **term == *self.text,
        })
    }
}

impl fmt::Display for Form {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(out, "{}{}", self.text, if self.is_prefix { "*" } else { "" })
    }
}

/// Returns groups of index terms. A text that contains these words literally has at least one term of every group.
pub(super) fn groups(written: &str, is_prefix: bool) -> Vec<AnyOf> {
    let mut groups: Vec<AnyOf> = Vec::new();
    let mut runs = Runs::new(written);
    while let Some(run) = runs.next_run() {
        match run {
            Run::Spaced(rest) => {
                let end = rest.find(|one| one != '_' && !is_word(one)).unwrap_or(rest.len());
                runs.skip(end);
                let word = rest.get(..end).unwrap_or_default().trim_end_matches('_');
                word_groups(word, is_prefix && runs.bytes_left() == 0, &mut groups);
            }
            Run::Unspaced(run) => unspaced_groups(run, runs.bytes_left() == 0, &mut groups),
        }
    }
    for group in &mut groups {
        group.sort();
        group.dedup();
    }
    groups
}

/// Adds the pairs of characters of a run in a script without spaces. At the end of a run, the last character is the
/// prefix of a pair.
fn unspaced_groups(run: &str, is_end: bool, groups: &mut Vec<AnyOf>) {
    let mut is_single = false;
    each_term(run, &mut |term| {
        is_single = term.text.chars().count() == 1;
        groups.push(vec![Form::exact(index_text(&term))]);
    });
    if is_single && run.chars().count() > 1 {
        groups.pop();
    } else if is_end && let Some([form]) = groups.last_mut().map(Vec::as_mut_slice) {
        form.is_prefix = true;
    }
}

/// Adds the terms of one word. In a text, it may be a separate word or a part of an identifier with underscores,
/// whose parts are terms.
fn word_groups(word: &str, is_prefix: bool, groups: &mut Vec<AnyOf>) {
    let mut terms = Vec::new();
    each_term(word, &mut |term| terms.push(term));
    let folded: String = word.chars().map(fold).collect();
    let (pieces, whole) = match terms.as_slice() {
        [] => return,
        [one] => (std::slice::from_ref(one), None),
        [pieces @ .., whole] => (pieces, Some(index_text(whole))),
    };
    // The forms of the word on its own, with or without inner capitals.
    let mut alone: AnyOf = Vec::new();
    if whole.is_some() {
        alone.push(Form { text: folded.clone(), is_prefix });
        if !word.contains('_') {
            each_term(&folded, &mut |term| alone.extend(forms(&term, &folded, is_prefix)));
        }
    }
    for (index, piece) in pieces.iter().enumerate() {
        let is_last = index + 1 == pieces.len();
        let text: String = piece.written.chars().map(fold).collect();
        let mut group = forms(piece, &text, is_prefix && is_last);
        group.extend(alone.iter().cloned());
        groups.push(group);
    }
}

/// Returns the terms for a word or a part of one. `folded` is its text in lower case.
fn forms(term: &Term<'_>, folded: &str, is_prefix: bool) -> AnyOf {
    match term.usage {
        TermUse::Exact => vec![Form::exact(index_text(term))],
        _ if is_prefix => {
            let shorter = stems_before(folded).map(|stem| Form::exact(stem.to_owned()));
            let longer = [folded.to_owned(), common_text(folded)].map(Form::prefix);
            shorter.chain(longer).collect()
        }
        TermUse::Common => vec![Form::exact(index_text(term))],
        TermUse::Ranked => vec![Form::exact(index_text(term)), Form::exact(folded.to_owned())],
    }
}

/// Returns the index terms for a term of a query. An identifier with inner capitals may be written
/// without them.
pub(super) fn forms_of(term: &Term<'_>) -> AnyOf {
    let mut forms = vec![Form::exact(index_text(term))];
    if term.kind == TermKind::Identifier && term.text.chars().all(is_word) {
        let folded: String = term.text.chars().map(fold).collect();
        each_term(&folded, &mut |plain| forms.push(Form::exact(index_text(&plain))));
        forms.sort();
        forms.dedup();
    }
    forms
}

/// Returns whether a text is one character of a script without spaces.
pub(super) fn is_one_unspaced_character(text: &str) -> bool {
    let mut characters = text.chars();
    characters.next().is_some_and(is_unspaced) && characters.next().is_none()
}
