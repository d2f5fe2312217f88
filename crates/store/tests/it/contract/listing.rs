//! Lists and deletion.

use tertulia_session::Timestamp;
use tertulia_store::{Import, ListFilter, NewSession, Range, SearchQuery, SessionStore};

use crate::notation::{append, chain, filled, id, link, redaction, said, task};
use crate::places::Place;

super::promises! {
    sessions_are_listed_the_last_changed_first
    a_list_is_filtered_by_name_and_time
    a_title_is_the_first_message_that_can_be_seen
    a_deleted_session_is_gone_and_its_name_free
    an_import_is_not_seen_before_it_is_whole
    a_dropped_import_leaves_nothing_behind
    an_empty_import_is_a_session_without_entries
}

fn names(store: &SessionStore, filter: &ListFilter) -> Vec<String> {
    store.list(filter).unwrap().into_iter().map(|session| session.id.to_string()).collect()
}

fn sessions_are_listed_the_last_changed_first(place: &Place) {
    for name in ["a", "b", "c"] {
        place.store.create(&NewSession { id: Some(id(name)) }).unwrap();
    }
    std::thread::sleep(std::time::Duration::from_millis(5));
    append(&place.store, &id("b"), vec![task("t", None, "Ship it")]);
    let listed = names(&place.again(), &ListFilter::default());
    assert_eq!(listed[0], "b");
    assert_eq!(listed.len(), 3);
    let filter = ListFilter { limit: Some(1), ..ListFilter::default() };
    assert_eq!(names(&place.store, &filter), ["b"]);
}

fn a_list_is_filtered_by_name_and_time(place: &Place) {
    for name in ["log-1", "log-2", "other"] {
        filled(&place.store, name, chain(1));
    }
    let filter = |id_prefix: &str| ListFilter {
        id_prefix: Some(id_prefix.to_owned()),
        ..ListFilter::default()
    };
    let mut listed = names(&place.store, &filter("log-"));
    listed.sort();
    assert_eq!(listed, ["log-1", "log-2"]);
    assert_eq!(names(&place.store, &filter("%")), Vec::<String>::new());
    let since =
        ListFilter { since: Some(Timestamp::from_millis(i64::MAX)), ..ListFilter::default() };
    assert_eq!(names(&place.store, &since), Vec::<String>::new());
    let until = ListFilter { until: Some(Timestamp::from_millis(0)), ..ListFilter::default() };
    assert_eq!(names(&place.store, &until), Vec::<String>::new());
}

fn a_title_is_the_first_message_that_can_be_seen(place: &Place) {
    let title = |store: &SessionStore| store.info(&id("talk")).unwrap().title;
    let session = filled(&place.store, "talk", vec![task("t", None, "a task")]);
    assert_eq!(title(&place.store), None);
    append(&place.store, &session, vec![said("a", Some("t"), "\n  The secret plan\nof ann")]);
    append(&place.store, &session, vec![said("b", Some("a"), &"long ".repeat(100))]);
    assert_eq!(title(&place.again()).as_deref(), Some("The secret plan"));
    append(&place.store, &session, vec![redaction("r", Some("b"), "a")]);
    let shown = title(&place.again()).unwrap();
    assert!(shown.starts_with("long long") && shown.ends_with('…'), "{shown}");
}

fn a_deleted_session_is_gone_and_its_name_free(place: &Place) {
    let session = filled(&place.store, "talk", chain(1500));
    filled(&place.store, "other", vec![link(1, "text here too")]);
    let query = SearchQuery { text: "text".to_owned(), ..SearchQuery::default() };
    assert!(place.store.search(&query).unwrap().hits.len() > 1);
    place.store.delete(&session).unwrap();
    let store = place.again();
    assert!(!store.has(&session).unwrap());
    assert_eq!(store.search(&query).unwrap().hits.len(), 1);
    filled(&place.store, "talk", chain(2));
    assert_eq!(store.load(&session, &Range::All).unwrap().len(), 2);
    assert_eq!(store.check().unwrap(), Vec::<String>::new());
}

fn an_import_is_not_seen_before_it_is_whole(place: &Place) {
    let mut import = Import::begin(&place.store).unwrap();
    for entry in chain(2500) {
        import.push(entry).unwrap();
    }
    let query = SearchQuery { text: "text".to_owned(), ..SearchQuery::default() };
    assert_eq!(place.again().search(&query).unwrap().hits.len(), 0);
    assert_eq!(names(&place.again(), &ListFilter::default()), Vec::<String>::new());
    let session = import.finish(&NewSession { id: Some(id("talk")) }).unwrap();
    assert_eq!(session.entries, 2500);
    assert_eq!(names(&place.again(), &ListFilter::default()), ["talk"]);
    assert_eq!(place.again().search(&query).unwrap().hits.len(), 20);
}

fn a_dropped_import_leaves_nothing_behind(place: &Place) {
    let mut import = Import::begin(&place.store).unwrap();
    for entry in chain(1500) {
        import.push(entry).unwrap();
    }
    import.push(said("x", Some("nowhere"), "")).unwrap();
    assert!(import.finish(&NewSession { id: Some(id("talk")) }).is_err());
    assert!(!place.again().has(&id("talk")).unwrap());
    assert_eq!(names(&place.again(), &ListFilter::default()), Vec::<String>::new());
}

fn an_empty_import_is_a_session_without_entries(place: &Place) {
    let session = filled(&place.store, "talk", Vec::new());
    let store = place.again();
    assert_eq!(store.load(&session, &Range::Tail(5)).unwrap(), []);
    let branch = Range::Branch { tail: None, limit: None };
    assert_eq!(store.load(&session, &branch).unwrap(), []);
    assert_eq!(store.verify(&session).unwrap().entries, 0);
}
