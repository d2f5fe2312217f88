//! What people install is small: the release profile of the workspace, read from its manifest.

#![expect(clippy::disallowed_methods, reason = "it reads the manifest of the workspace")]

use std::path::Path;

#[test]
fn the_release_profile_leaves_out_debug_information() {
    // Cargo runs tests in the folder of their package.
    let manifest = std::fs::read_to_string(Path::new("..").join("Cargo.toml")).unwrap();
    let manifest: toml::Table = manifest.parse().unwrap();
    let profile = manifest["profile"]["release"].as_table().unwrap();
    assert_eq!(profile.get("strip"), Some(&toml::Value::Boolean(true)), "{profile:?}");
    let has_none = |debug: &toml::Value| *debug == false.into() || *debug == 0.into();
    assert!(profile.get("debug").is_none_or(has_none), "{profile:?}");
}
