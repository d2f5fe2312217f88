//! The crates and the allowed dependencies between them, compared with the manifests. ARCHITECTURE.md
//! has the same diagram for readers; a change must be made in both.

#![expect(
    clippy::disallowed_methods,
    clippy::expect_used,
    reason = "it asks cargo and reads ARCHITECTURE.md; without them there is nothing to compare"
)]

use cargo_metadata::{DependencyKind, MetadataCommand, Package};
use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

/// One crate of the product.
struct CrateRule {
    /// Its folder under `crates/`.
    name: &'static str,
    package: &'static str,
    /// The crates it may use.
    dependencies: Names,
    /// The external crates it may use.
    foreign: Foreign,
}

enum Foreign {
    /// A crate that does IO; [`OWNERS`] lists the crates it may not use.
    Any,
    /// A pure crate: no files, no clock, no async runtime, and no dependency that needs them.
    Only(Names),
}

type Names = &'static [&'static str];

/// The diagram, in the order in which the data flows.
const CRATES: [CrateRule; 11] = [
    pure("session", "tertulia-session", &[], SESSION_CRATES),
    pure("context", "tertulia-context", &["session"], PURE_CRATES),
    pure("dialect", "tertulia-dialect", &["session"], PURE_CRATES),
    impure("store", "tertulia-store", &["session"]),
    impure("native", "tertulia-native", &["dialect", "session"]),
    impure("agent", "tertulia-agent", &["dialect", "session"]),
    impure("team", "tertulia-team", TEAM),
    impure("operations", "tertulia-operations", INNER),
    impure("chat", "tertulia-chat", &["operations", "team", "context", "store", "session"]),
    impure("server", "tertulia-server", EDGE),
    impure("cli", "tertulia", CLI),
];

const TEAM: Names = &["agent", "store", "context", "dialect", "session"];

const INNER: Names = &["native", "team", "context", "dialect", "store", "session"];

const EDGE: Names = &["operations", "native", "team", "context", "dialect", "store", "session"];

const CLI: Names =
    &["chat", "operations", "native", "team", "context", "dialect", "store", "session"];

const SESSION_CRATES: Names = &["blake3", "jiff", "serde", "serde_json", "smallvec", "thiserror"];

/// Dependencies of `session`, and those for reading, counting and explaining long texts.
const PURE_CRATES: Names = &[
    "bpe-openai",
    "jiff",
    "memchr",
    "pulldown-cmark",
    "regex-syntax",
    "serde",
    "serde_json",
    "smallvec",
    "splintr",
    "splintr-vocab-cl100k",
    "splintr-vocab-o200k",
    "thiserror",
    "tracing",
];

/// Members that are tools. They may use any crate; no crate may use them.
const TOOLS: [&str; 5] =
    ["xtask", "tertulia-bench", "tertulia-faults", "tertulia-fake-models", "tertulia-test-needs"];

/// Heavy dependencies, and the only crates that may use them.
const OWNERS: [(&str, Names); 5] = [
    ("axum", &["server"]),
    ("clap", &["cli"]),
    // The bench compares the store with plain SQLite.
    ("rusqlite", &["store", "native", "tertulia-bench"]),
    ("tokio", &["agent", "store", "team", "server", "cli"]),
    ("tokio-postgres", &["store"]),
];

const fn impure(name: &'static str, package: &'static str, dependencies: Names) -> CrateRule {
    CrateRule { name, package, dependencies, foreign: Foreign::Any }
}

const fn pure(
    name: &'static str,
    package: &'static str,
    dependencies: Names,
    crates: Names,
) -> CrateRule {
    CrateRule { name, package, dependencies, foreign: Foreign::Only(crates) }
}

/// A member of the workspace and the packages it names.
struct Member {
    package: String,
    folder: PathBuf,
    shipped: Vec<String>,
    development: Vec<String>,
}

impl Member {
    fn rule(&self) -> Option<&'static CrateRule> {
        rule_of(&self.package)
    }
}

#[test]
fn every_member_of_the_workspace_is_in_the_diagram() {
    assert_none(&unknown_members(&members()));
}

#[test]
fn every_crate_is_in_the_folder_of_its_name() {
    for member in members() {
        if let Some(rule) = member.rule() {
            let folder = Path::new("crates").join(rule.name);
            assert!(member.folder.ends_with(folder), "{}", rule.name);
        }
    }
}

#[test]
fn dependencies_follow_the_diagram() {
    assert_none(&violations(|member| forbidden_dependencies(member, &member.shipped)));
}

/// Crates that the tests of any crate may use: a fake external service, and the requirements of a machine.
const STAND_INS: [&str; 2] = ["tertulia-fake-models", "tertulia-test-needs"];

#[test]
fn dependencies_of_tests_point_the_same_way() {
    assert_none(&violations(|member| {
        let is_ours = |name: &&String| !STAND_INS.contains(&name.as_str());
        let ours: Vec<String> = member.development.iter().filter(is_ours).cloned().collect();
        forbidden_dependencies(member, &ours)
    }));
}

#[test]
fn heavy_crates_stay_with_their_owners() {
    assert_none(&violations(forbidden_heavy_crates));
}

#[test]
fn pure_crates_use_only_the_crates_on_their_list() {
    assert_none(&violations(forbidden_foreign_crates));
}

#[test]
fn the_architecture_page_names_every_crate() {
    let page = root().join("ARCHITECTURE.md");
    let text = std::fs::read_to_string(&page).expect("ARCHITECTURE.md is at the root");
    for rule in members().iter().filter_map(Member::rule) {
        assert!(text.contains(&format!("{}/", rule.name)), "no `{}/` in {page:?}", rule.name);
    }
}

