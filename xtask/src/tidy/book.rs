//! Tidy's checks of the book: a link to a heading names one that exists, and every page of `docs` is in the table of
//! contents.

use super::markdown_links::{links, resolve};
use super::{TextFile, Violation};
use std::collections::{BTreeMap, BTreeSet};

const CONTENTS: &str = "docs/SUMMARY.md";

/// Finds links to headings that do not exist, and pages that the book does not list.
pub(super) fn check(files: &[TextFile]) -> Vec<Violation> {
    let pages: Vec<&TextFile> = files.iter().filter(|file| file.path.ends_with(".md")).collect();
    let headings = pages.iter().map(|page| (page.path.as_str(), anchors(&page.text)));
    let headings: BTreeMap<&str, BTreeSet<String>> = headings.collect();
    let mut violations = Vec::new();
    for page in &pages {
        for (line, target) in links(&page.text) {
            let Some((path, anchor)) = target.split_once('#').filter(|_| !target.contains("://"))
            else {
                continue;
            };
            let path = match path {
                "" => Some(page.path.clone()),
                path => resolve(&page.path, path),
            };
            let known = path.and_then(|path| headings.get(path.as_str()));
            if known.is_some_and(|known| !known.contains(anchor)) {
                let what = format!("the link to `{target}` does not name a heading");
                violations.push(page.violation(line, what, "correct it, or add the heading"));
            }
        }
    }
    violations.extend(unlisted(&pages));
    violations
}

fn unlisted(pages: &[&TextFile]) -> Vec<Violation> {
    let Some(contents) = pages.iter().find(|page| page.path == CONTENTS) else {
        return Vec::new();
    };
    let listed = links(&contents.text).into_iter().filter_map(|(_, path)| resolve(CONTENTS, path));
    let listed: BTreeSet<String> = listed.collect();
    let is_page = |page: &&&TextFile| page.path.starts_with("docs/") && page.path != CONTENTS;
    let missing = pages.iter().filter(is_page).filter(|page| !listed.contains(&page.path));
    missing
        .map(|page| {
            page.violation(1, "the book does not list this page", "add it to docs/SUMMARY.md")
        })
        .collect()
}

/// Returns the anchors of all headings outside of code.
fn anchors(text: &str) -> BTreeSet<String> {
    let mut is_code = false;
    let mut found = BTreeSet::new();
    for line in text.lines() {
        if line.trim_start().starts_with("```") {
            is_code = !is_code;
        }
        let heading = line.trim_start_matches('#');
        if !is_code && heading.len() < line.len() && heading.starts_with(' ') {
            found.insert(anchor(heading.trim()));
        }
    }
    found
}

/// Returns the anchor that mdbook and code hosts give a heading.
fn anchor(heading: &str) -> String {
    let lower = heading.to_lowercase();
    let kept = lower.chars().filter(|c| c.is_alphanumeric() || matches!(c, ' ' | '-' | '_'));
    kept.map(|c| if c == ' ' { '-' } else { c }).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn found(pages: &[(&str, &str)]) -> Vec<String> {
        let file = |(path, text): &(&str, &str)| TextFile {
            path: (*path).to_owned(),
            text: (*text).to_owned(),
        };
        let files: Vec<TextFile> = pages.iter().map(file).collect();
        check(&files).iter().map(ToString::to_string).collect()
    }

    #[test]
    fn a_link_to_a_heading_that_exists_is_fine() {
        let page = "# A `b`, c: d\n[x](#a-b-c-d) [y](other.md#top) [z](https://example.com/#no)\n";
        assert!(found(&[("a.md", page), ("other.md", "## Top\n")]).is_empty());
    }

    #[test]
    fn a_link_to_a_heading_that_does_not_exist_is_found() {
        let violations = found(&[("a.md", "[x](b.md#gone)\n"), ("b.md", "```\n# gone\n```\n")]);
        assert_eq!(violations.len(), 1, "{violations:?}");
        assert!(violations[0].contains("`b.md#gone` does not name a heading"), "{violations:?}");
    }

    #[test]
    fn a_page_that_the_book_does_not_list_is_found() {
        let pages = [("docs/SUMMARY.md", "- [A](a.md)\n"), ("docs/a.md", ""), ("docs/b.md", "")];
        let violations = found(&pages);
        assert_eq!(violations.len(), 1, "{violations:?}");
        assert!(violations[0].starts_with("docs/b.md:1: the book does not list"), "{violations:?}");
    }
}
