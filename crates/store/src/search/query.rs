//! Parses a query into the terms for an index and the conditions on a text. `two words` must both occur, in any
//! form; `"a phrase"` and `src/main.rs` must occur literally, `pre*` as a prefix. It does not depend on weights or
//! stores.

use tertulia_session::search::terms::{TermKind, TermUse, each_term};

use super::forms::{AnyOf, forms_of, groups, is_one_unspaced_character};
use super::needle::Needle;
use super::terms::flat;

/// The maximum number of ranked terms. Further ones are ignored.
const RANKED_MAX: usize = 64;

/// A parsed query.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct ParsedQuery {
    pub(super) items: Vec<Item>,
    pub(super) ranked: Vec<Ranked>,
    /// Common words that occur together with other words: they neither select nor rank entries.
    pub(super) ignored: Vec<Box<str>>,
}

/// A required word or phrase.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Item {
    /// The groups of terms: a matching text has a term of each group.
    pub(super) groups: Vec<AnyOf>,
    /// Literal text that must occur as well; `None` for a plain word, which matches in any form.
    pub(super) needle: Option<Needle>,
    /// Whether it is required even if not all words are found.
    pub(super) is_quoted: bool,
    is_common: bool,
    ranked: Vec<Ranked>,
}

/// A term that is counted for the score of a text.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Ranked {
    /// The term as written in the query.
    pub(super) written: Box<str>,
    pub(super) kind: TermKind,
    /// Its terms in the index.
    pub(super) forms: AnyOf,
    /// The literal text to count in place of the forms, because no index term represents it.
    pub(super) needle: Option<Needle>,
}

/// A query to an index: entries with a term of every group, and none of the excluded terms.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct IndexQuery {
    pub(crate) all: Vec<AnyOf>,
    pub(crate) without: AnyOf,
}

