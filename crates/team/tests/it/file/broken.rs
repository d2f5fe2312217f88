//! A corpus of invalid files and the exact errors for each. To add a case, write `?` as its errors; the failing test
//! prints the real ones.

use std::fmt::Write as _;

use tertulia_team::file::TeamFile;

#[test]
fn every_broken_file_is_refused_in_these_words() {
    check(include_str!("broken.txt"), "tertulia.toml", 50);
}

#[test]
fn every_broken_file_of_the_earlier_system_is_refused_in_these_words() {
    check(include_str!("broken_json.txt"), "team.json", 8);
}

#[track_caller]
fn check(corpus: &str, place: &str, at_least: usize) {
    let mut said = String::new();
    let mut count = 0;
    for case in corpus.split("=== ").skip(1) {
        let (name, rest) = case.split_once('\n').unwrap();
        let (input, _) = rest.split_once("--- says\n").unwrap();
        let words = match TeamFile::parse(input, place) {
            Ok(_) => "nothing: it is good".to_owned(),
            Err(errors) => errors.to_string(),
        };
        writeln!(said, "=== {name}\n{input}--- says\n{words}").unwrap();
        count += 1;
    }
    assert!(count >= at_least, "{count}");
    assert!(said == corpus, "the corpus would be:\n{said}");
}
