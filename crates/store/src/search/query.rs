//! What a question asks for: the terms that an index is asked with, and what a text must then have.
//! `two words` must both be there, in any form; `"a phrase"` and `src/main.rs` as they stand, `pre*` as a beginning.
//! Called by the search; must not know of weights or of stores.

use tertulia_session::search::terms::{TermKind, TermUse, each_term};

use super::forms::{AnyOf, forms_of, groups, is_one_dense};
use super::needle::Needle;
use super::terms::flat;

/// No more terms rank than these, the first ones.
const RANKED_MAX: usize = 64;

/// A question as it was read.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Question {
    pub(super) items: Vec<Item>,
    pub(super) ranked: Vec<Ranked>,
    /// Common words beside others: they find and rank nothing.
    pub(super) ignored: Vec<Box<str>>,
}

/// A word or phrase that must be there.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Item {
    /// Of each of these groups a text has a term.
    pub(super) groups: Vec<AnyOf>,
    /// What must stand in the text besides; nothing for a plain word, of which any form will do.
    pub(super) needle: Option<Needle>,
    /// Whether it stays required where not all words are found.
    pub(super) is_quoted: bool,
    is_common: bool,
    ranked: Vec<Ranked>,
}

/// What is counted in a text for its score.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Ranked {
    /// As it is written in the question.
    pub(super) asked: Box<str>,
    pub(super) kind: TermKind,
    /// The terms of the index that it is.
    pub(super) forms: AnyOf,
    /// Counted instead of the forms, where no term tells how often it is there.
    pub(super) needle: Option<Needle>,
}

/// What an index is asked for: entries with a term of every group, and none of the others.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Wanted {
    pub(crate) all: Vec<AnyOf>,
    pub(crate) without: AnyOf,
}

impl Question {
    /// Reads a question; `None` if it asks for nothing that can be found.
    pub(crate) fn read(text: &str) -> Option<Self> {
        let mut items: Vec<Item> = Vec::new();
        for (piece, is_quoted) in pieces(text) {
            match is_quoted || piece.ends_with('*') {
                true => items.extend(Item::read(piece, is_quoted)),
                // A form with an apostrophe is its words: `user's`, `don't`.
                false => {
                    items.extend(
                        piece.split(['\'', '’']).filter_map(|word| Item::read(word, false)),
                    );
                }
            }
        }
        let mut ignored = Vec::new();
        if items.iter().any(|item| !item.is_common) {
            items.retain(|item| {
                let asked = item.ranked.first().map(|ranked| ranked.asked.clone());
                ignored.extend(asked.filter(|asked| item.is_common && !ignored.contains(asked)));
                !item.is_common
            });
        }
        let mut ranked: Vec<Ranked> = Vec::new();
        for one in items.iter_mut().flat_map(|item| std::mem::take(&mut item.ranked)) {
            if ranked.len() < RANKED_MAX && ranked.iter().all(|known| known.forms != one.forms) {
                ranked.push(one);
            }
        }
        let is_empty = items.iter().all(|item| item.groups.is_empty());
        (!is_empty).then_some(Self { items, ranked, ignored })
    }

    /// Whether it has no word that tells anything.
    pub(super) fn is_common(&self) -> bool {
        self.items.iter().all(|item| item.is_common)
    }

    /// Whether an entry may have some of it and not all.
    pub(super) fn has_parts(&self) -> bool {
        self.ranked.len() > 1 && self.items.iter().any(|item| !item.is_quoted)
    }

    /// What an entry must have in the index to have all that is asked for, or what is in quotes.
    pub(crate) fn wanted(&self, needs: Needs) -> Wanted {
        let items = self.items.iter().filter(|item| needs.takes(item));
        let mut all: Vec<AnyOf> = items.flat_map(|item| item.groups.iter().cloned()).collect();
        all.sort();
        all.dedup();
        Wanted { all, without: Vec::new() }
    }
}

/// What a text must have.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Needs {
    All,
    /// What is in quotes, and some of the rest.
    Quoted,
}

impl Needs {
    pub(super) fn takes(self, item: &Item) -> bool {
        self == Self::All || item.is_quoted
    }
}

impl Wanted {
    /// Whether an entry with these terms is wanted, as an index would say. The terms ascend.
    pub(crate) fn is_in(&self, terms: &[Box<str>]) -> bool {
        self.all.iter().all(|group| group.iter().any(|form| form.is_in(terms)))
            && !self.without.iter().any(|form| form.is_in(terms))
    }
}

/// Words and phrases, as they are written.
fn pieces(text: &str) -> Vec<(&str, bool)> {
    let mut pieces = Vec::new();
    let mut rest = text;
    while let Some((before, behind)) = rest.split_once('"') {
        pieces.extend(before.split_whitespace().map(|word| (word, false)));
        let (phrase, after) = behind.split_once('"').unwrap_or((behind, ""));
        pieces.push((phrase, true));
        rest = after;
    }
    pieces.extend(rest.split_whitespace().map(|word| (word, false)));
    pieces
}

