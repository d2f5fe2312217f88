//! Checks the promises of a release: the profile of the program, and the same oldest compiler in every place that
//! names it.

#![expect(
    clippy::disallowed_methods,
    clippy::unwrap_used,
    reason = "it reads manifests, workflows and READMEs; without them there is nothing to compare"
)]

use std::fs;
use std::path::{Path, PathBuf};

#[test]
fn the_release_profile_leaves_out_debug_information() {
    let manifest = toml("Cargo.toml");
    let profile = manifest["profile"]["release"].as_table().unwrap();
    assert_eq!(profile.get("strip"), Some(&toml::Value::Boolean(true)), "{profile:?}");
    let has_none = |debug: &toml::Value| *debug == false.into() || *debug == 0.into();
    assert!(profile.get("debug").is_none_or(has_none), "{profile:?}");
}

#[test]
fn the_tests_run_with_the_oldest_compiler_that_is_supported() {
    let oldest = oldest();
    let channel = channel();
    assert_eq!(channel.rsplit_once('.').unwrap().0, oldest, "rust-toolchain.toml has {channel}");
}

#[test]
fn workflows_name_no_other_compiler() {
    for path in files(".github/workflows") {
        let text = fs::read_to_string(&path).unwrap();
        for version in compilers(&text) {
            assert_eq!(version, channel(), "{}", path.display());
        }
    }
}

#[test]
fn the_workflow_of_every_change_checks_with_the_oldest_compiler() {
    let text = fs::read_to_string(root(".github/workflows/ci.yml")).unwrap();
    assert!(!compilers(&text).is_empty(), "no job of ci.yml names a version of Rust");
}

#[test]
fn every_crate_says_which_compiler_it_needs() {
    let wanted = format!("Rust {} or newer", oldest());
    for folder in files("crates") {
        let readme = fs::read_to_string(folder.join("README.md")).unwrap();
        assert!(readme.contains(&wanted), "{} does not say {wanted:?}", folder.display());
    }
}

#[test]
fn numbered_compilers_are_found_in_a_workflow() {
    let text = "run: rustup toolchain install 1.95.0 --profile minimal\nrun: cargo +1.94.1 check\n\
                run: cargo +stable check\n";
    assert_eq!(compilers(text), ["1.95.0", "1.94.1"]);
}

/// The versions of Rust that a workflow names by number.
fn compilers(text: &str) -> Vec<String> {
    let words: Vec<&str> = text.split_whitespace().collect();
    let named = words.windows(2).filter_map(|pair| match pair {
        ["install" | "default", version] => Some(*version),
        [_, word] => word.strip_prefix('+'),
        _ => None,
    });
    let numbered = named.filter(|name| name.starts_with(|first: char| first.is_ascii_digit()));
    numbered.map(str::to_owned).collect()
}

fn oldest() -> String {
    toml("Cargo.toml")["workspace"]["package"]["rust-version"].as_str().unwrap().to_owned()
}

fn channel() -> String {
    toml("rust-toolchain.toml")["toolchain"]["channel"].as_str().unwrap().to_owned()
}

fn toml(path: &str) -> toml::Table {
    fs::read_to_string(root(path)).unwrap().parse().unwrap()
}

fn files(folder: &str) -> Vec<PathBuf> {
    fs::read_dir(root(folder)).unwrap().map(|entry| entry.unwrap().path()).collect()
}

/// Cargo runs tests in the folder of their package.
fn root(path: &str) -> PathBuf {
    Path::new("..").join(path)
}
