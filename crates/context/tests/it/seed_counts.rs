//! Counts the tests that the contract names: 35 + 25 + 21 + 25 = 106.

fn tests_in(source: &str) -> usize {
    source.lines().filter(|line| line.trim() == "#[test]").count()
}

#[test]
fn every_test_that_the_contract_names_is_here() {
    let counts = [
        include_str!("seed_manager.rs"),
        include_str!("seed_claude.rs"),
        include_str!("seed_plain_text.rs"),
        include_str!("seed_gemini.rs"),
    ]
    .map(tests_in);
    assert_eq!(counts, [35, 25, 21, 25]);
    assert_eq!(counts.iter().sum::<usize>(), 106);
}
