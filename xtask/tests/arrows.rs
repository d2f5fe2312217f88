//! The rooms of the house and the arrows between them, compared with the manifests. ARCHITECTURE.md
//! draws the same for readers; a change to a room changes both.

#![expect(
    clippy::disallowed_methods,
    clippy::expect_used,
    reason = "it asks cargo and reads ARCHITECTURE.md; without them there is nothing to compare"
)]

use cargo_metadata::{DependencyKind, MetadataCommand, Package};
use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

/// One crate of the product.
struct Room {
    /// Its folder under `crates/`.
    name: &'static str,
    package: &'static str,
    /// The rooms it may use.
    arrows: Names,
    /// The crates of others it may use.
    foreign: Foreign,
}

enum Foreign {
    /// A room that does IO; the owners below say which crates it may not use.
    Any,
    /// A pure room: no files, no clock, no runtime, and so nothing that brings them along.
    Only(Names),
}

type Names = &'static [&'static str];

/// The drawing, in the order in which the data flows.
const ROOMS: [Room; 10] = [
    pure("session", "tertulia-session", &[], SESSION_CRATES),
    pure("context", "tertulia-context", &["session"], PURE_CRATES),
    pure("dialect", "tertulia-dialect", &["session"], PURE_CRATES),
    room("store", "tertulia-store", &["session"]),
    room("agent", "tertulia-agent", &["dialect", "session"]),
    room("team", "tertulia-team", TEAM),
    room("operations", "tertulia-operations", INNER),
    room("chat", "tertulia-chat", &["operations", "team", "context", "store", "session"]),
    room("server", "tertulia-server", EDGE),
    room("cli", "tertulia", CLI),
];

const TEAM: Names = &["agent", "store", "context", "dialect", "session"];

const INNER: Names = &["team", "context", "dialect", "store", "session"];

const EDGE: Names = &["operations", "team", "context", "dialect", "store", "session"];

const CLI: Names = &["chat", "operations", "team", "context", "dialect", "store", "session"];

const SESSION_CRATES: Names = &["blake3", "jiff", "serde", "serde_json", "smallvec", "thiserror"];

/// What `session` uses, and what reading, counting and explaining long texts needs besides.
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
    "thiserror",
    "tracing",
];

/// Members that are no rooms. They may look into any room; no room may use them.
const TOOLS: [&str; 5] =
    ["xtask", "tertulia-bench", "tertulia-faults", "tertulia-fake-models", "tertulia-test-needs"];

/// Heavy crates, and the only rooms that may know them.
const OWNERS: [(&str, Names); 5] = [
    ("axum", &["server"]),
    ("clap", &["cli"]),
    // The bench holds the store against plain SQLite.
    ("rusqlite", &["store", "tertulia-bench"]),
    ("tokio", &["agent", "store", "team", "server", "cli"]),
    ("tokio-postgres", &["store"]),
];

const fn room(name: &'static str, package: &'static str, arrows: Names) -> Room {
    Room { name, package, arrows, foreign: Foreign::Any }
}

const fn pure(name: &'static str, package: &'static str, arrows: Names, crates: Names) -> Room {
    Room { name, package, arrows, foreign: Foreign::Only(crates) }
}

/// A member of the workspace and the packages it names.
struct Member {
    package: String,
    folder: PathBuf,
    shipped: Vec<String>,
    development: Vec<String>,
}

impl Member {
    fn room(&self) -> Option<&'static Room> {
        room_of(&self.package)
    }
}

#[test]
fn every_member_of_the_workspace_is_in_the_drawing() {
    assert_none(&unknown_members(&members()));
}

#[test]
fn every_room_lives_in_the_folder_of_its_name() {
    for member in members() {
        if let Some(room) = member.room() {
            let folder = Path::new("crates").join(room.name);
            assert!(member.folder.ends_with(folder), "{}", room.name);
        }
    }
}

#[test]
fn dependencies_follow_the_arrows() {
    assert_none(&strays(|member| against_arrows(member, &member.shipped)));
}

/// What tests of any room may use besides: a service outside the house, and what a machine has to have.
const STAND_INS: [&str; 2] = ["tertulia-fake-models", "tertulia-test-needs"];

#[test]
fn dependencies_of_tests_point_the_same_way() {
    assert_none(&strays(|member| {
        let is_ours = |name: &&String| !STAND_INS.contains(&name.as_str());
        let ours: Vec<String> = member.development.iter().filter(is_ours).cloned().collect();
        against_arrows(member, &ours)
    }));
}