impl Item {
    fn read(text: &str, is_quoted: bool) -> Option<Self> {
        let is_prefix = !is_quoted && text.ends_with('*');
        let written = flat(text);
        let written = Needle::trimmed(&written);
        let needle = Needle::new(written, is_prefix)?;
        let groups = groups(written, is_prefix);
        let (mut terms, mut ranked) = (0, Vec::new());
        let mut is_common = true;
        each_term(written, &mut |term| {
            terms += 1;
            is_common &= term.usage == TermUse::Common;
            // A single character is found inside pairs, where it is no term.
            let tells = term.usage == TermUse::Ranked && !is_one_dense(term.text);
            if tells && !is_prefix {
                let forms = forms_of(&term);
                let asked = term.written.into();
                ranked.push(Ranked { asked, kind: term.kind, forms, needle: None });
            }
        });
        is_common &= terms > 0;
        let is_word = terms == 1 && ranked.len() == 1 && !is_quoted;
        if is_word && let (Some(ranked), [group]) = (ranked.first_mut(), groups.as_slice()) {
            // Also found where it is written as one identifier.
            ranked.forms.clone_from(group);
        }
        if ranked.is_empty()
            && let Some(forms) = groups.last().cloned()
        {
            let (asked, kind) = (written.into(), TermKind::Word);
            ranked.push(Ranked { asked, kind, forms, needle: Some(needle.clone()) });
        }
        let needle = (!is_word).then_some(needle);
        Some(Self {
            groups,
            needle,
            is_quoted,
            is_common: is_common && !is_quoted && !is_prefix,
            ranked,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn wanted(question: &str) -> String {
        let question = Question::read(question).unwrap();
        let group = |group: &AnyOf| {
            let forms: Vec<String> = group.iter().map(ToString::to_string).collect();
            forms.join("|")
        };
        question.wanted(Needs::All).all.iter().map(group).collect::<Vec<_>>().join(" ")
    }

    fn ranked(question: &str) -> Vec<(String, u64)> {
        let ranked = Question::read(question).unwrap().ranked;
        let weight = |one: &Ranked| tertulia_session::search::rank::kind_weight(one.kind);
        ranked.iter().map(|one| (one.asked.to_string(), weight(one))).collect()
    }

    #[test]
    fn a_word_is_asked_for_by_its_stem_and_as_an_identifier() {
        assert_eq!(wanted("failing"), "fail|failing");
        assert_eq!(wanted("2048"), "2048");
        assert_eq!(wanted("getusername"), "getusernam|getusername");
    }

    #[test]
    fn a_name_is_asked_for_by_its_pieces_and_ranked_as_a_whole_too() {
        assert_eq!(wanted("src/main.rs"), "main rs src");
        assert_eq!(wanted("max_tokens"), "max|max_tokens max_tokens|token|tokens");
        let names = ranked("src/main.rs getUserName");
        let names: Vec<(&str, u64)> =
            names.iter().map(|(name, weight)| (&**name, *weight)).collect();
        assert_eq!(
            names,
            [
                ("src", 10),
                ("main", 10),
                ("rs", 10),
                ("src/main.rs", 20),
                ("main.rs", 20),
                ("User", 10),
                ("Name", 10),
                ("getUserName", 30)
            ]
        );
    }

    #[test]
    fn common_words_are_asked_for_only_alone_or_in_quotes() {
        assert_eq!(wanted("what about the cookie"), "cooki|cookie");
        assert_eq!(wanted("to be"), "·be ·to");
        assert_eq!(wanted("\"to be\" cookie"), "cooki|cookie ·be ·to");
        assert_eq!(wanted("the user's"), "user");
        let ignored = Question::read("What about the cookie, the one").unwrap().ignored;
        assert_eq!(
            ignored.iter().map(|word| &**word).collect::<Vec<_>>(),
            ["What", "about", "the", "one"]
        );
    }

    #[test]
    fn a_beginning_is_asked_for_with_the_stems_of_what_begins_with_it() {
        assert_eq!(wanted("faili*"), "fail|faili*|·faili*");
        assert_eq!(wanted("w1*"), "w1*|·w1*");
        assert_eq!(wanted("src/ma*"), "ma*|·ma* src");
    }

    #[test]
    fn chinese_and_japanese_are_asked_for_by_pairs() {
        assert_eq!(wanted("数据"), "数据");
        assert_eq!(wanted("据"), "据*");
        assert_eq!(wanted("数据库"), "据库 数据");
    }

    #[test]
    fn a_question_of_marks_asks_for_nothing() {
        for text in ["", "   ", "\"\"", "***", "-- ; '", "\" \""] {
            assert_eq!(Question::read(text), None, "{text:?}");
        }
    }

    #[test]
    fn a_question_as_long_as_a_file_ranks_by_its_first_terms() {
        let text: String = (0..500).map(|number| format!("w{number}x ")).collect();
        let question = Question::read(&text).unwrap();
        assert_eq!((question.items.len(), question.ranked.len()), (500, RANKED_MAX));
    }
}
