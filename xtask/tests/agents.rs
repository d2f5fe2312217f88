//! Checks that code for a specific agent is in its own file: no other source file names one of the coding agents.

#![expect(
    clippy::disallowed_methods,
    clippy::unwrap_used,
    reason = "a test that reads the source files"
)]

use std::path::{Path, PathBuf};

/// The names of the definitions, as other files would write them.
const NAMES: [&str; 6] = ["CLAUDE", "CODEX", "GEMINI", "OPENCODE", "COPILOT", "PI"];

fn sources(folder: &Path, found: &mut Vec<PathBuf>) {
    for entry in folder.read_dir().unwrap() {
        let path = entry.unwrap().path();
        // A folder of this name has the tests of a module.
        if path.is_dir() && path.file_name().is_some_and(|name| name != "tests") {
            sources(&path, found);
        } else if path.extension().is_some_and(|end| end == "rs") {
            found.push(path);
        }
    }
}

#[test]
fn no_source_file_but_its_own_names_a_coding_agent() {
    let crates = Path::new(env!("CARGO_MANIFEST_DIR")).parent().unwrap().join("crates");
    let mut files = Vec::new();
    for one in crates.read_dir().unwrap() {
        sources(&one.unwrap().path().join("src"), &mut files);
    }
    assert!(files.len() > 100, "{}", files.len());
    let own = crates.join("agent/src/agents");
    for file in files.iter().filter(|file| !file.starts_with(&own)) {
        let text = std::fs::read_to_string(file).unwrap();
        let code = text.split("#[cfg(test)]").next().unwrap_or_default();
        for name in NAMES {
            let is_named = code.contains(&format!("agents::{name}"));
            assert!(!is_named, "{} names {name}; ask the definition instead", file.display());
        }
    }
}
