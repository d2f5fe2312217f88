//! Tests which texts a query finds, and that an index finds them too.

use proptest::prelude::*;

use super::*;

/// Returns texts of letters of several scripts, punctuation, whitespace, and characters whose length changes in
/// lower case.
fn text() -> impl Strategy<Value = String> {
    let piece = prop_oneof![
        "[a-zA-Z]{1,4}",
        "(fail|stop|stor|the|of|get)(ed|ing|ies|s|User|_x)?",
        "[数据库東京タワーภาษา]{1,4}",
        "[ \\n\\t.,/_*\"'-]{1,3}",
        Just("İ".to_owned()),
        Just("ǅß".to_owned()),
        any::<char>().prop_map(String::from),
    ];
    proptest::collection::vec(piece, 0..30).prop_map(|pieces| pieces.concat())
}

fn indexed(text: &str) -> Vec<Box<str>> {
    let mut terms: Vec<Box<str>> = index_terms(text).into_iter().map(String::into).collect();
    terms.sort();
    terms
}

fn finds(parsed: &ParsedQuery, text: &str) -> bool {
    Matcher::new(parsed).counts(text, Required::All).is_some()
}

fn weights(parsed: &ParsedQuery) -> Weights {
    let with_terms = (1..).step_by(7).take(parsed.ranked.len()).collect();
    Weights::new(parsed, &Frequencies { entries: 1_000, with_terms })
}

proptest! {
    #[test]
    fn the_index_has_the_terms_of_every_text_that_a_query_finds(text in text(), asked in text()) {
        let Some(parsed) = ParsedQuery::parse(&asked) else { return Ok(()) };
        if finds(&parsed, &text) {
            let index_query = parsed.index_query(Required::All);
            prop_assert!(index_query.is_in(&indexed(&text)), "{:?}", parsed);
        }
    }

    #[test]
    fn a_text_is_found_by_every_word_of_it(text in text()) {
        for word in text.split_whitespace().filter(|word| !word.contains(['"', '*'])) {
            let Some(parsed) = ParsedQuery::parse(word) else { continue };
            prop_assert!(finds(&parsed, &text), "{:?}", word);
            prop_assert!(parsed.index_query(Required::All).is_in(&indexed(&text)), "{:?}", word);
        }
    }

    #[test]
    fn a_text_is_found_by_every_prefix_of_its_words(word in "[a-zA-Z]{2,9}(ing|ed|ies|s|ly)?", end in 1..9_usize) {
        let prefix = word.get(..end).unwrap_or(&word);
        let parsed = ParsedQuery::parse(&format!("{prefix}*")).unwrap();
        prop_assert!(finds(&parsed, &word), "{prefix}");
        prop_assert!(parsed.index_query(Required::All).is_in(&indexed(&word)), "{prefix}");
    }

    #[test]
    fn the_scores_of_the_words_add_up_to_that_of_the_text(text in text(), asked in text()) {
        let Some(parsed) = ParsedQuery::parse(&asked) else { return Ok(()) };
        let Some(counts) = Matcher::new(&parsed).counts(&text, Required::Quoted) else { return Ok(()) };
        let weights = weights(&parsed);
        let matches = weights.explained(&parsed, &counts, |_| "".into());
        let sum: u64 = matches.iter().map(|one| one.score).sum();
        prop_assert_eq!(sum, weights.score(&counts));
    }

    #[test]
    fn a_snippet_marks_what_it_shows(text in text(), asked in text()) {
        let Some(parsed) = ParsedQuery::parse(&asked) else { return Ok(()) };
        let shown = terms::flat(&text);
        let positions = Matcher::new(&parsed).positions(&shown);
        let snippet = snippet::snippet_around(&shown, &positions, |_| 1);
        let mut last = 0;
        for mark in &snippet.marks {
            prop_assert!(mark.start >= last && mark.start < mark.end);
            prop_assert!(snippet.text.get(mark.clone()).is_some());
            last = mark.end;
        }
    }
}

#[track_caller]
fn check(parsed: &str, found: &[&str], missed: &[&str]) {
    let parsed = ParsedQuery::parse(parsed).unwrap();
    for (texts, is_found) in [(found, true), (missed, false)] {
        for text in texts {
            let has_terms = parsed.index_query(Required::All).is_in(&indexed(text));
            assert_eq!(finds(&parsed, text) && has_terms, is_found, "{text}");
        }
    }
}

#[test]
fn all_words_must_be_there_in_any_order_case_and_form() {
    check("login PAGES", &["The page for the Login"], &["The login is done"]);
    check("failing", &["it failed", "FAILS", "fail"], &["a failure"]);
    check("what about the cookie", &["a cookie"], &["what about the"]);
}

#[test]
fn a_word_is_found_in_identifiers_and_inside_no_other_word() {
    check("log", &["last_log", "readLog", "a/log.rs"], &["the login"]);
    check("log*", &["the login", "logIn"], &["a blog"]);
    check("getusername", &["getUserName()", "getusername"], &["get user name"]);
    check("getUserName", &["GETUSERNAME", "a.getUserName", "old_getUserName_x"], &["user name"]);
}

#[test]
fn a_phrase_and_a_name_match_literally() {
    check("\"login page\"", &["the Login\n   page"], &["page login", "login pages"]);
    check("\"failed\"", &["it failed"], &["it fails"]);
    check("\"to be\"", &["to be or not"], &["be to"]);
    check("\"unclosed phrase", &["an unclosed phrase"], &[]);
    check("src/main.rs", &["see (src/main.rs).", "/x/src/main.rs:12"], &["main.rs is not in src"]);
    check("max_tokens", &["max_tokens=5", "the_max_tokens"], &["max tokens"]);
}

#[test]
fn chinese_and_japanese_words_are_found_inside_a_text() {
    check("数据", &["这是数据库。"], &["据数"]);
    check("据", &["这是数据库。"], &["数"]);
    check("タワ", &["東京タワー"], &["東京"]);
}

/// Returns the snippet with its matches in brackets.
fn show(parsed: &str, text: &str) -> String {
    let parsed = ParsedQuery::parse(parsed).unwrap();
    let text = terms::flat(text);
    let snippet = snippet::snippet_around(&text, &Matcher::new(&parsed).positions(&text), |_| 1);
    let mut shown = String::new();
    let mut last = 0;
    for mark in &snippet.marks {
        shown += &snippet.text[last..mark.start];
        shown += &format!("[{}]", &snippet.text[mark.clone()]);
        last = mark.end;
    }
    shown + &snippet.text[last..]
}

#[test]
fn a_snippet_is_where_most_words_are_close_together() {
    assert_eq!(show("page login", "The Login\npages."), "The [Login] [pages].");
    let far = format!("cookie {} the cookie of a session", "word ".repeat(100));
    assert!(show("session cookie", &far).contains("the [cookie] of a [session]"));
    assert_eq!(show("İs lo*", "İs Löw lower"), "[İs] Löw [lo]wer");
}
