//! Search: over all sessions, in every script, with filters, and never behind.

use tertulia_session::{Entry, Timestamp};
use tertulia_store::{Append, Hit, Matching, SearchQuery, SessionStore};

use crate::notation::{append, filled, id, link, recall, said, said_by, task};
use crate::places::Place;

super::promises! {
    words_are_found_in_all_sessions
    what_was_just_appended_is_found
    a_recalled_text_is_found_only_where_it_was_said
    chinese_and_japanese_words_are_found
    phrases_and_beginnings_are_found
    a_word_is_found_in_all_its_forms_and_in_identifiers
    common_words_count_only_alone_or_in_quotes
    where_nothing_has_all_words_the_most_telling_ones_are_found
    a_question_finds_what_has_most_of_its_words
    a_session_can_be_left_out
    the_words_of_a_hit_explain_its_score
    a_redacted_word_is_counted_nowhere
    hits_are_filtered
    the_better_hit_comes_first
    a_snippet_shows_what_was_found
    hostile_questions_are_harmless
    a_question_for_nothing_finds_nothing
}

fn query(text: &str) -> SearchQuery {
    SearchQuery { text: text.to_owned(), ..SearchQuery::default() }
}

/// Session and entry of every hit.
fn hits(store: &SessionStore, query: &SearchQuery) -> Vec<String> {
    let shown = |hit: Hit| format!("{}/{}", hit.session, hit.entry_id);
    store.search(query).unwrap().hits.into_iter().map(shown).collect()
}

fn find(store: &SessionStore, text: &str) -> Vec<String> {
    let mut found = hits(store, &query(text));
    found.sort();
    found
}

fn words_are_found_in_all_sessions(place: &Place) {
    filled(&place.store, "a", vec![link(1, "The login page"), link(2, "Nothing")]);
    filled(&place.store, "b", vec![task("t", None, "Design the Login page"), link(1, "page")]);
    let store = place.again();
    assert_eq!(find(&store, "LOGIN page"), ["a/e1", "b/t"]);
    assert_eq!(find(&store, "page"), ["a/e1", "b/e1", "b/t"]);
    assert_eq!(find(&store, "absent"), Vec::<String>::new());
}

fn what_was_just_appended_is_found(place: &Place) {
    let session = filled(&place.store, "a", vec![link(1, "one")]);
    for number in 2..30 {
        let text = format!("needle{number}");
        place.store.append(&session, Append::new([link(number, &text)])).unwrap();
        assert_eq!(find(&place.store, &text), [format!("a/e{number}")]);
    }
}

fn a_recalled_text_is_found_only_where_it_was_said(place: &Place) {
    let entries = vec![link(1, "the zebra"), recall("c", "e1", &["e1"], "the zebra again")];
    filled(&place.store, "a", entries);
    assert_eq!(find(&place.again(), "zebra"), ["a/e1"]);
    let of_type = SearchQuery { type_name: Some("recall".to_owned()), ..query("zebra") };
    assert_eq!(hits(&place.store, &of_type), Vec::<String>::new());
}

fn chinese_and_japanese_words_are_found(place: &Place) {
    let entries = vec![
        link(1, "我们需要一个数据库。"),
        link(2, "東京タワーに行きました"),
        link(3, "用React写的"),
    ];
    filled(&place.store, "a", entries);
    let store = place.again();
    for (text, entry) in [
        ("数据", "a/e1"),
        ("数据库", "a/e1"),
        ("库", "a/e1"),
        ("东京", ""),
        ("東京", "a/e2"),
        ("タワー", "a/e2"),
        ("react", "a/e3"),
        ("写", "a/e3"),
        ("据数", ""),
    ] {
        let expected: Vec<&str> =
            Some(entry).filter(|entry| !entry.is_empty()).into_iter().collect();
        assert_eq!(find(&store, text), expected, "{text}");
    }
}

fn phrases_and_beginnings_are_found(place: &Place) {
    filled(&place.store, "a", vec![link(1, "see src/main.rs"), link(2, "main src rs maintain")]);
    let store = place.again();
    assert_eq!(find(&store, "src/main.rs"), ["a/e1"]);
    assert_eq!(find(&store, "\"main src\""), ["a/e2"]);
    assert_eq!(find(&store, "maint*"), ["a/e2"]);
    assert_eq!(find(&store, "main*"), ["a/e1", "a/e2"]);
}

