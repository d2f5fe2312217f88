//! What questions find in texts, and that an index finds it too.

use proptest::prelude::*;

use super::*;

/// Letters of several scripts, marks, blanks, and characters that change their length in lower case.
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

fn finds(question: &Question, text: &str) -> bool {
    Matcher::new(question).counts(text, Needs::All).is_some()
}

fn weights(question: &Question) -> Weights {
    let with_terms = (1..).step_by(7).take(question.ranked.len()).collect();
    Weights::new(question, &Frequencies { entries: 1_000, with_terms })
}

proptest! {
    #[test]
    fn whatever_a_question_finds_its_terms_are_in_the_index(text in text(), asked in text()) {
        let Some(question) = Question::read(&asked) else { return Ok(()) };
        if finds(&question, &text) {
            let wanted = question.wanted(Needs::All);
            prop_assert!(wanted.is_in(&indexed(&text)), "{:?}", question);
        }
    }

    #[test]
    fn a_text_is_found_by_every_word_of_it(text in text()) {
        for word in text.split_whitespace().filter(|word| !word.contains(['"', '*'])) {
            let Some(question) = Question::read(word) else { continue };
            prop_assert!(finds(&question, &text), "{:?}", word);
            prop_assert!(question.wanted(Needs::All).is_in(&indexed(&text)), "{:?}", word);
        }
    }

    #[test]
    fn a_text_is_found_by_every_beginning_of_its_words(word in "[a-zA-Z]{2,9}(ing|ed|ies|s|ly)?", end in 1..9_usize) {
        let beginning = word.get(..end).unwrap_or(&word);
        let question = Question::read(&format!("{beginning}*")).unwrap();
        prop_assert!(finds(&question, &word), "{beginning}");
        prop_assert!(question.wanted(Needs::All).is_in(&indexed(&word)), "{beginning}");
    }

    #[test]
    fn the_scores_of_the_words_add_up_to_that_of_the_text(text in text(), asked in text()) {
        let Some(question) = Question::read(&asked) else { return Ok(()) };
        let Some(counts) = Matcher::new(&question).counts(&text, Needs::Quoted) else { return Ok(()) };
        let weights = weights(&question);
        let matches = weights.explained(&question, &counts, |_| "".into());
        let sum: u64 = matches.iter().map(|one| one.score).sum();
        prop_assert_eq!(sum, weights.score(&counts));
    }

    #[test]
    fn a_snippet_marks_what_it_shows(text in text(), asked in text()) {
        let Some(question) = Question::read(&asked) else { return Ok(()) };
        let shown = terms::flat(&text);
        let places = Matcher::new(&question).places(&shown);
        let snippet = snippet::around(&shown, &places, |_| 1);
        let mut last = 0;
        for mark in &snippet.marks {
            prop_assert!(mark.start >= last && mark.start < mark.end);
            prop_assert!(snippet.text.get(mark.clone()).is_some());
            last = mark.end;
        }
    }
}

#[track_caller]
fn check(question: &str, found: &[&str], missed: &[&str]) {
    let question = Question::read(question).unwrap();
    for (texts, is_found) in [(found, true), (missed, false)] {
        for text in texts {
            let has_terms = question.wanted(Needs::All).is_in(&indexed(text));
            assert_eq!(finds(&question, text) && has_terms, is_found, "{text}");
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
fn a_phrase_and_a_name_stand_as_they_are() {
    check("\"login page\"", &["the Login\n   page"], &["page login", "login pages"]);
    check("\"failed\"", &["it failed"], &["it fails"]);
    check("\"to be\"", &["to be or not"], &["be to"]);
    check("\"unclosed phrase", &["an unclosed phrase"], &[]);
    check("src/main.rs", &["see (src/main.rs).", "/x/src/main.rs:12"], &["main.rs is not in src"]);
    check("max_tokens", &["max_tokens=5", "the_max_tokens"], &["max tokens"]);
}

#[test]
fn chinese_and_japanese_words_are_found_in_the_midst() {
    check("数据", &["这是数据库。"], &["据数"]);
    check("据", &["这是数据库。"], &["数"]);
    check("タワ", &["東京タワー"], &["東京"]);
}

/// The snippet with its marks in brackets.
fn show(question: &str, text: &str) -> String {
    let question = Question::read(question).unwrap();
    let text = terms::flat(text);
    let snippet = snippet::around(&text, &Matcher::new(&question).places(&text), |_| 1);
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
fn a_snippet_is_where_most_words_stand_together() {
    assert_eq!(show("page login", "The Login\npages."), "The [Login] [pages].");
    let far = format!("cookie {} the cookie of a session", "word ".repeat(100));
    assert!(show("session cookie", &far).contains("the [cookie] of a [session]"));
    assert_eq!(show("İs lo*", "İs Löw lower"), "[İs] Löw [lo]wer");
}