#[test]
fn heavy_crates_stay_with_their_owners() {
    assert_none(&strays(against_owners));
}

#[test]
fn pure_rooms_use_only_the_crates_on_their_list() {
    assert_none(&strays(against_purity));
}

#[test]
fn the_architecture_page_names_every_room() {
    let page = root().join("ARCHITECTURE.md");
    let text = std::fs::read_to_string(&page).expect("ARCHITECTURE.md stands at the root");
    for room in members().iter().filter_map(Member::room) {
        assert!(text.contains(&format!("{}/", room.name)), "no `{}/` in {page:?}", room.name);
    }
}

#[test]
fn the_drawing_has_no_circle() {
    let mut seen = BTreeSet::new();
    for room in &ROOMS {
        for arrow in room.arrows {
            assert!(seen.contains(arrow), "{} -> {arrow} points back", room.name);
        }
        seen.insert(room.name);
    }
}

#[test]
fn an_arrow_against_the_drawing_is_found() {
    let context = member("tertulia-context", &["tertulia-session", "tertulia-store"]);
    assert_eq!(against_arrows(&context, &context.shipped), ["context -> tertulia-store"]);
}

#[test]
fn a_room_that_uses_a_tool_is_found() {
    let cli = member("tertulia", &["tertulia-bench"]);
    assert_eq!(against_arrows(&cli, &cli.shipped), ["cli -> tertulia-bench"]);
}

#[test]
fn a_member_that_nobody_drew_is_found() {
    let members = [member("tertulia-session", &[]), member("tertulia-attic", &[])];
    assert_eq!(unknown_members(&members), ["tertulia-attic"]);
}

#[test]
fn a_heavy_crate_in_the_wrong_room_is_found() {
    assert_eq!(against_owners(&member("tertulia-team", &["tokio", "clap"])), ["team -> clap"]);
    assert_eq!(against_owners(&member("xtask", &["clap"])), ["xtask -> clap"]);
    assert!(against_owners(&member("tertulia", &["tokio", "clap"])).is_empty());
}

#[test]
fn a_foreign_crate_in_a_pure_room_is_found() {
    assert_eq!(
        against_purity(&member("tertulia-session", &["serde", "memchr"])),
        ["session -> memchr"]
    );
    assert!(
        against_purity(&member("tertulia-context", &["tertulia-session", "memchr"])).is_empty()
    );
    assert!(against_purity(&member("tertulia-store", &["rusqlite"])).is_empty());
}

fn strays(check: impl Fn(&Member) -> Vec<String>) -> Vec<String> {
    members().iter().flat_map(check).collect()
}

fn unknown_members(members: &[Member]) -> Vec<&str> {
    let packages = members.iter().map(|member| member.package.as_str());
    packages.filter(|package| room_of(package).is_none() && !TOOLS.contains(package)).collect()
}

fn against_arrows(member: &Member, dependencies: &[String]) -> Vec<String> {
    let Some(room) = member.room() else {
        return Vec::new();
    };
    let ours = dependencies.iter().filter(|package| is_ours(package));
    let strays = ours
        .filter(|package| room_of(package).is_none_or(|other| !room.arrows.contains(&other.name)));
    strays.map(|package| format!("{} -> {package}", room.name)).collect()
}

fn against_owners(member: &Member) -> Vec<String> {
    let name = member.room().map_or(member.package.as_str(), |room| room.name);
    let owned = OWNERS.iter().filter(|(heavy, _)| member.shipped.iter().any(|d| d == heavy));
    let stolen = owned.filter(|(_, owners)| !owners.contains(&name));
    stolen.map(|(heavy, _)| format!("{name} -> {heavy}")).collect()
}

fn against_purity(member: &Member) -> Vec<String> {
    let Some(Room { name, foreign: Foreign::Only(list), .. }) = member.room() else {
        return Vec::new();
    };
    let foreign = member.shipped.iter().filter(|package| !is_ours(package));
    let strays = foreign.filter(|package| !list.contains(&package.as_str()));
    strays.map(|package| format!("{name} -> {package}")).collect()
}

fn room_of(package: &str) -> Option<&'static Room> {
    ROOMS.iter().find(|room| room.package == package)
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
    let folder = package.manifest_path.parent().expect("a manifest lies in a folder");
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
fn assert_none<T: std::fmt::Debug>(strays: &[T]) {
    assert!(strays.is_empty(), "not in the drawing: {strays:?}");
}