fn a_word_is_found_in_all_its_forms_and_in_identifiers(place: &Place) {
    let entries = vec![
        link(1, "The tests failed."),
        link(2, "It keeps failing"),
        link(3, "call getUserName in src/user_page.rs"),
        link(4, "a failure of others"),
    ];
    filled(&place.store, "a", entries);
    let store = place.again();
    assert_eq!(find(&store, "fails"), ["a/e1", "a/e2"]);
    assert_eq!(find(&store, "\"failed\""), ["a/e1"]);
    assert_eq!(find(&store, "failin*"), ["a/e2"]);
    for asked in ["user", "getusername", "getUserName", "pages", "user_page.rs", "src/user_page.rs"]
    {
        assert_eq!(find(&store, asked), ["a/e3"], "{asked}");
    }
}

fn common_words_count_only_alone_or_in_quotes(place: &Place) {
    let entries =
        vec![link(1, "what about the cookie"), link(2, "Cookie"), link(3, "what about it")];
    filled(&place.store, "a", entries);
    let store = place.again();
    assert_eq!(find(&store, "what about a cookie"), ["a/e1", "a/e2"]);
    assert_eq!(find(&store, "what about"), ["a/e1", "a/e3"]);
    assert_eq!(find(&store, "\"about the\" cookie"), ["a/e1"]);
    let result = store.search(&query("what about the cookie")).unwrap();
    assert_eq!(result.ignored.join(" "), "what about the");
}

fn where_nothing_has_all_words_the_most_telling_ones_are_found(place: &Place) {
    let mut entries: Vec<Entry> = (1..40).map(|number| link(number, "the page of today")).collect();
    entries.push(link(40, "the ledger page"));
    filled(&place.store, "a", entries);
    let store = place.again();
    let result = store.search(&query("ledger page zebra")).unwrap();
    assert!(result.is_partial);
    assert_eq!(hits(&store, &query("ledger page zebra")), ["a/e40"]);
    assert!(!store.search(&query("ledger page")).unwrap().is_partial);
    assert_eq!(find(&store, "ledger \"no such words\""), Vec::<String>::new());
    assert_eq!(find(&store, "zebra"), Vec::<String>::new());
}

fn a_question_finds_what_has_most_of_its_words(place: &Place) {
    let entries = vec![
        link(1, "We decided that the session cookie is called sid."),
        link(2, "The session ends at noon, the session of today."),
        link(3, "Which name shall the dog have?"),
    ];
    filled(&place.store, "a", entries);
    let asked = query("How did we decide to name the session cookie?");
    let asked = SearchQuery { matching: Matching::BestWords, ..asked };
    assert_eq!(hits(&place.again(), &asked), ["a/e1"]);
    let common = SearchQuery { matching: Matching::BestWords, ..query("which of the") };
    assert_eq!(hits(&place.store, &common), Vec::<String>::new());
}

fn a_session_can_be_left_out(place: &Place) {
    filled(&place.store, "a", vec![link(1, "needle")]);
    filled(&place.store, "b", vec![link(1, "needle")]);
    let but_a = SearchQuery { except_session: Some(id("a")), ..query("needle") };
    assert_eq!(hits(&place.again(), &but_a), ["b/e1"]);
}

fn the_words_of_a_hit_explain_its_score(place: &Place) {
    let entries = vec![
        link(1, "failing in src/main.rs, it failed"),
        link(2, "all is well"),
        link(3, "it failed"),
    ];
    filled(&place.store, "a", entries);
    let hits = place.again().search(&query("fail src/main.rs ma*")).unwrap().hits;
    let shown: Vec<String> = hits[0]
        .matches
        .iter()
        .map(|one| {
            format!("{}={} {:?} {}/{:?}", one.asked, one.found, one.kind, one.times, one.entries)
        })
        .collect();
    assert_eq!(
        shown,
        [
            "fail=failing Word 2/Some(2)",
            "src=src Word 1/Some(1)",
            "main=main Word 1/Some(1)",
            "rs=rs Word 1/Some(1)",
            "src/main.rs=src/main.rs Path 1/Some(1)",
            "main.rs=main.rs Path 1/Some(1)",
            "ma=ma Word 1/None",
        ]
    );
    for hit in hits {
        assert_eq!(hit.matches.iter().map(|one| one.score).sum::<u64>(), hit.score);
    }
}

