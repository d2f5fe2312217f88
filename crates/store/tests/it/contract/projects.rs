//! The project that a session belongs to: kept beside the log, and what lists and searches are limited to.

use tertulia_store::{Import, ListFilter, NewSession, ProjectScope, SearchQuery, SessionStore};

use crate::notation::{append, chain, filled, id, link};
use crate::places::Place;

super::promises! {
    a_session_belongs_to_the_project_it_was_created_in
    lists_and_counts_are_limited_to_a_project
    a_search_is_limited_to_a_project
    the_project_is_no_part_of_the_chain
    forks_imports_and_copies_keep_the_project
    any_text_can_be_a_project
}

fn of(project: &str) -> ProjectScope {
    ProjectScope::Of(project.to_owned())
}

fn filter(project: ProjectScope) -> ListFilter {
    ListFilter { project, ..ListFilter::default() }
}

fn create(store: &SessionStore, name: &str, project: Option<&str>) {
    store.create_in(&NewSession { id: Some(id(name)) }, project).unwrap();
}

fn listed(store: &SessionStore, project: ProjectScope) -> Vec<String> {
    let sessions = store.list(&filter(project)).unwrap();
    let mut names: Vec<_> = sessions.into_iter().map(|session| session.id.to_string()).collect();
    names.sort();
    names
}

fn a_session_belongs_to_the_project_it_was_created_in(place: &Place) {
    create(&place.store, "a", Some("/a"));
    create(&place.store, "none", None);
    let again = place.again();
    assert_eq!(again.project(&id("a")).unwrap().as_deref(), Some("/a"));
    assert_eq!(again.info(&id("none")).unwrap().project, None);
    again.set_project(&id("none"), Some("/b")).unwrap();
    assert_eq!(place.store.project(&id("none")).unwrap().as_deref(), Some("/b"));
    assert!(again.set_project(&id("gone"), Some("/b")).is_err());
}

fn lists_and_counts_are_limited_to_a_project(place: &Place) {
    create(&place.store, "a1", Some("/a"));
    create(&place.store, "a2", Some("/a"));
    create(&place.store, "b", Some("/b"));
    create(&place.store, "none", None);
    assert_eq!(listed(&place.store, of("/a")), ["a1", "a2"]);
    assert_eq!(listed(&place.store, of("/")), Vec::<String>::new());
    assert_eq!(listed(&place.store, ProjectScope::Unassigned), ["none"]);
    assert_eq!(listed(&place.store, ProjectScope::All), ["a1", "a2", "b", "none"]);
    assert_eq!(place.store.count(&filter(of("/b"))).unwrap(), 1);
    assert_eq!(place.store.count(&ListFilter::default()).unwrap(), 4);
}

fn a_search_is_limited_to_a_project(place: &Place) {
    for (name, project) in [("a", Some("/a")), ("b", Some("/b")), ("none", None)] {
        create(&place.store, name, project);
        append(&place.store, &id(name), vec![link(1, "a needle")]);
    }
    let found = |project: ProjectScope| {
        let query = SearchQuery { text: "needle".to_owned(), project, ..SearchQuery::default() };
        let hits = place.store.search(&query).unwrap().hits.into_iter();
        let mut names: Vec<_> = hits.map(|hit| hit.session.to_string()).collect();
        names.sort();
        names
    };
    assert_eq!(found(of("/a")), ["a"]);
    assert_eq!(found(of("/c")), Vec::<String>::new());
    assert_eq!(found(ProjectScope::Unassigned), ["none"]);
    assert_eq!(found(ProjectScope::All), ["a", "b", "none"]);
}

fn the_project_is_no_part_of_the_chain(place: &Place) {
    let session = filled(&place.store, "talk", chain(3));
    let before = place.store.info(&session).unwrap();
    place.store.set_project(&session, Some("/a")).unwrap();
    let after = place.store.info(&session).unwrap();
    assert_eq!((after.head, after.updated_at), (before.head, before.updated_at));
    append(&place.store, &session, vec![link(4, "four")]);
    assert_eq!(place.store.verify(&session).unwrap().damage, None);
    assert_eq!(place.store.project(&session).unwrap().as_deref(), Some("/a"));
}

fn forks_imports_and_copies_keep_the_project(place: &Place) {
    let session = filled(&place.store, "talk", chain(3));
    place.store.set_project(&session, Some("/a")).unwrap();
    let new = NewSession { id: Some(id("fork")) };
    let fork = place.store.fork(&session, &"e2".into(), &new).unwrap();
    assert_eq!(fork.project.as_deref(), Some("/a"));
    let mut import = Import::begin(&place.store).unwrap();
    import.set_project(Some("/b".to_owned()));
    import.push(link(1, "one")).unwrap();
    let imported = import.finish(&NewSession { id: Some(id("imported")) }).unwrap();
    assert_eq!(imported.project.as_deref(), Some("/b"));
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("backup.db");
    place.store.backup(&file).unwrap();
    let other = SessionStore::memory();
    other.restore(&file).unwrap();
    assert_eq!(listed(&other, of("/a")), ["fork", "talk"]);
    assert_eq!(listed(&other, of("/b")), ["imported"]);
}

fn any_text_can_be_a_project(place: &Place) {
    for (number, project) in ["", "/a b", "/\u{202e}", "/a\0b", "%", "'; --"].iter().enumerate() {
        let name = format!("s{number}");
        create(&place.store, &name, Some(project));
        assert_eq!(listed(&place.store, of(project)), [name]);
    }
}
