//! The project of a session is stored outside the log, and is a filter for lists and searches.

use tertulia_store::{Import, ListFilter, NewSession, ProjectScope, SearchQuery, SessionStore};

use crate::notation::{append, chain, filled, id, link};
use crate::test_stores::TestStore;

super::contract_tests! {
    a_session_belongs_to_the_project_it_was_created_in
    lists_and_counts_are_limited_to_a_project
    a_search_is_limited_to_a_project
    the_project_is_not_part_of_the_chain
    forks_imports_and_copies_keep_the_project
    any_text_can_be_a_project
}

fn scope(project: &str) -> ProjectScope {
    ProjectScope::Project(project.to_owned())
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

fn a_session_belongs_to_the_project_it_was_created_in(fixture: &TestStore) {
    create(&fixture.store, "a", Some("/a"));
    create(&fixture.store, "none", None);
    let again = fixture.reopen();
    assert_eq!(again.project(&id("a")).unwrap().as_deref(), Some("/a"));
    assert_eq!(again.info(&id("none")).unwrap().project, None);
    again.set_project(&id("none"), Some("/b")).unwrap();
    assert_eq!(fixture.store.project(&id("none")).unwrap().as_deref(), Some("/b"));
    assert!(again.set_project(&id("gone"), Some("/b")).is_err());
}

fn lists_and_counts_are_limited_to_a_project(fixture: &TestStore) {
    create(&fixture.store, "a1", Some("/a"));
    create(&fixture.store, "a2", Some("/a"));
    create(&fixture.store, "b", Some("/b"));
    create(&fixture.store, "none", None);
    assert_eq!(listed(&fixture.store, scope("/a")), ["a1", "a2"]);
    assert_eq!(listed(&fixture.store, scope("/")), Vec::<String>::new());
    assert_eq!(listed(&fixture.store, ProjectScope::Unassigned), ["none"]);
    assert_eq!(listed(&fixture.store, ProjectScope::All), ["a1", "a2", "b", "none"]);
    assert_eq!(fixture.store.count(&filter(scope("/b"))).unwrap(), 1);
    assert_eq!(fixture.store.count(&ListFilter::default()).unwrap(), 4);
}

fn a_search_is_limited_to_a_project(fixture: &TestStore) {
    for (name, project) in [("a", Some("/a")), ("b", Some("/b")), ("none", None)] {
        create(&fixture.store, name, project);
        append(&fixture.store, &id(name), vec![link(1, "a needle")]);
    }
    let found = |project: ProjectScope| {
        let query = SearchQuery { text: "needle".to_owned(), project, ..SearchQuery::default() };
        let hits = fixture.store.search(&query).unwrap().hits.into_iter();
        let mut names: Vec<_> = hits.map(|hit| hit.session.to_string()).collect();
        names.sort();
        names
    };
    assert_eq!(found(scope("/a")), ["a"]);
    assert_eq!(found(scope("/c")), Vec::<String>::new());
    assert_eq!(found(ProjectScope::Unassigned), ["none"]);
    assert_eq!(found(ProjectScope::All), ["a", "b", "none"]);
}

fn the_project_is_not_part_of_the_chain(fixture: &TestStore) {
    let session = filled(&fixture.store, "talk", chain(3));
    let before = fixture.store.info(&session).unwrap();
    fixture.store.set_project(&session, Some("/a")).unwrap();
    let after = fixture.store.info(&session).unwrap();
    assert_eq!((after.chain_hash, after.updated_at), (before.chain_hash, before.updated_at));
    append(&fixture.store, &session, vec![link(4, "four")]);
    assert_eq!(fixture.store.verify(&session).unwrap().damage, None);
    assert_eq!(fixture.store.project(&session).unwrap().as_deref(), Some("/a"));
}

fn forks_imports_and_copies_keep_the_project(fixture: &TestStore) {
    let session = filled(&fixture.store, "talk", chain(3));
    fixture.store.set_project(&session, Some("/a")).unwrap();
    let new = NewSession { id: Some(id("fork")) };
    let fork = fixture.store.fork(&session, &"e2".into(), &new).unwrap();
    assert_eq!(fork.project.as_deref(), Some("/a"));
    let mut import = Import::begin(&fixture.store).unwrap();
    import.set_project(Some("/b".to_owned()));
    import.push(link(1, "one")).unwrap();
    let imported = import.finish(&NewSession { id: Some(id("imported")) }).unwrap();
    assert_eq!(imported.project.as_deref(), Some("/b"));
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("backup.db");
    fixture.store.backup(&file).unwrap();
    let other = SessionStore::memory();
    other.restore(&file).unwrap();
    assert_eq!(listed(&other, scope("/a")), ["fork", "talk"]);
    assert_eq!(listed(&other, scope("/b")), ["imported"]);
}

fn any_text_can_be_a_project(fixture: &TestStore) {
    for (number, project) in ["", "/a b", "/\u{202e}", "/a\0b", "%", "'; --"].iter().enumerate() {
        let name = format!("s{number}");
        create(&fixture.store, &name, Some(project));
        assert_eq!(listed(&fixture.store, scope(project)), [name]);
    }
}