fn a_redacted_word_is_counted_nowhere(place: &Place) {
    let session = filled(&place.store, "a", vec![link(1, "needle one"), link(2, "needle two")]);
    let count = |store: &SessionStore| {
        let hits = store.search(&query("needle")).unwrap().hits;
        (hits.len(), hits[0].matches[0].entries)
    };
    assert_eq!(count(&place.store), (2, Some(2)));
    place.store.redact(&session, &"e1".into(), None).unwrap();
    assert_eq!(count(&place.again()), (1, Some(1)));
}

fn hits_are_filtered(place: &Place) {
    let at =
        |entry: Entry, millis| Entry { timestamp: Some(Timestamp::from_millis(millis)), ..entry };
    let entries = vec![
        at(said_by("ann", "m1", None, "word"), 10),
        at(said_by("max", "m2", Some("m1"), "word"), 20),
        at(task("t", Some("m2"), "word"), 30),
        Entry { timestamp: None, ..said_by("max", "m3", Some("t"), "word") },
    ];
    filled(&place.store, "a", entries);
    filled(&place.store, "b", vec![said("x", None, "word")]);
    let store = place.again();
    let find = |change: fn(&mut SearchQuery)| {
        let mut query = query("word");
        change(&mut query);
        let mut found = hits(&store, &query);
        found.sort();
        found.join(" ")
    };
    assert_eq!(find(|query| query.session = Some(id("b"))), "b/x");
    assert_eq!(find(|query| query.speaker = Some("max".to_owned())), "a/m2 a/m3");
    assert_eq!(find(|query| query.type_name = Some("team_task".to_owned())), "a/t");
    assert_eq!(find(|query| query.since = Some(Timestamp::from_millis(20))), "a/m2 a/t b/x");
    assert_eq!(find(|query| query.until = Some(Timestamp::from_millis(20))), "a/m1");
    assert_eq!(find(|query| query.limit = Some(0)), "");
    let nowhere = SearchQuery { session: Some(id("gone")), ..query("word") };
    assert_eq!(store.search(&nowhere).unwrap_err().code(), "SessionNotFound");
}

fn the_better_hit_comes_first(place: &Place) {
    let entries = vec![
        link(1, &format!("cache {}", "and other words ".repeat(200))),
        link(2, "the cache of the cache"),
        link(3, "a cache"),
        link(4, "a cache"),
    ];
    filled(&place.store, "a", entries);
    // The same words at the same time: the later entry first.
    assert_eq!(hits(&place.again(), &query("cache")), ["a/e2", "a/e4", "a/e3", "a/e1"]);
}

fn a_snippet_shows_what_was_found(place: &Place) {
    filled(&place.store, "a", vec![link(1, "Shall we\nship the Needle today?")]);
    let hit = place.again().search(&query("needle")).unwrap().hits.remove(0);
    assert_eq!(hit.snippet.text, "Shall we ship the Needle today?");
    assert_eq!(&hit.snippet.text[hit.snippet.marks[0].clone()], "Needle");
    assert_eq!(hit.speaker.as_deref(), Some("ann"));
    assert_eq!(&*hit.type_name, "message");
}

fn hostile_questions_are_harmless(place: &Place) {
    let session = filled(&place.store, "a", vec![link(1, "plain words and or not near")]);
    for text in [
        "words' OR 1=1 --",
        "\"words\" OR \"x",
        "words) UNION SELECT",
        "terms:words",
        "words AND NOT plain",
        "words NEAR plain",
        "* ^words -words +words",
        "words:*|!&<->",
        "'words' & 'x",
        "\0words\0",
        "words\\",
    ] {
        place.store.search(&query(text)).unwrap();
        let filtered = SearchQuery {
            speaker: Some(text.to_owned()),
            type_name: Some(text.to_owned()),
            ..query("words")
        };
        assert_eq!(place.store.search(&filtered).unwrap().hits.len(), 0, "{text}");
    }
    assert_eq!(find(&place.store, "and or not near"), ["a/e1"]);
    append(&place.store, &session, vec![link(2, "still here")]);
    assert_eq!(place.again().check().unwrap(), Vec::<String>::new());
}

fn a_question_for_nothing_finds_nothing(place: &Place) {
    filled(&place.store, "a", vec![link(1, "words")]);
    for text in ["", "  ", "***", "\"\"", "?!"] {
        assert_eq!(find(&place.store, text), Vec::<String>::new(), "{text}");
    }
}
