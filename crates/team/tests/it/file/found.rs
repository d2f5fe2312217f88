//! How the team file is found, in folders created for the test.

use std::fs;
use std::path::Path;

use tertulia_team::file::{Found, Origin, SearchPaths, find, find_project, open};

fn touch(path: &Path) {
    fs::create_dir_all(path.parent().unwrap()).unwrap();
    fs::File::create_new(path).unwrap();
}

fn places<'a>(start: &'a Path, home: &'a Path) -> SearchPaths<'a> {
    SearchPaths { flag: None, variable: None, start, home: Some(home), config_home: None }
}

#[test]
fn the_flag_goes_before_the_variable_the_project_and_the_user() {
    let home = tempfile::tempdir().unwrap();
    let (home, start) = (home.path(), home.path().join("work"));
    touch(&start.join("tertulia.toml"));
    touch(&home.join(".config/tertulia/tertulia.toml"));
    let mut places = places(&start, home);
    let found = |places: &SearchPaths<'_>| find(places).unwrap();
    let project = Found { path: start.join("tertulia.toml"), origin: Origin::Project };
    assert_eq!(found(&places), project);
    places.variable = Some(Path::new(""));
    assert_eq!(found(&places), project);
    places.variable = Some(Path::new("/v.toml"));
    assert_eq!(found(&places), Found { path: "/v.toml".into(), origin: Origin::Variable });
    places.flag = Some(Path::new("f.toml"));
    assert_eq!(found(&places), Found { path: start.join("f.toml"), origin: Origin::Flag });
}

#[test]
fn the_users_file_is_last_and_needs_no_trust() {
    let home = tempfile::tempdir().unwrap();
    let start = home.path().join("work");
    let mut places = places(&start, home.path());
    assert_eq!(find(&places), None);
    let own = home.path().join(".config/tertulia/tertulia.toml");
    touch(&own);
    assert_eq!(find(&places), Some(Found { path: own.clone(), origin: Origin::User }));
    places.config_home = Some(Path::new("relative"));
    assert_eq!(find(&places).unwrap().path, own);
    let config = home.path().join("cfg");
    places.config_home = Some(&config);
    assert_eq!(find(&places), None);
    assert!(!Origin::User.needs_trust());
    assert!([Origin::Flag, Origin::Variable, Origin::Project].into_iter().all(Origin::needs_trust));
}

#[test]
fn what_is_called_like_a_team_file_and_is_none_is_not_passed_over() {
    let home = tempfile::tempdir().unwrap();
    let (home, start) = (home.path(), home.path().join("work"));
    fs::create_dir_all(start.join("tertulia.toml")).unwrap();
    touch(&home.join(".config/tertulia/tertulia.toml"));
    assert_eq!(find(&places(&start, home)).unwrap().path, start.join("tertulia.toml"));
    let error = open(&start.join("tertulia.toml")).unwrap_err().to_string();
    let path = start.join("tertulia.toml").display().to_string();
    assert_eq!(error, format!("{path}: is a directory; pass a team file"));
    fs::remove_dir(start.join("tertulia.toml")).unwrap();
    std::os::unix::fs::symlink("nowhere", start.join("tertulia.toml")).unwrap();
    assert_eq!(find(&places(&start, home)).unwrap().path, start.join("tertulia.toml"));
}

#[test]
fn a_project_ends_at_its_repository() {
    let home = tempfile::tempdir().unwrap();
    let repository = home.path().join("repo");
    let deep = repository.join("a/b");
    fs::create_dir_all(&deep).unwrap();
    fs::create_dir(repository.join(".git")).unwrap();
    touch(&home.path().join("tertulia.toml"));
    assert_eq!(find_project(&deep, Some(home.path())), None);
    touch(&repository.join("tertulia.toml"));
    assert_eq!(find_project(&deep, None), Some(repository.join("tertulia.toml")));
    touch(&deep.join("tertulia.toml"));
    assert_eq!(find_project(&deep, None), Some(deep.join("tertulia.toml")));
}

#[test]
fn without_a_repository_it_is_looked_for_up_to_home_and_elsewhere_only_here() {
    let top = tempfile::tempdir().unwrap();
    let (home, deep) = (top.path().join("home"), top.path().join("home/a/b"));
    fs::create_dir_all(&deep).unwrap();
    touch(&top.path().join("tertulia.toml"));
    assert_eq!(find_project(&deep, Some(&home)), None);
    touch(&home.join("tertulia.toml"));
    assert_eq!(find_project(&deep, Some(&home)), Some(home.join("tertulia.toml")));
    assert_eq!(find_project(&deep, None), None);
    assert_eq!(find_project(&home, None), Some(home.join("tertulia.toml")));
}
