//! Tests of links, each on a page at `docs/page.md` of a small repository.

use super::*;

fn broken(text: &str) -> Vec<String> {
    let paths = ["README.md", "docs/page.md", "docs/decisions/0001 store.md", "crates/cli/a(1).rs"];
    let page = TextFile { path: "docs/page.md".to_owned(), text: text.to_owned() };
    let found = check(&paths.map(str::to_owned).into(), &[page]);
    found.iter().map(|violation| format!("{} {}", violation.line, violation.problem)).collect()
}

fn nowhere(line: usize, target: &str) -> [String; 1] {
    [format!("{line} the link to `{target}` has no target")]
}

#[test]
fn a_link_to_a_missing_file_is_reported_with_its_line() {
    assert_eq!(broken("a\n[b](missing.md)\n"), nowhere(2, "missing.md"));
}

#[test]
fn links_are_read_from_the_folder_of_their_page() {
    assert!(broken("[up](../README.md) [here](page.md) [root](/README.md)").is_empty());
    assert_eq!(broken("[up](README.md)"), nowhere(1, "README.md"));
}

#[test]
fn a_folder_with_files_in_it_is_a_good_target() {
    assert!(broken("[d](decisions) [c](../crates/) [all](..)").is_empty());
    assert_eq!(broken("[d](decision)"), nowhere(1, "decision"));
}

#[test]
fn a_link_out_of_the_repository_leads_nowhere() {
    assert_eq!(broken("[x](../../README.md)"), nowhere(1, "../../README.md"));
}

#[test]
fn places_and_titles_are_not_part_of_the_path() {
    assert!(broken("[a](page.md#top) [b](page.md \"A page\") [c](#top)").is_empty());
    assert_eq!(broken("[a](gone.md#top)"), nowhere(1, "gone.md#top"));
}

#[test]
fn addresses_elsewhere_are_not_followed() {
    assert!(broken("[a](https://example.com/x.md) [b](mailto:a@example.com)").is_empty());
}

#[test]
fn code_is_not_read_for_links() {
    assert!(broken("```text\n[a](gone.md)\n```\n~~~\n[a](gone.md)\n~~~\n").is_empty());
    assert!(broken("`[a](gone.md)` and ``[a](`gone.md)``").is_empty());
    assert_eq!(broken("`code` [a](gone.md)"), nowhere(1, "gone.md"));
}

#[test]
fn a_longer_fence_is_not_closed_by_a_shorter_one() {
    assert!(broken("````\n```\n[a](gone.md)\n```\n````\n").is_empty());
}

#[test]
fn a_lonely_backtick_hides_nothing() {
    assert_eq!(broken("a ` b [a](gone.md)"), nowhere(1, "gone.md"));
}

#[test]
fn spaces_and_parentheses_may_be_in_a_path() {
    assert!(broken("[a](<decisions/0001 store.md>) [b](../crates/cli/a(1).rs)").is_empty());
}

#[test]
fn pictures_and_html_are_links() {
    assert_eq!(broken("![p](gone.svg)"), nowhere(1, "gone.svg"));
    assert_eq!(broken("<img src=\"gone.svg\">"), nowhere(1, "gone.svg"));
    assert_eq!(broken("<a href=\"gone.md\">x</a>"), nowhere(1, "gone.md"));
}

#[test]
fn references_are_links_and_footnotes_are_not() {
    assert_eq!(broken("[a]\n\n[a]: gone.md\n"), nowhere(3, "gone.md"));
    assert!(broken("[^1]: gone.md\n").is_empty());
}