impl ParsedQuery {
    /// Parses a query; `None` if it contains nothing that can be searched for.
    pub(crate) fn parse(text: &str) -> Option<Self> {
        let mut items: Vec<Item> = Vec::new();
        for (piece, is_quoted) in pieces(text) {
            match is_quoted || piece.ends_with('*') {
                true => items.extend(Item::parse(piece, is_quoted)),
                // A word with an apostrophe is split: `user's`, `don't`.
                false => {
                    items.extend(
                        piece.split(['\'', '’']).filter_map(|word| Item::parse(word, false)),
                    );
                }
            }
        }
        let mut ignored = Vec::new();
        if items.iter().any(|item| !item.is_common) {
            items.retain(|item| {
                let written = item.ranked.first().map(|ranked| ranked.written.clone());
                ignored.extend(written.filter(|word| item.is_common && !ignored.contains(word)));
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

    /// Returns whether all words are common ones.
    pub(super) fn is_common(&self) -> bool {
        self.items.iter().all(|item| item.is_common)
    }

    /// Returns whether an entry may match a part of the query.
    pub(super) fn has_parts(&self) -> bool {
        self.ranked.len() > 1 && self.items.iter().any(|item| !item.is_quoted)
    }

    /// Returns the index query for entries that may match all items, or only the quoted ones.
    pub(crate) fn index_query(&self, required: Required) -> IndexQuery {
        let items = self.items.iter().filter(|item| required.includes(item));
        let mut all: Vec<AnyOf> = items.flat_map(|item| item.groups.iter().cloned()).collect();
        all.sort();
        all.dedup();
        IndexQuery { all, without: Vec::new() }
    }
}

/// The items that a text must contain.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Required {
    All,
    /// The quoted items, and some of the others.
    Quoted,
}

impl Required {
    pub(super) fn includes(self, item: &Item) -> bool {
        self == Self::All || item.is_quoted
    }
}

impl IndexQuery {
    /// Returns whether an entry with these sorted terms matches. The result is the same as that of an index.
    pub(crate) fn is_in(&self, terms: &[Box<str>]) -> bool {
        self.all.iter().all(|group| group.iter().any(|form| form.is_in(terms)))
            && !self.without.iter().any(|form| form.is_in(terms))
    }
}

/// Splits a text into words and phrases, as written.
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
    fn parse(text: &str, is_quoted: bool) -> Option<Self> {
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
            // In a script without spaces, a single character occurs only in pairs, so it is not a term.
            let tells = term.usage == TermUse::Ranked && !is_one_unspaced_character(term.text);
            if tells && !is_prefix {
                let forms = forms_of(&term);
                let written = term.written.into();
                ranked.push(Ranked { written, kind: term.kind, forms, needle: None });
            }
        });
        is_common &= terms > 0;
        let is_word = terms == 1 && ranked.len() == 1 && !is_quoted;
        if is_word && let (Some(ranked), [group]) = (ranked.first_mut(), groups.as_slice()) {
            // The words also match if they are written as one identifier.
            ranked.forms.clone_from(group);
        }
        if ranked.is_empty()
            && let Some(forms) = groups.last().cloned()
        {
            let (written, kind) = (written.into(), TermKind::Word);
            ranked.push(Ranked { written, kind, forms, needle: Some(needle.clone()) });
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

    fn index_query(parsed: &str) -> String {
        let parsed = ParsedQuery::parse(parsed).unwrap();
        let group = |group: &AnyOf| {
            let forms: Vec<String> = group.iter().map(ToString::to_string).collect();
            forms.join("|")
        };
        parsed.index_query(Required::All).all.iter().map(group).collect::<Vec<_>>().join(" ")
    }

    fn ranked(parsed: &str) -> Vec<(String, u64)> {
        let ranked = ParsedQuery::parse(parsed).unwrap().ranked;
        let weight = |one: &Ranked| tertulia_session::search::rank::kind_weight(one.kind);
        ranked.iter().map(|one| (one.written.to_string(), weight(one))).collect()
    }

    #[test]
    fn a_word_is_asked_for_by_its_stem_and_as_an_identifier() {
        assert_eq!(index_query("failing"), "fail|failing");
        assert_eq!(index_query("2048"), "2048");
        assert_eq!(index_query("getusername"), "getusernam|getusername");
    }

    #[test]
    fn a_name_is_asked_for_by_its_pieces_and_ranked_as_a_whole_too() {
        assert_eq!(index_query("src/main.rs"), "main rs src");
        assert_eq!(index_query("max_tokens"), "max|max_tokens max_tokens|token|tokens");
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
    fn common_words_are_searched_only_alone_or_in_quotes() {
        assert_eq!(index_query("what about the cookie"), "cooki|cookie");
        assert_eq!(index_query("to be"), "·be ·to");
        assert_eq!(index_query("\"to be\" cookie"), "cooki|cookie ·be ·to");
        assert_eq!(index_query("the user's"), "user");
        let ignored = ParsedQuery::parse("What about the cookie, the one").unwrap().ignored;
        assert_eq!(
            ignored.iter().map(|word| &**word).collect::<Vec<_>>(),
            ["What", "about", "the", "one"]
        );
    }

    #[test]
    fn a_prefix_is_searched_with_the_stems_of_its_words() {
        assert_eq!(index_query("faili*"), "fail|faili*|·faili*");
        assert_eq!(index_query("w1*"), "w1*|·w1*");
        assert_eq!(index_query("src/ma*"), "ma*|·ma* src");
    }

    #[test]
    fn chinese_and_japanese_are_searched_by_pairs() {
        assert_eq!(index_query("数据"), "数据");
        assert_eq!(index_query("据"), "据*");
        assert_eq!(index_query("数据库"), "据库 数据");
    }

    #[test]
    fn a_query_of_punctuation_searches_for_nothing() {
        for text in ["", "   ", "\"\"", "***", "-- ; '", "\" \""] {
            assert_eq!(ParsedQuery::parse(text), None, "{text:?}");
        }
    }

    #[test]
    fn a_query_as_long_as_a_file_is_ranked_by_its_first_terms() {
        let text: String = (0..500).map(|number| format!("w{number}x ")).collect();
        let parsed = ParsedQuery::parse(&text).unwrap();
        assert_eq!((parsed.items.len(), parsed.ranked.len()), (500, RANKED_MAX));
    }
}
