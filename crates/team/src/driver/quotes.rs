//! Finds what a text has word for word from the log, so that its record refers to the entries and holds
//! none of their words. For texts that were put together from many messages, as the summary of a request
//! that was too large. Pure; in linear time.
//!
//! A summary joins lines and cuts sentences, so stretches of it are found nowhere as they are. Of what is
//! left, each word and number that the log has too is referred to on its own.

use std::collections::HashMap;
use std::ops::Range;

use super::recipe::{Recipe, Step};

/// A shorter stretch is no quote. Short names and numbers of a summary are, so it is small.
const QUOTE_BYTES: usize = 5;

/// A stretch of what an entry says.
#[derive(Clone, Copy, Debug)]
pub(super) struct Stretch<'s> {
    /// The place of the entry on its branch.
    pub(super) place: usize,
    /// Where the stretch begins in what the entry says.
    pub(super) start: usize,
    pub(super) text: &'s str,
}

/// How the text is made from these stretches: quotes of them, and the words between the quotes.
pub(super) fn quoted(text: &str, said: &[Stretch<'_>]) -> Vec<Step> {
    let known = beginnings(said);
    let mut recipe = Recipe::default();
    let (mut at, mut words_from) = (0, 0);
    while at < text.len() {
        let key = text.as_bytes().get(at..at + QUOTE_BYTES);
        let Some(&(stretch, from)) = key.and_then(|key| known.get(key)) else {
            at = text.ceil_char_boundary(at + 1);
            continue;
        };
        recipe.words(&text[words_from..at]);
        // The first character is the same in any case.
        let length = common(&text[at..], &stretch.text[from..]);
        let start = stretch.start + from;
        recipe.0.push(Step::said(stretch.place, start..start + length));
        at += length;
        words_from = at;
    }
    recipe.words(&text[words_from..]);
    without_words(recipe, said).0
}

/// The same steps with a reference in place of each word that is said somewhere.
fn without_words(steps: Recipe, said: &[Stretch<'_>]) -> Recipe {
    let mut known = HashMap::new();
    for stretch in said {
        for word in words_of(stretch.text) {
            let start = stretch.start + word.start;
            known.entry(&stretch.text[word]).or_insert((stretch.place, start));
        }
    }
    let mut recipe = Recipe::default();
    for step in steps.0 {
        let Step::Words(text) = step else {
            recipe.0.push(step);
            continue;
        };
        let mut from = 0;
        for word in words_of(&text) {
            let Some(&(place, start)) = known.get(&text[word.clone()]) else { continue };
            recipe.words(&text[from..word.start]);
            recipe.0.push(Step::said(place, start..start + word.len()));
            from = word.end;
        }
        recipe.words(&text[from..]);
    }
    recipe
}

/// Where the words and numbers of a text are that say something: not the short ones of every sentence.
fn words_of(text: &str) -> impl Iterator<Item = Range<usize>> {
    let mut from = 0;
    let parts = text.split_inclusive(|letter: char| !letter.is_alphanumeric()).map(move |part| {
        let start = from;
        from += part.len();
        start..start + part.trim_end_matches(|letter: char| !letter.is_alphanumeric()).len()
    });
    parts.filter(|word| {
        let word = &text[word.clone()];
        word.len() > 2 || word.contains(char::is_numeric)
    })
}

/// Where each sequence of [`QUOTE_BYTES`] is said first.
fn beginnings<'s>(said: &[Stretch<'s>]) -> HashMap<&'s [u8], (Stretch<'s>, usize)> {
    let mut known = HashMap::new();
    for stretch in said {
        for (from, _) in stretch.text.char_indices() {
            if let Some(key) = stretch.text.as_bytes().get(from..from + QUOTE_BYTES) {
                known.entry(key).or_insert((*stretch, from));
            }
        }
    }
    known
}

/// How many bytes two texts have in common at their beginning, in whole characters.
fn common(one: &str, other: &str) -> usize {
    let same = one.chars().zip(other.chars()).take_while(|(one, other)| one == other);
    same.map(|(letter, _)| letter.len_utf8()).sum()
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn made(steps: &[Step], said: &[Stretch<'_>]) -> String {
        let text = |step: &Step| match step {
            Step::Words(words) => words.to_string(),
            Step::Said { place, range: Some(range), .. } => {
                let said = said.iter().find(|one| one.place == *place).unwrap();
                said.text[range.start - said.start..range.end - said.start].to_owned()
            }
            other => panic!("{other:?}"),
        };
        steps.iter().map(text).collect()
    }

    #[test]
    fn what_is_quoted_is_referred_to() {
        let said = [
            Stretch { place: 3, start: 5, text: "The key is ab12-cd34." },
            Stretch { place: 9, start: 0, text: "Buffer the events." },
        ];
        let text = "Facts:\n- The key is ab12-cd34.\n- buffer the events";
        let steps = quoted(text, &said);
        assert_eq!(
            steps,
            [
                Step::Words("Facts:\n- ".into()),
                Step::said(3, 5..26),
                Step::Words("\n- b".into()),
                Step::said(9, 1..17),
            ]
        );
        assert_eq!(made(&steps, &said), text);
    }

    #[test]
    fn a_number_whose_line_was_joined_to_the_next_is_referred_to() {
        let said = [Stretch { place: 2, start: 0, text: "The PIN is\n47 1\tand ab." }];
        let text = "The PIN is 47 1 and ab. End";
        let steps = quoted(text, &said);
        let words: Vec<&str> = steps
            .iter()
            .filter_map(|step| match step {
                Step::Words(words) => Some(&**words),
                _ => None,
            })
            .collect();
        assert!(!words.concat().contains(char::is_numeric), "{words:?}");
        assert_eq!(made(&steps, &said), text);
    }

    proptest! {
        #[test]
        fn the_text_is_made_again(
            text in "[abé🙂 ]{0,60}",
            first in "[abé🙂 ]{0,40}",
            second in "[abé🙂 ]{0,40}",
        ) {
            let text = format!("{text}{first}x{second}");
            let said = [
                Stretch { place: 0, start: 0, text: &first },
                Stretch { place: 1, start: 7, text: &second },
            ];
            prop_assert_eq!(made(&quoted(&text, &said), &said), text);
        }
    }
}
