//! Checks the manifest of a published crate. Called by `package` before anything is made.

use cargo_metadata::{DependencyKind, Package};

/// The maximum number of keywords that a registry accepts.
const KEYWORDS_MAX: usize = 5;

/// Returns the problems of the manifest; `published` are all crates that are released together.
pub(super) fn problems(package: &Package, published: &[&Package]) -> Vec<String> {
    let mut problems = missing_fields(package);
    problems.extend(wrong_versions(package, published));
    let name = &package.name;
    problems.into_iter().map(|problem| format!("{name}: {problem}")).collect()
}

fn missing_fields(package: &Package) -> Vec<String> {
    let fields = [
        ("description", package.description.is_some()),
        ("license", package.license.is_some()),
        ("repository", package.repository.is_some()),
        ("homepage", package.homepage.is_some()),
        ("readme", package.readme.is_some()),
        ("rust-version", package.rust_version.is_some()),
        ("categories", !package.categories.is_empty()),
        ("keywords", !package.keywords.is_empty() && package.keywords.len() <= KEYWORDS_MAX),
    ];
    let missing = fields.iter().filter(|(_, is_there)| !is_there);
    missing.map(|(name, _)| format!("`{name}` is missing or too long; set it")).collect()
}

/// Checks that all crates have one version, and that each dependency between them names it.
fn wrong_versions(package: &Package, published: &[&Package]) -> Vec<String> {
    let version = &package.version;
    let mut problems = Vec::new();
    for dependency in package.dependencies.iter().filter(|one| one.path.is_some()) {
        let (name, wanted) = (&dependency.name, &dependency.req);
        let is_published = published.iter().any(|one| one.name.as_str() == name);
        // Cargo leaves development dependencies without a version out of the package.
        let is_left_out =
            dependency.kind == DependencyKind::Development && wanted.to_string() == "*";
        if is_left_out {
            continue;
        }
        if !is_published {
            problems.push(format!("uses `{name}`, which is not published; publish it or move it"));
        } else if wanted.to_string() != format!("^{version}") {
            problems.push(format!(
                "wants `{name}` {wanted}; write `version = \"{version}\"` in the root Cargo.toml"
            ));
        }
    }
    problems
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A crate with a complete manifest, one dependency on `tertulia-session`, and the changes of the test.
    fn package(change: impl FnOnce(&mut serde_json::Value)) -> Package {
        let mut package = serde_json::json!({
            "name": "tertulia-store", "version": "0.2.0", "id": "p", "source": null,
            "description": "d", "license": "MIT", "license_file": null,
            "repository": "https://example.com", "homepage": "https://example.com",
            "documentation": null, "readme": "README.md", "rust_version": "1.95",
            "categories": ["database"], "keywords": ["agents"], "edition": "2024",
            "manifest_path": "/clone/crates/store/Cargo.toml", "targets": [], "features": {},
            "dependencies": [{
                "name": "tertulia-session", "source": null, "req": "^0.2.0", "kind": null,
                "rename": null, "optional": false, "uses_default_features": true,
                "features": [], "target": null, "path": "/clone/crates/session"
            }]
        });
        change(&mut package);
        serde_json::from_value(package).unwrap()
    }

    fn check(change: impl FnOnce(&mut serde_json::Value)) -> Vec<String> {
        let session = package(|package| package["name"] = "tertulia-session".into());
        problems(&package(change), &[&session])
    }

    #[test]
    fn a_complete_manifest_is_accepted() {
        assert!(check(|_| ()).is_empty());
    }

    #[test]
    fn a_missing_field_is_named() {
        let found = check(|package| package["description"] = serde_json::Value::Null);
        assert_eq!(found, ["tertulia-store: `description` is missing or too long; set it"]);
        assert_eq!(check(|package| package["keywords"] = [""; 6].into()).len(), 1);
    }

    #[test]
    fn a_path_dependency_has_the_version_of_the_workspace() {
        let found = check(|package| package["dependencies"][0]["req"] = "^0.1.0".into());
        assert!(found[0].contains("wants `tertulia-session` ^0.1.0"), "{found:?}");
    }

    #[test]
    fn only_tests_may_use_what_is_not_published() {
        let found = check(|package| package["dependencies"][0]["name"] = "tertulia-bench".into());
        assert!(found[0].contains("`tertulia-bench`, which is not published"), "{found:?}");
        let found = check(|package| {
            let dependency = &mut package["dependencies"][0];
            dependency["name"] = "tertulia-fake-models".into();
            dependency["req"] = "*".into();
            dependency["kind"] = "dev".into();
        });
        assert!(found.is_empty(), "{found:?}");
    }
}
