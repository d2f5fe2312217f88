//! Sessions of different projects: which ones the librarian searches, and to which project a session belongs.

use tertulia_store::SessionStore;
use tertulia_team::file::LibrarianScope;
use tertulia_team::{Driver, Responder, Team, TeamMember};

use crate::driver::{Heard, built_in, scripted, team, texts};

/// Returns a team with a librarian and the agent max, in a project.
fn librarians(project: &str, scope: LibrarianScope, answers: &[&str]) -> Team {
    let librarian = TeamMember { scope, ..built_in("librarian", Responder::Librarian) };
    team(vec![librarian, scripted("max", answers)]).in_project(project)
}

/// Returns the answer of the librarian in one project to this request. Before it, sessions of two projects mention
/// the subject.
fn answer_of_librarian(scope: LibrarianScope, max: &[&str], said: &str) -> String {
    let store = SessionStore::memory();
    let mut heard = Heard::default();
    for (project, text) in [
        ("/projects/a", "The price of Initech is 48213. @max"),
        ("/projects/b", "The price of Globex is 59371. @max"),
    ] {
        let team = librarians(project, scope, &["Noted."]);
        let mut past = Driver::begin(&store, None, team, false).unwrap();
        past.say(None, text, &mut heard).unwrap();
        past.run(&mut heard).unwrap();
    }
    let team = librarians("/projects/a", scope, max);
    let mut driver = Driver::begin(&store, None, team, false).unwrap();
    driver.say(None, said, &mut heard).unwrap();
    driver.run(&mut heard).unwrap();
    let said = texts(driver.entries());
    said.into_iter().find(|text| text.starts_with("librarian: ")).unwrap()
}

#[test]
fn the_librarian_finds_nothing_of_another_project() {
    let request = "What is the price? @librarian";
    let said = answer_of_librarian(LibrarianScope::Project, &["Yes."], request);
    assert!(said.contains("48213") && !said.contains("59371"), "{said}");
    assert!(said.contains("past sessions of this project say"), "{said}");
    let said = answer_of_librarian(LibrarianScope::Project, &["Yes."], "Globex? @librarian");
    assert!(said.contains("No past session of this project mentions this"), "{said}");
}

#[test]
fn a_person_may_search_all_projects_where_the_team_file_says_so_and_an_agent_may_not() {
    let request = "What is the price? @librarian";
    let said = answer_of_librarian(LibrarianScope::All, &["Yes."], request);
    assert!(said.contains("48213") && said.contains("59371"), "{said}");
    assert!(said.contains("past sessions of all projects say"), "{said}");
    let asks = "What is the price of Globex?\n\n[NEXT: librarian]";
    let said = answer_of_librarian(LibrarianScope::All, &[asks, "Thanks."], "Ask. @max");
    assert!(!said.contains("59371") && said.contains("of this project"), "{said}");
}

#[test]
fn a_session_of_another_project_keeps_its_project_and_is_searched_for_nobody() {
    let store = SessionStore::memory();
    let mut heard = Heard::default();
    let team = |project: &str| librarians(project, LibrarianScope::Project, &["Noted."]);
    let mut past = Driver::begin(&store, None, team("/projects/a"), false).unwrap();
    past.say(None, "The gateway listens on 48213. @max", &mut heard).unwrap();
    past.run(&mut heard).unwrap();
    let session =
        Driver::begin(&store, None, team("/projects/a"), false).unwrap().session().clone();
    let opened = Driver::reopen(&store, &session, team("/projects/b"), false, &mut heard).unwrap();
    let mut driver = opened.driver;
    assert_eq!(driver.project(), Some("/projects/a"));
    driver.say(None, "Where does the gateway listen? @librarian", &mut heard).unwrap();
    driver.run(&mut heard).unwrap();
    let said = texts(driver.entries());
    assert!(said[1].contains("belongs to another project"), "{said:?}");
}

#[test]
fn a_session_without_a_project_belongs_to_the_folder_that_its_log_names_once_it_is_opened() {
    let store = SessionStore::memory();
    let mut heard = Heard::default();
    let mut driver =
        Driver::begin(&store, None, team(vec![scripted("max", &["Yes."])]), false).unwrap();
    driver.update_settings(Some("/projects/old"), None);
    driver.say(None, "Hello. @max", &mut heard).unwrap();
    driver.run(&mut heard).unwrap();
    let session = driver.session().clone();
    drop(driver);
    assert_eq!(store.project(&session).unwrap(), None);
    let team = team(vec![scripted("max", &["Yes."])]).in_project("/projects/new");
    drop(Driver::reopen(&store, &session, team, false, &mut heard).unwrap());
    assert_eq!(store.project(&session).unwrap().as_deref(), Some("/projects/old"));
}

#[test]
fn the_librarian_quotes_each_passage_once() {
    let store = SessionStore::memory();
    let mut heard = Heard::default();
    for _ in 0..3 {
        let team = librarians("/projects/a", LibrarianScope::Project, &["Noted."]);
        let mut past = Driver::begin(&store, None, team, false).unwrap();
        past.say(None, "The gateway listens on 48213. @max", &mut heard).unwrap();
        past.run(&mut heard).unwrap();
    }
    let team = librarians("/projects/a", LibrarianScope::Project, &["Noted."]);
    let mut driver = Driver::begin(&store, None, team, false).unwrap();
    driver.say(None, "Where does the gateway listen? @librarian", &mut heard).unwrap();
    driver.run(&mut heard).unwrap();
    let said = texts(driver.entries());
    assert_eq!(said[1].matches("48213").count(), 1, "{said:?}");
}

#[test]
fn what_a_librarian_quoted_from_another_project_is_not_quoted_again() {
    let store = SessionStore::memory();
    let mut heard = Heard::default();
    let mut ask = |project: &str, scope: LibrarianScope, text: &str| {
        let team = librarians(project, scope, &["Noted."]);
        let mut driver = Driver::begin(&store, None, team, false).unwrap();
        driver.say(None, text, &mut heard).unwrap();
        driver.run(&mut heard).unwrap();
        texts(driver.entries())
    };
    ask("/projects/a", LibrarianScope::Project, "The gateway listens on 48213. @max");
    let question = "Where does the gateway listen? @librarian";
    let said = ask("/projects/b", LibrarianScope::All, question);
    assert!(said[1].contains("48213"), "{said:?}");
    let said = ask("/projects/b", LibrarianScope::Project, question);
    assert!(!said[1].contains("48213"), "{said:?}");
}