#[test]
fn the_diagram_has_no_cycle() {
    let mut seen = BTreeSet::new();
    for rule in &CRATES {
        for dependency in rule.dependencies {
            assert!(seen.contains(dependency), "{} -> {dependency} points back", rule.name);
        }
        seen.insert(rule.name);
    }
}

#[test]
fn a_forbidden_dependency_is_found() {
    let context = member("tertulia-context", &["tertulia-session", "tertulia-store"]);
    assert_eq!(forbidden_dependencies(&context, &context.shipped), ["context -> tertulia-store"]);
}

#[test]
fn a_crate_that_uses_a_tool_is_found() {
    let cli = member("tertulia", &["tertulia-bench"]);
    assert_eq!(forbidden_dependencies(&cli, &cli.shipped), ["cli -> tertulia-bench"]);
}

#[test]
fn a_member_without_a_rule_is_found() {
    let members = [member("tertulia-session", &[]), member("tertulia-attic", &[])];
    assert_eq!(unknown_members(&members), ["tertulia-attic"]);
}

#[test]
fn a_heavy_dependency_of_the_wrong_crate_is_found() {
    assert_eq!(
        forbidden_heavy_crates(&member("tertulia-team", &["tokio", "clap"])),
        ["team -> clap"]
    );
    assert_eq!(forbidden_heavy_crates(&member("xtask", &["clap"])), ["xtask -> clap"]);
    assert!(forbidden_heavy_crates(&member("tertulia", &["tokio", "clap"])).is_empty());
}

#[test]
fn a_foreign_dependency_of_a_pure_crate_is_found() {
    assert_eq!(
        forbidden_foreign_crates(&member("tertulia-session", &["serde", "memchr"])),
        ["session -> memchr"]
    );
    assert!(
        forbidden_foreign_crates(&member("tertulia-context", &["tertulia-session", "memchr"]))
            .is_empty()
    );
    assert!(forbidden_foreign_crates(&member("tertulia-store", &["rusqlite"])).is_empty());
}

fn violations(check: impl Fn(&Member) -> Vec<String>) -> Vec<String> {
    members().iter().flat_map(check).collect()
}

fn unknown_members(members: &[Member]) -> Vec<&str> {
    let packages = members.iter().map(|member| member.package.as_str());
    packages.filter(|package| rule_of(package).is_none() && !TOOLS.contains(package)).collect()
}

fn forbidden_dependencies(member: &Member, dependencies: &[String]) -> Vec<String> {
    let Some(rule) = member.rule() else {
        return Vec::new();
    };
    let ours = dependencies.iter().filter(|package| is_ours(package));
    let violations = ours.filter(|package| {
        rule_of(package).is_none_or(|other| !rule.dependencies.contains(&other.name))
    });
    violations.map(|package| format!("{} -> {package}", rule.name)).collect()
}

fn forbidden_heavy_crates(member: &Member) -> Vec<String> {
    let name = member.rule().map_or(member.package.as_str(), |rule| rule.name);
    let owned = OWNERS.iter().filter(|(heavy, _)| member.shipped.iter().any(|d| d == heavy));
    let stolen = owned.filter(|(_, owners)| !owners.contains(&name));
    stolen.map(|(heavy, _)| format!("{name} -> {heavy}")).collect()
}

fn forbidden_foreign_crates(member: &Member) -> Vec<String> {
    let Some(CrateRule { name, foreign: Foreign::Only(list), .. }) = member.rule() else {
        return Vec::new();
    };
    let foreign = member.shipped.iter().filter(|package| !is_ours(package));
    let violations = foreign.filter(|package| !list.contains(&package.as_str()));
    violations.map(|package| format!("{name} -> {package}")).collect()
}

fn rule_of(package: &str) -> Option<&'static CrateRule> {
    CRATES.iter().find(|rule| rule.package == package)
}

fn is_ours(package: &str) -> bool {
    package.starts_with("tertulia") || TOOLS.contains(&package)
}

fn members() -> Vec<Member> {
    let manifest = root().join("Cargo.toml");
    let metadata = MetadataCommand::new().manifest_path(manifest).no_deps().exec();
    let metadata = metadata.expect("cargo can read the workspace");
    metadata.workspace_packages().into_iter().map(read_member).collect()
}

fn read_member(package: &Package) -> Member {
    let (development, shipped): (Vec<_>, Vec<_>) = package
        .dependencies
        .iter()
        .partition(|dependency| dependency.kind == DependencyKind::Development);
    let names = |list: Vec<&cargo_metadata::Dependency>| {
        list.iter().map(|dependency| dependency.name.clone()).collect()
    };
    let folder = package.manifest_path.parent().expect("a manifest is in a folder");
    Member {
        package: package.name.to_string(),
        folder: folder.into(),
        shipped: names(shipped),
        development: names(development),
    }
}

fn member(package: &str, shipped: &[&str]) -> Member {
    Member {
        package: package.to_owned(),
        folder: PathBuf::new(),
        shipped: shipped.iter().map(ToString::to_string).collect(),
        development: Vec::new(),
    }
}

/// Cargo runs tests in the folder of their package, wherever that was when they were compiled.
fn root() -> PathBuf {
    PathBuf::from("..")
}

#[track_caller]
fn assert_none<T: std::fmt::Debug>(violations: &[T]) {
    assert!(violations.is_empty(), "not in the diagram: {violations:?}");
}
