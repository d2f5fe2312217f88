//! Searches cover all sessions, work in every script and with filters, and are always up to date.

use tertulia_session::{Entry, Timestamp};
use tertulia_store::{Append, Hit, Matching, SearchQuery, SessionStore};

use crate::notation::{append, filled, id, link, recall, said, said_by, task};
use crate::test_stores::TestStore;

super::contract_tests! {
    words_are_found_in_all_sessions
    new_entries_are_found_at_once
    a_recalled_text_is_found_only_where_it_was_said
    chinese_and_japanese_words_are_found
    phrases_and_prefixes_are_found
    a_word_is_found_in_all_its_forms_and_in_identifiers
    common_words_count_only_alone_or_in_quotes
    if_no_entry_has_all_words_the_most_significant_ones_are_found
    a_question_finds_entries_with_most_of_its_words
    a_session_can_be_excluded
    the_words_of_a_hit_explain_its_score
    a_redacted_word_is_not_counted
    hits_are_filtered
    the_better_hit_comes_first
    a_snippet_shows_the_match
    hostile_queries_are_harmless
    an_empty_query_finds_nothing
}

fn query(text: &str) -> SearchQuery {
    SearchQuery { text: text.to_owned(), ..SearchQuery::default() }
}

/// Returns the session and the entry of every hit.
fn hits(store: &SessionStore, query: &SearchQuery) -> Vec<String> {
    let shown = |hit: Hit| format!("{}/{}", hit.session, hit.entry_id);
    store.search(query).unwrap().hits.into_iter().map(shown).collect()
}

fn find(store: &SessionStore, text: &str) -> Vec<String> {
    let mut found = hits(store, &query(text));
    found.sort();
    found
}

fn words_are_found_in_all_sessions(fixture: &TestStore) {
    filled(&fixture.store, "a", vec![link(1, "The login page"), link(2, "Nothing")]);
    filled(&fixture.store, "b", vec![task("t", None, "Design the Login page"), link(1, "page")]);
    let store = fixture.reopen();
    assert_eq!(find(&store, "LOGIN page"), ["a/e1", "b/t"]);
    assert_eq!(find(&store, "page"), ["a/e1", "b/e1", "b/t"]);
    assert_eq!(find(&store, "absent"), Vec::<String>::new());
}

fn new_entries_are_found_at_once(fixture: &TestStore) {
    let session = filled(&fixture.store, "a", vec![link(1, "one")]);
    for number in 2..30 {
        let text = format!("needle{number}");
        fixture.store.append(&session, Append::new([link(number, &text)])).unwrap();
        assert_eq!(find(&fixture.store, &text), [format!("a/e{number}")]);
    }
}

fn a_recalled_text_is_found_only_where_it_was_said(fixture: &TestStore) {
    let entries = vec![link(1, "the zebra"), recall("c", "e1", &["e1"], "the zebra again")];
    filled(&fixture.store, "a", entries);
    assert_eq!(find(&fixture.reopen(), "zebra"), ["a/e1"]);
    let of_type = SearchQuery { type_name: Some("recall".to_owned()), ..query("zebra") };
    assert_eq!(hits(&fixture.store, &of_type), Vec::<String>::new());
}

