//! Sessions are listed with filters, and a deleted session is gone from every list.

use tertulia_session::Timestamp;
use tertulia_store::{Import, ListFilter, NewSession, Range, SearchQuery, SessionStore};

use crate::notation::{append, chain, filled, id, link, redaction, said, task};
use crate::test_stores::TestStore;

super::contract_tests! {
    sessions_are_listed_most_recently_changed_first
    a_list_is_filtered_by_name_and_time
    a_title_is_the_first_readable_message
    a_deleted_session_is_gone_and_its_name_free
    an_import_is_hidden_until_it_is_finished
    a_dropped_import_leaves_nothing
    an_empty_import_is_a_session_without_entries
}

fn names(store: &SessionStore, filter: &ListFilter) -> Vec<String> {
    store.list(filter).unwrap().into_iter().map(|session| session.id.to_string()).collect()
}

fn sessions_are_listed_most_recently_changed_first(fixture: &TestStore) {
    for name in ["a", "b", "c"] {
        fixture.store.create(&NewSession { id: Some(id(name)) }).unwrap();
    }
    std::thread::sleep(std::time::Duration::from_millis(5));
    append(&fixture.store, &id("b"), vec![task("t", None, "Ship it")]);
    let listed = names(&fixture.reopen(), &ListFilter::default());
    assert_eq!(listed[0], "b");
    assert_eq!(listed.len(), 3);
    let filter = ListFilter { limit: Some(1), ..ListFilter::default() };
    assert_eq!(names(&fixture.store, &filter), ["b"]);
}

fn a_list_is_filtered_by_name_and_time(fixture: &TestStore) {
    for name in ["log-1", "log-2", "other"] {
        filled(&fixture.store, name, chain(1));
    }
    let filter = |id_prefix: &str| ListFilter {
        id_prefix: Some(id_prefix.to_owned()),
        ..ListFilter::default()
    };
    let mut listed = names(&fixture.store, &filter("log-"));
    listed.sort();
    assert_eq!(listed, ["log-1", "log-2"]);
    assert_eq!(names(&fixture.store, &filter("%")), Vec::<String>::new());
    let since =
        ListFilter { since: Some(Timestamp::from_millis(i64::MAX)), ..ListFilter::default() };
    assert_eq!(names(&fixture.store, &since), Vec::<String>::new());
    let until = ListFilter { until: Some(Timestamp::from_millis(0)), ..ListFilter::default() };
    assert_eq!(names(&fixture.store, &until), Vec::<String>::new());
}

fn a_title_is_the_first_readable_message(fixture: &TestStore) {
    let title = |store: &SessionStore| store.info(&id("talk")).unwrap().title;
    let session = filled(&fixture.store, "talk", vec![task("t", None, "a task")]);
    assert_eq!(title(&fixture.store), None);
    append(&fixture.store, &session, vec![said("a", Some("t"), "\n  The secret plan\nof ann")]);
    append(&fixture.store, &session, vec![said("b", Some("a"), &"long ".repeat(100))]);
    assert_eq!(title(&fixture.reopen()).as_deref(), Some("The secret plan"));
    append(&fixture.store, &session, vec![redaction("r", Some("b"), "a")]);
    let shown = title(&fixture.reopen()).unwrap();
    assert!(shown.starts_with("long long") && shown.ends_with('…'), "{shown}");
}

fn a_deleted_session_is_gone_and_its_name_free(fixture: &TestStore) {
    let session = filled(&fixture.store, "talk", chain(1500));
    filled(&fixture.store, "other", vec![link(1, "text here too")]);
    let query = SearchQuery { text: "text".to_owned(), ..SearchQuery::default() };
    assert!(fixture.store.search(&query).unwrap().hits.len() > 1);
    fixture.store.delete(&session).unwrap();
    let store = fixture.reopen();
    assert!(!store.has(&session).unwrap());
    assert_eq!(store.search(&query).unwrap().hits.len(), 1);
    filled(&fixture.store, "talk", chain(2));
    assert_eq!(store.load(&session, &Range::All).unwrap().len(), 2);
    assert_eq!(store.check().unwrap(), Vec::<String>::new());
}

fn an_import_is_hidden_until_it_is_finished(fixture: &TestStore) {
    let mut import = Import::begin(&fixture.store).unwrap();
    for entry in chain(2500) {
        import.push(entry).unwrap();
    }
    let query = SearchQuery { text: "text".to_owned(), ..SearchQuery::default() };
    assert_eq!(fixture.reopen().search(&query).unwrap().hits.len(), 0);
    assert_eq!(names(&fixture.reopen(), &ListFilter::default()), Vec::<String>::new());
    let session = import.finish(&NewSession { id: Some(id("talk")) }).unwrap();
    assert_eq!(session.entries, 2500);
    assert_eq!(names(&fixture.reopen(), &ListFilter::default()), ["talk"]);
    assert_eq!(fixture.reopen().search(&query).unwrap().hits.len(), 20);
}

fn a_dropped_import_leaves_nothing(fixture: &TestStore) {
    let mut import = Import::begin(&fixture.store).unwrap();
    for entry in chain(1500) {
        import.push(entry).unwrap();
    }
    import.push(said("x", Some("nowhere"), "")).unwrap();
    assert!(import.finish(&NewSession { id: Some(id("talk")) }).is_err());
    assert!(!fixture.reopen().has(&id("talk")).unwrap());
    assert_eq!(names(&fixture.reopen(), &ListFilter::default()), Vec::<String>::new());
}

fn an_empty_import_is_a_session_without_entries(fixture: &TestStore) {
    let session = filled(&fixture.store, "talk", Vec::new());
    let store = fixture.reopen();
    assert_eq!(store.load(&session, &Range::Tail(5)).unwrap(), []);
    let branch = Range::Branch { tail: None, limit: None };
    assert_eq!(store.load(&session, &branch).unwrap(), []);
    assert_eq!(store.verify(&session).unwrap().entries, 0);
}