fn chinese_and_japanese_words_are_found(fixture: &TestStore) {
    let entries = vec![
        link(1, "我们需要一个数据库。"),
        link(2, "東京タワーに行きました"),
        link(3, "用React写的"),
    ];
    filled(&fixture.store, "a", entries);
    let store = fixture.reopen();
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

fn phrases_and_prefixes_are_found(fixture: &TestStore) {
    filled(&fixture.store, "a", vec![link(1, "see src/main.rs"), link(2, "main src rs maintain")]);
    let store = fixture.reopen();
    assert_eq!(find(&store, "src/main.rs"), ["a/e1"]);
    assert_eq!(find(&store, "\"main src\""), ["a/e2"]);
    assert_eq!(find(&store, "maint*"), ["a/e2"]);
    assert_eq!(find(&store, "main*"), ["a/e1", "a/e2"]);
}

fn a_word_is_found_in_all_its_forms_and_in_identifiers(fixture: &TestStore) {
    let entries = vec![
        link(1, "The tests failed."),
        link(2, "It keeps failing"),
        link(3, "call getUserName in src/user_page.rs"),
        link(4, "a failure of others"),
    ];
    filled(&fixture.store, "a", entries);
    let store = fixture.reopen();
    assert_eq!(find(&store, "fails"), ["a/e1", "a/e2"]);
    assert_eq!(find(&store, "\"failed\""), ["a/e1"]);
    assert_eq!(find(&store, "failin*"), ["a/e2"]);
    for asked in ["user", "getusername", "getUserName", "pages", "user_page.rs", "src/user_page.rs"]
    {
        assert_eq!(find(&store, asked), ["a/e3"], "{asked}");
    }
}

fn common_words_count_only_alone_or_in_quotes(fixture: &TestStore) {
    let entries =
        vec![link(1, "what about the cookie"), link(2, "Cookie"), link(3, "what about it")];
    filled(&fixture.store, "a", entries);
    let store = fixture.reopen();
    assert_eq!(find(&store, "what about a cookie"), ["a/e1", "a/e2"]);
    assert_eq!(find(&store, "what about"), ["a/e1", "a/e3"]);
    assert_eq!(find(&store, "\"about the\" cookie"), ["a/e1"]);
    let result = store.search(&query("what about the cookie")).unwrap();
    assert_eq!(result.ignored.join(" "), "what about the");
}

fn if_no_entry_has_all_words_the_most_significant_ones_are_found(fixture: &TestStore) {
    let mut entries: Vec<Entry> = (1..40).map(|number| link(number, "the page of today")).collect();
    entries.push(link(40, "the ticket page"));
    filled(&fixture.store, "a", entries);
    let store = fixture.reopen();
    let result = store.search(&query("ticket page zebra")).unwrap();
    assert!(result.is_partial);
    assert_eq!(hits(&store, &query("ticket page zebra")), ["a/e40"]);
    assert!(!store.search(&query("ticket page")).unwrap().is_partial);
    assert_eq!(find(&store, "ticket \"no such words\""), Vec::<String>::new());
    assert_eq!(find(&store, "zebra"), Vec::<String>::new());
}

fn a_question_finds_entries_with_most_of_its_words(fixture: &TestStore) {
    let entries = vec![
        link(1, "We decided that the session cookie is called sid."),
        link(2, "The session ends at noon, the session of today."),
        link(3, "Which name shall the dog have?"),
    ];
    filled(&fixture.store, "a", entries);
    let asked = query("How did we decide to name the session cookie?");
    let asked = SearchQuery { matching: Matching::BestWords, ..asked };
    assert_eq!(hits(&fixture.reopen(), &asked), ["a/e1"]);
    let common = SearchQuery { matching: Matching::BestWords, ..query("which of the") };
    assert_eq!(hits(&fixture.store, &common), Vec::<String>::new());
}

fn a_session_can_be_excluded(fixture: &TestStore) {
    filled(&fixture.store, "a", vec![link(1, "needle")]);
    filled(&fixture.store, "b", vec![link(1, "needle")]);
    let but_a = SearchQuery { except_session: Some(id("a")), ..query("needle") };
    assert_eq!(hits(&fixture.reopen(), &but_a), ["b/e1"]);
}

fn the_words_of_a_hit_explain_its_score(fixture: &TestStore) {
    let entries = vec![
        link(1, "failing in src/main.rs, it failed"),
        link(2, "all is well"),
        link(3, "it failed"),
    ];
    filled(&fixture.store, "a", entries);
    let hits = fixture.reopen().search(&query("fail src/main.rs ma*")).unwrap().hits;
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

fn a_redacted_word_is_not_counted(fixture: &TestStore) {
    let session = filled(&fixture.store, "a", vec![link(1, "needle one"), link(2, "needle two")]);
    let count = |store: &SessionStore| {
        let hits = store.search(&query("needle")).unwrap().hits;
        (hits.len(), hits[0].matches[0].entries)
    };
    assert_eq!(count(&fixture.store), (2, Some(2)));
    fixture.store.redact(&session, &"e1".into(), None).unwrap();
    assert_eq!(count(&fixture.reopen()), (1, Some(1)));
}

fn hits_are_filtered(fixture: &TestStore) {
    let at =
        |entry: Entry, millis| Entry { timestamp: Some(Timestamp::from_millis(millis)), ..entry };
    let entries = vec![
        at(said_by("ann", "m1", None, "word"), 10),
        at(said_by("max", "m2", Some("m1"), "word"), 20),
        at(task("t", Some("m2"), "word"), 30),
        Entry { timestamp: None, ..said_by("max", "m3", Some("t"), "word") },
    ];
    filled(&fixture.store, "a", entries);
    filled(&fixture.store, "b", vec![said("x", None, "word")]);
    let store = fixture.reopen();
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

fn the_better_hit_comes_first(fixture: &TestStore) {
    let entries = vec![
        link(1, &format!("cache {}", "and other words ".repeat(200))),
        link(2, "the cache of the cache"),
        link(3, "a cache"),
        link(4, "a cache"),
    ];
    filled(&fixture.store, "a", entries);
    // These entries have the same words and the same time, so the later entry comes first.
    assert_eq!(hits(&fixture.reopen(), &query("cache")), ["a/e2", "a/e4", "a/e3", "a/e1"]);
}

fn a_snippet_shows_the_match(fixture: &TestStore) {
    filled(&fixture.store, "a", vec![link(1, "Shall we\nship the Needle today?")]);
    let hit = fixture.reopen().search(&query("needle")).unwrap().hits.remove(0);
    assert_eq!(hit.snippet.text, "Shall we ship the Needle today?");
    assert_eq!(&hit.snippet.text[hit.snippet.marks[0].clone()], "Needle");
    assert_eq!(hit.speaker.as_deref(), Some("ann"));
    assert_eq!(&*hit.type_name, "message");
}

fn hostile_queries_are_harmless(fixture: &TestStore) {
    let session = filled(&fixture.store, "a", vec![link(1, "plain words and or not near")]);
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
        fixture.store.search(&query(text)).unwrap();
        let filtered = SearchQuery {
            speaker: Some(text.to_owned()),
            type_name: Some(text.to_owned()),
            ..query("words")
        };
        assert_eq!(fixture.store.search(&filtered).unwrap().hits.len(), 0, "{text}");
    }
    assert_eq!(find(&fixture.store, "and or not near"), ["a/e1"]);
    append(&fixture.store, &session, vec![link(2, "still here")]);
    assert_eq!(fixture.reopen().check().unwrap(), Vec::<String>::new());
}

fn an_empty_query_finds_nothing(fixture: &TestStore) {
    filled(&fixture.store, "a", vec![link(1, "words")]);
    for text in ["", "  ", "***", "\"\"", "?!"] {
        assert_eq!(find(&fixture.store, text), Vec::<String>::new(), "{text}");
    }
}
